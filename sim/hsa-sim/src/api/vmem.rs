//! Virtual memory.

use std::ffi::{c_int, c_void};

use super::function::{functions, list, put};
use crate::abi::*;
use crate::agent::AgentId;
use crate::memory::{Pool, PoolKind, pointer};
use crate::result::Result;
use crate::runtime::runtime;

unsafe fn reserve(result: *mut *mut c_void, size: usize, wanted: u64, align: u64, flags: u64) -> Result<()> {
    let runtime = runtime()?;
    if result.is_null() || flags & !u64::from(HSA_AMD_VMEM_ADDRESS_NO_REGISTER) != 0 {
        return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
    }
    let space = runtime.agents.space();
    runtime.memory.svm().forget_unmapped(space);
    let base = match flags & u64::from(HSA_AMD_VMEM_ADDRESS_NO_REGISTER) {
        0 => runtime.memory.vmem().reserve(space, size as u64, wanted, align)?,
        _ => runtime.memory.svm().reserve(size as u64, wanted, align)?,
    };
    // SAFETY: the caller vouches for it.
    unsafe { put(result, pointer(base)) }
}

functions! {
    /// Reserves addresses: the wanted ones, if they are free. If they are not to be registered, they immediately are
    /// host memory, to which SVM attributes can give agents access.
    fn hsa_amd_vmem_address_reserve(result: *mut *mut c_void, size: usize, wanted: u64, flags: u64) {
        // SAFETY: the caller vouches for it.
        unsafe { reserve(result, size, wanted, 0, flags) }
    }

    /// Reserves addresses with an alignment.
    fn hsa_amd_vmem_address_reserve_align(
        result: *mut *mut c_void,
        size: usize,
        wanted: u64,
        align: u64,
        flags: u64,
    ) {
        // SAFETY: the caller vouches for it.
        unsafe { reserve(result, size, wanted, align, flags) }
    }

    /// Frees reserved addresses.
    fn hsa_amd_vmem_address_free(base: *mut c_void, size: usize) {
        let runtime = runtime()?;
        let (space, base, size) = (runtime.agents.space(), base as u64, size as u64);
        match runtime.memory.svm().unreserve(space, base, size) {
            Some(result) => result,
            None => runtime.memory.vmem().unreserve(space, base, size),
        }
    }

    /// Creates memory without an address.
    fn hsa_amd_vmem_handle_create(
        pool: hsa_amd_memory_pool_t,
        size: usize,
        kind: u32,
        _flags: u64,
        result: *mut hsa_amd_vmem_alloc_handle_t,
    ) {
        let runtime = runtime()?;
        let pool = Pool::get(&runtime.agents, pool)?;
        if result.is_null() || kind > 1 {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let handle = runtime.memory.vmem().create(&runtime.agents, pool, size as u64, kind)?;
        // SAFETY: the caller vouches for it.
        unsafe { put(result, handle) }
    }

    /// Releases a handle of memory.
    fn hsa_amd_vmem_handle_release(handle: hsa_amd_vmem_alloc_handle_t) {
        runtime()?.memory.vmem().release(handle)
    }

    /// Maps memory to reserved addresses.
    fn hsa_amd_vmem_map(
        base: *mut c_void,
        size: usize,
        offset: usize,
        handle: hsa_amd_vmem_alloc_handle_t,
        _flags: u64,
    ) {
        let runtime = runtime()?;
        let space = runtime.agents.space();
        runtime.memory.vmem().map(space, base as u64, size as u64, offset as u64, handle)
    }

    /// Unmaps memory.
    fn hsa_amd_vmem_unmap(base: *mut c_void, size: usize) {
        let runtime = runtime()?;
        runtime.memory.vmem().unmap(runtime.agents.space(), base as u64, size as u64)
    }

    /// Sets the access of agents to mapped memory.
    fn hsa_amd_vmem_set_access(
        base: *mut c_void,
        size: usize,
        descriptions: *const hsa_amd_memory_access_desc_t,
        count: usize,
    ) {
        let runtime = runtime()?;
        if count == 0 {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the caller vouches for the list.
        let descriptions = unsafe { list(descriptions, count) }?;
        let allowed = descriptions.into_iter().map(|one| Ok((runtime.agents.get(one.agent_handle)?, one.permissions)));
        let allowed = allowed.collect::<Result<Vec<(AgentId, u32)>>>()?;
        runtime.memory.vmem().allow(runtime.agents.space(), base as u64, size as u64, &allowed)
    }

    /// Returns an agent's access to mapped memory.
    fn hsa_amd_vmem_get_access(base: *mut c_void, permissions: *mut u32, agent: hsa_agent_t) {
        let runtime = runtime()?;
        let agent = runtime.agents.get(agent)?;
        let access = runtime.memory.vmem().access(base as u64, agent)?;
        // SAFETY: the caller vouches for it.
        unsafe { put(permissions, access) }
    }

    /// Exports memory as a file descriptor for another process.
    fn hsa_amd_vmem_export_shareable_handle(
        descriptor: *mut c_int,
        handle: hsa_amd_vmem_alloc_handle_t,
        _flags: u64,
    ) {
        let runtime = runtime()?;
        if descriptor.is_null() {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the caller vouches for it.
        unsafe { put(descriptor, runtime.memory.vmem().export(handle)?) }
    }

    /// Imports the memory of such a descriptor. It counts as memory of the first GPU.
    fn hsa_amd_vmem_import_shareable_handle(descriptor: c_int, handle: *mut hsa_amd_vmem_alloc_handle_t) {
        let runtime = runtime()?;
        if handle.is_null() {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let pool = Pool { agent: AgentId(1), kind: PoolKind::DeviceCoarse };
        // SAFETY: the caller vouches for it.
        unsafe { put(handle, runtime.memory.vmem().import(runtime.agents.space(), descriptor, pool)?) }
    }

    /// Returns another handle of the memory that is mapped at an address.
    fn hsa_amd_vmem_retain_alloc_handle(handle: *mut hsa_amd_vmem_alloc_handle_t, address: *mut c_void) {
        let runtime = runtime()?;
        if handle.is_null() {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the caller vouches for it.
        unsafe { put(handle, runtime.memory.vmem().retain(address as u64)?) }
    }

    /// Returns the pool and type that memory was created with.
    fn hsa_amd_vmem_get_alloc_properties_from_handle(
        handle: hsa_amd_vmem_alloc_handle_t,
        pool: *mut hsa_amd_memory_pool_t,
        kind: *mut u32,
    ) {
        let backing = runtime()?.memory.vmem().get(handle)?;
        // SAFETY: the caller vouches for both.
        unsafe {
            put(pool, backing.pool.handle())?;
            put(kind, backing.kind)
        }
    }
}
