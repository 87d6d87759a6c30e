//! LDS: reductions, scans, transposes, bank patterns, static and dynamic.

use std::sync::Arc;

use amdgpu_sim::{Dispatch, Gpu, Module};

use crate::common::{Args, Plain, Random, launch, launch_1d, upload, zeros};
use crate::levels::{Level, topic};

topic!("local", check);

fn reduce<T: Plain + PartialEq + std::fmt::Debug>(
    level: Level,
    gpu: &Gpu,
    module: &Module,
    kernel: &str,
    input: &[T],
    add: fn(T, T) -> T,
) {
    for (blocks, threads) in [(1, 256), (3, 192), (7, 65), (40, 1)] {
        let (a, out) = (upload(gpu, input), zeros::<T>(gpu, blocks as usize));
        let args = Args::default().pointer(&a).pointer(&out).value(input.len() as u32);
        launch_1d(gpu, module, kernel, blocks, threads, &args);
        let total = |values: &[T]| values.iter().copied().fold(T::default(), add);
        assert_eq!(total(&out.get()), total(input), "{level} {kernel}: {blocks} of {threads}");
    }
}

fn check(level: Level, gpu: &Gpu, module: &Arc<Module>) {
    let mut random = Random(111);
    let data: Vec<i32> = (0..3001).map(|_| random.integer() as i32).collect();
    reduce(level, gpu, module, "reduce_i32", &data, i32::wrapping_add);
    let doubles: Vec<f64> = data.iter().map(|x| f64::from(x >> 8)).collect();
    reduce(level, gpu, module, "reduce_f64", &doubles, |a, b| a + b);
    let shorts: Vec<i16> = data.iter().map(|x| *x as i16).collect();
    reduce(level, gpu, module, "reduce_i16", &shorts, i16::wrapping_add);
    let bytes: Vec<u8> = data.iter().map(|x| *x as u8).collect();
    reduce(level, gpu, module, "reduce_u8", &bytes, u8::wrapping_add);

    for threads in [64_usize, 192, 130] {
        let (a, out) = (upload(gpu, &data), zeros::<i32>(gpu, data.len()));
        let args = Args::default().pointer(&a).pointer(&out).value(data.len() as u32);
        launch_1d(gpu, module, "scan", data.len().div_ceil(threads) as u32, threads as u32, &args);
        let running = |part: &[i32]| {
            let step = |sum: &mut i32, x: &i32| {
                *sum = sum.wrapping_add(*x);
                Some(*sum)
            };
            part.iter().scan(0, step).collect::<Vec<_>>()
        };
        assert_eq!(out.get(), data.chunks(threads).flat_map(running).collect::<Vec<_>>(), "{level}: {threads}");
    }

    for (width, height) in [(64, 32), (50, 37), (1, 100), (17, 16)] {
        let input: Vec<f32> = (0..width * height).map(|i| i as f32).collect();
        let (a, out) = (upload(gpu, &input), zeros::<f32>(gpu, width * height));
        let args = Args::default().pointer(&a).pointer(&out).value(width as u32).value(height as u32);
        let blocks = [width.div_ceil(16) as u32, height.div_ceil(16) as u32, 1];
        launch(gpu, module, "transpose", blocks, [16, 16, 1], &args).unwrap_or_else(|fault| panic!("{level}: {fault}"));
        let expected: Vec<f32> = (0..width * height).map(|i| input[i % height * width + i / height]).collect();
        assert_eq!(out.get(), expected, "{level}: {width} by {height}");
    }
    patterns(level, gpu, module, &data);

    let (a, bins) = (upload(gpu, &bytes), zeros::<u32>(gpu, 256));
    let args = Args::default().pointer(&a).pointer(&bins).value(bytes.len() as u32);
    launch_1d(gpu, module, "histogram", 5, 96, &args);
    let expected: Vec<u32> = (0..=255).map(|b| bytes.iter().filter(|x| **x == b).count() as u32).collect();
    assert_eq!(bins.get(), expected, "{level}");
}

fn patterns(level: Level, gpu: &Gpu, module: &Module, data: &[i32]) {
    let input: Vec<u32> = data[..128].iter().map(|x| *x as u32).collect();
    for stride in [1, 3, 17, 63, 127] {
        let (a, out) = (upload(gpu, &input), zeros::<u32>(gpu, 8 * 128));
        let mut dispatch = Dispatch::of_blocks([1, 1, 1], [128, 1, 1]).unwrap();
        dispatch.dynamic_lds = 8 * 128;
        let args = Args::default().pointer(&a).pointer(&out).value(stride as u32);
        let kernel = module.kernel("patterns").unwrap();
        gpu.launch(&kernel, &args.0, &dispatch).unwrap_or_else(|fault| panic!("{level}: {fault}"));
        for (t, got) in out.get().chunks_exact(8).enumerate() {
            let other = (t * 5 + 1) % 128;
            // The thread that wrote there.
            let x = input[(0..128).find(|t| t * stride % 128 == other).unwrap()];
            let square = u64::from(x) * u64::from(x);
            let expected = [
                x,
                x & 255,
                x.to_le_bytes().into_iter().map(u32::from).sum(),
                x ^ x.wrapping_add(1) ^ x.wrapping_add(2),
                square as u32,
                (square >> 32) as u32,
                if t % 3 != 0 { x } else { input[other] },
                u32::from(t % 3 != 0),
            ];
            assert_eq!(got, expected, "{level}: stride {stride}, {t}");
        }
    }
}
