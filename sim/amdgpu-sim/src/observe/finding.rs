//! The findings of the checks.

use std::fmt;

use crate::fault::{Access, FaultPlace, Space};
use crate::memory::Nearest;

/// A finding of a check. Its `Display` includes all available details.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Finding {
    /// The kernel's name.
    pub kernel: String,
    /// The kind of finding.
    pub kind: FindingKind,
    /// The place of the first occurrence. For two accesses, that of the second.
    pub place: Box<FaultPlace>,
    /// For global memory: the allocation that contains the address.
    pub nearest: Option<Nearest>,
    /// The number of occurrences at the same instructions.
    pub count: u64,
}

/// The kind of a finding.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FindingKind {
    /// A read of uninitialised memory.
    Uninitialized {
        /// The kind of memory.
        space: Space,
        /// The first byte that was never written.
        address: u64,
        /// Bytes of the read.
        bytes: u32,
        /// The kind of access: an atomic operation reads too.
        access: Access,
    },
    /// Two unordered accesses to the same bytes, at least one of them a write. They are of one wave if two of its lanes
    /// write different values in one instruction.
    Race {
        /// The kind of memory.
        space: Space,
        /// The first byte that both access.
        address: u64,
        /// The access at [`Finding::place`].
        access: Access,
        /// The earlier access.
        other_access: Access,
        /// The place of the earlier access.
        other: Box<FaultPlace>,
    },
    /// Waves of a workgroup that wait for each other at different barriers.
    DifferentBarriers {
        /// The place where another wave waited.
        other: Box<FaultPlace>,
    },
    /// A check has exhausted [its memory](crate::Config::check_memory), so it may have missed errors.
    Incomplete {
        /// `race` or `init`.
        check: &'static str,
        /// The memory limit of all checks of the process, in bytes.
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

/// The identity of a finding: its kind, and the addresses of both instructions.
type Key = (u8, u64, u64);

impl Finding {
    /// Whether both are the same problem at the same instructions of the same kernel, even if that was loaded several
    /// times.
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

/// The maximum number of different findings that a GPU stores until they are taken.
pub(super) const MOST_FINDINGS: usize = 256;

/// Findings, each once.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<(Key, Finding)>);

impl Findings {
    /// Counts another occurrence of a kind at two instructions; `false` if it is new.
    pub(super) fn count(&mut self, kind: u8, pc: u64, other: u64) -> bool {
        match self.0.iter_mut().find(|(key, _)| *key == (kind, pc, other)) {
            Some((_, finding)) => {
                finding.count += 1;
                true
            }
            None => self.0.len() >= MOST_FINDINGS,
        }
    }

    /// Adds a finding, or counts another occurrence.
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
