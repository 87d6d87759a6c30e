//! The error of a call into the HIP runtime.

use std::fmt;

use super::status::Status;

/// A call into the HIP runtime that failed.
#[doc(alias("hipGetErrorName", "cudaGetErrorName"))]
#[doc(alias("hipGetErrorString", "cudaGetErrorString"))]
#[doc(alias("hipDrvGetErrorName", "cuGetErrorName"))]
#[doc(alias("hipDrvGetErrorString", "cuGetErrorString"))]
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HipError {
    /// The returned status.
    pub status: Status,
    /// The status's name, as the runtime spells it: `hipErrorOutOfMemory`.
    pub name: String,
    /// The runtime's own description.
    pub description: String,
    /// The C function.
    pub function: &'static str,
    /// The request: sizes, names, the device.
    pub asked: String,
    /// The software GPU's description of a fault, if there was one: kernel, instruction, lane, address. With
    /// [`Backend::Cuda`](crate::Backend::Cuda), the function of NVIDIA's driver, and its own status and messages.
    pub fault: Option<String>,
}

/// Same as [`Display`](fmt::Display), because `unwrap` and a `main` that returns the error print it with `Debug`.
impl fmt::Debug for HipError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for HipError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { status, name, description, function, asked, fault } = self;
        write!(f, "{function} failed ({asked}): {name} ({})", status.0)?;
        if !description.is_empty() && description != name {
            write!(f, ": {description}")?;
        }
        if let Some(fault) = fault {
            write!(f, "\n{fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for HipError {}
