//! Headers of C++ and of cuda::std.

use crate::device::{Buffer, Module, args};
use crate::on_a_device;
use crate::random::Random;

fn module() -> Module {
    Module::of("standard.cu", include_str!("standard.cu"))
}

on_a_device! {
    fn limits_of_numbers() {
        let output = Buffer::zeros::<f64>(10);
        module().run("limits", 1, 1, args![&output]);
        let expected = [
            f64::from(f32::MAX),
            f64::from(i32::MIN),
            u64::MAX as f64,
            f64::NEG_INFINITY,
            f64::from(f32::EPSILON),
            i64::MIN as f64,
            16.0,
            std::f64::consts::PI,
            -128.0,
            f64::INFINITY,
        ];
        assert_eq!(output.read::<f64>(10), expected);
    }

    fn functions_of_numbers() {
        let values = Random::new(1).floats(128);
        let (input, output) = (Buffer::of(&values), Buffer::zeros::<f32>(128));
        module().run("functions", 1, 128, args![&input, &output]);
        for (x, found) in values.iter().zip(output.read::<f32>(128)) {
            let x = f64::from(*x);
            let expected = x.abs().sqrt().max(0.5) + x.exp().min(10.0) + x.abs().powf(1.5);
            assert!((f64::from(found) - expected).abs() <= 1e-6 * (1.0 + expected.abs()), "{x}: {found}");
        }
    }

    fn atomic_objects_and_references() {
        let (counter, highest) = (Buffer::zeros::<u32>(1), Buffer::zeros::<i32>(1));
        module().run("references", 3, 128, args![&counter, &highest]);
        assert_eq!((counter.read::<u32>(1)[0], highest.read::<i32>(1)[0]), (3 * 3 * 128, 2127));
    }

    fn a_lock_that_one_lane_holds() {
        let (lock, count) = (Buffer::zeros::<i32>(1), Buffer::zeros::<i32>(1));
        module().run("locked", 2, 32, args![&lock, &count]);
        assert_eq!((lock.read::<i32>(1)[0], count.read::<i32>(1)[0]), (0, 64));
    }

    fn arrays_pairs_bits_and_bytes() {
        let (input, output) = (Buffer::of(&[1, 2, 3, 4]), Buffer::zeros::<i32>(5));
        module().run("parts", 1, 1, args![&input, &output]);
        assert_eq!(output.read::<i32>(5), [41, 8 + 31, 0x3f80_0000, 31, 2]);
    }
}
