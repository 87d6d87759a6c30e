//! Integer arithmetic, 8 to 64 bits.

use std::sync::Arc;

use amdgpu_sim::{Gpu, Module};

use crate::common::{Args, Plain, Random, launch_1d, upload, zeros};
use crate::levels::{Level, topic};

topic!("integers", check);

/// Not a multiple of the workgroup's size.
const COUNT: usize = 333;

fn run<T: Plain, R: Plain>(gpu: &Gpu, module: &Module, kernel: &str, a: &[T], b: &[T], results: usize) -> Vec<R> {
    let (da, db, out) = (upload(gpu, a), upload(gpu, b), zeros::<R>(gpu, results * a.len()));
    let args = Args::default().pointer(&da).pointer(&db).pointer(&out).value(a.len() as u32);
    launch_1d(gpu, module, kernel, a.len().div_ceil(128) as u32, 128, &args);
    out.get()
}

macro_rules! arithmetic {
    ($level:ident, $gpu:ident, $module:ident, $kernel:literal, $t:ty, $u:ty) => {{
        let mut random = Random(7);
        let mut operands = || (0..COUNT).map(|_| random.integer() as $t).collect::<Vec<$t>>();
        let (a, b) = (operands(), operands());
        let results = run::<$t, $t>($gpu, $module, $kernel, &a, &b, 20);
        for (i, got) in results.chunks_exact(20).enumerate() {
            let (x, y) = (a[i], b[i]);
            let (ux, uy) = (x as $u, y as $u);
            let shift = u32::try_from(uy % <$u>::BITS as $u).unwrap();
            let flags = u8::from(x < y)
                | u8::from(x <= y) << 1
                | u8::from(ux < uy) << 2
                | u8::from(ux >= uy) << 3
                | u8::from(x == y) << 4
                | u8::from(x != 0 && y != 0) << 5;
            let overflows = u8::from(x.checked_add(y).is_none())
                | u8::from(x.checked_mul(y).is_none()) << 1
                | u8::from(ux.checked_sub(uy).is_none()) << 2;
            let expected: [$t; 20] = [
                x.wrapping_add(y),
                x.wrapping_sub(y),
                x.wrapping_mul(y),
                x.checked_div(y).unwrap_or(0),
                x.checked_rem(y).unwrap_or(0),
                ux.checked_div(uy).unwrap_or(0) as $t,
                ux.checked_rem(uy).unwrap_or(0) as $t,
                (ux & uy | (ux ^ !uy)) as $t,
                x << shift,
                x >> shift,
                (ux >> shift) as $t,
                x.min(y),
                ux.max(uy) as $t,
                flags as $t,
                x.rotate_left(shift),
                x.saturating_add(y),
                ux.saturating_sub(uy) as $t,
                overflows as $t,
                x / 7,
                (ux % 100) as $t,
            ];
            assert_eq!(got, expected, "{} at {}: {x} {y}", $kernel, $level);
        }
    }};
}

fn check(level: Level, gpu: &Gpu, module: &Arc<Module>) {
    arithmetic!(level, gpu, module, "arithmetic_i8", i8, u8);
    arithmetic!(level, gpu, module, "arithmetic_i16", i16, u16);
    arithmetic!(level, gpu, module, "arithmetic_i32", i32, u32);
    arithmetic!(level, gpu, module, "arithmetic_i64", i64, u64);
    bits(level, gpu, module);
    wide(level, gpu, module);
}

/// The 64 bits of `high` and `low` from bit `shift` on.
fn from_bit(high: u32, low: u32, shift: u32) -> u64 {
    (u64::from(high) << 32 | u64::from(low)) >> shift
}

/// Bytes selected from eight by the low 3 bits of each of four nibbles, as CUDA's `__byte_perm` is defined.
fn byte_perm(x: u32, y: u32, selector: u32) -> u32 {
    let bytes = (u64::from(y) << 32 | u64::from(x)).to_le_bytes();
    u32::from_le_bytes(std::array::from_fn(|i| bytes[(selector >> (4 * i) & 7) as usize]))
}

fn bits(level: Level, gpu: &Gpu, module: &Module) {
    let mut random = Random(8);
    let mut operands = || (0..COUNT).map(|_| random.integer() as u64).collect::<Vec<u64>>();
    let (a, b) = (operands(), operands());
    for (i, got) in run::<u64, u64>(gpu, module, "bits", &a, &b, 24).chunks_exact(24).enumerate() {
        let (x, y) = (a[i], b[i]);
        let (p, q) = (x as u32, y as u32);
        let (sp, sq) = (p as i32, q as i32);
        let first = |x: u64| if x == 0 { 0 } else { x.trailing_zeros() + 1 };
        let high = |x: i128, y: i128| (x.wrapping_mul(y) >> 64) as u64;
        let field = |from: u32, width: u32| u64::from(p) >> from & ((1 << width) - 1);
        let signed = |x: u64, width: u32| if width == 0 { 0 } else { (x as i32) << (32 - width) >> (32 - width) };
        let (from, width) = (q & 31, q >> 5 & 31);
        // A field that exceeds the word takes its sign from the word's.
        let available = width.min(32 - from);
        let low24 = |v: u32| (v << 8) as i32 >> 8;
        let pair = |low: i64, high: u64| u64::from(low as u32) | u64::from(high as u32) << 32;
        let third = (x >> 32) as u32;
        let lerp = |i: u32| {
            let byte = |v: u32| v >> (8 * i) & 255;
            (byte(p) + byte(q) + (byte(third) & 1)) >> 1
        };
        let expected: [u64; 24] = [
            u64::from(p.count_ones() | x.count_ones() << 8),
            u64::from(p.leading_zeros() | x.leading_zeros() << 8),
            u64::from(first(u64::from(p)) | first(x) << 8),
            u64::from(p.reverse_bits()),
            x.reverse_bits(),
            u64::from(p) * u64::from(q) >> 32,
            u64::from((i64::from(sp) * i64::from(sq) >> 32) as u32),
            (u128::from(x) * u128::from(y) >> 64) as u64,
            high(i128::from(x as i64), i128::from(y as i64)),
            // `hi:lo` with q as the high word.
            from_bit(q, p, 0).wrapping_shl((y >> 40) as u32 & 31) >> 32,
            u64::from(from_bit(q, p, (y >> 40) as u32 & 31) as u32),
            field(from, width),
            u64::from(signed(field(from, available), available) as u32),
            u64::from(byte_perm(p, q, (y >> 32) as u32)),
            u64::from(low24(p).wrapping_mul(low24(q)) as u32),
            u64::from((p & 0xff_ffff).wrapping_mul(q & 0xff_ffff)),
            u64::from(p.abs_diff(q).wrapping_add(third)),
            u64::from((sp >> 1).abs_diff(sq >> 1).wrapping_add(third)),
            pair(i64::from(sp) + i64::from(sq) >> 1, u64::from(p) + u64::from(q) >> 1),
            pair(i64::from(sp) + i64::from(sq) + 1 >> 1, u64::from(p) + u64::from(q) + 1 >> 1),
            x.swap_bytes(),
            u64::from(x.trailing_zeros().min(63) | (x.count_ones() & 1) << 8),
            u64::from(from_bit(p, q, 8 * ((x >> 33) as u32 & 3)) as u32),
            u64::from((0..4).fold(0, |word, i| word | lerp(i) << (8 * i))),
        ];
        for (which, (got, expected)) in got.iter().zip(expected).enumerate() {
            assert_eq!(*got, expected, "{level}: {which} of {x:#x} {y:#x}: {got:#x}, not {expected:#x}");
        }
    }
}

fn wide(level: Level, gpu: &Gpu, module: &Module) {
    let mut random = Random(9);
    let mut operands = || (0..COUNT).map(|_| random.integer() as u64).collect::<Vec<u64>>();
    let (a, b) = (operands(), operands());
    for (i, got) in run::<u64, u64>(gpu, module, "wide", &a, &b, 14).chunks_exact(14).enumerate() {
        let x = u128::from(a[i]) << 64 | u128::from(b[i]);
        let y = u128::from(b[i]) << 64 | u128::from(a[(i + 1) % COUNT]);
        let expected = [
            x.wrapping_add(y),
            x.wrapping_sub(y),
            x.wrapping_mul(y),
            x << (a[i] & 127),
            x >> (a[i] & 127),
            (x as i128 >> (b[i] & 127)) as u128,
            if (x as i128) < y as i128 { x ^ y } else { x & y },
        ];
        let got: Vec<u128> = got.chunks_exact(2).map(|w| u128::from(w[1]) << 64 | u128::from(w[0])).collect();
        assert_eq!(got, expected, "{level}: {x:#x} {y:#x}");
    }
}
