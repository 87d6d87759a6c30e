//! The positions of elements, and the loop over them.
//!
//! With M rows of A, as many columns of B, `BLOCKS` products side by side, and E elements per lane:
//! * A: lane `(k / E) * M * BLOCKS + block * M + i`, element `k % E`, counted from the lowest bits of the first
//!   register. B is the same, with its column instead of the row.
//! * C and D: a row of the matrix takes M lanes. In 32 bits, four rows are in four consecutive registers and the next
//!   four in the next M lanes, until the lanes are used up and the next four registers follow. Then come the other
//!   blocks. Only if a block does not fill the lanes (4 x 4), the same rows of all blocks come first, side by side. In
//!   64 bits it is one row instead of four.
//!
//! For a sparse A, `k` counts the stored elements, two of every four. The index register has two bits for each, in A's
//! own lane, lowest first, which select their position among the four.

use std::mem::MaybeUninit;

use super::entry::Fields;
use crate::exec::{Flow, LANES, Micro, Row, Wave};

/// An element of C and D.
pub(super) trait Sum: Copy {
    const REGISTERS: usize;
    /// Consecutive rows of the matrix that are in consecutive registers.
    const HEIGHT: usize;
    /// The elements of `C` lanes from `lane` on.
    fn get<const C: usize>(rows: &[Row], lane: usize) -> [Self; C];
    fn put<const C: usize>(sums: [Self; C], rows: &mut [Row], lane: usize);
}

/// `C` lanes of a register.
#[inline(always)]
fn part<const C: usize>(row: &Row, lane: usize) -> &[u32; C] {
    row.0[lane..].first_chunk().expect("a register has all its lanes")
}

/// `C` lanes of a register, to write.
#[inline(always)]
fn part_mut<const C: usize>(row: &mut Row, lane: usize) -> &mut [u32; C] {
    row.0[lane..].first_chunk_mut().expect("a register has all its lanes")
}

/// Applies `f` to each element. The arrays' own `map` is fast only if the optimiser sees the whole crate at once.
#[inline(always)]
pub(super) fn each<T: Copy, R: Copy, const C: usize>(from: &[T; C], zero: R, f: impl Fn(T) -> R) -> [R; C] {
    let mut to = [zero; C];
    for n in 0..C {
        to[n] = f(from[n]);
    }
    to
}

macro_rules! sums {
    ($($type:ty, $zero:expr, $from:expr, $to:expr;)*) => { $(
        impl Sum for $type {
            const REGISTERS: usize = 1;
            const HEIGHT: usize = 4;
            #[inline(always)]
            fn get<const C: usize>(rows: &[Row], lane: usize) -> [Self; C] {
                each(part(&rows[0], lane), $zero, $from)
            }
            #[inline(always)]
            fn put<const C: usize>(sums: [Self; C], rows: &mut [Row], lane: usize) {
                *part_mut(&mut rows[0], lane) = each(&sums, 0, $to);
            }
        }
    )* };
}

sums! {
    f32, 0.0, f32::from_bits, f32::to_bits;
    i32, 0, |x| x as i32, |x| x as u32;
}

impl Sum for f64 {
    const REGISTERS: usize = 2;
    const HEIGHT: usize = 1;
    #[inline(always)]
    fn get<const C: usize>(rows: &[Row], lane: usize) -> [Self; C] {
        let (low, high): (&[u32; C], &[u32; C]) = (part(&rows[0], lane), part(&rows[1], lane));
        let mut sums = [0.0; C];
        for n in 0..C {
            sums[n] = f64::from_bits(u64::from(low[n]) | u64::from(high[n]) << 32);
        }
        sums
    }
    #[inline(always)]
    fn put<const C: usize>(sums: [Self; C], rows: &mut [Row], lane: usize) {
        *part_mut(&mut rows[0], lane) = each(&sums, 0, |x| x.to_bits() as u32);
        *part_mut(&mut rows[1], lane) = each(&sums, 0, |x| (x.to_bits() >> 32) as u32);
    }
}

/// The addition of products.
pub(super) trait Arithmetic {
    /// An element of A or B in this arithmetic's form.
    type Value: Copy;
    /// An element of C and D.
    type Sum: Sum;
    /// Adds `count` products to each of `C` sums; `term` returns the n-th element of A and those of B.
    fn dot<'v, const C: usize, const FAST: bool>(
        sums: [Self::Sum; C],
        count: usize,
        term: impl Fn(usize) -> (Self::Value, &'v [Self::Value; C]),
    ) -> [Self::Sum; C]
    where
        Self::Value: 'v;
}

/// The value type of a unit's arithmetic.
pub(super) type Value<U> = <<U as Unit>::Sums as Arithmetic>::Value;

/// A pair of element types and their arithmetic.
pub(super) trait Unit {
    /// The arithmetic of sums.
    type Sums: Arithmetic;
    const ZERO: Value<Self>;
    /// Bits of an element of A, and of B.
    const BITS: usize;
    /// An element of A from its bits, the lowest first.
    fn a(bits: [u32; 2]) -> Value<Self>;
    /// An element of B.
    fn b(bits: [u32; 2]) -> Value<Self>;
    /// The negated value; only used if `blgp` negates.
    fn negated(value: Value<Self>) -> Value<Self> {
        value
    }
    /// The arithmetic for operands that [`Unit::suits`] rejects.
    type Careful: Unit;
    /// Returns whether this arithmetic is correct for these elements.
    #[inline(always)]
    fn suits(_a: &[Value<Self>], _b: &[Value<Self>]) -> bool {
        true
    }
}

/// The maximum number of products of an element of D.
const MOST: usize = 32;

/// The maximum number of elements of an operand in a lane.
const SHARE: usize = 16;

/// Room for all elements of an operand.
type Room<V> = [MaybeUninit<[V; LANES]>; SHARE];

/// All elements of an operand with `share` per lane: the first element of every lane, then the second, and so on.
#[inline(always)]
fn unpack<'a, V: Copy>(
    rows: &[Row],
    bits: usize,
    share: usize,
    zero: V,
    value: impl Fn([u32; 2]) -> V,
    room: &'a mut Room<V>,
) -> &'a mut [[V; LANES]] {
    let room = &mut room[..share];
    for (e, all) in room.iter_mut().enumerate() {
        let low = &rows[e * bits / 32].0;
        let high = if bits == 64 { &rows[e * 2 + 1].0 } else { low };
        let all = all.write([zero; LANES]);
        for lane in 0..LANES {
            all[lane] = value(match bits {
                64 => [low[lane], high[lane]],
                32 => [low[lane], 0],
                _ => [low[lane] >> (e * bits % 32) & ((1 << bits) - 1), 0],
            });
        }
    }
    // SAFETY: all of them are written.
    unsafe { std::slice::from_raw_parts_mut(room.as_mut_ptr().cast(), share) }
}

/// The source lanes for `blgp`'s lane moves, in groups of 16.
const MOVES: [[usize; 4]; 8] =
    [[0, 1, 2, 3], [0, 1, 0, 1], [2, 3, 2, 3], [1, 2, 3, 0], [0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]];

/// The registers of B, their lanes moved by `blgp`.
#[inline(never)]
fn moved(rows: &[Row], blgp: usize) -> [Row; 4] {
    let mut copy = [Row::ZERO; 4];
    for (to, from) in copy.iter_mut().zip(rows) {
        for (group, source) in MOVES[blgp].iter().enumerate() {
            to.0[16 * group..][..16].copy_from_slice(&from.0[16 * source..][..16]);
        }
    }
    copy
}

/// The position of element k of row or column 0 in the result of [`unpack`], with `share` elements per lane.
#[inline(always)]
fn offset(k: usize, share: usize, width: usize) -> u16 {
    (k % share * LANES + k / share * width) as u16
}

/// For each stored element of a sparse A, in the same arrangement: the position of its k in B.
#[inline(always)]
fn places(all: &mut [[u16; LANES]], indices: &[u32; LANES], fields: Fields, width_log: u32) {
    let share = all.len();
    // With `cbsz`, always the first set.
    let shift = if fields.cbsz == 0 { usize::from(fields.abid) * 2 * share } else { 0 };
    for (e, places) in all.iter_mut().enumerate() {
        for lane in 0..LANES {
            let two = (indices[lane] >> ((shift + 2 * e) & 31) & 3) as usize;
            let p = (lane >> width_log) * share + e;
            places[lane] = offset(p / 2 * 4 + two, 2 * share, 1 << width_log);
        }
    }
}

/// Copies C to the registers of D.
#[inline(always)]
fn place(w: &mut Wave, m: &Micro, fields: Fields) {
    let (to, count) = (usize::from(m.dst), usize::from(fields.registers));
    if fields.constant {
        for (n, row) in w.rows[to..to + count].iter_mut().enumerate() {
            row.0 = [if n % 2 == 0 { m.pre } else { m.post }; LANES];
        }
    } else if fields.apart {
        let from = usize::from(m.src[2]);
        w.rows.copy_within(from..from + count, to);
    }
}

/// D = A x B + C.
#[inline(always)]
pub(super) fn multiply<U: Unit, const SPARSE: bool, const FAST: bool>(w: &mut Wave, m: &Micro) -> Flow {
    let fields = Fields::unpack(m.aux);
    let doubles = U::BITS == 64;
    let negate = |n: u8| doubles && fields.blgp >> n & 1 != 0;
    let width_log = u32::from(fields.size + fields.blocks);

    // For a sparse A, only half the elements are stored.
    let share = 1 << fields.share;
    let share_b = if SPARSE { 2 * share } else { share };
    let (mut room_a, mut room_b): (Room<Value<U>>, Room<Value<U>>) =
        ([const { MaybeUninit::uninit() }; SHARE], [const { MaybeUninit::uninit() }; SHARE]);
    let a = unpack(&w.rows[usize::from(m.src[0])..], U::BITS, share, U::ZERO, U::a, &mut room_a).as_flattened_mut();
    if negate(0) {
        a.iter_mut().for_each(|x| *x = U::negated(*x));
    }
    let rows = &w.rows[usize::from(m.src[1])..];
    let copy;
    let rows = if fields.blgp == 0 || doubles {
        rows
    } else {
        copy = moved(&rows[..(share_b * U::BITS).div_ceil(32)], usize::from(fields.blgp));
        &copy
    };
    let b = unpack(rows, U::BITS, share_b, U::ZERO, U::b, &mut room_b).as_flattened_mut();
    if negate(1) {
        b.iter_mut().for_each(|x| *x = U::negated(*x));
    }
    if !U::suits(a, b) {
        return careful::<U::Careful, SPARSE>(w, m);
    }
    let mut indices = [[0; LANES]; SHARE / 2];
    if SPARSE {
        places(&mut indices[..share], &w.rows[usize::from(m.src[2])].0, fields, width_log);
    }
    place(w, m, fields);

    let to = usize::from(m.dst);
    let rows = &mut w.rows[to..to + usize::from(fields.registers)];
    if negate(2) {
        for row in rows.chunks_exact_mut(2) {
            row[1].0.iter_mut().for_each(|high| *high ^= 1 << 31);
        }
    }
    let mut offsets = [0; MOST];
    let count = share * LANES >> width_log;
    for (k, to) in offsets.iter_mut().enumerate().take(count) {
        *to = offset(k, share, 1 << width_log);
    }
    let operands =
        Operands { a, b, places: if SPARSE { indices.as_flattened() } else { &[] }, offsets: &offsets[..count] };
    #[cfg(target_arch = "x86_64")]
    if FAST {
        // SAFETY: `FAST` is set only in functions that are themselves called only if the CPU has AVX2 and the rest.
        unsafe { sum_fast::<U::Sums, SPARSE>(rows, fields, operands) };
        return Flow::Next;
    }
    sum_plain::<U::Sums, SPARSE>(rows, fields, operands);
    Flow::Next
}

/// The same with the unit's careful arithmetic.
#[inline(never)]
fn careful<U: Unit, const SPARSE: bool>(w: &mut Wave, m: &Micro) -> Flow {
    multiply::<U, SPARSE, false>(w, m)
}

/// A and B, unpacked.
struct Operands<'a, V> {
    a: &'a [V],
    b: &'a [V],
    /// For a sparse A: the position of the element of B for each element of A.
    places: &'a [u16],
    /// For each product of a sum: the positions of its elements for row and column 0.
    offsets: &'a [u16],
}

/// # Safety
/// The CPU has to have AVX2, FMA, F16C, BMI1, BMI2, LZCNT and POPCNT.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
#[inline(never)]
unsafe fn sum_fast<R: Arithmetic, const SPARSE: bool>(rows: &mut [Row], fields: Fields, of: Operands<'_, R::Value>) {
    sum::<R, SPARSE, true>(rows, fields, of);
}

#[inline(never)]
fn sum_plain<R: Arithmetic, const SPARSE: bool>(rows: &mut [Row], fields: Fields, of: Operands<'_, R::Value>) {
    sum::<R, SPARSE, false>(rows, fields, of);
}

/// The sums of every element of D.
#[inline(always)]
fn sum<R: Arithmetic, const SPARSE: bool, const FAST: bool>(
    rows: &mut [Row],
    fields: Fields,
    of: Operands<'_, R::Value>,
) {
    // All numbers are powers of two.
    let log = |n: usize| n.trailing_zeros();
    let size = u32::from(fields.size);
    let (height, lanes) = (log(R::Sum::HEIGHT), log(LANES));
    // The number of blocks side by side in a register, and of registers (for doubles: pairs) for that many blocks.
    let side = (lanes + height).saturating_sub(2 * size);
    let span = 2 * size + side - lanes;
    let groups = lanes - size;
    let below = |x: usize, log: u32| x & ((1 << log) - 1);
    for r in 0..rows.len() / R::Sum::REGISTERS {
        let row = &mut rows[r * R::Sum::REGISTERS..][..R::Sum::REGISTERS];
        for g in 0..1 << groups {
            let block = (r >> span << side) + below(g, side);
            let i = (below(r, span) >> height << height << (groups - side)) + (g >> side << height) + below(r, height);
            let from = if SPARSE || fields.cbsz == 0 {
                block
            } else {
                (block >> fields.cbsz << fields.cbsz) + usize::from(fields.abid)
            };
            let at = Place { a: (from << size) + i, b: block << size, lane: g << size };
            if size >= 4 {
                for part in (0..1 << size).step_by(16) {
                    let at = Place { b: at.b + part, lane: at.lane + part, ..at };
                    elements::<R, SPARSE, FAST, 16>(row, at, &of);
                }
            } else {
                elements::<R, SPARSE, FAST, 4>(row, at, &of);
            }
        }
    }
}

/// The positions of some elements of D and of their inputs.
#[derive(Clone, Copy)]
struct Place {
    a: usize,
    b: usize,
    lane: usize,
}

/// `C` neighbouring elements of D.
#[inline(always)]
fn elements<R: Arithmetic, const SPARSE: bool, const FAST: bool, const C: usize>(
    row: &mut [Row],
    at: Place,
    of: &Operands<'_, R::Value>,
) {
    let sums = R::dot::<C, FAST>(R::Sum::get(row, at.lane), of.offsets.len(), |p| {
        let a = usize::from(of.offsets[p]) + at.a;
        let b = usize::from(if SPARSE { of.places[a] } else { of.offsets[p] }) + at.b;
        (of.a[a], of.b[b..].first_chunk().expect("B has all its elements"))
    });
    R::Sum::put(sums, row, at.lane);
}
