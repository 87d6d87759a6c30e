//! The spectrum of two tones in noise, drawn to `spectrum.svg` in the current folder.
//!
//! `cargo run -p hipfft --example spectrum`, with an AMD GPU and hipFFT; without:
//! `rocm-sdk install 7.2 --with hipfft`, then `hip-sim run --rocm 7.2 -- target/debug/examples/spectrum`

use std::f32::consts::TAU;

use hip::{Device, DeviceBuffer, Stream};
use hipfft::{Complex32, Layout, Plan, R2C, Unnormalized};
use plotters::prelude::*;

/// Number of samples in one second.
const N: usize = 1024;
/// The tones, in hertz, and their amplitudes.
const TONES: [(usize, f32); 2] = [(50, 1.0), (120, 0.6)];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::get(0)?;
    // Reproducible noise: a linear congruential generator.
    let mut state = 1_u32;
    let mut noise = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state as f32 / u32::MAX as f32 - 0.5
    };
    let signal: Vec<f32> = (0..N)
        .map(|at| {
            let tone = |(hertz, amplitude): (usize, f32)| amplitude * (TAU * (hertz * at) as f32 / N as f32).sin();
            TONES.into_iter().map(tone).sum::<f32>() + noise()
        })
        .collect();

    let input = DeviceBuffer::from_slice(&device, &signal)?;
    let mut spectrum = DeviceBuffer::<Complex32>::zeroed(&device, N / 2 + 1)?;
    let mut plan = Plan::<R2C<f32>, Unnormalized>::new(&Stream::new(&device)?, &Layout::new([N])?)?;
    plan.forward(&input, &mut spectrum)?;
    // A sine of amplitude 1 has the magnitude n/2 at its frequency.
    let amplitudes: Vec<f32> = spectrum.to_vec()?.iter().map(|x| x.norm() * 2.0 / N as f32).collect();

    let file = "spectrum.svg";
    plot(file, &amplitudes)?;
    for (hertz, amplitude) in TONES {
        if (amplitudes[hertz] - amplitude).abs() > 0.05 {
            return Err(format!("the tone of {hertz} Hz is {}, not {amplitude}", amplitudes[hertz]).into());
        }
    }
    let loudest = (0..amplitudes.len()).filter(|at| TONES.iter().all(|tone| tone.0 != *at));
    let loudest = loudest.map(|at| amplitudes[at]).fold(0.0, f32::max);
    if loudest.is_nan() || loudest > 0.1 {
        return Err(format!("there is a tone of {loudest} that was not played").into());
    }
    println!("spectrum: tones of 50 and 120 Hz, noise below {loudest:.3}; drawn in {file}");
    Ok(())
}

fn plot(file: &str, amplitudes: &[f32]) -> Result<(), Box<dyn std::error::Error>> {
    let area = SVGBackend::new(file, (800, 480)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption("Two tones in noise", ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(30)
        .y_label_area_size(40)
        .build_cartesian_2d(0..amplitudes.len(), 0_f32..1.2)?;
    chart.configure_mesh().x_desc("hertz").y_desc("amplitude").draw()?;
    chart.draw_series(LineSeries::new(amplitudes.iter().copied().enumerate(), &BLUE))?;
    area.present()?;
    Ok(())
}
