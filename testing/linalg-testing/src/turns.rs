//! Benches that compare a crate with raw calls.

use std::time::{Duration, Instant};

use hip::Stream;

/// Compares the times of two calls, which alternate. For benches.
#[derive(Clone, Copy, Debug)]
pub struct Turns<'a> {
    /// The stream of both.
    pub stream: &'a Stream,
    /// The number of rounds.
    pub rounds: usize,
    /// Whether the measured time includes the wait for the work.
    pub whole: bool,
    /// The number of calls that are timed together. On the software GPU, the work between two calls leaves caches cold,
    /// unlike on a GPU.
    pub calls: u32,
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

    /// Prints the medians of both, and of the differences and ratios within a round.
    ///
    /// # Panics
    /// Panics if the work of the stream fails.
    pub fn compare(&self, what: &str, mut ours: impl FnMut(), mut raw: impl FnMut()) {
        (0..3).for_each(|_| ours());
        (0..3).for_each(|_| raw());
        self.stream.synchronize().expect("the work");
        let both = |round| {
            // The order alternates too.
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
