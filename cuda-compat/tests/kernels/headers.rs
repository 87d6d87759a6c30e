//! Headers of CUDA, and what programs have beside HIP's.

use cuda_compat::nvrtc::NVRTC_ERROR_COMPILATION;

use crate::device::{Buffer, Module, args, compile};
use crate::numbers::{F16, Format};
use crate::on_a_device;
use crate::random::Random;

const N: usize = 128;

fn module() -> Module {
    Module::of("headers.cu", include_str!("headers.cu"))
}

const E2M1: Format = Format { exponent: 2, mantissa: 1, ieee: false };
const E2M3: Format = Format { exponent: 2, mantissa: 3, ieee: false };
const E3M2: Format = Format { exponent: 3, mantissa: 2, ieee: false };

/// Returns the nearest number of a format without infinity and NaN; of two, the even one.
fn nearest(format: &Format, value: f32) -> (u16, f64) {
    let (mantissa, bits) = (format.mantissa, format.mantissa + format.exponent);
    let bias = (1 << (format.exponent - 1)) - 1;
    let number = |bits: u16| {
        let (exponent, fraction) = (i32::from(bits >> mantissa), f64::from(bits & ((1 << mantissa) - 1)));
        let (whole, exponent) = if exponent == 0 { (0.0, 1) } else { (1.0, exponent) };
        (whole + fraction / f64::from(1 << mantissa)) * 2_f64.powi(exponent - bias)
    };
    // Numbers that are too large become the largest one.
    let size = f64::from(value.abs()).min(1e9);
    let distance = |bits: u16| (number(bits) - size).abs();
    let best = (0..1 << bits).min_by(|a, b| distance(*a).total_cmp(&distance(*b)).then((a & 1).cmp(&(b & 1)))).unwrap();
    let sign = if value.is_sign_negative() { 1 << bits } else { 0 };
    (best | sign, number(best).copysign(f64::from(value)))
}

on_a_device! {
    fn barriers_order_the_threads_of_a_block() {
        let input: Vec<i32> = Random::new(1).words(N).iter().map(|word| (word >> 8) as i32).collect();
        let (from, output) = (Buffer::of(&input), Buffer::zeros::<i32>(3 * N));
        module().run("barriers", 1, N as u32, args![&from, &output]);
        for (round, found) in output.read::<i32>(3 * N).chunks(N).enumerate() {
            let expected: Vec<i32> = input.iter().rev().map(|value| value + round as i32).collect();
            assert_eq!(found, expected, "round {round}");
        }
    }

    fn pipelines_and_asynchronous_copies() {
        let input: Vec<i32> = Random::new(2).words(4 * N).iter().map(|word| (word >> 12) as i32).collect();
        let (from, output) = (Buffer::of(&input), Buffer::zeros::<i32>(3 * N));
        module().run("pipelines", 1, N as u32, args![&from, &output]);
        let found = output.read::<i32>(3 * N);
        for t in 0..N {
            let sum = (0..4).fold(0, |sum, stage| sum * 3 + input[stage * N + (t + 1) % N]);
            let part = if t < N - 5 { input[N + t] } else { 0 };
            assert_eq!([found[t], found[N + t], found[2 * N + t]], [sum, input[t ^ 1], input[N - 1 - t] + part], "{t}");
        }
    }

    fn complex_numbers() {
        let input = Random::new(3).floats(2 * N);
        let (from, output, wide) = (Buffer::of(&input), Buffer::zeros::<f32>(2 * N), Buffer::zeros::<f64>(2 * N));
        module().run("complexes", 1, N as u32, args![&from, &output, &wide]);
        let (found, wide) = (output.read::<f32>(2 * N), wide.read::<f64>(2 * N));
        let mul = |(a, b): (f64, f64), (c, d): (f64, f64)| (a * c - b * d, a * d + b * c);
        let div = |a: (f64, f64), (c, d): (f64, f64)| {
            let (re, im) = mul(a, (c, -d));
            (re / (c * c + d * d), im / (c * c + d * d))
        };
        for t in 0..N {
            let a = (f64::from(input[2 * t]), f64::from(input[2 * t + 1]));
            let (size, b) = (a.0.hypot(a.1), (2.0, -1.0));
            let (product, quotient) = (mul(a, b), div(a, b));
            let expected = [product.0 + quotient.0 + size, product.1 - quotient.1];
            let one = div(a, (a.0 + 1.0, a.1));
            // The square of the root, twice the number, and the number again.
            let sum = [4.0 * a.0 - one.0, 4.0 * a.1 - one.1 + size * size + size];
            for (found, expected) in [(f64::from(found[t]), expected[0]), (f64::from(found[N + t]), expected[1])] {
                assert!((found - expected).abs() <= 1e-5 * (1.0 + size), "{a:?}: {found} {expected}");
            }
            for (found, expected) in [(wide[t], sum[0]), (wide[N + t], sum[1])] {
                assert!((found - expected).abs() <= 1e-12 * (1.0 + size * size + one.0.hypot(one.1)), "{a:?}: {found} {expected}");
            }
        }
    }

    fn tuples_and_macros_of_integers() {
        let output = Buffer::zeros::<i32>(7);
        module().run("tuples", 1, 1, args![&output]);
        assert_eq!(output.read::<i32>(7), [12, 456, 21, 1 + 2 + 12, 6, 9, 32767 + 3 + 1 + 1]);
    }

    fn numbers_of_4_and_6_bits() {
        let mut input: Vec<f32> = vec![0.0, -0.0, 0.25, -0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 100.0, -100.0, f32::INFINITY, 0.03125, 27.0, 26.0, 7.25, 7.4];
        input.extend(Random::new(4).floats(N - input.len()).iter().map(|value| value * 3.0));
        let (from, bits, values) = (Buffer::of(&input), Buffer::zeros::<u8>(4 * N), Buffer::zeros::<f32>(4 * N));
        module().run("small", 1, N as u32, args![&from, &bits, &values]);
        let (bits, values) = (bits.read::<u8>(4 * N), values.read::<f32>(4 * N));
        for (t, input) in input.iter().enumerate() {
            for (row, format) in [E2M1, E2M3, E3M2].iter().enumerate() {
                let (expected, value) = nearest(format, *input);
                assert_eq!((u16::from(bits[row * N + t]), f64::from(values[row * N + t])), (expected, value), "{input}, row {row}");
            }
            let towards_zero = nearest(&E3M2, *input).1;
            if f64::from(input.abs()) >= towards_zero.abs() {
                assert_eq!(bits[3 * N + t], bits[2 * N + t], "{input}");
            } else {
                assert_eq!(bits[3 * N + t] + 1, bits[2 * N + t], "{input}");
            }
            assert_eq!(f64::from(values[3 * N + t]), 2.0 * nearest(&E2M1, *input).1);
        }
    }

    fn masks_of_comparisons() {
        let input = [1.0_f32, -1.0, 0.0, f32::NAN, -0.0, 2.0, f32::NAN, f32::NAN];
        assert!(F16.value(0x7e00).is_nan());
        let (from, output) = (Buffer::of(&input), Buffer::zeros::<u32>(16));
        module().run("masks", 1, 4, args![&from, &output]);
        let found = output.read::<u32>(16);
        let mask = |low: bool, high: bool| if low { 0xffff } else { 0 } | if high { 0xffff_0000 } else { 0 };
        for (t, pair) in input.chunks(2).enumerate() {
            let (x, y) = (pair[0], pair[1]);
            let here = [found[t], found[4 + t], found[8 + t], found[12 + t]];
            let differs = |value: f32| value != 0.0 && !value.is_nan();
            let not_above = |value: f32| value <= 0.0 || value.is_nan();
            assert_eq!(here, [mask(x > 0.0, y > 0.0), mask(not_above(x), not_above(y)), mask(differs(x), differs(y)), mask(x >= 0.0, y >= 0.0)], "{pair:?}");
        }
    }

    fn operators_of_programs_are_chosen() {
        let output = Buffer::zeros::<f32>(10);
        Module::of("operators.cu", include_str!("operators.cu")).run("operators", 1, 1, args![&output]);
        assert_eq!(output.read::<f32>(10), [20.0, 200.0, 2000.0, 10.0, 8.0, 5.0, -2.0, 24.0, 1.0, 5.0]);
    }

    fn functions_without_a_space_are_for_the_device_by_option() {
        let source = "int doubled(int x) { return 2 * x; }\nstruct Pair { int a, b; int sum() const { return a + b; } };\n\
            template <class T> constexpr T next(T x) { return x + 1; }\n\
            extern \"C\" __global__ void k(int *out, CUtexObject) { out[0] = next(doubled(3)) + Pair{10, 20}.sum(); }";
        let output = Buffer::zeros::<i32>(1);
        for option in ["-default-device", "--device-as-default-execution-space"] {
            Module::with("space.cu", source, &[option], &[]).run("k", 1, 1, args![&output, 0_u64]);
            assert_eq!(output.read::<i32>(1), [37]);
        }
        let without = compile("space.cu", source, &["--gpu-architecture=gfx90a"], &[]);
        assert_eq!(without.status, NVRTC_ERROR_COMPILATION);
    }

    fn headers_of_the_host_cannot_be_opened() {
        for name in ["vector", "iostream", "string", "unistd.h"] {
            let source = format!("#include <{name}>\nextern \"C\" __global__ void k() {{}}");
            let found = compile("host.cu", &source, &["--gpu-architecture=gfx90a"], &[]);
            assert_eq!(found.status, NVRTC_ERROR_COMPILATION);
            assert!(found.log.contains(&format!("cannot open source file \"{name}\"")), "{}", found.log);
        }
    }
}
