//! Pairs of values in one operand.

use super::half::F16;

/// Two 16-bit integers.
#[derive(Clone, Copy)]
pub(super) struct Pair16(pub(super) u32);

/// Two halves.
#[derive(Clone, Copy)]
pub(super) struct PairF16(pub(super) u32);

/// Two 32-bit values in two registers.
#[derive(Clone, Copy)]
pub(super) struct Pair32(pub(super) u64);

impl Pair16 {
    #[inline(always)]
    pub(super) fn low(self) -> u16 {
        self.0 as u16
    }

    #[inline(always)]
    pub(super) fn high(self) -> u16 {
        (self.0 >> 16) as u16
    }

    /// `f` of both values.
    #[inline(always)]
    pub(super) fn both(self, b: Pair16, f: impl Fn(u16, u16) -> u16) -> Pair16 {
        Pair16(u32::from(f(self.low(), b.low())) | u32::from(f(self.high(), b.high())) << 16)
    }

    #[inline(always)]
    pub(super) fn all(self, b: Pair16, c: Pair16, f: impl Fn(u16, u16, u16) -> u16) -> Pair16 {
        Pair16(u32::from(f(self.low(), b.low(), c.low())) | u32::from(f(self.high(), b.high(), c.high())) << 16)
    }
}

impl PairF16 {
    #[inline(always)]
    pub(super) fn low(self) -> F16 {
        F16(self.0 as u16)
    }

    #[inline(always)]
    pub(super) fn high(self) -> F16 {
        F16((self.0 >> 16) as u16)
    }

    #[inline(always)]
    pub(super) fn both(self, b: PairF16, f: impl Fn(F16, F16) -> F16) -> PairF16 {
        PairF16(u32::from(f(self.low(), b.low()).0) | u32::from(f(self.high(), b.high()).0) << 16)
    }

    #[inline(always)]
    pub(super) fn all(self, b: PairF16, c: PairF16, f: impl Fn(F16, F16, F16) -> F16) -> PairF16 {
        let (low, high) = (f(self.low(), b.low(), c.low()), f(self.high(), b.high(), c.high()));
        PairF16(u32::from(low.0) | u32::from(high.0) << 16)
    }
}
