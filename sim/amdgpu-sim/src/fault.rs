//! Faults: what a kernel did wrong, where, and at which address.

mod access;
mod place;
mod register;
mod source;

use std::fmt;

use crate::memory::Nearest;
use crate::observe::Finding;

pub use access::{Access, Denied, Space};
pub use place::FaultPlace;
pub use register::StrayRegister;
pub use source::SourceFrame;

/// A failed dispatch. Its `Display` includes all available details.
#[derive(Clone, PartialEq)]
pub struct Fault {
    /// The kernel's name.
    pub kernel: String,
    /// What happened.
    pub kind: FaultKind,
    /// The place, if a wave was running.
    pub place: Option<Box<FaultPlace>>,
    /// For a memory access: the allocation nearest to the address.
    pub nearest: Option<Nearest>,
}

/// The kind of a fault.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FaultKind {
    /// A memory access that is not permitted.
    Memory {
        /// The kind of memory.
        space: Space,
        /// The kind of access.
        access: Access,
        /// The address.
        address: u64,
        /// Bytes.
        bytes: u32,
        /// Why it is not permitted.
        why: Denied,
    },
    /// A word that is not an instruction.
    UnknownInstruction(u32),
    /// An instruction, or a form of it, that the software GPU does not support.
    Unsupported(String),
    /// An instruction that uses a register beyond those allocated by the kernel's descriptor. Not detected in code of
    /// more than 1 MB that calls functions by address: those are shared by kernels of all sizes, and may save and
    /// restore registers that this kernel lacks.
    StrayRegister(StrayRegister),
    /// A jump to an address that is not code of the kernel's code object.
    WildJump(u64),
    /// The kernel executed `s_trap` with this number (2: `abort`, a failed assertion).
    Trap(u32),
    /// The dispatch reached its instruction budget, of this size.
    Budget(u64),
    /// The dispatch completed, but [checks](crate::Checks) that make it fail have these findings.
    Checks(Vec<Finding>),
    /// The dispatch was [cancelled](crate::Cancel).
    Cancelled,
    /// The GPU [is lost](crate::Gpu::lose).
    Lost,
    /// The launch is invalid.
    Launch(LaunchError),
}

/// Why a dispatch was refused before it started.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// A grid or a workgroup without work-items.
    #[error("the grid is {grid:?} work-items in workgroups of {workgroup:?}: none may be 0")]
    Empty {
        /// Work-items of the grid.
        grid: [u32; 3],
        /// Work-items of a workgroup.
        workgroup: [u32; 3],
    },
    /// More work-items or workgroups than are supported.
    #[error("a grid of {grid:?} in workgroups of {workgroup:?} is too large")]
    GridTooLarge {
        /// The grid asked for.
        grid: [u32; 3],
        /// The workgroup asked for.
        workgroup: [u32; 3],
    },
    /// A workgroup with more work-items than the kernel or the GPU allows.
    #[error("a workgroup of {work_items} work-items {workgroup:?}; the kernel allows {limit}")]
    WorkgroupTooLarge {
        /// Work-items of the workgroup.
        work_items: u64,
        /// Its size in each dimension.
        workgroup: [u32; 3],
        /// The maximum.
        limit: u32,
    },
    /// A workgroup of another size than the kernel requires.
    #[error("the kernel was compiled for workgroups of {required:?}, not {workgroup:?}")]
    WorkgroupMismatch {
        /// The requested size.
        workgroup: [u32; 3],
        /// The required size.
        required: [u32; 3],
    },
    /// More LDS than a workgroup can have.
    #[error("{fixed} bytes of static and {dynamic} bytes of dynamic LDS; a workgroup has {limit}")]
    LdsTooLarge {
        /// Static LDS of the kernel.
        fixed: u32,
        /// The requested dynamic LDS.
        dynamic: u32,
        /// The maximum.
        limit: u32,
    },
    /// More scratch than a lane can have.
    #[error("{private} bytes of scratch a work-item; the limit is {limit}")]
    ScratchTooLarge {
        /// Scratch that the kernel needs per lane.
        private: u32,
        /// The maximum.
        limit: u32,
    },
    /// The kernarg segment is not in a live allocation.
    #[error("the {size} bytes of kernel arguments at {address:#x} are not in a live allocation")]
    Kernarg {
        /// Its address.
        address: u64,
        /// Its bytes.
        size: u32,
    },
    /// The kernel object address in a packet is not that of a kernel loaded on this GPU.
    #[error("no kernel of this GPU has its descriptor at {address:#x}")]
    KernelObject {
        /// The address.
        address: u64,
    },
    /// More argument bytes than the kernel takes.
    #[error("{given} bytes of arguments; the kernel takes {takes}")]
    Arguments {
        /// Bytes given.
        given: usize,
        /// Bytes that the explicit arguments take.
        takes: u32,
    },
    /// Waves of 32 lanes, or another unsupported feature.
    #[error("the GPU does not support {0}")]
    Unsupported(String),
}

/// Same as [`Display`](fmt::Display), because `unwrap` and a `main` that returns the error print it with `Debug`.
impl fmt::Debug for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Fault {
    /// The accessed address, for a memory fault.
    pub fn address(&self) -> Option<u64> {
        match self.kind {
            FaultKind::Memory { address, .. } => Some(address),
            _ => None,
        }
    }
}

impl std::error::Error for Fault {}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory { space, access, address, bytes, why } => {
                let access = match access {
                    Access::Read => "read",
                    Access::Write => "write",
                    Access::Atomic => "atomic operation",
                    Access::Fetch => "instruction fetch",
                };
                let space = match space {
                    Space::Global => "",
                    Space::Lds => "LDS ",
                    Space::Private => "scratch ",
                };
                match why {
                    Denied::OutOfBounds => write!(f, "out of bounds: ")?,
                    Denied::Freed => write!(f, "use after free: ")?,
                    Denied::ReadOnly => write!(f, "read-only memory: ")?,
                    Denied::NoAccess { .. } => write!(f, "no access: ")?,
                    Denied::Misaligned(_) => write!(f, "misaligned: ")?,
                }
                match (space, address) {
                    ("", 0) => write!(f, "{access} of {bytes} bytes at null")?,
                    // A structure member or an array element at a null pointer.
                    ("", 1..0x1000) => write!(f, "{access} of {bytes} bytes at null + {address:#x}")?,
                    _ => write!(f, "{access} of {bytes} bytes at {space}address {address:#x}")?,
                }
                match why {
                    Denied::Misaligned(align) => write!(f, ", which is no multiple of {align}"),
                    Denied::NoAccess { agent, owner: None } => write!(f, ", host memory that {agent} was not let use"),
                    Denied::NoAccess { agent, owner: Some(owner) } => {
                        write!(f, ", memory of {owner} that {agent} was not let use (peer access is off)")
                    }
                    _ => Ok(()),
                }
            }
            Self::UnknownInstruction(word) => write!(f, "unknown instruction {word:#010x}"),
            Self::Unsupported(what) => write!(f, "not supported by the software GPU: {what}"),
            Self::StrayRegister(stray) => write!(f, "a register that is not the kernel's: {stray}"),
            Self::WildJump(address) => write!(f, "jump to {address:#x}, which is not code of this code object"),
            Self::Trap(2) => f.write_str("trap 2: the kernel aborted itself (abort, assert or __builtin_trap)"),
            Self::Trap(n) => write!(f, "trap {n}"),
            Self::Budget(n) => write!(f, "the kernel was cut off after {n} instructions, the budget of a dispatch"),
            Self::Lost => f.write_str("the device is lost: it carries out nothing any more"),
            Self::Cancelled => f.write_str("the dispatch was cancelled"),
            Self::Checks(findings) => {
                match findings.len() {
                    1 => f.write_str("the checks found something"),
                    n => write!(f, "the checks found {n} things"),
                }?;
                findings.iter().try_for_each(|finding| write!(f, "\n  {finding}"))
            }
            Self::Launch(e) => write!(f, "can't be launched: {e}"),
        }
    }
}

/// Same as [`Display`](fmt::Display), because `unwrap` and a `main` that returns the error print it with `Debug`.
impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel {}: {}", self.kernel, self.kind)?;
        if let Some(place) = &self.place {
            write!(f, "; in {place}")?;
        }
        if let Some([fixed, dynamic]) = self.place.as_ref().and_then(|place| place.lds) {
            return write!(
                f,
                "; the workgroup has {} bytes of LDS: {fixed} static, {dynamic} dynamic",
                u64::from(fixed) + u64::from(dynamic)
            );
        }
        match &self.nearest {
            // No allocation is near null.
            _ if self.address().is_some_and(|address| address < 0x1000) => Ok(()),
            Some(nearest) => write!(f, "; the address is {nearest}"),
            None if matches!(self.kind, FaultKind::Memory { space: Space::Global, .. }) => {
                f.write_str("; nothing has been allocated")
            }
            None => Ok(()),
        }
    }
}
