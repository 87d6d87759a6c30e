//! Arguments of mixed sizes and a struct by value, laid out by C's rules.
//!
//! An `int`, a struct of three floats and an `int` are at the offsets 0, 4 and 16: aligned to their type, not to their
//! size.
//!
//! `cargo run --example hiprtc_args`

use bytemuck::{Pod, Zeroable};
use hip::{DeviceBuffer, LaunchConfig, Stream};
use rocm_examples::{Result, check, kernels, open_device};

/// The kernel's `struct Vec3`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Vec3 {
    x: f32,
    y: f32,
    z: f32,
}

fn main() -> Result {
    let device = open_device()?;
    let mixed = kernels!("hiprtc_args").load(&device)?.kernel("mixed")?;
    let stream = Stream::new(&device)?;

    let offsets: Vec<usize> = mixed.info().parameters.iter().map(|p| p.offset).collect();
    println!("hiprtc_args: {}", mixed.info());
    check(offsets[..3] == [0, 4, 16], format!("the code object has its arguments at {offsets:?}"))?;

    let mut out = DeviceBuffer::<f64>::zeroed(&device, 8)?;
    let v = Vec3 { x: 1.5, y: -2.25, z: 1e-3 };
    // SAFETY: the kernel writes eight doubles, and `out` has as many.
    unsafe {
        mixed.launch(&stream, LaunchConfig::new(1, 1), (-7i32, v, 1 << 30, &mut out, 200u8, -300i16, 0.1f64))?;
    }
    let got = out.to_vec()?;
    let want = [-7.0, 1.5, -2.25, f64::from(1e-3f32), f64::from(1 << 30), 200.0, -300.0, 0.1];
    check(got == want, format!("got {got:?}, want {want:?}"))?;

    // Arguments that do not match the kernel are an error before the launch.
    // SAFETY: as above, and nothing is launched.
    let refused = unsafe { mixed.launch(&stream, LaunchConfig::new(1, 1), (-7i32, v)) };
    let error = refused.err().ok_or("two arguments of seven were accepted")?;
    println!("hiprtc_args: all arguments arrived; too few of them: {error}");
    Ok(())
}
