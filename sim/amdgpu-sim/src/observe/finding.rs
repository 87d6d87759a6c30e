//! What the checks report.

use std::fmt;

use crate::fault::{Access, FaultPlace, Space};
use crate::memory::Nearest;

/// Something that a check found. Its `Display` says everything that is known about it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Finding {
    /// The kernel's name.
    pub kernel: String,
    /// What was found.
    pub kind: FindingKind,
    /// Where it was found first: of two accesses the second.
    pub place: Box<FaultPlace>,
    /// The allocation that the address is in, for global memory.
    pub nearest: Option<Nearest>,
    /// How often the same was found at the same instructions.
    pub count: u64,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FindingKind {
    /// A read of memory that nothing has written.
    Uninitialized {
        /// What kind of memory.
        space: Space,
        /// The first byte that was never written.
        address: u64,
        /// Bytes of the read.
        bytes: u32,
        /// Whether it was an atomic operation, which reads too.
        access: Access,
    },
    /// Two accesses to the same bytes that nothing orders, at least one of them a write. By one wave if two of its lanes write different
    /// values in one instruction.
    Race {
        /// What kind of memory.
        space: Space,
        /// The first byte that both touch.
        address: u64,
        /// What the access at [`Finding::place`] did.
        access: Access,
        /// What the one before did.
        other_access: Access,
        /// Where the one before was.
        other: Box<FaultPlace>,
    },
    /// Waves of a workgroup that wait for each other at different barriers.
    DifferentBarriers {
        /// Where another wave waited.
        other: Box<FaultPlace>,
    },
    /// A check has run out of [its memory](crate::Config::check_memory): what it looks for may have been missed.
    Incomplete {
        /// `race` or `init`.
        check: &'static str,
        /// The bytes that all checks of the process may take.
        most: u64,
    },
}

fn access_name(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "write",
        Access::Atomic => "atomic operation",
        Access::Fetch => "instruction fetch",
    }
}

fn space_name(space: Space) -> &'static str {
    match space {
        Space::Global => "address",
        Space::Lds => "LDS address",
        Space::Private => "scratch address",
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel {}: ", self.kernel)?;
        let place = &self.place;
        match &self.kind {
            FindingKind::Uninitialized { space, address, bytes, access } => {
                let what = if *access == Access::Read { "read" } else { "atomic operation" };
                write!(f, "uninitialised memory: {what} of {bytes} bytes takes bytes at {} ", space_name(*space))?;
                write!(f, "{address:#x} that nothing has written; in {place}")?;
            }
            FindingKind::Race { space, address, access, other_access, other } => {
                write!(f, "race at {} {address:#x}: ", space_name(*space))?;
                write!(
                    f,
                    "{} in {place}; and {} before it in {other}; ",
                    access_name(*access),
                    access_name(*other_access)
                )?;
                f.write_str(if place.workgroup != other.workgroup {
                    "nothing orders the two workgroups"
                } else if place.wave != other.wave {
                    "no barrier between them"
                } else {
                    "lanes of one wave write different values at once"
                })?;
            }
            FindingKind::DifferentBarriers { other } => {
                write!(f, "barrier divergence: waves of a workgroup wait at different barriers, {place} and {other}")?;
            }
            FindingKind::Incomplete { check, most } => {
                let missed = match *check {
                    "race" => "races may have been missed",
                    _ => "what was allocated when there was no more counts as written",
                };
                write!(f, "the check `{check}` ran out of the {most} bytes that checks may take, and {missed}; ")?;
                f.write_str("HIP_SIM_CHECK_MEMORY sets how many (Config::check_memory)")?;
            }
        }
        if let Some(nearest) = &self.nearest {
            write!(f, "; the address is {nearest}")?;
        }
        match self.count {
            0 | 1 => Ok(()),
            n => write!(f, " ({n} times)"),
        }
    }
}

/// What makes two findings the same: kind, and the addresses of both instructions.
type Key = (u8, u64, u64);

impl Finding {
    /// Whether it is the same thing at the same instructions of the same kernel, however often that has been loaded.
    pub fn is_alike(&self, other: &Finding) -> bool {
        let places = |finding: &Finding| {
            let second = match &finding.kind {
                FindingKind::Race { other, .. } | FindingKind::DifferentBarriers { other } => Some(other.offset),
                _ => None,
            };
            (finding.key().0, finding.place.offset, second)
        };
        self.kernel == other.kernel && places(self) == places(other)
    }

    fn key(&self) -> Key {
        let (kind, other) = match &self.kind {
            FindingKind::Uninitialized { .. } => (0, 0),
            FindingKind::Race { other, .. } => (1, other.pc),
            FindingKind::DifferentBarriers { other } => (2, other.pc),
            FindingKind::Incomplete { check, .. } => (4, u64::from(*check == "init")),
        };
        (kind, self.place.pc, other)
    }
}

/// Different findings that a GPU keeps until they are taken.
pub(super) const MOST_FINDINGS: usize = 256;

/// Findings, each once.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<(Key, Finding)>);

impl Findings {
    /// Counts one more of a kind at two instructions; `false` if it is a new one.
    pub(super) fn count(&mut self, kind: u8, pc: u64, other: u64) -> bool {
        match self.0.iter_mut().find(|(key, _)| *key == (kind, pc, other)) {
            Some((_, finding)) => {
                finding.count += 1;
                true
            }
            None => self.0.len() >= MOST_FINDINGS,
        }
    }

    /// Adds one, or counts it.
    pub(super) fn add(&mut self, finding: Finding) {
        let key = finding.key();
        let room = self.0.len() < MOST_FINDINGS;
        match self.0.iter_mut().find(|(other, _)| *other == key) {
            Some((_, known)) => known.count += finding.count,
            None if room => self.0.push((key, finding)),
            None => {}
        }
    }

    /// All of them, in the order in which they were found.
    pub(super) fn take(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.0).into_iter().map(|(_, finding)| finding).collect()
    }
}
