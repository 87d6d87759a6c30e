//! Errors.

use std::fmt;

/// The result of nearly every function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason that a function of this crate failed. Everything that can be checked is checked before the C call.
#[derive(Clone)]
#[non_exhaustive]
pub enum Error {
    /// OpenGL cannot be used: no context is current, it is on another GPU, or the OpenGL library does not support
    /// sharing.
    OpenGl {
        /// The operation.
        what: &'static str,
        /// The reason, and what to do.
        reason: String,
    },
    /// Invalid input, found before the C call.
    Invalid {
        /// The invalid argument.
        what: &'static str,
        /// Its value.
        value: String,
        /// The allowed values.
        allowed: String,
    },
    /// An error of `hip`: a call of the HIP runtime, memory, streams, devices.
    Hip(hip::Error),
}

impl Error {
    /// Returns the error for an operation that is not possible with OpenGL, and the reason.
    pub(crate) fn open_gl(what: &'static str, reason: impl Into<String>) -> Self {
        Self::OpenGl { what, reason: reason.into() }
    }

    /// Returns the HIP runtime's status, if it returned one.
    #[must_use]
    pub fn status(&self) -> Option<hip::Status> {
        match self {
            Self::Hip(error) => error.status(),
            _ => None,
        }
    }
}

/// The same output as [`Display`](fmt::Display): a program whose `main` returns the error prints it this way, and so
/// does `unwrap`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpenGl { what, reason } => write!(f, "{what}: {reason}"),
            Self::Invalid { what, value, allowed } => write!(f, "{what} is {value}, but must be {allowed}"),
            Self::Hip(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Hip(error) => Some(error),
            _ => None,
        }
    }
}

impl From<hip::Error> for Error {
    fn from(error: hip::Error) -> Self {
        Self::Hip(error)
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn errors_say_what_and_why_and_lead_to_hips() {
        let refused = Error::open_gl("mapping an OpenGL object", "no context");
        assert_eq!((refused.to_string(), refused.status()), ("mapping an OpenGL object: no context".to_owned(), None));
        let (value, allowed) = ("0".to_owned(), "a name".to_owned());
        assert_eq!(format!("{:?}", Error::Invalid { what: "x", value, allowed }), "x is 0, but must be a name");
        let from = Error::from(hip::Error::NoDevice);
        assert_eq!(from.status(), Some(hip::Status::NO_DEVICE));
        assert!(from.source().is_some() && refused.source().is_none());
    }
}
