//! y = α x + y with hipBLAS, with α in device memory, and the norm of the result.
//!
//! `cargo run -p hipblas --example blas_saxpy`, with an AMD GPU and hipBLAS; without:
//! `rocm-sdk install 7.2 --with hipblas`, then `hip-sim run --rocm 7.2 -- target/debug/examples/blas_saxpy`

use hip::{Device, DeviceBuffer, Stream};
use hipblas::Blas;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::get(0)?;
    let blas = Blas::new(&Stream::new(&device)?)?;
    let n = 1 << 16;
    let x = DeviceBuffer::from_slice(&device, &vec![1.0f32; n])?;
    let mut y = DeviceBuffer::from_slice(&device, &(0..n).map(|i| (i % 2) as f32).collect::<Vec<_>>())?;
    // A host scalar works as well: `blas.axpy(2.0, &x, &mut y)`.
    let alpha = DeviceBuffer::from_slice(&device, &[2.0f32])?;
    blas.axpy(&alpha, &x, &mut y)?;
    let norm = blas.nrm2(&y)?; // waits
    let want = ((n / 2) as f32 * (2.0 * 2.0 + 3.0 * 3.0)).sqrt();
    if (norm - want).abs() > 1e-3 * want {
        return Err(format!("the norm is {norm}, not {want}").into());
    }
    println!("blas_saxpy: {n} elements, norm {norm:.3}");
    Ok(())
}
