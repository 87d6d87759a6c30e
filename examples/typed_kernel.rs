//! A kernel's signature in Rust: checked once against the code object, then launched like a function.
//!
//! `cargo run --example typed_kernel`

use hip::{DeviceBuffer, LaunchConfig, Stream};
use rocm_examples::{Result, check, kernels, open_device};

hip::kernel! {
    /// `out[i] = i * i`.
    struct FillSquares: fn fill_squares(out: *mut f32, n: u32);
    /// `out[i] = in[i] * factor`.
    struct Scale: fn scale(input: *const f32, out: *mut f32, factor: f32, n: u32);
    /// Like the first, but with a mistake: the code object says that the number is an `unsigned`.
    struct Slip: fn fill_squares(out: *mut f32, n: u64);
}

fn main() -> Result {
    let device = open_device()?;
    let module = kernels!("streams").load(&device)?;
    // Names, numbers, sizes and offsets of parameters are only checked here.
    let (fill_squares, scale) = (FillSquares::load(&module)?, Scale::load(&module)?);
    let slip = Slip::load(&module).map(drop).expect_err("a u64 is no unsigned");
    println!("typed_kernel: a wrong signature is found out when it is loaded: {slip}");

    const N: usize = 10_000;
    let stream = Stream::new(&device)?;
    let mut squares = DeviceBuffer::<f32>::zeroed(&device, N)?;
    let mut scaled = DeviceBuffer::<f32>::zeroed(&device, N)?;
    let config = LaunchConfig::for_elements(N, 256);
    // SAFETY: both kernels check their index against N, which is the length of the buffers.
    unsafe {
        fill_squares.launch(&stream, config, &mut squares, N as u32)?;
        scale.launch(&stream, config, &squares, &mut scaled, 0.5, N as u32)?;
    }
    let wrong = scaled.to_vec()?.iter().enumerate().filter(|&(i, &x)| x != (i as f32) * (i as f32) * 0.5).count();
    check(wrong == 0, format!("{wrong} of {N} values are wrong"))?;
    println!("typed_kernel: {N} squares halved: all right");
    Ok(())
}
