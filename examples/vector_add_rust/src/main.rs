//! Kernels in Rust: `src/kernels.rs` is a module of this program, and compiled for the GPU by the build script.
//!
//! `cargo run -p vector-add-rust`

use hip::{Device, DeviceBuffer, LaunchConfig, Module, Stream};

mod kernels;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    const N: usize = 100_000;
    hip::sim_if_no_gpu()?;
    let device = Device::get(0)?;
    eprintln!("Running on {} ({}).", device.properties()?.name, device.properties()?.arch);
    let module = Module::load(&device, hip_kernel::code!("kernels"))?;
    let stream = Stream::new(&device)?;

    let add = kernels::VectorAdd::load(&module)?;
    let numbers: Vec<f32> = (0..N).map(|i| i as f32 * 0.5).collect();
    let a = DeviceBuffer::from_slice(&device, &numbers)?;
    let mut c = DeviceBuffer::<f32>::zeroed(&device, N)?;
    add.launch(&stream, LaunchConfig::for_elements(N, 256), &a, &a, &mut c)?;
    let wrong = c.to_vec()?.iter().zip(&numbers).filter(|(sum, x)| **sum != **x + **x).count();
    if wrong > 0 {
        return Err(format!("{wrong} of {N} sums are wrong").into());
    }
    println!("vector_add_rust: {N} sums, all equal to the CPU's");

    // A picture in letters.
    let (width, height) = (72, 24);
    let mut picture = DeviceBuffer::<u8>::zeroed(&device, width * height)?;
    let config = LaunchConfig::new((width.div_ceil(16) as u32, height.div_ceil(16) as u32), (16, 16));
    kernels::Mandelbrot::load(&module)?.launch(&stream, config, &mut picture, width, 63)?;
    let points = picture.to_vec()?;
    if points[height / 2 * width + 50] != 63 || points[0] > 2 {
        return Err("the picture is not the Mandelbrot set".into());
    }
    for row in points.chunks(width) {
        println!("{}", row.iter().map(|steps| b" .:-=+*#%@"[usize::from(*steps) * 9 / 63] as char).collect::<String>());
    }
    Ok(())
}

#[cfg(all(test, feature = "sim"))]
mod tests {
    /// From the build script to the numbers, on the software GPU where there is no GPU.
    #[test]
    fn the_numbers_are_right() {
        super::main().unwrap();
    }
}
