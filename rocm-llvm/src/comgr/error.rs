//! The error type of [`comgr`](crate::comgr).

use std::fmt::{self, Write as _};

use crate::comgr::kind::Action;
use crate::comgr::version::Version;

/// The result of the functions of this module.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of this module. Input is checked before the C call.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Comgr, or a library that it depends on, could not be loaded.
    #[error("Comgr is not available: {0}")]
    Unavailable(Box<rocm_loader::Error>),

    /// The library with HIP's device header could not be loaded.
    #[error(
        "HIP's device header is not available: {}",
        .0.with_advice("to compile without it, use Options::no_hip_header and include headers of your own")
    )]
    NoHipHeader(Box<rocm_loader::Error>),

    /// A Comgr whose numbers for actions and languages are unknown, or do not match its name.
    #[error("{library} is Comgr {found} ({}), not {wanted}: these number actions and languages differently", releases(*found))]
    Numbering {
        /// The library's version.
        found: Version,
        /// The library.
        library: String,
        /// The versions with the library's name, and their releases.
        wanted: &'static str,
    },

    /// This Comgr lacks an action, a language, a kind of data or a function.
    #[error("Comgr {found} ({library}) does not support {what}: {wanted} does")]
    NotSupported {
        /// What was requested.
        what: String,
        /// The versions that have it.
        wanted: &'static str,
        /// The library's version.
        found: Version,
        /// The library.
        library: String,
    },

    /// An architecture unknown to this Comgr.
    #[error("Comgr {found} does not know the architecture {asked:?}: it knows {}", known.join(", "))]
    UnknownIsa {
        /// The architecture, as it was given.
        asked: String,
        /// The library's version.
        found: Version,
        /// The architectures that it knows.
        known: Vec<String>,
    },

    /// Invalid input. Comgr was not called with it.
    #[error("{what}: {reason}")]
    Input {
        /// Which input.
        what: String,
        /// What is wrong with it.
        reason: String,
    },

    /// An action failed: the compiler, linker or disassembler rejected its input.
    #[error("{}", action_text(*action, isa.as_deref(), inputs, status, log))]
    Action {
        /// The action.
        action: Action,
        /// The architecture, if there was one.
        isa: Option<String>,
        /// The names of the inputs.
        inputs: Vec<String>,
        /// Comgr's status.
        status: String,
        /// The messages of the compiler.
        log: String,
    },

    /// A function of Comgr failed.
    #[error("{function} of Comgr ({library}) failed with {status}: {what}")]
    Call {
        /// The function.
        function: &'static str,
        /// The input of the call.
        what: String,
        /// Comgr's status.
        status: String,
        /// The library.
        library: String,
    },
}

/// Same as [`Display`](fmt::Display), because `unwrap` and a `main` that returns the error print it with `Debug`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error {
    /// Returns whether Comgr is not available on this machine, as opposed to a request that failed.
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }

    /// Returns the messages of the compiler, if it was reached.
    pub fn log(&self) -> Option<&str> {
        match self {
            Self::Action { log, .. } => Some(log),
            _ => None,
        }
    }

    pub(crate) fn input(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Input { what: what.into(), reason: reason.into() }
    }
}

/// Returns the releases that have a version.
fn releases(version: Version) -> &'static str {
    match version.major {
        2 => "ROCm 5.7 to 6.3",
        3 => "ROCm 6.4 and newer",
        _ => "of no known release",
    }
}

fn action_text(action: Action, isa: Option<&str>, inputs: &[String], status: &str, log: &str) -> String {
    let mut text = format!("cannot {action} {}", inputs.join(", "));
    if let Some(isa) = isa {
        let _ = write!(text, " for {isa}");
    }
    match log.trim_end() {
        "" => _ = write!(text, ": Comgr returned {status} and no message"),
        log => _ = write!(text, ":\n{log}"),
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_is_the_text() {
        assert_eq!(format!("{:?}", Error::input("a.hip", "it is empty")), "a.hip: it is empty");
    }
}
