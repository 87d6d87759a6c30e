//! Prefix sums of three number types, with one generic kernel in Rust.
//!
//! `cargo run --example scan_rust`

use hip::{DeviceBuffer, LaunchConfig, Stream, bytemuck};
use hip_kernel::Kernels;
use rocm_examples::{Result, check, open_device};
use rust_kernels::kernels::scan::{AddBefore, BLOCK, ScanBlocks};

/// Returns the prefix sums of `x`: computes those of each block, those of the blocks' sums, and adds both.
macro_rules! scan {
    ($type:ty, $module:expr, $stream:expr, $x:expr) => {{
        let (module, stream, x): (&Kernels, &Stream, &[$type]) = ($module, $stream, $x);
        let (scan, add) = (ScanBlocks::<$type>::load(module)?, AddBefore::<$type>::load(module)?);
        let config = |n: usize| LaunchConfig::for_elements(n, BLOCK as u32);
        let zeroed = |n: usize| DeviceBuffer::<$type>::zeroed(&module.device(), n);
        let blocks = x.len().div_ceil(BLOCK);
        check(blocks <= BLOCK, "more elements than two levels of blocks add up")?;
        let (x_dev, mut y) = (DeviceBuffer::from_slice(&module.device(), x)?, zeroed(x.len())?);
        let (mut sums, mut running, mut total) = (zeroed(blocks)?, zeroed(blocks)?, zeroed(1)?);
        scan.launch(stream, config(x.len()), &x_dev, &mut y, &mut sums)?;
        scan.launch(stream, config(blocks), &sums, &mut running, &mut total)?;
        add.launch(stream, config(x.len()), &mut y, &running)?;
        y.to_vec()?
    }};
}

pub(crate) fn main() -> Result {
    const N: usize = 20_000;
    let device = open_device()?;
    let module = rust_kernels::load(&device)?;
    let stream = Stream::new(&device)?;

    let unsigned: Vec<u32> = (0..N as u32).map(|i| i * 13 % 29).collect();
    same(&scan!(u32, &module, &stream, &unsigned), &unsigned, |a, b| a + b)?;
    let signed: Vec<i64> = (0..N as i64).map(|i| (i * 7919 % 101 - 50) << 32).collect();
    same(&scan!(i64, &module, &stream, &signed), &signed, |a, b| a + b)?;
    // Small multiples of 1/4: their sums are exact, in any order.
    let floats: Vec<f32> = (0..N).map(|i| (i * 31 % 41) as f32 * 0.25 - 5.0).collect();
    same(&scan!(f32, &module, &stream, &floats), &floats, |a, b| a + b)?;
    println!("scan_rust: running sums of {N} numbers of types u32, i64 and f32, all equal to the CPU's");
    Ok(())
}

/// Compares with the CPU.
fn same<T: bytemuck::Pod + Default + PartialEq>(got: &[T], x: &[T], add: impl Fn(T, T) -> T) -> Result {
    let mut sum = T::default();
    let wrong = x.iter().zip(got).filter(|(x, got)| {
        sum = add(sum, **x);
        **got != sum
    });
    let wrong = wrong.count();
    check(wrong == 0 && got.len() == x.len(), format!("{wrong} sums of {}", std::any::type_name::<T>()))
}
