//! The GPUs of one address space.

use std::fmt;

/// The maximum number of GPUs in one address space.
pub const MAX_AGENTS: usize = 64;

/// One of the GPUs that share an address space, numbered from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Agent(u8);

impl Agent {
    /// Number `index`; `None` from [`MAX_AGENTS`] on.
    pub const fn new(index: usize) -> Option<Self> {
        if index < MAX_AGENTS { Some(Self(index as u8)) } else { None }
    }

    /// Its index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GPU {}", self.0)
    }
}

/// A set of the GPUs of an address space.
///
/// ```
/// use amdgpu_sim::{Agent, Agents};
///
/// let [first, second] = [0, 1].map(|index| Agent::new(index).unwrap());
/// let both: Agents = [first, second].into_iter().collect();
/// assert!(both.contains(second) && !Agents::of(first).contains(second) && Agents::ALL.contains(second));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Agents(u64);

impl Agents {
    /// The empty set.
    pub const NONE: Self = Self(0);
    /// Every possible GPU, including those that do not exist.
    pub const ALL: Self = Self(u64::MAX);

    /// The set of `agent` alone.
    pub const fn of(agent: Agent) -> Self {
        Self(1 << agent.0)
    }

    /// Whether the set contains `agent`.
    pub const fn contains(self, agent: Agent) -> bool {
        self.0 >> agent.0 & 1 != 0
    }

    /// The set with `agent` added.
    #[must_use]
    pub const fn with(self, agent: Agent) -> Self {
        Self(self.0 | 1 << agent.0)
    }

    /// The set without `agent`.
    #[must_use]
    pub const fn without(self, agent: Agent) -> Self {
        Self(self.0 & !(1 << agent.0))
    }
}

impl FromIterator<Agent> for Agents {
    fn from_iter<I: IntoIterator<Item = Agent>>(agents: I) -> Self {
        agents.into_iter().fold(Self::NONE, Self::with)
    }
}

/// The access rights of GPUs to an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rights {
    /// The GPUs that may read it.
    pub read: Agents,
    /// The GPUs that may write it.
    pub write: Agents,
}

impl Rights {
    /// Read and write access for `agents`.
    pub const fn full(agents: Agents) -> Self {
        Self { read: agents, write: agents }
    }

    /// These rights with those of `agent` replaced.
    #[must_use]
    pub const fn set(self, agent: Agent, read: bool, write: bool) -> Self {
        Self {
            read: if read { self.read.with(agent) } else { self.read.without(agent) },
            write: if write { self.write.with(agent) } else { self.write.without(agent) },
        }
    }
}
