//! The memory pools of each agent.

use crate::abi::{
    HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED as COARSE, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED as FINE,
    HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT as KERNARG, HSA_STATUS_ERROR_INVALID_MEMORY_POOL,
    hsa_amd_memory_pool_t,
};
use crate::agent::{AgentId, Agents};
use crate::result::Result;

/// The base of pool handles.
const POOL: u64 = 0x4753_5000_0000_0000;

/// The allocation granularity in bytes.
pub(crate) const GRANULE: u64 = 4096;

/// A huge page in bytes, to which AMD's runtime aligns allocations of this size and larger. The heap of device code
/// relies on it: it finds the start of a slab by rounding an address down.
pub(crate) const HUGE: u64 = 2 << 20;

/// A kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum PoolKind {
    /// Host memory, fine-grained: for concurrent use by both sides.
    HostFine,
    /// Host memory for kernel arguments.
    HostKernarg,
    /// Host memory, coarse-grained: for use by one side at a time.
    HostCoarse,
    /// GPU memory, coarse-grained.
    DeviceCoarse,
    /// GPU memory, fine-grained.
    DeviceFine,
    /// LDS: nothing can be allocated from it.
    Group,
}

/// In the order in which programs enumerate them.
const HOST: [PoolKind; 3] = [PoolKind::HostFine, PoolKind::HostKernarg, PoolKind::HostCoarse];
const DEVICE: [PoolKind; 3] = [PoolKind::DeviceCoarse, PoolKind::DeviceFine, PoolKind::Group];

impl PoolKind {
    /// Flags of the global segment.
    pub(crate) fn flags(self) -> u32 {
        match self {
            Self::HostFine | Self::DeviceFine => FINE,
            Self::HostKernarg => FINE | KERNARG,
            Self::HostCoarse | Self::DeviceCoarse => COARSE,
            Self::Group => 0,
        }
    }
}

/// A pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Pool {
    pub(crate) agent: AgentId,
    pub(crate) kind: PoolKind,
}

impl Pool {
    /// The pools of an agent.
    pub(crate) fn of(agent: AgentId) -> impl Iterator<Item = Self> {
        let kinds = if agent.is_cpu() { HOST } else { DEVICE };
        kinds.into_iter().map(move |kind| Self { agent, kind })
    }

    /// The handle.
    pub(crate) fn handle(self) -> hsa_amd_memory_pool_t {
        let place = Self::of(self.agent).position(|pool| pool == self).unwrap_or(0);
        hsa_amd_memory_pool_t { handle: POOL | u64::from(self.agent.0) << 8 | place as u64 }
    }

    /// The pool of a handle.
    pub(crate) fn get(agents: &Agents, handle: hsa_amd_memory_pool_t) -> Result<Self> {
        let bits = handle.handle ^ POOL;
        let agent = agents.ids().find(|agent| u64::from(agent.0) == bits >> 8);
        let pool = agent.and_then(|agent| Self::of(agent).nth((bits & 0xff) as usize));
        pool.ok_or(HSA_STATUS_ERROR_INVALID_MEMORY_POOL)
    }

    /// The total size in bytes.
    pub(crate) fn size(self, agents: &Agents) -> u64 {
        match self.kind {
            PoolKind::Group => u64::from(amdgpu_sim::MAX_LDS),
            _ if self.agent.is_cpu() => host_memory(),
            _ => agents.gpu_memory,
        }
    }

    /// Returns whether memory can be allocated from it.
    pub(crate) fn allocates(self) -> bool {
        self.kind != PoolKind::Group
    }
}

/// The host's memory in bytes.
pub(crate) fn host_memory() -> u64 {
    // SAFETY: sysconf has no preconditions.
    let (pages, page) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    u64::try_from(pages).unwrap_or(0).saturating_mul(u64::try_from(page).unwrap_or(0)).max(1 << 30)
}

#[cfg(test)]
mod tests {
    use amdgpu_sim::{Config, Settings};

    use super::*;

    #[test]
    fn handles_lead_to_their_pools_and_no_other_number_does() {
        let agents = Agents::new(&Settings { devices: 1, gpu: Config::default(), profile: None, delay: None });
        for pool in agents.ids().flat_map(Pool::of) {
            assert_eq!(Pool::get(&agents, pool.handle()), Ok(pool));
        }
        for handle in [0, 1, POOL + 3, POOL + 0x200, POOL + 0x103, u64::MAX] {
            assert!(Pool::get(&agents, hsa_amd_memory_pool_t { handle }).is_err(), "{handle:#x}");
        }
    }
}
