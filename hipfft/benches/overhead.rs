//! The overhead of the crate over hipFFT: a call through the crate and through the raw functions of the same library,
//! with the same settings.
//!
//! `cargo bench -p hipfft`, with an AMD GPU and hipFFT. Both variants take turns within one run, `ROUNDS` times.

use std::hint::black_box;
use std::ptr;

use hip::{Device, DeviceBuffer, Stream};
use hipfft::{C2C, Complex32, Layout, Plan};
use hipfft_sys as sys;
use linalg_testing::Turns;

fn main() {
    let Ok(device) = Device::get(0) else { return println!("no GPU is available") };
    if !hipfft::is_available() {
        return println!("hipFFT is not available");
    }
    let stream = Stream::new(&device).expect("a stream");
    let rounds: Option<usize> = std::env::var("ROUNDS").ok().and_then(|rounds| rounds.parse().ok());
    for (n, calls, whole) in [(16, 1, false), (16, 32, false), (4096, 1, true)] {
        let mut plan = Plan::<C2C<f32>>::new(&stream, &Layout::new([n]).expect("a layout")).expect("a plan");
        let mut raw = ptr::null_mut();
        let make = || {
            // SAFETY: the calls write a plan, and set it to a stream that is alive.
            unsafe {
                assert_eq!(sys::hipfftPlan1d(&mut raw, n as i32, sys::HIPFFT_C2C, 1).0, 0);
                assert_eq!(sys::hipfftSetStream(raw, stream.as_raw()).0, 0);
            }
        };
        device.with_current(make).expect("the device");
        let input = DeviceBuffer::<Complex32>::zeroed(&device, n).expect("memory");
        let mut output = DeviceBuffer::<Complex32>::zeroed(&device, n).expect("memory");
        let (from, to) = (input.as_device_ptr().address() as *mut _, output.as_device_ptr().address() as *mut _);
        let rounds = rounds.unwrap_or(if whole { 200 } else { 3000 / calls as usize });
        Turns { stream: &stream, rounds, whole, calls }.compare(
            &format!("C2C {n}, {calls} at once"),
            || plan.forward(&input, black_box(&mut output)).expect("a transform"),
            // SAFETY: a plan that is alive, and memory of its length.
            || assert_eq!(unsafe { sys::hipfftExecC2C(raw, from, to, sys::HIPFFT_FORWARD) }.0, 0),
        );
    }
}
