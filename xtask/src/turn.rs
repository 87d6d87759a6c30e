//! Turns: the parts of long checks alternate from run to run, so that a run takes a fraction of the time and all parts
//! are run within a few commits.

use anyhow::{Context, Result};

use crate::paths;
use crate::process::capture;

/// Environment variable that sets the turn, to repeat a run of another turn.
const VARIABLE: &str = "ROCM_RS_TURN";

/// The number that determines the parts to run: the number of commits up to `HEAD`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn(u64);

impl Turn {
    #[cfg(test)]
    pub(crate) fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns the turn of the checked-out commit, or that of the environment variable `ROCM_RS_TURN`.
    ///
    /// # Errors
    /// If the variable is not a number, or git cannot count the commits.
    pub(crate) fn of_this_run() -> Result<Self> {
        let text = match std::env::var(VARIABLE) {
            Ok(text) => text,
            Err(_) => {
                let mut git = std::process::Command::new("git");
                capture(git.args(["rev-list", "--count", "HEAD"]).current_dir(paths::root()))?
            }
        };
        let number = text.trim().parse().with_context(|| format!("the turn is a number, not {text:?} ({VARIABLE})"))?;
        Ok(Self(number))
    }

    /// Returns whether part `index` of `parts` is run in this turn. A single part always is.
    pub(crate) fn is_of(self, index: usize, parts: usize) -> bool {
        index as u64 % parts as u64 == self.0 % parts as u64
    }

    /// Returns the parts that are run in this turn: every `parts`-th of `all`, and those for which `always` holds.
    pub(crate) fn select<T>(self, all: Vec<T>, parts: usize, always: impl Fn(&T) -> bool) -> Vec<T> {
        let own = |(index, part): (usize, T)| (always(&part) || self.is_of(index, parts)).then_some(part);
        all.into_iter().enumerate().filter_map(own).collect()
    }

    /// Returns the first case number of fuzz tests: each turn has its own two million cases.
    pub(crate) fn first_case(self) -> u64 {
        self.0.wrapping_mul(2_000_000)
    }
}

impl std::fmt::Display for Turn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "turn {} (the same again: {VARIABLE}={})", self.0, self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_its_turn_and_the_extremes_are_in_each() {
        let all: Vec<u32> = (0..8).collect();
        let mut seen = vec![0; all.len()];
        for turn in 0..3 {
            let parts = Turn(turn).select(all.clone(), 3, |part| [0, 7].contains(part));
            assert!(parts.contains(&0) && parts.contains(&7) && parts.len() < 6, "{parts:?}");
            parts.iter().for_each(|&part| seen[part as usize] += 1);
        }
        assert_eq!(seen, [3, 1, 1, 1, 1, 1, 1, 3]);
        assert!((0..5).all(|turn| Turn(turn).is_of(0, 1)));
    }

    #[test]
    fn the_turn_of_this_checkout_is_known() {
        assert!(Turn::of_this_run().unwrap().0 > 0);
    }
}
