//! The GPUs of one address space.

use std::fmt;

/// GPUs that can share one address space.
pub const MAX_AGENTS: usize = 64;

/// One of the GPUs that share an address space, numbered from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Agent(u8);

impl Agent {
    /// Number `index`; `None` from [`MAX_AGENTS`] on.
    pub const fn new(index: usize) -> Option<Self> {
        if index < MAX_AGENTS { Some(Self(index as u8)) } else { None }
    }

    /// Its number.
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
    /// None.
    pub const NONE: Self = Self(0);
    /// All, those that are not there too.
    pub const ALL: Self = Self(u64::MAX);

    /// This one alone.
    pub const fn of(agent: Agent) -> Self {
        Self(1 << agent.0)
    }

    /// Whether `agent` is in the set.
    pub const fn contains(self, agent: Agent) -> bool {
        self.0 >> agent.0 & 1 != 0
    }

    /// The set and `agent`.
    #[must_use]
    pub const fn with(self, agent: Agent) -> Self {
        Self(self.0 | 1 << agent.0)
    }

    /// The set less `agent`.
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

/// Which GPUs may do what with an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rights {
    /// Those that may read it.
    pub read: Agents,
    /// Those that may write it.
    pub write: Agents,
}

impl Rights {
    /// `agents` may read and write.
    pub const fn full(agents: Agents) -> Self {
        Self { read: agents, write: agents }
    }

    /// The same rights, but for `agent`, which gets these.
    #[must_use]
    pub const fn set(self, agent: Agent, read: bool, write: bool) -> Self {
        Self {
            read: if read { self.read.with(agent) } else { self.read.without(agent) },
            write: if write { self.write.with(agent) } else { self.write.without(agent) },
        }
    }
}
