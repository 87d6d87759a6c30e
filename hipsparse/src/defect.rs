//! What can be wrong with index arrays.

use std::fmt;

/// A defect of the index arrays of a sparse matrix or vector. Positions and indices count from zero, regardless of the
/// base.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Defect {
    /// The first offset is not the base.
    FirstOffset {
        /// The offset minus the base.
        found: i64,
    },
    /// The last offset is not the number of entries.
    LastOffset {
        /// The offset minus the base.
        found: i64,
        /// Number of entries.
        entries: usize,
    },
    /// An offset is less than the one before.
    OffsetDecreases {
        /// The row of CSR and BSR, or the column of CSC, whose end is before its start.
        line: usize,
    },
    /// An index is outside the matrix.
    OutOfRange {
        /// The position in the index array.
        position: usize,
        /// The index minus the base.
        found: i64,
        /// The number of rows or columns.
        size: usize,
    },
    /// An entry must come before the one at the previous position.
    Unsorted {
        /// The position in the index array.
        position: usize,
    },
    /// An entry has the same position in the matrix as the previous one.
    Duplicate {
        /// The position in the index array.
        position: usize,
    },
}

impl Defect {
    /// Returns whether a kernel could access memory outside the matrix because of the defect. The other defects are
    /// only errors for calls that need sorted entries.
    #[must_use]
    pub fn is_unsafe(&self) -> bool {
        !matches!(self, Self::Unsorted { .. } | Self::Duplicate { .. })
    }
}

/// Same as [`Display`](fmt::Display), because `unwrap` and a `main` that returns the error print it with `Debug`.
impl fmt::Debug for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FirstOffset { found } => {
                write!(f, "the first offset is {found} above the base, but must be the base")
            }
            Self::LastOffset { found, entries } => {
                write!(f, "the last offset is {found} above the base, but there are {entries} entries")
            }
            Self::OffsetDecreases { line } => write!(f, "row or column {line} ends before it starts"),
            Self::OutOfRange { position, found, size } => {
                write!(f, "column or row index {found} at position {position} is not in 0..{size}")
            }
            Self::Unsorted { position } => {
                write!(f, "the entry at position {position} belongs before the one before it")
            }
            Self::Duplicate { position } => write!(f, "the entry at position {position} is there twice"),
        }
    }
}

impl std::error::Error for Defect {}
