//! Memory of other drivers, imported and exported as file descriptors.
//!
//! A real GPU driver accepts a dma-buf. Here it is an anonymous file of whole pages that cannot shrink. This driver
//! exports such files, and a software OpenGL can.

use std::os::fd::{BorrowedFd, OwnedFd, RawFd};

use amdgpu_sim::AllocKind;

use super::{Memories, Pool, PoolKind, Record, status_of};
use crate::abi::{
    HSA_EXT_POINTER_TYPE_GRAPHICS, HSA_EXT_POINTER_TYPE_HSA, HSA_STATUS_ERROR_INVALID_AGENT,
    HSA_STATUS_ERROR_INVALID_ALLOCATION, HSA_STATUS_ERROR_INVALID_ARGUMENT, HSA_STATUS_ERROR_OUT_OF_RESOURCES,
};
use crate::agent::{AgentSet, Agents};
use crate::result::Result;

impl Memories {
    /// Exports the GPU memory that contains an address, from which on `size` bytes must exist. Returns a descriptor and
    /// the address's offset in it.
    pub(crate) fn export(&self, agents: &Agents, address: u64, size: u64) -> Result<(OwnedFd, u64)> {
        let record = self.find(address).ok_or(HSA_STATUS_ERROR_INVALID_ALLOCATION)?;
        let offset = address - record.base;
        if size > record.size - offset {
            return Err(HSA_STATUS_ERROR_INVALID_ALLOCATION);
        }
        if record.pool.agent.is_cpu() {
            return Err(HSA_STATUS_ERROR_INVALID_AGENT);
        }
        agents.alive(record.pool.agent)?;
        let physical = match record.kind {
            HSA_EXT_POINTER_TYPE_HSA => agents.space().share(record.base),
            _ => return Err(HSA_STATUS_ERROR_INVALID_ALLOCATION),
        };
        let file = physical.and_then(|physical| physical.export()).map_err(|_| HSA_STATUS_ERROR_OUT_OF_RESOURCES)?;
        Ok((file, offset))
    }

    /// Maps the memory behind a descriptor for these agents. Returns the address and the size. The program keeps the
    /// descriptor.
    pub(crate) fn map_foreign(&self, agents: &Agents, descriptor: RawFd, access: AgentSet) -> Result<(u64, u64)> {
        let invalid = HSA_STATUS_ERROR_INVALID_ARGUMENT;
        let agent = access.iter().find(|agent| !agent.is_cpu()).ok_or(invalid)?;
        agents.alive(agent)?;
        if descriptor < 0 {
            return Err(invalid);
        }
        // SAFETY: not -1; the descriptor is the program's and open during the call, or a call on it fails.
        let file = unsafe { BorrowedFd::borrow_raw(descriptor) }.try_clone_to_owned().map_err(|_| invalid)?;
        let space = agents.space();
        // The exporter has accounted for the memory.
        let physical = space.import_physical(file, None).map_err(|_| invalid)?;
        self.svm.forget_unmapped(space);
        let mapped = space.attach(&physical, AllocKind::Device, access.rights());
        let base = mapped.map_err(|_| HSA_STATUS_ERROR_OUT_OF_RESOURCES)?;
        let (kind, size) = (HSA_EXT_POINTER_TYPE_GRAPHICS, physical.size());
        let pool = Pool { agent, kind: PoolKind::DeviceCoarse };
        self.record(Record { base, size, pool, kind, access, user_data: 0, callbacks: Vec::new() });
        Ok((base, size))
    }

    /// Undoes [`map_foreign`](Self::map_foreign).
    pub(crate) fn unmap_foreign(&self, agents: &Agents, address: u64) -> Result<()> {
        self.take_out(address, HSA_EXT_POINTER_TYPE_GRAPHICS).ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        agents.space().free(address).map_err(|error| status_of(&error))
    }
}
