//! The Mandelbrot set as a picture, with a kernel in Rust. The CPU calls the same function for each pixel.
//!
//! `cargo run --release --example mandelbrot_rust [FILE.ppm]`

use hip::{DeviceBuffer, LaunchConfig, Stream};
use rocm_examples::{Result, check, open_device};
use rust_kernels::kernels::mandelbrot::{Mandelbrot, View, escape};

const LIMIT: u32 = 100;

pub(crate) fn main() -> Result {
    let device = open_device()?;
    let kernel = Mandelbrot::load(&rust_kernels::load(&device)?)?;
    let stream = Stream::new(&device)?;

    let (width, height) = (288_usize, 192);
    let view = View { corner: [-2.2, -1.2], step: [3.2 / width as f32, 2.4 / height as f32] };
    let mut picture = DeviceBuffer::<u32>::zeroed(&device, width * height)?;
    let config = LaunchConfig::new((width.div_ceil(16) as u32, height.div_ceil(16) as u32), (16, 16));
    kernel.launch(&stream, config, &mut picture, width, view, LIMIT)?;

    let steps = picture.to_vec()?;
    let wrong = (0..steps.len()).filter(|i| steps[*i] != escape(view, i % width, i / width, LIMIT)).count();
    check(wrong == 0, format!("{wrong} of {} pixels", steps.len()))?;
    for row in steps.chunks(width).step_by(8) {
        println!("{}", row.iter().step_by(4).map(|steps| letter(*steps)).collect::<String>());
    }
    if let Some(file) = std::env::args().nth(1).filter(|file| file.ends_with(".ppm")) {
        let mut bytes = format!("P6 {width} {height} 255\n").into_bytes();
        bytes.extend(steps.iter().flat_map(|steps| colour(*steps)));
        std::fs::write(&file, bytes)?;
        println!("mandelbrot_rust: {file} has the picture");
    }
    println!("mandelbrot_rust: {width} x {height} pixels, all equal to the CPU's");
    Ok(())
}

fn letter(steps: u32) -> char {
    const LETTERS: [char; 9] = ['.', ':', '-', '=', '+', '*', '#', '%', '@'];
    if steps == LIMIT { ' ' } else { LETTERS[(steps.max(1).ilog2() as usize).min(8)] }
}

fn colour(steps: u32) -> [u8; 3] {
    if steps == LIMIT {
        return [0; 3];
    }
    let part = steps as f32 / LIMIT as f32;
    [part.sqrt(), part, 1.0 - part].map(|part| (part * 255.0) as u8)
}
