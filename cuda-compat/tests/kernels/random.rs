//! Numbers that are the same in each run.

/// A generator of Marsaglia's: xorshift of 64 bits.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn words(&mut self, count: usize) -> Vec<u32> {
        (0..count).map(|_| (self.next() >> 32) as u32).collect()
    }

    /// Integers from 0 to below a limit.
    pub(crate) fn below(&mut self, limit: i32, count: usize) -> Vec<i32> {
        (0..count).map(|_| ((self.next() >> 33) % limit as u64) as i32).collect()
    }

    /// Multiples of 1/64 from -8 to 8: sums of thousands are exact.
    pub(crate) fn floats(&mut self, count: usize) -> Vec<f32> {
        self.below(1025, count).into_iter().map(|value| (value - 512) as f32 / 64.0).collect()
    }
}
