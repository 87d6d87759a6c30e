//! The loops over lanes, compiled for the CPU's baseline and for AVX2 and FMA.

use super::entry::{Entry, Mask, Place};
use super::lane::{Lane, Lanes};
use super::lane_mask::write;
use super::operand::{finish, prepare, prepare_inline};
use crate::exec::{Ctx, Flow, Handler, LANES, Micro, Row, Wave};

/// The one or two rows of an operand.
#[inline(always)]
pub(super) fn pair<T: Lane>(rows: &[Row], first: u16) -> (&Lanes, &Lanes) {
    let first = usize::from(first);
    (&rows[first].0, &rows[first + usize::from(T::WIDE)].0)
}

/// Prepares the sources in their rows, if needed. Returns the lanes to write.
#[inline(always)]
pub(super) fn prepared<const FAST: bool>(w: &mut Wave, m: &Micro, ctx: &Ctx<'_>) -> u64 {
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
    prepare_inline(w, m, ctx)
}

/// The row for an operation's result: its destination if all lanes are enabled and the result needs no processing,
/// otherwise the wave's result row, which [`store`] processes.
#[inline(always)]
pub(super) fn target(w: &Wave, m: &Micro, mask: u64) -> u16 {
    if mask == u64::MAX && m.post == 0 { m.dst } else { w.result_row() }
}

/// Moves the result from [`target`] to the instruction's destination.
#[inline(always)]
pub(super) fn store<R: Lane, const FAST: bool>(w: &mut Wave, m: &Micro, ctx: &Ctx<'_>, mask: u64) -> Flow {
    if m.post == 0 && mask == u64::MAX {
        return Flow::Next;
    }
    store_result::<R, FAST>(w, m, ctx, mask)
}

/// Moves the wave's result to the instruction's destination, for the lanes of `mask`.
#[inline(always)]
pub(super) fn store_result<R: Lane, const FAST: bool>(w: &mut Wave, m: &Micro, ctx: &Ctx<'_>, mask: u64) -> Flow {
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
pub(super) struct Results {
    pub(super) low: Lanes,
    pub(super) high: Lanes,
}

impl Results {
    pub(super) const ZERO: Self = Self { low: [0; LANES], high: [0; LANES] };

    /// Writes the results.
    #[inline(always)]
    pub(super) fn write<R: Lane>(&self, rows: &mut [Row], to: usize) {
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
        pub(in crate::exec::valu) trait $trait {
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

        pub(in crate::exec::valu) fn $entry<O: $trait>(fast: bool) -> Entry {
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
pub(super) use loops;

/// One operation per line: `name(operands) -> result = expression;`.
macro_rules! operations {
    ($table:ident; $($op:ident $args:tt -> $r:ty = $e:expr;)*) => {
        pub(super) fn $table(op: $crate::isa::Op, fast: bool) -> Option<$crate::exec::valu::entry::Entry> {
            Some(match op {
                $($crate::isa::Op::$op => $crate::exec::valu::lane_loop::operations!(@entry fast $args $r, $e),)*
                _ => return None,
            })
        }
    };
    (@entry $fast:ident ($a:ident: $ta:ty) $r:ty, $e:expr) => {{
        struct T;
        impl $crate::exec::valu::lane_loop::Op1 for T {
            type A = $ta;
            type R = $r;
            #[inline(always)]
            fn f($a: $ta) -> $r { $e }
        }
        $crate::exec::valu::lane_loop::entry1::<T>($fast)
    }};
    (@entry $fast:ident ($a:ident: $ta:ty, $b:ident: $tb:ty) $r:ty, $e:expr) => {{
        struct T;
        impl $crate::exec::valu::lane_loop::Op2 for T {
            type A = $ta;
            type B = $tb;
            type R = $r;
            #[inline(always)]
            fn f($a: $ta, $b: $tb) -> $r { $e }
        }
        $crate::exec::valu::lane_loop::entry2::<T>($fast)
    }};
    (@entry $fast:ident ($a:ident: $ta:ty, $b:ident: $tb:ty, $c:ident: $tc:ty) $r:ty, $e:expr) => {{
        struct T;
        impl $crate::exec::valu::lane_loop::Op3 for T {
            type A = $ta;
            type B = $tb;
            type C = $tc;
            type R = $r;
            #[inline(always)]
            fn f($a: $ta, $b: $tb, $c: $tc) -> $r { $e }
        }
        $crate::exec::valu::lane_loop::entry3::<T>($fast)
    }};
}
pub(super) use operations;
