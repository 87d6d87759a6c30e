//! Integer intrinsics.

use crate::device::{Buffer, Module, args};
use crate::on_a_device;
use crate::random::Random;

const N: usize = 128;

fn module() -> Module {
    Module::of("integers.cu", include_str!("integers.cu"))
}

/// Words, and others that have parts in common with them.
fn words() -> (Vec<u32>, Vec<u32>) {
    let (a, mut b) = (Random::new(1).words(N), Random::new(2).words(N));
    for (at, (a, b)) in a.iter().zip(&mut b).enumerate() {
        if at % 3 == 0 {
            *b = *a ^ 0x00ff_0080;
        }
    }
    (a, b)
}

/// A function of the bytes of two words, and of their halves.
fn bytes(a: u32, b: u32, function: impl Fn(u8, u8) -> u8) -> u32 {
    let (a, b) = (a.to_le_bytes(), b.to_le_bytes());
    u32::from_le_bytes(std::array::from_fn(|at| function(a[at], b[at])))
}

fn halves(a: u32, b: u32, function: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(function(a as u16, b as u16)) | u32::from(function((a >> 16) as u16, (b >> 16) as u16)) << 16
}

#[track_caller]
fn assert_rows(found: &[u32], expected: impl Fn(usize) -> Vec<u32>) {
    for i in 0..N {
        let here: Vec<u32> = found.chunks(N).map(|row| row[i]).collect();
        assert_eq!(here, expected(i), "thread {i}");
    }
}

on_a_device! {
    fn dot_products() {
        let (a, b) = words();
        let (left, right, output) = (Buffer::of(&a), Buffer::of(&b), Buffer::zeros::<u32>(4 * N));
        module().run("dots", 1, N as u32, args![&left, &right, &output]);
        assert_rows(&output.read::<u32>(4 * N), |i| {
            let (x, y) = (a[i].to_le_bytes(), b[i].to_le_bytes());
            let signed: i32 = x.iter().zip(y).map(|(x, y)| i32::from(*x as i8) * i32::from(y as i8)).sum();
            let unsigned: u32 = x.iter().zip(y).map(|(x, y)| u32::from(*x) * u32::from(y)).sum();
            let (low, high) = (i32::from(a[i] as i16), i32::from((a[i] >> 16) as i16));
            let two = |first: usize| 7 + low * i32::from(y[first] as i8) + high * i32::from(y[first + 1] as i8);
            vec![(100 + signed) as u32, 100 + unsigned, two(0) as u32, two(2) as u32]
        });
    }

    fn parts_of_words() {
        let (a, b) = words();
        let (left, right, output) = (Buffer::of(&a), Buffer::of(&b), Buffer::zeros::<u32>(8 * N));
        module().run("bytes", 1, N as u32, args![&left, &right, &output]);
        assert_rows(&output.read::<u32>(8 * N), |i| {
            let (a, b) = (a[i], b[i]);
            vec![
                bytes(a, b, u8::wrapping_add),
                bytes(a, b, |x, y| (x as i8).saturating_sub(y as i8) as u8),
                bytes(a, b, |x, y| if x > y { 255 } else { 0 }),
                halves(a, b, |x, y| (x as i16).max(y as i16) as u16),
                a.to_le_bytes().iter().zip(b.to_le_bytes()).map(|(x, y)| u32::from(x.abs_diff(y))).sum(),
                bytes(a, b, |x, y| (u32::from(x) + u32::from(y)).div_ceil(2) as u8),
                bytes(a, b, |x, _| (x as i8).wrapping_abs() as u8),
                halves(a, b, u16::saturating_add),
            ]
        });
    }

    fn bits_of_words() {
        let (a, b) = words();
        let (left, right, output) = (Buffer::of(&a), Buffer::of(&b), Buffer::zeros::<u32>(6 * N));
        module().run("bits", 1, N as u32, args![&left, &right, &output]);
        assert_rows(&output.read::<u32>(6 * N), |i| {
            let (a, b) = (a[i], b[i]);
            let both = u64::from(b) << 32 | u64::from(a);
            // Four selectors from the lowest: 7, 0, 5, 2.
            let pick = |at: u32| (both >> (8 * at)) as u8;
            let high = |product: i64| (product >> 32) as u32;
            vec![
                u32::from_le_bytes([pick(7), pick(0), pick(5), pick(2)]),
                ((both << (b & 31)) >> 32) as u32,
                (both >> (b & 63).min(32)) as u32,
                a.reverse_bits() ^ b.leading_zeros() ^ if a == 0 { 0 } else { a.trailing_zeros() + 1 },
                (((u64::from(a) * u64::from(b)) >> 32) as u32).wrapping_add(a.min(b)).wrapping_sub(a.max(17)),
                high(i64::from(a as i32) * i64::from(b as i32)).wrapping_add(a.count_ones() + b.count_ones()),
            ]
        });
    }

    fn clocks_go_on() {
        let output = Buffer::zeros::<i64>(2);
        module().run("clocks", 1, 1, args![&output]);
        assert!(output.read::<i64>(1)[0] > 0);
    }

    fn rounding_towards_zero() {
        let (x, y) = (Random::new(3).words(N), Random::new(4).words(N));
        // Exponents near those of one, so that bits are lost and nothing overflows.
        let float = |word: &u32| f32::from_bits(word & 0x807f_ffff | (120 + (word >> 24 & 15)) << 23);
        let (a, b): (Vec<f32>, Vec<f32>) = (x.iter().map(float).collect(), y.iter().map(float).collect());
        let (left, right, output) = (Buffer::of(&a), Buffer::of(&b), Buffer::zeros::<f32>(2 * N));
        module().run("rounding", 1, N as u32, args![&left, &right, &output]);
        let found = output.read::<f32>(2 * N);
        // Both are exact in f64 here.
        let towards_zero = |exact: f64| {
            let near = exact as f32;
            if f64::from(near).abs() > exact.abs() { f32::from_bits(near.to_bits() - 1) } else { near }
        };
        for i in 0..N {
            let (x, y) = (f64::from(a[i]), f64::from(b[i]));
            assert_eq!((found[i], found[N + i]), (towards_zero(x + y), towards_zero(x * y)), "{x} {y}");
        }
    }
}
