//! Accesses of queued work to memory.

use std::ffi::c_void;

use smallvec::SmallVec;

use super::Usage;
use crate::core::error::Result;

/// The kind of access to an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessKind {
    Read,
    /// Writes, and possibly reads too.
    Write,
}

/// One allocation that a piece of work touches.
#[derive(Clone, Copy)]
pub(crate) struct Access<'a> {
    pub(crate) usage: &'a Usage,
    pub(crate) kind: AccessKind,
    /// The addresses that the work touches, as far as known.
    pub(super) span: Span,
    /// The name of the content, if the work relies on content that was checked.
    pub(super) trusted: Option<&'static str>,
}

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

impl<'a> Access<'a> {
    pub(crate) fn new(usage: &'a Usage, kind: AccessKind) -> Self {
        Self { usage, kind, span: Span::ALL, trusted: None }
    }

    pub(crate) fn read(usage: &'a Usage) -> Self {
        Self::new(usage, usage.kind_of(AccessKind::Read))
    }

    /// Reads a part of the allocation whose content was checked, and relies on it. `what` names the content.
    pub(crate) fn read_trusted(usage: &'a Usage, span: Span, what: &'static str) -> Self {
        Self { span, trusted: Some(what), ..Self::read(usage) }
    }

    /// Returns the access of a kernel launch to the kernel's module.
    pub(crate) fn launch(module: &'a Usage) -> Self {
        Self::new(module, AccessKind::Read)
    }

    pub(crate) fn write(usage: &'a Usage) -> Self {
        Self::new(usage, AccessKind::Write)
    }

    /// Writes to a part of the allocation.
    pub(crate) fn write_span(usage: &'a Usage, span: Span) -> Self {
        Self { span, ..Self::write(usage) }
    }

    /// Returns `Ok` if the owner or borrower of the memory may perform the access now.
    pub(crate) fn expect_allowed(&self) -> Result<()> {
        match self.trusted {
            Some(what) if self.usage.is_in_graph() => self.usage.expect_unwritten(self.span, what),
            _ => self.usage.expect_allowed(self.kind, self.span),
        }
    }
}

/// The accesses of a piece of work, in any representation.
pub(crate) trait Accesses<'a>: Copy {
    /// Returns whether `test` holds for all of them. It stops at the first access that fails.
    fn all(self, test: impl FnMut(Access<'a>) -> bool) -> bool;

    /// Returns all of them.
    fn list(self) -> SmallVec<[Access<'a>; 8]> {
        let mut list = SmallVec::new();
        self.all(|access| {
            list.push(access);
            true
        });
        list
    }
}

impl<'a> Accesses<'a> for &[Access<'a>] {
    #[inline]
    fn all(self, mut test: impl FnMut(Access<'a>) -> bool) -> bool {
        self.iter().all(|access| test(*access))
    }
}
