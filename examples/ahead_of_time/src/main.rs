//! Kernels compiled by a build script (`build.rs`), and called like functions: an argument of a wrong type does not
//! compile.
//!
//! `cargo run -p ahead-of-time`

use hip::{Device, DeviceBuffer, LaunchConfig, Stream};

hiprtc::kernels! {
    /// The kernels of `kernels/blur.hip`.
    mod blur;
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    const N: usize = 1000;
    hip::sim_if_no_gpu()?;
    let device = Device::get(0)?;
    eprintln!("Running on {} ({}).", device.properties()?.name, device.properties()?.arch);
    let kernels = blur::Kernels::load(&device)?;
    let stream = Stream::new(&device)?;
    let (mut a, mut b) = (DeviceBuffer::<f32>::zeroed(&device, N)?, DeviceBuffer::<f32>::zeroed(&device, N)?);
    let config = LaunchConfig::for_elements(N, 256);
    // SAFETY: `fill` writes one element below N; `blur` reads and writes N elements, and checks its index.
    unsafe {
        kernels.fill.launch(&stream, LaunchConfig::new(1, 1), &mut a, 256.0, N as u32 / 2)?;
        for _ in 0..4 {
            kernels.blur.launch(&stream, config, &a, &mut b, N as u32)?;
            std::mem::swap(&mut a, &mut b);
        }
    }
    let values = a.to_vec()?;
    // The coefficients of (1 + x)^8: four times a mean with weights 1, 2, 1.
    let want = [1.0, 8.0, 28.0, 56.0, 70.0, 56.0, 28.0, 8.0, 1.0];
    let got = &values[N / 2 - 4..=N / 2 + 4];
    let rest: f32 = values.iter().sum::<f32>() - want.iter().sum::<f32>();
    if got != want || rest != 0.0 {
        return Err(format!("wrong result: {got:?}, and {rest} elsewhere").into());
    }
    println!("ahead_of_time: a point after four blurs: {got:?}");
    Ok(())
}

#[cfg(all(test, feature = "sim"))]
mod tests {
    /// The whole way from the build script to the results, on the software GPU if there is no GPU.
    #[test]
    fn the_numbers_are_right() {
        super::main().unwrap();
    }
}
