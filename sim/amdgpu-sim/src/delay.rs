//! Delays that a runtime adds between a program's request and its execution.

use std::time::Duration;

/// Random delays in queues, so that work completes late: a program that lacks a synchronisation then fails, and not
/// only on a busy machine. A delay depends only on the seed, the place and the step, so that a program which does the
/// same has the same delays in every run.
///
/// ```
/// use amdgpu_sim::Delay;
/// use std::time::Duration;
///
/// let delay = Delay::new(Duration::from_micros(500), 7);
/// assert!((0..100).all(|step| delay.wait(0, step) <= Duration::from_micros(500)));
/// assert_eq!(delay.wait(3, 12), delay.wait(3, 12));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    longest: Duration,
    seed: u64,
}

impl Delay {
    /// Delays of up to `longest`; `seed` determines their lengths.
    pub fn new(longest: Duration, seed: u64) -> Self {
        Self { longest, seed }
    }

    /// The longest delay.
    pub fn longest(&self) -> Duration {
        self.longest
    }

    /// The delay before step `step` at a place. A place is a queue or a thread, as a number that the runtime chooses.
    /// Half of the delays are zero, so that fast and slow operations meet.
    pub fn wait(&self, place: u64, step: u64) -> Duration {
        let random = mix(mix(mix(self.seed) ^ place) ^ step);
        if random & 1 == 0 {
            return Duration::ZERO;
        }
        // 32 bits of it, as a fraction of the longest delay.
        self.longest.mul_f64((random >> 32) as f64 / f64::from(u32::MAX))
    }
}

/// The finaliser of SplitMix64: spreads a number to pseudorandom bits.
fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_of_all_lengths_and_none() {
        let delay = Delay::new(Duration::from_micros(1000), 1);
        let waits: Vec<_> = (0..1000).map(|step| delay.wait(5, step).as_micros()).collect();
        let none = waits.iter().filter(|wait| **wait == 0).count();
        assert!((400..600).contains(&none), "{none} of 1000 are none");
        for part in 0..4 {
            let here = waits.iter().filter(|wait| (250 * part + 1..=250 * (part + 1)).contains(*wait)).count();
            assert!((70..180).contains(&here), "{here} in part {part}");
        }
        assert!(waits.iter().all(|wait| *wait <= 1000));
    }

    #[test]
    fn seeds_and_places_differ() {
        let waits = |seed, place| {
            let delay = Delay::new(Duration::from_secs(1), seed);
            (0..20).map(|step| delay.wait(place, step)).collect::<Vec<_>>()
        };
        assert_eq!(waits(1, 1), waits(1, 1));
        assert_ne!(waits(1, 1), waits(2, 1));
        assert_ne!(waits(1, 1), waits(1, 2));
    }
}
