//! Damaged input for tests of parsers: the same each time, from a fixed seed.

/// Knuth's linear congruential generator.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }

    /// Returns the bytes with a few changes: other bytes, numbers at the limits of their types, or a truncation.
    pub(crate) fn bytes(&mut self, good: &[u8]) -> Vec<u8> {
        let mut bytes = good.to_vec();
        for _ in 0..=self.below(3) {
            // Tables are at the start.
            let limit = if self.below(2) == 0 { bytes.len().min(300) } else { bytes.len() };
            let at = self.below(limit);
            if self.below(2) == 0 {
                bytes[at] = self.below(256) as u8;
            } else {
                let numbers = [0, 1, u64::MAX, u64::MAX - 7, 1 << 63, 1 << 31, 0xffff_ffff, good.len() as u64];
                let number = numbers[self.below(numbers.len())].to_le_bytes();
                let size = 8.min(bytes.len() - at);
                bytes[at..at + size].copy_from_slice(&number[..size]);
            }
        }
        if self.below(4) == 0 {
            bytes.truncate(self.below(good.len()));
        }
        bytes
    }

    /// Returns the text with parts removed, duplicated or moved.
    pub(crate) fn text(&mut self, good: &str) -> String {
        let mut letters: Vec<char> = good.chars().collect();
        for _ in 0..=self.below(4) {
            let (from, length, to) = (self.below(letters.len()), self.below(12), self.below(letters.len()));
            let part: Vec<char> = letters[from..(from + length).min(letters.len())].to_vec();
            match self.below(3) {
                0 => _ = letters.drain(from..(from + length).min(letters.len())),
                1 => _ = letters.splice(to..to, part),
                _ => {
                    _ = letters
                        .splice(to..to, ["\u{e9}", "\"", "/*", "\\\n", "(", "\n", "|", "#"][self.below(8)].chars())
                }
            }
        }
        letters.into_iter().collect()
    }
}
