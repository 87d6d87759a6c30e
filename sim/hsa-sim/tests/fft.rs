//! rocFFT through hipFFT, unmodified, on the software GPU. It compiles its kernels at run time. Transforms are compared
//! with their definition as sums, in f64 on the host.
#![cfg(target_os = "linux")]

mod support;

use std::f64::consts::TAU;
use std::ffi::c_int;
use std::ptr::null_mut;

use half::f16;
use hip::sys::HIP_C_16F;
use hip::{Device, DeviceBuffer};
use hipfft_sys::*;
use support::libraries::{elsewhere, on_each};
use support::numbers::{assert_close, raw, singles, values};

const FILES: [&str; 2] = ["libhipfft.so", "librocfft.so"];

/// Compile in the process: the helper program that rocFFT would start does not find its libraries in an unpacked tree.
const VARIABLES: [(&str, &str); 1] = [("ROCFFT_RTC_PROCESS", "0")];

type Complex = (f64, f64);

/// A two-dimensional transform: that of the columns, then of the rows, of a row-major matrix.
fn transform_2d(rows: usize, columns: usize, values: &[Complex], sign: f64) -> Vec<Complex> {
    let mut out: Vec<Complex> = values.chunks(columns).flat_map(|row| transform(row, sign)).collect();
    for column in 0..columns {
        let line: Vec<Complex> = (0..rows).map(|row| out[row * columns + column]).collect();
        for (row, value) in transform(&line, sign).into_iter().enumerate() {
            out[row * columns + column] = value;
        }
    }
    out
}

/// The discrete Fourier transform by its definition; `sign` is -1 forward and 1 backward.
fn transform(values: &[Complex], sign: f64) -> Vec<Complex> {
    let n = values.len();
    let line = |k: usize| {
        values.iter().enumerate().fold((0.0, 0.0), |sum: Complex, (at, value)| {
            let (sin, cos) = (sign * TAU * ((at * k) % n) as f64 / n as f64).sin_cos();
            (sum.0 + value.0 * cos - value.1 * sin, sum.1 + value.0 * sin + value.1 * cos)
        })
    };
    (0..n).map(line).collect()
}

fn pairs(values: &[f64]) -> Vec<Complex> {
    values.chunks(2).map(|pair| (pair[0], pair[1])).collect()
}

fn flat(values: &[Complex]) -> Vec<f64> {
    values.iter().flat_map(|value| [value.0, value.1]).collect()
}

fn check(status: hipfftResult) {
    assert_eq!(status, HIPFFT_SUCCESS, "{:?}", load_error());
}

/// Forward and backward: lengths with one kernel (a power of two, a product of small primes) and with Bluestein's
/// algorithm (a prime).
#[test]
fn c2c_in_one_dimension_agrees_with_the_host() {
    if elsewhere("c2c_in_one_dimension_agrees_with_the_host", &FILES, &VARIABLES) {
        return;
    }
    let device = Device::get(0).unwrap();
    for (n, batch) in [(64_usize, 3_usize), (60, 2), (37, 1)] {
        let input = values(2 * n * batch, n as u64);
        let lines = |sign| pairs(&input).chunks(n).flat_map(|line| transform(line, sign)).collect::<Vec<_>>();
        for (direction, sign) in [(HIPFFT_FORWARD, -1.0), (HIPFFT_BACKWARD as c_int, 1.0)] {
            let from = DeviceBuffer::from_slice(&device, &singles(&input)).unwrap();
            let to = DeviceBuffer::<f32>::zeroed(&device, input.len()).unwrap();
            let mut plan = null_mut();
            // SAFETY: `plan` is valid for the write, buffers hold the lines.
            unsafe {
                check(hipfftPlan1d(&mut plan, n as c_int, HIPFFT_C2C, batch as c_int));
                check(hipfftExecC2C(plan, raw(&from).cast(), raw(&to).cast(), direction));
                device.synchronize().unwrap();
                check(hipfftDestroy(plan));
            }
            assert_close(&format!("{n}, {sign}"), &to.to_vec().unwrap(), &flat(&lines(sign)), 2e-4);
        }
    }
}

/// Two dimensions, in f64, in place.
#[test]
fn z2z_in_two_dimensions_agrees_with_the_host() {
    if elsewhere("z2z_in_two_dimensions_agrees_with_the_host", &FILES, &VARIABLES) {
        return;
    }
    let device = Device::get(0).unwrap();
    let (rows, columns) = (16_usize, 24_usize);
    let input = values(2 * rows * columns, 5);
    let buffer = DeviceBuffer::from_slice(&device, &input).unwrap();
    let mut plan = null_mut();
    // SAFETY: `plan` is valid for the write, the buffer holds the matrix.
    unsafe {
        check(hipfftPlan2d(&mut plan, rows as c_int, columns as c_int, HIPFFT_Z2Z));
        check(hipfftExecZ2Z(plan, raw(&buffer).cast(), raw(&buffer).cast(), HIPFFT_FORWARD));
        device.synchronize().unwrap();
        check(hipfftDestroy(plan));
    }
    let expected = flat(&transform_2d(rows, columns, &pairs(&input), -1.0));
    assert_close("transform", &buffer.to_vec().unwrap(), &expected, 1e-11);
}

/// Real numbers to the non-redundant half of the spectrum; and back, scaled by the length.
#[test]
fn r2c_and_c2r_agree_with_the_host() {
    if elsewhere("r2c_and_c2r_agree_with_the_host", &FILES, &VARIABLES) {
        return;
    }
    let device = Device::get(0).unwrap();
    let n = 48_usize;
    let input = values(n, 6);
    let whole = transform(&input.iter().map(|value| (*value, 0.0)).collect::<Vec<_>>(), -1.0);
    let from = DeviceBuffer::from_slice(&device, &singles(&input)).unwrap();
    let half = DeviceBuffer::<f32>::zeroed(&device, 2 * (n / 2 + 1)).unwrap();
    let back = DeviceBuffer::<f32>::zeroed(&device, n).unwrap();
    let (mut there, mut return_) = (null_mut(), null_mut());
    // SAFETY: places are valid for the writes, buffers hold the line and its half.
    unsafe {
        check(hipfftPlan1d(&mut there, n as c_int, HIPFFT_R2C, 1));
        check(hipfftExecR2C(there, raw(&from), raw(&half).cast()));
        device.synchronize().unwrap();
        let got = half.to_vec().unwrap();
        assert_close("half", &got, &flat(&whole[..=n / 2]), 1e-4);
        check(hipfftPlan1d(&mut return_, n as c_int, HIPFFT_C2R, 1));
        check(hipfftExecC2R(return_, raw(&half).cast(), raw(&back)));
        device.synchronize().unwrap();
        check(hipfftDestroy(there));
        check(hipfftDestroy(return_));
    }
    let scaled: Vec<f64> = input.iter().map(|value| value * n as f64).collect();
    assert_close("there and back", &back.to_vec().unwrap(), &scaled, 1e-3);
}

/// The transform in any number of dimensions, the last one being contiguous.
fn transform_all(lengths: &[usize], values: &[Complex], sign: f64) -> Vec<Complex> {
    let mut out = values.to_vec();
    let mut step = 1;
    for &n in lengths.iter().rev() {
        for start in (0..out.len()).filter(|at| at / step % n == 0) {
            let line: Vec<Complex> = (0..n).map(|i| out[start + i * step]).collect();
            for (i, value) in transform(&line, sign).into_iter().enumerate() {
                out[start + i * step] = value;
            }
        }
        step *= n;
    }
    out
}

/// Some results of a long transform: all of them by the definition would take too long.
fn some_of(values: &[Complex], sign: f64) -> Vec<(usize, Complex)> {
    let n = values.len();
    let wanted = (0..24).map(|i| (i * 7919 + 3) % n);
    wanted
        .map(|k| {
            let sum = values.iter().enumerate().fold((0.0, 0.0), |sum: Complex, (at, value)| {
                let (sin, cos) = (sign * TAU * ((at * k) % n) as f64 / n as f64).sin_cos();
                (sum.0 + value.0 * cos - value.1 * sin, sum.1 + value.0 * sin + value.1 * cos)
            });
            (k, sum)
        })
        .collect()
}

/// Lines of `n` complex numbers in f64, forwards, in place if asked: all numbers of short ones, some of long ones.
fn line(device: &Device, n: usize, batch: usize, in_place: bool) {
    let input = values(2 * n * batch, n as u64);
    let from = DeviceBuffer::from_slice(device, &input).unwrap();
    let to = DeviceBuffer::<f64>::zeroed(device, input.len()).unwrap();
    let out = if in_place { &from } else { &to };
    let mut plan = null_mut();
    // SAFETY: `plan` is valid for the write, buffers hold the lines.
    unsafe {
        check(hipfftPlan1d(&mut plan, n as c_int, HIPFFT_Z2Z, batch as c_int));
        check(hipfftExecZ2Z(plan, raw(&from).cast(), raw(out).cast(), HIPFFT_FORWARD));
        device.synchronize().unwrap();
        check(hipfftDestroy(plan));
    }
    let got = out.to_vec().unwrap();
    for (at, line) in pairs(&input).chunks(n).enumerate() {
        let got = &got[2 * n * at..][..2 * n];
        let tolerance = 1e-14 * n as f64;
        if n <= 2048 {
            assert_close(&format!("{n}, {at}"), got, &flat(&transform(line, -1.0)), tolerance);
            continue;
        }
        let (places, expected): (Vec<usize>, Vec<Complex>) = some_of(line, -1.0).into_iter().unzip();
        let some: Vec<f64> = places.iter().flat_map(|k| [got[2 * k], got[2 * k + 1]]).collect();
        assert_close(&format!("some of {n}, {at}"), &some, &flat(&expected), tolerance);
        // The other results are checked by the sum of squares, which the transform preserves.
        let energy = |numbers: &[f64]| numbers.iter().map(|x| x * x).sum::<f64>();
        let ratio = energy(got) / energy(&flat(line)) / n as f64;
        assert!((ratio - 1.0).abs() < 1e-12, "{n}: {ratio}");
    }
}

/// Every radix of rocFFT, products of radices, primes (Bluestein), and lines that need several kernels.
#[test]
#[ignore = "compiles some dozens of kernels"]
fn lines_of_all_kinds_agree_with_the_host() {
    if on_each("lines_of_all_kinds_agree_with_the_host", &FILES, &VARIABLES).is_some() {
        return;
    }
    let device = Device::get(0).unwrap();
    for (at, n) in
        [1_usize, 2, 8, 27, 49, 125, 121, 169, 210, 1001, 17, 97, 211, 1009, 2048, 4096, 10007].into_iter().enumerate()
    {
        line(&device, n, 1 + at % 3, at % 2 == 1);
    }
    for n in [1 << 14, 1 << 16, 3 * (1 << 15), 1 << 18] {
        line(&device, n, 1, false);
    }
}

/// Columns of a matrix, and every other number: steps between the numbers and between the lines.
#[test]
#[ignore = "compiles kernels of its own"]
fn strides_agree_with_the_host() {
    if on_each("strides_agree_with_the_host", &FILES, &VARIABLES).is_some() {
        return;
    }
    let device = Device::get(0).unwrap();
    let n = 30_usize;
    // The strides between the numbers of a line and between lines, for input and output.
    for (batch, [from_step, from_line, to_step, to_line]) in [(12, [12, 1, 1, 30]), (5, [2, 64, 5, 1])] {
        let size = |step: usize, line: usize| (n - 1) * step + (batch - 1) * line + 1;
        let input = values(2 * size(from_step, from_line), 9);
        let from = DeviceBuffer::from_slice(&device, &input).unwrap();
        let to = DeviceBuffer::<f64>::zeroed(&device, 2 * size(to_step, to_line)).unwrap();
        let mut plan = null_mut();
        let (mut length, mut embed) = ([n as c_int], [n as c_int]);
        let [from_s, from_l, to_s, to_l] = [from_step, from_line, to_step, to_line].map(|step| step as c_int);
        // SAFETY: `plan` is valid for the write, buffers hold the lines.
        unsafe {
            let (length, embed) = (length.as_mut_ptr(), embed.as_mut_ptr());
            let (kind, count) = (HIPFFT_Z2Z, batch as c_int);
            check(hipfftPlanMany(&mut plan, 1, length, embed, from_s, from_l, embed, to_s, to_l, kind, count));
            check(hipfftExecZ2Z(plan, raw(&from).cast(), raw(&to).cast(), HIPFFT_FORWARD));
            device.synchronize().unwrap();
            check(hipfftDestroy(plan));
        }
        let (input, mut expected) = (pairs(&input), vec![(0.0, 0.0); size(to_step, to_line)]);
        for line in 0..batch {
            let numbers: Vec<Complex> = (0..n).map(|i| input[line * from_line + i * from_step]).collect();
            for (i, value) in transform(&numbers, -1.0).into_iter().enumerate() {
                expected[line * to_line + i * to_step] = value;
            }
        }
        assert_close(&format!("{batch} lines"), &to.to_vec().unwrap(), &flat(&expected), 1e-11);
    }
}

/// Three dimensions, complex in f32 both ways and real in f64 there and back; two dimensions of an odd length, real.
#[test]
#[ignore = "compiles kernels of its own"]
fn several_dimensions_agree_with_the_host() {
    if on_each("several_dimensions_agree_with_the_host", &FILES, &VARIABLES).is_some() {
        return;
    }
    let device = Device::get(0).unwrap();
    let [x, y, z] = [10_usize, 12, 14];
    let input = values(2 * x * y * z, 10);
    let from = DeviceBuffer::from_slice(&device, &singles(&input)).unwrap();
    let to = DeviceBuffer::<f32>::zeroed(&device, input.len()).unwrap();
    for (direction, sign) in [(HIPFFT_FORWARD, -1.0), (HIPFFT_BACKWARD as c_int, 1.0)] {
        let mut plan = null_mut();
        // SAFETY: `plan` is valid for the write, buffers hold the numbers.
        unsafe {
            check(hipfftPlan3d(&mut plan, x as c_int, y as c_int, z as c_int, HIPFFT_C2C));
            check(hipfftExecC2C(plan, raw(&from).cast(), raw(&to).cast(), direction));
            device.synchronize().unwrap();
            check(hipfftDestroy(plan));
        }
        let expected = flat(&transform_all(&[x, y, z], &pairs(&input), sign));
        assert_close(&format!("three dimensions, {sign}"), &to.to_vec().unwrap(), &expected, 1e-3);
    }
    for lengths in [&[x, y, z][..], &[9, 15]] {
        let whole: usize = lengths.iter().product();
        let last = lengths[lengths.len() - 1];
        let input = values(whole, 11);
        let all = transform_all(lengths, &input.iter().map(|value| (*value, 0.0)).collect::<Vec<_>>(), -1.0);
        let expected: Vec<Complex> = all.chunks(last).flat_map(|line| line[..=last / 2].to_vec()).collect();
        let from = DeviceBuffer::from_slice(&device, &input).unwrap();
        let half = DeviceBuffer::<f64>::zeroed(&device, 2 * expected.len()).unwrap();
        let back = DeviceBuffer::<f64>::zeroed(&device, whole).unwrap();
        let mut n: Vec<c_int> = lengths.iter().map(|n| *n as c_int).collect();
        // SAFETY: `plan` is valid for the writes, buffers hold the numbers; with no embedding numbers lie side by side.
        unsafe {
            let (rank, n, none) = (n.len() as c_int, n.as_mut_ptr(), null_mut());
            let (mut there, mut return_) = (null_mut(), null_mut());
            check(hipfftPlanMany(&mut there, rank, n, none, 1, 0, none, 1, 0, HIPFFT_D2Z, 1));
            check(hipfftExecD2Z(there, raw(&from), raw(&half).cast()));
            device.synchronize().unwrap();
            assert_close(&format!("half of {lengths:?}"), &half.to_vec().unwrap(), &flat(&expected), 1e-10);
            check(hipfftPlanMany(&mut return_, rank, n, none, 1, 0, none, 1, 0, HIPFFT_Z2D, 1));
            check(hipfftExecZ2D(return_, raw(&half).cast(), raw(&back)));
            device.synchronize().unwrap();
            check(hipfftDestroy(there));
            check(hipfftDestroy(return_));
        }
        let scaled: Vec<f64> = input.iter().map(|value| value * whole as f64).collect();
        assert_close(&format!("{lengths:?} and back"), &back.to_vec().unwrap(), &scaled, 1e-10);
    }
}

/// Half precision.
#[test]
#[ignore = "compiles kernels of its own"]
fn half_precision_agrees_with_the_host() {
    if on_each("half_precision_agrees_with_the_host", &FILES, &VARIABLES).is_some() {
        return;
    }
    let device = Device::get(0).unwrap();
    let n = 128_usize;
    let input = values(2 * n, 12);
    let halves: Vec<f16> = input.iter().map(|value| f16::from_f64(*value)).collect();
    let from = DeviceBuffer::from_slice(&device, &halves).unwrap();
    let to = DeviceBuffer::<f16>::zeroed(&device, halves.len()).unwrap();
    let (mut plan, mut length, mut size) = (null_mut(), [n as i64], 0);
    let kind = HIP_C_16F;
    // SAFETY: places are valid for the writes, buffers hold the line; with no embedding numbers lie side by side.
    unsafe {
        check(hipfftCreate(&mut plan));
        let (length, none) = (length.as_mut_ptr(), null_mut());
        check(hipfftXtMakePlanMany(plan, 1, length, none, 1, 0, kind, none, 1, 0, kind, 1, &mut size, kind));
        check(hipfftXtExec(plan, raw(&from).cast(), raw(&to).cast(), HIPFFT_FORWARD));
        device.synchronize().unwrap();
        check(hipfftDestroy(plan));
    }
    let got: Vec<f64> = to.to_vec().unwrap().into_iter().map(f16::to_f64).collect();
    // Numbers of up to 30, of eleven bits.
    assert_close("halves", &got, &flat(&transform(&pairs(&input), -1.0)), 0.1);
}
