//! Operations between the lanes of a wave: votes, shuffles, reductions.
//!
//! A wave has 64 lanes on AMD Instinct (gfx90a, gfx942) and 32 on Radeon RX 7000 and 9000 ([`size`]). A lane that is
//! not active, because it is in another branch or has ended, provides no value: reading from it returns an arbitrary
//! number. Call these functions where all lanes reach them.

use crate::raw;

/// Returns the number of lanes of a wave: 64 or 32.
#[inline(always)]
#[must_use]
#[doc(alias("warpSize", "warp_size"))]
pub fn size() -> u32 {
    // SAFETY: a constant of the architecture.
    unsafe { raw::wave_size() }
}

/// Returns this thread's lane.
#[inline(always)]
#[must_use]
#[doc(alias("laneid", "__lane_id"))]
pub fn lane() -> u32 {
    // SAFETY: they count bits.
    unsafe { raw::mbcnt_hi(u32::MAX, raw::mbcnt_lo(u32::MAX, 0)) }
}

/// Returns a bit for each active lane for which `condition` holds: `__ballot`.
#[inline(always)]
#[must_use]
#[doc(alias("__ballot", "__ballot_sync"))]
pub fn ballot(condition: bool) -> u64 {
    // SAFETY: it reads other lanes' registers.
    unsafe { raw::ballot(condition.into()) }
}

/// Returns a bit for each active lane: `__activemask`.
#[inline(always)]
#[must_use]
#[doc(alias("__activemask"))]
pub fn active() -> u64 {
    ballot(true)
}

/// Returns whether `condition` holds for any active lane: `__any`.
#[inline(always)]
#[must_use]
#[doc(alias("__any", "__any_sync"))]
pub fn any(condition: bool) -> bool {
    ballot(condition) != 0
}

/// Returns whether `condition` holds for all active lanes: `__all`.
#[inline(always)]
#[must_use]
#[doc(alias("__all", "__all_sync"))]
pub fn all(condition: bool) -> bool {
    ballot(condition) == active()
}

/// Returns how many lanes below this one have their bit in `mask`: `__lanemask_lt` and a count.
#[inline(always)]
#[must_use]
#[doc(alias("__lanemask_lt"))]
pub fn count_below(mask: u64) -> u32 {
    // SAFETY: they count bits.
    unsafe { raw::mbcnt_hi((mask >> 32) as u32, raw::mbcnt_lo(mask as u32, 0)) }
}

/// A type that lanes can exchange.
///
/// # Safety
/// Every bit pattern must be a value.
pub unsafe trait Lane: Copy {
    /// Applies a function of 32 bits to each word.
    #[doc(hidden)]
    fn words(self, each: impl Fn(u32) -> u32) -> Self;
}

macro_rules! lanes {
    ($($type:ty: |$value:ident, $each:ident| $words:expr;)*) => {$(
        // SAFETY: a number.
        unsafe impl Lane for $type {
            #[inline(always)]
            fn words(self, $each: impl Fn(u32) -> u32) -> Self {
                let $value = self;
                $words
            }
        }
    )*};
}

#[inline(always)]
fn both(value: u64, each: impl Fn(u32) -> u32) -> u64 {
    u64::from(each(value as u32)) | u64::from(each((value >> 32) as u32)) << 32
}

lanes! {
    u32: |value, each| each(value);
    i32: |value, each| each(value as u32) as i32;
    f32: |value, each| f32::from_bits(each(value.to_bits()));
    u64: |value, each| both(value, each);
    i64: |value, each| both(value as u64, each) as i64;
    usize: |value, each| both(value as u64, each) as usize;
    f64: |value, each| f64::from_bits(both(value.to_bits(), each));
    u16: |value, each| each(value.into()) as u16;
    i16: |value, each| each(value as u16 as u32) as i16;
    u8: |value, each| each(value.into()) as u8;
    i8: |value, each| each(value as u8 as u32) as i8;
}

/// Returns the value of lane `from`, modulo the wave's size: `__shfl`.
#[inline(always)]
#[must_use]
#[doc(alias("__shfl", "__shfl_sync"))]
pub fn shuffle<T: Lane>(value: T, from: u32) -> T {
    // SAFETY: it reads other lanes' registers.
    value.words(|word| unsafe { raw::bpermute(from * 4, word) })
}

/// Returns the value of the lane whose number differs by `mask`: `__shfl_xor`.
#[inline(always)]
#[must_use]
#[doc(alias("__shfl_xor", "__shfl_xor_sync"))]
pub fn shuffle_xor<T: Lane>(value: T, mask: u32) -> T {
    shuffle(value, lane() ^ mask)
}

/// Returns the value of the lane `by` lanes above; the last lanes keep their own: `__shfl_down`.
#[inline(always)]
#[must_use]
#[doc(alias("__shfl_down", "__shfl_down_sync"))]
pub fn shuffle_down<T: Lane>(value: T, by: u32) -> T {
    let from = lane() + by;
    shuffle(value, if from < size() { from } else { lane() })
}

/// Returns the value of the lane `by` lanes below; the first lanes keep their own: `__shfl_up`.
#[inline(always)]
#[must_use]
#[doc(alias("__shfl_up", "__shfl_up_sync"))]
pub fn shuffle_up<T: Lane>(value: T, by: u32) -> T {
    let lane = lane();
    shuffle(value, if lane >= by { lane - by } else { lane })
}

/// Returns the value of the first active lane, the same for all: `__builtin_amdgcn_readfirstlane`.
#[inline(always)]
#[must_use]
#[doc(alias("__builtin_amdgcn_readfirstlane"))]
pub fn first<T: Lane>(value: T) -> T {
    // SAFETY: it reads another lane's register.
    value.words(|word| unsafe { raw::first_lane(word) })
}

/// Combines the values of all lanes; all get the result. The operation must be associative and commutative.
///
/// All lanes of the wave must be active.
#[inline(always)]
#[must_use]
#[doc(alias("__reduce_sync", "__reduce_add_sync", "__reduce_max_sync", "__reduce_min_sync"))]
pub fn reduce<T: Lane>(value: T, combine: impl Fn(T, T) -> T) -> T {
    let mut value = value;
    let mut mask = size() / 2;
    while mask > 0 {
        value = combine(value, shuffle_xor(value, mask));
        mask /= 2;
    }
    value
}

/// Returns the sum over all lanes.
#[inline(always)]
#[must_use]
pub fn sum<T: Lane + core::ops::Add<Output = T>>(value: T) -> T {
    reduce(value, |a, b| a + b)
}

/// Returns the largest value of all lanes.
#[inline(always)]
#[must_use]
pub fn max<T: Lane + PartialOrd>(value: T) -> T {
    reduce(value, |a, b| if b > a { b } else { a })
}

/// Returns the smallest value of all lanes.
#[inline(always)]
#[must_use]
pub fn min<T: Lane + PartialOrd>(value: T) -> T {
    reduce(value, |a, b| if b < a { b } else { a })
}

/// Combines the values of all lanes up to and including this one. The operation must be associative.
///
/// All lanes of the wave must be active.
#[inline(always)]
#[must_use]
pub fn scan<T: Lane>(value: T, combine: impl Fn(T, T) -> T) -> T {
    let (mut value, lane) = (value, lane());
    let mut by = 1;
    while by < size() {
        let before = shuffle_up(value, by);
        if lane >= by {
            value = combine(before, value);
        }
        by *= 2;
    }
    value
}

/// Returns bytes of `a` (4 to 7) and `b` (0 to 3), chosen by the selector's bytes: `__byte_perm` with another numbering
/// (`v_perm_b32`).
#[inline(always)]
#[must_use]
#[doc(alias("__byte_perm"))]
pub fn byte_perm(a: u32, b: u32, selector: u32) -> u32 {
    // SAFETY: it moves bits.
    unsafe { raw::byte_perm(a, b, selector) }
}

/// Returns the sum of the absolute differences of four bytes, added to `sum`: `__usad4`.
#[inline(always)]
#[must_use]
pub fn sad_u8(a: u32, b: u32, sum: u32) -> u32 {
    // SAFETY: arithmetic.
    unsafe { raw::sad_u8(a, b, sum) }
}
