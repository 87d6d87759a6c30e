//! The backends on which other libraries can be called.

use crate::core::backend::backend;
use crate::core::backend_kind::Backend;
use crate::core::error::{Error, Result};

/// Returns `Ok` if ROCm's libraries can be called on the backend in use: a wrapper of one makes this call first.
/// `what` names the library or the operation in the error.
///
/// # Errors
/// [`Error::Unsupported`] on the embedded software GPU, and on NVIDIA's GPUs.
pub fn expect_rocm(what: &'static str) -> Result<()> {
    let reason = match backend()? {
        Backend::Rocm => return Ok(()),
        Backend::Cuda => "ROCm's libraries do not run on NVIDIA's GPUs",
        Backend::Sim => "the embedded software GPU has no libraries; ROCm's own run on it under `hip-sim run`",
    };
    Err(Error::Unsupported { what, reason: reason.to_owned() })
}
