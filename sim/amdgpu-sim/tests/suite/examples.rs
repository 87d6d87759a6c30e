//! The kernels of the examples, at every level.

use std::sync::Arc;

use amdgpu_sim::{Gpu, Module};

use crate::common::{Args, Random, launch, launch_1d, upload, zeros};
use crate::levels::{Level, topic};

macro_rules! source {
    ($($name:literal)*) => { concat!($(include_str!(concat!("../../../../examples/kernels/", $name, ".hip"))),*) };
}

topic!("examples", source!("vector_add" "saxpy" "matmul" "reduce" "histogram" "jacobi" "streams" "hiprtc_args"), check);

fn check(level: Level, gpu: &Gpu, module: &Arc<Module>) {
    let mut random = Random(141);
    let n = 1003;
    let whole = |random: &mut Random, count: usize| -> Vec<f32> {
        (0..count).map(|_| (random.next() % 201) as f32 - 100.0).collect()
    };
    let (x, y) = (whole(&mut random, n), whole(&mut random, n));
    let (dx, dy, out) = (upload(gpu, &x), upload(gpu, &y), zeros::<f32>(gpu, n));
    let args = Args::default().pointer(&dx).pointer(&dy).pointer(&out).value(n as u32);
    launch_1d(gpu, module, "vector_add", 8, 128, &args);
    assert_eq!(out.get(), x.iter().zip(&y).map(|(x, y)| x + y).collect::<Vec<_>>(), "{level}");

    launch_1d(gpu, module, "saxpy", 3, 64, &Args::default().value(2.5_f32).pointer(&dx).pointer(&dy).value(n as u32));
    assert_eq!(dy.get(), x.iter().zip(&y).map(|(x, y)| 2.5 * x + y).collect::<Vec<_>>(), "{level}");

    let sum = zeros::<f32>(gpu, 1);
    launch_1d(gpu, module, "reduce_sum", 3, 192, &Args::default().pointer(&dx).pointer(&sum).value(n as u32));
    assert_eq!(sum.get()[0], x.iter().sum::<f32>(), "{level}");

    let (m, k, columns) = (35, 50, 21);
    let (a, b) = (whole(&mut random, m * k), whole(&mut random, k * columns));
    let (da, db, dc) = (upload(gpu, &a), upload(gpu, &b), zeros::<f32>(gpu, m * columns));
    let args = Args::default().pointer(&da).pointer(&db).pointer(&dc);
    let args = args.value(m as u32).value(columns as u32).value(k as u32);
    launch(gpu, module, "matmul", [2, 3, 1], [16, 16, 1], &args).unwrap_or_else(|fault| panic!("{level}: {fault}"));
    let cell = |i: usize| (0..k).map(|p| a[i / columns * k + p] * b[p * columns + i % columns]).sum::<f32>();
    assert_eq!(dc.get(), (0..m * columns).map(cell).collect::<Vec<_>>(), "{level}");

    let bytes: Vec<u8> = (0..3000).map(|_| random.next() as u8 & 0x7f).collect();
    let (data, bins) = (upload(gpu, &bytes), zeros::<u32>(gpu, 256));
    launch_1d(gpu, module, "histogram", 4, 128, &Args::default().pointer(&data).pointer(&bins).value(3000_u32));
    let count = |b: usize| bytes.iter().filter(|x| usize::from(**x) == b).count() as u32;
    assert_eq!(bins.get(), (0..256).map(count).collect::<Vec<_>>(), "{level}");

    let (nx, ny) = (37, 23);
    let u: Vec<f64> = (0..nx * ny).map(|_| random.between(-1.0, 1.0)).collect();
    let (du, next, change) = (upload(gpu, &u), upload(gpu, &u), zeros::<f64>(gpu, nx * ny));
    let args = Args::default().pointer(&du).pointer(&next).pointer(&change).value(nx as u32).value(ny as u32);
    launch(gpu, module, "jacobi_step", [3, 3, 1], [16, 8, 1], &args).unwrap_or_else(|fault| panic!("{level}: {fault}"));
    let (next, change) = (next.get(), change.get());
    for i in 0..nx * ny {
        let inside = i % nx > 0 && i % nx < nx - 1 && i / nx > 0 && i / nx < ny - 1;
        let v = if inside { 0.25 * (u[i - 1] + u[i + 1] + u[i - nx] + u[i + nx]) } else { u[i] };
        assert_eq!((next[i], change[i]), (v, (v - u[i]) * (v - u[i])), "{level}: {i}");
    }

    let squares = zeros::<f32>(gpu, n);
    launch_1d(gpu, module, "fill_squares", 4, 256, &Args::default().pointer(&squares).value(n as u32));
    let args = Args::default().pointer(&squares).pointer(&out).value(0.5_f32).value(n as u32);
    launch_1d(gpu, module, "scale", 4, 256, &args);
    assert_eq!(out.get(), (0..n).map(|i| i as f32 * i as f32 * 0.5).collect::<Vec<_>>(), "{level}");

    let out = zeros::<f64>(gpu, 8);
    let args = Args::default().value(-3_i32).value(1.5_f32).value(2.5_f32).value(3.5_f32).value(7_i32).pointer(&out);
    launch_1d(gpu, module, "mixed", 1, 1, &args.value(200_u8).value(-300_i16).value(1e300_f64));
    assert_eq!(out.get(), [-3.0, 1.5, 2.5, 3.5, 7.0, 200.0, -300.0, 1e300], "{level}");
}
