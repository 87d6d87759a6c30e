//! The lanes of a wave.

/// Lanes of a wave.
pub(crate) const LANES: usize = 64;

/// The set bits of a lane mask, lowest first.
#[inline(always)]
pub(super) fn lanes(mask: u64) -> impl Iterator<Item = usize> {
    let mut left = mask;
    std::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let lane = left.trailing_zeros() as usize;
        left &= left - 1;
        Some(lane)
    })
}
