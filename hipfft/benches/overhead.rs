//! What the crate adds to hipFFT: a call through it and through the raw functions on the same library, with the same settings.
//!
//! `cargo bench -p hipfft`, with an AMD GPU and hipFFT. Both take turns within one run, `ROUNDS` times.

use std::hint::black_box;
use std::ptr;
use std::time::{Duration, Instant};

use hip::{Device, DeviceBuffer, Stream};
use hipfft::{C2C, Complex32, Layout, Plan};
use hipfft_sys as sys;

/// Rounds in which two calls take turns.
struct Turns<'a> {
    stream: &'a Stream,
    rounds: usize,
    /// The work is waited for within the time, not after it.
    whole: bool,
    /// How many calls are timed at once. The software GPU's work between two calls leaves caches cold, as a GPU's does not.
    calls: u32,
}

impl Turns<'_> {
    fn time(&self, call: &mut impl FnMut()) -> Duration {
        let start = Instant::now();
        (0..self.calls).for_each(|_| call());
        if self.whole {
            self.stream.synchronize().expect("the work");
        }
        let time = start.elapsed() / self.calls;
        if !self.whole {
            self.stream.synchronize().expect("the work");
        }
        time
    }

    /// Prints the medians of both, of the differences and of the ratios within a round.
    fn compare(&self, what: &str, mut ours: impl FnMut(), mut raw: impl FnMut()) {
        (0..3).for_each(|_| ours());
        (0..3).for_each(|_| raw());
        self.stream.synchronize().expect("the work");
        let both = |round| {
            // Who comes first takes turns, too.
            if round % 2 == 0 {
                let ours = self.time(&mut ours);
                (ours.as_secs_f64(), self.time(&mut raw).as_secs_f64())
            } else {
                let raw = self.time(&mut raw);
                (self.time(&mut ours).as_secs_f64(), raw.as_secs_f64())
            }
        };
        let times: Vec<(f64, f64)> = (0..self.rounds).map(both).collect();
        let median = |of: fn(&(f64, f64)) -> f64| {
            let mut found: Vec<f64> = times.iter().map(of).collect();
            found.sort_by(f64::total_cmp);
            found[found.len() / 2]
        };
        let (ours, raw) = (median(|x| x.0) * 1e6, median(|x| x.1) * 1e6);
        let (added, ratio) = (median(|x| x.0 - x.1) * 1e6, median(|x| x.0 / x.1));
        let rounds = self.rounds;
        println!("{what}: {ours:.2} µs, raw {raw:.2} µs, added {added:.2} µs, ratio {ratio:.4}, {rounds} rounds");
    }
}

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
            // SAFETY: a plan is written, and set to a stream that is alive.
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
