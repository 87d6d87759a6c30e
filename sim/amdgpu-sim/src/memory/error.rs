//! Refused memory requests.

use std::fmt;

use super::agent::Agent;
use super::allocation::{Allocation, MAX_ALIGN, Nearest};
use super::pages::PAGE;

/// Why a memory request was refused.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The request exceeds the limit.
    #[error("out of device memory: {requested} bytes asked for, {used} of {total} in use")]
    OutOfMemory {
        /// Bytes requested.
        requested: u64,
        /// Bytes in use.
        used: u64,
        /// The limit in bytes ([`Config::memory_bytes`](crate::Config::memory_bytes)).
        total: u64,
    },
    /// The request exceeds the host's available memory. GPUs take their memory from it.
    #[error(
        "out of host memory: {requested} bytes asked for, which is more than this machine has left for the process"
    )]
    OutOfHostMemory {
        /// Bytes requested.
        requested: u64,
    },
    /// A range that does not consist of whole pages, or exceeds its enclosing range.
    #[error("{size} bytes at {address:#x} are not whole pages of {PAGE} bytes, or not inside")]
    NotWholePages {
        /// Its start.
        address: u64,
        /// Its bytes.
        size: u64,
    },
    /// A range that is not completely in a reserved one.
    #[error("{size} bytes at {address:#x} are not in a reserved address range")]
    NotReserved {
        /// Its start.
        address: u64,
        /// Its bytes.
        size: u64,
    },
    /// The operating system does not provide what mapping memory requires; only Linux does.
    #[error("the system gives no {what}")]
    NoPages {
        /// The missing resource.
        what: &'static str,
    },
    /// A GPU that is not in the address space.
    #[error("there is no {agent} in this address space of {count} GPUs")]
    NoAgent {
        /// The GPU.
        agent: Agent,
        /// The number of GPUs.
        count: usize,
    },
    /// An allocation of 0 bytes.
    #[error("an allocation of 0 bytes")]
    Empty,
    /// An alignment that is not a power of two, or too large.
    #[error("alignment {align} is not a power of two up to {MAX_ALIGN}")]
    Alignment {
        /// The requested alignment.
        align: u64,
    },
    /// The address is not in a live allocation.
    #[error("{address:#x} is not in a live allocation{}", nearest_text(nearest))]
    NotAllocated {
        /// The address.
        address: u64,
        /// The allocation nearest to it.
        nearest: Option<Nearest>,
    },
    /// An address inside an allocation, where its start is required.
    #[error("{address:#x} is inside an allocation, not its start ({allocation})")]
    NotTheStart {
        /// The address.
        address: u64,
        /// The allocation that contains it.
        allocation: Allocation,
    },
    /// An access that starts inside an allocation and ends outside it.
    #[error("{len} bytes at {address:#x} reach past the end of {allocation}")]
    PastTheEnd {
        /// The address.
        address: u64,
        /// Bytes of the access.
        len: u64,
        /// The allocation that the access starts in.
        allocation: Allocation,
    },
    /// Host memory that is already registered, or was allocated by this crate.
    #[error("{len} bytes at {address:#x} overlap {allocation}")]
    Overlap {
        /// Start of the requested range.
        address: u64,
        /// Its bytes.
        len: u64,
        /// The allocation that it overlaps.
        allocation: Allocation,
    },
    /// `free` of memory that `alloc` did not return.
    #[error("{allocation} was not allocated with Memory::alloc")]
    NotOwned {
        /// The allocation.
        allocation: Allocation,
    },
}

/// Same as [`Display`](fmt::Display), because `unwrap` and a `main` that returns the error print it with `Debug`.
impl fmt::Debug for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn nearest_text(nearest: &Option<Nearest>) -> String {
    nearest.map_or_else(String::new, |n| format!("; it is {n}"))
}
