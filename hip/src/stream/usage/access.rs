//! Accesses of queued work to memory.

use smallvec::SmallVec;

use super::Usage;
use super::kind::AccessKind;
use super::span::Span;

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
