//! Host generators as random number generators of the crate `rand`.

use rand_core::TryRngCore;

use crate::{Error, HostGenerator, Pseudo, Result};

/// Numbers that are generated at a time.
const BLOCK: usize = 4096;

/// A [`HostGenerator`] as a random number generator of the crate [`rand`](https://docs.rs/rand), of [`HostGenerator::into_rng`].
///
/// Its numbers are those of [`HostGenerator::generate`] for `u32`, in blocks. A call of the library can fail: it implements [`TryRngCore`], whose
/// [`unwrap_err`](TryRngCore::unwrap_err) is a generator that panics then, for functions that take `Rng`.
///
/// ```
/// use hiprand::rand_core::{RngCore, TryRngCore};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # if hip::sim_if_no_gpu().is_err() || !hiprand::is_available() || hip::backend()? == hip::Backend::Sim { return Ok(()) }
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
    /// Where the numbers begin that have not been used.
    next: usize,
}

impl HostGenerator<Pseudo> {
    /// The generator, for the crates of `rand`. It goes on where the sequence is.
    #[must_use]
    pub fn into_rng(self) -> HostRng {
        HostRng { generator: self, block: vec![0; BLOCK].into(), next: BLOCK }
    }
}

impl HostRng {
    /// The generator alone. Numbers of the block that have not been used are lost.
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
