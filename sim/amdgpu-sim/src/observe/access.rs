//! The bytes that an instruction is about to access, lane by lane.
//!
//! Addresses are computed from the wave's registers and the decoded instruction, not from the handlers' results. So an
//! access outside memory is reported here unchanged, and faults when the instruction is executed.

use crate::exec::mem::{Env, ImageOperands, PRIVATE_BASE, SHARED_BASE, element_bytes, image_touches};
use crate::exec::{LANES, Program, Wave, slot};
use crate::fault::Space;
use crate::isa::inst::{Format, Inst, Operand, Special};
use crate::isa::{Arch, Flags, Op};

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Write,
    /// An atomic read-modify-write.
    Update,
}

/// The accesses of one instruction's lanes to one memory.
#[derive(Clone, Copy)]
pub(super) struct Touch {
    pub(super) space: Space,
    pub(super) kind: Kind,
    /// The active lanes. A scalar access belongs to lane 0.
    pub(super) mask: u64,
    pub(super) scalar: bool,
    /// Address of the first byte; an offset for LDS and scratch.
    pub(super) at: [u64; LANES],
    /// Bytes per lane.
    pub(super) bytes: u32,
    /// The access is coherent beyond the compute unit's cache: an atomic load (and on gfx942 an atomic store) is
    /// compiled to this.
    pub(super) coherent: bool,
    /// The old value is returned.
    pub(super) returns: bool,
    /// A compare-and-swap: it writes only if it finds the expected value.
    pub(super) compares: bool,
    /// The first register row of the written data and its bit offset, if registers hold it unconverted.
    pub(super) data: Option<(u16, u32)>,
}

impl Touch {
    /// The active lanes with their addresses.
    pub(super) fn lanes(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        Bits(self.mask).map(|lane| (lane, self.at[lane]))
    }

    /// The lanes whose access is inside a memory of `size` bytes.
    pub(super) fn lanes_within(&self, size: usize) -> u64 {
        let bytes = u64::from(self.bytes);
        let inside = |at: u64| at.checked_add(bytes).is_some_and(|end| end <= size as u64);
        self.lanes().fold(0, |mask, (lane, at)| mask | u64::from(inside(at)) << lane)
    }
}

/// The set bits of a mask, lowest first.
pub(super) struct Bits(pub(super) u64);

impl Iterator for Bits {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let bit = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(bit)
    }
}

/// Returns whether [`touches`] reports accesses for `inst`.
pub(super) fn touches_memory(inst: &Inst) -> bool {
    match inst.format {
        Format::Smem => inst.src[0] != Operand::None && !is_probe(inst.op),
        Format::Flat | Format::Global | Format::Scratch => true,
        Format::Mubuf | Format::Mtbuf => inst.src[2] != Operand::None,
        Format::Mimg => inst.op != Op::image_get_resinfo,
        Format::Ds => {
            !matches!(inst.op, Op::ds_nop | Op::ds_swizzle_b32 | Op::ds_permute_b32 | Op::ds_bpermute_b32)
                && !inst.op.info().is(Flags::gds)
        }
        _ => false,
    }
}

fn is_probe(op: Op) -> bool {
    matches!(op, Op::s_dcache_discard | Op::s_dcache_discard_x2 | Op::s_atc_probe | Op::s_atc_probe_buffer)
}

/// Access to the registers that an instruction names.
struct Registers<'a> {
    wave: &'a Wave,
    program: &'a Program,
}

impl Registers<'_> {
    fn row_number(&self, operand: Operand) -> Option<u16> {
        match operand {
            Operand::Vgpr(n) => Some(self.program.layout().vgpr(n)),
            Operand::Agpr(n) => Some(self.program.layout().agpr(n)),
            _ => None,
        }
    }

    /// The row of `operand`, or of the register `further` positions after it.
    fn row(&self, operand: Operand, further: u16) -> [u32; LANES] {
        self.row_number(operand).map_or([0; LANES], |row| *self.wave.row(row + further))
    }

    fn scalar(&self, operand: Operand) -> u32 {
        match operand {
            Operand::None => 0,
            Operand::Int(n) => i32::from(n) as u32,
            Operand::Imm(n) => n as u32,
            Operand::Literal(bits) => bits,
            register => scalar_slot(register).map_or(0, |s| self.wave.slot(s)),
        }
    }

    fn scalar_words<const N: usize>(&self, operand: Operand) -> [u32; N] {
        match scalar_slot(operand) {
            Some(first) => std::array::from_fn(|i| self.wave.slot(first + i as u16)),
            None => [0; N],
        }
    }

    fn scalar64(&self, operand: Operand) -> u64 {
        let [low, high] = self.scalar_words(operand);
        u64::from(low) | u64::from(high) << 32
    }
}

fn scalar_slot(operand: Operand) -> Option<u16> {
    Some(match operand {
        Operand::Sgpr(n) => n,
        Operand::Ttmp(n) => slot::TTMP + n,
        Operand::Special(Special::FlatScratchLo) => slot::FLAT_SCRATCH,
        Operand::Special(Special::XnackMaskLo) => slot::XNACK_MASK,
        Operand::Special(Special::VccLo) => slot::VCC,
        Operand::Special(Special::VccHi) => slot::VCC + 1,
        Operand::Special(Special::M0) => slot::M0,
        Operand::Special(Special::ExecLo) => slot::EXEC,
        Operand::Special(Special::ExecHi) => slot::EXEC + 1,
        _ => return None,
    })
}

/// Calls `tell` with the accesses of `inst`, which `wave` is about to execute: once per memory, and per element of a
/// pair.
pub(super) fn touches(inst: &Inst, wave: &Wave, program: &Program, env: &Env<'_>, tell: &mut impl FnMut(&Touch)) {
    let registers = Registers { wave, program };
    match inst.format {
        Format::Smem => scalar_memory(inst, &registers, tell),
        Format::Flat | Format::Global | Format::Scratch => flat(inst, &registers, tell),
        Format::Mubuf | Format::Mtbuf => buffer(inst, &registers, env, tell),
        Format::Mimg => image(inst, &registers, tell),
        Format::Ds => local(inst, &registers, tell),
        _ => {}
    }
}

/// An access of all active lanes, without addresses yet.
fn vector(inst: &Inst, r: &Registers<'_>, space: Space) -> Touch {
    let info = inst.op.info();
    let (kind, data_type) = if info.is(Flags::atomic) {
        (Kind::Update, info.src[1])
    } else if inst.src[1] != Operand::None {
        (Kind::Write, info.src[1])
    } else {
        (Kind::Read, info.dst)
    };
    let mut bytes = data_type.bytes();
    let compares = compares(inst.op);
    if compares && inst.format != Format::Ds {
        // The comparand follows the data.
        bytes /= 2;
    }
    let shift = if info.is(Flags::d16_hi) { 16 } else { 0 };
    Touch {
        space,
        kind,
        mask: r.wave.exec(),
        scalar: false,
        at: [0; LANES],
        bytes,
        coherent: coherent(inst, r.program.arch()),
        returns: kind == Kind::Update && inst.dst != Operand::None && (inst.format == Format::Ds || inst.mods.glc),
        compares,
        data: if kind == Kind::Write { r.row_number(inst.src[1]).map(|row| (row, shift)) } else { None },
    }
}

/// Returns whether the instruction compares and swaps (`cmpst` in LDS).
fn compares(op: Op) -> bool {
    let name = op.mnemonic();
    op.info().is(Flags::atomic) && (name.contains("cmpswap") || name.contains("cmpst"))
}

/// Returns whether the memory model compiles atomic accesses to this load or store.
fn coherent(inst: &Inst, arch: Arch) -> bool {
    match arch {
        Arch::Gfx90a => inst.mods.glc,
        // The bits have gfx90a's names: `glc` is SC0, `scc` is SC1.
        Arch::Gfx942 => inst.mods.glc || inst.mods.scc,
    }
}

fn flat(inst: &Inst, r: &Registers<'_>, tell: &mut impl FnMut(&Touch)) {
    let space = if inst.format == Format::Scratch { Space::Private } else { Space::Global };
    let mut touch = vector(inst, r, space);
    let offset = i64::from(inst.mods.offset);
    let low = r.row(inst.src[0], 0);
    if inst.format == Format::Scratch {
        // Offsets are 32 bits wide and wrap.
        let base = r.scalar(inst.src[2]).wrapping_add(offset as u32);
        touch.at = low.map(|vector| u64::from(base.wrapping_add(vector)));
    } else if inst.src[2] != Operand::None {
        let base = r.scalar64(inst.src[2]).wrapping_add_signed(offset);
        touch.at = low.map(|vector| base.wrapping_add(u64::from(vector)));
    } else {
        let high = r.row(inst.src[0], 1);
        touch.at = std::array::from_fn(|lane| {
            (u64::from(low[lane]) | u64::from(high[lane]) << 32).wrapping_add_signed(offset)
        });
    }
    if inst.mods.lds || inst.op.info().is(Flags::lds_only) {
        let bytes = match inst.op.mnemonic().rsplit('_').next() {
            Some("ubyte" | "sbyte") => 1,
            Some("ushort" | "sshort") => 2,
            _ => 4,
        };
        touch = Touch { kind: Kind::Read, bytes, data: None, ..touch };
        tell(&touch);
        tell(&beside_registers(r, Kind::Write, i64::from(inst.mods.offset)));
        return;
    }
    if inst.format != Format::Flat {
        return tell(&touch);
    }
    let aperture = |base: u64| {
        let inside = |(lane, address): (usize, &u64)| u64::from(address >> 32 == base >> 32) << lane;
        touch.at.iter().enumerate().map(inside).fold(0, |mask, bit| mask | bit) & touch.mask
    };
    let (shared, private) = (aperture(SHARED_BASE), aperture(PRIVATE_BASE));
    let mut offsets = touch.at.map(|address| address & 0xffff_ffff);
    for (space, mask) in [(Space::Lds, shared), (Space::Private, private)] {
        if mask != 0 {
            let part = Touch { space, mask, at: offsets, ..touch };
            tell(&part);
            offsets = part.at;
        }
    }
    touch.mask &= !shared & !private;
    if touch.mask != 0 {
        tell(&touch);
    }
}

/// The LDS side of an instruction that bypasses the registers: M0 and four bytes per lane.
fn beside_registers(r: &Registers<'_>, kind: Kind, offset: i64) -> Touch {
    let start = u64::from(r.wave.m0() & 0xffff).wrapping_add_signed(offset);
    Touch {
        space: Space::Lds,
        kind,
        mask: r.wave.exec(),
        scalar: false,
        at: std::array::from_fn(|lane| start.wrapping_add(4 * lane as u64)),
        bytes: 4,
        coherent: false,
        returns: false,
        compares: false,
        data: None,
    }
}

fn local(inst: &Inst, r: &Registers<'_>, tell: &mut impl FnMut(&Touch)) {
    let info = inst.op.info();
    let offset = inst.mods.offset as u32;
    if matches!(inst.op, Op::ds_append | Op::ds_consume) {
        let at = u64::from(r.wave.m0() & 0xffff) + u64::from(offset);
        let mask = u64::from(r.wave.exec() != 0);
        let touch = beside_registers(r, Kind::Update, 0);
        return tell(&Touch { mask, scalar: true, at: [at; LANES], returns: true, ..touch });
    }
    if matches!(inst.op, Op::ds_read_addtid_b32 | Op::ds_write_addtid_b32) {
        let kind = if inst.op == Op::ds_read_addtid_b32 { Kind::Read } else { Kind::Write };
        return tell(&beside_registers(r, kind, i64::from(offset)));
    }
    let mut touch = vector(inst, r, Space::Lds);
    let base = r.row(inst.src[0], 0);
    let addresses = |offset: u32| base.map(|address| u64::from(address.wrapping_add(offset)));
    if !info.is(Flags::two_offsets) {
        touch.at = addresses(offset);
        return tell(&touch);
    }
    if inst.src[1] == Operand::None {
        // The type covers both elements.
        touch.bytes /= 2;
    }
    let step = touch.bytes * if info.is(Flags::stride64) { 64 } else { 1 };
    touch.at = addresses((offset & 0xff) * step);
    tell(&touch);
    touch.at = addresses(u32::from(inst.mods.offset1) * step);
    touch.data = touch.data.and_then(|_| r.row_number(inst.src[2])).map(|row| (row, 0));
    tell(&touch);
}

fn scalar_memory(inst: &Inst, r: &Registers<'_>, tell: &mut impl FnMut(&Touch)) {
    let info = inst.op.info();
    let (kind, mut words) = if info.is(Flags::atomic) {
        (Kind::Update, info.src[2].dwords())
    } else if inst.src[2] != Operand::None {
        (Kind::Write, info.src[2].dwords())
    } else {
        (Kind::Read, info.dst.dwords())
    };
    if compares(inst.op) {
        words /= 2;
    }
    let register = match inst.src[1] {
        Operand::Imm(_) | Operand::None => 0,
        register => r.scalar(register),
    };
    let immediate = match inst.src[1] {
        Operand::Imm(offset) => offset,
        _ => inst.mods.offset,
    };
    let address = if inst.op.mnemonic().contains("buffer") {
        let [low, high, records, _] = r.scalar_words(inst.src[0]);
        let offset = u64::from((immediate as u32).wrapping_add(register));
        let size = u64::from(records) * u64::from((high >> 16 & 0x3fff).max(1));
        words = words.min(u32::try_from(size.saturating_sub(offset) / 4).unwrap_or(u32::MAX));
        (u64::from(low) | u64::from(high & 0xffff) << 32) + offset
    } else {
        r.scalar64(inst.src[0]).wrapping_add_signed(i64::from(immediate) + i64::from(register))
    };
    if words > 0 {
        tell(&Touch {
            space: Space::Global,
            kind,
            mask: 1,
            scalar: true,
            at: [address; LANES],
            bytes: 4 * words,
            coherent: inst.mods.glc,
            returns: kind == Kind::Update && inst.mods.glc,
            compares: compares(inst.op),
            data: None,
        });
    }
}

fn image(inst: &Inst, r: &Registers<'_>, tell: &mut impl FnMut(&Touch)) {
    let (Some(address), Some(image)) = (r.row_number(inst.src[0]), scalar_slot(inst.src[2])) else { return };
    let operands = ImageOperands { address, image, sampler: scalar_slot(inst.src[3]) };
    let (places, bytes) = image_touches(inst, r.wave, &operands);
    for (at, mask) in places {
        tell(&Touch { at, mask, bytes, data: None, ..vector(inst, r, Space::Global) });
    }
}

fn buffer(inst: &Inst, r: &Registers<'_>, env: &Env<'_>, tell: &mut impl FnMut(&Touch)) {
    let info = inst.op.info();
    let mut touch = vector(inst, r, Space::Global);
    let words: [u32; 4] = r.scalar_words(inst.src[2]);
    if info.is(Flags::format) {
        let format = if inst.format == Format::Mtbuf { Some(inst.mods.format) } else { None };
        let Some(bytes) = element_bytes(format, words[3]) else { return };
        (touch.bytes, touch.data) = (bytes, None);
    }
    let out = inst.op == Op::buffer_store_lds_dword;
    if out {
        (touch.kind, touch.bytes, touch.data) = (Kind::Write, 4, None);
        tell(&beside_registers(r, Kind::Read, i64::from(inst.mods.offset)));
    }
    let scalar = u64::from(r.scalar(inst.src[3]));
    let base = u64::from(words[0]) | u64::from(words[1] & 0xffff) << 32;
    let add_lane = words[3] >> 23 & 1 != 0;
    let swizzle = words[1] >> 31 != 0;
    let mut stride = u64::from(words[1] >> 16 & 0x3fff);
    if add_lane {
        stride |= u64::from(words[3] >> 15 & 0xf) << 14;
    }
    let (records, index_stride, element) =
        (u64::from(words[2]), 8 << (words[3] >> 21 & 3), 2_u64 << (words[3] >> 19 & 3));
    let zero = [0; LANES];
    let indices = if inst.mods.idxen { r.row(inst.src[0], 0) } else { zero };
    let offsets = if inst.mods.offen { r.row(inst.src[0], u16::from(inst.mods.idxen)) } else { zero };
    let immediate = inst.mods.offset as u32 as u64;
    if swizzle && add_lane && stride == 0 && index_stride == LANES as u64 && element == 4 {
        // The scratch descriptor: a wave's base, in units of a wave's scratch.
        let wave_base = env.scratch.base() + env.scratch.wave_bytes() * u64::from(r.wave.id);
        let start = base.wrapping_add(scalar).wrapping_sub(wave_base) / LANES as u64;
        touch.space = Space::Private;
        touch.at = offsets.map(|offset| start.wrapping_add((u64::from(offset) + immediate) & 0xffff_ffff));
        return tell(&touch);
    }
    // Each word of a plain load or store is bounds-checked separately.
    let alone = !info.is(Flags::format) && !info.is(Flags::atomic);
    let words = if alone { (touch.bytes / 4).max(1) } else { 1 };
    let (mut inside, mut partly, bytes) = (0, [0_u64; 4], u64::from(touch.bytes));
    for lane in Bits(touch.mask) {
        let index = u64::from(indices[lane]) + if add_lane { lane as u64 } else { 0 };
        let offset = u64::from(offsets[lane]) + immediate;
        let linear = offset + index * stride;
        let fit = |bytes: u64| {
            if stride == 0 || !swizzle {
                linear + bytes + scalar <= records || (stride != 0 && index < records && offset + bytes <= stride)
            } else {
                index < records
            }
        };
        let fits = fit(bytes);
        inside |= u64::from(fits) << lane;
        if !fits {
            let first = (1..words).take_while(|words| fit(u64::from(4 * words))).count();
            partly[first] |= 1 << lane;
        }
        let spread = if swizzle {
            (index / index_stride * stride + offset / element * element) * index_stride
                + index % index_stride * element
                + offset % element
        } else {
            linear
        };
        touch.at[lane] = base.wrapping_add(scalar).wrapping_add(spread) & 0xffff_ffff_ffff;
    }
    touch.mask = inside;
    if inside != 0 {
        tell(&touch);
    }
    for (words, mask) in (1..).zip(&partly[1..]).filter(|(_, mask)| **mask != 0) {
        (touch.mask, touch.bytes) = (*mask, 4 * words);
        tell(&touch);
    }
    if inst.mods.lds && !out {
        tell(&beside_registers(r, Kind::Write, i64::from(inst.mods.offset)));
    }
}
