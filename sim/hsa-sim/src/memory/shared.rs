//! Sharing memory with other processes, and having theirs.

use amdgpu_sim::{AllocKind, MemoryError};

use super::address::status_of;
use super::ipc::{Handle, RawHandle};
use super::pool::GRANULE;
use super::{Memories, Record};
use crate::abi::{
    HSA_EXT_POINTER_TYPE_HSA, HSA_EXT_POINTER_TYPE_IPC, HSA_STATUS_ERROR_INVALID_ARGUMENT,
    HSA_STATUS_ERROR_OUT_OF_RESOURCES, hsa_status_t,
};
use crate::agent::{AgentSet, Agents};
use crate::result::Result;

/// The status for memory that can't be shared or mapped.
fn refused(error: &MemoryError) -> hsa_status_t {
    match error {
        MemoryError::NoPages { .. } => HSA_STATUS_ERROR_OUT_OF_RESOURCES,
        other => status_of(other),
    }
}

impl Memories {
    /// A handle by which another process can have the `size` bytes at `address`: a whole allocation of a GPU's memory.
    pub(crate) fn share(&self, agents: &Agents, address: u64, size: u64) -> Result<RawHandle> {
        let invalid = HSA_STATUS_ERROR_INVALID_ARGUMENT;
        let record = self.find(address).filter(|record| record.base == address).ok_or(invalid)?;
        let whole = record.size.next_multiple_of(GRANULE);
        let all = size > 0 && size.checked_next_multiple_of(GRANULE) == Some(whole);
        if record.kind != HSA_EXT_POINTER_TYPE_HSA || record.pool.agent.is_cpu() || !all {
            return Err(invalid);
        }
        let physical = agents.space().share(address).map_err(|error| refused(&error))?;
        let name = physical.name().map_err(|error| refused(&error))?;
        let handle = Handle { name, pool: record.pool };
        self.shared.insert(address, physical);
        Ok(handle.write())
    }

    /// Maps the memory of a handle, `size` bytes, for these agents; the address.
    pub(crate) fn attach(&self, agents: &Agents, raw: &RawHandle, size: u64, access: AgentSet) -> Result<u64> {
        let invalid = HSA_STATUS_ERROR_INVALID_ARGUMENT;
        let handle = Handle::read(raw).ok_or(invalid)?;
        let owner = handle.pool.agent.gpu().ok_or(invalid)?;
        agents.gpu(handle.pool.agent).map_err(|_| invalid)?;
        let file = handle.name.open().ok_or(invalid)?;
        let space = agents.space();
        let physical = space.import_physical(file, Some(owner)).map_err(|_| invalid)?;
        if size == 0 || size.checked_next_multiple_of(GRANULE) != Some(physical.size()) {
            return Err(invalid);
        }
        let access = access.with(handle.pool.agent);
        self.svm.forget_unmapped(space);
        let attached = space.attach(&physical, AllocKind::Device, access.rights());
        let base = attached.map_err(|error| refused(&error))?;
        let kind = HSA_EXT_POINTER_TYPE_IPC;
        self.record(Record { base, size, pool: handle.pool, kind, access, user_data: 0, callbacks: Vec::new() });
        Ok(base)
    }

    /// Undoes [`attach`](Self::attach).
    pub(crate) fn detach(&self, agents: &Agents, address: u64) -> Result<()> {
        self.take_out(address, HSA_EXT_POINTER_TYPE_IPC).ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        agents.space().free(address).map_err(|error| status_of(&error))
    }
}
