//! The compute units that queues may use: a mask per queue, within one for all queues of a GPU (`HSA_CU_MASK`).

use std::collections::BTreeMap;

use amdgpu_sim::ComputeUnits;

use crate::abi::{HSA_STATUS_CU_MASK_REDUCED, HSA_STATUS_ERROR_INVALID_ARGUMENT};
use crate::result::Result;

/// The masks for all queues of a GPU, from `HSA_CU_MASK`.
#[derive(Debug, Default)]
pub(crate) struct Masks {
    /// By GPU number. A GPU without an entry is not restricted.
    of: BTreeMap<usize, Vec<u32>>,
    /// Whether new queues ignore the mask initially (`HSA_CU_MASK_SKIP_INIT`).
    skip: bool,
}

impl Masks {
    /// Reads the environment. `gpus` and `units` are the numbers of GPUs and compute units.
    pub(crate) fn from_environment(gpus: usize, units: u32) -> Self {
        let text = std::env::var("HSA_CU_MASK").unwrap_or_default();
        let skip = std::env::var("HSA_CU_MASK_SKIP_INIT").is_ok_and(|value| value == "1");
        Self { of: parse(&text, gpus, units), skip }
    }

    /// The units that a new queue of GPU `gpu` may use.
    pub(crate) fn at_first(&self, gpu: usize, units: u32) -> Units {
        let all = Units(words(0..units, units));
        match self.of.get(&gpu) {
            Some(limit) if !self.skip => Units(within(&all.0, limit)),
            _ => all,
        }
    }
}

/// Parses `GPUS:UNITS;...` with lists of numbers and ranges, or the units as one hexadecimal number. As in ROCr,
/// everything after a mistake is ignored. A GPU that occurs twice, or a mask without any unit, is a mistake.
fn parse(text: &str, gpus: usize, units: u32) -> BTreeMap<usize, Vec<u32>> {
    let mut of = BTreeMap::new();
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    for set in text.split(';').filter(|set| !set.is_empty()) {
        let Some((list, mask)) = set.split_once(':') else { break };
        let Some(mask) = mask_of(mask, units).filter(|mask| mask.iter().any(|word| *word != 0)) else { break };
        let Some(list) = numbers(list, gpus as u32) else { break };
        for gpu in list {
            if of.insert(gpu as usize, mask.clone()).is_some() {
                return of;
            }
        }
    }
    of
}

/// The mask that a list or a hexadecimal number describes.
fn mask_of(text: &str, units: u32) -> Option<Vec<u32>> {
    let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) else {
        return Some(words(numbers(text, units)?.into_iter(), units));
    };
    let digits: Option<Vec<u32>> = digits.chars().rev().map(|digit| digit.to_digit(16)).collect();
    let bits = |(n, digit): (usize, u32)| (0..4).filter(move |b| digit >> b & 1 != 0).map(move |b| 4 * n as u32 + b);
    Some(words(digits?.into_iter().enumerate().flat_map(bits), units))
}

/// The numbers below `end` of a list of numbers and ranges; `None` if it is invalid or has duplicates.
fn numbers(text: &str, end: u32) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if last < first {
            return None;
        }
        all.extend((first..=last).take_while(|n| *n < end));
    }
    let named = all.len();
    all.sort_unstable();
    all.dedup();
    (all.len() == named).then_some(all)
}

/// The words of a mask with these bits, for `units` units.
fn words(bits: impl Iterator<Item = u32>, units: u32) -> Vec<u32> {
    let mut words = vec![0; units.div_ceil(32) as usize];
    for bit in bits.filter(|bit| *bit < units) {
        words[bit as usize / 32] |= 1 << (bit % 32);
    }
    words
}

fn within(mask: &[u32], limit: &[u32]) -> Vec<u32> {
    mask.iter().zip(limit).map(|(mask, limit)| mask & limit).collect()
}

/// The compute units that a queue may use, as a mask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Units(Vec<u32>);

impl Units {
    /// The mask of a queue of GPU `gpu` for these requested words; empty means all. Also returns the status for the
    /// caller.
    ///
    /// # Errors
    /// `HSA_STATUS_ERROR_INVALID_ARGUMENT` if no unit is left, so that no packet would ever run.
    pub(crate) fn new(asked: &[u32], masks: &Masks, gpu: usize, units: u32) -> Result<(Self, Result<()>)> {
        let all = words(0..units, units);
        let asked = if asked.is_empty() { &all } else { asked };
        let mut mask = within(asked, &all);
        let mut told = Ok(());
        if let Some(limit) = masks.of.get(&gpu) {
            let reduced = within(&mask, limit);
            // ROCr reports units that do not exist, too.
            let all_there = reduced == mask && asked.iter().skip(limit.len()).all(|word| *word == 0);
            if !all_there {
                told = Err(HSA_STATUS_CU_MASK_REDUCED);
            }
            mask = reduced;
        }
        match mask.iter().any(|word| *word != 0) {
            true => Ok((Self(mask), told)),
            false => Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
        }
    }

    /// Word `n` of the mask.
    pub(crate) fn word(&self, n: usize) -> u32 {
        self.0.get(n).copied().unwrap_or(0)
    }

    /// The compute units in the form that dispatches take.
    pub(crate) fn for_dispatch(&self) -> ComputeUnits {
        ComputeUnits::from_words(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masks(text: &str) -> BTreeMap<usize, Vec<u32>> {
        parse(text, 3, 104)
    }

    #[test]
    fn the_variable_is_read_as_rocr_reads_it() {
        let of = |pairs: &[(usize, [u32; 4])]| pairs.iter().map(|(gpu, mask)| (*gpu, mask.to_vec())).collect();
        assert_eq!(masks("0:0-3, 5"), of(&[(0, [0b10_1111, 0, 0, 0])]));
        assert_eq!(masks("0,2:0x337F"), of(&[(0, [0x337f, 0, 0, 0]), (2, [0x337f, 0, 0, 0])]));
        assert_eq!(masks("1:0xF00000000"), of(&[(1, [0, 15, 0, 0])]));
        assert_eq!(masks("0-1:103;2:1"), of(&[(0, [0, 0, 0, 128]), (1, [0, 0, 0, 128]), (2, [2, 0, 0, 0])]));
        // GPUs and units that do not exist are ignored.
        assert_eq!(masks("0-9:100-200"), (0..3).map(|gpu| (gpu, vec![0, 0, 0, 0xf0])).collect());
        // A mistake ends the parsing.
        for wrong in ["", "0", "0:", ":1", "0:x", "0:3-1", "0:1,1", "0:0x0", "0:0xG", "0:200", "a:1", "0:1-2-3"] {
            assert_eq!(masks(wrong), BTreeMap::new(), "{wrong}");
        }
        assert_eq!(masks("0:1;1:y;2:1"), of(&[(0, [2, 0, 0, 0])]));
        assert_eq!(masks("0:1;0:2;2:1"), of(&[(0, [2, 0, 0, 0])]).into_iter().chain([(0, vec![4, 0, 0, 0])]).collect());
    }

    #[test]
    fn a_queue_gets_no_more_than_its_gpu_has() {
        let masks = Masks { of: masks("0:0-31"), skip: false };
        assert_eq!(masks.at_first(0, 104), Units(vec![!0, 0, 0, 0]));
        assert_eq!(masks.at_first(1, 104), Units(vec![!0, !0, !0, 0xff]));
        let set = |asked: &[u32], gpu| Units::new(asked, &masks, gpu, 104);
        assert_eq!(set(&[6], 0), Ok((Units(vec![6]), Ok(()))));
        assert_eq!(set(&[6, 1], 0), Ok((Units(vec![6, 0]), Err(HSA_STATUS_CU_MASK_REDUCED))));
        assert_eq!(set(&[0, 1], 0), Err(HSA_STATUS_ERROR_INVALID_ARGUMENT));
        assert_eq!(set(&[], 1), Ok((Units(vec![!0, !0, !0, 0xff]), Ok(()))));
        assert_eq!(set(&[0, 0, 0, !0, 7], 1), Ok((Units(vec![0, 0, 0, 0xff]), Ok(()))));
        let skipping = Masks { skip: true, ..masks };
        assert_eq!(skipping.at_first(0, 104), Units(vec![!0, !0, !0, 0xff]));
    }
}
