//! Blurs an image by multiplying its spectrum, and writes the image before and after to `image_blur.pgm` in the current
//! folder.
//!
//! `cargo run -p hipfft --example image_blur`, with an AMD GPU and hipFFT; without:
//! `rocm-sdk install 7.2 --with hipfft`, then `hip-sim run --rocm 7.2 -- target/debug/examples/image_blur`

use std::f32::consts::PI;

use hip::{Device, DeviceBuffer, Stream};
use hipfft::{C2R, Complex32, Layout, Normalized, Plan, R2C};

/// Rows and columns.
const N: usize = 64;
/// The standard deviation of the blur, in pixels.
const SIGMA: f32 = 2.0;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::get(0)?;
    let stream = Stream::new(&device)?;
    let image: Vec<f32> = (0..N * N).map(|at| pixel(at / N, at % N)).collect();

    let layout = Layout::new([N, N])?;
    let mut forward = Plan::<R2C<f32>, Normalized>::new(&stream, &layout)?;
    let mut inverse = Plan::<C2R<f32>, Normalized>::new(&stream, &layout)?;
    let mut pixels = DeviceBuffer::from_slice(&device, &image)?;
    let mut spectrum = DeviceBuffer::<Complex32>::zeroed(&device, layout.output_len::<R2C<f32>>())?;
    forward.forward(&pixels, &mut spectrum)?;

    // The spectrum of a Gaussian is a Gaussian. Rows beyond the middle are negative frequencies.
    let columns = N / 2 + 1;
    let mut host = spectrum.to_vec()?;
    for (at, value) in host.iter_mut().enumerate() {
        let (row, column) = (at / columns, at % columns);
        let frequency = |k: usize| k.min(N - k) as f32 / N as f32;
        let squared = frequency(row).powi(2) + frequency(column).powi(2);
        *value *= (-2.0 * (PI * SIGMA).powi(2) * squared).exp();
    }
    spectrum.copy_from_slice(&host)?;
    inverse.inverse(&mut spectrum, &mut pixels)?;
    let blurred = pixels.to_vec()?;

    let file = "image_blur.pgm";
    write(file, &image, &blurred)?;
    let error = check(&image, &blurred);
    if error.is_nan() || error > 1e-4 {
        return Err(format!("a pixel is off by {error:e}").into());
    }
    println!("image_blur: {N} x {N} pixels, largest error {error:.1e}; before and after in {file}");
    Ok(())
}

/// A disc and a bar, white on black.
fn pixel(row: usize, column: usize) -> f32 {
    let (y, x) = (row as f32, column as f32);
    let disc = (y - 22.0).hypot(x - 22.0) < 12.0;
    let bar = (44..52).contains(&row) && (10..56).contains(&column);
    f32::from(u8::from(disc || bar))
}

/// Returns the largest difference from the same blur computed by direct sums, at some pixels. The image is periodic.
fn check(image: &[f32], blurred: &[f32]) -> f32 {
    let reach = 12_i32;
    let weight = |d: i32| (-(d * d) as f32 / (2.0 * SIGMA * SIGMA)).exp();
    let total: f32 = (-reach..=reach).map(weight).sum();
    let around = |at: usize, d: i32| (at as i32 + d).rem_euclid(N as i32) as usize;
    let mut largest = 0.0_f32;
    for (row, column) in [(0, 0), (22, 22), (22, 34), (43, 30), (52, 9), (63, 63)] {
        let sum: f32 = (-reach..=reach)
            .flat_map(|dy| (-reach..=reach).map(move |dx| (dy, dx)))
            .map(|(dy, dx)| weight(dy) * weight(dx) * image[around(row, dy) * N + around(column, dx)])
            .sum();
        largest = largest.max((sum / (total * total) - blurred[row * N + column]).abs());
    }
    largest
}

/// Writes a portable gray map with both images side by side.
fn write(file: &str, before: &[f32], after: &[f32]) -> std::io::Result<()> {
    let mut bytes = format!("P5\n{} {N}\n255\n", 2 * N).into_bytes();
    for (before, after) in before.chunks(N).zip(after.chunks(N)) {
        bytes.extend(before.iter().chain(after).map(|x| (x.clamp(0.0, 1.0) * 255.0).round() as u8));
    }
    std::fs::write(file, bytes)
}
