//! Parts of allocations, by their addresses.

use std::ffi::c_void;

/// Addresses of a device from `start` to `end`, exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    start: usize,
    end: usize,
}

impl Span {
    /// The whole allocation.
    pub(crate) const ALL: Self = Self { start: 0, end: usize::MAX };

    pub(crate) fn new(start: *mut c_void, bytes: usize) -> Self {
        let start = start.addr();
        Self { start, end: start.saturating_add(bytes) }
    }

    pub(super) fn overlaps(self, other: Self) -> bool {
        self.start < other.end && other.start < self.end
    }
}

/// A part of an allocation whose content a graph relies on, and the name of the content.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Trusted {
    pub(super) span: Span,
    pub(super) what: &'static str,
}
