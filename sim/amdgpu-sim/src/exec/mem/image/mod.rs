//! MIMG: loads, stores, atomics and samples through an image descriptor.
//!
//! The fields of the descriptors and the order of the addresses are those of AMD's Vega and CDNA2 ISA manuals. Images
//! must be linear; the creator of the descriptor chooses that. The memory layout of tiled modes and of smaller mip
//! levels is not documented, and an access to one is an error that says so.

mod resource;
mod sampler;

use std::sync::OnceLock;

use super::atomic::{self, Operation, Rows};
use super::env::Env;
use super::fault::Checked;
use super::format::Format as Texels;
use super::outcome::done;
use super::space::{Addresses, Space, load_element, store_element};
use super::transfer::NOWHERE;
use crate::exec::lanes::lanes;
use crate::exec::valu::half_bits;
use crate::exec::{Ctx, Flow, Handler, LANES, Lowering, Micro, Trap, Wave};
use crate::fault::Access;
use crate::isa::inst::{Inst, Operand};
use crate::isa::{Flags, Op, Type};
use resource::Resource;
use sampler::{Mix, Sampler, Taps};

/// `aux`: bits 3:0 the component mask, then flags; bits 31:16 the atomic operation.
const UNNORMALIZED: u32 = 1 << 4;
/// The instruction declares the image as an array: its address has a layer.
const ARRAY: u32 = 1 << 5;
/// A register after the data receives a status, which is zero: every texel is resident.
const STATUS: u32 = 1 << 6;
/// Components have 16 bits, two per register.
const HALVES: u32 = 1 << 7;
/// Addresses have 16 bits, two per register.
const SHORT: u32 = 1 << 8;
/// The old value is returned.
const RETURNS: u32 = 1 << 9;
/// The address ends with a mip level.
const LEVEL: u32 = 1 << 10;
/// Texels are moved without conversion.
const PACKED: u32 = 1 << 11;
/// Texels are moved without conversion, and small ones are sign-extended.
const SIGNED: u32 = 1 << 12;

/// The mask and the flags of an instruction.
fn flags(inst: &Inst) -> Option<u32> {
    let image = inst.mods.image?;
    let name = inst.op.mnemonic();
    let flag = |set: bool, bit: u32| if set { bit } else { 0 };
    // An empty mask is treated as the first component.
    let mask = u32::from(image.dmask & 15).max(1);
    Some(
        mask | flag(image.unorm, UNNORMALIZED)
            | flag(image.da, ARRAY)
            | flag(image.lwe, STATUS)
            | flag(image.d16, HALVES)
            | flag(image.a16, SHORT)
            | flag(inst.mods.glc, RETURNS)
            | flag(name.contains("_mip") || inst.op == Op::image_get_resinfo, LEVEL)
            | flag(name.contains("_pck"), PACKED)
            | flag(name.ends_with("_sgn"), SIGNED),
    )
}

pub(super) fn lower(inst: &Inst, l: &mut Lowering, m: &mut Micro) -> Option<Handler> {
    m.aux = flags(inst)?;
    m.src[0] = l.row(inst.src[0])?;
    m.src[2] = l.slot(inst.src[2])?;
    if inst.op.info().is(Flags::atomic) {
        m.aux |= (inst.op as u32 - Op::image_atomic_swap as u32) << 16;
        m.src[1] = l.row(inst.src[1])?;
        return Some(update);
    }
    if inst.src[1] != Operand::None {
        m.src[1] = l.row(inst.src[1])?;
        return Some(store);
    }
    m.dst = l.row(inst.dst)?;
    Some(match inst.op {
        Op::image_get_resinfo => size,
        Op::image_sample => {
            m.src[3] = l.slot(inst.src[3])?;
            sample
        }
        _ => load,
    })
}

/// Why an access to an image was not performed.
enum Failure {
    Unsupported(&'static str),
    Memory(Box<super::fault::AccessFault>),
}

impl From<&'static str> for Failure {
    fn from(why: &'static str) -> Self {
        Self::Unsupported(why)
    }
}

impl From<Box<super::fault::AccessFault>> for Failure {
    fn from(fault: Box<super::fault::AccessFault>) -> Self {
        Self::Memory(fault)
    }
}

fn finish(w: &mut Wave, result: Result<(), Failure>) -> Flow {
    match result {
        Ok(()) => Flow::Next,
        Err(Failure::Unsupported(why)) => w.fail(Trap::Unsupported(why)),
        Err(Failure::Memory(fault)) => done(w, Err(fault)),
    }
}

/// The addresses of the lanes, in vector registers.
#[derive(Clone, Copy)]
struct Coordinates {
    first: u16,
    flags: u32,
}

impl Coordinates {
    fn of(m: &Micro) -> Self {
        Self { first: m.src[0], flags: m.aux }
    }

    /// Returns whether the instruction declares the image as an array.
    fn declared(self) -> bool {
        self.flags & ARRAY != 0
    }

    /// Component `i` of a lane's address.
    fn integer(self, w: &Wave, i: u16, lane: usize) -> u32 {
        if self.flags & SHORT == 0 {
            w.row(self.first + i)[lane]
        } else {
            w.row(self.first + i / 2)[lane] >> (16 * u32::from(i % 2)) & 0xffff
        }
    }

    /// Component `i` of a lane's address, in floating point.
    fn float(self, w: &Wave, i: u16, lane: usize) -> f64 {
        let bits = self.integer(w, i, lane);
        let number = if self.flags & SHORT == 0 { f32::from_bits(bits) } else { half_bits::widen(bits as u16) };
        if number.is_nan() { 0.0 } else { f64::from(number) }
    }
}

/// The positions of the lanes' texels, and the lanes whose texel is inside the image.
fn places(w: &Wave, from: Coordinates, image: &Resource) -> Result<(Addresses, u64), &'static str> {
    let (mut at, mut inside) = (NOWHERE, 0);
    let declared = from.declared();
    for lane in lanes(w.exec()) {
        let [x, y, z] = image.address(declared).map(|place| place.map_or(0, |i| from.integer(w, i, lane)));
        let level = if from.flags & LEVEL == 0 { 0 } else { from.integer(w, image.addresses(declared), lane) };
        if !image.has_level(level)? {
            continue;
        }
        if let Some(place) = image.texel([x, y], image.layer(z)) {
            at[lane] = place;
            inside |= 1 << lane;
        }
    }
    Ok((at, inside))
}

/// The bits of texels.
type Bits = [[u32; 4]; LANES];

fn fetch<S: Space>(space: &mut S, at: &Addresses, mask: u64, bytes: u32) -> Checked<Bits> {
    space.check(at, mask, bytes, 0, Access::Read)?;
    let mut data = [[0; 4]; LANES];
    for lane in lanes(mask) {
        // SAFETY: checked just above, all bytes of the texel.
        data[lane] = unsafe { load_element(space, lane, at[lane], bytes) };
    }
    Ok(data)
}

fn put<S: Space>(space: &mut S, at: &Addresses, mask: u64, bytes: u32, data: &Bits) -> Checked {
    space.check(at, mask, bytes, 0, Access::Write)?;
    for lane in lanes(mask) {
        // SAFETY: checked just above, all bytes of the texel, for writing.
        unsafe { store_element(space, lane, at[lane], bytes, data[lane]) };
    }
    Ok(())
}

/// The components in the mask, lowest first.
fn components(m: &Micro) -> impl Iterator<Item = usize> + use<> {
    let mask = m.aux & 15;
    (0..4).filter(move |i| mask >> i & 1 == 1)
}

/// Writes the components in the mask to a lane's registers. `format` determines their conversion to halves.
fn deliver(w: &mut Wave, m: &Micro, sramecc: bool, lane: usize, texel: [u32; 4], format: Option<Texels>) {
    let mut registers = 0;
    for (n, i) in components(m).enumerate() {
        let n = n as u16;
        match format.filter(|_| m.aux & HALVES != 0) {
            None => {
                w.row_mut(m.dst + n)[lane] = texel[i];
                registers = n + 1;
            }
            Some(format) => {
                let (half, place) = (format.halve(texel[i]), &mut w.row_mut(m.dst + n / 2)[lane]);
                *place = match (n % 2, sramecc) {
                    (0, true) => half,
                    (0, false) => *place & 0xffff_0000 | half,
                    _ => *place & 0xffff | half << 16,
                };
                registers = n / 2 + 1;
            }
        }
    }
    if m.aux & STATUS != 0 {
        w.row_mut(m.dst + registers)[lane] = 0;
    }
}

fn load(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let result = try_load(w, m, &mut ctx.env);
    finish(w, result)
}

fn try_load(w: &mut Wave, m: &Micro, env: &mut Env<'_>) -> Result<(), Failure> {
    if w.exec() == 0 {
        return Ok(());
    }
    let image = Resource::read(w, m.src[2])?;
    let format = image.format()?;
    let (at, inside) = places(w, Coordinates::of(m), &image)?;
    let data = fetch(env.view, &at, inside, format.bytes())?;
    for lane in lanes(w.exec()) {
        let texel = match (inside >> lane & 1 == 1, m.aux & PACKED != 0) {
            (false, _) => [0; 4],
            (true, false) => image.select(format.unpack(data[lane]), format.one()),
            (true, true) => unconverted(data[lane], format.bytes(), m.aux & SIGNED != 0),
        };
        deliver(w, m, env.sramecc, lane, texel, Some(format));
    }
    Ok(())
}

/// The words of a texel. One smaller than a word is extended.
fn unconverted(mut texel: [u32; 4], bytes: u32, signed: bool) -> [u32; 4] {
    if bytes < 4 && signed {
        let unused = 32 - 8 * bytes;
        texel[0] = ((texel[0] << unused) as i32 >> unused) as u32;
    }
    texel
}

fn store(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let result = try_store(w, m, &mut ctx.env);
    finish(w, result)
}

fn try_store(w: &mut Wave, m: &Micro, env: &mut Env<'_>) -> Result<(), Failure> {
    if w.exec() == 0 {
        return Ok(());
    }
    let image = Resource::read(w, m.src[2])?;
    let format = image.format()?;
    if m.aux & PACKED == 0 && !format.storable() {
        return Err("a store to an sRGB image, which converts only what is loaded".into());
    }
    let (at, inside) = places(w, Coordinates::of(m), &image)?;
    let mut data = [[0; 4]; LANES];
    for lane in lanes(inside) {
        // Components outside the mask are zero.
        let mut texel = [0; 4];
        for (n, i) in components(m).enumerate() {
            if m.aux & HALVES == 0 {
                texel[i] = w.row(m.src[1] + n as u16)[lane];
            } else {
                // For halves, the mask only gives their number.
                texel[n] = format.double(w.row(m.src[1] + n as u16 / 2)[lane] >> (16 * (n as u32 % 2)));
            }
        }
        data[lane] = if m.aux & PACKED != 0 { texel } else { format.pack(image.place(texel)) };
    }
    put(env.view, &at, inside, format.bytes(), &data)?;
    Ok(())
}

/// The operations, in the order of the table, on words and on pairs of words.
fn operations() -> &'static [[Option<Operation>; 2]] {
    static ALL: OnceLock<Vec<[Option<Operation>; 2]>> = OnceLock::new();
    ALL.get_or_init(|| {
        let first = Op::image_atomic_swap as usize;
        let count = Op::image_atomic_dec as usize - first + 1;
        let images = Op::ALL[first..first + count].iter();
        images
            .map(|op| {
                // A compare-and-swap has two operands in consecutive registers.
                let types =
                    if *op == Op::image_atomic_cmpswap { [Type::B64, Type::B128] } else { [Type::B32, Type::B64] };
                types.map(|ty| Operation::of(*op, ty))
            })
            .collect()
    })
}

fn update(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let result = try_update(w, m, &mut ctx.env);
    finish(w, result)
}

fn try_update(w: &mut Wave, m: &Micro, env: &mut Env<'_>) -> Result<(), Failure> {
    let which = (m.aux >> 16) as usize;
    // The number of registers in the mask determines the width of the word.
    let registers = (m.aux & 15).count_ones();
    let swaps = which == Op::image_atomic_cmpswap as usize - Op::image_atomic_swap as usize;
    let wide = registers == if swaps { 4 } else { 2 };
    let operation = operations().get(which).and_then(|o| o[usize::from(wide)]).ok_or("this atomic operation")?;
    let mask = w.exec();
    if mask == 0 {
        return Ok(());
    }
    let image = Resource::read(w, m.src[2])?;
    if image.format()?.bytes() != operation.bytes() {
        return Err("an atomic operation of another width than the image's texels".into());
    }
    let (at, inside) = places(w, Coordinates::of(m), &image)?;
    let words = (operation.bytes() / 4) as u16;
    let dst = (m.aux & RETURNS != 0).then_some(m.src[1]);
    let rows = Rows { data: m.src[1], second: m.src[1] + words, dst };
    atomic::run(w, env.view, &at, inside, operation, rows)?;
    for row in dst.map(|dst| dst..dst + words).into_iter().flatten() {
        lanes(mask & !inside).for_each(|lane| w.row_mut(row)[lane] = 0);
    }
    Ok(())
}

/// `image_get_resinfo`.
fn size(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    if w.exec() == 0 {
        return Flow::Next;
    }
    let image = match Resource::read(w, m.src[2]) {
        Ok(image) => image,
        Err(why) => return w.fail(Trap::Unsupported(why)),
    };
    for lane in lanes(w.exec()) {
        let sizes = image.sizes(Coordinates::of(m).integer(w, 0, lane));
        deliver(w, m, ctx.env.sramecc, lane, sizes, None);
    }
    Flow::Next
}

/// The texels of the lanes' samples; none for disabled lanes.
fn taps(w: &Wave, from: Coordinates, image: &Resource, sampler: &Sampler) -> Result<Vec<Taps>, &'static str> {
    let mut taps = vec![Taps::default(); LANES];
    for lane in lanes(w.exec()) {
        let place = image.address(from.declared()).map(|place| place.map_or(0.0, |i| from.float(w, i, lane)));
        taps[lane] = sampler.taps(image, place)?;
    }
    Ok(taps)
}

/// The positions of the texels with a number, and the lanes whose texel is inside the image and has a weight.
fn nth(taps: &[Taps], tap: usize) -> (Addresses, u64) {
    let (mut at, mut inside) = (NOWHERE, 0);
    for (lane, place) in taps.iter().enumerate().filter_map(|(lane, taps)| Some((lane, taps.place(tap)?))) {
        at[lane] = place;
        inside |= 1 << lane;
    }
    (at, inside)
}

/// The registers of an image instruction's operands: rows and slots.
pub(crate) struct ImageOperands {
    pub(crate) address: u16,
    pub(crate) image: u16,
    pub(crate) sampler: Option<u16>,
}

/// The upcoming accesses of an image instruction: the texel positions and active lanes (up to eight of them, for the
/// texels of a sample), and the size of a texel. Empty for an access that will not be performed.
pub(crate) fn touched(inst: &Inst, w: &Wave, operands: &ImageOperands) -> (Vec<(Addresses, u64)>, u32) {
    let find = || -> Result<_, &'static str> {
        let flags = flags(inst).ok_or("no image")?;
        let from = Coordinates { first: operands.address, flags };
        let image = Resource::read(w, operands.image)?;
        let bytes = image.format()?.bytes();
        let places = match operands.sampler {
            _ if inst.op == Op::image_get_resinfo => Vec::new(),
            None => vec![places(w, from, &image)?],
            Some(slot) => {
                let sampler = Sampler::read(w, slot, flags & UNNORMALIZED != 0, &image)?;
                let taps = taps(w, from, &image, &sampler)?;
                (0..sampler::MOST_TAPS).map(|i| nth(&taps, i)).filter(|(_, inside)| *inside != 0).collect()
            }
        };
        Ok((places, bytes))
    };
    find().unwrap_or_default()
}

fn sample(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let result = try_sample(w, m, &mut ctx.env);
    finish(w, result)
}

fn try_sample(w: &mut Wave, m: &Micro, env: &mut Env<'_>) -> Result<(), Failure> {
    if w.exec() == 0 {
        return Ok(());
    }
    let image = Resource::read(w, m.src[2])?;
    let format = image.format()?;
    let sampler = Sampler::read(w, m.src[3], m.aux & UNNORMALIZED != 0, &image)?;
    let taps = taps(w, Coordinates::of(m), &image, &sampler)?;
    let mut mixes = vec![Mix::new(&sampler, format); LANES];
    for tap in 0..sampler::MOST_TAPS {
        let (at, inside) = nth(&taps, tap);
        let data = fetch(env.view, &at, inside, format.bytes())?;
        for lane in lanes(w.exec()) {
            let Some(weight) = taps[lane].weight(tap) else { continue };
            let texel =
                if inside >> lane & 1 == 1 { format.unpack(data[lane]) } else { sampler.border(&image, format) };
            mixes[lane].add(image.select(texel, format.one()), weight);
        }
    }
    for lane in lanes(w.exec()) {
        deliver(w, m, env.sramecc, lane, mixes[lane].result(), Some(format));
    }
    Ok(())
}
