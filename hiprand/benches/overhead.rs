//! The overhead of the crate over hipRAND: a call through the crate and through the raw functions of the same library,
//! with the same settings.
//!
//! `cargo bench -p hiprand`, with an AMD GPU and hipRAND. Both variants take turns within one run, `ROUNDS` times.

use std::hint::black_box;
use std::ptr;

use hip::{Device, DeviceBuffer, Stream};
use hiprand::{Generator, Pseudo};
use hiprand_sys as sys;
use linalg_testing::Turns;

fn main() {
    let Ok(device) = Device::get(0) else { return println!("no GPU is available") };
    if !hiprand::is_available() {
        return println!("hipRAND is not available");
    }
    let stream = Stream::new(&device).expect("a stream");
    let mut generator = Generator::new(&stream, Pseudo::Philox4x32_10).expect("a generator");
    let mut raw = ptr::null_mut();
    // SAFETY: the calls write a generator, and set it to a stream that is alive.
    unsafe {
        assert_eq!(sys::hiprandCreateGenerator(&mut raw, sys::HIPRAND_RNG_PSEUDO_PHILOX4_32_10).0, 0);
        assert_eq!(sys::hiprandSetStream(raw, stream.as_raw()).0, 0);
    }
    let rounds: Option<usize> = std::env::var("ROUNDS").ok().and_then(|rounds| rounds.parse().ok());
    for (count, calls, whole) in [(64, 1, false), (64, 32, false), (1 << 20, 1, true)] {
        let mut numbers = DeviceBuffer::<f32>::zeroed(&device, count).expect("memory");
        let to = numbers.as_device_ptr().address() as *mut f32;
        let rounds = rounds.unwrap_or(if whole { 200 } else { 3000 / calls as usize });
        Turns { stream: &stream, rounds, whole, calls }.compare(
            &format!("uniform {count}, {calls} at once"),
            || generator.uniform(black_box(&mut numbers)).expect("uniform"),
            // SAFETY: a generator that is alive, and as many numbers.
            || assert_eq!(unsafe { sys::hiprandGenerateUniform(raw, to, count) }.0, 0),
        );
    }
}
