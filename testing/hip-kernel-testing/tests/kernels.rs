//! Every kernel on the software GPU, as gfx90a and as gfx942, with memory and race checks.

use std::process::Command;

use hip::{Backend, Device, DeviceBuffer, LaunchConfig, Stream};
use hip_kernel::Kernels;
use hip_kernel::half::{bf16, f16};
use hip_kernel::host::{self, GridState, Printed};
use hip_kernel::vector::{F32x3, F32x4, F64x4, I32x2};
use hip_kernel_testing::kernels::{LANGUAGE, algorithms as alg, device as dev};
use hip_kernel_testing::{instinct, instinct_code, kernels_code};

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// A part of the test.
type Test = fn(&Gpu) -> Result;

struct Gpu {
    device: Device,
    stream: Stream,
    kernels: Kernels,
}

/// Runs the tests below in a separate process, on one target.
fn on(target: &str) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "each_kernel", "--ignored", "--nocapture"]);
    command.env("HIP_SIM_TARGET", target).env("HIP_SIM_CHECK", "memory,race").env("HIP_RS_BACKEND", "sim");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{target}:\n{text}");
}

#[test]
fn gfx90a() {
    on("gfx90a");
}

#[test]
fn gfx942() {
    on("gfx942");
}

#[test]
#[ignore = "run by the other tests, with a target"]
fn each_kernel() {
    hip::select_backend(Backend::Sim).unwrap();
    let device = Device::get(0).unwrap();
    assert_eq!(std::env::var("HIP_SIM_CHECK").as_deref(), Ok("memory,race"));
    let (stream, kernels) = (Stream::new(&device).unwrap(), kernels_code().load(&device).unwrap());
    let gpu = Gpu { device, stream, kernels };
    let tests: &[(&str, Test)] = &[
        ("language", language),
        ("indices", indices),
        ("by value", by_value),
        ("generic", generic),
        ("pointers", pointers),
        ("shared", shared),
        ("atomic integers", atomic_integers),
        ("atomic floats", atomic_floats),
        ("atomic fields", atomic_fields),
        ("lanes", lanes),
        ("grid barrier", grid_barrier),
        ("tiles", tiles),
        ("vectors", vectors),
        ("halves", halves),
        ("functions", functions),
        ("special", special),
        ("products", products),
        ("messages", messages),
        ("clocks", clocks),
        ("output", output),
        ("panics", panics),
        ("refused", refused),
        ("algorithms", algorithms),
    ];
    let mut failed = Vec::new();
    for (name, test) in tests {
        match std::panic::catch_unwind(|| test(&gpu)) {
            Ok(Ok(())) => println!("{name}: ok"),
            Ok(Err(error)) => failed.push(format!("{name}: {error}")),
            Err(_) => failed.push(format!("{name}: panicked")),
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, got: &[T], want: &[T]) -> Result {
    if got.len() != want.len() {
        return Err(format!("{what}: {} values, expected {}", got.len(), want.len()).into());
    }
    match got.iter().zip(want).position(|(got, want)| got != want) {
        None => Ok(()),
        Some(at) => Err(format!("{what}: element {at} is {:?}, expected {:?}", got[at], want[at]).into()),
    }
}

/// Each function of one number, on the device and on the host.
fn language(gpu: &Gpu) -> Result {
    assert!(LANGUAGE.len() >= 35);
    // Some are recursive. When launched by name, they have the configured stack size.
    gpu.device.set_limit(hip::device::Limit::StackSize, 8192)?;
    let input: Vec<u32> = (0..300).collect();
    let x = DeviceBuffer::from_slice(&gpu.device, &input)?;
    let mut wrong = Vec::new();
    for (name, _, function) in LANGUAGE {
        let mut y = DeviceBuffer::<u32>::zeroed(&gpu.device, input.len())?;
        let kernel = gpu.kernels.module().kernel(name)?;
        let (len, place) = (input.len() as u64, host::panics(&gpu.stream)?);
        // SAFETY: the kernel reads and writes 300 elements, and checks its index.
        unsafe {
            kernel.launch(&gpu.stream, LaunchConfig::for_elements(input.len(), 64), (place, &x, &mut y, len, len))?
        };
        let want: Vec<u32> = input.iter().map(|&x| function(x)).collect();
        assert!(want.iter().any(|value| *value != want[0]), "{name} gives one value only");
        let result = y.to_vec().map_err(Into::into).and_then(|got| same(name, &got, &want));
        wrong.extend(result.err().map(|error| error.to_string()));
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ").into()) }
}

fn indices(gpu: &Gpu) -> Result {
    let kernel = dev::Indices::load(&gpu.kernels)?;
    let (blocks, block) = (3, 96);
    let mut out = DeviceBuffer::<u32>::zeroed(&gpu.device, 8 * blocks * block)?;
    kernel.launch(&gpu.stream, LaunchConfig::new(blocks as u32, block as u32), &mut out)?;
    let want = (0..(blocks * block) as u32).flat_map(|i| {
        let thread = i % block as u32;
        [i, thread, i / block as u32, block as u32, blocks as u32, (blocks * block) as u32, thread % 64, i * 8]
    });
    same("indices", &out.to_vec()?, &want.collect::<Vec<_>>())?;

    let kernel = dev::Grid::load(&gpu.kernels)?;
    let (width, height) = (37, 11);
    let mut out = DeviceBuffer::<u32>::zeroed(&gpu.device, width * height)?;
    kernel.launch(&gpu.stream, LaunchConfig::new((5, 2), (8, 8)), &mut out, width)?;
    let want = (0..width * height).map(|i| (i % width + i / width * 1000 + height * 1_000_000) as u32);
    same("grid", &out.to_vec()?, &want.collect::<Vec<_>>())
}

fn by_value(gpu: &Gpu) -> Result {
    let kernel = dev::ByValue::load(&gpu.kernels)?;
    let p = dev::Parameters { scale: 2.5, offset: [1.0, 4.0], count: 7, flags: 0x101, large: 1e10 };
    let many: Vec<_> =
        (0..20).map(|i| dev::Parameters { scale: i as f32, large: 1.0 / f64::from(i + 1), ..p }).collect();
    let xs = DeviceBuffer::from_slice(&gpu.device, &many)?;
    let matrix = std::array::from_fn(|i| i as f32 * 0.5);
    for (mode, flag) in [(dev::Mode::Add, true), (dev::Mode::Multiply, false)] {
        let mut y = DeviceBuffer::<f64>::zeroed(&gpu.device, 20)?;
        kernel.launch(&gpu.stream, LaunchConfig::new(1, 64), p, mode, flag, 200, matrix, &xs, &mut y)?;
        let want = many.iter().enumerate().map(|(i, x)| {
            let both = match mode {
                dev::Mode::Add => f64::from(p.scale) + f64::from(x.scale),
                dev::Mode::Multiply => f64::from(p.scale) * f64::from(x.scale),
            };
            let flag = if flag { 200.0 } else { 0.0 };
            both + 4.0 + 7.0 + 257.0 + p.large * x.large + flag + f64::from(matrix[i % 9])
        });
        same("by value", &y.to_vec()?, &want.collect::<Vec<_>>())?;
    }
    Ok(())
}

fn generic(gpu: &Gpu) -> Result {
    fn one<T: hip::Pod + PartialEq + std::fmt::Debug>(
        gpu: &Gpu,
        x: Vec<T>,
        want: impl Fn(T) -> T,
        launch: impl Fn(&DeviceBuffer<T>, &mut DeviceBuffer<T>) -> hip::Result<()>,
    ) -> Result {
        let (input, mut y) = (DeviceBuffer::from_slice(&gpu.device, &x)?, DeviceBuffer::zeroed(&gpu.device, x.len())?);
        launch(&input, &mut y)?;
        same("multiply", &y.to_vec()?, &x.into_iter().map(want).collect::<Vec<_>>())
    }
    // Fewer threads than elements.
    let config = LaunchConfig::new(2, 64);
    let numbers = 0..1000u32;
    let squares = dev::Multiply::<f32, 2>::load(&gpu.kernels)?;
    one(gpu, numbers.clone().map(|i| i as f32).collect(), |x| x * x, |x, y| squares.launch(&gpu.stream, config, x, y))?;
    let cubes = dev::Multiply::<f64, 3>::load(&gpu.kernels)?;
    one(gpu, numbers.clone().map(f64::from).collect(), |x| x * x * x, |x, y| cubes.launch(&gpu.stream, config, x, y))?;
    let fourth = dev::Multiply::<u32, 4>::load(&gpu.kernels)?;
    one(gpu, (0..100).collect(), |x| x * x * x * x, |x, y| fourth.launch(&gpu.stream, config, x, y))
}

fn pointers(gpu: &Gpu) -> Result {
    let kernel = dev::Pointers::load(&gpu.kernels)?;
    let input: Vec<u32> = (0..100).collect();
    let (x, mut y) = (DeviceBuffer::from_slice(&gpu.device, &input)?, DeviceBuffer::zeroed(&gpu.device, 100)?);
    // SAFETY: 100 elements each.
    unsafe { kernel.launch(&gpu.stream, LaunchConfig::for_elements(100, 64), &x, &mut y, 100)? };
    same("pointers", &y.to_vec()?, &input.iter().rev().copied().collect::<Vec<_>>())
}

fn shared(gpu: &Gpu) -> Result {
    let kernel = dev::SharedMemory::load(&gpu.kernels)?;
    let (blocks, block) = (3usize, 128usize);
    let input: Vec<u32> = (0..(blocks * block) as u32).map(|i| i * 7 % 101).collect();
    let (x, mut y) = (DeviceBuffer::from_slice(&gpu.device, &input)?, DeviceBuffer::zeroed(&gpu.device, input.len())?);
    kernel.launch(&gpu.stream, LaunchConfig::new(blocks as u32, block as u32), &x, &mut y, block)?;
    let want = input.chunks(block).flat_map(|tile| {
        let sum: u32 = tile.iter().sum();
        (0..block).map(move |i| tile[block - 1 - i] + sum * (i as u32 % 3 + 1))
    });
    same("shared", &y.to_vec()?, &want.collect::<Vec<_>>())
}

fn atomic_integers(gpu: &Gpu) -> Result {
    fn one<T: hip::Pod + PartialEq + std::fmt::Debug + Copy>(
        gpu: &Gpu,
        of: impl Fn(i64) -> T,
        launch: impl Fn(&mut DeviceBuffer<T>) -> hip::Result<()>,
    ) -> Result {
        let start: Vec<T> = (0..12)
            .map(|cell| {
                of(match cell {
                    2 => -1,
                    6 => 1000,
                    _ => 5,
                })
            })
            .collect();
        let mut input = [start.clone(), start].concat();
        input.extend([of(0); 12]);
        let mut out = DeviceBuffer::from_slice(&gpu.device, &input)?;
        launch(&mut out)?;
        let got = out.to_vec()?;
        // 100 threads with the values 0 to 99.
        let sum: i64 = (0..100).sum();
        let and = (0..100).fold(-1, |all, i| all & i);
        let or = (0..100).fold(5, |all, i| all | i);
        let xor = (0..100).fold(5, |all, i| all ^ i);
        let inc = (0..100).fold(5i64, |value, _| if value >= 40 { 0 } else { value + 1 });
        let dec = (0..100).fold(5i64, |value, _| if value == 0 || value > 40 { 40 } else { value - 1 });
        let want = [5 + sum, 5 - sum, and, or, xor, 99, 0, inc, dec, 5 + sum, 7, 9].map(of);
        for part in got.chunks(12) {
            same(std::any::type_name::<T>(), part, &want)?;
        }
        Ok(())
    }
    let config = LaunchConfig::new(1, 100);
    let kernel = dev::AtomicIntegers::<u32>::load(&gpu.kernels)?;
    one(gpu, |x| x as u32, |out| kernel.launch(&gpu.stream, config, out))?;
    let kernel = dev::AtomicIntegers::<i32>::load(&gpu.kernels)?;
    one(gpu, |x| x as i32, |out| kernel.launch(&gpu.stream, config, out))?;
    let kernel = dev::AtomicIntegers::<u64>::load(&gpu.kernels)?;
    one(gpu, |x| x as u64, |out| kernel.launch(&gpu.stream, config, out))?;
    let kernel = dev::AtomicIntegers::<i64>::load(&gpu.kernels)?;
    one(gpu, |x| x, |out| kernel.launch(&gpu.stream, config, out))
}

fn atomic_floats(gpu: &Gpu) -> Result {
    let input: Vec<i32> = (0..256).map(|i| i * 37 % 101 - 50).collect();
    let (sum, max, min) = (input.iter().sum::<i32>(), input.iter().max().copied(), input.iter().min().copied());
    let one = [sum, max.unwrap_or(0), min.unwrap_or(0)];
    let config = LaunchConfig::new(2, 128);
    let kernel = dev::AtomicFloats::<f32>::load(&gpu.kernels)?;
    let x = DeviceBuffer::from_slice(&gpu.device, &input.iter().map(|x| *x as f32).collect::<Vec<_>>())?;
    let mut out = DeviceBuffer::<f32>::zeroed(&gpu.device, 9)?;
    kernel.launch(&gpu.stream, config, &x, &mut out)?;
    same("f32", &out.to_vec()?, &[one, one, one].concat().iter().map(|x| *x as f32).collect::<Vec<_>>())?;
    let kernel = dev::AtomicFloats::<f64>::load(&gpu.kernels)?;
    let x = DeviceBuffer::from_slice(&gpu.device, &input.iter().map(|x| f64::from(*x)).collect::<Vec<_>>())?;
    let mut out = DeviceBuffer::<f64>::zeroed(&gpu.device, 9)?;
    kernel.launch(&gpu.stream, config, &x, &mut out)?;
    same("f64", &out.to_vec()?, &[one, one, one].concat().iter().map(|x| f64::from(*x)).collect::<Vec<_>>())
}

fn atomic_fields(gpu: &Gpu) -> Result {
    let kernel = dev::AtomicFields::load(&gpu.kernels)?;
    let accounts: Vec<_> = (0..5).map(|id| dev::Account { id, count: 0, sum: 0 }).collect();
    let mut buffer = DeviceBuffer::from_slice(&gpu.device, &accounts)?;
    // SAFETY: there are five accounts.
    unsafe { kernel.launch(&gpu.stream, LaunchConfig::new(2, 64), &mut buffer, 5)? };
    for account in buffer.to_vec()? {
        let threads = (0..128u64).filter(|i| i % 5 == u64::from(account.id));
        assert_eq!((u64::from(account.count), account.sum), (threads.clone().count() as u64, threads.sum()));
    }
    Ok(())
}

fn lanes(gpu: &Gpu) -> Result {
    let kernel = dev::Lanes::load(&gpu.kernels)?;
    let input: Vec<u32> = (0..128).map(|i| i * 71 % 997).collect();
    let (x, mut out) = (DeviceBuffer::from_slice(&gpu.device, &input)?, DeviceBuffer::zeroed(&gpu.device, 128 * 16)?);
    kernel.launch(&gpu.stream, LaunchConfig::new(1, 128), &x, &mut out)?;
    let want = input.chunks(64).flat_map(|wave| {
        let ballot = wave.iter().enumerate().fold(0u64, |bits, (i, x)| bits | u64::from(x % 3 == 0) << i);
        let sum: u32 = wave.iter().sum();
        (0..64usize).flat_map(move |i| {
            let at = |i: usize| wave[i];
            [
                64,
                i as u32,
                ballot as u32,
                (ballot >> 32) as u32,
                (ballot & ((1 << i) - 1)).count_ones(),
                u32::from(wave.iter().any(|x| *x > 1000)) + 2 * u32::from(wave.iter().all(|x| *x < 1000)),
                at(5),
                at(i ^ 3),
                at(if i >= 2 { i - 2 } else { i }),
                at(if i + 2 < 64 { i + 2 } else { i }),
                at(0),
                sum,
                wave.iter().copied().max().unwrap_or(0),
                wave.iter().copied().min().unwrap_or(0),
                wave[..=i].iter().sum(),
                at(i ^ 1) as i16 as u32,
            ]
        })
    });
    same("lanes", &out.to_vec()?, &want.collect::<Vec<_>>())
}

fn halves(gpu: &Gpu) -> Result {
    let kernel = dev::Halves::load(&gpu.kernels)?;
    let input: Vec<f32> = (0..256).map(|i| (i as f32 - 100.0) * 0.373 * if i % 7 == 0 { 1e-5 } else { 1.0 }).collect();
    let (x, mut out) = (DeviceBuffer::from_slice(&gpu.device, &input)?, DeviceBuffer::zeroed(&gpu.device, 256 * 6)?);
    let (by, shift) = (f16::from_f32(1.7), bf16::from_f32(-3.0));
    kernel.launch(&gpu.stream, LaunchConfig::new(4, 64), &x, &mut out, by, shift)?;
    let want = input.iter().flat_map(|&x| {
        let (a, b) = (f16::from_f32(x), bf16::from_f32(x));
        let mut all = [a, a + by, a * by, a / by - a, a, -by].map(f16::to_bits);
        all[4] = (b * shift + b).to_bits();
        all
    });
    same("halves", &out.to_vec()?, &want.collect::<Vec<_>>())
}

/// The distance in units of the last place of the expected value.
fn close(got: f64, want: f64, epsilon: f64) -> bool {
    let least = if epsilon > 1e-10 { f64::from(f32::MIN_POSITIVE) } else { f64::MIN_POSITIVE };
    got == want || (got.is_nan() && want.is_nan()) || (got - want).abs() <= 4.0 * epsilon * want.abs().max(least)
}

fn functions(gpu: &Gpu) -> Result {
    let numbers: Vec<f64> = (0..64).map(|i| (f64::from(i) - 31.5) * 0.171).collect();
    let single: Vec<f32> = numbers.iter().map(|x| *x as f32).collect();
    let kernel = dev::Functions::<f64>::load(&gpu.kernels)?;
    let (x, mut out) = (DeviceBuffer::from_slice(&gpu.device, &numbers)?, DeviceBuffer::zeroed(&gpu.device, 64 * 40)?);
    kernel.launch(&gpu.stream, LaunchConfig::new(1, 64), &x, &mut out)?;
    let got64 = out.to_vec()?;
    let kernel = dev::Functions::<f32>::load(&gpu.kernels)?;
    let (x, mut out) = (DeviceBuffer::from_slice(&gpu.device, &single)?, DeviceBuffer::zeroed(&gpu.device, 64 * 40)?);
    kernel.launch(&gpu.stream, LaunchConfig::new(1, 64), &x, &mut out)?;
    let got32 = out.to_vec()?;
    let mut wrong = Vec::new();
    for i in 0..64 {
        let want = dev::math_functions(numbers[i], numbers[(i + 1) % 64]);
        let (a, b) = (single[i], single[(i + 1) % 64]);
        let want32 = dev::math_functions(a, b);
        for f in 0..40 {
            if !close(got64[i * 40 + f], want[f], f64::EPSILON) {
                wrong.push(format!("f64 function {f} of {}: {} and {}", numbers[i], got64[i * 40 + f], want[f]));
            }
            if !close(got32[i * 40 + f].into(), want32[f].into(), f32::EPSILON.into()) {
                wrong.push(format!("f32 function {f} of {a}: {} and {}", got32[i * 40 + f], want32[f]));
            }
        }
    }
    wrong.truncate(12);
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ").into()) }
}

fn special(gpu: &Gpu) -> Result {
    let kernel = dev::Special::load(&gpu.kernels)?;
    let numbers = [0.5, 1.0, 2.0, 3.5];
    let (x, mut out) = (DeviceBuffer::from_slice(&gpu.device, &numbers)?, DeviceBuffer::zeroed(&gpu.device, 4 * 12)?);
    kernel.launch(&gpu.stream, LaunchConfig::new(1, 4), &x, &mut out)?;
    // erf, lgamma, tgamma by their tables.
    let erf = [0.520_499_877_813_046_5, 0.842_700_792_949_714_9, 0.995_322_265_018_952_7, 0.999_999_256_901_627_7];
    let gamma = [1.772_453_850_905_516, 1.0, 1.0, 3.323_350_970_447_842_6];
    for (i, got) in out.to_vec()?.chunks(12).enumerate() {
        let x: f64 = numbers[i];
        let exact = [
            erf[i],
            1.0 - erf[i],
            f64::ln(gamma[i]),
            gamma[i],
            erf[i],
            gamma[i],
            1.0 / x,
            1.0 / x.sqrt(),
            x.exp(),
            x.ln(),
            x.sin(),
            x.cos(),
        ];
        let bound = [1e-14, 1e-9, 1e-14, 1e-14, 1e-6, 1e-6, 1e-6, 1e-6, 1e-5, 1e-5, 1e-5, 1e-5];
        for f in 0..12 {
            let error = (got[f] - exact[f]).abs() / exact[f].abs().max(1e-2);
            assert!(error < bound[f], "function {f} of {x}: {} and {}", got[f], exact[f]);
        }
    }
    Ok(())
}

fn products(gpu: &Gpu) -> Result {
    let module = instinct_code().load(&gpu.device)?;
    let kernel = instinct::Products::load(&module)?;
    let number = |i: i32| (i * 29 % 17 - 8) as f32;
    let (a, b): (Vec<f32>, Vec<f32>) = ((0..256).map(number).collect(), (0..256).map(|i| number(i + 5)).collect());
    let (da, db) = (DeviceBuffer::from_slice(&gpu.device, &a)?, DeviceBuffer::from_slice(&gpu.device, &b)?);
    let mut c = DeviceBuffer::zeroed(&gpu.device, 256)?;
    kernel.launch(&gpu.stream, LaunchConfig::new(1, 64), &da, &db, &mut c)?;
    // Lane l has rows 4 (l / 16) to 4 (l / 16) + 3 of column l % 16.
    let want = (0..256).map(|i| {
        let (lane, part) = (i / 4, i % 4);
        let (row, column) = (lane / 16 * 4 + part, lane % 16);
        (0..16).map(|k| a[row * 16 + k] * b[k * 16 + column]).sum()
    });
    same("products", &c.to_vec()?, &want.collect::<Vec<f32>>())
}

fn messages(gpu: &Gpu) -> Result {
    let kernel = dev::Messages::load(&gpu.kernels)?;
    let n = 256;
    let mut data = DeviceBuffer::<u32>::zeroed(&gpu.device, n + 1)?;
    let mut out = DeviceBuffer::<u32>::zeroed(&gpu.device, n)?;
    kernel.launch(&gpu.stream, LaunchConfig::new(4, 64), &mut data, &mut out)?;
    same("messages", &out.to_vec()?, &(0..n as u32).map(|i| (255 - i) * 3).collect::<Vec<_>>())
}

fn clocks(gpu: &Gpu) -> Result {
    let kernel = dev::Clocks::load(&gpu.kernels)?;
    let mut out = DeviceBuffer::<u64>::zeroed(&gpu.device, 128)?;
    kernel.launch(&gpu.stream, LaunchConfig::new(1, 64), &mut out)?;
    assert!(out.to_vec()?.chunks(2).all(|pair| pair[0] > 0 && pair[0] < 1 << 40 && pair[1] < 1 << 40));
    Ok(())
}

fn output(gpu: &Gpu) -> Result {
    let kernel = dev::Hello::load(&gpu.kernels)?;
    let mut printed = Printed::new(&gpu.device, 1 << 14)?;
    kernel.launch(&gpu.stream, LaunchConfig::new(2, 64), 100, 0.25, &mut printed)?;
    let mut text = printed.take()?;
    text.lines.sort_by_key(|line| line.split(' ').nth(1).and_then(|n| n.parse::<u32>().ok()));
    let want: Vec<String> = (0..100)
        .map(|i| {
            let (x, even) = (0.25 * i as f32, i % 2 == 0);
            format!("thread {i} of 100: x = {x:.2}, {:x}, {{{}}} {even}\n", 255 - i, -i)
        })
        .collect();
    same("output", &text.lines, &want)?;
    assert_eq!(text.dropped, 0);
    // Again with too little room: complete texts are kept, and the rest is counted.
    let mut printed = Printed::new(&gpu.device, 500)?;
    kernel.launch(&gpu.stream, LaunchConfig::new(2, 64), 100, 0.25, &mut printed)?;
    let text = printed.take()?;
    assert!(text.dropped > 2000 && !text.lines.is_empty() && text.lines.len() < 14, "{text:?}");
    assert!(text.lines.iter().all(|line| want.contains(line)), "{text:?}");
    Ok(())
}

fn panics(gpu: &Gpu) -> Result {
    let kernel = dev::Panics::load(&gpu.kernels)?;
    let x = DeviceBuffer::from_slice(&gpu.device, &(1..=200).collect::<Vec<u32>>())?;
    let source = include_str!("../src/kernels/device.rs");
    let line = |part: &str| source.lines().position(|line| line.contains(part)).map_or(0, |at| at as u32 + 1);
    for (how, part, message) in [
        (0, "", None),
        (1, "*y = x[x.len() + how as usize]", Some("index out of bounds")),
        (2, "assert!(x[i] == 0", Some("x must be zero")),
        (3, "panic!(\"a message", Some("a message without values")),
        (4, "*y = x[i] / (how - 4)", Some("attempt to divide by zero")),
        (5, "123_456", Some("called `Option::unwrap()` on a `None` value")),
    ] {
        let mut y = DeviceBuffer::<u32>::zeroed(&gpu.device, 200)?;
        kernel.launch(&gpu.stream, LaunchConfig::for_elements(200, 64), &x, how, &mut y)?;
        // The first of the two waits returns the error, and the second does not.
        let first = if how % 2 == 0 { gpu.stream.synchronize() } else { y.to_vec().map(drop) };
        let y = y.to_vec()?;
        // Other waves continue.
        assert_eq!((y[0], y[199]), (2, 201), "{how}");
        let panic = match first {
            Err(hip::Error::KernelPanicked(panic)) => panic,
            other => {
                assert_eq!((how, y[70]), (0, 72));
                other?;
                continue;
            }
        };
        assert!(panic.file.ends_with("device.rs"), "{panic}");
        assert_eq!((panic.line, panic.message.as_deref()), (line(part), message), "{panic}");
        assert_eq!((panic.block, panic.thread), ([1, 0, 0], [6, 0, 0]), "{panic}");
        gpu.stream.synchronize()?;
    }
    Ok(())
}

fn grid_barrier(gpu: &Gpu) -> Result {
    let kernel = dev::WholeGrid::load(&gpu.kernels)?;
    let mut state = GridState::new(&gpu.device)?;
    for blocks in [1, 4, 3] {
        let n = blocks * 64;
        let mut cells = DeviceBuffer::<u32>::zeroed(&gpu.device, n)?;
        let mut out = DeviceBuffer::<u32>::zeroed(&gpu.device, n)?;
        kernel.launch(&gpu.stream, LaunchConfig::new(blocks as u32, 64), &mut cells, &mut out, &mut state)?;
        // Twice the mirrored cell, read at the mirrored position.
        same("grid barrier", &out.to_vec()?, &(0..n as u32).map(|i| 2 * (i + 1)).collect::<Vec<_>>())?;
    }
    let most = kernel.kernel().max_cooperative_blocks(64, 0)?;
    let mut none = DeviceBuffer::<u32>::zeroed(&gpu.device, 1)?;
    let mut out = DeviceBuffer::<u32>::zeroed(&gpu.device, 1)?;
    let config = LaunchConfig::new(most + 1, 64);
    let error = kernel.launch(&gpu.stream, config, &mut none, &mut out, &mut state).unwrap_err();
    assert!(matches!(error, hip::Error::Geometry { .. }), "{error}");
    Ok(())
}

fn tiles(gpu: &Gpu) -> Result {
    let x: Vec<u32> = (0..128).map(|i| i * 37 % 1001).collect();
    let mut out = DeviceBuffer::<u32>::zeroed(&gpu.device, 128 * 8)?;
    let buffer = DeviceBuffer::from_slice(&gpu.device, &x)?;
    dev::Tiles::load(&gpu.kernels)?.launch(&gpu.stream, LaunchConfig::new(2, 64), &buffer, &mut out)?;
    let want = (0..128).flat_map(|i| {
        let tile = &x[i / 8 * 8..][..8];
        let bits = tile.iter().enumerate().map(|(k, x)| u32::from(x % 3 == 0) << k).sum();
        let votes = u32::from(tile.iter().any(|x| x % 5 == 0)) + 2 * u32::from(tile.iter().all(|x| *x < 900));
        let (sum, max, part) = (tile.iter().sum(), *tile.iter().max().unwrap(), tile[..=i % 8].iter().sum());
        [i as u32 % 8, i as u32 % 64 / 8, bits, votes, tile[3], sum, max, part]
    });
    same("tiles", &out.to_vec()?, &want.collect::<Vec<u32>>())
}

fn vectors(gpu: &Gpu) -> Result {
    let x: Vec<F32x4> = (0..100).map(|i| F32x4::new(i as f32, 1.0, -2.0, 0.5 * i as f32)).collect();
    let buffer = DeviceBuffer::from_slice(&gpu.device, &x)?;
    let mut y = DeviceBuffer::<F32x3>::zeroed(&gpu.device, 100)?;
    let (by, plus) = (F64x4::new(0.0, 0.0, 0.25, 4.0), I32x2::new(-7, 9));
    let config = LaunchConfig::for_elements(100, 64);
    dev::Vectors::load(&gpu.kernels)?.launch(&gpu.stream, config, &buffer, &mut y, by, plus)?;
    let want = x.iter().map(|x| {
        let x = *x * 2.0 + *x / 4.0;
        F32x3::from([x.x - 7.0, x.y + 9.0, x.dot(x) * 0.25])
    });
    same("vectors", &y.to_vec()?, &want.collect::<Vec<_>>())
}

/// Launches that safe kernels must refuse.
fn refused(gpu: &Gpu) -> Result {
    let geometry = |result: hip::Result<()>, part: &str| {
        let error = result.unwrap_err();
        assert!(matches!(&error, hip::Error::Geometry { .. }) && error.to_string().contains(part), "{error}");
    };
    let x = DeviceBuffer::<f32>::zeroed(&gpu.device, 100)?;
    let (mut y, mut short) =
        (DeviceBuffer::<f32>::zeroed(&gpu.device, 100)?, DeviceBuffer::<f32>::zeroed(&gpu.device, 99)?);
    let add = alg::VectorAdd::load(&gpu.kernels)?;
    let one = LaunchConfig::for_elements(100, 64);
    geometry(add.launch(&gpu.stream, one, &x, &x, &mut short), "`b` has 100 elements and `c` 99");
    geometry(add.launch(&gpu.stream, LaunchConfig::new((2, 2), 64), &x, &x, &mut y), "one dimension");
    geometry(add.launch(&gpu.stream, LaunchConfig::new(2, (8, 8)), &x, &x, &mut y), "one dimension");
    let mut grid = DeviceBuffer::<u32>::zeroed(&gpu.device, 100)?;
    let two = dev::Grid::load(&gpu.kernels)?;
    geometry(two.launch(&gpu.stream, LaunchConfig::new((1, 1, 2), (8, 8)), &mut grid, 10), "two dimensions");
    geometry(two.launch(&gpu.stream, LaunchConfig::new((2, 2), (8, 8)), &mut grid, 33), "complete rows of 33");
    geometry(two.launch(&gpu.stream, LaunchConfig::new((2, 2), (8, 8)), &mut grid, 0), "complete rows of 0");
    let few = dev::FewThreads::load(&gpu.kernels)?;
    geometry(few.launch(&gpu.stream, LaunchConfig::new(1, 65), &mut grid), "64 threads at most");
    few.launch(&gpu.stream, LaunchConfig::new(2, 64), &mut grid)?;
    let shared = dev::SharedMemory::load(&gpu.kernels)?;
    let input = DeviceBuffer::<u32>::zeroed(&gpu.device, 100)?;
    geometry(shared.launch(&gpu.stream, LaunchConfig::new(1, 64), &input, &mut grid, usize::MAX), "shared memory");
    geometry(shared.launch(&gpu.stream, LaunchConfig::new(1, 64), &input, &mut grid, 1 << 20), "shared");
    // Signatures that do not match the code, as with a stale bundle or with a type of another name.
    let stale = |name: &str, loaded: Result<(), hip::Error>, part: &str| match loaded {
        Err(hip::Error::Stale { kernel, reason }) if kernel == name => {
            assert!(reason.contains(part) && reason.contains("HIP_KERNEL_BUILD=update cargo build -p"), "{reason}");
        }
        other => panic!("{name}: {other:?}"),
    };
    let kernels = &gpu.kernels;
    stale("vector_add", changed::kernels::algorithms::VectorAdd::load(kernels).map(drop), "same_len(a, b, c)");
    stale("saxpy", changed::kernels::algorithms::Saxpy::load(kernels).map(drop), "source has changed");
    stale("nbody", changed::kernels::algorithms::Nbody::load(kernels).map(drop), "parameter `bodies: &[Body]`");
    stale("scan", changed::kernels::algorithms::Scan::load(kernels).map(drop), "parameter `x`");
    stale("halves", changed::kernels::algorithms::Halves::load(kernels).map(drop), "module `kernels::device`");
    // SAFETY: the compiler made it from the same source.
    let again = unsafe { hip_kernel::Code::new(kernels_code().bytes()) }.load(&gpu.device)?;
    alg::VectorAdd::load(&again)?;
    // Code of another source.
    let error = dev::Grid::load(&instinct_code().load(&gpu.device)?).unwrap_err();
    assert!(matches!(error, hip::Error::KernelNotFound { .. }), "{error}");
    Ok(())
}

/// The signatures of kernels after a change of their source.
#[allow(dead_code, unreachable_pub, unused_variables, unused_mut, elided_lifetimes_in_paths)]
mod changed {
    pub mod kernels {
        pub mod algorithms {
            use hip_kernel::prelude::*;

            #[kernel]
            pub fn vector_add(a: &[f32], b: &[f32], mut c: DisjointSlice<f32>) {
                c.set(|i| a[i] + b[i]);
            }

            #[kernel(same_len(x, y))]
            pub fn saxpy(a: f32, x: &[f32], mut y: DisjointSlice<f32>) {
                y.for_each(|i, y| *y = a.mul_add(x[i], *y) + 1.0);
            }

            /// The fields are swapped.
            #[derive(Clone, Copy, DeviceCopy)]
            #[repr(C)]
            pub struct Body {
                pub mass: f32,
                pub y: f32,
                pub z: f32,
                pub x: f32,
            }

            #[kernel(same_len(bodies, out), max_threads(256))]
            pub fn nbody(bodies: &[Body], mut out: DisjointSlice<Body>, softening: f32, tile: Shared<[Body; 256]>) {}

            #[kernel]
            pub fn scan(x: &[u64], mut y: DisjointSlice<u32>, mut sums: DisjointSlice<u32>, tile: Shared<[u32; 256]>) {}

            #[kernel]
            pub fn halves(x: &[f16], mut y: DisjointSlice<f16>) {}
        }
    }
}

fn algorithms(gpu: &Gpu) -> Result {
    let number = |i: usize| (i * 37 % 101) as f32 * 0.25 - 7.0;
    let n = 5000;
    let (a, b): (Vec<f32>, Vec<f32>) = ((0..n).map(number).collect(), (0..n).map(|i| number(i + 11)).collect());
    let (da, db) = (DeviceBuffer::from_slice(&gpu.device, &a)?, DeviceBuffer::from_slice(&gpu.device, &b)?);
    let mut c = DeviceBuffer::<f32>::zeroed(&gpu.device, n)?;
    let config = LaunchConfig::for_elements(n, alg::BLOCK as u32);
    alg::VectorAdd::load(&gpu.kernels)?.launch(&gpu.stream, config, &da, &db, &mut c)?;
    same("vector_add", &c.to_vec()?, &a.iter().zip(&b).map(|(a, b)| a + b).collect::<Vec<_>>())?;
    c.copy_from_slice(&b)?;
    alg::Saxpy::load(&gpu.kernels)?.launch(&gpu.stream, LaunchConfig::new(4, 256), 1.5, &da, &mut c)?;
    same("saxpy", &c.to_vec()?, &a.iter().zip(&b).map(|(a, b)| 1.5f32.mul_add(*a, *b)).collect::<Vec<_>>())?;

    let mut total = DeviceBuffer::<f32>::zeroed(&gpu.device, 1)?;
    alg::Reduce::load(&gpu.kernels)?.launch(&gpu.stream, LaunchConfig::new(4, 256), &da, &mut total)?;
    same("reduce", &total.to_vec()?, &[a.iter().sum::<f32>()])?;

    let side = 48;
    let (ma, mb) = (da.slice(..side * side)?, db.slice(..side * side)?);
    let mut product = DeviceBuffer::<f32>::zeroed(&gpu.device, side * side)?;
    let tiles = (side / alg::TILE) as u32;
    let config = LaunchConfig::new((tiles, tiles), (alg::TILE as u32, alg::TILE as u32));
    alg::Matmul::load(&gpu.kernels)?.launch(&gpu.stream, config, ma, mb, &mut product, side, side as u32)?;
    let want = (0..side * side).map(|i| {
        let (row, column) = (i / side, i % side);
        (0..side).fold(0.0f32, |sum, k| a[row * side + k].mul_add(b[k * side + column], sum))
    });
    same("matmul", &product.to_vec()?, &want.collect::<Vec<_>>())?;

    let bytes: Vec<u8> = (0..10_000usize).map(|i| (i * i % 251) as u8).collect();
    let x = DeviceBuffer::from_slice(&gpu.device, &bytes)?;
    let mut counts = DeviceBuffer::<u32>::zeroed(&gpu.device, alg::BINS)?;
    alg::Histogram::load(&gpu.kernels)?.launch(&gpu.stream, LaunchConfig::new(4, 256), &x, &mut counts)?;
    let mut want = vec![0u32; alg::BINS];
    bytes.iter().for_each(|byte| want[usize::from(*byte)] += 1);
    same("histogram", &counts.to_vec()?, &want)?;

    let numbers: Vec<u32> = (0..1000).map(|i| i * 13 % 29).collect();
    let x = DeviceBuffer::from_slice(&gpu.device, &numbers)?;
    let mut y = DeviceBuffer::<u32>::zeroed(&gpu.device, 1000)?;
    let mut sums = DeviceBuffer::<u32>::zeroed(&gpu.device, 4)?;
    alg::Scan::load(&gpu.kernels)?.launch(&gpu.stream, LaunchConfig::new(4, 256), &x, &mut y, &mut sums)?;
    let running = |part: &[u32]| {
        part.iter()
            .scan(0, |sum, x| {
                *sum += x;
                Some(*sum)
            })
            .collect::<Vec<u32>>()
    };
    same("scan", &y.to_vec()?, &numbers.chunks(256).flat_map(running).collect::<Vec<_>>())?;
    same("sums", &sums.to_vec()?, &numbers.chunks(256).map(|part| part.iter().sum()).collect::<Vec<u32>>())?;

    let bodies: Vec<_> = (0..512)
        .map(|i| alg::Body { x: number(i), y: number(i * 3), z: number(i * 7 + 1), mass: 1.0 + (i % 3) as f32 })
        .collect();
    let x = DeviceBuffer::from_slice(&gpu.device, &bodies)?;
    let mut y = DeviceBuffer::<alg::Body>::zeroed(&gpu.device, 512)?;
    alg::Nbody::load(&gpu.kernels)?.launch(&gpu.stream, LaunchConfig::new(2, 256), &x, &mut y, 0.5)?;
    for (i, got) in y.to_vec()?.iter().enumerate() {
        let mut want = [0.0f64; 3];
        for other in &bodies {
            let d = [other.x - bodies[i].x, other.y - bodies[i].y, other.z - bodies[i].z].map(f64::from);
            let s = f64::from(other.mass) * (d.iter().map(|d| d * d).sum::<f64>() + 0.5).powf(-1.5);
            (0..3).for_each(|k| want[k] += d[k] * s);
        }
        for (got, want) in [got.x, got.y, got.z].iter().zip(want) {
            assert!((f64::from(*got) - want).abs() < 1e-3, "body {i}: {got} and {want}");
        }
    }
    Ok(())
}
