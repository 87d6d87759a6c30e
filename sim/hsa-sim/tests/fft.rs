//! rocFFT through hipFFT, unmodified, on the software GPU. It compiles its kernels at run time; transforms are held to the sums
//! that define them, in f64 on the host.
#![cfg(target_os = "linux")]

mod support;

use std::f64::consts::TAU;
use std::ffi::c_int;
use std::ptr::null_mut;

use hip::{Device, DeviceBuffer};
use hipfft_sys::*;
use support::numbers::{assert_close, elsewhere, raw, singles, values};

const FILES: [&str; 3] = ["libhipfft.so.0", "librocfft.so.0", "libhiprtc.so.7"];

/// Compile in the process: the helper program that rocFFT starts otherwise does not find its libraries in an unpacked tree.
const VARIABLES: [(&str, &str); 1] = [("ROCFFT_RTC_PROCESS", "0")];

type Complex = (f64, f64);

/// The transform of the columns, then of the rows, of a matrix of rows: what a transform in two dimensions is.
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

/// The discrete Fourier transform, as it is defined; `sign` is -1 forward and 1 backward.
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

/// Forward, and back: lengths of one kernel (a power of two, a product of small primes) and of Bluestein's algorithm (a prime).
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

/// Real numbers in, the half that is not redundant out; and back, scaled by the length.
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
