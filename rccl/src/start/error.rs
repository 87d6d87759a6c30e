//! Errors of starting ranks.

use std::fmt;
use std::time::Duration;

/// The reason that the ranks of a program did not find each other.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A variable that a launcher sets is missing, or has an invalid value.
    Environment {
        /// The variable.
        variable: String,
        /// Its value, if it is set.
        value: Option<String>,
        /// The required value.
        needed: String,
    },
    /// Ranks did not connect before the deadline.
    Missing {
        /// The missing ranks.
        ranks: Vec<usize>,
        /// The total number of ranks.
        size: usize,
        /// The length of the wait.
        waited: Duration,
    },
    /// The hub could not be reached, or the connection to it broke.
    Connection {
        /// Its address.
        address: String,
        /// The reason.
        reason: String,
    },
    /// The hub rejected this rank.
    Refused {
        /// Its address.
        address: String,
        /// The reason.
        reason: String,
    },
    /// MPI is not available, or returned an error.
    #[cfg(feature = "mpi")]
    #[cfg_attr(docsrs, doc(cfg(feature = "mpi")))]
    Mpi {
        /// The reason.
        reason: String,
    },
}

impl Error {
    pub(crate) fn environment(variable: &str, value: Option<String>, needed: impl Into<String>) -> Self {
        Self::Environment { variable: variable.to_owned(), value, needed: needed.into() }
    }

    #[cfg(feature = "mpi")]
    pub(crate) fn mpi(reason: impl Into<String>) -> Self {
        Self::Mpi { reason: reason.into() }
    }

    pub(crate) fn connection(address: &str, reason: impl fmt::Display) -> Self {
        Self::Connection { address: address.to_owned(), reason: reason.to_string() }
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
            Self::Environment { variable, value: Some(value), needed } => {
                write!(f, "the variable {variable} is {value:?}, but must be {needed}")
            }
            Self::Environment { variable, value: None, needed } => {
                write!(f, "the variable {variable} is not set: {needed}")
            }
            Self::Missing { ranks, size, waited } => {
                let ranks: Vec<String> = ranks.iter().map(usize::to_string).collect();
                write!(f, "of {size} ranks, these did not come within {waited:?}: {}", ranks.join(", "))
            }
            Self::Connection { address, reason } => write!(f, "no connection with the hub at {address}: {reason}"),
            Self::Refused { address, reason } => write!(f, "the hub at {address} refused this rank: {reason}"),
            #[cfg(feature = "mpi")]
            Self::Mpi { reason } => write!(f, "MPI: {reason}"),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_is_the_text() {
        let error = Error::connection("host:1", "refused");
        assert_eq!(format!("{error:?}"), "no connection with the hub at host:1: refused");
        assert_eq!(format!("{:?}", crate::Error::Start(error)), "no connection with the hub at host:1: refused");
    }
}
