//! Shared, constant and global memory.

use cuda_compat::driver::*;

use crate::device::{Buffer, Module, args, ok};
use crate::on_a_device;
use crate::random::Random;

fn module() -> Module {
    Module::of("memory.cu", include_str!("memory.cu"))
}

on_a_device! {
    fn dynamic_shared_memory() {
        let values = Random::new(1).below(1000, 200);
        let data = Buffer::of(&values);
        module().launch("reverse", (1, 1), (200, 1), 800, args![&data]);
        assert_eq!(data.read::<i32>(200), values.into_iter().rev().collect::<Vec<_>>());
    }

    fn constants_and_variables_of_a_module() {
        let module = module();
        let coefficients = [0.5_f32, -2.0, 0.25, 3.0];
        let (constants, size) = module.global("coefficients");
        assert_eq!(size, 16);
        // SAFETY: a source of the size.
        unsafe { ok(cuMemcpyHtoD(constants, coefficients.as_ptr().cast(), size)) };
        let xs = Random::new(2).floats(128);
        let (input, output) = (Buffer::of(&xs), Buffer::zeros::<f32>(128));
        module.run("polynomial", 2, 64, args![&input, &output]);
        module.run("polynomial", 2, 64, args![&input, &output]);
        for (x, y) in xs.iter().zip(output.read::<f32>(128)) {
            let x = f64::from(*x);
            let expected: f64 = coefficients.iter().rev().fold(0.0, |y, c| y * x + f64::from(*c));
            assert!((f64::from(y) - expected).abs() <= 1e-6 * (1.0 + 3.0 * x.abs().powi(3)), "{x}: {y}");
        }
        let (launches, size) = module.global("launches");
        let mut count = 0_u64;
        // SAFETY: a destination of the size.
        unsafe { ok(cuMemcpyDtoH((&raw mut count).cast(), launches, size)) };
        assert_eq!(count, 2);
    }

    fn transposition_by_tiles() {
        let (width, height) = (70, 45);
        let values = Random::new(3).floats(width * height);
        let (input, output) = (Buffer::of(&values), Buffer::zeros::<f32>(width * height));
        module().launch("transpose", (3, 2), (32, 8), 0, args![&input, &output, width as i32, height as i32]);
        let found = output.read::<f32>(width * height);
        for (at, value) in values.iter().enumerate() {
            assert_eq!(found[at % width * height + at / width], *value);
        }
    }

    fn products_of_matrices_by_tiles() {
        const N: usize = 48;
        let (a, b) = (Random::new(4).floats(N * N), Random::new(5).floats(N * N));
        let (left, right, output) = (Buffer::of(&a), Buffer::of(&b), Buffer::zeros::<f32>(N * N));
        module().launch("matmul", (3, 3), (16, 16), 0, args![&left, &right, &output, N as i32]);
        for (at, found) in output.read::<f32>(N * N).into_iter().enumerate() {
            let terms = (0..N).map(|k| f64::from(a[at / N * N + k]) * f64::from(b[k * N + at % N]));
            let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()));
            assert!((f64::from(found) - sum).abs() <= size * 1e-6);
        }
    }

    fn loads_with_hints() {
        let values = Random::new(6).floats(256);
        let (input, output) = (Buffer::of(&values), Buffer::zeros::<f32>(256));
        module().run("hinted", 1, 64, args![&input, &output]);
        assert_eq!(output.read::<f32>(256), values.iter().map(|value| 2.0 * value).collect::<Vec<_>>());
    }

    fn addresses_of_kinds_of_memory() {
        let output = Buffer::of(&[7_u32]);
        module().run("spaces", 1, 1, args![&output]);
        assert_eq!(output.read::<u32>(1), [1]);
    }
}
