//! Inline PTX gives NVIDIA's results.

use cuda_compat::nvrtc::{NVRTC_ERROR_COMPILATION, NVRTC_SUCCESS};

use crate::device::{Buffer, Module, args, compile};
use crate::numbers::{BF16, F16};
use crate::on_a_device;
use crate::random::Random;

const N: usize = 64;

fn module() -> Module {
    Module::of("ptx.cu", include_str!("ptx.cu"))
}

/// Checks rows of results, each with a value for each thread.
#[track_caller]
fn assert_rows<T: Copy + PartialEq + std::fmt::Debug>(found: &[T], expected: impl Fn(usize) -> Vec<T>) {
    for i in 0..N {
        let here: Vec<T> = found.chunks(N).map(|row| row[i]).collect();
        assert_eq!(here, expected(i), "thread {i}");
    }
}

fn bits(low: u32, length: u32) -> u32 {
    let above = |bit: u32| if bit >= 32 { 0 } else { !0 << bit };
    above(low) & !above(low.saturating_add(length))
}

on_a_device! {
    fn special_registers() {
        let output = Buffer::zeros::<u32>(8 * N);
        module().run("registers", 1, N as u32, args![&output]);
        assert_rows(&output.read::<u32>(8 * N), |i| {
            let (thread, lane) = (i as u32, i as u32 % 32);
            let own = 1_u32 << lane;
            let below = own - 1;
            vec![lane, below, below | own, !(below | own), !below, own, thread / 32, 64 * 32 + thread]
        });
    }

    fn clocks() {
        let output = Buffer::zeros::<u64>(4);
        module().run("clocks", 1, 1, args![&output]);
        let found = output.read::<u64>(4);
        assert_eq!(found[0], 1);
        assert!(found[2] >= found[1], "{found:?}");
    }

    fn loads_stores_and_copies() {
        let input = Random::new(1).words(N + 8);
        let (from, output) = (Buffer::of(&input), Buffer::zeros::<u32>(13 * N));
        module().run("memory", 1, N as u32, args![&from, &output]);
        let found = output.read::<u32>(13 * N);
        let (pairs, mut rows) = (&found[2 * N..4 * N], found.clone());
        rows.drain(2 * N..4 * N);
        let bytes: Vec<u8> = input.iter().flat_map(|word| word.to_le_bytes()).collect();
        for (i, pair) in pairs.chunks(2).enumerate() {
            let four = &input[i / 4 * 4..];
            assert_eq!(pair, [four[0].wrapping_add(four[1]), four[2] ^ four[3]]);
        }
        assert_rows(&rows, |i| {
            let at = |offset: usize| input[i + offset];
            let times = |a: u32, b: u32| a.wrapping_mul(b);
            let weighted = [times(1, at(1)), times(2, at(2)), times(3, at(3)), times(4, at(4))];
            let (low, high) = (input[i / 2 * 2], input[i / 2 * 2 + 1]);
            let partial = if bytes_given(i) { input[i] } else { 0 };
            vec![
                at(0),
                weighted.into_iter().fold(0, u32::wrapping_add),
                input[i ^ 1],
                input[i ^ 2],
                u32::from(bytes[i]),
                bytes[i] as i8 as u32,
                low.wrapping_add(high & 0xffff),
                high,
                input[N - 1 - (i ^ 1)],
                partial,
                if i % 2 == 1 { i as u32 } else { 7 },
            ]
        });
    }

    fn atomic_operations() {
        let (counters, sum, output) = (Buffer::zeros::<u32>(8), Buffer::zeros::<f32>(1), Buffer::zeros::<u32>(N));
        module().run("atomics", 1, N as u32, args![&counters, &sum, &output]);
        let found = counters.read::<u32>(8);
        assert_eq!(found[..5], [64, 63 * 32, 58, !0, 64 % 10]);
        assert!((1..=64).contains(&found[5]), "one thread has written: {}", found[5]);
        assert_eq!((found[6], found[7], sum.read::<f32>(1)[0]), (128, 77, 32.0));
        let mut order = output.read::<u32>(N);
        order.sort_unstable();
        assert_eq!(order, (0..64).collect::<Vec<_>>());
    }

    fn collectives_of_warps() {
        let input = Random::new(2).words(N);
        let (from, output) = (Buffer::of(&input), Buffer::zeros::<u32>(11 * N));
        module().run("warps", 1, N as u32, args![&from, &output]);
        assert_rows(&output.read::<u32>(11 * N), |i| {
            let (warp, lane) = (&input[i / 32 * 32..][..32], i % 32);
            let ballot = |holds: &dyn Fn(u32) -> bool| (0..32).filter(|lane| holds(warp[*lane])).fold(0, |all, lane| all | 1_u32 << lane);
            let (up, down) = (lane >= 5, lane % 8 < 6);
            vec![
                warp[lane ^ 3],
                warp[if up { lane - 5 } else { lane }],
                u32::from(up),
                warp[if down { lane + 2 } else { lane }],
                u32::from(down),
                warp[lane / 8 * 8 + 1],
                ballot(&|value| value > 0x8000_0000),
                u32::from(warp.iter().any(|value| *value < 0x1000_0000)),
                ballot(&|value| value % 4 == warp[lane] % 4),
                !0,
                warp.iter().copied().fold(0, u32::wrapping_add),
            ]
        });
    }

    fn integers() {
        let (a, mut b, mut c) = (Random::new(3).words(N), Random::new(4).words(N), Random::new(5).words(N));
        // Small numbers are amounts and positions.
        for i in 0..N / 2 {
            (b[i], c[i]) = (b[i] % 40, c[i] % 40);
        }
        let buffers = [&a, &b, &c].map(|values| Buffer::of(values));
        let output = Buffer::zeros::<u32>(32 * N);
        module().run("integers", 1, N as u32, args![&buffers[0], &buffers[1], &buffers[2], &output]);
        assert_rows(&output.read::<u32>(32 * N), |i| {
            let (a, b, c) = (a[i], b[i], c[i]);
            let (sa, sb) = (a as i32, b as i32);
            let (from, length) = (b & 255, c & 255);
            let field = if from >= 32 { 0 } else { a >> from & bits(0, length) };
            let sign = length > 0 && a >> (from + length - 1).min(31) & 1 == 1;
            // Bits of the field that are above the number are its sign.
            let signed = match sign {
                true => field | !bits(0, length.min(32_u32.saturating_sub(from))),
                false => field,
            };
            let mask = bits(c & 255, 7);
            let inserted = (b & !mask) | (a.checked_shl(c & 255).unwrap_or(0) & mask);
            let (x, y) = (a.to_le_bytes(), b.to_le_bytes());
            let unsigned_dot: u32 = x.iter().zip(y).map(|(x, y)| u32::from(*x) * u32::from(y)).sum();
            let signed_dot: i32 = x.iter().zip(y).map(|(x, y)| i32::from(*x as i8) * i32::from(y as i8)).sum();
            let both = u64::from(b) << 32 | u64::from(a);
            let picked = std::array::from_fn(|at| {
                let (selector, byte) = (c >> (4 * at) & 7, |selector: u32| (both >> (8 * selector)) as u8);
                if c >> (4 * at + 3) & 1 == 1 { if byte(selector) > 127 { 255 } else { 0 } } else { byte(selector) }
            });
            let above = if sa < 0 { !a } else { a };
            vec![
                a.wrapping_add(b),
                a.wrapping_sub(b),
                a.wrapping_mul(b),
                ((i64::from(sa) * i64::from(sb)) >> 32) as u32,
                a.wrapping_mul(b).wrapping_add(c),
                (((u64::from(a) * u64::from(b)) >> 32) as u32).wrapping_add(c),
                field,
                signed,
                inserted,
                a.count_ones() + b.leading_zeros(),
                a.reverse_bits(),
                unsigned_dot.wrapping_add(c),
                (signed_dot as u32).wrapping_add(c),
                (a & b) | (!a & c),
                u32::from_le_bytes(picked),
                sa.min(sb) as u32,
                a.max(b),
                a.checked_shl(b).unwrap_or(0),
                (sa >> b.min(31)) as u32,
                (both << (c & 31) >> 32) as u32,
                if c < 32 { (both >> c) as u32 } else { b },
                if sa < sb { 3 } else { 4 },
                31_u32.wrapping_sub(above.leading_zeros()),
                sa.saturating_add(sb) as u32,
                a.abs_diff(b).wrapping_add(c),
                !(a ^ b),
                ((u64::from(a) * u64::from(b)).wrapping_add(u64::from(c) << 32 | u64::from(a)) >> 32) as u32,
                ((i64::from(sa) * i64::from(sb)) >> 32) as u32,
                a & 255,
                b as i16 as u32,
                (sa / 1_000_000).clamp(0, 255) as u32,
                if a >= b { 1 } else { 2 },
            ]
        });
    }

    fn floating_point_numbers() {
        let near = |seed| {
            let words = Random::new(seed).words(N);
            words.iter().map(|word| f32::from_bits(word & 0x807f_ffff | (123 + (word >> 24 & 7)) << 23)).collect::<Vec<f32>>()
        };
        let (mut a, mut b, c) = (near(6), near(7), near(8));
        (a[0], b[1], a[2], b[2]) = (f32::NAN, f32::NAN, 0.0, -0.0);
        (a[3], a[4], a[5]) = (-1.0, 2.5, 3.5);
        let buffers = [&a, &b, &c].map(|values| Buffer::of(values));
        let (output, words) = (Buffer::zeros::<f32>(14 * N), Buffer::zeros::<u32>(10 * N));
        module().run("floats", 1, N as u32, args![&buffers[0], &buffers[1], &buffers[2], &output, &words]);
        let (floats, words) = (output.read::<f32>(14 * N), words.read::<u32>(10 * N));
        for i in 0..N {
            let (a, b, c) = (a[i], b[i], c[i]);
            let found: Vec<f32> = floats.chunks(N).map(|row| row[i]).collect();
            let (x, y, z) = (f64::from(a), f64::from(b), f64::from(c));
            let towards = |exact: f64, up: bool, down: bool| {
                let near = exact as f32;
                if up && f64::from(near) < exact { near.next_up() } else if down && f64::from(near) > exact { near.next_down() } else { near }
            };
            let sum = x + y;
            let flushed = |value: f32| if value.is_subnormal() { 0.0_f32.copysign(value) } else { value };
            let expected = [
                a.mul_add(b, c),
                towards(sum, sum < 0.0, sum > 0.0),
                towards(x * y, true, false),
                // The product is exact, and the sum of numbers of near exponents nearly so.
                towards(x * y + z, false, true),
                if a.is_nan() { b } else if b.is_nan() { a } else if a == b { -0.0 } else { a.min(b) },
                if a.is_nan() || b.is_nan() { f32::NAN } else if a == b { 0.0 } else { a.max(b) },
                (a + b).clamp(0.0, 1.0),
                flushed(a * f32::MIN_POSITIVE),
                a / b,
                a.sqrt(),
            ];
            for (at, (found, mut expected)) in found.iter().zip(expected).enumerate() {
                if at == 6 && expected.is_nan() {
                    expected = 0.0;
                }
                let same = found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan());
                assert!(same || *found == 0.0 && expected == 0.0 && at == 6, "row {at}, thread {i}: {found:e} for {expected:e} of {a} {b} {c}");
            }
            let close = |found: f32, expected: f64| (f64::from(found) - expected).abs() <= 1e-6 * expected.abs() || !expected.is_finite() || found.is_nan() && expected.is_nan();
            assert!(close(found[10], x.exp2()) && close(found[11], 1.0 / x), "{a}: {found:?}");
            assert!(close(found[12], x.round_ties_even()) && (f64::from(found[13]) - x.abs().log2()).abs() < 1e-5 || a.is_nan() || a == 0.0, "{a}: {found:?}");

            let found: Vec<u32> = words.chunks(N).map(|row| row[i]).collect();
            let rounded = a.round_ties_even() as u32;
            let large = rounded.wrapping_mul(0x0101_0101).wrapping_add(i as u32);
            let half = |value: f32| u32::from(F16.nearest(f64::from(value)));
            let brain = |value: f32| u32::from(BF16.nearest(f64::from(value)));
            assert_eq!(found[0], (a * 1e9) as i32 as u32, "{a}");
            assert_eq!(found[1], rounded, "{a}");
            assert_eq!(f32::from_bits(found[2]), towards(f64::from(large), false, true));
            if a.is_nan() || b.is_nan() {
                continue;
            }
            assert_eq!(found[3], half(a) << 16 | half(b));
            assert_eq!(found[4], brain(a) << 16 | brain(b));
            assert_eq!(found[5], half(b));
            assert_eq!(f64::from(f32::from_bits(found[6])), F16.value(F16.nearest(y)));
            let square = |value: f32| {
                let value = F16.value(F16.nearest(f64::from(value)));
                u32::from(F16.nearest(value * value + value))
            };
            assert_eq!(found[7], square(a) << 16 | square(b), "{a} {b}");
            assert_eq!(f32::from_bits(found[8]), towards(x * y, false, true));
            assert_eq!(found[9], (a.to_bits() + 0x1000) & !0x1fff);
        }
    }

    fn instructions_without_a_translation_are_errors_where_they_are_used() {
        let source = |call: &str| format!(
            "__device__ unsigned sum(unsigned a) {{\n  asm(\"add.cc.u32 %0, %0, 1;\" : \"+r\"(a));\n  return a;\n}}\n\
            extern \"C\" __global__ void k(unsigned *out) {{\n  *out = {call};\n}}"
        );
        let target = "--gpu-architecture=gfx90a";
        let used = compile("carry.cu", &source("sum(3)"), &[target], &[]);
        assert_eq!(used.status, NVRTC_ERROR_COMPILATION);
        let expected = "carry.cu:2:3: error: the PTX instruction add.cc.u32 is not supported: there is no carry flag between statements\n";
        assert!(used.log.contains(expected) && !used.log.contains("__cuda_compat"), "{}", used.log);
        let unused = compile("carry.cu", &source("3"), &[target], &[]);
        assert_eq!(unused.status, NVRTC_SUCCESS, "{}", unused.log);
    }
}

/// Whether the copy of a word into the block of 16 bytes is given.
fn bytes_given(word: usize) -> bool {
    let given = (word / 4 % 5 * 4).min(16);
    word % 4 * 4 < given
}
