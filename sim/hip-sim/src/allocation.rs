//! Allocating, finding and freeing blocks of memory.

use std::ffi::{c_uint, c_void};

use amdgpu_sim::{Agent, Agents, AllocKind, Request, Rights};
use hip_sys::rocm_7_2::{hipErrorInvalidValue, hipErrorOutOfMemory, hipMemAttachGlobal};

use crate::device::Device;
use crate::memory::{Block, Kind, allocate_host, release_host};
use crate::pool::{Pool, Share};
use crate::runtime::{Runtime, runtime};
use crate::status::{Outcome, Refusal, ensure};

pub(crate) fn address(ptr: *const c_void) -> u64 {
    ptr.expose_provenance() as u64
}

pub(crate) fn pointer(address: u64) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

/// The block that contains `address`, including module variables.
pub(crate) fn find(runtime: &Runtime, address: u64) -> Option<Block> {
    runtime.blocks.find(address).or_else(|| {
        let found = runtime.memory().find(address)?;
        matches!(found.kind, AllocKind::Globals | AllocKind::Code).then_some(Block {
            base: found.base,
            size: found.size,
            kind: Kind::Global,
            device: found.owner.map_or(0, Agent::index),
            flags: 0,
            freeing: false,
            share: None,
        })
    })
}

/// Refuses a copy or fill of `span` bytes at an address in `block` that exceeds the block, or touches memory without
/// access for any device. Adjacent mappings count as one block.
pub(crate) fn ensure_room(runtime: &Runtime, block: &Block, address: u64, span: u64, write: bool) -> Outcome {
    let mut last = *block;
    while matches!(last.kind, Kind::Mapped { .. }) {
        let found = runtime.memory().find(last.base);
        let devices = found.map_or(Agents::NONE, |found| if write { found.rights.write } else { found.rights.read });
        if devices == Agents::NONE {
            let text = format!(
                "no device was let {} the memory of {} bytes that is mapped at {:#x} (hipMemSetAccess)",
                if write { "write" } else { "read" },
                last.size,
                last.base
            );
            return Err(Refusal::new(hipErrorInvalidValue, text));
        }
        let end = last.base + last.size;
        match runtime.blocks.find(end).filter(|_| span > end - address) {
            Some(next) if matches!(next.kind, Kind::Mapped { .. }) => last = next,
            _ => break,
        }
    }
    if span <= last.base + last.size - address {
        return Ok(());
    }
    let Block { base, size, .. } = *block;
    Err(Refusal::new(
        hipErrorInvalidValue,
        format!("{span} bytes at {address:#x} reach past the end of the allocation of {size} bytes at {base:#x}"),
    ))
}

/// Tries to make `size` bytes of a device's memory available: waits for pending `hipFreeAsync` calls, and trims memory
/// pools.
pub(crate) fn make_room(runtime: &Runtime, device: &Device, size: u64) {
    if runtime.free_bytes(device) < size {
        runtime.drain(Some(device.ordinal));
        runtime.pools.each(|pool| {
            if pool.device == device.ordinal {
                pool.trim(0);
            }
        });
    }
}

/// Allocates device memory, from a pool if given.
pub(crate) fn allocate(
    runtime: &Runtime,
    device: &Device,
    size: u64,
    pool: Option<(Share, &Pool)>,
) -> Result<u64, Refusal> {
    let access = runtime.peers.hold();
    let rights = match pool {
        Some((_, pool)) => pool.rights(Rights::full(Agents::of(device.gpu.agent()))),
        None => access.rights(&runtime.devices, device),
    };
    let request = Request { rights, ..Request::new(size, AllocKind::Device, Some(device.gpu.agent())) };
    let unmapped = runtime.virtual_memory.unmapped(device.ordinal);
    if unmapped > 0 && size.saturating_add(unmapped) > device.unused_bytes() {
        let text =
            format!("out of device memory: {size} bytes asked for, and {unmapped} are in memory without an address");
        return Err(Refusal::new(hipErrorOutOfMemory, text));
    }
    let result = runtime.memory().allocate(&request);
    let base = result.map_err(|error| Refusal::new(hipErrorOutOfMemory, error.to_string()))?;
    let (device, share) = (device.ordinal, pool.map(|(share, _)| share));
    runtime.blocks.insert(Block { base, size, kind: Kind::Device, device, flags: 0, freeing: false, share });
    Ok(base)
}

/// Allocates managed memory for a module's managed variable.
pub(crate) fn managed(runtime: &Runtime, size: u64) -> Result<u64, Refusal> {
    ensure(size > 0, hipErrorInvalidValue)?;
    host(runtime, size, hipMemAttachGlobal, Kind::Managed)
}

/// Allocates host memory that every device can access.
pub(crate) fn host(runtime: &Runtime, size: u64, flags: c_uint, kind: Kind) -> Result<u64, Refusal> {
    let base = allocate_host(size).ok_or(hipErrorOutOfMemory)?;
    // New memory cannot be registered, except by a program that freed it without unregistering it.
    runtime.memory().forget_registrations(base, size);
    // SAFETY: the memory lives until `release`, which waits for the devices first. Races between host and kernel are the program's
    // responsibility, as on a GPU.
    if let Err(error) = unsafe { runtime.memory().register_host(pointer(base).cast(), size) } {
        // SAFETY: just allocated with this size; no kernel knows its address.
        unsafe { release_host(base, size) };
        return Err(Refusal::new(hipErrorOutOfMemory, error.to_string()));
    }
    let device = runtime.current().ordinal;
    runtime.placements.forget(base, base + size);
    runtime.blocks.insert(Block { base, size, kind, device, flags, freeing: false, share: None });
    Ok(base)
}

/// Waits for all work that may use the block that starts at `ptr`, and frees it.
pub(crate) fn free(ptr: *mut c_void) -> Outcome {
    let runtime = runtime()?;
    runtime.captures.refuse_unsafe()?;
    if ptr.is_null() {
        return Ok(());
    }
    let base = address(ptr);
    let block = runtime.blocks.find(base).filter(|block| block.base == base).ok_or(hipErrorInvalidValue)?;
    ensure(!matches!(block.kind, Kind::Registered | Kind::Mapped { .. } | Kind::Opened), hipErrorInvalidValue)?;
    if block.kind == Kind::Graph {
        let memory = runtime.graph_memory.allocated(base).ok_or(hipErrorInvalidValue)?;
        runtime.drain(Some(block.device));
        memory.unmap();
        return Ok(());
    }
    runtime.drain((!block.is_shared()).then_some(block.device));
    // Another thread may have freed it first; then this is a double free.
    let block = runtime.blocks.remove(base, |b| b.kind == block.kind && !b.freeing).ok_or(hipErrorInvalidValue)?;
    if let Some(pool) = block.share.and_then(|share| runtime.pool(share.pool)) {
        pool.freed(block.size);
    }
    release(runtime, &block);
    Ok(())
}

/// Frees memory of [`managed`], unless the program has freed it, which is an error of the program.
pub(crate) fn free_managed(runtime: &Runtime, base: u64) {
    runtime.drain(None);
    if let Some(block) = runtime.blocks.remove(base, |block| block.kind == Kind::Managed) {
        release(runtime, &block);
    }
}

/// Frees a block that has been removed from the address map, according to its kind.
pub(crate) fn release(runtime: &Runtime, block: &Block) {
    match block.kind {
        // The address map and the GPU's own table change together, so this cannot fail.
        Kind::Device => {
            drop(runtime.memory().free(block.base));
            if let Some((share, pool)) = block.share.and_then(|share| Some((share, runtime.pool(share.pool)?))) {
                pool.give_back(share, block.size);
            }
        }
        Kind::Host | Kind::Managed => {
            drop(runtime.memory().unregister_host(block.base));
            // SAFETY: blocks of these kinds come from `allocate_host`. The block has left the map, so this is the only release. Nothing
            // that runs uses it, since every caller has waited for the devices.
            unsafe { release_host(block.base, block.size) };
        }
        Kind::Opened | Kind::Imported { .. } => drop(runtime.memory().free(block.allocation())),
        Kind::Registered => drop(runtime.memory().unregister_host(block.base)),
        // Freed with the graph node, the module or the handle that owns it.
        Kind::Graph | Kind::Global | Kind::Mapped { .. } => {}
    }
}
