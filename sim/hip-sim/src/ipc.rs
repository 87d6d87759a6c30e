//! Handles that share memory and events with other processes. A handle holds the memory file's location, its process,
//! its size and a checksum.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use amdgpu_sim::SharedName;

/// Words of a handle.
pub(crate) const WORDS: usize = 16;

/// The kind of a handle, stored in its first word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum What {
    Memory = 0x4d49_5048,
    Event = 0x4549_5048,
}

/// The decoded contents of a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle {
    pub(crate) what: What,
    pub(crate) name: SharedName,
    /// The device's ordinal in the exporting process.
    pub(crate) device: u32,
    /// Bytes of the allocation.
    pub(crate) size: u64,
    /// The byte offset in the allocation for which the handle was requested.
    pub(crate) offset: u64,
}

/// A checksum over the words of a handle that precede it.
fn check(words: &[u32; WORDS]) -> u32 {
    let mut hasher = DefaultHasher::new();
    words[..WORDS - 1].hash(&mut hasher);
    hasher.finish() as u32
}

impl Handle {
    /// Encodes the handle.
    pub(crate) fn write(&self) -> [u32; WORDS] {
        let mut words = [0; WORDS];
        words[0] = self.what as u32;
        words[1..6].copy_from_slice(&self.name.words());
        words[6] = self.device;
        for (to, value) in words[7..11].chunks_exact_mut(2).zip([self.size, self.offset]) {
            to.copy_from_slice(&[value as u32, (value >> 32) as u32]);
        }
        words[WORDS - 1] = check(&words);
        words
    }

    /// Decodes a handle of kind `what`; `None` if the words are not one.
    pub(crate) fn read(words: &[u32; WORDS], what: What) -> Option<Self> {
        if words[0] != what as u32 || words[WORDS - 1] != check(words) {
            return None;
        }
        let [_, process, started, descriptor, low, high, device, ..] = *words;
        let wide = |at: usize| u64::from(words[at + 1]) << 32 | u64::from(words[at]);
        let name = SharedName::from_words([process, started, descriptor, low, high]);
        Some(Self { what, name, device, size: wide(7), offset: wide(9) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_survives_being_written_and_nothing_else_is_one() {
        let name = SharedName::from_words([1, 2, 3, 4, 5]);
        let good = Handle { what: What::Memory, name, device: 3, size: 1 << 40 | 7, offset: 1 << 33 | 9 };
        let words = good.write();
        assert_eq!(Handle::read(&words, What::Memory), Some(good));
        for bit in 0..32 * WORDS {
            let mut bad = words;
            bad[bit / 32] ^= 1 << (bit % 32);
            assert_eq!(Handle::read(&bad, What::Memory), None, "bit {bit}");
        }
        assert_eq!(Handle::read(&[0; WORDS], What::Memory), None);
        assert_eq!(Handle::read(&words, What::Event), None);
    }
}
