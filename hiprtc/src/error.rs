//! The error type: the cause, and the operation that was requested.

use std::ffi::CString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use hip::Arch;
use hiprtc_sys::{HIPRTC_SUCCESS, hiprtcResult};

use crate::diagnostic::Diagnostic;
use crate::link::LinkInput;

/// The result of the functions of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of this crate. Input is checked before the C call.
#[derive(Clone)]
#[non_exhaustive]
#[doc(alias("hiprtcResult", "nvrtcResult", "hiprtcGetErrorString", "nvrtcGetErrorString"))]
pub enum Error {
    /// No HIPRTC library could be loaded.
    NoHiprtc(Box<rocm_loader::Error>),

    /// HIPRTC is available, but the compiler behind it is not; a call would terminate the process.
    NoComgr {
        /// The HIPRTC library.
        hiprtc: PathBuf,
        /// The Comgr library that it needs.
        comgr: String,
        /// Why it could not be loaded: it is missing, or a library that it depends on is, such as libLLVM.
        reason: Box<rocm_loader::Error>,
    },

    /// No NVRTC library, which compiles for NVIDIA's GPUs, could be loaded.
    NoNvrtc {
        /// Every file and name that was tried, and why it was not used.
        report: String,
    },

    /// An operation that the compiler for the architecture does not support.
    Unsupported {
        /// The operation.
        what: &'static str,
        /// The reason.
        reason: &'static str,
    },

    /// No architecture was given, and no device is available to determine it.
    NoArch(Box<hip::Error>),

    /// A string that is not the name of an architecture.
    InvalidArch {
        /// The string.
        given: String,
    },

    /// An architecture that the installed compiler does not support.
    UnsupportedArch {
        /// The requested architecture.
        arch: Arch,
        /// The processors that the compiler supports.
        known: Vec<String>,
    },

    /// A string that contains a NUL, which C strings cannot.
    Nul {
        /// Which string.
        what: String,
        /// Byte position of the NUL.
        position: usize,
    },

    /// An empty string that must not be empty.
    Empty {
        /// Which string.
        what: String,
    },

    /// An invalid option.
    InvalidOption {
        /// The option.
        option: String,
        /// Why it is invalid.
        reason: &'static str,
    },

    /// The source does not compile. [`log`](Self::log) returns the compiler's messages.
    Compilation {
        /// The program's name.
        name: String,
        /// The target architecture.
        arch: Arch,
        /// The options.
        options: Box<[String]>,
        /// The compiler's messages.
        log: String,
    },

    /// The compiler succeeded, but its output is not a code object.
    NotCode {
        /// The program's name.
        name: String,
        /// The options.
        options: Vec<String>,
        /// Size of the output in bytes.
        size: usize,
    },

    /// An input that cannot be linked: it is empty, truncated, of another kind, or for another architecture.
    LinkInput {
        /// Its name.
        name: String,
        /// The kind that was given.
        kind: LinkInput,
        /// Why it cannot be linked.
        reason: String,
    },

    /// The linker failed.
    Link(Box<LinkError>),

    /// HIPRTC links for the current device of ROCm's HIP runtime, and the device is one of `hip`'s embedded runtime.
    EmbeddedRuntime,

    /// Kernels cannot be built ([`build`](crate::build)).
    Build {
        /// The source.
        source: PathBuf,
        /// Why.
        reason: String,
    },

    /// A file that cannot be read or written.
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: Arc<io::Error>,
    },

    /// A name that was not requested with [`Program::name_expression`](crate::Program::name_expression) before
    /// compiling.
    UnknownName {
        /// The expression.
        expression: String,
        /// The requested expressions.
        known: Vec<String>,
    },

    /// Another call of HIPRTC failed.
    Hiprtc(HiprtcError),

    /// Bytes that are not a bundle, or a damaged bundle.
    InvalidBundle(String),

    /// A bundle without code for the device.
    NoCodeFor {
        /// The requested architecture.
        arch: Arch,
        /// The architectures in the bundle.
        available: Vec<String>,
    },

    /// No compiler is available, and the bundle has no usable code.
    Neither {
        /// Why no compiler is available.
        compiler: Box<Error>,
        /// Why the bundle is not usable.
        bundle: Box<Error>,
    },

    /// A call of the HIP runtime failed, such as loading code.
    Hip(hip::Error),
}

impl Error {
    /// Returns whether the cause is that no usable compiler is available, as opposed to invalid input.
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Self::NoHiprtc(_) | Self::NoComgr { .. } | Self::NoNvrtc { .. })
    }

    /// Returns the compiler's messages as values, if the source does not compile: file, line, column, severity.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        self.log().map_or_else(Vec::new, Diagnostic::parse)
    }

    /// Returns the compiler's messages if the source does not compile, or the linker's.
    pub fn log(&self) -> Option<&str> {
        match self {
            Self::Compilation { log, .. } => Some(log),
            Self::Link(error) => Some(&error.log),
            _ => None,
        }
    }
}

/// The same as [`Display`](fmt::Display), because `unwrap` and a `main` that returns the error print it with `Debug`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHiprtc(error) => write!(
                f,
                "no run-time compiler (HIPRTC) is available: {}",
                error.with_advice("to run without one, include kernels compiled ahead of time: hiprtc::compile_or_bundle")
            ),
            Self::NoComgr { hiprtc, comgr, reason } => write!(
                f,
                "HIPRTC ({}) cannot compile: its compiler, {comgr}, cannot be loaded: {reason}",
                hiprtc.display()
            ),
            Self::NoNvrtc { report } => write!(
                f,
                "no run-time compiler for NVIDIA's GPUs (NVRTC of CUDA 12 or 13) is available: install CUDA's toolkit, \
                 or name the library: HIPRTC_NVRTC=/path/libnvrtc.so.13\n{report}"
            ),
            Self::Unsupported { what, reason } => write!(f, "{what} is not supported: {reason}"),
            Self::NoArch(error) => write!(
                f,
                "no architecture was given, and no device is available to determine it: {error}\n\
                 To compile without a device, name the architecture: Program::arch(\"gfx90a\")"
            ),
            Self::InvalidArch { given } => write!(
                f,
                "{given:?} is not an architecture: expected a processor, with or without features, such as gfx90a or \
                 gfx90a:sramecc+:xnack-, or with the feature `nvidia` of `hiprtc`, NVIDIA's, such as sm_90"
            ),
            Self::UnsupportedArch { arch, known } => write!(
                f,
                "the compiler does not support {arch}, or not with these features: it supports {}",
                listed(known)
            ),
            Self::Nul { what, position } => write!(f, "{what} contains a NUL at byte {position}"),
            Self::Empty { what } => write!(f, "{what} is empty"),
            Self::InvalidOption { option, reason } => write!(f, "option {option:?}: {reason}"),
            Self::Compilation { name, arch, options, log } => {
                write!(f, "{name} does not compile for {arch} (options: {}):\n{log}", options.join(" "))
            }
            Self::NotCode { name, options, size } => write!(
                f,
                "{name}: the compiler's output ({size} bytes) is not a code object; one of the options requests another output \
                 (options: {})",
                options.join(" ")
            ),
            Self::LinkInput { name, kind, reason } => write!(f, "{name} cannot be linked as {kind:?}: {reason}"),
            Self::Link(error) => error.fmt(f),
            Self::EmbeddedRuntime => f.write_str(
                "HIPRTC links for the current device of ROCm's HIP runtime, and the device is one of the embedded runtime \
                 (hip's feature `sim`): use AMD's runtime, on a GPU or with the command hip-sim",
            ),
            Self::Build { source, reason } => write!(f, "{}: {reason}", source.display()),
            Self::File { path, reason } => write!(f, "{}: {reason}", path.display()),
            Self::UnknownName { expression, known } => write!(
                f,
                "no lowered name for {expression:?}: request it with name_expression before compiling; requested: {}",
                listed(known)
            ),
            Self::Hiprtc(error) => error.fmt(f),
            Self::InvalidBundle(reason) => write!(f, "not a valid code object bundle: {reason}"),
            Self::NoCodeFor { arch, available } => {
                write!(f, "the bundle has no code for {arch}, only for {}", listed(available))
            }
            Self::Neither { compiler, bundle } => write!(
                f,
                "no compiler is available, and the bundle cannot be used.\nThe bundle: {bundle}\nThe compiler: {compiler}"
            ),
            Self::Hip(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NoHiprtc(error) => Some(error.as_ref()),
            Self::NoComgr { reason, .. } => Some(reason),
            Self::NoArch(error) => Some(error),
            Self::Neither { compiler, .. } => Some(compiler),
            // The message of this error contains the text of these, so they have no source.
            Self::Hiprtc(error) => error.source(),
            Self::Hip(error) => error.source(),
            Self::File { reason, .. } => reason.source(),
            _ => None,
        }
    }
}

impl From<hip::Error> for Error {
    fn from(error: hip::Error) -> Self {
        Self::Hip(error)
    }
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Returns an error unless the call succeeded.
pub(crate) fn ok(status: hiprtcResult, function: &'static str, asked: impl FnOnce() -> String) -> Result<()> {
    if status == HIPRTC_SUCCESS { Ok(()) } else { Err(Error::Hiprtc(HiprtcError { status, function, asked: asked() })) }
}

/// Converts a string to a C string.
pub(crate) fn c_string(what: &str, text: &str) -> Result<CString> {
    CString::new(text).map_err(|error| Error::Nul { what: what.to_owned(), position: error.nul_position() })
}

/// A failed call of HIPRTC, or of NVRTC.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HiprtcError {
    /// The returned status.
    pub status: hiprtcResult,
    /// The C function.
    pub function: &'static str,
    /// What was requested.
    pub asked: String,
}

/// Same as [`Display`](fmt::Display), because `unwrap` and a `main` that returns the error print it with `Debug`.
impl fmt::Debug for HiprtcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for HiprtcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // NVRTC's statuses have the same numbers.
        let name = format!("{:?}", self.status);
        let name = if self.function.starts_with("nvrtc") { name.replacen("HIPRTC", "NVRTC", 1) } else { name };
        write!(f, "{} failed ({}): {name} ({})", self.function, self.asked, self.status.0)
    }
}

impl std::error::Error for HiprtcError {}

/// A failure of the linker.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkError {
    /// The target architecture.
    pub arch: Arch,
    /// The names of the inputs.
    pub inputs: Vec<String>,
    /// The options.
    pub options: Vec<String>,
    /// The linker's messages. HIPRTC up to ROCm 7.2 has none: they are those of Comgr, which links the inputs again. Empty if it does
    /// not fail too.
    pub log: String,
    /// What is wrong with the installation, if anything.
    pub hint: Option<String>,
}

/// Same as [`Display`](fmt::Display), because `unwrap` and a `main` that returns the error print it with `Debug`.
impl fmt::Debug for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "linking {} for {} failed", self.inputs.join(", "), self.arch)?;
        if !self.options.is_empty() {
            write!(f, " (options: {})", self.options.join(" "))?;
        }
        if let (Some(hint), "") = (&self.hint, self.log.as_str()) {
            write!(f, ": {hint}")
        } else if self.log.is_empty() {
            f.write_str(
                ". HIPRTC gave no reason: start the program with AMD_COMGR_REDIRECT_LOGS=stderr to see the linker's messages",
            )
        } else {
            write!(f, ":\n{}", self.log)
        }
    }
}

impl std::error::Error for LinkError {}

#[cfg(test)]
mod tests {
    use hiprtc_sys::HIPRTC_ERROR_OUT_OF_MEMORY;

    use super::*;

    /// Clippy warns users of functions that return larger errors, such as their build scripts.
    #[test]
    fn errors_are_not_large() {
        assert!(size_of::<Error>() < 128, "{}", size_of::<Error>());
    }

    #[test]
    fn debug_is_the_text() {
        let failed = || HiprtcError {
            status: HIPRTC_ERROR_OUT_OF_MEMORY,
            function: "hiprtcCreateProgram",
            asked: "x.hip".to_owned(),
        };
        let text = "hiprtcCreateProgram failed (x.hip): HIPRTC_ERROR_OUT_OF_MEMORY (1)";
        assert_eq!(
            (format!("{:?}", failed()), format!("{:?}", Error::Hiprtc(failed()))),
            (text.to_owned(), text.to_owned())
        );
        let other = HiprtcError { function: "nvrtcCreateProgram", ..failed() };
        assert_eq!(other.to_string(), text.replace("HIPRTC", "NVRTC").replace("hiprtc", "nvrtc"));
        let link = LinkError {
            arch: "gfx90a".parse().unwrap(),
            inputs: vec!["a.bc".to_owned()],
            options: Vec::new(),
            log: "undefined symbol: twice".to_owned(),
            hint: None,
        };
        assert_eq!(format!("{link:?}"), "linking a.bc for gfx90a failed:\nundefined symbol: twice");
    }
}
