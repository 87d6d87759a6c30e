//! Chooses cases by a seed: the same list and seed give the same sample on every machine.

/// Chooses `count` of `all`, in their order; all of them if there are no more.
pub(crate) fn sample<T>(mut all: Vec<T>, count: usize, seed: u64) -> Vec<T> {
    let mut places: Vec<usize> = (0..all.len()).collect();
    let mut state = seed;
    let count = count.min(places.len());
    for at in 0..count {
        let rest = (places.len() - at) as u64;
        // The bias of the remainder does not matter for a sample.
        let other = at + usize::try_from(next(&mut state) % rest).unwrap_or_default();
        places.swap(at, other);
    }
    let mut chosen = places[..count].to_vec();
    chosen.sort_unstable();
    let mut kept = chosen.into_iter().peekable();
    let mut place = 0;
    all.retain(|_| {
        let keep = kept.next_if_eq(&place).is_some();
        place += 1;
        keep
    });
    all
}

/// `SplitMix64`.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut value = *state;
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_chooses_the_same_cases_every_time() {
        let all = || (0..1000).collect::<Vec<u32>>();
        let chosen = sample(all(), 20, 7);
        assert_eq!(chosen, sample(all(), 20, 7));
        assert_ne!(chosen, sample(all(), 20, 8));
        assert_eq!(chosen.len(), 20);
        assert!(chosen.is_sorted_by(|one, other| one < other), "each once, in order: {chosen:?}");
        assert_eq!(sample(all(), 5000, 7), all());
        // From the published generator, with the seed 0.
        assert_eq!(next(&mut 0), 0xe220_a839_7b1d_cdaf);
    }
}
