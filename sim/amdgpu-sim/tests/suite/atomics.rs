//! Atomic operations in all types, scopes and orders: results that do not depend on the order of threads.

use std::collections::BTreeMap;
use std::sync::Arc;

use amdgpu_sim::{Arch, Gpu, Module};

use crate::common::{Args, Random, launch_1d, upload, zeros};
use crate::levels::{Level, topic};
use crate::numbers::{Half, Number};

topic!("atomics", check);

const COUNT: usize = 300;

macro_rules! integers {
    ($level:ident, $gpu:ident, $module:ident, $kernel:literal, $t:ty) => {
        for kernel in [$kernel, concat!($kernel, "_local")] {
            let mut random = Random(81);
            let input: Vec<$t> = (0..COUNT).map(|_| random.integer() as $t).collect();
            let start: [$t; 9] = [5, 7, !0, 0, 9, <$t>::MAX / 2, <$t>::MIN / 2, 1234, 1];
            let (cells, a, old) = (upload($gpu, &start), upload($gpu, &input), zeros::<$t>($gpu, 9 * COUNT));
            let args = Args::default().pointer(&cells).pointer(&a).pointer(&old).value(COUNT as u32);
            let local = kernel.ends_with("local");
            launch_1d($gpu, $module, kernel, if local { 1 } else { 3 }, if local { 160 } else { 128 }, &args);
            let (after, old) = (cells.get(), old.get());
            let fold = |which: usize, f: fn($t, $t) -> $t| input.iter().fold(start[which], |a, x| f(a, *x));
            let bits =
                |f: fn($t, $t) -> $t, first| (0..COUNT as u32).fold(first, |a, i| f(a, (1 as $t) << (i % <$t>::BITS)));
            let expected = [
                fold(0, <$t>::wrapping_add),
                fold(1, <$t>::wrapping_sub),
                bits(|a, bit| a & !bit, start[2]),
                bits(|a, bit| a | bit, start[3]),
                fold(4, |a, x| a ^ x),
                fold(5, <$t>::min),
                fold(6, <$t>::max),
            ];
            assert_eq!(after[..7], expected, "{} {kernel}", $level);
            let of = |which: usize| old.iter().skip(which).step_by(9).copied();
            // Sums, differences, xors: the old values and the operands form one chain from the first to the last.
            for (which, f) in [(0, <$t>::wrapping_add as fn($t, $t) -> $t), (1, <$t>::wrapping_sub), (4, |a, x| a ^ x)]
            {
                let mut ends = counts(of(which).zip(&input).map(|(old, x)| f(old, *x)));
                let mut starts = counts(of(which));
                *ends.entry(start[which]).or_default() += 1;
                *starts.entry(after[which]).or_default() += 1;
                assert_eq!(ends, starts, "{} {kernel} {which}", $level);
            }
            // What was seen lies between the start and the end.
            assert!(
                of(5).all(|x| x <= start[5] && x >= after[5]) && of(6).all(|x| x >= start[6] && x <= after[6]),
                "{}",
                $level
            );
            // Every value was written once and read once, except the last one.
            let mut seen = counts(of(7).chain([after[7]]));
            input.iter().chain([&start[7]]).for_each(|x| *seen.get_mut(x).unwrap() -= 1);
            assert!(seen.values().all(|n| *n == 0), "{} {kernel}: exchanges {seen:?}", $level);
            let chain: Vec<$t> = std::iter::successors(Some(start[8]), |x| Some(x.wrapping_mul(3).wrapping_add(1)))
                .take(COUNT + 1)
                .collect();
            assert_eq!(after[8], chain[COUNT], "{} {kernel}", $level);
            assert_eq!(counts(of(8)), counts(chain[..COUNT].iter().copied()), "{} {kernel}", $level);
        }
    };
}

fn check(level: Level, gpu: &Gpu, module: &Arc<Module>) {
    integers!(level, gpu, module, "i32", i32);
    integers!(level, gpu, module, "u32", u32);
    integers!(level, gpu, module, "i64", i64);
    integers!(level, gpu, module, "u64", u64);
    floats::<f32>(level, gpu, module, "f32");
    floats::<f64>(level, gpu, module, "f64");
    halves(level, gpu, module);
    counters(level, gpu, module);
    lock(level, gpu, module);
    last_block(level, gpu, module);
}

/// How often each value occurs.
fn counts<T: Ord>(values: impl Iterator<Item = T>) -> BTreeMap<T, usize> {
    let mut counts = BTreeMap::new();
    values.for_each(|v| *counts.entry(v).or_default() += 1);
    counts
}

fn floats<T: Number + PartialOrd + std::fmt::Debug>(level: Level, gpu: &Gpu, module: &Module, kernel: &str) {
    let mut random = Random(82);
    // Small whole numbers and quarters: every sum is exact, in any order.
    let input: Vec<f64> = (0..COUNT).map(|_| (random.next() % 4001) as f64 / 4.0 - 500.0).collect();
    let narrow: Vec<T> = input.iter().map(|x| T::narrow(*x)).collect();
    let (a, cells) = (upload(gpu, &narrow), upload(gpu, &[T::narrow(1.0); 4 + 4 * 3]));
    launch_1d(gpu, module, kernel, 3, 128, &Args::default().pointer(&cells).pointer(&a).value(COUNT as u32));
    let got: Vec<f64> = cells.get().into_iter().map(T::wide).collect();
    let of = |part: &[f64]| {
        let sum = part.iter().sum::<f64>();
        [sum, sum, part.iter().copied().fold(1.0, f64::max), part.iter().copied().fold(1.0, f64::min)]
    };
    // Every cell starts at one.
    let [sum, again, most, least] = of(&input);
    assert_eq!(got[..4], [sum + 1.0, again + 1.0, most, least], "{level} {kernel}");
    for (block, part) in input.chunks(128).enumerate() {
        let [sum, again, most, least] = of(part);
        assert_eq!(
            got[4 + 4 * block..][..4],
            [sum + 1.0, again + 1.0, most, least],
            "{level} {kernel}, workgroup {block}"
        );
    }
}

fn halves(level: Level, gpu: &Gpu, module: &Module) {
    // Sums stay below 2048: exact.
    let input: Vec<Half> = (0..2 * COUNT).map(|i| Half::narrow(if i % 2 == 0 { 1.5 } else { -2.0 })).collect();
    let (a, cells) = (upload(gpu, &input), zeros::<u16>(gpu, 6));
    launch_1d(gpu, module, "f16", 3, 128, &Args::default().pointer(&cells).pointer(&a).value(COUNT as u32));
    let got = cells.get();
    let n = COUNT as f64;
    let sums = [Half::narrow(1.5 * n).0, Half::narrow(-2.0 * n).0];
    assert_eq!(got[..2], sums, "{level}");
    if level.arch == Arch::Gfx942 {
        assert_eq!(got[2..4], sums, "{level}");
        // bfloat16 sums of ones and of twos stop growing where one more is half a step: 256 and 512.
        assert_eq!(got[4..], [0x4380, 0x4400], "{level}");
    }
}

fn counters(level: Level, gpu: &Gpu, module: &Module) {
    let (cells, ticket) = (upload(gpu, &[0_u32, 70, 0]), zeros::<u32>(gpu, 3 * COUNT));
    launch_1d(gpu, module, "counters", 3, 128, &Args::default().pointer(&cells).pointer(&ticket).value(COUNT as u32));
    // Up to 99 with wrap-around: three times; down from 70, which is above 49 and so wraps there at once, then through 50 numbers.
    assert_eq!(cells.get(), [0, 50 - 1 - (COUNT as u32 - 1) % 50, COUNT as u32], "{level}");
    let ticket = ticket.get();
    let of = |which: usize| counts(ticket.iter().skip(which).step_by(3).copied());
    assert_eq!(of(0), (0..100).map(|x| (x, 3)).collect(), "{level}");
    let mut down = counts((0..COUNT as u32 - 1).map(|i| 49 - i % 50));
    down.insert(70, 1);
    assert_eq!(of(1), down, "{level}");
    assert_eq!(of(2), (0..COUNT as u32).map(|x| (x, 1)).collect(), "{level}");
}

fn lock(level: Level, gpu: &Gpu, module: &Module) {
    let (held, data) = (zeros::<i32>(gpu, 1), zeros::<i32>(gpu, 2));
    launch_1d(gpu, module, "lock", 3, 128, &Args::default().pointer(&held).pointer(&data).value(COUNT as u32));
    let n = COUNT as i32;
    assert_eq!((held.get()[0], data.get()), (0, vec![n, n * (n - 1) / 2]), "{level}");
}

fn last_block(level: Level, gpu: &Gpu, module: &Module) {
    let input: Vec<i32> = (0..COUNT as i32).map(|i| i * i % 101 - 50).collect();
    let (a, partial, total, count) =
        (upload(gpu, &input), zeros::<i32>(gpu, 5), zeros::<i32>(gpu, 1), zeros::<u32>(gpu, 1));
    let args = Args::default().pointer(&a).pointer(&partial).pointer(&total).pointer(&count).value(COUNT as u32);
    launch_1d(gpu, module, "last_block", 5, 64, &args);
    assert_eq!(partial.get(), input.chunks(64).map(|c| c.iter().sum()).collect::<Vec<i32>>(), "{level}");
    assert_eq!(total.get()[0], input.iter().sum::<i32>(), "{level}");
}
