//! What a kernel did wrong, where, and to which address.

use std::fmt;

use crate::exec::Program;
use crate::memory::{Agent, Nearest};
use crate::module::Kernel;
use crate::observe::Finding;

/// A dispatch that went wrong. Its `Display` says everything that is known about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// The kernel's name.
    pub kernel: String,
    /// What happened.
    pub kind: FaultKind,
    /// Where, if a wave was running.
    pub place: Option<Box<FaultPlace>>,
    /// The allocation nearest to the address, for an access to memory.
    pub nearest: Option<Nearest>,
}

/// Where in a dispatch a fault happened.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultPlace {
    /// The workgroup's position in the grid of workgroups.
    pub workgroup: [u32; 3],
    /// The wave in the workgroup.
    pub wave: u32,
    /// The first lane that did it, where lanes differ.
    pub lane: Option<u32>,
    /// Address of the instruction in memory.
    pub pc: u64,
    /// The same, from the kernel's entry in bytes.
    pub offset: i64,
    /// The instruction as the disassembler prints it.
    pub instruction: String,
    /// Where it is in the kernel's source, innermost inlined function first; empty without debug information in the code object, or
    /// without the feature `profile`.
    pub source: Vec<SourceFrame>,
    /// How much LDS the workgroup had, static and dynamic in bytes, for an access outside of it.
    pub lds: Option<[u32; 2]>,
}

/// A function on the way to an instruction, as the debug information has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "profile", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SourceFrame {
    /// The function, demangled as far as the compiler says.
    pub function: Option<String>,
    /// The file, as it was given to the compiler.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
}

impl fmt::Display for SourceFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{file}:{line}"),
            (Some(file), None) => f.write_str(file),
            (None, _) => f.write_str("an unknown file"),
        }?;
        match &self.function {
            Some(function) => write!(f, " ({function})"),
            None => Ok(()),
        }
    }
}

/// What kind of memory an access went to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Space {
    /// Device and host memory.
    Global,
    /// The workgroup's local memory; addresses are offsets into it.
    Lds,
    /// A lane's scratch; addresses are offsets into it.
    Private,
}

/// What an access wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Access {
    /// To read.
    Read,
    /// To write.
    Write,
    /// To read and write as one step.
    Atomic,
    /// To fetch instructions.
    Fetch,
}

/// Why an access is not allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Denied {
    /// Not wholly inside a live allocation (or the LDS or scratch that the kernel has).
    OutOfBounds,
    /// Inside a freed allocation.
    Freed,
    /// The memory is read-only for kernels, or for kernels of this GPU.
    ReadOnly,
    /// The memory is another GPU's (or the host's), and the GPU has been given no access to it.
    NoAccess {
        /// The GPU that ran the kernel.
        agent: Agent,
        /// The GPU whose memory it is; `None` for host memory.
        owner: Option<Agent>,
    },
    /// The address is no multiple of this many bytes.
    Misaligned(u32),
}

/// Registers that an instruction names and its kernel does not have, not all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct StrayRegister {
    /// `v` for vector registers, `a` for accumulation registers, `s` for scalar registers.
    pub file: char,
    /// The number of the first register of the operand.
    pub first: u16,
    /// How many registers the operand takes.
    pub count: u16,
    /// How many registers of that kind the kernel has.
    pub allocated: u16,
}

impl fmt::Display for StrayRegister {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, first, count, allocated } = *self;
        let last = first + count - 1;
        if count == 1 { write!(f, "{file}{first}") } else { write!(f, "{file}[{first}:{last}]") }?;
        match allocated {
            0 => write!(f, " in a kernel that has no {file} registers"),
            _ => write!(f, " in a kernel that has {allocated} {file} registers, {file}0 to {file}{}", allocated - 1),
        }?;
        f.write_str(" (amdhsa_next_free_vgpr, accum_offset or next_free_sgpr of its descriptor are too small)")
    }
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FaultKind {
    /// An access to memory that is not allowed.
    Memory {
        /// What kind of memory.
        space: Space,
        /// What the access wanted.
        access: Access,
        /// Where.
        address: u64,
        /// Bytes.
        bytes: u32,
        /// Why it is not allowed.
        why: Denied,
    },
    /// A word that is no instruction.
    UnknownInstruction(u32),
    /// An instruction, or a form of it, that the software GPU does not carry out.
    Unsupported(String),
    /// An instruction that names a register beyond those that the kernel's descriptor asks for. Not in code of more than 1 MB that calls
    /// functions by address: those serve kernels of all sizes, and may save and restore registers that this one lacks.
    StrayRegister(StrayRegister),
    /// A jump to an address that is not code of the kernel's code object.
    WildJump(u64),
    /// The kernel executed `s_trap` with this number (2: `abort`, a failed assertion).
    Trap(u32),
    /// The dispatch was cut off after this many instructions.
    Budget(u64),
    /// The dispatch ran to its end, but [checks](crate::Checks) that make it fail found this.
    Checks(Vec<Finding>),
    /// The dispatch was [told to stop](crate::Cancel).
    Cancelled,
    /// The GPU [is lost](crate::Gpu::lose).
    Lost,
    /// The dispatch asks for something impossible.
    Launch(LaunchError),
}

/// Why a dispatch was refused before it started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// A grid or a workgroup of no work-items.
    #[error("the grid is {grid:?} work-items in workgroups of {workgroup:?}: none may be 0")]
    Empty {
        /// Work-items of the grid.
        grid: [u32; 3],
        /// Work-items of a workgroup.
        workgroup: [u32; 3],
    },
    /// More work-items, or workgroups, than can be counted.
    #[error("a grid of {grid:?} in workgroups of {workgroup:?} is too large")]
    GridTooLarge {
        /// The grid asked for.
        grid: [u32; 3],
        /// The workgroup asked for.
        workgroup: [u32; 3],
    },
    /// A workgroup of more work-items than the kernel or the GPU allows.
    #[error("a workgroup of {work_items} work-items {workgroup:?}; the kernel allows {limit}")]
    WorkgroupTooLarge {
        /// Work-items of the workgroup.
        work_items: u64,
        /// By dimension.
        workgroup: [u32; 3],
        /// The most that are allowed.
        limit: u32,
    },
    /// A workgroup of another size than the kernel was compiled for.
    #[error("the kernel was compiled for workgroups of {required:?}, not {workgroup:?}")]
    WorkgroupMismatch {
        /// What was asked for.
        workgroup: [u32; 3],
        /// What the kernel needs.
        required: [u32; 3],
    },
    /// More LDS than there is.
    #[error("{fixed} bytes of static and {dynamic} bytes of dynamic LDS; a workgroup has {limit}")]
    LdsTooLarge {
        /// Static LDS of the kernel.
        fixed: u32,
        /// Dynamic LDS asked for.
        dynamic: u32,
        /// What there is.
        limit: u32,
    },
    /// More scratch than there is.
    #[error("{private} bytes of scratch a work-item; the limit is {limit}")]
    ScratchTooLarge {
        /// Scratch that the kernel needs a lane.
        private: u32,
        /// What there is.
        limit: u32,
    },
    /// The kernarg segment is not in memory.
    #[error("the {size} bytes of kernel arguments at {address:#x} are not in a live allocation")]
    Kernarg {
        /// Its address.
        address: u64,
        /// Its bytes.
        size: u32,
    },
    /// No descriptor of a kernel that is loaded to this GPU is at the address that a packet names.
    #[error("no kernel of this GPU has its descriptor at {address:#x}")]
    KernelObject {
        /// The address.
        address: u64,
    },
    /// The arguments are longer than the kernel's.
    #[error("{given} bytes of arguments; the kernel takes {takes}")]
    Arguments {
        /// Bytes given.
        given: usize,
        /// Bytes that the explicit arguments take.
        takes: u32,
    },
    /// Waves of 32 lanes, or another feature that the GPU does not have.
    #[error("the GPU does not support {0}")]
    Unsupported(String),
}

impl FaultPlace {
    /// The place of the micro-operation `pc`.
    pub(crate) fn of(
        kernel: &Kernel,
        program: &Program,
        pc: u32,
        workgroup: [u32; 3],
        wave: u32,
        lane: Option<u32>,
    ) -> Self {
        let source = program.source_at(pc);
        let instruction = match &source.inst {
            Some(inst) => inst.to_string(),
            None => format!(".long {:#010x}", source.word),
        };
        Self {
            workgroup,
            wave,
            lane,
            pc: source.address,
            offset: source.address.wrapping_sub(kernel.inner.entry_address()) as i64,
            instruction,
            source: kernel.source_of(&[source.address]).pop().unwrap_or_default(),
            lds: None,
        }
    }
}

impl Fault {
    /// The address of the access to memory, if it was one.
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
                    // A member of a structure, or an element of an array, at null.
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

impl fmt::Display for FaultPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.workgroup;
        write!(f, "`{}` at {:#x} (entry {:+#x})", self.instruction, self.pc, self.offset)?;
        for (i, frame) in self.source.iter().enumerate() {
            write!(f, "{} {frame}", if i == 0 { "," } else { ", inlined into" })?;
        }
        write!(f, ", workgroup ({x}, {y}, {z}), wave {}", self.wave)?;
        match self.lane {
            Some(lane) => write!(f, ", lane {lane}"),
            None => Ok(()),
        }
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
            // Nothing is near null.
            _ if self.address().is_some_and(|address| address < 0x1000) => Ok(()),
            Some(nearest) => write!(f, "; the address is {nearest}"),
            None if matches!(self.kind, FaultKind::Memory { space: Space::Global, .. }) => {
                f.write_str("; nothing has been allocated")
            }
            None => Ok(()),
        }
    }
}
