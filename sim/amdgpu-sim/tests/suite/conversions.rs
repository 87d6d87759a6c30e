//! Conversions between all number formats, including saturating ones.

use std::sync::Arc;

use amdgpu_sim::{Arch, Gpu, Module};

use crate::common::{Args, Plain, Random, launch_1d, upload, zeros};
use crate::levels::{Level, topic};
use crate::numbers::{Brain, Half, Number, exponent, numbers, power, same};

topic!("conversions", check);

const COUNT: usize = 300;

fn run<F: Plain, T: Plain>(gpu: &Gpu, module: &Module, kernel: &str, input: &[F]) -> Vec<T> {
    let (a, out) = (upload(gpu, input), zeros::<T>(gpu, input.len()));
    let args = Args::default().pointer(&a).pointer(&out).value(input.len() as u32);
    launch_1d(gpu, module, kernel, input.len().div_ceil(64) as u32, 64, &args);
    out.get()
}

/// From and to every integer type: truncated, if the value fits (otherwise undefined in C++); and rounded to nearest.
macro_rules! integers {
    ($level:ident, $gpu:ident, $module:ident, $name:literal, $float:ty, $($int:ident)*) => {$({
        let mut random = Random(61);
        let fits = |x: &$float| {
            let whole = x.wide().trunc();
            // For 64 bits, the upper limit itself is not a double.
            whole >= $int::MIN as f64 && whole <= $int::MAX as f64 && whole < power($int::BITS as i32 - i32::from($int::MIN != 0))
        };
        let edges = [$int::MIN as f64, $int::MAX as f64, $int::MAX as f64 / 2.0, 0.5, -0.5, 1.5, 2.5].map(<$float>::narrow);
        let size = |random: &mut Random| {
            let bits = (random.next() % 66) as i32;
            <$float>::narrow(random.between(-1.0, 1.0) * power(bits))
        };
        let mut floats: Vec<$float> = edges.into_iter().chain((0..4 * COUNT).map(|_| size(&mut random))).filter(fits).collect();
        floats.truncate(COUNT);
        assert!(floats.len() > COUNT / 8, "{}", floats.len());
        let kernel = concat!($name, "_to_", stringify!($int));
        for (x, got) in floats.iter().zip(run::<$float, $int>($gpu, $module, kernel, &floats)) {
            assert_eq!(got, x.wide().trunc() as $int, "{} {kernel}: {x:?}", $level);
        }
        let wholes: Vec<$int> = (0..COUNT).map(|_| random.integer() as $int).collect();
        let kernel = concat!(stringify!($int), "_to_", $name);
        for (x, got) in wholes.iter().zip(run::<$int, $float>($gpu, $module, kernel, &wholes)) {
            let expected = <$float>::narrow(to_odd(i128::from(*x)));
            assert!(same(got, whole::<$float>(*x as f64, expected, $level)), "{} {kernel}: {x}: {got:?}, not {expected:?}", $level);
        }
    })*};
}

/// The direct conversion of an integer; separate for `f64`, for which rounding to odd first would be wrong.
fn whole<T: Number>(direct: f64, expected: T, _: Level) -> T {
    if T::DIGITS == 53 { T::narrow(direct) } else { expected }
}

/// An integer as a double, its last bit set if it is not exact.
fn to_odd(x: i128) -> f64 {
    let near = x as f64;
    let error = x - near as i128;
    if error == 0 || near.to_bits() & 1 == 1 {
        return near;
    }
    if (error > 0) == (x > 0) { f64::from_bits(near.to_bits() + 1) } else { f64::from_bits(near.to_bits() - 1) }
}

fn floats<F: Number + std::fmt::Debug, T: Number + std::fmt::Debug>(
    level: Level,
    gpu: &Gpu,
    module: &Module,
    kernel: &str,
) {
    let input: Vec<F> = numbers(&mut Random(62), COUNT);
    for (x, got) in input.iter().zip(run::<F, T>(gpu, module, kernel, &input)) {
        let expected = T::narrow(x.wide());
        assert!(same(got, expected), "{level} {kernel}: {x:?}: {got:?}, not {expected:?}");
    }
}

fn check(level: Level, gpu: &Gpu, module: &Arc<Module>) {
    integers!(level, gpu, module, "f16", Half, i8 u8 i16 u16 i32 u32 i64 u64);
    integers!(level, gpu, module, "f32", f32, i8 u8 i16 u16 i32 u32 i64 u64);
    integers!(level, gpu, module, "f64", f64, i8 u8 i16 u16 i32 u32 i64 u64);
    floats::<Half, f32>(level, gpu, module, "f16_to_f32");
    floats::<Half, f64>(level, gpu, module, "f16_to_f64");
    floats::<f32, Half>(level, gpu, module, "f32_to_f16");
    floats::<f32, f64>(level, gpu, module, "f32_to_f64");
    floats::<f64, Half>(level, gpu, module, "f64_to_f16");
    floats::<f64, f32>(level, gpu, module, "f64_to_f32");
    floats::<Brain, f32>(level, gpu, module, "bf16_to_f32");
    floats::<f32, Brain>(level, gpu, module, "f32_to_bf16");
    floats::<f64, Brain>(level, gpu, module, "f64_to_bf16");
    saturating(level, gpu, module);
    bytes(level, gpu, module);
    if level.arch == Arch::Gfx942 {
        eights(level, gpu, module);
    }
}

fn saturating(level: Level, gpu: &Gpu, module: &Module) {
    let mut random = Random(63);
    let mut narrow: Vec<f32> = numbers(&mut random, COUNT);
    narrow.extend((0..COUNT).map(|_| random.between(-1.5, 1.5) as f32));
    narrow.extend((0..COUNT).map(|_| random.between(-7e4, 7e4) as f32));
    let wide: Vec<f64> = narrow.iter().map(|x| f64::from(*x) * 1.000_000_1).collect();
    let (a, b, out) = (upload(gpu, &narrow), upload(gpu, &wide), zeros::<u32>(gpu, 12 * narrow.len()));
    let args = Args::default().pointer(&a).pointer(&b).pointer(&out).value(narrow.len() as u32);
    launch_1d(gpu, module, "saturate", narrow.len().div_ceil(64) as u32, 64, &args);
    for (i, got) in out.get().chunks_exact(12).enumerate() {
        let (x, w) = (narrow[i], wide[i]);
        let d = f64::from(x);
        // Rust's `as` saturates, and takes NaN to zero. fmaxf drops a NaN.
        let clamped = if x.is_nan() { -2e9_f32 } else { x.clamp(-2e9, 2e9) };
        let unsigned = if x.is_nan() { 0.0 } else { x.clamp(0.0, 4e9) };
        let norm = |x: f64, limit: f64, least: f64| (x.clamp(least, 1.0) * limit).round_ties_even() as i32 as u16;
        let pair = |low: u16, high: u16| u32::from(low) | u32::from(high) << 16;
        let expected = [
            x as i32 as u32,
            x as u32,
            w as i32 as u32,
            w as u32,
            (d + 0.5).floor() as i32 as u32,
            d.floor() as i32 as u32,
            clamped.round_ties_even() as i32 as u32,
            clamped.floor() as i32 as u32,
            pair((clamped as i32).clamp(-32768, 32767) as u16, 32767),
            pair((unsigned as u32).min(65535) as u16, 65535),
            pair(norm(d, 32767.0, -1.0), norm(-d, 32767.0, -1.0)),
            pair(norm(d, 65535.0, 0.0), norm(-d, 65535.0, 0.0)),
        ];
        for (which, (got, expected)) in got.iter().zip(expected).enumerate() {
            assert_eq!(*got, expected, "{level} saturate {which}: {x:e} {w:e}: {got:#x}, not {expected:#x}");
        }
    }
}

fn bytes(level: Level, gpu: &Gpu, module: &Module) {
    let mut random = Random(64);
    let input: Vec<f32> =
        (0..COUNT).map(|i| if i % 9 == 0 { f32::NAN } else { random.between(-50.0, 300.0) as f32 }).collect();
    let (a, out, packed) = (upload(gpu, &input), zeros::<f32>(gpu, 4 * COUNT), zeros::<u32>(gpu, COUNT));
    let args = Args::default().pointer(&a).pointer(&out).pointer(&packed).value(COUNT as u32);
    launch_1d(gpu, module, "bytes_of_floats", COUNT.div_ceil(64) as u32, 64, &args);
    let expected: Vec<f32> = input.iter().flat_map(|x| x.to_bits().to_le_bytes().map(f32::from)).collect();
    assert_eq!(out.get(), expected, "{level}");
    for (i, got) in packed.get().into_iter().enumerate() {
        let mut bytes = input[i].to_bits().to_le_bytes();
        bytes[i & 3] = input[i].round_ties_even() as u8;
        assert_eq!(got, u32::from_le_bytes(bytes), "{level}: {} into byte {}", input[i], i & 3);
    }
}

/// A format of 8 bits of gfx942, the "FNUZ" kind: no infinities, one zero, and one NaN, 0x80; by bits of the fraction
/// and bias.
#[derive(Clone, Copy)]
struct Eight {
    fraction: i32,
    bias: i32,
}

const FP8: Eight = Eight { fraction: 3, bias: 8 };
const BF8: Eight = Eight { fraction: 2, bias: 16 };

impl Eight {
    fn value(self, bits: u8) -> f64 {
        if bits == 0x80 {
            return f64::NAN;
        }
        let magnitude = i32::from(bits & 0x7f);
        let (exponent, fraction) = (magnitude >> self.fraction, magnitude & ((1 << self.fraction) - 1));
        let value = if exponent == 0 {
            f64::from(fraction) * power(1 - self.bias - self.fraction)
        } else {
            f64::from(fraction + (1 << self.fraction)) * power(exponent - self.bias - self.fraction)
        };
        if bits & 0x80 != 0 { -value } else { value }
    }

    /// The nearest of all 256 values, ties to even; values too large by half a step or more become NaN.
    fn nearest(self, x: f64) -> u8 {
        if x.is_nan() || x.is_infinite() {
            return 0x80;
        }
        let largest = self.value(0x7f);
        let step = power(exponent(largest) - self.fraction);
        // Above the largest value, the even neighbour would be infinite.
        if x.abs() >= largest + step / 2.0 {
            return 0x80;
        }
        let magnitude = (0..=0x7f_u8)
            .min_by(|a, b| {
                let distance = |v: u8| (self.value(v) - x.abs()).abs();
                distance(*a).total_cmp(&distance(*b)).then((a & 1).cmp(&(b & 1)))
            })
            .unwrap();
        if magnitude == 0 { 0 } else { magnitude | if x < 0.0 { 0x80 } else { 0 } }
    }
}

fn eights(level: Level, gpu: &Gpu, module: &Module) {
    let mut random = Random(65);
    let mut values = || -> Vec<f32> {
        (0..2 * COUNT)
            .map(|i| match i % 4 {
                0 => numbers::<f32>(&mut random, 1)[0],
                // Ties between neighbours.
                1 => (FP8.value(random.next() as u8 & 0x7f) + power(-11) * (random.next() % 9) as f64) as f32,
                _ => (random.between(-20.0, 18.0).exp2() * if random.next() % 2 == 0 { 1.0 } else { -1.0 }) as f32,
            })
            .collect()
    };
    let (a, b) = (values(), values());
    let n = a.len();
    let (da, db, out, back) = (upload(gpu, &a), upload(gpu, &b), zeros::<u32>(gpu, 2 * n), zeros::<f32>(gpu, 4 * n));
    let args = Args::default().pointer(&da).pointer(&db).pointer(&out).pointer(&back).value(n as u32);
    launch_1d(gpu, module, "eights", n.div_ceil(64) as u32, 64, &args);
    let (out, back) = (out.get(), back.get());
    for i in 0..n {
        let (x, y) = (f64::from(a[i]), f64::from(b[i]));
        let fp8 = [FP8.nearest(x), FP8.nearest(y), FP8.nearest(y), FP8.nearest(x)];
        assert_eq!(out[2 * i].to_le_bytes(), fp8, "{level}: fp8 of {x:e} {y:e}");
        assert_eq!(
            out[2 * i + 1].to_le_bytes(),
            [0x22, 0x22, BF8.nearest(x), BF8.nearest(y)],
            "{level}: bf8 of {x:e} {y:e}"
        );
        let bytes = a[i].to_bits().to_le_bytes();
        let expected = [FP8.value(bytes[0]), FP8.value(bytes[3]), BF8.value(bytes[1]), BF8.value(bytes[3])];
        for (got, expected) in back[4 * i..4 * i + 4].iter().zip(expected) {
            assert!(same(*got, expected as f32), "{level}: from {bytes:x?}: {got}, not {expected}");
        }
    }
}
