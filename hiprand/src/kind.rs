//! The generator kinds, and their limits.

use std::fmt::Debug;

use crate::element::Request;
use crate::{Result, invalid};

/// Pseudo-random generators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pseudo {
    /// The library's choice: XORWOW.
    #[default]
    #[doc(alias("HIPRAND_RNG_PSEUDO_DEFAULT", "CURAND_RNG_PSEUDO_DEFAULT"))]
    Default,
    /// Marsaglia's XORWOW.
    #[doc(alias("HIPRAND_RNG_PSEUDO_XORWOW", "CURAND_RNG_PSEUDO_XORWOW"))]
    Xorwow,
    /// L'Ecuyer's combined multiple recursive generator.
    #[doc(alias("HIPRAND_RNG_PSEUDO_MRG32K3A", "CURAND_RNG_PSEUDO_MRG32K3A"))]
    Mrg32k3a,
    /// The Mersenne Twister for graphics processors, with period 2¹¹²¹³ − 1. Offsets are not supported.
    #[doc(alias("HIPRAND_RNG_PSEUDO_MTGP32", "CURAND_RNG_PSEUDO_MTGP32"))]
    Mtgp32,
    /// The Mersenne Twister with period 2¹⁹⁹³⁷ − 1, as 8192 parallel generators. Offsets are not supported.
    #[doc(alias("HIPRAND_RNG_PSEUDO_MT19937", "CURAND_RNG_PSEUDO_MT19937"))]
    Mt19937,
    /// Random123's Philox with ten rounds, whose only state is its counter.
    #[doc(alias("HIPRAND_RNG_PSEUDO_PHILOX4_32_10", "CURAND_RNG_PSEUDO_PHILOX4_32_10"))]
    Philox4x32_10,
}

/// Quasi-random generators: points that fill the unit cube evenly, in up to 20 000 dimensions, with Joe and Kuo's
/// direction numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Quasi {
    /// The library's choice: Sobol's sequence in 32 bits.
    #[default]
    #[doc(alias("HIPRAND_RNG_QUASI_DEFAULT", "CURAND_RNG_QUASI_DEFAULT"))]
    Default,
    /// Sobol's sequence in 32 bits.
    #[doc(alias("HIPRAND_RNG_QUASI_SOBOL32", "CURAND_RNG_QUASI_SOBOL32"))]
    Sobol32,
    /// Sobol's sequence in 32 bits, scrambled.
    #[doc(alias("HIPRAND_RNG_QUASI_SCRAMBLED_SOBOL32", "CURAND_RNG_QUASI_SCRAMBLED_SOBOL32"))]
    ScrambledSobol32,
    /// Sobol's sequence in 64 bits.
    #[doc(alias("HIPRAND_RNG_QUASI_SOBOL64", "CURAND_RNG_QUASI_SOBOL64"))]
    Sobol64,
    /// Sobol's sequence in 64 bits, scrambled.
    #[doc(alias("HIPRAND_RNG_QUASI_SCRAMBLED_SOBOL64", "CURAND_RNG_QUASI_SCRAMBLED_SOBOL64"))]
    ScrambledSobol64,
}

/// The order in which the numbers of a pseudo-random sequence are written. Since ROCm 6.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ordering {
    /// The best for the statistics of the results.
    #[doc(alias("HIPRAND_ORDERING_PSEUDO_BEST", "CURAND_ORDERING_PSEUDO_BEST"))]
    Best,
    /// The ordering of a new generator: the same on every device, but it may change between releases.
    #[doc(alias("HIPRAND_ORDERING_PSEUDO_DEFAULT", "CURAND_ORDERING_PSEUDO_DEFAULT"))]
    Default,
    /// Each of the parallel generators has its own seed: faster to set up, worse statistics. [`Pseudo::Xorwow`] only.
    #[doc(alias("HIPRAND_ORDERING_PSEUDO_SEEDED", "CURAND_ORDERING_PSEUDO_SEEDED"))]
    Seeded,
    /// The same in every release.
    #[doc(alias("HIPRAND_ORDERING_PSEUDO_LEGACY", "CURAND_ORDERING_PSEUDO_LEGACY"))]
    Legacy,
    /// The fastest ordering on the current device: another device can give other numbers. Not for host generators and
    /// not for [`Pseudo::Mt19937`].
    #[doc(alias("HIPRAND_ORDERING_PSEUDO_DYNAMIC", "CURAND_ORDERING_PSEUDO_DYNAMIC"))]
    Dynamic,
}

impl Ordering {
    pub(crate) fn code(self) -> u32 {
        match self {
            Self::Best => 100,
            Self::Default => 101,
            Self::Seeded => 102,
            Self::Legacy => 103,
            Self::Dynamic => 104,
        }
    }
}

/// A kind of generator: [`Pseudo`] or [`Quasi`].
pub trait Kind: Copy + Debug + Send + Sync + sealed::Sealed + 'static {
    /// Returns the C code.
    #[doc(hidden)]
    fn code(self) -> u32;
    /// Returns an error unless the generator supports this request.
    #[doc(hidden)]
    fn takes(self, dimensions: u32, request: &Request) -> Result<()>;
    /// Returns an error unless the generator can start at this offset.
    #[doc(hidden)]
    fn starts_at(self, offset: u64) -> Result<()>;
    /// Returns whether its first number is zero in every dimension.
    #[doc(hidden)]
    fn has_origin(self) -> bool;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Pseudo {}
    impl Sealed for super::Quasi {}
}

impl Kind for Pseudo {
    fn code(self) -> u32 {
        match self {
            Self::Default => 400,
            Self::Xorwow => 401,
            Self::Mrg32k3a => 402,
            Self::Mtgp32 => 403,
            Self::Mt19937 => 404,
            Self::Philox4x32_10 => 405,
        }
    }

    fn takes(self, _: u32, request: &Request) -> Result<()> {
        if request.wide {
            let allowed = "of 8, 16 or 32 bits: only Quasi::Sobol64 and Quasi::ScrambledSobol64 have 64";
            return Err(invalid("the numbers of a generator", format!("of 64 bits, from {self:?}"), allowed));
        }
        Ok(())
    }

    fn starts_at(self, offset: u64) -> Result<()> {
        match self {
            Self::Mtgp32 | Self::Mt19937 => {
                let allowed = "unset: discard numbers instead, or use another generator";
                Err(invalid("the offset of a Mersenne Twister", format!("{offset}, of {self:?}"), allowed))
            }
            _ => Ok(()),
        }
    }

    fn has_origin(self) -> bool {
        false
    }
}

/// Number of dimensions that the library has direction vectors for.
pub(crate) const DIMENSIONS: u32 = 20_000;

impl Quasi {
    fn has_64_bits(self) -> bool {
        matches!(self, Self::Sobol64 | Self::ScrambledSobol64)
    }
}

impl Kind for Quasi {
    fn code(self) -> u32 {
        match self {
            Self::Default => 500,
            Self::Sobol32 => 501,
            Self::ScrambledSobol32 => 502,
            Self::Sobol64 => 503,
            Self::ScrambledSobol64 => 504,
        }
    }

    fn takes(self, dimensions: u32, request: &Request) -> Result<()> {
        if request.wide && !self.has_64_bits() {
            let allowed = "of 8, 16 or 32 bits: only Quasi::Sobol64 and Quasi::ScrambledSobol64 have 64";
            return Err(invalid("the numbers of a generator", format!("of 64 bits, from {self:?}"), allowed));
        }
        let (each, count) = (dimensions as usize, request.count);
        if count % each == 0 {
            return Ok(());
        }
        let (below, above) = (count / each * each, (count / each).saturating_add(1).saturating_mul(each));
        let allowed =
            format!("a multiple of the {each} dimensions, such as {}", if below == 0 { above } else { below });
        Err(invalid("the length for a quasi-random generator", count.to_string(), allowed))
    }

    fn starts_at(self, offset: u64) -> Result<()> {
        if u32::try_from(offset).is_ok() {
            return Ok(());
        }
        // The library silently uses the lower 32 bits.
        Err(invalid("the offset of a quasi-random generator", offset.to_string(), format!("at most {}", u32::MAX)))
    }

    fn has_origin(self) -> bool {
        matches!(self, Self::Default | Self::Sobol32 | Self::Sobol64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the codes with the enums of the C headers.
    #[test]
    fn codes_are_those_of_c() {
        let pseudo = [
            (Pseudo::Default, hiprand_sys::HIPRAND_RNG_PSEUDO_DEFAULT),
            (Pseudo::Xorwow, hiprand_sys::HIPRAND_RNG_PSEUDO_XORWOW),
            (Pseudo::Mrg32k3a, hiprand_sys::HIPRAND_RNG_PSEUDO_MRG32K3A),
            (Pseudo::Mtgp32, hiprand_sys::HIPRAND_RNG_PSEUDO_MTGP32),
            (Pseudo::Mt19937, hiprand_sys::HIPRAND_RNG_PSEUDO_MT19937),
            (Pseudo::Philox4x32_10, hiprand_sys::HIPRAND_RNG_PSEUDO_PHILOX4_32_10),
        ];
        pseudo.iter().for_each(|(kind, raw)| assert_eq!(kind.code(), raw.0));
        let quasi = [
            (Quasi::Default, hiprand_sys::HIPRAND_RNG_QUASI_DEFAULT),
            (Quasi::Sobol32, hiprand_sys::HIPRAND_RNG_QUASI_SOBOL32),
            (Quasi::ScrambledSobol32, hiprand_sys::HIPRAND_RNG_QUASI_SCRAMBLED_SOBOL32),
            (Quasi::Sobol64, hiprand_sys::HIPRAND_RNG_QUASI_SOBOL64),
            (Quasi::ScrambledSobol64, hiprand_sys::HIPRAND_RNG_QUASI_SCRAMBLED_SOBOL64),
        ];
        quasi.iter().for_each(|(kind, raw)| assert_eq!(kind.code(), raw.0));
        #[cfg(feature = "rocm-6-2")]
        for (ordering, raw) in [
            (Ordering::Best, hiprand_sys::HIPRAND_ORDERING_PSEUDO_BEST),
            (Ordering::Default, hiprand_sys::HIPRAND_ORDERING_PSEUDO_DEFAULT),
            (Ordering::Seeded, hiprand_sys::HIPRAND_ORDERING_PSEUDO_SEEDED),
            (Ordering::Legacy, hiprand_sys::HIPRAND_ORDERING_PSEUDO_LEGACY),
            (Ordering::Dynamic, hiprand_sys::HIPRAND_ORDERING_PSEUDO_DYNAMIC),
        ] {
            assert_eq!(ordering.code(), raw.0);
        }
    }
}
