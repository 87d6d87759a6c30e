//! Lane masks: writes to some lanes, and conversions between masks and lanes.

use super::lane::Lanes;
use crate::exec::LANES;

/// Writes the lanes of `mask`. `FAST` means that the caller was compiled for AVX2.
#[inline(always)]
pub(super) fn write<const FAST: bool>(to: &mut Lanes, from: &Lanes, mask: u64) {
    if mask == u64::MAX {
        *to = *from;
        return;
    }
    #[cfg(target_arch = "x86_64")]
    if FAST {
        // SAFETY: `FAST` is set only in functions that are themselves called only if the CPU has AVX2.
        return unsafe { write_some_fast(to, from, mask) };
    }
    write_some(to, from, mask);
}

/// # Safety
/// The CPU has to have AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline(never)]
unsafe fn write_some_fast(to: &mut Lanes, from: &Lanes, mask: u64) {
    blend(to, from, mask);
}

#[inline(never)]
fn write_some(to: &mut Lanes, from: &Lanes, mask: u64) {
    blend(to, from, mask);
}

#[inline(always)]
fn blend(to: &mut Lanes, from: &Lanes, mask: u64) {
    for half in 0..2 {
        let bits = (mask >> (32 * half)) as u32;
        for lane in 0..32 {
            let chosen = ((bits << (31 - lane)) as i32 >> 31) as u32;
            let at = 32 * half + lane;
            to[at] = from[at] & chosen | to[at] & !chosen;
        }
    }
}

/// All ones or all zeros per lane, by the lane's bit of `mask`.
#[inline(always)]
pub(super) fn spread(mask: u64) -> Lanes {
    let mut lanes = [0; LANES];
    for half in 0..2 {
        let bits = (mask >> (32 * half)) as u32;
        for lane in 0..32 {
            lanes[32 * half + lane] = ((bits << (31 - lane)) as i32 >> 31) as u32;
        }
    }
    lanes
}

/// The mask of the lanes whose top bit is set. `FAST` means that the caller was compiled for AVX2.
#[inline(always)]
pub(super) fn gather<const FAST: bool>(flags: &[u32]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if FAST {
        // SAFETY: `FAST` is set only in functions that are themselves called only if the CPU has AVX2.
        return unsafe { gather_fast(flags) };
    }
    let mut mask = 0;
    for (lane, flag) in flags.iter().enumerate() {
        mask |= u64::from(flag >> 31) << lane;
    }
    mask
}

/// # Safety
/// The CPU has to have AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn gather_fast(flags: &[u32]) -> u64 {
    use std::arch::x86_64::{_mm256_loadu_ps, _mm256_movemask_ps};
    let mut mask = 0;
    for i in 0..flags.len() / 8 {
        // SAFETY: the eight values that are read exist; the CPU has AVX.
        let bits = unsafe { _mm256_movemask_ps(_mm256_loadu_ps(flags.as_ptr().add(8 * i).cast())) };
        mask |= u64::from(bits as u32) << (8 * i);
    }
    mask
}
