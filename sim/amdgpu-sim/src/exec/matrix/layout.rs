//! Where the elements are, and the loop over them.
//!
//! With M rows of A, as many columns of B, `BLOCKS` products side by side, and E elements a lane:
//! * A: lane `(k / E) * M * BLOCKS + block * M + i`, element `k % E`, counted from the lowest bits of the first register.
//!   B is the same with its column for the row.
//! * C and D: a row of the matrix takes M lanes. In 32 bits four rows are in four consecutive registers, the next four in
//!   the next M lanes, and so on until the lanes are used up and the next four registers follow; then come the other
//!   blocks. Only if a block does not fill the lanes (4 x 4) do the same rows of all blocks come first, side by side.
//!   In 64 bits it is one row in place of four.
//!
//! `k` of a sparse A counts the stored elements, two of every four; the two bits that the index register has for each,
//! in A's own lane, lowest first, say which of the four they are.

use super::Fields;
use crate::exec::{Flow, LANES, Micro, Row, Wave};

/// An element of C and D.
pub(super) trait Sum: Copy {
    const ZERO: Self;
    const REGISTERS: usize;
    /// Consecutive rows of the matrix that are in consecutive registers.
    const HEIGHT: usize;
    fn get(rows: &[Row], lane: usize) -> Self;
    fn put(self, rows: &mut [Row], lane: usize);
    /// With the sign changed.
    fn negated(self) -> Self;
}

macro_rules! sums {
    ($($type:ty, $from:expr, $to:expr, $negate:expr;)*) => { $(
        impl Sum for $type {
            const ZERO: Self = 0 as $type;
            const REGISTERS: usize = 1;
            const HEIGHT: usize = 4;
            #[inline(always)]
            fn get(rows: &[Row], lane: usize) -> Self {
                $from(rows[0].0[lane])
            }
            #[inline(always)]
            fn put(self, rows: &mut [Row], lane: usize) {
                rows[0].0[lane] = $to(self);
            }
            #[inline(always)]
            fn negated(self) -> Self {
                $negate(self)
            }
        }
    )* };
}

sums! {
    f32, f32::from_bits, f32::to_bits, |x: f32| -x;
    i32, |x| x as i32, |x| x as u32, i32::wrapping_neg;
}

impl Sum for f64 {
    const ZERO: Self = 0.0;
    const REGISTERS: usize = 2;
    const HEIGHT: usize = 1;
    #[inline(always)]
    fn get(rows: &[Row], lane: usize) -> Self {
        f64::from_bits(u64::from(rows[0].0[lane]) | u64::from(rows[1].0[lane]) << 32)
    }
    #[inline(always)]
    fn put(self, rows: &mut [Row], lane: usize) {
        rows[0].0[lane] = self.to_bits() as u32;
        rows[1].0[lane] = (self.to_bits() >> 32) as u32;
    }
    #[inline(always)]
    fn negated(self) -> Self {
        -self
    }
}

/// The arithmetic of one pair of element types.
pub(super) trait Unit {
    /// An element of A or B, in the form that the arithmetic takes.
    type Value: Copy;
    /// An element of C and D.
    type Sum: Sum;
    const ZERO: Self::Value;
    /// Bits of an element of A, and of B.
    const BITS: usize;
    /// An element of A from its bits, the lowest first.
    fn a(bits: [u32; 2]) -> Self::Value;
    /// An element of B.
    fn b(bits: [u32; 2]) -> Self::Value;
    /// The other sign; asked for only where `blgp` negates.
    fn negated(value: Self::Value) -> Self::Value {
        value
    }
    /// The arithmetic for operands that [`Unit::suits`] turns down.
    type Careful: Unit;
    /// Whether this arithmetic is right for these elements.
    #[inline(always)]
    fn suits(_a: &[Self::Value], _b: &[Self::Value]) -> bool {
        true
    }
    /// Adds `count` products to each of `C` sums; `term` gives the element of A and those of B for the n-th.
    fn dot<'v, const C: usize, const FAST: bool>(
        sums: [Self::Sum; C],
        count: usize,
        term: impl Fn(usize) -> (Self::Value, &'v [Self::Value; C]),
    ) -> [Self::Sum; C]
    where
        Self::Value: 'v;
}

/// The bits of element `e` of a lane, elements of `bits` bits.
#[inline(always)]
fn element(rows: &[Row], bits: usize, e: usize, lane: usize) -> [u32; 2] {
    let word = rows[e * bits / 32].0[lane];
    match bits {
        64 => [word, rows[e * 2 + 1].0[lane]],
        32 => [word, 0],
        _ => [word >> (e * bits % 32) & ((1 << bits) - 1), 0],
    }
}

/// All elements of an operand: those of one k side by side, `width` of them.
#[inline(always)]
fn unpack<V: Copy, const E: usize>(
    rows: &[Row],
    bits: usize,
    width: usize,
    zero: V,
    value: impl Fn([u32; 2]) -> V,
) -> [[V; LANES]; E] {
    let mut all = [[zero; LANES]; E];
    let flat = all.as_flattened_mut();
    for e in 0..E {
        for part in 0..LANES / width {
            let to = &mut flat[(part * E + e) * width..][..width];
            for (at, to) in to.iter_mut().enumerate() {
                *to = value(element(rows, bits, e, part * width + at));
            }
        }
    }
    all
}

/// Lanes that `blgp` moves, in groups of 16: for each where it comes from.
const MOVES: [[usize; 4]; 8] =
    [[0, 1, 2, 3], [0, 1, 0, 1], [2, 3, 2, 3], [1, 2, 3, 0], [0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]];

/// Where each stored element of a sparse A belongs: its k, a byte each, arranged like the elements of A.
#[inline(always)]
fn places<const E: usize>(indices: &[u32; LANES], fields: Fields, width: usize) -> [[u8; LANES]; E] {
    // With `cbsz` it is always the first set.
    let shift = if fields.cbsz == 0 { usize::from(fields.abid) * 2 * E } else { 0 };
    let mut all = [[0; LANES]; E];
    let flat = all.as_flattened_mut();
    for e in 0..E {
        for part in 0..LANES / width {
            let p = part * E + e;
            for at in 0..width {
                let two = indices[part * width + at] >> ((shift + 2 * e) & 31) & 3;
                flat[p * width + at] = (p / 2 * 4) as u8 + two as u8;
            }
        }
    }
    all
}

/// C into the registers of D.
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

/// D = A x B + C. `EA` and `EB` are the elements of A and B in a lane.
#[inline(always)]
pub(super) fn multiply<
    U: Unit,
    const M: usize,
    const BLOCKS: usize,
    const EA: usize,
    const EB: usize,
    const SPARSE: bool,
    const FAST: bool,
>(
    w: &mut Wave,
    m: &Micro,
) -> Flow {
    let fields = Fields::unpack(m.aux);
    let width = M * BLOCKS;
    let negate = |n: u8| U::Sum::REGISTERS == 2 && fields.blgp >> n & 1 != 0;

    let mut a: [[U::Value; LANES]; EA] = unpack(&w.rows[usize::from(m.src[0])..], U::BITS, width, U::ZERO, U::a);
    if negate(0) {
        a.as_flattened_mut().iter_mut().for_each(|x| *x = U::negated(*x));
    }
    let rows = &w.rows[usize::from(m.src[1])..];
    let mut b: [[U::Value; LANES]; EB] = if fields.blgp == 0 || U::Sum::REGISTERS == 2 {
        unpack(rows, U::BITS, width, U::ZERO, U::b)
    } else {
        moved::<U, EB>(rows, usize::from(fields.blgp), width)
    };
    if negate(1) {
        b.as_flattened_mut().iter_mut().for_each(|x| *x = U::negated(*x));
    }
    let places: [[u8; LANES]; EA] =
        if SPARSE { places(&w.rows[usize::from(m.src[2])].0, fields, width) } else { [[0; LANES]; EA] };
    if !U::suits(a.as_flattened(), b.as_flattened()) {
        return careful::<U::Careful, M, BLOCKS, EA, EB, SPARSE>(w, m);
    }
    place(w, m, fields);

    let (a, b, places) = (a.as_flattened(), b.as_flattened(), places.as_flattened());
    let to = usize::from(m.dst);
    let rows = &mut w.rows[to..to + usize::from(fields.registers)];
    if negate(2) {
        for row in rows.chunks_exact_mut(U::Sum::REGISTERS) {
            for lane in 0..LANES {
                U::Sum::get(row, lane).negated().put(row, lane);
            }
        }
    }
    sum::<U, M, BLOCKS, EA, SPARSE, FAST>(rows, fields, a, b, places);
    Flow::Next
}

/// B, its lanes moved by `blgp`.
#[inline(never)]
fn moved<U: Unit, const E: usize>(rows: &[Row], blgp: usize, width: usize) -> [[U::Value; LANES]; E] {
    let mut copy = [Row::ZERO; 4];
    for (to, from) in copy.iter_mut().zip(rows).take((E * U::BITS).div_ceil(32)) {
        for (group, source) in MOVES[blgp].iter().enumerate() {
            to.0[16 * group..][..16].copy_from_slice(&from.0[16 * source..][..16]);
        }
    }
    unpack(&copy, U::BITS, width, U::ZERO, U::b)
}

/// The same with the unit's careful arithmetic.
#[inline(never)]
fn careful<U: Unit, const M: usize, const BLOCKS: usize, const EA: usize, const EB: usize, const SPARSE: bool>(
    w: &mut Wave,
    m: &Micro,
) -> Flow {
    multiply::<U, M, BLOCKS, EA, EB, SPARSE, false>(w, m)
}

/// The sums of every element of D.
#[inline(always)]
fn sum<U: Unit, const M: usize, const BLOCKS: usize, const EA: usize, const SPARSE: bool, const FAST: bool>(
    rows: &mut [Row],
    fields: Fields,
    a: &[U::Value],
    b: &[U::Value],
    places: &[u8],
) {
    let groups = LANES / M;
    let height = U::Sum::HEIGHT;
    // Blocks side by side in a register, and registers (of a double: pairs) of so many blocks.
    let side = (LANES * height / (M * M)).max(1);
    let span = M * M * side / LANES;
    let broadcast = if SPARSE { 0 } else { fields.cbsz };
    for (r, row) in rows.chunks_exact_mut(U::Sum::REGISTERS).enumerate() {
        for g in 0..groups {
            let block = r / span * side + g % side;
            let i = r % span / height * height * (groups / side) + g / side * height + r % height;
            let from =
                if broadcast == 0 { block } else { (block >> broadcast << broadcast) + usize::from(fields.abid) };
            let at = Place { a: from * M + i, b: block * M, lane: g * M };
            if M >= 8 {
                for part in 0..M / 8 {
                    let at = Place { b: at.b + 8 * part, lane: at.lane + 8 * part, ..at };
                    lanes::<U, M, BLOCKS, EA, SPARSE, FAST, 8>(row, at, a, b, places);
                }
            } else {
                lanes::<U, M, BLOCKS, EA, SPARSE, FAST, 4>(row, at, a, b, places);
            }
        }
    }
}

/// Where some elements of D and what they are made of are.
#[derive(Clone, Copy)]
struct Place {
    a: usize,
    b: usize,
    lane: usize,
}

/// `C` neighbouring elements of D.
#[inline(always)]
fn lanes<
    U: Unit,
    const M: usize,
    const BLOCKS: usize,
    const EA: usize,
    const SPARSE: bool,
    const FAST: bool,
    const C: usize,
>(
    row: &mut [Row],
    at: Place,
    a: &[U::Value],
    b: &[U::Value],
    places: &[u8],
) {
    let width = M * BLOCKS;
    let mut sums = [U::Sum::ZERO; C];
    for (n, sum) in sums.iter_mut().enumerate() {
        *sum = U::Sum::get(row, at.lane + n);
    }
    let count = EA * LANES / width;
    let sums = U::dot::<C, FAST>(sums, count, |p| {
        let k = if SPARSE { usize::from(places[p * width + at.a]) } else { p };
        let b = b[k * width + at.b..].first_chunk().expect("B has all its elements");
        (a[p * width + at.a], b)
    });
    for (n, sum) in sums.into_iter().enumerate() {
        sum.put(row, at.lane + n);
    }
}
