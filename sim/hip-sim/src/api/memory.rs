//! Allocation of device, pinned, managed and registered memory, and pointer queries.

use std::ffi::{c_int, c_uint, c_void};

use amdgpu_sim::MemoryError;
use hip_sys::rocm_7_2::*;

use super::{hip_functions, put, put_if_wanted};
use crate::allocation::{address, allocate, find, free, host, make_room, pointer, release};
use crate::memory::{Block, Kind};
use crate::properties::PITCH_ALIGN;
use crate::runtime::runtime;
use crate::status::{Outcome, Refusal, ensure};

/// The mutually exclusive flags of `hipHostMalloc`: coherent and non-coherent.
const COHERENT: c_uint = 0x4000_0000 | 0x8000_0000;
/// `hipMemAttachGlobal` and `hipMemAttachHost`.
const ATTACH_FLAGS: [c_uint; 2] = [1, 2];
/// `hipMemoryTypeUnregistered`, added in HIP 6.
const UNREGISTERED: hipMemoryType = hipMemoryType(0);
const DEVICE_NONE: c_int = -2;

/// `hipMalloc` for the current device.
///
/// # Safety
/// `to` must be null or valid for a write.
unsafe fn malloc(to: *mut *mut c_void, size: usize) -> Outcome {
    runtime()?.captures.refuse_unsafe()?;
    // SAFETY: as the caller vouches.
    unsafe { malloc_unrefused(to, size) }
}

/// As [`malloc`], but allowed during captures.
///
/// # Safety
/// As of [`malloc`].
unsafe fn malloc_unrefused(to: *mut *mut c_void, size: usize) -> Outcome {
    let runtime = runtime()?;
    ensure(!to.is_null(), hipErrorInvalidValue)?;
    let base = if size == 0 {
        0
    } else {
        let device = runtime.live_current()?;
        make_room(runtime, device, size as u64);
        allocate(runtime, device, size as u64, None)?
    };
    // SAFETY: not null, hence valid, as the caller vouches.
    unsafe { put(to, pointer(base)) }
}

/// Allocates pinned or managed memory.
///
/// # Safety
/// `to` must be null or valid for a write.
unsafe fn malloc_host(to: *mut *mut c_void, size: usize, flags: c_uint, kind: Kind) -> Outcome {
    let runtime = runtime()?;
    runtime.captures.refuse_unsafe()?;
    ensure(!to.is_null(), hipErrorInvalidValue)?;
    // SAFETY: not null, hence valid, as the caller vouches.
    unsafe { put(to, std::ptr::null_mut()) }?;
    if size == 0 {
        return Ok(());
    }
    runtime.live_current()?;
    let base = host(runtime, size as u64, flags, kind)?;
    // SAFETY: as above.
    unsafe { put(to, pointer(base)) }
}

/// The pitch and total size for rows of `width` bytes.
fn pitched(width: usize, height: usize) -> Result<(usize, usize), Refusal> {
    let pitch = width.checked_next_multiple_of(PITCH_ALIGN).ok_or(hipErrorInvalidValue)?;
    Ok((pitch, pitch.checked_mul(height).ok_or(hipErrorOutOfMemory)?))
}

/// `hipMallocPitch`.
///
/// # Safety
/// `to` and `pitch` must be null or valid for a write.
unsafe fn malloc_pitch(to: *mut *mut c_void, pitch: *mut usize, width: usize, height: usize) -> Outcome {
    ensure(!to.is_null() && !pitch.is_null(), hipErrorInvalidValue)?;
    if width == 0 || height == 0 {
        // SAFETY: as below. `pitch` is not written.
        return unsafe { put(to, std::ptr::null_mut()) };
    }
    let (row, bytes) = pitched(width, height)?;
    // SAFETY: both are valid, as the caller vouches.
    unsafe {
        put(pitch, row)?;
        malloc(to, bytes)
    }
}

/// `hipPointerAttribute_t`, whose layout is the same in all releases.
#[repr(C)]
struct PointerAttributes {
    kind: hipMemoryType,
    device: c_int,
    device_pointer: *mut c_void,
    host_pointer: *mut c_void,
    is_managed: c_int,
    flags: c_uint,
}

const _: () = {
    assert!(size_of::<PointerAttributes>() == size_of::<hipPointerAttribute_t>());
};

hip_functions! {
    fn hipMalloc(ptr: *mut *mut c_void, size: usize) {
        malloc(ptr, size)
    }

    fn hipExtMallocWithFlags(ptr: *mut *mut c_void, size: usize, flags: c_uint) {
        // Default, fine-grained, uncached and contiguous are the same memory here.
        ensure([0, 1, hipMallocSignalMemory, 3, 4].contains(&flags), hipErrorInvalidValue)?;
        if flags == hipMallocSignalMemory {
            // Signal memory is shared with the host, which accesses it while devices do.
            ensure(size == 8, hipErrorInvalidValue)?;
            return malloc_host(ptr, size, flags, Kind::Host);
        }
        // HIP does not check for captures here.
        malloc_unrefused(ptr, size)
    }

    fn hipFree(ptr: *mut c_void) {
        free(ptr)
    }

    fn hipMallocPitch(ptr: *mut *mut c_void, pitch: *mut usize, width: usize, height: usize) {
        malloc_pitch(ptr, pitch, width, height)
    }

    fn hipMemAllocPitch(ptr: *mut hipDeviceptr_t, pitch: *mut usize, width: usize, height: usize, element: c_uint) {
        ensure([4, 8, 16].contains(&element) && width > 0 && height > 0, hipErrorInvalidValue)?;
        malloc_pitch(ptr, pitch, width, height)
    }

    fn hipMalloc3D(to: *mut hipPitchedPtr, extent: hipExtent) {
        ensure(!to.is_null(), hipErrorInvalidValue)?;
        let hipExtent { width, height, depth } = extent;
        let rows = height.checked_mul(depth).ok_or(hipErrorOutOfMemory)?;
        let (mut ptr, mut pitch) = (std::ptr::null_mut(), 0);
        malloc_pitch(&mut ptr, &mut pitch, width, rows)?;
        put(to, hipPitchedPtr { ptr, pitch, xsize: width, ysize: height })
    }

    fn hipMallocManaged(ptr: *mut *mut c_void, size: usize, flags: c_uint) {
        ensure(size > 0 && ATTACH_FLAGS.contains(&flags), hipErrorInvalidValue)?;
        let captures = &runtime()?.captures;
        captures.refuse_unsafe()?;
        captures.deny_concerned()?;
        malloc_host(ptr, size, flags, Kind::Managed)
    }

    fn hipHostMalloc(ptr: *mut *mut c_void, size: usize, flags: c_uint) {
        // Unknown flags are ignored.
        ensure(size == 0 || flags & COHERENT != COHERENT, hipErrorInvalidValue)?;
        malloc_host(ptr, size, flags, Kind::Host)
    }

    fn hipHostAlloc(ptr: *mut *mut c_void, size: usize, flags: c_uint) {
        ensure(flags <= 7, hipErrorInvalidValue)?;
        malloc_host(ptr, size, flags, Kind::Host)
    }

    fn hipMallocHost(ptr: *mut *mut c_void, size: usize) {
        malloc_host(ptr, size, 0, Kind::Host)
    }

    fn hipMemAllocHost(ptr: *mut *mut c_void, size: usize) {
        malloc_host(ptr, size, 0, Kind::Host)
    }

    fn hipHostFree(ptr: *mut c_void) {
        free(ptr)
    }

    fn hipFreeHost(ptr: *mut c_void) {
        free(ptr)
    }

    fn hipHostRegister(ptr: *mut c_void, size: usize, flags: c_uint) {
        let runtime = runtime()?;
        runtime.captures.refuse_unsafe()?;
        ensure(!ptr.is_null() && size > 0 && flags <= 15, hipErrorInvalidValue)?;
        let (base, size) = (address(ptr), size as u64);
        if let Err(error) = runtime.memory().register_host(ptr.cast(), size) {
            let status = match error {
                MemoryError::Overlap { .. } => hipErrorHostMemoryAlreadyRegistered,
                _ => hipErrorInvalidValue,
            };
            return Err(Refusal::new(status, error.to_string()));
        }
        let device = runtime.current().ordinal;
        runtime.blocks.insert(Block { base, size, kind: Kind::Registered, device, flags, freeing: false, share: None });
        Ok(())
    }

    fn hipHostUnregister(ptr: *mut c_void) {
        let runtime = runtime()?;
        runtime.captures.refuse_unsafe()?;
        ensure(!ptr.is_null(), hipErrorInvalidValue)?;
        let registered = |block: &Block| block.kind == Kind::Registered;
        let base = address(ptr);
        ensure(runtime.blocks.find(base).is_some_and(|b| b.base == base && registered(&b)), hipErrorHostMemoryNotRegistered)?;
        runtime.drain(None);
        let block = runtime.blocks.remove(base, registered).ok_or(hipErrorHostMemoryNotRegistered)?;
        release(runtime, &block);
        Ok(())
    }

    fn hipHostGetDevicePointer(to: *mut *mut c_void, host: *mut c_void, flags: c_uint) {
        let runtime = runtime()?;
        ensure(!to.is_null() && flags == 0, hipErrorInvalidValue)?;
        find(runtime, address(host)).ok_or(hipErrorInvalidValue)?;
        put(to, host)
    }

    fn hipHostGetFlags(flags: *mut c_uint, host: *mut c_void) {
        let runtime = runtime()?;
        ensure(!flags.is_null() && !host.is_null(), hipErrorInvalidValue)?;
        let block = runtime.blocks.find(address(host)).ok_or(hipErrorInvalidValue)?;
        match block.kind {
            Kind::Host => put(flags, block.flags),
            Kind::Managed => put(flags, 0),
            _ => Err(hipErrorInvalidValue.into()),
        }
    }

    fn hipMemGetAddressRange(base: *mut hipDeviceptr_t, size: *mut usize, ptr: hipDeviceptr_t) {
        let block = find(runtime()?, address(ptr)).ok_or(hipErrorNotFound)?;
        put_if_wanted(base, pointer(block.base));
        put_if_wanted(size, block.size as usize);
        Ok(())
    }

    fn hipMemPtrGetInfo(ptr: *mut c_void, size: *mut usize) {
        put(size, find(runtime()?, address(ptr)).ok_or(hipErrorInvalidValue)?.size as usize)
    }

    fn hipPointerGetAttributes(attributes: *mut hipPointerAttribute_t, ptr: *const c_void) {
        let runtime = runtime()?;
        ensure(!attributes.is_null(), hipErrorInvalidValue)?;
        let value = match find(runtime, address(ptr)) {
            Some(block) => PointerAttributes {
                kind: match block.kind {
                    Kind::Device | Kind::Graph | Kind::Global | Kind::Mapped { on_host: false } | Kind::Opened
                    | Kind::Imported { .. } => hipMemoryTypeDevice,
                    Kind::Host | Kind::Registered | Kind::Mapped { on_host: true } => hipMemoryTypeHost,
                    Kind::Managed => hipMemoryTypeManaged,
                },
                device: block.device as c_int,
                device_pointer: ptr.cast_mut(),
                host_pointer: if block.is_shared() { ptr.cast_mut() } else { std::ptr::null_mut() },
                is_managed: c_int::from(block.kind == Kind::Managed),
                flags: block.flags,
            },
            None => PointerAttributes {
                kind: UNREGISTERED,
                device: DEVICE_NONE,
                device_pointer: std::ptr::null_mut(),
                host_pointer: std::ptr::null_mut(),
                is_managed: 0,
                flags: 0,
            },
        };
        put(attributes.cast(), value)
    }
}
