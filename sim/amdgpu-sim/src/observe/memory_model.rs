//! The kinds of accesses in the memory model of the race check, and which of them conflict.

use super::access::{self, Touch};
use crate::fault::{Access, Space};
use crate::isa::Arch;

/// The kind of an access in the memory model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Read,
    CoherentRead,
    Write,
    CoherentWrite,
    Update,
}

impl Kind {
    #[inline]
    pub(super) fn of(touch: &Touch, arch: Arch, polls: bool) -> Self {
        // For LDS the coherence bits have no meaning: they occur where the compiler did not know the kind of memory.
        match (touch.kind, if touch.space == Space::Lds { polls } else { touch.coherent }) {
            (access::Kind::Read, false) => Self::Read,
            (access::Kind::Read, true) => Self::CoherentRead,
            (access::Kind::Write, true) if arch != Arch::Gfx90a => Self::CoherentWrite,
            (access::Kind::Write, _) => Self::Write,
            (access::Kind::Update, _) => Self::Update,
        }
    }

    pub(super) fn reads_only(self) -> bool {
        matches!(self, Self::Read | Self::CoherentRead)
    }

    pub(super) fn is_atomic(self) -> bool {
        !matches!(self, Self::Read | Self::Write)
    }
}

impl Kind {
    /// Its name in reports.
    pub(super) fn access(self) -> Access {
        match self {
            Self::Read | Self::CoherentRead => Access::Read,
            Self::Write | Self::CoherentWrite => Access::Write,
            Self::Update => Access::Atomic,
        }
    }
}

/// Returns whether two unordered accesses are a race.
#[inline]
pub(super) fn conflict(arch: Arch, space: Space, a: Kind, b: Kind) -> bool {
    if a.reads_only() && b.reads_only() || a.is_atomic() && b.is_atomic() {
        return false;
    }
    // A store that may be atomic, which cannot be determined.
    let atomic_store = |a: Kind, b: Kind| match space {
        Space::Lds => a == Kind::Write && b == Kind::CoherentRead,
        Space::Global => arch == Arch::Gfx90a && a == Kind::Write && b.is_atomic(),
        Space::Private => false,
    };
    !atomic_store(a, b) && !atomic_store(b, a)
}
