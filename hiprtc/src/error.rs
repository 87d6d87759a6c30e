//! What can go wrong, and what was asked for when it did.

use std::fmt;
use std::path::PathBuf;

use hip::Arch;
use hiprtc_sys::hiprtcResult;

/// The result of the functions of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a function of this crate failed. Whatever can be checked is checked before the C call.
#[derive(Clone)]
#[non_exhaustive]
pub enum Error {
    /// No HIPRTC library could be loaded.
    NoHiprtc(rocm_sdk::Error),

    /// HIPRTC is there, but the compiler behind it is not; a call would end the process.
    NoComgr {
        /// The HIPRTC library.
        hiprtc: PathBuf,
        /// The Comgr library that it needs.
        comgr: String,
        /// Why it could not be loaded: not there, or a library missing that it needs itself, such as libLLVM.
        reason: Box<rocm_sdk::Error>,
    },

    /// No architecture was given, and there is no device to take it from.
    NoArch(Box<hip::Error>),

    /// Something that is not the name of an architecture.
    InvalidArch {
        /// What was given.
        given: String,
    },

    /// An architecture that the compiler found does not know.
    UnsupportedArch {
        /// What was asked for.
        arch: Arch,
        /// The processors that it knows.
        known: Vec<String>,
    },

    /// A text with a NUL in it, which C cannot be given.
    Nul {
        /// Which text.
        what: String,
        /// Where.
        position: usize,
    },

    /// An empty text where one is needed.
    Empty {
        /// Which text.
        what: String,
    },

    /// An option that cannot be.
    InvalidOption {
        /// The option.
        option: String,
        /// What is wrong with it.
        reason: &'static str,
    },

    /// The source does not compile. [`log`](Self::log) has what the compiler says.
    Compilation {
        /// The program's name.
        name: String,
        /// What it was compiled for.
        arch: Arch,
        /// The options.
        options: Vec<String>,
        /// The compiler's messages.
        log: String,
    },

    /// The compiler was content, but what it made is no code object.
    NotCode {
        /// The program's name.
        name: String,
        /// The options.
        options: Vec<String>,
        /// Bytes that were made.
        size: usize,
    },

    /// A name that was not asked for with [`Program::name_expression`](crate::Program::name_expression) before compiling.
    UnknownName {
        /// The expression.
        expression: String,
        /// Those that were asked for.
        known: Vec<String>,
    },

    /// HIPRTC refused something else.
    Hiprtc(HiprtcError),

    /// Bytes that are no bundle, or a damaged one.
    InvalidBundle(String),

    /// A bundle without code for the device.
    NoCodeFor {
        /// What was asked for.
        arch: Arch,
        /// What the bundle has.
        available: Vec<String>,
    },

    /// Neither the compiler nor the bundle could give code.
    Neither {
        /// Why nothing could be compiled.
        compiler: Box<Error>,
        /// Why the bundle was of no use.
        bundle: Box<Error>,
    },

    /// The HIP runtime failed: loading code, for instance.
    Hip(hip::Error),
}

impl Error {
    /// Whether there is no usable compiler on this machine, rather than something wrong with what it was asked.
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Self::NoHiprtc(_) | Self::NoComgr { .. })
    }

    /// The compiler's messages, if the source does not compile.
    pub fn log(&self) -> Option<&str> {
        match self {
            Self::Compilation { log, .. } => Some(log),
            _ => None,
        }
    }
}

/// As [`Display`](fmt::Display): a program whose `main` returns the error prints it this way, and so does `unwrap`.
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
                "no run-time compiler (HIPRTC): {error}\nto do without, ship compiled kernels: hiprtc::compile_or_bundle"
            ),
            Self::NoComgr { hiprtc, comgr, reason } => write!(
                f,
                "HIPRTC ({}) cannot compile: {comgr}, the compiler behind it, cannot be loaded: {reason}",
                hiprtc.display()
            ),
            Self::NoArch(error) => write!(
                f,
                "no architecture was given, and no device has one to give: name one, such as Program::arch(\"gfx90a\"). \
                 The device: {error}"
            ),
            Self::InvalidArch { given } => write!(
                f,
                "{given:?} is not an architecture: a processor with features is wanted, such as gfx90a or \
                 gfx90a:sramecc+:xnack-"
            ),
            Self::UnsupportedArch { arch, known } => write!(
                f,
                "the compiler does not know {arch}, or not with these features: it compiles for {}",
                listed(known)
            ),
            Self::Nul { what, position } => write!(f, "{what} has a NUL at byte {position}"),
            Self::Empty { what } => write!(f, "{what} is empty"),
            Self::InvalidOption { option, reason } => write!(f, "option {option:?}: {reason}"),
            Self::Compilation { name, arch, options, log } => {
                write!(f, "{name} does not compile for {arch} (options: {}):\n{log}", options.join(" "))
            }
            Self::NotCode { name, options, size } => write!(
                f,
                "{name}: the compiler made {size} bytes that are no code object; an option asks for something else \
                 (options: {})",
                options.join(" ")
            ),
            Self::UnknownName { expression, known } => write!(
                f,
                "no lowered name for {expression:?}: it has to be asked for before compiling; known are {}",
                listed(known)
            ),
            Self::Hiprtc(error) => error.fmt(f),
            Self::InvalidBundle(reason) => write!(f, "not a usable code object bundle: {reason}"),
            Self::NoCodeFor { arch, available } => {
                write!(f, "no code for {arch} in the bundle: it has {}", listed(available))
            }
            Self::Neither { compiler, bundle } => write!(
                f,
                "there is neither a compiler nor code in the bundle.\nThe bundle: {bundle}\nThe compiler: {compiler}"
            ),
            Self::Hip(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NoHiprtc(error) => Some(error),
            Self::NoComgr { reason, .. } => Some(reason),
            Self::NoArch(error) => Some(error),
            Self::Neither { compiler, .. } => Some(compiler),
            // The texts of these are this error's own.
            Self::Hiprtc(error) => error.source(),
            Self::Hip(error) => error.source(),
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

/// A call into HIPRTC that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HiprtcError {
    /// The status that came back.
    pub status: hiprtcResult,
    /// The C function.
    pub function: &'static str,
    /// What was asked of it.
    pub asked: String,
}

impl fmt::Display for HiprtcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} failed ({}): {:?} ({})", self.function, self.asked, self.status, self.status.0)
    }
}

impl std::error::Error for HiprtcError {}
