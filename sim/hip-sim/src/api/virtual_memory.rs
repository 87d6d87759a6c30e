//! Virtual memory management: reserving addresses, creating memory, and mapping it.

#![allow(non_upper_case_globals, reason = "HIP's names in patterns")]

use std::ffi::{c_int, c_ulonglong, c_void};

use amdgpu_sim::PAGE;
use hip_sys::rocm_7_2::*;

use super::{hip_functions, put};
use crate::allocation::{address, make_room, pointer};
use crate::device::Device;
use crate::runtime::{Runtime, runtime};
use crate::status::{Outcome, Refusal, ensure};
use crate::virtual_memory::ensure_pages;

/// `hipMemAllocationProp`, whose layout is the same in all releases.
#[repr(C)]
#[derive(Clone, Copy)]
struct Properties {
    kind: hipMemAllocationType,
    handle_types: hipMemAllocationHandleType,
    location: hipMemLocation,
    win32: *mut c_void,
    flags: u32,
}

const _: () = assert!(size_of::<Properties>() == size_of::<hipMemAllocationProp>());

/// `hipMemLocationTypeHost`, added in HIP 7.1.
const HOST: hipMemLocationType = hipMemLocationType(2);

/// Handle types that memory can be exported as.
const HANDLE_TYPES: [hipMemAllocationHandleType; 2] = [hipMemHandleTypeNone, hipMemHandleTypePosixFileDescriptor];

/// Reads the properties of requested memory, and the device that it is for; `None` is the host.
///
/// # Safety
/// `properties` must be null or valid for a read.
unsafe fn read(
    runtime: &Runtime,
    properties: *const hipMemAllocationProp,
    no_device: hipError_t,
) -> Result<(Properties, Option<&Device>), Refusal> {
    ensure(!properties.is_null(), hipErrorInvalidValue)?;
    // SAFETY: not null, hence valid, as the caller vouches; the layout is that of all releases.
    let properties = unsafe { properties.cast::<Properties>().read() };
    ensure(properties.kind == hipMemAllocationTypePinned, hipErrorInvalidValue)?;
    let device = match properties.location.type_ {
        hipMemLocationTypeDevice => Some(runtime.device(properties.location.id).map_err(|_| no_device)?),
        HOST => None,
        _ => return Err(hipErrorInvalidValue.into()),
    };
    Ok((properties, device))
}

/// Makes room for memory of a device. Refused if there is too little.
fn ensure_free(runtime: &Runtime, device: &Device, size: u64) -> Outcome {
    make_room(runtime, device, size);
    let free = runtime.free_bytes(device);
    if free < size {
        let text = format!("out of device memory: {size} bytes asked for, {free} left");
        return Err(Refusal::new(hipErrorOutOfMemory, text));
    }
    Ok(())
}

/// Refuses the call if the platform does not support virtual memory management.
fn ensure_supported() -> Outcome {
    ensure(cfg!(target_os = "linux"), hipErrorNotSupported)
}

hip_functions! {
    fn hipMemGetAllocationGranularity(
        granularity: *mut usize,
        properties: *const hipMemAllocationProp,
        option: hipMemAllocationGranularity_flags,
    ) {
        let runtime = runtime()?;
        ensure_supported()?;
        ensure(option.0 <= hipMemAllocationGranularityRecommended.0, hipErrorInvalidValue)?;
        read(runtime, properties, hipErrorInvalidValue)?;
        put(granularity, PAGE as usize)
    }

    fn hipMemAddressReserve(ptr: *mut *mut c_void, size: usize, align: usize, wanted: *mut c_void, flags: c_ulonglong) {
        let runtime = runtime()?;
        ensure_supported()?;
        ensure(!ptr.is_null() && flags == 0, hipErrorInvalidValue)?;
        ensure(align == 0 || align.is_power_of_two(), hipErrorInvalidValue)?;
        let base = runtime.virtual_memory.reserve(runtime.memory(), size as u64, align as u64, wanted.addr() as u64)?;
        put(ptr, pointer(base))
    }

    fn hipMemAddressFree(ptr: *mut c_void, size: usize) {
        let runtime = runtime()?;
        ensure(!ptr.is_null() && size > 0, hipErrorInvalidValue)?;
        runtime.virtual_memory.unreserve(runtime.memory(), address(ptr), size as u64)
    }

    fn hipMemCreate(
        handle: *mut hipMemGenericAllocationHandle_t,
        size: usize,
        properties: *const hipMemAllocationProp,
        flags: c_ulonglong,
    ) {
        let runtime = runtime()?;
        ensure_supported()?;
        ensure(!handle.is_null() && size > 0 && flags == 0, hipErrorInvalidValue)?;
        let (properties, device) = read(runtime, properties, hipErrorInvalidDevice)?;
        ensure(HANDLE_TYPES.contains(&properties.handle_types), hipErrorNotSupported)?;
        if let Some(device) = device {
            device.alive()?;
        }
        ensure_pages(size as u64, "memory")?;
        if let Some(device) = device {
            ensure_free(runtime, device, size as u64)?;
        }
        let made = runtime.virtual_memory.create(runtime.memory(), device, size as u64, properties.handle_types.0)?;
        put(handle, made.cast())
    }

    fn hipMemRelease(handle: hipMemGenericAllocationHandle_t) {
        runtime()?.virtual_memory.release(handle.cast())
    }

    fn hipMemMap(
        ptr: *mut c_void, size: usize, offset: usize, handle: hipMemGenericAllocationHandle_t, flags: c_ulonglong,
    ) {
        let runtime = runtime()?;
        // HIP documents that the offset must be zero.
        ensure(!ptr.is_null() && size > 0 && offset == 0 && flags == 0, hipErrorInvalidValue)?;
        runtime.virtual_memory.map(
            runtime.memory(), &runtime.blocks, runtime.current(), (address(ptr), size as u64), handle.cast(),
        )
    }

    fn hipMemUnmap(ptr: *mut c_void, size: usize) {
        let runtime = runtime()?;
        ensure(!ptr.is_null() && size > 0, hipErrorInvalidValue)?;
        // Queued work may use the mapping.
        runtime.drain(None);
        runtime.virtual_memory.unmap(runtime.memory(), &runtime.blocks, address(ptr), size as u64)
    }

    fn hipMemSetAccess(ptr: *mut c_void, size: usize, descriptions: *const hipMemAccessDesc, count: usize) {
        let runtime = runtime()?;
        ensure(!ptr.is_null() && size > 0 && !descriptions.is_null() && count > 0, hipErrorInvalidValue)?;
        let mut allowed = Vec::new();
        for description in std::slice::from_raw_parts(descriptions, count) {
            let rights = match description.flags {
                hipMemAccessFlagsProtNone => [false, false],
                hipMemAccessFlagsProtRead => [true, false],
                hipMemAccessFlagsProtReadWrite => [true, true],
                _ => return Err(hipErrorInvalidValue.into()),
            };
            match description.location.type_ {
                hipMemLocationTypeDevice => {
                    let device = runtime.device(description.location.id).map_err(|_| hipErrorInvalidValue)?;
                    allowed.push((device.gpu.agent(), rights));
                }
                // The host always has access.
                HOST => {}
                _ => return Err(hipErrorInvalidValue.into()),
            }
        }
        runtime.virtual_memory.allow(runtime.memory(), address(ptr), size as u64, &allowed)
    }

    fn hipMemGetAccess(flags: *mut c_ulonglong, location: *const hipMemLocation, ptr: *mut c_void) {
        let runtime = runtime()?;
        ensure(!flags.is_null() && !location.is_null() && !ptr.is_null(), hipErrorInvalidValue)?;
        let device = match (*location).type_ {
            hipMemLocationTypeDevice => runtime.device((*location).id).map_err(|_| hipErrorInvalidValue)?,
            HOST => {
                runtime.virtual_memory.access(runtime.memory(), address(ptr), runtime.devices[0].gpu.agent())?;
                return put(flags, hipMemAccessFlagsProtReadWrite.0.into());
            }
            _ => return Err(hipErrorInvalidValue.into()),
        };
        let has = match runtime.virtual_memory.access(runtime.memory(), address(ptr), device.gpu.agent())? {
            [true, true] => hipMemAccessFlagsProtReadWrite,
            [true, false] => hipMemAccessFlagsProtRead,
            _ => hipMemAccessFlagsProtNone,
        };
        put(flags, has.0.into())
    }

    fn hipMemRetainAllocationHandle(handle: *mut hipMemGenericAllocationHandle_t, ptr: *mut c_void) {
        let runtime = runtime()?;
        ensure(!handle.is_null() && !ptr.is_null(), hipErrorInvalidValue)?;
        put(handle, runtime.virtual_memory.retain(address(ptr))?.cast())
    }

    fn hipMemGetAllocationPropertiesFromHandle(
        properties: *mut hipMemAllocationProp,
        handle: hipMemGenericAllocationHandle_t,
    ) {
        ensure(!properties.is_null(), hipErrorInvalidValue)?;
        let backing = runtime()?.virtual_memory.get(handle.cast())?;
        let location = match backing.device {
            Some(device) => hipMemLocation { type_: hipMemLocationTypeDevice, id: device as c_int },
            None => hipMemLocation { type_: HOST, id: 0 },
        };
        let handle_types = hipMemAllocationHandleType(backing.handle_types);
        let kind = hipMemAllocationTypePinned;
        put(properties.cast(), Properties { kind, handle_types, location, win32: std::ptr::null_mut(), flags: 0 })
    }

    fn hipMemExportToShareableHandle(
        to: *mut c_void,
        handle: hipMemGenericAllocationHandle_t,
        kind: hipMemAllocationHandleType,
        flags: c_ulonglong,
    ) {
        let runtime = runtime()?;
        let posix = kind == hipMemHandleTypePosixFileDescriptor;
        ensure(!to.is_null() && flags == 0 && posix, hipErrorInvalidValue)?;
        let exportable = runtime.virtual_memory.get(handle.cast())?.handle_types == kind.0;
        ensure(exportable, hipErrorInvalidValue)?;
        export(runtime, to, handle)
    }

    fn hipMemImportFromShareableHandle(
        handle: *mut hipMemGenericAllocationHandle_t, from: *mut c_void, kind: hipMemAllocationHandleType,
    ) {
        let runtime = runtime()?;
        let posix = kind == hipMemHandleTypePosixFileDescriptor;
        ensure(!handle.is_null() && posix, hipErrorInvalidValue)?;
        import(runtime, handle, from)
    }
}

/// Exports memory to the file descriptor that `to` points to.
///
/// # Safety
/// `to` must be valid for the write of a number.
#[cfg(target_os = "linux")]
unsafe fn export(runtime: &Runtime, to: *mut c_void, handle: hipMemGenericAllocationHandle_t) -> Outcome {
    use std::os::fd::IntoRawFd as _;
    let file = runtime.virtual_memory.export(handle.cast())?;
    // SAFETY: the caller vouches for it; a program may have it in a field of any alignment.
    unsafe { to.cast::<c_int>().write_unaligned(file.into_raw_fd()) };
    Ok(())
}

/// Imports memory by a file descriptor. Since HIP 7.0 the descriptor is passed in the pointer's place; earlier releases
/// pass a pointer to it.
///
/// # Safety
/// `handle` must be valid for a write, and `from` as HIP requires.
#[cfg(target_os = "linux")]
unsafe fn import(runtime: &Runtime, handle: *mut hipMemGenericAllocationHandle_t, from: *mut c_void) -> Outcome {
    let file = c_int::try_from(from.addr() as isize).map_err(|_| hipErrorInvalidValue)?;
    let device = runtime.live_current()?;
    let made = runtime.virtual_memory.import(runtime.memory(), file, device, hipMemHandleTypePosixFileDescriptor.0)?;
    // SAFETY: the caller vouches for it.
    unsafe { put(handle, made.cast()) }
}

#[cfg(not(target_os = "linux"))]
unsafe fn export(_: &Runtime, _: *mut c_void, _: hipMemGenericAllocationHandle_t) -> Outcome {
    ensure_supported()
}

#[cfg(not(target_os = "linux"))]
unsafe fn import(_: &Runtime, _: *mut hipMemGenericAllocationHandle_t, _: *mut c_void) -> Outcome {
    ensure_supported()
}
