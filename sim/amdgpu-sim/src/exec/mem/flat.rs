//! FLAT, GLOBAL and SCRATCH instructions.

use super::aperture::{PRIVATE_BASE, SHARED_BASE};
use super::atomic::{self, Operation, Rows};
use super::env::Env;
use super::fault::Checked;
use super::lds_copy::Words;
use super::outcome::done;
use super::space::{Addresses, Lds, Private, Space, View};
use super::transfer::{self, NOWHERE, Part, Shape, Width};
use crate::exec::constant::Wide;
use crate::exec::{Ctx, Flow, Handler, LANES, Lowering, Micro, Trap, Wave, cpu};
use crate::fault::Access;
use crate::isa::Flags;
use crate::isa::inst::{Format, Inst, Operand};
use crate::memory::bulk;

/// How a lane's address is computed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// A 64-bit vector address.
    Vector,
    /// A 64-bit scalar base and a 32-bit vector offset.
    Scalar,
    /// SCRATCH: 32-bit vector offset, scalar offset, both, or neither (rows and slots of zero replace missing ones).
    Scratch,
}

const VECTOR: u8 = Mode::Vector as u8;
const SCALAR: u8 = Mode::Scalar as u8;
const SCRATCH: u8 = Mode::Scratch as u8;

/// The memory that the instruction accesses.
const GLOBAL: u8 = 0;
const FLAT: u8 = 1;
const PRIVATE: u8 = 2;

/// `aux`: bits 4:0 the shape, bit 5 whether an atomic returns, bit 6 SCRATCH without a vector address, bits 31:16 the
/// offset.
const RETURNS: u32 = 1 << 5;
const NO_VECTOR: u32 = 1 << 6;

pub(super) fn lower(inst: &Inst, l: &mut Lowering, m: &mut Micro) -> Option<Handler> {
    let info = inst.op.info();
    let scalar = inst.src[2] != Operand::None;
    let vector = inst.src[0] != Operand::None;
    m.src[2] =
        l.slot64(if scalar && inst.format != Format::Scratch { inst.src[2] } else { Operand::Int(0) }, Wide::Unsigned)?;
    if inst.format == Format::Scratch {
        m.src[2] = l.slot(if scalar { inst.src[2] } else { Operand::Int(0) })?;
    }
    m.src[0] = if vector { l.row(inst.src[0])? } else { 0 };
    let offset = i16::try_from(inst.mods.offset).ok()?;
    m.aux = u32::from(offset as u16) << 16;
    if !vector {
        m.aux |= NO_VECTOR;
    }

    if info.is(Flags::atomic) {
        Operation::of(inst.op, atomic::data_type(inst.op))?;
        m.src[1] = l.row(inst.src[1])?;
        if inst.mods.glc && inst.dst != Operand::None {
            m.dst = l.row(inst.dst)?;
            m.aux |= RETURNS;
        }
        return Some(match (inst.format, scalar) {
            (Format::Global, false) => atomic_op::<GLOBAL, VECTOR>,
            (Format::Global, true) => atomic_op::<GLOBAL, SCALAR>,
            (Format::Flat, _) => atomic_op::<FLAT, VECTOR>,
            _ => return None,
        });
    }
    if inst.mods.lds || info.is(Flags::lds_only) {
        m.aux |= copied_shape(inst)?.pack();
        return Some(match (inst.format, scalar) {
            (Format::Global, false) => copy::<GLOBAL, VECTOR>,
            (Format::Global, true) => copy::<GLOBAL, SCALAR>,
            (Format::Flat, _) => copy::<FLAT, VECTOR>,
            _ => copy::<PRIVATE, SCRATCH>,
        });
    }
    let stores = inst.src[1] != Operand::None;
    let data = if stores { info.src[1] } else { info.dst };
    let shape = Shape::of(inst.op, data)?;
    m.aux |= shape.pack();
    if stores {
        m.src[1] = l.row(inst.src[1])?;
    } else {
        m.dst = l.row(inst.dst)?;
    }
    let (words, fast) = (if let Width::Words(n) = shape.width { n } else { 0 }, l.avx2);
    Some(match (inst.format, scalar, stores) {
        (Format::Global, false, false) => load::<GLOBAL, VECTOR>(words, fast),
        (Format::Global, true, false) => load::<GLOBAL, SCALAR>(words, fast),
        (Format::Global, false, true) => store::<GLOBAL, VECTOR>(words, fast),
        (Format::Global, true, true) => store::<GLOBAL, SCALAR>(words, fast),
        (Format::Flat, _, false) => load::<FLAT, VECTOR>(words, fast),
        (Format::Flat, _, true) => store::<FLAT, VECTOR>(words, fast),
        (_, _, false) => load_lanes::<PRIVATE, SCRATCH>(fast),
        (_, _, true) => store_lanes::<PRIVATE, SCRATCH>(fast),
    })
}

/// The lanes' addresses (for disabled lanes computed from arbitrary register contents).
#[inline(always)]
fn addresses<const MODE: u8>(w: &Wave, m: &Micro) -> Addresses {
    let offset = i64::from((m.aux >> 16) as u16 as i16);
    let mut at = NOWHERE;
    match MODE {
        VECTOR => {
            let (low, high) = (w.row(m.src[0]), w.row(m.src[0] + 1));
            for lane in 0..LANES {
                let address = u64::from(low[lane]) | u64::from(high[lane]) << 32;
                at[lane] = address.wrapping_add_signed(offset);
            }
        }
        SCALAR => {
            let base = w.slot64(m.src[2]).wrapping_add_signed(offset);
            let low = w.row(m.src[0]);
            for lane in 0..LANES {
                at[lane] = base.wrapping_add(u64::from(low[lane]));
            }
        }
        _ => {
            // Offsets are 32 bits wide and wrap.
            let base = w.slot(m.src[2]).wrapping_add(offset as u32);
            if m.aux & NO_VECTOR != 0 {
                at = [u64::from(base); LANES];
            } else {
                let low = w.row(m.src[0]);
                for lane in 0..LANES {
                    at[lane] = u64::from(base.wrapping_add(low[lane]));
                }
            }
        }
    }
    at
}

/// A handler's action on a memory.
trait Action {
    fn on<S: Space>(&mut self, w: &mut Wave, space: &mut S, at: &Addresses, mask: u64) -> Checked;
}

/// Performs `action` on the memory that the instruction accesses. For FLAT, each lane's address selects the memory.
#[inline(always)]
fn reach<const SPACE: u8, A: Action>(w: &mut Wave, ctx: &mut Ctx<'_>, at: &Addresses, action: &mut A) -> Checked {
    let mask = w.exec();
    let Env { view, scratch, .. } = &mut ctx.env;
    match SPACE {
        GLOBAL => action.on::<View>(w, view, at, mask),
        PRIVATE => {
            let mut private: Private = scratch.wave(w.id);
            action.on(w, &mut private, at, mask)
        }
        _ => {
            let (mut shared, mut private) = (0_u64, 0_u64);
            for (lane, address) in at.iter().enumerate() {
                shared |= u64::from(address >> 32 == SHARED_BASE >> 32) << lane;
                private |= u64::from(address >> 32 == PRIVATE_BASE >> 32) << lane;
            }
            let (shared, private) = (shared & mask, private & mask);
            if shared | private == 0 {
                return action.on::<View>(w, view, at, mask);
            }
            let mut offsets = *at;
            for offset in &mut offsets {
                *offset &= 0xffff_ffff;
            }
            if private != 0 {
                action.on(w, &mut scratch.wave(w.id), &offsets, private)?;
            }
            if shared != 0 {
                action.on(w, &mut Lds(ctx.lds), &offsets, shared)?;
            }
            action.on::<View>(w, view, at, mask & !shared & !private)
        }
    }
}

struct Load {
    shape: Shape,
    align: u64,
    dst: u16,
}

impl Action for Load {
    #[inline(always)]
    fn on<S: Space>(&mut self, w: &mut Wave, space: &mut S, at: &Addresses, mask: u64) -> Checked {
        transfer::load(w, space, at, mask, self.shape, self.align, self.dst)
    }
}

struct Store {
    shape: Shape,
    align: u64,
    src: u16,
}

impl Action for Store {
    #[inline(always)]
    fn on<S: Space>(&mut self, w: &mut Wave, space: &mut S, at: &Addresses, mask: u64) -> Checked {
        transfer::store(w, space, at, mask, self.shape, self.align, self.src)
    }
}

impl Action for Words {
    fn on<S: Space>(&mut self, _: &mut Wave, space: &mut S, at: &Addresses, mask: u64) -> Checked {
        self.fetch(space, at, mask)
    }
}

struct Atomic {
    operation: Operation,
    rows: Rows,
}

impl Action for Atomic {
    fn on<S: Space>(&mut self, w: &mut Wave, space: &mut S, at: &Addresses, mask: u64) -> Checked {
        atomic::run(w, space, at, mask, self.operation, self.rows)
    }
}

/// Zero if each lane is `step` larger than the previous one.
#[inline(always)]
fn differences<const FAST: bool>(row: &[u32; LANES], step: u32) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if FAST {
        // SAFETY: `FAST` is set only in functions that are themselves called only if the CPU has AVX2.
        return unsafe { differences_fast(row, step) };
    }
    let mut off = 0;
    for (lane, value) in row.iter().enumerate() {
        off |= value.wrapping_sub(row[0]) ^ (lane as u32 * step);
    }
    off
}

/// As [`differences`]. Handwritten: the compiler excludes the first lane, and its loads then overlap two preceding
/// stores.
///
/// # Safety
/// The CPU has to have AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn differences_fast(row: &[u32; LANES], step: u32) -> u32 {
    use std::arch::x86_64::*;
    let step = step as i32;
    // SAFETY: the loads stay within the row; the CPU has AVX2.
    unsafe {
        let mut expected = _mm256_add_epi32(
            _mm256_set1_epi32(row[0] as i32),
            _mm256_mullo_epi32(_mm256_set1_epi32(step), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)),
        );
        let next = _mm256_set1_epi32(step.wrapping_mul(8));
        let mut off = _mm256_setzero_si256();
        for eight in (0..LANES).step_by(8) {
            let values = _mm256_loadu_si256(row.as_ptr().add(eight).cast());
            off = _mm256_or_si256(off, _mm256_xor_si256(values, expected));
            expected = _mm256_add_epi32(expected, next);
        }
        u32::from(_mm256_testz_si256(off, off) == 0)
    }
}

/// The first lane's value of a row, and zero if each lane is `step` larger than the previous one.
#[inline(always)]
fn first<const FAST: bool>(w: &Wave, row: u16, step: u32) -> (u32, u32) {
    if let Some(run) = w.held.get(row) {
        return (run.first, run.step ^ step);
    }
    let row = w.row(row);
    (row[0], differences::<FAST>(row, step))
}

/// Settles the rows that the slow path of a load or store reads or writes.
#[cold]
fn settle<const MODE: u8>(w: &mut Wave, m: &Micro, data: u16, shape: Shape) {
    w.settle(m.src[0]);
    if MODE == VECTOR {
        w.settle(m.src[0] + 1);
    }
    for word in 0..shape.bytes().div_ceil(4) as u16 {
        w.settle(data + word);
    }
}

/// The first lane's address, if all lanes are enabled and their addresses are consecutive, `bytes` apart, word-aligned.
/// Then the lanes' data is one block, as for most instructions of most kernels.
#[inline(always)]
fn block<const MODE: u8, const FAST: bool>(w: &Wave, m: &Micro, bytes: u32) -> Option<u64> {
    if w.exec() != u64::MAX {
        return None;
    }
    let (low, step) = first::<FAST>(w, m.src[0], bytes);
    let mut off = step;
    // The last lane's low half must not have wrapped: the high half, or the 64-bit sum, would differ.
    if low > u32::MAX - LANES as u32 * bytes {
        return None;
    }
    let offset = i64::from((m.aux >> 16) as u16 as i16);
    let base = if MODE == VECTOR {
        let (high, step) = first::<FAST>(w, m.src[0] + 1, 0);
        off |= step;
        (u64::from(high) << 32).wrapping_add_signed(offset)
    } else {
        w.slot64(m.src[2]).wrapping_add_signed(offset)
    };
    let first = base.wrapping_add(u64::from(low));
    (off == 0 && first % 4 == 0).then_some(first)
}

/// Loads whole words from a block.
#[inline(always)]
fn load_block<const N: usize, const FAST: bool>(w: &mut Wave, first: u64, dst: u16) {
    for word in 0..N as u16 {
        w.held.forget(dst + word);
    }
    if N == 1 {
        // SAFETY: the caller has had the block checked.
        unsafe { bulk::read_row::<FAST>(first, w.row_mut(dst)) };
        return;
    }
    let mut block = [[0; LANES]; N];
    for (part, words) in block.iter_mut().enumerate() {
        // SAFETY: the caller has had the block checked: `N` rows.
        unsafe { bulk::read_row::<FAST>(first + (part * bulk::ROW) as u64, words) };
    }
    let words = block.as_flattened();
    for word in 0..N {
        for (lane, place) in w.row_mut(dst + word as u16).iter_mut().enumerate() {
            *place = words[lane * N + word];
        }
    }
}

/// Stores whole words to a block.
#[inline(always)]
fn store_block<const N: usize, const FAST: bool>(w: &mut Wave, first: u64, src: u16) {
    for word in 0..N as u16 {
        w.settle(src + word);
    }
    if N == 1 {
        // SAFETY: the caller has had the block checked.
        unsafe { bulk::write_row::<FAST>(first, w.row(src)) };
        return;
    }
    let mut block = [[0; LANES]; N];
    let words = block.as_flattened_mut();
    for word in 0..N {
        for (lane, value) in w.row(src + word as u16).iter().enumerate() {
            words[lane * N + word] = *value;
        }
    }
    for (part, words) in block.iter().enumerate() {
        // SAFETY: the caller has had the block checked: `N` rows.
        unsafe { bulk::write_row::<FAST>(first + (part * bulk::ROW) as u64, words) };
    }
}

/// The first address of a block of `N` words per lane, if it is one and completely inside an allocation.
#[inline(always)]
fn live_block<const MODE: u8, const N: usize, const FAST: bool>(
    w: &Wave,
    m: &Micro,
    ctx: &mut Ctx<'_>,
    access: Access,
) -> Option<u64> {
    let first = block::<MODE, FAST>(w, m, 4 * N as u32)?;
    // An address in an aperture is not in an allocation.
    ctx.env.view.allowed(first, (N * bulk::ROW) as u64, access).is_ok().then_some(first)
}

/// A load of `words` whole words (0: less than one).
fn load<const SPACE: u8, const MODE: u8>(words: u8, fast: bool) -> Handler {
    match words {
        1 => load_words::<SPACE, MODE, 1>(fast),
        2 => load_words::<SPACE, MODE, 2>(fast),
        3 => load_words::<SPACE, MODE, 3>(fast),
        4 => load_words::<SPACE, MODE, 4>(fast),
        _ => load_lanes::<SPACE, MODE>(fast),
    }
}

/// A store of `words` whole words (0: less than one).
fn store<const SPACE: u8, const MODE: u8>(words: u8, fast: bool) -> Handler {
    match words {
        1 => store_words::<SPACE, MODE, 1>(fast),
        2 => store_words::<SPACE, MODE, 2>(fast),
        3 => store_words::<SPACE, MODE, 3>(fast),
        4 => store_words::<SPACE, MODE, 4>(fast),
        _ => store_lanes::<SPACE, MODE>(fast),
    }
}

/// A load that moves a block at once if possible, otherwise lane by lane.
fn load_words<const SPACE: u8, const MODE: u8, const N: usize>(fast: bool) -> Handler {
    #[inline(always)]
    fn body<const SPACE: u8, const MODE: u8, const N: usize, const FAST: bool>(
        w: &mut Wave,
        m: &Micro,
        ctx: &mut Ctx<'_>,
    ) -> Flow {
        if let Some(first) = live_block::<MODE, N, FAST>(w, m, ctx, Access::Read) {
            load_block::<N, FAST>(w, first, m.dst);
            return Flow::Next;
        }
        // SAFETY: `FAST` is set only in functions that are themselves called only if the CPU has the features that it stands for.
        unsafe { load_lanes::<SPACE, MODE>(FAST)(w, m, ctx) }
    }
    cpu::versions!(fast, [const SPACE: u8, const MODE: u8, const N: usize], [SPACE, MODE, N])
}

/// A store that moves a block at once if possible, otherwise lane by lane.
fn store_words<const SPACE: u8, const MODE: u8, const N: usize>(fast: bool) -> Handler {
    #[inline(always)]
    fn body<const SPACE: u8, const MODE: u8, const N: usize, const FAST: bool>(
        w: &mut Wave,
        m: &Micro,
        ctx: &mut Ctx<'_>,
    ) -> Flow {
        if let Some(first) = live_block::<MODE, N, FAST>(w, m, ctx, Access::Write) {
            store_block::<N, FAST>(w, first, m.src[1]);
            return Flow::Next;
        }
        // SAFETY: `FAST` is set only in functions that are themselves called only if the CPU has the features that it stands for.
        unsafe { store_lanes::<SPACE, MODE>(FAST)(w, m, ctx) }
    }
    cpu::versions!(fast, [const SPACE: u8, const MODE: u8, const N: usize], [SPACE, MODE, N])
}

fn load_lanes<const SPACE: u8, const MODE: u8>(fast: bool) -> Handler {
    #[inline(always)]
    fn body<const SPACE: u8, const MODE: u8, const FAST: bool>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
        let shape = Shape::unpack(m.aux).loaded(ctx.env.sramecc);
        if w.held.any() {
            settle::<MODE>(w, m, m.dst, shape);
        }
        let at = addresses::<MODE>(w, m);
        let mut action = Load { shape, align: ctx.env.align_mask(shape.bytes()), dst: m.dst };
        let result = reach::<SPACE, _>(w, ctx, &at, &mut action);
        done(w, result)
    }
    cpu::versions!(fast, [const SPACE: u8, const MODE: u8], [SPACE, MODE])
}

fn store_lanes<const SPACE: u8, const MODE: u8>(fast: bool) -> Handler {
    #[inline(always)]
    fn body<const SPACE: u8, const MODE: u8, const FAST: bool>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
        let shape = Shape::unpack(m.aux);
        if w.held.any() {
            settle::<MODE>(w, m, m.src[1], shape);
        }
        let at = addresses::<MODE>(w, m);
        let mut action = Store { shape, align: ctx.env.align_mask(shape.bytes()), src: m.src[1] };
        let result = reach::<SPACE, _>(w, ctx, &at, &mut action);
        done(w, result)
    }
    cpu::versions!(fast, [const SPACE: u8, const MODE: u8], [SPACE, MODE])
}

/// The shape of a load to LDS: `*_load_lds_*` have it only in their mnemonics.
fn copied_shape(inst: &Inst) -> Option<Shape> {
    let name = inst.op.mnemonic();
    let width = match name.rsplit('_').next()? {
        "ubyte" => Width::U8,
        "sbyte" => Width::I8,
        "ushort" => Width::U16,
        "sshort" => Width::I16,
        "dword" => Width::Words(1),
        _ => return None,
    };
    Some(Shape { width, part: Part::Whole })
}

fn copy<const SPACE: u8, const MODE: u8>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let shape = Shape::unpack(m.aux);
    let at = addresses::<MODE>(w, m);
    let mut words = Words::new(shape, ctx.env.align_mask(shape.bytes()));
    let result = reach::<SPACE, _>(w, ctx, &at, &mut words);
    let offset = i32::from((m.aux >> 16) as u16 as i16);
    let result = result.and_then(|()| words.put(w, ctx, offset));
    done(w, result)
}

fn atomic_op<const SPACE: u8, const MODE: u8>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let Some(operation) = atomic::of_micro(ctx, m) else {
        return w.fail(Trap::Unsupported("this atomic operation"));
    };
    let at = addresses::<MODE>(w, m);
    // A compare and swap's comparand follows its data.
    let second = m.src[1] + (operation.bytes() / 4) as u16;
    let dst = (m.aux & RETURNS != 0).then_some(m.dst);
    let mut action = Atomic { operation, rows: Rows { data: m.src[1], second, dst } };
    let result = reach::<SPACE, _>(w, ctx, &at, &mut action);
    done(w, result)
}
