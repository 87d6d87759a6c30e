//! Stream-ordered allocation, and memory pools.

#![allow(non_upper_case_globals, reason = "HIP's names in patterns")]

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use hip_sys::rocm_7_2::*;

use super::{hip_functions, put};
use crate::allocation::{address, allocate, make_room, pointer, release};
use crate::device::Device;
use crate::graph::Operation;
use crate::pool::Pool;
use crate::queue::Work;
use crate::runtime::{Runtime, runtime};
use crate::status::{Outcome, Refusal, ensure};
use crate::target::Target;

/// `hipMemPoolProps`, whose layout is the same in all releases. `max_size` was reserved, and 0, before 6.2.
#[repr(C)]
struct Properties {
    alloc_type: hipMemAllocationType,
    handle_types: c_int,
    location_type: hipMemLocationType,
    location: c_int,
    security: *mut c_void,
    max_size: usize,
    reserved: [u8; 56],
}

const _: () = assert!(size_of::<Properties>() == size_of::<hipMemPoolProps>());

fn pool_of(runtime: &Runtime, handle: hipMemPool_t) -> Result<Arc<Pool>, Refusal> {
    runtime.pools.get(handle.cast()).ok_or_else(|| hipErrorInvalidValue.into())
}

/// The device of a location.
fn device_at<'a>(
    runtime: &'a Runtime,
    location: &hipMemLocation,
    otherwise: hipError_t,
) -> Result<&'a Device, Refusal> {
    ensure(location.type_ == hipMemLocationTypeDevice, hipErrorInvalidValue)?;
    runtime.device(location.id).map_err(|_| otherwise.into())
}

/// Allocates `size` bytes from the pool with this handle.
fn take(runtime: &Runtime, handle: usize, pool: &Pool, size: u64) -> Result<u64, Refusal> {
    let device = &runtime.devices[pool.device];
    device.alive()?;
    let share = pool.take(handle, size, runtime.free_bytes(device)).or_else(|| {
        make_room(runtime, device, size);
        pool.take(handle, size, runtime.free_bytes(device))
    });
    let share = share.ok_or_else(|| {
        Refusal::new(
            hipErrorOutOfMemory,
            format!("the memory pool has no room for {size} bytes, and its device gives none"),
        )
    })?;
    allocate(runtime, device, size, Some((share, pool))).inspect_err(|_| {
        pool.freed(size);
        pool.give_back(share, size);
    })
}

/// Adds an allocation node to the graph of a captured stream.
fn capture(runtime: &Runtime, target: &Target, size: usize) -> Result<*mut c_void, Refusal> {
    let memory = runtime.graph_memory.reserve(&runtime.devices[target.device], size as u64);
    let memory = memory.map_err(|error| Refusal::new(hipErrorOutOfMemory, error.to_string()))?;
    let base = memory.base;
    runtime.captures.add(&runtime.graphs, target.queue, Operation::Alloc(memory))?;
    Ok(pointer(base))
}

/// Marks the block that starts at `ptr` as freed. Its memory is freed when `stream` reaches that point.
pub(crate) fn free_async(runtime: &'static Runtime, ptr: *mut c_void, stream: hipStream_t) -> Outcome {
    if ptr.is_null() {
        return Ok(());
    }
    let target = runtime.target(stream).map_err(|_| Refusal::from(hipErrorInvalidHandle))?;
    let base = address(ptr);
    if runtime.captures.is_captured(target.queue) {
        runtime.graph_memory.at(base).ok_or(hipErrorInvalidValue)?;
        return runtime.captures.add(&runtime.graphs, target.queue, Operation::Free(base));
    }
    if let Some(memory) = runtime.graph_memory.allocated(base) {
        let work = Work::Always(Box::new(move || memory.unmap()));
        runtime.scheduler.submit(target.queue, work, &[]).ok_or(hipErrorInvalidHandle)?;
        return Ok(());
    }
    let block = runtime.blocks.begin_free(base).ok_or(hipErrorInvalidValue)?;
    if let Some(pool) = block.share.and_then(|share| runtime.pool(share.pool)) {
        pool.freed(block.size);
    }
    let work = Work::Always(Box::new(move || {
        // The runtime exists, since it runs this work.
        if let Ok(runtime) = crate::runtime::runtime() {
            if runtime.blocks.remove(base, |block| block.freeing).is_some() {
                release(runtime, &block);
            }
        }
    }));
    runtime.scheduler.submit(target.queue, work, &[]).ok_or(hipErrorInvalidHandle)?;
    Ok(())
}

/// The type of a pool attribute.
enum Attribute {
    Reuse(usize),
    Threshold,
    Reserved,
    ReservedHigh,
    Used,
    UsedHigh,
}

fn attribute_of(attribute: hipMemPoolAttr) -> Result<Attribute, Refusal> {
    Ok(match attribute {
        hipMemPoolReuseFollowEventDependencies => Attribute::Reuse(0),
        hipMemPoolReuseAllowOpportunistic => Attribute::Reuse(1),
        hipMemPoolReuseAllowInternalDependencies => Attribute::Reuse(2),
        hipMemPoolAttrReleaseThreshold => Attribute::Threshold,
        hipMemPoolAttrReservedMemCurrent => Attribute::Reserved,
        hipMemPoolAttrReservedMemHigh => Attribute::ReservedHigh,
        hipMemPoolAttrUsedMemCurrent => Attribute::Used,
        hipMemPoolAttrUsedMemHigh => Attribute::UsedHigh,
        _ => return Err(hipErrorInvalidValue.into()),
    })
}

hip_functions! {
    fn hipMallocAsync(ptr: *mut *mut c_void, size: usize, stream: hipStream_t) {
        let runtime = runtime()?;
        ensure(!ptr.is_null(), hipErrorInvalidValue)?;
        let target = runtime.target(stream).map_err(|_| Refusal::from(hipErrorInvalidHandle))?;
        if size == 0 {
            return put(ptr, null_mut());
        }
        if runtime.captures.is_captured(target.queue) {
            return put(ptr, capture(runtime, &target, size)?);
        }
        runtime.captures.deny_blocking(hipErrorStreamCaptureUnsupported)?;
        let device = &runtime.devices[target.device];
        let mut handle = device.pool.load(Ordering::Acquire);
        // If the pool has just been destroyed, the device uses its default pool, which always exists.
        if runtime.pool(handle).is_none() {
            handle = device.default_pool;
        }
        let pool = runtime.pool(handle).ok_or(hipErrorInvalidValue)?;
        put(ptr, pointer(take(runtime, handle, &pool, size as u64)?))
    }

    fn hipFreeAsync(ptr: *mut c_void, stream: hipStream_t) {
        let runtime = runtime()?;
        if !runtime.target(stream).is_ok_and(|target| runtime.captures.is_captured(target.queue)) {
            runtime.captures.deny_blocking(hipErrorStreamCaptureUnsupported)?;
        }
        free_async(runtime, ptr, stream)
    }

    fn hipMallocFromPoolAsync(ptr: *mut *mut c_void, size: usize, pool: hipMemPool_t, stream: hipStream_t) {
        let runtime = runtime()?;
        ensure(!ptr.is_null(), hipErrorInvalidValue)?;
        let of = pool_of(runtime, pool)?;
        let target = runtime.target(stream).map_err(|_| Refusal::from(hipErrorInvalidHandle))?;
        if size == 0 {
            return put(ptr, null_mut());
        }
        if runtime.captures.is_captured(target.queue) {
            return put(ptr, capture(runtime, &target, size)?);
        }
        put(ptr, pointer(take(runtime, pool.addr(), &of, size as u64)?))
    }

    fn hipMemPoolCreate(pool: *mut hipMemPool_t, properties: *const hipMemPoolProps) {
        let runtime = runtime()?;
        runtime.captures.deny_concerned()?;
        ensure(!pool.is_null() && !properties.is_null(), hipErrorInvalidValue)?;
        let properties = &*properties.cast::<Properties>();
        ensure(properties.alloc_type == hipMemAllocationTypePinned, hipErrorInvalidValue)?;
        let location = hipMemLocation { type_: properties.location_type, id: properties.location };
        let device = device_at(runtime, &location, hipErrorInvalidValue)?;
        let handle = runtime.pools.insert(Pool::new(device.ordinal, properties.max_size as u64));
        put(pool, handle.ok_or(hipErrorOutOfMemory)?.cast())
    }

    fn hipMemPoolDestroy(pool: hipMemPool_t) {
        let runtime = runtime()?;
        let of = pool_of(runtime, pool)?;
        let device = &runtime.devices[of.device];
        ensure(!of.is_default, hipErrorInvalidValue)?;
        // Its allocations live until they are freed.
        runtime.pools.remove(pool.cast()).ok_or(hipErrorInvalidValue)?;
        let relaxed = Ordering::Relaxed;
        let _ = device.pool.compare_exchange(pool.addr(), device.default_pool, Ordering::AcqRel, relaxed);
        Ok(())
    }

    fn hipMemPoolTrimTo(pool: hipMemPool_t, keep: usize) {
        pool_of(runtime()?, pool)?.trim(keep as u64);
        Ok(())
    }

    fn hipMemPoolGetAttribute(pool: hipMemPool_t, attribute: hipMemPoolAttr, value: *mut c_void) {
        let pool = pool_of(runtime()?, pool)?;
        let room = pool.room();
        let number = match attribute_of(attribute)? {
            Attribute::Reuse(at) => return put(value.cast(), room.reuse[at]),
            Attribute::Threshold => room.threshold,
            Attribute::Reserved => room.reserved(),
            Attribute::ReservedHigh => room.reserved_high,
            Attribute::Used => room.used,
            Attribute::UsedHigh => room.used_high,
        };
        put(value.cast(), number)
    }

    fn hipMemPoolSetAttribute(pool: hipMemPool_t, attribute: hipMemPoolAttr, value: *mut c_void) {
        let pool = pool_of(runtime()?, pool)?;
        ensure(!value.is_null(), hipErrorInvalidValue)?;
        let mut room = pool.room();
        // Of the counters, only the high-water marks can be set, and only to 0.
        let reset = || ensure(*value.cast::<u64>() == 0, hipErrorInvalidValue);
        match attribute_of(attribute)? {
            Attribute::Reuse(at) => room.reuse[at] = c_int::from(*value.cast::<c_int>() != 0),
            Attribute::Threshold => room.threshold = *value.cast::<u64>(),
            Attribute::ReservedHigh => {
                reset()?;
                room.reserved_high = room.reserved();
            }
            Attribute::UsedHigh => {
                reset()?;
                room.used_high = room.used;
            }
            Attribute::Reserved | Attribute::Used => return Err(hipErrorInvalidValue.into()),
        }
        Ok(())
    }

    fn hipMemPoolSetAccess(pool: hipMemPool_t, descriptions: *const hipMemAccessDesc, count: usize) {
        let runtime = runtime()?;
        let of = pool_of(runtime, pool)?;
        ensure(!descriptions.is_null(), hipErrorInvalidValue)?;
        // There cannot be more descriptors than devices.
        ensure(count <= runtime.devices.len(), hipErrorInvalidDevice)?;
        for description in std::slice::from_raw_parts(descriptions, count) {
            let (read, write) = match description.flags {
                hipMemAccessFlagsProtNone => (false, false),
                hipMemAccessFlagsProtRead => (true, false),
                hipMemAccessFlagsProtReadWrite => (true, true),
                _ => return Err(hipErrorInvalidValue.into()),
            };
            let device = device_at(runtime, &description.location, hipErrorInvalidDevice)?;
            if device.ordinal == of.device {
                // The access of the pool's own device cannot be revoked.
                ensure(read, hipErrorInvalidDevice)?;
                continue;
            }
            of.admit(device.gpu.agent(), read, write);
            for block in runtime.blocks.all(|block| block.share.is_some_and(|share| share.pool == pool.addr())) {
                let rights = runtime.memory().find(block.base).map(|found| found.rights);
                if let Some(rights) = rights {
                    // An allocation that is freed concurrently needs no rights any more.
                    drop(runtime.memory().set_rights(block.base, rights.set(device.gpu.agent(), read, write)));
                }
            }
        }
        Ok(())
    }

    fn hipMemPoolGetAccess(flags: *mut hipMemAccessFlags, pool: hipMemPool_t, location: *mut hipMemLocation) {
        let runtime = runtime()?;
        let pool = pool_of(runtime, pool)?;
        ensure(!flags.is_null() && !location.is_null(), hipErrorInvalidValue)?;
        let device = device_at(runtime, &*location, hipErrorInvalidValue)?;
        let admitted = if device.ordinal == pool.device { (true, true) } else { pool.admits(device.gpu.agent()) };
        put(flags, match admitted {
            (_, true) => hipMemAccessFlagsProtReadWrite,
            (true, false) => hipMemAccessFlagsProtRead,
            (false, false) => hipMemAccessFlagsProtNone,
        })
    }

    fn hipDeviceGetDefaultMemPool(pool: *mut hipMemPool_t, device: c_int) {
        let runtime = runtime()?;
        ensure(!pool.is_null(), hipErrorInvalidValue)?;
        put(pool, std::ptr::without_provenance_mut(runtime.device(device)?.default_pool))
    }

    fn hipDeviceGetMemPool(pool: *mut hipMemPool_t, device: c_int) {
        let device = runtime()?.device(device).map_err(|_| hipErrorInvalidValue)?;
        put(pool, std::ptr::without_provenance_mut(device.pool.load(Ordering::Acquire)))
    }

    fn hipDeviceSetMemPool(device: c_int, pool: hipMemPool_t) {
        let runtime = runtime()?;
        let device = runtime.device(device).map_err(|_| hipErrorInvalidValue)?;
        ensure(pool_of(runtime, pool)?.device == device.ordinal, hipErrorInvalidDevice)?;
        device.pool.store(pool.addr(), Ordering::Release);
        Ok(())
    }
}
