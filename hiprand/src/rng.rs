//! Host generators as random number generators for the `rand` crate.

use rand_core::TryRngCore;

use crate::{Error, HostGenerator, Pseudo, Result};

/// How many numbers are generated at a time.
const BLOCK: usize = 4096;

/// A [`HostGenerator`] as a random number generator for the [`rand`](https://docs.rs/rand) crate.
/// [`HostGenerator::into_rng`] creates it.
///
/// It returns the numbers of [`HostGenerator::generate`] for `u32`, generated in blocks. A library call can fail, so it
/// implements [`TryRngCore`]; its [`unwrap_err`](TryRngCore::unwrap_err) returns a generator that panics on errors, for
/// functions that take `Rng`.
///
/// ```
/// use hiprand::rand_core::{RngCore, TryRngCore};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # if hip::sim_if_no_gpu().is_err() || !hiprand::is_available()
/// #     || hip::backend()? == hip::Backend::Sim { return Ok(()) }
/// let mut generator = hiprand::HostGenerator::new(&hip::Device::get(0)?, hiprand::Pseudo::Philox4x32_10)?;
/// generator.set_seed(0)?;
/// let mut rng = generator.into_rng().unwrap_err();
/// assert_eq!(rng.next_u32(), 0x6627_e8d5);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct HostRng {
    generator: HostGenerator<Pseudo>,
    block: Box<[u32]>,
    /// Index of the first unused number.
    next: usize,
}

impl HostGenerator<Pseudo> {
    /// Converts the generator for the `rand` crates. It continues at the current position of the sequence.
    #[must_use]
    pub fn into_rng(self) -> HostRng {
        HostRng { generator: self, block: vec![0; BLOCK].into(), next: BLOCK }
    }
}

impl HostRng {
    /// Returns the generator. Unused numbers of the current block are lost.
    #[must_use]
    pub fn into_generator(self) -> HostGenerator<Pseudo> {
        self.generator
    }

    fn refill(&mut self) -> Result<()> {
        self.generator.generate(&mut self.block)?;
        self.next = 0;
        Ok(())
    }
}

impl TryRngCore for HostRng {
    type Error = Error;

    fn try_next_u32(&mut self) -> Result<u32> {
        if self.next == self.block.len() {
            self.refill()?;
        }
        let number = self.block[self.next];
        self.next += 1;
        Ok(number)
    }

    fn try_next_u64(&mut self) -> Result<u64> {
        let low = u64::from(self.try_next_u32()?);
        Ok(u64::from(self.try_next_u32()?) << 32 | low)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<()> {
        for chunk in bytes.chunks_mut(4) {
            chunk.copy_from_slice(&self.try_next_u32()?.to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}
