//! Whole kernels, compiled from HIP C++ at several optimisation levels, against references on the CPU.

mod common;

use amdgpu_sim::{Arch, Config, Dispatch, Gpu, Module};
use common::*;
use half::f16;

static LEVELS: [(&str, Arch, &[u8]); 5] = [
    ("O0", Arch::Gfx90a, include_bytes!("kernels/basic-O0.co")),
    ("O1", Arch::Gfx90a, include_bytes!("kernels/basic-O1.co")),
    ("O2", Arch::Gfx90a, include_bytes!("kernels/basic-O2.co")),
    ("O3", Arch::Gfx90a, include_bytes!("kernels/basic-O3.co")),
    ("gfx942 O3", Arch::Gfx942, include_bytes!("kernels/basic-gfx942-O3.co")),
];

/// Runs `test` with the kernels of every level, on a GPU with an instruction budget.
fn at_every_level(test: impl Fn(&str, &Gpu, &Module)) {
    for (level, arch, bytes) in LEVELS {
        let gpu = Gpu::new(Config { arch, instruction_budget: Some(400_000_000), ..Config::default() });
        let module = load(&gpu, bytes);
        test(level, &gpu, &module);
    }
}

#[test]
fn vector_add_with_a_ragged_end() {
    at_every_level(|level, gpu, module| {
        let n = 1000;
        let (a, b): (Vec<f32>, Vec<f32>) = (0..n).map(|i| (i as f32 * 0.5, 1000.0 - i as f32)).unzip();
        let (da, db, dc) = (upload(gpu, &a), upload(gpu, &b), zeros::<f32>(gpu, n));
        let args = Args::default().pointer(&da).pointer(&db).pointer(&dc).value(n as u32);
        let stats = launch_1d(gpu, module, "vector_add", 4, 256, &args);
        assert_eq!((stats.workgroups, stats.waves), (4, 16));
        let expected: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
        assert_eq!(dc.get(), expected, "{level}");
    });
}

#[test]
fn saxpy_in_double_precision_with_a_grid_stride_loop() {
    at_every_level(|level, gpu, module| {
        let mut r = Random(1);
        let x: Vec<f64> = (0..1500).map(|_| r.between(-1e3, 1e3)).collect();
        let y: Vec<f64> = (0..1500).map(|_| r.between(-1e3, 1e3)).collect();
        let (dx, dy) = (upload(gpu, &x), upload(gpu, &y));
        launch_1d(
            gpu,
            module,
            "saxpy_f64",
            3,
            128,
            &Args::default().value(2.5).pointer(&dx).pointer(&dy).value(1500_i32),
        );
        // 2.5 * x may be rounded or fused: both are correct.
        for ((x, y), got) in x.iter().zip(&y).zip(dy.get()) {
            assert!(got == 2.5_f64.mul_add(*x, *y) || got == 2.5 * x + y, "{level}: {x} {y} {got}");
        }
    });
}

#[test]
fn half_precision() {
    at_every_level(|level, gpu, module| {
        let mut r = Random(2);
        let mut values =
            || -> Vec<u16> { (0..512).map(|_| f16::from_f64(r.between(-300.0, 300.0)).to_bits()).collect() };
        let (a, b) = (values(), values());
        let (da, db) = (upload(gpu, &a), upload(gpu, &b));
        let (sum, product, wide) = (zeros::<u16>(gpu, 512), zeros::<u16>(gpu, 512), zeros::<f32>(gpu, 512));
        let args =
            Args::default().pointer(&da).pointer(&db).pointer(&sum).pointer(&product).pointer(&wide).value(512_i32);
        launch_1d(gpu, module, "half_ops", 2, 256, &args);
        let (sum, product, wide) = (sum.get(), product.get(), wide.get());
        for i in 0..512 {
            let (x, y) = (f16::from_bits(a[i]), f16::from_bits(b[i]));
            assert_eq!(f16::from_bits(sum[i]), f16::from_f64(x.to_f64() + y.to_f64()), "{level} {x} + {y}");
            assert_eq!(f16::from_bits(product[i]), f16::from_f64(x.to_f64() * y.to_f64()), "{level} {x} * {y}");
            assert_eq!(wide[i], x.to_f32() - y.to_f32(), "{level} {x} - {y}");
        }
    });
}

#[test]
fn integers_of_32_bits() {
    let mut r = Random(3);
    let a: Vec<i32> = (0..700).map(|_| r.integer() as i32).collect();
    let b: Vec<i32> = (0..700).map(|_| r.integer() as i32).collect();
    at_every_level(|level, gpu, module| {
        let (da, db, out) = (upload(gpu, &a), upload(gpu, &b), zeros::<i32>(gpu, 16 * 700));
        let args = Args::default().pointer(&da).pointer(&db).pointer(&out).value(700_i32);
        launch_1d(gpu, module, "integers", 3, 256, &args);
        for (i, got) in out.get().chunks_exact(16).enumerate() {
            let (x, y) = (a[i], b[i]);
            let (ux, uy) = (x as u32, y as u32);
            let divisor = if y == -1 { 1 } else { y };
            let ffs = if x == 0 { 0 } else { x.trailing_zeros() as i32 + 1 };
            let expected = [
                x.wrapping_add(y),
                x.wrapping_sub(y),
                x.wrapping_mul(y),
                if y != 0 { x / divisor } else { 0 },
                if y != 0 { x % divisor } else { 0 },
                ux.checked_div(uy).unwrap_or(0) as i32,
                ux.checked_rem(uy).unwrap_or(0) as i32,
                x << (y & 31),
                x >> (y & 31),
                (ux >> (uy & 31)) as i32,
                (x & y) | (x ^ !y),
                x.count_ones() as i32 + x.leading_zeros() as i32 * 64 + ffs * 4096,
                x.min(y),
                ux.max(uy) as i32,
                ((i64::from(x) * i64::from(y)) >> 32) as i32,
                ux.rotate_left(7) as i32,
            ];
            assert_eq!(got, expected, "{level}: {x} {y}");
        }
    });
}

#[test]
fn integers_of_64_bits() {
    let mut r = Random(4);
    let a: Vec<i64> = (0..400).map(|_| r.integer()).collect();
    let b: Vec<i64> = (0..400).map(|_| r.integer()).collect();
    at_every_level(|level, gpu, module| {
        let (da, db, out) = (upload(gpu, &a), upload(gpu, &b), zeros::<i64>(gpu, 12 * 400));
        let args = Args::default().pointer(&da).pointer(&db).pointer(&out).value(400_i32);
        launch_1d(gpu, module, "longs", 4, 128, &args);
        for (i, got) in out.get().chunks_exact(12).enumerate() {
            let (x, y) = (a[i], b[i]);
            let (ux, uy) = (x as u64, y as u64);
            let divisor = if y == -1 { 1 } else { y };
            let expected = [
                x.wrapping_add(y),
                x.wrapping_sub(y),
                x.wrapping_mul(y),
                if y != 0 { x / divisor } else { 0 },
                if y != 0 { x % divisor } else { 0 },
                ux.checked_div(uy).unwrap_or(0) as i64,
                ux.checked_rem(uy).unwrap_or(0) as i64,
                x << (y & 63),
                x >> (y & 63),
                (ux >> (uy & 63)) as i64,
                x.min(y),
                i64::from(x.count_ones()) + i64::from(x.leading_zeros()) * 128,
            ];
            assert_eq!(got, expected, "{level}: {x} {y}");
        }
    });
}

#[test]
fn divergent_loops_and_a_switch() {
    at_every_level(|level, gpu, module| {
        let start: Vec<u32> = (0..500).map(|i| i * 7919 % 100_003).collect();
        let (input, out) = (upload(gpu, &start), zeros::<u32>(gpu, 500));
        launch_1d(gpu, module, "collatz", 2, 256, &Args::default().pointer(&input).pointer(&out).value(500_i32));
        let expected: Vec<u32> = start.iter().map(|s| collatz(*s)).collect();
        assert_eq!(out.get(), expected, "{level}");
    });
}

fn collatz(mut x: u32) -> u32 {
    let mut count = 0;
    while x > 1 && count < 1000 {
        match x % 4 {
            0 => (x, count) = (x / 4, count + 2),
            2 => (x, count) = (x / 2, count + 1),
            _ if x > 0x5000_0000 => (count, x) = (5000, 1),
            _ => (x, count) = (3 * x + 1, count + 1),
        }
    }
    count
}

#[test]
fn calls_through_pointers_and_recursion() {
    fn fibonacci(n: i32) -> i32 {
        if n < 2 { n } else { fibonacci(n - 1) + fibonacci(n - 2) }
    }
    at_every_level(|level, gpu, module| {
        let out = zeros::<i32>(gpu, 100);
        launch_1d(gpu, module, "calls", 1, 128, &Args::default().pointer(&out).value(100_i32));
        let expected: Vec<i32> =
            (0..100).map(|i| (if i & 1 == 0 { 2 * i } else { i * i }) + fibonacci(i % 9)).collect();
        assert_eq!(out.get(), expected, "{level}");
    });
}

#[test]
fn shuffles_and_ballots() {
    at_every_level(|level, gpu, module| {
        let data: Vec<i32> = (0..128).map(|i| i * i % 97).collect();
        let (input, out, ballots) = (upload(gpu, &data), zeros::<i32>(gpu, 128 * 6), zeros::<u64>(gpu, 2));
        launch_1d(gpu, module, "shuffles", 1, 128, &Args::default().pointer(&input).pointer(&out).pointer(&ballots));
        for (t, got) in out.get().chunks_exact(6).enumerate() {
            let (wave, lane) = (t & !63, t & 63);
            let at = |l: usize| data[wave + l];
            let expected = [
                at(lane ^ 5),
                at(if lane + 3 < 64 { lane + 3 } else { lane }),
                at(if lane >= 7 { lane - 7 } else { lane }),
                at(lane * 5 % 64),
                at(lane ^ 1),
                data[wave..wave + 64].iter().sum(),
            ];
            assert_eq!(got, expected, "{level} {t}");
        }
        let expected = [0, 64].map(|w| (0..64).fold(0, |b, l| b | (data[w + l] as u64 & 1) << l));
        assert_eq!(ballots.get(), expected, "{level}");
    });
}

#[test]
fn reduction_in_lds_with_barriers() {
    at_every_level(|level, gpu, module| {
        let data: Vec<f32> = (0..5000).map(|i| (i % 13) as f32).collect();
        let (input, out) = (upload(gpu, &data), zeros::<f32>(gpu, 5));
        launch_1d(gpu, module, "reduce_lds", 5, 256, &Args::default().pointer(&input).pointer(&out).value(5000_i32));
        // Small integers: the sum is exact in every order.
        assert_eq!(out.get().iter().sum::<f32>(), data.iter().sum::<f32>(), "{level}");
    });
}

#[test]
fn dynamic_lds_is_as_large_as_asked_for() {
    at_every_level(|level, gpu, module| {
        let data: Vec<f64> = (0..384).map(f64::from).collect();
        let (input, out) = (upload(gpu, &data), zeros::<f64>(gpu, 384));
        let args = Args::default().pointer(&input).pointer(&out);
        let kernel = module.kernel("reverse_dynamic").unwrap();
        let mut dispatch = Dispatch::of_blocks([2, 1, 1], [192, 1, 1]).unwrap();
        dispatch.dynamic_lds = 192 * 8;
        gpu.launch(&kernel, &args.0, &dispatch).unwrap();
        let expected: Vec<f64> = data.chunks(192).flat_map(|c| c.iter().rev().copied()).collect();
        assert_eq!(out.get(), expected, "{level}");
        dispatch.dynamic_lds -= 8;
        let fault = gpu.launch(&kernel, &args.0, &dispatch).unwrap_err();
        assert!(fault.to_string().contains("LDS address 0x5f8"), "{level}: {fault}");
    });
}

#[test]
fn bytes_and_shorts_in_lds() {
    at_every_level(|level, gpu, module| {
        let data: Vec<u8> = (0..256).map(|i| (i * 37 % 256) as u8).collect();
        let (input, out, wide) = (upload(gpu, &data), zeros::<u8>(gpu, 256), zeros::<i16>(gpu, 256));
        launch_1d(gpu, module, "bytes_lds", 1, 256, &Args::default().pointer(&input).pointer(&out).pointer(&wide));
        let other = |t: usize| data[(t * 7 + 3) & 255];
        assert_eq!(out.get(), (0..256).map(other).collect::<Vec<_>>(), "{level}");
        assert_eq!(wide.get(), (0..256).map(|t| i16::from(other(t) as i8) * 3).collect::<Vec<_>>(), "{level}");
    });
}

#[test]
fn histogram_with_lds_atomics() {
    at_every_level(|level, gpu, module| {
        let mut r = Random(5);
        let data: Vec<u8> = (0..20_000).map(|_| (r.unit() * r.unit() * 256.0) as u8).collect();
        let (input, bins) = (upload(gpu, &data), zeros::<u32>(gpu, 256));
        launch_1d(gpu, module, "histogram", 8, 128, &Args::default().pointer(&input).pointer(&bins).value(20_000_i32));
        let mut expected = vec![0; 256];
        data.iter().for_each(|b| expected[usize::from(*b)] += 1);
        assert_eq!(bins.get(), expected, "{level}");
    });
}

#[test]
fn global_atomics_from_many_workgroups() {
    at_every_level(|level, gpu, module| {
        let n = 2000_u32;
        // add, min, max, or, and, xor, inc, dec, real, cas, wide, big, least, as struct Cells lays them out.
        let cells = upload(gpu, &[0_u32; 16]);
        gpu.memory().write(cells.address + 16, &u32::MAX.to_le_bytes()).unwrap();
        let claimed = zeros::<i32>(gpu, n as usize + 1);
        launch_1d(gpu, module, "atomics", 16, 128, &Args::default().pointer(&cells).pointer(&claimed).value(n as i32));
        let got = cells.get();
        assert_eq!(got[0], n * (n - 1) / 2, "{level} add");
        assert_eq!(got[1] as i32, 1 - n as i32, "{level} min");
        assert_eq!(got[2], n - 1, "{level} max");
        assert_eq!(got[3], u32::MAX, "{level} or");
        assert_eq!(got[4], u32::MAX << 7, "{level} and");
        assert_eq!(got[5], (0..n).fold(0, |x, i| x ^ i), "{level} xor");
        assert_eq!(got[6], n % 100, "{level} inc");
        assert_eq!(got[7], (100 - n % 100) % 100, "{level} dec");
        assert_eq!(f32::from_bits(got[8]), n as f32, "{level} f32 add");
        assert_eq!(got[9], 3 * n, "{level} compare and swap");
        let long = |i: usize| u64::from(got[i]) | u64::from(got[i + 1]) << 32;
        assert_eq!(f64::from_bits(long(10)), f64::from(n) / 2.0, "{level} f64 add");
        assert_eq!(long(12), u64::from(n) << 33, "{level} 64-bit add");
        assert_eq!(long(14) as i64, -5_000_000_000 * i64::from(n - 1), "{level} 64-bit min");
    });
}

#[test]
fn three_dimensions_with_ragged_edges() {
    at_every_level(|level, gpu, module| {
        let (nx, ny, nz) = (21, 10, 5);
        let out = zeros::<i32>(gpu, nx * ny * nz);
        let args = Args::default().pointer(&out).value(nx as i32).value(ny as i32).value(nz as i32);
        // Whole workgroups that exceed the grid's edge, as in HIP launches.
        launch(gpu, module, "grid_3d", [3, 3, 2], [8, 4, 3], &args).unwrap();
        let expect = |groups: i32| -> Vec<i32> {
            let all = (0..nz).flat_map(|z| (0..ny).flat_map(move |y| (0..nx).map(move |x| (x, y, z))));
            all.map(|(x, y, z)| (x + 100 * y + 10_000 * z) as i32 + 1_000_000 * groups).collect()
        };
        assert_eq!(out.get(), expect(18), "{level}");
        // A grid that is not a multiple of the workgroup: partial workgroups at every edge.
        let out = zeros::<i32>(gpu, 64);
        let dispatch = Dispatch { grid: [21, 10, 5], workgroup: [8, 4, 3], dynamic_lds: 0, kernarg: 0 };
        let args = Args::default().pointer(&out);
        let stats = gpu.launch(&module.kernel("count_items").unwrap(), &args.0, &dispatch).unwrap();
        assert_eq!(stats.workgroups, 18);
        let items = |i: i32| {
            let size = [[8, 8, 5, 0], [4, 4, 2, 0], [3, 2, 0, 0]];
            size[0][i as usize % 4] * size[1][i as usize / 4 % 4] * size[2][i as usize / 16]
        };
        assert_eq!(out.get(), (0..64).map(items).collect::<Vec<i32>>(), "{level}");
    });
}

#[test]
fn arrays_in_scratch() {
    at_every_level(|level, gpu, module| {
        let data: Vec<i32> = (0..300).map(|i| i * 5 - 400).collect();
        let (input, out) = (upload(gpu, &data), zeros::<i32>(gpu, 300));
        launch_1d(gpu, module, "private_array", 2, 192, &Args::default().pointer(&input).pointer(&out).value(300_i32));
        let expected: Vec<i32> = data.iter().enumerate().map(|(i, v)| private_array(*v, i as i32)).collect();
        assert_eq!(out.get(), expected, "{level}");
    });
}

fn private_array(v: i32, i: i32) -> i32 {
    let mut stack: [i32; 32] = std::array::from_fn(|k| v.wrapping_mul(k as i32).wrapping_add(i));
    for k in 0..32 {
        stack[((k * 7 + v) & 31) as usize] ^= stack[k as usize] >> 1;
    }
    let mut sum = stack.iter().fold(0_i32, |s, x| s.wrapping_mul(31).wrapping_add(*x));
    let mut bytes = [0_i8; 13];
    for k in 0..13 {
        bytes[((k * 5 + i) % 13) as usize] = (sum >> k) as i8;
    }
    for (k, byte) in bytes.iter().enumerate() {
        sum = sum.wrapping_add(i32::from(*byte) << k);
    }
    sum
}

#[test]
fn generic_pointers_to_scratch_lds_and_global_memory() {
    at_every_level(|level, gpu, module| {
        let data: Vec<i32> = (0..128).map(|i| 5000 + i).collect();
        let out = upload(gpu, &data);
        launch_1d(gpu, module, "generic_pointers", 1, 64, &Args::default().pointer(&out));
        let expected = (0..64).map(|t| match t & 3 {
            1 | 3 => 1000 + t,
            2 => 5064 + t,
            _ => t,
        });
        assert_eq!(out.get()[..64], expected.collect::<Vec<i32>>(), "{level}");
    });
}

#[test]
fn constants_and_device_variables() {
    at_every_level(|level, gpu, module| {
        let out = zeros::<f32>(gpu, 512);
        let args = Args::default().pointer(&out);
        let (zeroed, size) = module.global("zeroed").unwrap();
        assert_eq!(size, 4000);
        gpu.memory().fill(zeroed, &3_i32.to_le_bytes(), 512).unwrap();
        let (table, _) = module.global("table").unwrap();
        gpu.memory().write(table, &100.5_f32.to_le_bytes()).unwrap();
        launch_1d(gpu, module, "globals", 1, 512, &args);
        let table = |t: usize| if t & 7 == 0 { 100.5 } else { (t & 7) as f32 + 0.5 };
        // Items beyond 488 read cells that others write in the same launch.
        assert_eq!(out.get()[..488], (0..488).map(|t| table(t) + 3.0).collect::<Vec<f32>>(), "{level}");
        let (counter, _) = module.global("counter").unwrap();
        let mut value = [0; 4];
        gpu.memory().read(counter, &mut value).unwrap();
        assert_eq!(i32::from_le_bytes(value), 8, "{level}");
        assert!(module.global("no_such").is_none() && module.kernel("no_such").is_none());
    });
}

#[test]
fn structures_by_value() {
    at_every_level(|level, gpu, module| {
        let out = zeros::<f64>(gpu, 5);
        let vec: Vec<u8> = [1.0_f32, 2.0, 3.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        let mixed = Args::default().value(7_i8).value(0.25_f64).value(-3_i16).with(&vec, 4).with(&[], 8).0;
        assert_eq!(mixed.len(), 32);
        let args = Args::default().value(-5_i8).with(&vec, 4).value(42_i32).with(&mixed, 8).pointer(&out);
        launch_1d(gpu, module, "by_value", 1, 1, &args);
        assert_eq!(out.get(), [-5.0, 321.0, 42.0, 4.25, 321.0], "{level}");
    });
}

/// How many representable numbers lie between `got` and `exact`, in units of the type's precision.
fn ulps(got: f64, exact: f64, digits: u32, smallest: i32) -> f64 {
    if got == exact || (got.is_nan() && exact.is_nan()) {
        return 0.0;
    }
    let exponent = (exact.abs().log2().floor() as i32).max(smallest);
    (got - exact).abs() / 2_f64.powi(exponent - digits as i32 + 1)
}

#[test]
fn single_precision_mathematics() {
    let mut r = Random(6);
    let mut data: Vec<f32> = (0..500).map(|_| r.between(-20.0, 20.0) as f32).collect();
    data.extend([1e-6, -1e-6, 1.0, -1.0, 0.5, 1e5, -3e4, 80.0, -80.0]);
    // Bounds of HIP's documentation of its single-precision functions, in ULP.
    let names = ["sin", "cos", "exp", "log", "sqrt", "pow", "erf", "1/x", "tanh", "floor", "fma", "atan2"];
    let bounds = [4.0, 4.0, 2.0, 2.0, 1.0, 2.0, 4.0, 1.0, 2.0, 0.5, 0.51, 3.0];
    at_every_level(|level, gpu, module| {
        let n = data.len();
        let (input, out) = (upload(gpu, &data), zeros::<f32>(gpu, 12 * n));
        launch_1d(
            gpu,
            module,
            "math_f32",
            n.div_ceil(128) as u32,
            128,
            &Args::default().pointer(&input).pointer(&out).value(n as i32),
        );
        for (x, got) in data.iter().zip(out.get().chunks_exact(12)) {
            let x = f64::from(*x);
            let exact = [
                x.sin(),
                x.cos(),
                x.exp(),
                x.abs().ln(),
                x.abs().sqrt(),
                x.abs().powf(f64::from(1.7_f32)),
                erf(x),
                1.0 / x,
                x.tanh(),
                x.floor() + 0.25,
                x * f64::from(1.1_f32) + f64::from(-0.3_f32),
                x.atan2(f64::from(0.7_f32)),
            ];
            for i in 0..12 {
                let error = ulps(f64::from(got[i]), exact[i], 24, -126);
                assert!(error <= bounds[i], "{level}: {}({x}) = {}, not {}: {error} ULP", names[i], got[i], exact[i]);
            }
        }
    });
}

/// The error function by its series, and by its continued fraction where that converges: accurate to about 1e-15.
fn erf(x: f64) -> f64 {
    let a = x.abs();
    if a > 6.0 {
        return x.signum();
    }
    let scale = 2.0 / std::f64::consts::PI.sqrt();
    if a < 2.5 {
        let (mut term, mut sum, mut n) = (a, a, 0.0);
        while term.abs() > 1e-18 {
            n += 1.0;
            term *= -a * a / n;
            sum += term / (2.0 * n + 1.0);
        }
        return x.signum() * scale * sum;
    }
    let fraction = (1..200).rev().fold(0.0, |f, k| f64::from(k) / 2.0 / (a + f));
    x.signum() * (1.0 - (-a * a).exp() / (std::f64::consts::PI.sqrt() * (a + fraction)))
}

#[test]
fn double_precision_mathematics() {
    let mut r = Random(7);
    let mut data: Vec<f64> = (0..300).map(|_| r.between(-20.0, 20.0)).collect();
    data.extend([1e-9, -1e-9, 1.0, -1.0, 0.5, 1e6, -3e5, 700.0, -700.0]);
    let names = ["sin", "cos", "exp", "log", "sqrt", "pow", "erf", "1/x", "trunc", "fma"];
    // The reference is also f64 (half an ULP of error), and the series of erf loses some digits.
    let bounds = [3.0, 3.0, 3.0, 3.0, 1.0, 3.0, 40.0, 1.0, 0.5, 0.5];
    at_every_level(|level, gpu, module| {
        let n = data.len();
        let (input, out) = (upload(gpu, &data), zeros::<f64>(gpu, 10 * n));
        launch_1d(
            gpu,
            module,
            "math_f64",
            n.div_ceil(64) as u32,
            64,
            &Args::default().pointer(&input).pointer(&out).value(n as i32),
        );
        for (x, got) in data.iter().zip(out.get().chunks_exact(10)) {
            let x = *x;
            let exact = [
                x.sin(),
                x.cos(),
                x.exp(),
                x.abs().ln(),
                x.abs().sqrt(),
                x.abs().powf(1.7),
                erf(x),
                1.0 / x,
                x.trunc() + 0.25,
                x.mul_add(1.1, -0.3),
            ];
            for i in 0..10 {
                let error = ulps(got[i], exact[i], 53, -1022);
                assert!(error <= bounds[i], "{level}: {}({x}) = {}, not {}: {error} ULP", names[i], got[i], exact[i]);
            }
        }
    });
}

#[test]
fn conversions_between_floats_and_integers() {
    let mut r = Random(8);
    let data: Vec<f32> = (0..400).map(|_| r.between(-30_000.0, 30_000.0) as f32).collect();
    at_every_level(|level, gpu, module| {
        let (input, out) = (upload(gpu, &data), zeros::<i32>(gpu, 6 * 400));
        launch_1d(gpu, module, "conversions", 2, 256, &Args::default().pointer(&input).pointer(&out).value(400_i32));
        for (x, got) in data.iter().zip(out.get().chunks_exact(6)) {
            let x = *x;
            let expected = [
                x as i32,
                x.abs() as u32 as i32,
                (x * 1000.0) as i64 as i32,
                (x as i32) as f32 as i32,
                (f64::from(x) * 3.0) as i32,
                i32::from(x as i32 as i8) + i32::from(x as i32 as u16),
            ];
            assert_eq!(got, expected, "{level}: {x}");
        }
    });
}

#[test]
fn tiled_matrix_product() {
    at_every_level(|level, gpu, module| {
        let n = 48;
        let a: Vec<f32> = (0..n * n).map(|i| (i * 7 % 11) as f32 - 5.0).collect();
        let b: Vec<f32> = (0..n * n).map(|i| (i * 5 % 13) as f32 - 6.0).collect();
        let (da, db, dc) = (upload(gpu, &a), upload(gpu, &b), zeros::<f32>(gpu, n * n));
        let args = Args::default().pointer(&da).pointer(&db).pointer(&dc).value(n as i32);
        launch(gpu, module, "matmul", [3, 3, 1], [16, 16, 1], &args).unwrap();
        let expected: Vec<f32> =
            (0..n * n).map(|i| (0..n).map(|k| a[i / n * n + k] * b[k * n + i % n]).sum()).collect();
        assert_eq!(dc.get(), expected, "{level}");
    });
}

#[test]
fn workgroups_that_wait_for_earlier_and_for_later_ones_get_on() {
    at_every_level(|level, gpu, module| {
        let (flags, out) = (zeros::<i32>(gpu, 40), zeros::<i32>(gpu, 40));
        launch_1d(gpu, module, "chain", 40, 64, &Args::default().pointer(&flags).pointer(&out));
        assert_eq!(out.get(), (1..=40).collect::<Vec<_>>(), "{level}");
        let (count, out) = (zeros::<i32>(gpu, 1), zeros::<i32>(gpu, 12 * 64));
        launch_1d(gpu, module, "grid_barrier", 12, 64, &Args::default().pointer(&count).pointer(&out));
        assert!(out.get().iter().all(|n| *n == 12), "{level}");
    });
}

#[test]
fn one_thread_and_many_give_the_same() {
    let results = [Some(1), Some(4), None].map(|threads| {
        let gpu = Gpu::new(Config { threads, ..Config::default() });
        let module = load(&gpu, LEVELS[2].2);
        let data: Vec<u8> = (0..9000).map(|i| (i * i % 251) as u8).collect();
        let (input, bins) = (upload(&gpu, &data), zeros::<u32>(&gpu, 256));
        let stats = launch_1d(
            &gpu,
            &module,
            "histogram",
            9,
            256,
            &Args::default().pointer(&input).pointer(&bins).value(9000_i32),
        );
        (bins.get(), stats.waves, stats.workgroups)
    });
    assert_eq!(results[0], results[1]);
    assert_eq!(results[0], results[2]);
}
