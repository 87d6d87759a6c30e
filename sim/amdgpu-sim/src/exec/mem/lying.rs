//! The layout of the lanes' LDS addresses: kernels read rows and columns of tiles.
//!
//! Analysing it takes as long as reading a row. Tiles are read by several consecutive instructions that differ only in
//! their offsets, so the result for the first is reused for the others: [`share`](super::share) marks them when the
//! code is lowered.

use super::lds::get;
use crate::exec::lanes::LANES;

/// The number of lanes whose addresses are analysed together.
const GROUP: usize = 16;
const GROUPS: usize = LANES / GROUP;

/// The layout of a group of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Run {
    /// Consecutive words.
    Sequence,
    /// The same address.
    Same,
    /// Any other layout.
    Any,
}

/// The layout of all lanes' addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec) struct Lying {
    runs: [Run; GROUPS],
    /// The address of the first lane of each group.
    firsts: [u32; GROUPS],
    pub(super) highest: u32,
    /// Bits that are set in any address.
    pub(super) bits: u32,
}

impl Lying {
    pub(in crate::exec) const NOWHERE: Lying =
        Lying { runs: [Run::Any; GROUPS], firsts: [0; GROUPS], highest: u32::MAX, bits: u32::MAX };

    #[inline(always)]
    pub(super) fn find<const FAST: bool>(addresses: &[u32; LANES]) -> Lying {
        #[cfg(target_arch = "x86_64")]
        if FAST {
            // SAFETY: `FAST` is set only in functions that are themselves called only if the CPU has AVX2.
            return unsafe { Self::find_fast(addresses) };
        }
        let mut all = Lying { highest: 0, bits: 0, ..Self::NOWHERE };
        for g in 0..GROUPS {
            let group = &addresses[GROUP * g..][..GROUP];
            let (mut sequence, mut same) = (0, 0);
            for (i, address) in group.iter().enumerate() {
                sequence |= address ^ group[0].wrapping_add(4 * i as u32);
                same |= address ^ group[0];
                all.highest = all.highest.max(*address);
                all.bits |= address;
            }
            all.runs[g] = run(sequence == 0, same == 0);
            all.firsts[g] = group[0];
        }
        all
    }

    /// As [`find`](Self::find). Handwritten: the compiler processes all groups at once, one word at a time.
    ///
    /// # Safety
    /// The CPU has to have AVX2.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    #[inline(never)]
    unsafe fn find_fast(addresses: &[u32; LANES]) -> Lying {
        use std::arch::x86_64::*;
        let mut all = Self::NOWHERE;
        // SAFETY: the loads stay within the addresses, the stores within the arrays; the CPU has AVX2.
        unsafe {
            let steps =
                [_mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28), _mm256_setr_epi32(32, 36, 40, 44, 48, 52, 56, 60)];
            let (mut highest, mut bits) = (_mm256_setzero_si256(), _mm256_setzero_si256());
            for g in 0..GROUPS {
                let group = &addresses[GROUP * g..][..GROUP];
                let first = _mm256_set1_epi32(group[0] as i32);
                let (mut sequence, mut same) = (_mm256_setzero_si256(), _mm256_setzero_si256());
                for (half, step) in steps.into_iter().enumerate() {
                    let half = _mm256_loadu_si256(group.as_ptr().add(8 * half).cast());
                    sequence = _mm256_or_si256(sequence, _mm256_xor_si256(half, _mm256_add_epi32(first, step)));
                    same = _mm256_or_si256(same, _mm256_xor_si256(half, first));
                    highest = _mm256_max_epu32(highest, half);
                    bits = _mm256_or_si256(bits, half);
                }
                all.runs[g] = run(_mm256_testz_si256(sequence, sequence) == 1, _mm256_testz_si256(same, same) == 1);
                all.firsts[g] = group[0];
            }
            let (mut each_highest, mut each_bits) = ([0_u32; 8], [0_u32; 8]);
            _mm256_storeu_si256(each_highest.as_mut_ptr().cast(), highest);
            _mm256_storeu_si256(each_bits.as_mut_ptr().cast(), bits);
            all.highest = each_highest.into_iter().fold(0, u32::max);
            all.bits = each_bits.into_iter().fold(0, |a, b| a | b);
        }
        all
    }

    /// Returns whether some group is neither consecutive nor at one address.
    #[inline(always)]
    pub(super) fn anyhow(&self) -> bool {
        self.runs.contains(&Run::Any)
    }

    /// Reads the word at `offset` from the address of every lane.
    ///
    /// # Safety
    /// The words must be [`inside`](Self::inside), and [`anyhow`](Self::anyhow) must be false.
    #[inline(always)]
    pub(super) unsafe fn read_row(&self, lds: &[u8], offset: u32, row: &mut [u32; LANES]) {
        for g in 0..GROUPS {
            let out = &mut row[GROUP * g..][..GROUP];
            let first = (self.firsts[g] + offset) as usize;
            if self.runs[g] == Run::Sequence {
                // SAFETY: the words of the group are consecutive, and all are within `lds`.
                let bytes: [u8; 4 * GROUP] = unsafe { get(lds, first) };
                for (i, place) in out.iter_mut().enumerate() {
                    let at = 4 * i;
                    *place = u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
                }
            } else {
                // SAFETY: as the caller vouches.
                out.fill(u32::from_le_bytes(unsafe { get(lds, first) }));
            }
        }
    }
}

#[inline(always)]
fn run(sequence: bool, same: bool) -> Run {
    match (sequence, same) {
        (true, _) => Run::Sequence,
        (_, true) => Run::Same,
        _ => Run::Any,
    }
}
