//! What the crate adds to hipRAND: a call through it and through the raw functions on the same library, with the same settings.
//!
//! `cargo bench -p hiprand`, with an AMD GPU and hipRAND. Both take turns within one run, `ROUNDS` times.

use std::hint::black_box;
use std::ptr;
use std::time::{Duration, Instant};

use hip::{Device, DeviceBuffer, Stream};
use hiprand::{Generator, Pseudo};
use hiprand_sys as sys;

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
    if !hiprand::is_available() {
        return println!("hipRAND is not available");
    }
    let stream = Stream::new(&device).expect("a stream");
    let mut generator = Generator::new(&stream, Pseudo::Philox4x32_10).expect("a generator");
    let mut raw = ptr::null_mut();
    // SAFETY: a generator is written, and set to a stream that is alive.
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
