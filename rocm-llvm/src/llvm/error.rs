//! Errors, and LLVM's diagnostics.

use std::fmt;
use std::path::PathBuf;

use super::version::Version;

/// The result of this module's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// How serious a [`Diagnostic`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Severity {
    /// A note that belongs to another diagnostic.
    Note,
    /// A remark of an optimisation.
    Remark,
    /// A warning.
    Warning,
    /// An error: the operation that reported it fails.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Note => "note",
            Self::Remark => "remark",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// A message that LLVM reported to its context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How serious it is.
    pub severity: Severity,
    /// LLVM's text, with a location in the source if available.
    pub message: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.severity, self.message)
    }
}

/// The owner of an operand that does not belong to the object it was used in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mixed {
    /// Another context.
    Context,
    /// Another module of the context.
    Module,
    /// Another function of the module.
    Function,
}

impl fmt::Display for Mixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Context => "context",
            Self::Module => "module",
            Self::Function => "function",
        })
    }
}

/// An error of the module [`llvm`](crate::llvm).
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No LLVM was found in any place searched.
    #[error(
        "LLVM was not found; install ROCm or Rust's rustc, or name a library with llvm::Library::open. Tried:\n{}",
        tried.join("\n")
    )]
    NotFound {
        /// Every place tried, and why it was not used.
        tried: Vec<String>,
    },
    /// The library could not be opened.
    #[error(transparent)]
    Open(#[from] rocm_loader::Error),
    /// The library is older than the interface that this crate declares.
    #[error("{path} is LLVM {}; LLVM {OLDEST} or newer is needed", found.map_or("15 or older".to_owned(), |v| v.to_string()))]
    TooOld {
        /// The library.
        path: String,
        /// Its version, which LLVM reports since LLVM 16.
        found: Option<Version>,
    },
    /// The process already uses another LLVM. There is one per process.
    #[error("{wanted} cannot be used: this process already uses {current}")]
    InUse {
        /// The library asked for.
        wanted: String,
        /// The library in use.
        current: String,
    },
    /// The library lacks a function.
    #[error("{function} is missing from {library} (LLVM {found}): {}", needed(*since))]
    MissingFunction {
        /// The function.
        function: String,
        /// The library.
        library: String,
        /// The library's version.
        found: Version,
        /// The first LLVM that has it, if it is known.
        since: Option<u32>,
    },
    /// The LLVM in use was built without the code generator for AMD GPUs.
    #[error("{library} was built without the target AMDGPU: use ROCm's LLVM, the system's, or a Rust toolchain's")]
    NoAmdgpu {
        /// The library.
        library: String,
    },
    /// The LLVM in use was built without the code generator for the processor of this machine.
    #[error("{library} was built without the target of this machine ({})", std::env::consts::ARCH)]
    NoHost {
        /// The library.
        library: String,
    },
    /// The just-in-time compiler failed.
    #[error("{operation}: {message}")]
    Jit {
        /// The operation.
        operation: &'static str,
        /// LLVM's messages.
        message: String,
    },
    /// A string contains a NUL byte, which terminates C strings.
    #[error("{what} contains a null byte at {at}")]
    Null {
        /// The kind of string.
        what: &'static str,
        /// The position of the NUL byte.
        at: usize,
    },
    /// An operand belongs to another context, module or function.
    #[error("{operation}: an operand belongs to another {other}")]
    Mixed {
        /// The operation.
        operation: &'static str,
        /// The owner of the operand.
        other: Mixed,
    },
    /// An operand has the wrong type.
    #[error("{operation}: expected {expected}, found {found}")]
    Type {
        /// The operation.
        operation: &'static str,
        /// The required type.
        expected: String,
        /// The type found.
        found: String,
    },
    /// An operation is not possible with these arguments, or at this place.
    #[error("{operation}: {why}")]
    Invalid {
        /// The operation.
        operation: &'static str,
        /// The reason.
        why: String,
    },
    /// Text or bitcode is not a valid module.
    #[error("{name}: {message}")]
    Parse {
        /// The name given to the input.
        name: String,
        /// LLVM's message, with line and column for text.
        message: String,
    },
    /// A module is not valid.
    #[error("module {module} is not valid: {message}")]
    Verify {
        /// The module's name.
        module: String,
        /// The verifier's message.
        message: String,
    },
    /// Passes could not be run.
    #[error("passes `{passes}`: {message}")]
    Passes {
        /// The pipeline asked for.
        passes: String,
        /// LLVM's message.
        message: String,
    },
    /// Modules could not be linked.
    #[error("module {module} cannot be linked into {into}: {message}")]
    LinkModules {
        /// The module to add.
        module: String,
        /// The module that it was to be added to.
        into: String,
        /// LLVM's message.
        message: String,
    },
    /// Code could not be generated.
    #[error("no code for {gpu} from module {module}: {}", list(diagnostics))]
    Emit {
        /// The module's name.
        module: String,
        /// The GPU.
        gpu: String,
        /// LLVM's errors.
        diagnostics: Vec<Diagnostic>,
    },
    /// LLVM gave up with a fatal error, after which it would have ended the process.
    ///
    /// The thread in which it occurred is parked forever, and the objects it worked on (a copy of the module, the
    /// context) are never freed.
    #[error("{operation}: fatal error in LLVM: {message}")]
    Fatal {
        /// The operation.
        operation: &'static str,
        /// LLVM's message.
        message: String,
    },
    /// LLVM does not know the GPU.
    #[error("{library} (LLVM {version}) does not know the GPU {gpu}{}", hint(gpu))]
    UnknownGpu {
        /// The GPU asked for.
        gpu: String,
        /// The library.
        library: String,
        /// Its version.
        version: Version,
    },
    /// LLVM does not know the target.
    #[error("unknown target {triple}: {message}")]
    UnknownTarget {
        /// The triple asked for.
        triple: String,
        /// LLVM's message.
        message: String,
    },
    /// LLVM does not know the intrinsic.
    #[error("{library} (LLVM {version}) has no intrinsic {name}")]
    UnknownIntrinsic {
        /// The name asked for.
        name: String,
        /// The library.
        library: String,
        /// Its version.
        version: Version,
    },
    /// Bytes are not an instruction of the GPU.
    #[error("no instruction of {gpu} at byte {at}: {bytes:02x?}")]
    Disassemble {
        /// The GPU.
        gpu: String,
        /// The place in the code.
        at: usize,
        /// The first bytes there.
        bytes: Vec<u8>,
    },
    /// A file is not an ELF file with code for AMD GPUs.
    #[error("not an ELF file for AMD GPUs: {why}")]
    Object {
        /// The reason.
        why: String,
    },
    /// No `ld.lld` was found.
    #[error("no lld was found; install ROCm, lld, or Rust's rustup component rustc (which has rust-lld). Tried:\n{}", tried.join("\n"))]
    NoLinker {
        /// Every place tried.
        tried: Vec<String>,
    },
    /// `lld` failed.
    #[error("{} failed ({status}): {message}", path.display())]
    Linker {
        /// The linker.
        path: PathBuf,
        /// Its exit status.
        status: String,
        /// Its output.
        message: String,
    },
    /// A file or a process could not be used.
    #[error("{what}: {message}")]
    Io {
        /// The attempted operation.
        what: String,
        /// The system's message.
        message: String,
    },
}

/// Same as [`Display`](fmt::Display), because `unwrap` and a `main` that returns the error print it with `Debug`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The oldest LLVM whose interface this crate declares.
pub(super) const OLDEST: u32 = 17;

fn needed(since: Option<u32>) -> String {
    match since {
        Some(llvm) => match rocm_of(llvm) {
            Some(rocm) => format!("LLVM {llvm} (ROCm {rocm}) or newer has it"),
            None => format!("LLVM {llvm} or newer has it"),
        },
        None => "no LLVM known to this crate has it".to_owned(),
    }
}

/// Returns the first ROCm release with this LLVM.
pub(super) fn rocm_of(llvm: u32) -> Option<&'static str> {
    Some(match llvm {
        17 => "5.7",
        18 => "6.2",
        19 => "6.4",
        20 => "7.0",
        21 => "7.1",
        22 => "7.2",
        23 => "10.0",
        _ => return None,
    })
}

fn hint(gpu: &str) -> &'static str {
    if gpu.starts_with("gfx") { ", or not with these features" } else { ": names are like gfx90a, gfx90a:xnack-" }
}

fn list(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(|d| d.message.as_str()).collect::<Vec<_>>().join("\n")
}

impl Error {
    pub(super) fn io(what: impl Into<String>, error: &std::io::Error) -> Self {
        Self::Io { what: what.into(), message: error.to_string() }
    }

    pub(super) fn invalid(operation: &'static str, why: impl Into<String>) -> Self {
        Self::Invalid { operation, why: why.into() }
    }

    pub(super) fn of_type(operation: &'static str, expected: impl fmt::Display, found: impl fmt::Display) -> Self {
        Self::Type { operation, expected: expected.to_string(), found: found.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_is_the_text() {
        assert_eq!(format!("{:?}", Error::Null { what: "a name", at: 3 }), "a name contains a null byte at 3");
    }
}
