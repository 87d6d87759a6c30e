//! Shifts as NVIDIA's GPUs have them: everything is shifted out from the width on.

use crate::device::{Buffer, Module, args};
use crate::on_a_device;

on_a_device! {
    fn words_are_shifted_out() {
        let output = Buffer::zeros::<u32>(448);
        Module::of("shifts.cu", include_str!("shifts.cu")).run("words", 1, 64, args![&output]);
        let found = output.read::<u32>(448);
        let left = |value: u32, by: u32| value.checked_shl(by).unwrap_or(0);
        let right = |value: u32, by: u32| value.checked_shr(by).unwrap_or(0);
        for by in 0..64 {
            let rows = [
                left(1, by),
                left(1, by + 1).wrapping_sub(1),
                right(u32::MAX, by),
                (i32::MIN >> by.min(31)) as u32,
                left(1, by).wrapping_add(left(3, by)).wrapping_add(u32::from(right(by, by) == 0)),
                right(left(5, by), by),
                right(0x4000_0000, by + 1),
            ];
            let here: Vec<u32> = (0..7).map(|row| found[row * 64 + by as usize]).collect();
            assert_eq!(here, rows, "by {by}");
        }
    }

    fn long_words_are_shifted_out() {
        let output = Buffer::zeros::<u64>(320);
        Module::of("shifts.cu", include_str!("shifts.cu")).run("longs", 1, 64, args![&output]);
        let found = output.read::<u64>(320);
        for thread in 0..64 {
            let by = 2 * thread;
            let rows = [
                1_u64.checked_shl(by).unwrap_or(0),
                u64::MAX.checked_shr(by).unwrap_or(0),
                (-5_i64 >> by.min(63)) as u64,
                7000 + u64::from(by),
                (1_i32.checked_shl(by).unwrap_or(0) + 16 + (200 << (by % 8))) as u64,
            ];
            let here: Vec<u64> = (0..5).map(|row| found[row * 64 + thread as usize]).collect();
            assert_eq!(here, rows, "by {by}");
        }
    }

    fn shifts_of_cpp_are_an_option() {
        let source = "extern \"C\" __global__ void k(unsigned *out) { out[threadIdx.x] = 1u << (threadIdx.x & 31); }";
        let output = Buffer::zeros::<u32>(32);
        Module::with("plain.cu", source, &["--saturating-shifts=false"], &[]).run("k", 1, 32, args![&output]);
        assert_eq!(output.read::<u32>(32), (0..32).map(|by| 1 << by).collect::<Vec<u32>>());
    }
}
