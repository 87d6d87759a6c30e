//! Atomic functions.

use crate::device::{Buffer, Module, args};
use crate::numbers::{BF16, F16};
use crate::on_a_device;
use crate::random::Random;

fn module() -> Module {
    Module::of("atomics.cu", include_str!("atomics.cu"))
}

on_a_device! {
    fn histograms() {
        let values: Vec<u8> = Random::new(1).words(5000).into_iter().map(|word| (word >> 24) as u8).collect();
        let (input, bins) = (Buffer::of(&values), Buffer::zeros::<u32>(256));
        module().run("histogram", 3, 256, args![&input, &bins, 5000_u32]);
        let mut expected = vec![0; 256];
        values.iter().for_each(|value| expected[*value as usize] += 1);
        assert_eq!(bins.read::<u32>(256), expected);
    }

    fn sums_of_all_types() {
        let (f, d, h, b) = (Buffer::zeros::<f32>(1), Buffer::zeros::<f64>(1), Buffer::zeros::<u16>(8), Buffer::zeros::<u16>(8));
        let (pair, long) = (Buffer::zeros::<u16>(2), Buffer::zeros::<u64>(1));
        module().run("sums", 4, 128, args![&f, &d, &h, &b, &pair, &long]);
        assert_eq!((f.read::<f32>(1)[0], d.read::<f64>(1)[0], long.read::<u64>(1)[0]), (256.0, 128.0, 512 << 33));
        assert_eq!(h.read::<u16>(8), [F16.nearest(64.0); 8]);
        assert_eq!(b.read::<u16>(8), [BF16.nearest(64.0); 8]);
        assert_eq!(pair.read::<u16>(2), [F16.nearest(512.0), F16.nearest(1024.0)]);
    }

    fn the_maximum_of_floats_by_compare_and_swap() {
        let values = Random::new(2).floats(512);
        let (input, output) = (Buffer::of(&values), Buffer::of(&[f32::MIN]));
        module().run("max_float", 4, 128, args![&input, &output]);
        assert_eq!(output.read::<f32>(1)[0], values.iter().copied().fold(f32::MIN, f32::max));
    }

    fn counters_wrap() {
        let counters = Buffer::zeros::<u32>(4);
        module().run("wrapping", 1, 64, args![&counters]);
        // Up: 0 to 9, and again. Down: 0, 9, 8, … and again.
        assert_eq!(counters.read::<u32>(4), [4, 6, 4, 6]);
    }

    fn blocks_and_the_system() {
        let values: Vec<i32> = Random::new(3).below(100_000, 256).into_iter().map(|value| value - 50_000).collect();
        let (input, output) = (Buffer::of(&values), Buffer::of(&[0, i32::MAX, i32::MIN, i32::MIN, 0, 0, 0]));
        module().run("scopes", 2, 128, args![&input, &output]);
        let sum: i32 = values.iter().sum();
        let max = |part: &[i32]| *part.iter().max().unwrap();
        let or = values.iter().fold(0, |all, value| all | value & 0xff);
        let xor = values.iter().fold(0, |all, value| all ^ value);
        let expected = [sum, *values.iter().min().unwrap(), max(&values[..128]), max(&values[128..]), or, -sum, xor];
        assert_eq!(output.read::<i32>(7), expected);
    }

    fn sixteen_bits_are_swapped() {
        let places = Buffer::of(&[10_u16, 20, 30, 40, 50]);
        module().run("short_cas", 1, 128, args![&places]);
        assert_eq!(places.read::<u16>(5), [42, 52, 62, 72, 50]);
    }

    fn a_programs_own_function_for_doubles_is_used() {
        let sum = Buffer::zeros::<f64>(1);
        let source = include_str!("own_atomic.cu");
        Module::with("own_atomic.cu", source, &["-arch=compute_52"], &[]).run("own_double", 1, 128, args![&sum]);
        assert_eq!(sum.read::<f64>(1), [8128.0]);
    }
}
