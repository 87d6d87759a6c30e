//! Where lanes go: branches, loops, switches, returns, calls, barriers.

use std::sync::Arc;

use amdgpu_sim::{Dispatch, Gpu, Module};

use crate::common::{Args, Random, launch_1d, upload, zeros};
use crate::levels::{Level, topic};

topic!("control", check);

const COUNT: usize = 500;

fn check(level: Level, gpu: &Gpu, module: &Arc<Module>) {
    let mut random = Random(101);
    let input: Vec<i32> = (0..COUNT).map(|_| (random.next() % 10_000) as i32).collect();
    let (a, out) = (upload(gpu, &input), zeros::<i32>(gpu, COUNT));
    let args = Args::default().pointer(&a).pointer(&out).value(COUNT as u32);
    launch_1d(gpu, module, "branches", 2, 256, &args);
    assert_eq!(out.get(), input.iter().map(|x| branches(*x)).collect::<Vec<_>>(), "{level}");
    recursion(level, gpu, module);
    calls(level, gpu, module);
    launch_1d(gpu, module, "arguments", 2, 256, &args);
    assert_eq!(out.get(), input.iter().enumerate().map(|(t, x)| arguments(t, *x)).collect::<Vec<_>>(), "{level}");
    phases(level, gpu, module);
}

fn branches(x: i32) -> i32 {
    let tail = if x > 1000 {
        3
    } else if x > 100 {
        2
    } else {
        1
    };
    let mut r = 0;
    if x & 1 != 0 {
        if x & 2 != 0 {
            for k in (0..x & 31).filter(|k| k % 3 != 1).take_while(|k| k * k <= x) {
                r += k ^ x;
            }
            if x > 5000 {
                return -r;
            }
        } else if x & 4 != 0 && x % 7 != 0 {
            r = x / 3;
        } else {
            let mut y = x;
            loop {
                r += y & 15;
                y >>= 2;
                if y == 77 || y == 0 {
                    break;
                }
            }
        }
    } else {
        match x % 10 {
            0 => r = 1 + x,
            2 => r = x,
            4 => {
                let (mut a, mut b) = (x, 36);
                while b != 0 {
                    (a, b) = (b, a % b);
                }
                r = a;
            }
            6 => {
                let products = (0..5).flat_map(|a| (a..5).map(move |b| a * b));
                r = products.take_while(|p| *p != x & 15).sum();
            }
            _ => r = !x,
        }
    }
    r + tail
}

fn queens(columns: &[i32], size: i32) -> i32 {
    let row = columns.len() as i32;
    if row == size {
        return 1;
    }
    let free = |c: i32| columns.iter().enumerate().all(|(r, q)| *q != c && (q - c).abs() != row - r as i32);
    (0..size).filter(|c| free(*c)).map(|c| queens(&[columns, &[c]].concat(), size)).sum()
}

fn ackermann(m: u32, n: u32) -> u32 {
    match (m, n) {
        (0, n) => n + 1,
        (m, 0) => ackermann(m - 1, 1),
        (m, n) => ackermann(m - 1, ackermann(m, n - 1)),
    }
}

fn recursion(level: Level, gpu: &Gpu, module: &Module) {
    let (out, other) = (zeros::<i32>(gpu, 96), zeros::<u32>(gpu, 96));
    launch_1d(gpu, module, "recursion", 1, 96, &Args::default().pointer(&out).pointer(&other));
    assert_eq!(out.get(), (0..96).map(|t| queens(&[t % 6], 6)).collect::<Vec<_>>(), "{level}");
    assert_eq!(other.get(), (0..96).map(|t| ackermann(t % 3, t % 4)).collect::<Vec<_>>(), "{level}");
}

fn calls(level: Level, gpu: &Gpu, module: &Module) {
    let mut random = Random(102);
    let input: Vec<f32> = (0..COUNT).map(|_| random.between(-3.0, 3.0) as f32).collect();
    let (a, out, corners) = (upload(gpu, &input), zeros::<f32>(gpu, 2 * COUNT), zeros::<i32>(gpu, COUNT));
    let args = Args::default().pointer(&a).pointer(&out).pointer(&corners).value(COUNT as u32);
    launch_1d(gpu, module, "calls", 4, 128, &args);
    let (out, corners) = (out.get(), corners.get());
    for (i, x) in input.iter().copied().enumerate() {
        let k = i % 7;
        let chosen = [x + k as f32, x * k as f32, (0..k).fold(1.0, |r, _| r * x)][i % 3];
        let shape = i / 3 % 3;
        assert_eq!(out[2 * i], chosen, "{level}: {i}");
        assert_eq!(
            (out[2 * i + 1], corners[i]),
            ([x * x, x * 2.0, 3.0 * x * x][shape], [4, 4, 0][shape]),
            "{level}: {i}"
        );
    }
}

fn arguments(t: usize, x: i32) -> i32 {
    (0..20).fold(0_i32, |hash, n| {
        let (d, g) = (x + 19 - n, n * n - x);
        let r =
            x + (x + 1) * 2 + (f64::from(x) * 0.5) as i32 * 3 + d + 4 + 5 + g * i32::from(t as i16) + 9 - 10 + 11 * 12;
        hash.wrapping_mul(33).wrapping_add(r - i32::from(t as u8))
    })
}

fn phases(level: Level, gpu: &Gpu, module: &Module) {
    for threads in [64_usize, 100, 256] {
        let data: Vec<i32> = (0..3 * threads as i32).map(|i| i * 37 % 1001).collect();
        let buffer = upload(gpu, &data);
        let mut dispatch = Dispatch::of_blocks([3, 1, 1], [threads as u32, 1, 1]).unwrap();
        dispatch.dynamic_lds = 4 * threads as u32;
        let args = Args::default().pointer(&buffer).value(17_i32);
        let kernel = module.kernel("phases").unwrap();
        gpu.launch(&kernel, &args.0, &dispatch).unwrap_or_else(|fault| panic!("{level}: {fault}"));
        let expected: Vec<i32> = data
            .chunks(threads)
            .flat_map(|part| {
                (0..17).fold(part.to_vec(), |ring, k| {
                    let next = |t: usize| if (t + k) % 3 == 0 { ring[t] } else { ring[(t + 1) % threads] + k as i32 };
                    (0..threads).map(next).collect()
                })
            })
            .collect();
        assert_eq!(buffer.get(), expected, "{level}: {threads}");
    }
}
