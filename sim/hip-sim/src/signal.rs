//! Stream memory operations: waits on and writes to words in memory.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use amdgpu_sim::{Memory, MemoryError};
use hip_sys::rocm_7_2::{
    hipErrorIllegalAddress, hipStreamWaitValueAnd, hipStreamWaitValueEq, hipStreamWaitValueGte, hipStreamWaitValueNor,
};

use crate::fault::Failure;
use crate::patience::Patience;

/// How large a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    Bits32,
    Bits64,
}

impl Width {
    pub(crate) fn bytes(self) -> u64 {
        match self {
            Self::Bits32 => 4,
            Self::Bits64 => 8,
        }
    }

    /// Truncates a number to the word's width.
    pub(crate) fn cut(self, number: u64) -> u64 {
        match self {
            Self::Bits32 => number & u64::from(u32::MAX),
            Self::Bits64 => number,
        }
    }
}

/// The comparison of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    AtLeast,
    Equal,
    AnyBit,
    Nor,
}

impl Condition {
    /// Decodes the flags of a wait.
    pub(crate) fn of(flags: u32) -> Option<Self> {
        Some(match flags {
            f if f == hipStreamWaitValueGte => Self::AtLeast,
            f if f == hipStreamWaitValueEq => Self::Equal,
            f if f == hipStreamWaitValueAnd => Self::AnyBit,
            f if f == hipStreamWaitValueNor => Self::Nor,
            _ => return None,
        })
    }

    /// Returns whether a word, under the mask, satisfies the comparison.
    fn holds(self, width: Width, word: u64, value: u64, mask: u64) -> bool {
        let found = word & mask;
        match (self, width) {
            // The difference wraps around: a number is ahead if it is at most half of the range larger.
            (Self::AtLeast, Width::Bits32) => (found as u32).wrapping_sub(value as u32) as i32 >= 0,
            (Self::AtLeast, Width::Bits64) => found.wrapping_sub(value) as i64 >= 0,
            (Self::Equal, _) => found == value,
            (Self::AnyBit, _) => found & value != 0,
            (Self::Nor, _) => width.cut(!(word | value)) & mask != 0,
        }
    }
}

#[derive(Clone, Copy, Debug)]
/// What an operation does to its word.
pub(crate) enum Action {
    Write(u64),
    Wait { condition: Condition, value: u64, mask: u64 },
}

/// A validated operation on a word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signal {
    pub(crate) address: u64,
    pub(crate) width: Width,
    /// The word is in host memory, which is not freed before all work has completed.
    pub(crate) on_host: bool,
    pub(crate) action: Action,
}

impl Signal {
    /// Performs the operation. A wait may block for ever; it calls `goes_on` regularly, and stops with the error that
    /// it returns.
    pub(crate) fn perform(
        &self,
        memory: &Memory,
        mut goes_on: impl FnMut() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let gone = |error: MemoryError| {
            Failure::new(hipErrorIllegalAddress, format!("a word that a stream waits on or writes to is gone: {error}"))
        };
        match self.action {
            Action::Write(value) => {
                goes_on()?;
                self.store(memory, value).map_err(gone)
            }
            Action::Wait { condition, value, mask } => {
                let mut patience = Patience::default();
                loop {
                    goes_on()?;
                    if condition.holds(self.width, self.load(memory).map_err(gone)?, value, mask) {
                        return Ok(());
                    }
                    patience.pause();
                }
            }
        }
    }

    fn load(&self, memory: &Memory) -> Result<u64, MemoryError> {
        if !self.on_host {
            // A concurrent write may be seen torn, but not twice with the same result.
            let mut last = self.read(memory)?;
            loop {
                match self.read(memory)? {
                    next if next == last => return Ok(next),
                    next => last = next,
                }
            }
        }
        let place = self.place();
        // SAFETY: `new` has found an aligned word of host memory, which is freed and unregistered only after all queued work. The program
        // shares it with devices, so every access to it is atomic.
        Ok(unsafe {
            match self.width {
                Width::Bits32 => AtomicU32::from_ptr(place.cast()).load(Ordering::Acquire).into(),
                Width::Bits64 => AtomicU64::from_ptr(place.cast()).load(Ordering::Acquire),
            }
        })
    }

    fn place(&self) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.address as usize)
    }

    fn read(&self, memory: &Memory) -> Result<u64, MemoryError> {
        let mut bytes = [0; 8];
        memory.read(self.address, &mut bytes[..self.width.bytes() as usize])?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn store(&self, memory: &Memory, value: u64) -> Result<(), MemoryError> {
        if !self.on_host {
            return memory.write(self.address, &value.to_le_bytes()[..self.width.bytes() as usize]);
        }
        let place = self.place();
        // SAFETY: as in `load`.
        unsafe {
            match self.width {
                Width::Bits32 => AtomicU32::from_ptr(place.cast()).store(value as u32, Ordering::Release),
                Width::Bits64 => AtomicU64::from_ptr(place.cast()).store(value, Ordering::Release),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_cs() {
        let holds = |flags, width, word, value, mask| Condition::of(flags).unwrap().holds(width, word, value, mask);
        let (all, low) = (u64::MAX, u64::from(u32::MAX));
        for (flags, word, value, mask, expected) in [
            (hipStreamWaitValueGte, 5, 5, all, true),
            (hipStreamWaitValueGte, 4, 5, all, false),
            // Wrapped around: 3 is ahead of it.
            (hipStreamWaitValueGte, 3, all, all, true),
            (hipStreamWaitValueGte, 0x105, 5, 0xff, true),
            (hipStreamWaitValueEq, 0x105, 5, 0xff, true),
            (hipStreamWaitValueEq, 0x105, 5, all, false),
            (hipStreamWaitValueAnd, 6, 4, all, true),
            (hipStreamWaitValueAnd, 6, 4, 2, false),
            (hipStreamWaitValueNor, !1, 1, all, false),
            (hipStreamWaitValueNor, !3, 1, all, true),
            (hipStreamWaitValueNor, !3, 1, !2, false),
        ] {
            assert_eq!(holds(flags, Width::Bits64, word, value, mask), expected, "{flags} {word:#x} {value:#x}");
        }
        assert!(!holds(hipStreamWaitValueNor, Width::Bits32, low - 1, 1, low), "no bits beyond the 32");
        assert!(holds(hipStreamWaitValueGte, Width::Bits32, 3, low, low));
        assert!(Condition::of(4).is_none());
    }
}
