//! Errors.

use std::ffi::{CStr, CString};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hip::interop::LibraryError;

use crate::raw::{self, ncclComm_t, ncclResult_t};

/// The result of nearly every function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason that a function of this crate failed. Everything that can be checked is checked before the C call.
#[derive(Clone)]
#[non_exhaustive]
pub enum Error {
    /// The library returned a status other than success.
    Library(Box<LibraryError>),
    /// The library could not be loaded.
    NoLibrary {
        /// Every path that was tried, with the result.
        report: String,
    },
    /// The loaded library lacks a function that was called.
    NoSymbol {
        /// The C function.
        function: &'static str,
        /// The loaded library, and the release that introduced the function.
        report: String,
    },
    /// Invalid input, found before the call.
    Invalid {
        /// The invalid argument.
        what: &'static str,
        /// Its value.
        value: String,
        /// The allowed values.
        allowed: String,
    },
    /// An error of `hip`: memory, streams, devices.
    Hip(hip::Error),
    /// An operation did not complete before its deadline. The communicator was aborted.
    Timeout {
        /// The length of the wait.
        waited: Duration,
        /// The rank and its call.
        context: Box<Context>,
    },
    /// Queued work failed: a peer is lost, or a connection broke. The communicator was aborted.
    Asynchronous {
        /// The library's error.
        error: Box<LibraryError>,
        /// The rank, and its last call.
        context: Box<Context>,
    },
    /// The communicator was aborted before.
    Aborted {
        /// The reason.
        reason: Arc<str>,
    },
    /// A call that is not allowed while a [`Group`](crate::Group) uses the communicator.
    InGroup {
        /// The call.
        what: &'static str,
    },
    /// Ranks made calls that do not match, found by [`Config::check_calls`](crate::Config::check_calls).
    Mismatch {
        /// The rank that found the mismatch.
        rank: usize,
        /// The call of each rank.
        calls: Vec<String>,
    },
    /// The ranks of a program did not find each other.
    Start(crate::start::Error),
}

/// The rank of an error, and its call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Context {
    /// This rank.
    pub rank: usize,
    /// Number of ranks.
    pub size: usize,
    /// The collective or other call: `all_reduce`, `init_rank`.
    pub call: &'static str,
    /// The rank argument of the call: the root, or the rank that is sent to or received from.
    pub peer: Option<usize>,
    /// Number of elements, type, operator.
    pub asked: String,
}

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rank, size, call, peer, asked } = self;
        write!(f, "{call} on rank {rank} of {size}")?;
        if let Some(peer) = peer {
            write!(f, ", with rank {peer}")?;
        }
        if asked.is_empty() { Ok(()) } else { write!(f, " ({asked})") }
    }
}

impl Error {
    pub(crate) fn invalid(what: &'static str, value: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self::Invalid { what, value: value.into(), allowed: allowed.into() }
    }

    /// Returns the library's status, if it returned one.
    #[must_use]
    pub fn status(&self) -> Option<ncclResult_t> {
        match self {
            Self::Library(error) | Self::Asynchronous { error, .. } => {
                u32::try_from(error.status).ok().map(ncclResult_t)
            }
            Self::NoLibrary { .. } => Some(raw::ncclSystemError),
            Self::NoSymbol { .. } => Some(raw::ncclInvalidUsage),
            _ => None,
        }
    }

    /// Returns whether the communicator is no longer usable. The remaining ranks can create a new one.
    #[must_use]
    pub fn ends_communicator(&self) -> bool {
        matches!(self, Self::Timeout { .. } | Self::Asynchronous { .. } | Self::Aborted { .. })
    }
}

/// Same as [`Display`](fmt::Display), because `unwrap` and a `main` that returns the error print it with `Debug`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library(error) => error.fmt(f),
            Self::NoLibrary { report } => write!(f, "RCCL could not be loaded: {report}"),
            Self::NoSymbol { function, report } => {
                write!(f, "{function} is not in the RCCL that was loaded: {report}")
            }
            Self::Invalid { what, value, allowed } => write!(f, "{what} is {value}, but must be {allowed}"),
            Self::Hip(error) => error.fmt(f),
            Self::Timeout { waited, context } => write!(
                f,
                "{context} was not done after {waited:?}: a rank is missing, has stopped, or made another call; the \
                 communicator was aborted"
            ),
            Self::Asynchronous { error, context } => {
                write!(f, "{context} failed, and the communicator was aborted: {error}")
            }
            Self::Aborted { reason } => write!(f, "the communicator was aborted before: {reason}"),
            Self::InGroup { what } => {
                write!(f, "{what} is refused while a group uses the communicator: end or drop the group first")
            }
            Self::Mismatch { rank, calls } => {
                write!(f, "the ranks' calls do not fit together (found by rank {rank}): ")?;
                for (other, call) in calls.iter().enumerate() {
                    write!(f, "{}rank {other}: {call}", if other == 0 { "" } else { "; " })?;
                }
                Ok(())
            }
            Self::Start(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Library(error) | Self::Asynchronous { error, .. } => Some(&**error),
            Self::Hip(error) => Some(error),
            Self::Start(error) => Some(error),
            _ => None,
        }
    }
}

impl From<hip::Error> for Error {
    fn from(error: hip::Error) -> Self {
        Self::Hip(error)
    }
}

impl From<crate::start::Error> for Error {
    fn from(error: crate::start::Error) -> Self {
        Self::Start(error)
    }
}

/// Returns `Ok` on success, and if work is in progress; otherwise an error with the request.
pub(crate) fn check(status: ncclResult_t, function: &'static str, asked: impl FnOnce() -> String) -> Result<()> {
    if status == raw::ncclSuccess || status == raw::IN_PROGRESS {
        return Ok(());
    }
    if status == raw::ncclSystemError {
        if let Some(report) = raw::load_error() {
            return Err(Error::NoLibrary { report: report.to_string() });
        }
    }
    if status == raw::ncclInvalidUsage {
        let name = CString::new(function).unwrap_or_default();
        if !raw::BINDING.has(&name) {
            if let Some(report) = raw::symbol_error(&name) {
                return Err(Error::NoSymbol { function, report: report.to_string() });
            }
        }
    }
    Err(Error::Library(Box::new(library_error(status, function, asked(), std::ptr::null_mut()))))
}

/// Makes an error of a status, with the library's description and its last message.
pub(crate) fn library_error(
    status: ncclResult_t,
    function: &'static str,
    asked: String,
    communicator: ncclComm_t,
) -> LibraryError {
    // SAFETY: takes no pointer, and returns a static string or null.
    let what = text(unsafe { raw::ncclGetErrorString(status) });
    // SAFETY: the communicator is alive or null; the text is copied immediately.
    let last = text(unsafe { raw::ncclGetLastError(communicator) });
    let description = if last.is_empty() { what } else { format!("{what}; {}", last.trim()) };
    LibraryError::new("RCCL", i64::from(status.0), format!("{status:?}"), function, asked).described(description)
}

fn text(pointer: *const std::ffi::c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: a string of the library.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}
