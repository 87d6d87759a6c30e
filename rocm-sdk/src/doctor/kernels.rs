//! Checks whether kernels in Rust can be built.

use std::fmt;

use hip_kernel_build::Toolchain;
use serde::Serialize;

use super::machine::Machine;

/// The Rust compiler for kernels in Rust (`hip-kernel-build`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RustKernels {
    /// Whether kernels in Rust can be built.
    pub available: bool,
    /// The compiler.
    pub compiler: Option<String>,
    /// Its release, such as `1.95.0`.
    pub release: Option<String>,
    /// The folder of the source of `core`.
    pub source: Option<String>,
    /// What is missing, and what to do.
    pub missing: Option<String>,
}

impl RustKernels {
    /// Queries the compilers. Returns `None` for a system other than the one that this program runs on.
    pub(crate) fn examine(machine: &Machine) -> Option<Self> {
        let found = machine.is_this().then(|| Toolchain::find_with(|name| machine.variable(name)))?;
        Some(match found {
            Ok(Toolchain { rustc, library, release, .. }) => Self {
                available: true,
                compiler: Some(rustc.display().to_string()),
                release: Some(release),
                source: Some(library.display().to_string()),
                missing: None,
            },
            Err(why) => Self { available: false, compiler: None, release: None, source: None, missing: Some(why) },
        })
    }
}

impl fmt::Display for RustKernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.missing, &self.compiler, &self.release, &self.source) {
            (None, Some(compiler), Some(release), Some(source)) => {
                write!(f, "can be built: Rust {release} ({compiler}), with the source of `core` in {source}")
            }
            (missing, ..) => {
                let missing = missing.as_deref().unwrap_or("the reason is unknown");
                write!(f, "cannot be built, only taken from bundles: {missing}")
            }
        }
    }
}
