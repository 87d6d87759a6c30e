//! Vector instructions: formats VOP1, VOP2, VOP3, VOP3P, VOPC, with SDWA and DPP.
//!
//! An operation is a function of one lane's operands (the tables of this module's children). The loops here run it over
//! 64 lanes, in a form that the compiler vectorises, once for the CPU's baseline and once for AVX2 and FMA. Operands
//! other than plain vector registers or constants are converted to that form first (`operand::prepare`); results that
//! need more than a masked write are processed in `operand::finish`.

mod address;
mod cmp;
mod conv;
mod cube;
mod div;
mod f16;
mod f32;
mod f64;
mod fp8;
mod half;
mod int;
mod lanes;
mod lower;
mod math;
mod mix;
mod operand;
mod packed;
mod round;
mod sad;
mod special;
mod trig;

pub(super) use address::{Sum, fuse};
pub(super) use half::bits as half_bits;
pub(super) use lower::lower;
pub(super) use operand::Prepare;
pub(super) use round::Choice;

use super::{Ctx, Flow, Handler, LANES, Micro, Row, Wave};
use crate::isa::Op;
use operand::{Kind, finish, prepare};

/// 64 32-bit values, one per lane.
type Lanes = [u32; LANES];

/// A type that an operation reads or writes in each lane.
trait Lane: Copy {
    /// The kind of operands of this type.
    const KIND: Kind;
    /// Whether it takes two registers.
    const WIDE: bool;
    fn get(low: &Lanes, high: &Lanes, lane: usize) -> Self;
    fn put(self, low: &mut [u32], high: &mut [u32], lane: usize);
}

macro_rules! lane {
    ($($type:ty, $kind:ident: $bits:ident => $from:expr, $value:ident => $to:expr;)*) => { $(
        impl Lane for $type {
            const KIND: Kind = Kind::$kind;
            const WIDE: bool = false;
            #[inline(always)]
            fn get(low: &Lanes, _: &Lanes, lane: usize) -> Self {
                let $bits = low[lane];
                $from
            }
            #[inline(always)]
            fn put(self, low: &mut [u32], _: &mut [u32], lane: usize) {
                let $value = self;
                low[lane] = $to;
            }
        }
    )* };
}

lane! {
    u32, B32: x => x, v => v;
    i32, B32: x => x as i32, v => v as u32;
    f32, F32: x => f32::from_bits(x), v => v.to_bits();
    u16, B16: x => x as u16, v => u32::from(v);
    i16, B16: x => x as i16, v => u32::from(v as u16);
    half::F16, F16: x => half::F16(x as u16), v => u32::from(v.0);
    packed::Pair16, P16: x => packed::Pair16(x), v => v.0;
    packed::PairF16, PF16: x => packed::PairF16(x), v => v.0;
}

macro_rules! wide_lane {
    ($($type:ty, $kind:ident: $bits:ident => $from:expr, $value:ident => $to:expr;)*) => { $(
        impl Lane for $type {
            const KIND: Kind = Kind::$kind;
            const WIDE: bool = true;
            #[inline(always)]
            fn get(low: &Lanes, high: &Lanes, lane: usize) -> Self {
                let $bits = u64::from(low[lane]) | u64::from(high[lane]) << 32;
                $from
            }
            #[inline(always)]
            fn put(self, low: &mut [u32], high: &mut [u32], lane: usize) {
                let $value = self;
                let bits: u64 = $to;
                low[lane] = bits as u32;
                high[lane] = (bits >> 32) as u32;
            }
        }
    )* };
}

wide_lane! {
    u64, U64: x => x, v => v;
    i64, I64: x => x as i64, v => v as u64;
    f64, F64: x => f64::from_bits(x), v => v.to_bits();
    packed::Pair32, PF32: x => packed::Pair32(x), v => v.0;
}

/// An operation, its operand kinds and its handler.
#[derive(Clone, Copy)]
struct Entry {
    run: Handler,
    src: &'static [Kind],
    dst: Place,
    /// The use of `src[2]` beyond the vector sources, or of the carry.
    mask: Mask,
}

/// The destination of the result.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A vector register of this kind.
    Vector(Kind),
    /// A mask of lanes in two scalar registers.
    Mask,
    /// No destination.
    Nothing,
}

/// Scalar register pairs with one bit per lane that an operation has in addition to its vector operands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mask {
    None,
    /// Written: the second destination.
    Out,
    /// Read: the source after the vector ones.
    In,
    /// Both.
    InOut,
    /// Read, always VCC.
    Vcc,
}

/// The one or two rows of an operand.
#[inline(always)]
fn pair<T: Lane>(rows: &[Row], first: u16) -> (&Lanes, &Lanes) {
    let first = usize::from(first);
    (&rows[first].0, &rows[first + usize::from(T::WIDE)].0)
}

/// Prepares the sources in their rows, if needed. Returns the lanes to write.
#[inline(always)]
fn prepared<const FAST: bool>(w: &mut Wave, m: &Micro, ctx: &Ctx<'_>) -> u64 {
    if m.pre == 0 {
        return w.exec();
    }
    #[cfg(target_arch = "x86_64")]
    if FAST {
        // SAFETY: `FAST` is set only in functions that are themselves called only if the CPU has AVX2.
        return unsafe { prepare_fast(w, m, ctx) };
    }
    prepare(w, m, ctx)
}

/// # Safety
/// The CPU has to have AVX2, FMA, F16C, BMI1, BMI2, LZCNT and POPCNT.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
#[inline(never)]
unsafe fn prepare_fast(w: &mut Wave, m: &Micro, ctx: &Ctx<'_>) -> u64 {
    if let Some((row, slot)) = ctx.program.prepares[m.pre as usize - 1].broadcast {
        // By far the most frequent case: worth a function without a stack frame.
        w.rows[usize::from(row)].0 = [w.slot(slot); LANES];
        return w.exec();
    }
    // SAFETY: the CPU has the features that this function needs.
    unsafe { prepare_rest_fast(w, m, ctx) }
}

/// # Safety
/// As of [`prepare_fast`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
#[inline(never)]
unsafe fn prepare_rest_fast(w: &mut Wave, m: &Micro, ctx: &Ctx<'_>) -> u64 {
    operand::prepare_inline(w, m, ctx)
}

/// The row for an operation's result: its destination if all lanes are enabled and the result needs no processing,
/// otherwise the wave's result row, which [`store`] processes.
#[inline(always)]
fn target(w: &Wave, m: &Micro, mask: u64) -> u16 {
    if mask == u64::MAX && m.post == 0 { m.dst } else { w.result_row() }
}

/// Moves the result from [`target`] to the instruction's destination.
#[inline(always)]
fn store<R: Lane, const FAST: bool>(w: &mut Wave, m: &Micro, ctx: &Ctx<'_>, mask: u64) -> Flow {
    if m.post == 0 && mask == u64::MAX {
        return Flow::Next;
    }
    store_result::<R, FAST>(w, m, ctx, mask)
}

/// Moves the wave's result to the instruction's destination, for the lanes of `mask`.
#[inline(always)]
fn store_result<R: Lane, const FAST: bool>(w: &mut Wave, m: &Micro, ctx: &Ctx<'_>, mask: u64) -> Flow {
    if R::WIDE { store_rows::<true, FAST>(w, m, ctx, mask) } else { store_rows::<false, FAST>(w, m, ctx, mask) }
}

/// The same for a result of one or two rows. A separate function, since every handler ends with it.
#[inline(never)]
fn store_rows<const WIDE: bool, const FAST: bool>(w: &mut Wave, m: &Micro, ctx: &Ctx<'_>, mask: u64) -> Flow {
    if m.post != 0 {
        return finish(w, m, ctx, mask);
    }
    let (rows, [low, high]) = w.rows_and_result();
    let dst = usize::from(m.dst);
    write::<FAST>(&mut rows[dst].0, low, mask);
    if WIDE {
        write::<FAST>(&mut rows[dst + 1].0, high, mask);
    }
    Flow::Next
}

/// The results of all lanes, low and high halves. They are computed before any is written, since the destination may be
/// one of the sources.
///
/// The compiler keeps them in registers. It vectorises a loop over all lanes directly. A loop over 32 lanes it would
/// unroll first, which takes three times as long and generates more code.
struct Results {
    low: Lanes,
    high: Lanes,
}

impl Results {
    const ZERO: Self = Self { low: [0; LANES], high: [0; LANES] };

    /// Writes the results.
    #[inline(always)]
    fn write<R: Lane>(&self, rows: &mut [Row], to: usize) {
        // As arrays: a copy of slices asserts in debug builds that they do not overlap, which keeps the results in memory.
        rows[to].0 = self.low;
        if R::WIDE {
            rows[to + 1].0 = self.high;
        }
    }
}

/// The result of one lane, in two halves.
#[cfg(all(debug_assertions, target_arch = "x86_64"))]
type OneLane = fn(&[Row], &Micro, usize) -> u64;

/// Executes an operation lane by lane, in builds with assertions: see [`cpu::has_avx2`].
///
/// [`cpu::has_avx2`]: crate::exec::cpu::has_avx2
#[cfg(all(debug_assertions, target_arch = "x86_64"))]
#[inline(never)]
fn lane_by_lane(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>, wide: bool, lane: OneLane) -> Flow {
    let mask = prepared::<false>(w, m, ctx);
    let to = usize::from(target(w, m, mask));
    let mut results = Results::ZERO;
    for i in 0..LANES {
        u64::put(lane(&w.rows, m, i), &mut results.low, &mut results.high, i);
    }
    if wide {
        results.write::<u64>(&mut w.rows, to);
        return store::<u64, false>(w, m, ctx, mask);
    }
    results.write::<u32>(&mut w.rows, to);
    store::<u32, false>(w, m, ctx, mask)
}

macro_rules! arity {
    ($trait:ident, $plain:ident, $fast:ident, $entry:ident, $body:ident, $lanes:ident; $($type:ident $arg:ident $n:literal),*) => {
        /// An operation with one result per lane.
        trait $trait {
            $(type $type: Lane;)*
            type R: Lane;
            fn f($($arg: Self::$type),*) -> Self::R;
        }

        #[inline(always)]
        fn $lanes<O: $trait>(rows: &mut [Row], to: usize, $($arg: u16,)*) {
            let mut results = Results::ZERO;
            $(let $arg = pair::<O::$type>(rows, $arg);)*
            for i in 0..LANES {
                O::f($(O::$type::get($arg.0, $arg.1, i)),*).put(&mut results.low, &mut results.high, i);
            }
            results.write::<O::R>(rows, to);
        }

        #[inline(always)]
        fn $body<O: $trait, const FAST: bool>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
            let mask = prepared::<FAST>(w, m, ctx);
            let to = usize::from(target(w, m, mask));
            $lanes::<O>(&mut w.rows, to, $(m.src[$n]),*);
            store::<O::R, FAST>(w, m, ctx, mask)
        }

        #[cfg(not(all(debug_assertions, target_arch = "x86_64")))]
        fn $plain<O: $trait>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
            $body::<O, false>(w, m, ctx)
        }

        #[cfg(all(debug_assertions, target_arch = "x86_64"))]
        fn $plain<O: $trait>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
            fn lane<O: $trait>(rows: &[Row], m: &Micro, i: usize) -> u64 {
                $(let $arg = pair::<O::$type>(rows, m.src[$n]);)*
                let (mut low, mut high) = ([0], [0]);
                O::f($(O::$type::get($arg.0, $arg.1, i)),*).put(&mut low, &mut high, 0);
                u64::from(low[0]) | u64::from(high[0]) << 32
            }
            lane_by_lane(w, m, ctx, O::R::WIDE, lane::<O>)
        }

        /// # Safety
        /// The CPU has to have AVX2, FMA, F16C, BMI1, BMI2, LZCNT and POPCNT.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn $fast<O: $trait>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
            $body::<O, true>(w, m, ctx)
        }

        fn $entry<O: $trait>(fast: bool) -> Entry {
            #[cfg(target_arch = "x86_64")]
            let run: Handler = if fast { $fast::<O> } else { $plain::<O> };
            #[cfg(not(target_arch = "x86_64"))]
            let run: Handler = { let _ = fast; $plain::<O> };
            Entry {
                run,
                src: const { &[$(O::$type::KIND),*] },
                dst: Place::Vector(O::R::KIND),
                mask: Mask::None,
            }
        }
    };
}

arity!(Op1, plain1, fast1, entry1, body1, lanes1; A a 0);
arity!(Op2, plain2, fast2, entry2, body2, lanes2; A a 0, B b 1);
arity!(Op3, plain3, fast3, entry3, body3, lanes3; A a 0, B b 1, C c 2);

/// Compiles a lane loop that the tables do not cover for the baseline and for AVX2, and defines a function that
/// chooses.
macro_rules! loops {
    ($(fn $name:ident<$o:ident: $bound:path>($w:ident, $m:ident, $ctx:ident) $body:block)*) => { $(
        fn $name<$o: $bound>(fast: bool) -> $crate::exec::Handler {
            use $crate::exec::{Ctx, Flow, Micro, Wave};

            #[inline(always)]
            fn body<$o: $bound, const FAST: bool>($w: &mut Wave, $m: &Micro, $ctx: &mut Ctx<'_>) -> Flow $body

            $crate::exec::cpu::versions!(fast, [$o: $bound], [$o])
        }
    )* };
}
use loops;

/// One operation per line: `name(operands) -> result = expression;`.
macro_rules! operations {
    ($table:ident; $($op:ident $args:tt -> $r:ty = $e:expr;)*) => {
        pub(super) fn $table(op: $crate::isa::Op, fast: bool) -> Option<$crate::exec::valu::Entry> {
            Some(match op {
                $($crate::isa::Op::$op => $crate::exec::valu::operations!(@entry fast $args $r, $e),)*
                _ => return None,
            })
        }
    };
    (@entry $fast:ident ($a:ident: $ta:ty) $r:ty, $e:expr) => {{
        struct T;
        impl $crate::exec::valu::Op1 for T {
            type A = $ta;
            type R = $r;
            #[inline(always)]
            fn f($a: $ta) -> $r { $e }
        }
        $crate::exec::valu::entry1::<T>($fast)
    }};
    (@entry $fast:ident ($a:ident: $ta:ty, $b:ident: $tb:ty) $r:ty, $e:expr) => {{
        struct T;
        impl $crate::exec::valu::Op2 for T {
            type A = $ta;
            type B = $tb;
            type R = $r;
            #[inline(always)]
            fn f($a: $ta, $b: $tb) -> $r { $e }
        }
        $crate::exec::valu::entry2::<T>($fast)
    }};
    (@entry $fast:ident ($a:ident: $ta:ty, $b:ident: $tb:ty, $c:ident: $tc:ty) $r:ty, $e:expr) => {{
        struct T;
        impl $crate::exec::valu::Op3 for T {
            type A = $ta;
            type B = $tb;
            type C = $tc;
            type R = $r;
            #[inline(always)]
            fn f($a: $ta, $b: $tb, $c: $tc) -> $r { $e }
        }
        $crate::exec::valu::entry3::<T>($fast)
    }};
}
use operations;

/// Writes the lanes of `mask`. `FAST` means that the caller was compiled for AVX2.
#[inline(always)]
fn write<const FAST: bool>(to: &mut Lanes, from: &Lanes, mask: u64) {
    if mask == u64::MAX {
        *to = *from;
        return;
    }
    #[cfg(target_arch = "x86_64")]
    if FAST {
        // SAFETY: `FAST` is set only in functions that are themselves called only if the CPU has AVX2.
        return unsafe { write_some_fast(to, from, mask) };
    }
    write_some(to, from, mask);
}

/// # Safety
/// The CPU has to have AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline(never)]
unsafe fn write_some_fast(to: &mut Lanes, from: &Lanes, mask: u64) {
    blend(to, from, mask);
}

#[inline(never)]
fn write_some(to: &mut Lanes, from: &Lanes, mask: u64) {
    blend(to, from, mask);
}

#[inline(always)]
fn blend(to: &mut Lanes, from: &Lanes, mask: u64) {
    for half in 0..2 {
        let bits = (mask >> (32 * half)) as u32;
        for lane in 0..32 {
            let chosen = ((bits << (31 - lane)) as i32 >> 31) as u32;
            let at = 32 * half + lane;
            to[at] = from[at] & chosen | to[at] & !chosen;
        }
    }
}

/// All ones or all zeros per lane, by the lane's bit of `mask`.
#[inline(always)]
fn spread(mask: u64) -> Lanes {
    let mut lanes = [0; LANES];
    for half in 0..2 {
        let bits = (mask >> (32 * half)) as u32;
        for lane in 0..32 {
            lanes[32 * half + lane] = ((bits << (31 - lane)) as i32 >> 31) as u32;
        }
    }
    lanes
}

/// The mask of the lanes whose top bit is set. `FAST` means that the caller was compiled for AVX2.
#[inline(always)]
fn gather<const FAST: bool>(flags: &[u32]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if FAST {
        // SAFETY: `FAST` is set only in functions that are themselves called only if the CPU has AVX2.
        return unsafe { gather_fast(flags) };
    }
    let mut mask = 0;
    for (lane, flag) in flags.iter().enumerate() {
        mask |= u64::from(flag >> 31) << lane;
    }
    mask
}

/// # Safety
/// The CPU has to have AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn gather_fast(flags: &[u32]) -> u64 {
    use std::arch::x86_64::{_mm256_loadu_ps, _mm256_movemask_ps};
    let mut mask = 0;
    for i in 0..flags.len() / 8 {
        // SAFETY: the eight values that are read exist; the CPU has AVX.
        let bits = unsafe { _mm256_movemask_ps(_mm256_loadu_ps(flags.as_ptr().add(8 * i).cast())) };
        mask |= u64::from(bits as u32) << (8 * i);
    }
    mask
}

/// The operation `op` with plain modifiers.
fn entry(op: Op, fast: bool, ieee: bool) -> Option<Entry> {
    int::table(op, fast)
        .or_else(|| int::table16(op, fast))
        .or_else(|| f32::table(op, fast))
        .or_else(|| f32::minmax(op, fast, ieee))
        .or_else(|| f64::table(op, fast))
        .or_else(|| f64::minmax(op, fast, ieee))
        .or_else(|| f16::table(op, fast))
        .or_else(|| f16::minmax(op, fast, ieee))
        .or_else(|| conv::table(op, fast))
        .or_else(|| math::table(op, fast))
        .or_else(|| special::table(op, fast))
        .or_else(|| div::table(op, fast))
        .or_else(|| lanes::table(op))
        .or_else(|| packed::pairs(op, fast))
        .or_else(|| packed::table(op, fast))
        .or_else(|| packed::minmax(op, fast, ieee))
        .or_else(|| mix::table(op, fast))
        .or_else(|| trig::table(op, fast))
        .or_else(|| cube::table(op, fast))
        .or_else(|| fp8::table(op, fast))
        .or_else(|| sad::table(op, fast, false))
}
