//! The agents: the CPU, and the GPUs.

use amdgpu_sim::{Agent, Arch, Gpu, Rights, Settings};

use crate::abi::{
    HSA_STATUS_ERROR_FATAL, HSA_STATUS_ERROR_INVALID_AGENT, HSA_STATUS_ERROR_INVALID_ISA, hsa_agent_t, hsa_isa_t,
};
use crate::result::Result;

/// The maximum number of agents: the CPU and 64 GPUs.
pub(crate) const MAX_AGENTS: usize = 65;
/// The base of agent handles, so that other numbers are recognised as invalid.
const AGENT: u64 = 0x4753_4100_0000_0000;
/// The base of ISA handles.
const ISA: u64 = 0x4753_4900_0000_0000;

/// An agent by its index. 0 is the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct AgentId(pub(crate) u8);

impl AgentId {
    /// The CPU.
    pub(crate) const CPU: Self = Self(0);

    /// The handle.
    pub(crate) fn handle(self) -> hsa_agent_t {
        hsa_agent_t { handle: AGENT | u64::from(self.0) }
    }

    /// The handle of the ISA of a GPU.
    pub(crate) fn isa(self) -> hsa_isa_t {
        hsa_isa_t { handle: ISA | u64::from(self.0) }
    }

    pub(crate) fn is_cpu(self) -> bool {
        self == Self::CPU
    }

    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The simulator's agent for a GPU; `None` for the CPU.
    pub(crate) fn gpu(self) -> Option<Agent> {
        Agent::new(self.index().checked_sub(1)?)
    }
}

/// A set of agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AgentSet(u128);

impl AgentSet {
    pub(crate) fn of(agent: AgentId) -> Self {
        Self(1 << agent.0)
    }

    pub(crate) fn with(self, agent: AgentId) -> Self {
        Self(self.0 | 1 << agent.0)
    }

    pub(crate) fn without(self, agent: AgentId) -> Self {
        Self(self.0 & !(1 << agent.0))
    }

    pub(crate) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn contains(self, agent: AgentId) -> bool {
        self.0 >> agent.0 & 1 != 0
    }

    /// Read and write access for the GPUs in the set.
    pub(crate) fn rights(self) -> Rights {
        Rights::full(self.iter().filter_map(AgentId::gpu).collect())
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = AgentId> {
        (0..MAX_AGENTS as u8).map(AgentId).filter(move |agent| self.contains(*agent))
    }
}

impl FromIterator<AgentId> for AgentSet {
    fn from_iter<I: IntoIterator<Item = AgentId>>(agents: I) -> Self {
        agents.into_iter().fold(Self::default(), Self::with)
    }
}

/// Properties of a GPU model that programs query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chip {
    /// Marketing name.
    pub(crate) product: &'static str,
    /// The processor as the kernel driver encodes it: two decimal digits each for major version, minor version and
    /// stepping.
    pub(crate) target_version: u64,
    pub(crate) compute_units: u32,
    pub(crate) xccs: u32,
    pub(crate) shader_engines: u32,
    /// MHz.
    pub(crate) clock: u32,
    /// MHz.
    pub(crate) memory_clock: u32,
    /// Bits.
    pub(crate) memory_width: u32,
    /// Bytes.
    pub(crate) l2: u32,
    pub(crate) chip_id: u32,
    pub(crate) asic_revision: u32,
    pub(crate) family: u32,
}

impl Chip {
    /// The properties of AMD's product with this processor: one die of an MI250X, or an MI300X.
    pub(crate) fn of(arch: Arch) -> Self {
        match arch {
            Arch::Gfx942 => Self {
                product: "AMD Instinct MI300X (amdgpu-sim)",
                target_version: 9_04_02,
                compute_units: 304,
                xccs: 8,
                shader_engines: 32,
                clock: 2100,
                memory_clock: 1300,
                memory_width: 8192,
                l2: 4 << 20,
                chip_id: 0x74a1,
                asic_revision: 1,
                family: 141,
            },
            _ => Self {
                product: "AMD Instinct MI250X (amdgpu-sim)",
                target_version: 9_00_10,
                compute_units: 104,
                xccs: 1,
                shader_engines: 8,
                clock: 1700,
                memory_clock: 1600,
                memory_width: 4096,
                l2: 8 << 20,
                chip_id: 0x7408,
                asic_revision: 1,
                family: 141,
            },
        }
    }
}

/// All agents.
pub(crate) struct Agents {
    gpus: Vec<Gpu>,
    pub(crate) chip: Chip,
    /// Bytes of memory of each GPU.
    pub(crate) gpu_memory: u64,
}

impl Agents {
    /// Creates the agents from the settings.
    pub(crate) fn new(settings: &Settings) -> Self {
        let chip = Chip::of(settings.gpu.arch);
        let gpus = Gpu::group(&vec![settings.gpu.clone(); settings.devices]);
        Self { gpus, chip, gpu_memory: settings.gpu.memory_bytes }
    }

    /// All agents, the CPU first.
    pub(crate) fn ids(&self) -> impl Iterator<Item = AgentId> + use<> {
        (0..=self.gpus.len() as u8).map(AgentId)
    }

    /// The GPUs.
    pub(crate) fn gpu_ids(&self) -> impl Iterator<Item = AgentId> + use<> {
        (1..=self.gpus.len() as u8).map(AgentId)
    }

    /// The agent of a handle.
    pub(crate) fn get(&self, handle: hsa_agent_t) -> Result<AgentId> {
        let index = handle.handle ^ AGENT;
        if index <= self.gpus.len() as u64 { Ok(AgentId(index as u8)) } else { Err(HSA_STATUS_ERROR_INVALID_AGENT) }
    }

    /// The GPU whose ISA a handle names.
    pub(crate) fn of_isa(&self, handle: hsa_isa_t) -> Result<AgentId> {
        let index = handle.handle ^ ISA;
        let is_gpu = (1..=self.gpus.len() as u64).contains(&index);
        if is_gpu { Ok(AgentId(index as u8)) } else { Err(HSA_STATUS_ERROR_INVALID_ISA) }
    }

    /// The software GPU of an agent; an error for the CPU.
    pub(crate) fn gpu(&self, agent: AgentId) -> Result<&Gpu> {
        let index = agent.index().checked_sub(1).ok_or(HSA_STATUS_ERROR_INVALID_AGENT)?;
        self.gpus.get(index).ok_or(HSA_STATUS_ERROR_INVALID_AGENT)
    }

    /// Refuses calls that need a lost GPU.
    pub(crate) fn alive(&self, agent: AgentId) -> Result<()> {
        match agent.is_cpu() || !self.gpu(agent)?.is_lost() {
            true => Ok(()),
            false => Err(HSA_STATUS_ERROR_FATAL),
        }
    }

    /// The memory that the GPUs share with the host.
    pub(crate) fn space(&self) -> &amdgpu_sim::Memory {
        self.gpus[0].memory()
    }

    /// The ISA name in HSA's form.
    pub(crate) fn isa_name(&self) -> String {
        format!("amdgcn-amd-amdhsa--{}", self.gpus[0].target())
    }
}

#[cfg(test)]
mod tests {
    use amdgpu_sim::Config;

    use super::*;

    #[test]
    fn sets_hold_every_agent() {
        let last = AgentId(MAX_AGENTS as u8 - 1);
        let set = AgentSet::of(AgentId::CPU).with(last);
        assert_eq!(set.iter().collect::<Vec<_>>(), [AgentId::CPU, last]);
        assert!(!AgentSet::of(last).contains(AgentId::CPU));
    }

    #[test]
    fn handles_of_another_kind_are_no_agents() {
        let agents = Agents::new(&Settings { devices: 2, gpu: Config::default(), profile: None, delay: None });
        assert_eq!(agents.ids().count(), 3);
        for agent in agents.ids() {
            assert_eq!(agents.get(agent.handle()), Ok(agent));
        }
        for handle in [0, 1, AGENT + 3, ISA, ISA + 1, u64::MAX] {
            assert!(agents.get(hsa_agent_t { handle }).is_err(), "{handle:#x}");
        }
        assert!(agents.of_isa(AgentId(1).isa()).is_ok() && agents.of_isa(AgentId::CPU.isa()).is_err());
    }
}
