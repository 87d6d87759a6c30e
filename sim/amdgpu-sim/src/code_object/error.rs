//! Rejected code objects.

use std::fmt;

/// Why a code object was rejected.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// Not an ELF file of the right class, or a truncated one.
    #[error("not a usable ELF file: {0}")]
    Elf(String),
    /// An ELF file, but not an AMD code object for the HSA ABI.
    #[error("not an AMD code object: {0}")]
    NotAmdGpu(String),
    /// A code object version that is not supported (v3 to v6 are).
    #[error("code object ABI version {abi_version} is not supported: v3 to v6 (1 to 4) are")]
    Version {
        /// `EI_ABIVERSION` of the file.
        abi_version: u8,
    },
    /// The code is for another processor.
    #[error("the code object is for {found}, the device is {device}")]
    Target {
        /// The processor that the code is for.
        found: String,
        /// The device's processor.
        device: String,
    },
    /// The metadata note is missing or malformed.
    #[error("bad metadata: {0}")]
    Metadata(String),
    /// A kernel's descriptor is missing or contradicts itself or the metadata.
    #[error("kernel {kernel:?}: {reason}")]
    Kernel {
        /// The kernel.
        kernel: String,
        /// The problem.
        reason: String,
    },
    /// Segments overlap, or lie outside the file.
    #[error("bad segment: {0}")]
    Segment(String),
    /// A relocation that cannot be applied.
    #[error("bad relocation at {offset:#x}: {reason}")]
    Relocation {
        /// Its position, from the start of the image.
        offset: u64,
        /// The problem.
        reason: String,
    },
    /// The code uses an undefined symbol.
    #[error("undefined symbol {0:?}")]
    UndefinedSymbol(String),
    /// A malformed bundle.
    #[error("bad code object bundle: {0}")]
    Bundle(String),
    /// A bundle without code for the device.
    #[error("no code object for {device} in the bundle (it has {})", list(available))]
    NoCodeFor {
        /// The device's target.
        device: String,
        /// The targets in the bundle.
        available: Vec<String>,
    },
    /// Allocating the code object's segments failed.
    #[error("no memory for the code object: {0}")]
    Memory(#[from] crate::MemoryError),
}

/// Same as [`Display`](fmt::Display), because `unwrap` and a `main` that returns the error print it with `Debug`.
impl fmt::Debug for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn list(items: &[String]) -> String {
    if items.is_empty() { "none".to_owned() } else { items.join(", ") }
}
