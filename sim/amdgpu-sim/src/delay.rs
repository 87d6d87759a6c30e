//! Waits that a runtime puts between what a program asks for and what is done.

use std::time::Duration;

/// Random waits in queues, so that work is done as late as it may be: a program that does not wait for what it needs then fails, which
/// it would otherwise do on a slow day. The waits depend on nothing but the seed, the place and a number, so that a program which does the same does
/// it after the same waits.
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
    /// Waits of up to `longest`, of which `seed` says how long each is.
    pub fn new(longest: Duration, seed: u64) -> Self {
        Self { longest, seed }
    }

    /// The longest wait.
    pub fn longest(&self) -> Duration {
        self.longest
    }

    /// How long to wait before step number `step` at a place, which is a queue or a thread by a number of the runtime's. Half of the waits
    /// are none at all, so that what is quick and what is slow meet.
    pub fn wait(&self, place: u64, step: u64) -> Duration {
        let random = mix(mix(mix(self.seed) ^ place) ^ step);
        if random & 1 == 0 {
            return Duration::ZERO;
        }
        // 32 bits of it, as a part of the longest.
        self.longest.mul_f64((random >> 32) as f64 / f64::from(u32::MAX))
    }
}

/// A number that looks random: the finaliser of SplitMix64.
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
