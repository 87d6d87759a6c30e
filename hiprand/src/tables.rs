//! The tables of the quasi-random generators.

use std::ptr;
use std::slice;

use crate::kind::DIMENSIONS;
use crate::raw::{self, hiprandStatus_t};
use crate::{Result, check};

/// Returns a table of the library, which lives as long as the process.
fn table<T>(
    function: &'static str,
    asked: &str,
    of: impl FnOnce(*mut *const T) -> hiprandStatus_t,
) -> Result<&'static [T]> {
    let mut table = ptr::null();
    check(of(&mut table), function, || asked.to_owned())?;
    // SAFETY: a constant of the library, which is never unloaded, with an entry for each dimension.
    Ok(unsafe { slice::from_raw_parts(table, DIMENSIONS as usize) })
}

/// Returns the direction vectors of [`Quasi::Sobol32`](crate::Quasi::Sobol32), or of the scrambled generator: 32 for
/// each of 20 000 dimensions. Since ROCm 6.2.
///
/// # Errors
/// [`Error::NoSymbol`](crate::Error::NoSymbol) before ROCm 6.2.
#[doc(alias("hiprandGetDirectionVectors32", "curandGetDirectionVectors32"))]
pub fn sobol32_vectors(scrambled: bool) -> Result<&'static [[u32; 32]]> {
    table("hiprandGetDirectionVectors32", "direction vectors", |table| {
        // SAFETY: the function writes the address of a table of this type; the set is one that it supports.
        unsafe { raw::hiprandGetDirectionVectors32(table, if scrambled { 102 } else { 101 }) }
    })
}

/// Returns the direction vectors of [`Quasi::Sobol64`](crate::Quasi::Sobol64), or of the scrambled generator: 64 for
/// each of 20 000 dimensions. Since ROCm 6.2.
///
/// # Errors
/// [`Error::NoSymbol`](crate::Error::NoSymbol) before ROCm 6.2.
#[doc(alias("hiprandGetDirectionVectors64", "curandGetDirectionVectors64"))]
pub fn sobol64_vectors(scrambled: bool) -> Result<&'static [[u64; 64]]> {
    table("hiprandGetDirectionVectors64", "direction vectors", |table| {
        // SAFETY: the function writes the address of a table of this type; the set is one that it supports.
        unsafe { raw::hiprandGetDirectionVectors64(table, if scrambled { 104 } else { 103 }) }
    })
}

/// Returns the constants that scramble the points of [`Quasi::ScrambledSobol32`](crate::Quasi::ScrambledSobol32), one
/// for each of 20 000 dimensions. Since ROCm 6.2.
///
/// # Errors
/// [`Error::NoSymbol`](crate::Error::NoSymbol) before ROCm 6.2.
#[doc(alias("hiprandGetScrambleConstants32", "curandGetScrambleConstants32"))]
pub fn scramble_constants32() -> Result<&'static [u32]> {
    // SAFETY: the function writes the address of a table of this type.
    table("hiprandGetScrambleConstants32", "scramble constants", |table| unsafe {
        raw::hiprandGetScrambleConstants32(table)
    })
}

/// As [`scramble_constants32`], for [`Quasi::ScrambledSobol64`](crate::Quasi::ScrambledSobol64).
///
/// # Errors
/// [`Error::NoSymbol`](crate::Error::NoSymbol) before ROCm 6.2.
#[doc(alias("hiprandGetScrambleConstants64", "curandGetScrambleConstants64"))]
pub fn scramble_constants64() -> Result<&'static [u64]> {
    // SAFETY: the function writes the address of a table of this type.
    table("hiprandGetScrambleConstants64", "scramble constants", |table| unsafe {
        raw::hiprandGetScrambleConstants64(table)
    })
}
