//! Virtual memory through HIP's functions: reserving, creating, mapping, sharing, and misuse. One test at a time: they
//! count memory.
#![cfg(target_os = "linux")]

mod common;

use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use common::*;
use hip_sys::rocm_7_2::*;

type Handle = hipMemGenericAllocationHandle_t;

const POSIX: hipMemAllocationHandleType = hipMemHandleTypePosixFileDescriptor;
const NO_HINT: *mut c_void = null_mut();
const DEVICE: hipMemLocation = hipMemLocation { type_: hipMemLocationTypeDevice, id: 0 };

fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    start();
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Properties with these handle types, whose field has two names over the releases.
fn properties(handle_types: hipMemAllocationHandleType) -> hipMemAllocationProp {
    let mut properties =
        hipMemAllocationProp { type_: hipMemAllocationTypePinned, location: DEVICE, ..Default::default() };
    // SAFETY: the second of the numbers that it begins with, in all releases.
    unsafe { (&raw mut properties).cast::<hipMemAllocationHandleType>().add(1).write(handle_types) };
    properties
}

fn unit() -> usize {
    let mut unit = 0;
    let properties = properties(hipMemHandleTypeNone);
    // SAFETY: both are valid.
    ok(unsafe { hipMemGetAllocationGranularity(&mut unit, &properties, hipMemAllocationGranularityRecommended) });
    unit
}

fn create(bytes: usize, handle_types: hipMemAllocationHandleType) -> Handle {
    let mut handle = null_mut();
    // SAFETY: both are valid.
    ok(unsafe { hipMemCreate(&mut handle, bytes, &properties(handle_types), 0) });
    handle
}

fn reserve(bytes: usize) -> *mut c_void {
    let mut base = null_mut();
    // SAFETY: `base` is valid.
    ok(unsafe { hipMemAddressReserve(&mut base, bytes, 0, NO_HINT, 0) });
    base
}

fn allow(ptr: *mut c_void, bytes: usize, flags: hipMemAccessFlags) -> hipError_t {
    // SAFETY: one description.
    unsafe { hipMemSetAccess(ptr, bytes, &hipMemAccessDesc { location: DEVICE, flags }, 1) }
}

fn access(ptr: *mut c_void) -> u64 {
    let mut flags = u64::MAX;
    // SAFETY: both are valid.
    ok(unsafe { hipMemGetAccess((&raw mut flags).cast(), &DEVICE, ptr) });
    flags
}

fn free_bytes() -> usize {
    let (mut free, mut total) = (0, 0);
    // SAFETY: both are valid.
    ok(unsafe { hipMemGetInfo(&mut free, &mut total) });
    free
}

#[test]
fn memory_is_mapped_side_by_side_and_keeps_what_is_in_it() {
    let _alone = alone();
    let (unit, before) = (unit(), free_bytes());
    let (a, b) = (create(unit, hipMemHandleTypeNone), create(2 * unit, hipMemHandleTypeNone));
    assert_eq!(free_bytes(), before - 3 * unit, "memory counts before it is mapped");
    let base = reserve(4 * unit);
    let add = kernel(load(GFX90A), "add_to_all");
    let before_code = free_bytes();
    // SAFETY: addresses that are reserved; the simulator checks the rest.
    unsafe {
        ok(hipMemMap(base, unit, 0, a, 0));
        ok(hipMemMap(base.byte_add(unit), 2 * unit, 0, b, 0));
        assert_eq!(free_bytes(), before_code, "and no more when it is");
        ok(allow(base, 3 * unit, hipMemAccessFlagsProtReadWrite));
        let count = 3 * unit / 4;
        ok(hipMemsetD32(base, 5, count));
        let blocks = (count as u32).div_ceil(256);
        ok(launch!(add, [blocks, 1, 1], [256, 1, 1], null_mut(), (base, count as i32, 2_i32)));
        assert_eq!(download::<i32>(base, count), vec![7; count], "fill, kernel and copy over the edge");
        // One byte more is outside the two mappings.
        assert_eq!(hipMemset(base, 0, 3 * unit + 1), hipErrorInvalidValue);
        let (mut start, mut size) = (null_mut(), 0);
        ok(hipMemGetAddressRange(&mut start, &mut size, base.byte_add(unit + 4)));
        assert_eq!((start, size), (base.byte_add(unit), 2 * unit));
        let mut attributes = hipPointerAttribute_t::default();
        ok(hipPointerGetAttributes(&mut attributes, base.byte_add(4)));
        assert_eq!(attributes.devicePointer, base.byte_add(4));
        // Mapped the other way round.
        ok(hipMemsetD32(base.byte_add(unit), 9, unit / 2));
        ok(hipMemUnmap(base, 3 * unit));
        ok(hipMemMap(base, 2 * unit, 0, b, 0));
        ok(hipMemMap(base.byte_add(2 * unit), unit, 0, a, 0));
        ok(allow(base, 3 * unit, hipMemAccessFlagsProtReadWrite));
        let found = download::<i32>(base, count);
        assert!(found[..unit / 2].iter().all(|n| *n == 9) && found[unit / 2..].iter().all(|n| *n == 7));
        // Released memory stays until it is unmapped.
        ok(hipMemRelease(a));
        ok(hipMemRelease(b));
        assert_eq!(free_bytes(), before_code);
        assert_eq!(download::<i32>(base, 1), [9]);
        ok(hipMemUnmap(base, 2 * unit));
        ok(hipMemUnmap(base.byte_add(2 * unit), unit));
        assert_eq!(free_bytes(), before_code + 3 * unit);
        ok(hipMemAddressFree(base, 4 * unit));
    }
}

#[test]
fn what_is_not_mapped_or_not_allowed_is_a_fault_with_a_story() {
    let _alone = alone();
    let unit = unit();
    let (memory, base) = (create(unit, hipMemHandleTypeNone), reserve(2 * unit));
    let store = kernel(load(GFX90A), "store_at");
    let fault = |at: *mut c_void| {
        ok(launch!(store, [1; 3], [1; 3], null_mut(), (at, 0_i64, 1_i32)));
        // SAFETY: no pointers.
        assert_eq!(unsafe { hipDeviceSynchronize() }, hipErrorIllegalAddress);
        hip_sim::last_fault().unwrap()
    };
    let mut host = [0_u8; 4];
    // SAFETY: addresses that are reserved; the simulator checks the rest.
    unsafe {
        let story = fault(base);
        assert!(story.contains("store_at") && story.contains("write of 4 bytes"), "{story}");
        // The host must not crash on addresses without memory either.
        assert_eq!(hipMemcpy(host.as_mut_ptr().cast(), base, 4, hipMemcpyDefault), hipErrorInvalidValue);
        assert_eq!(hipMemset(base, 1, 4), hipErrorInvalidValue);
        ok(hipMemMap(base, unit, 0, memory, 0));
        assert_eq!(access(base), 0);
        let story = fault(base);
        assert!(story.contains("no access") && story.contains("GPU 0 was not let use"), "{story}");
        assert_eq!(hipMemset(base, 1, 4), hipErrorInvalidValue);
        let story = hip_sim::last_fault().unwrap();
        assert!(story.contains("no device was let write") && story.contains("hipMemSetAccess"), "{story}");
        ok(allow(base, unit, hipMemAccessFlagsProtRead));
        assert_eq!(access(base.byte_add(7)), 1);
        ok(hipMemcpy(host.as_mut_ptr().cast(), base, 4, hipMemcpyDeviceToHost));
        assert_eq!(hipMemset(base, 1, 4), hipErrorInvalidValue);
        fault(base);
        ok(allow(base, unit, hipMemAccessFlagsProtReadWrite));
        assert_eq!(access(base), 3);
        ok(launch!(store, [1; 3], [1; 3], null_mut(), (base, 0_i64, 1_i32)));
        assert_eq!(download::<i32>(base, 1), [1]);
        let story = fault(base.byte_add(unit));
        assert!(story.contains(&format!("address {:#x}", base.addr() + unit)), "{story}");
        ok(allow(base, unit, hipMemAccessFlagsProtNone));
        fault(base);
        ok(hipMemUnmap(base, unit));
        ok(hipMemRelease(memory));
        ok(hipMemAddressFree(base, 2 * unit));
    }
}

/// Unmapping waits for queued work before it removes the memory.
#[test]
fn unmapping_waits_for_what_is_queued() {
    let _alone = alone();
    let unit = unit();
    let (memory, base) = (create(unit, hipMemHandleTypeNone), reserve(unit));
    let add = kernel(load(GFX90A), "add_to_all");
    let s = stream(hipStreamNonBlocking);
    // SAFETY: addresses that are reserved.
    unsafe {
        ok(hipMemMap(base, unit, 0, memory, 0));
        ok(allow(base, unit, hipMemAccessFlagsProtReadWrite));
        for _ in 0..20 {
            ok(launch!(add, [4, 1, 1], [256, 1, 1], s, (base, 1024_i32, 1_i32)));
        }
        ok(hipMemUnmap(base, unit));
        ok(hipStreamSynchronize(s));
        ok(hipMemMap(base, unit, 0, memory, 0));
        ok(allow(base, unit, hipMemAccessFlagsProtReadWrite));
        assert_eq!(download::<i32>(base, 1024), [20; 1024]);
        ok(hipMemUnmap(base, unit));
        ok(hipMemRelease(memory));
        ok(hipMemAddressFree(base, unit));
        ok(hipStreamDestroy(s));
    }
}

#[test]
fn handles_are_held_and_exported() {
    let _alone = alone();
    let unit = unit();
    let (memory, base) = (create(unit, POSIX), reserve(2 * unit));
    // SAFETY: all pointers are valid, and the addresses reserved.
    unsafe {
        ok(hipMemMap(base, unit, 0, memory, 0));
        let mut again: Handle = null_mut();
        ok(hipMemRetainAllocationHandle(&mut again, base.byte_add(5)));
        assert_eq!(again, memory);
        ok(hipMemRelease(memory));
        ok(hipMemRelease(memory));
        assert_eq!(hipMemRelease(memory), hipErrorInvalidValue, "held twice, released twice");
        let mut found = hipMemAllocationProp::default();
        assert_eq!(hipMemGetAllocationPropertiesFromHandle(&mut found, memory), hipErrorInvalidValue);
        ok(hipMemRetainAllocationHandle(&mut again, base));
        assert_eq!(again, memory, "mapped, it can be asked for again");
        ok(hipMemGetAllocationPropertiesFromHandle(&mut found, memory));
        assert_eq!(
            (found.type_, found.location.type_, found.location.id),
            (hipMemAllocationTypePinned, DEVICE.type_, 0)
        );

        let mut file: c_int = -1;
        ok(hipMemExportToShareableHandle((&raw mut file).cast(), memory, POSIX, 0));
        let from = |number: c_int| std::ptr::without_provenance_mut(number as isize as usize);
        let mut imported: Handle = null_mut();
        for none in [-1, 1_000_000, 2] {
            assert_eq!(hipMemImportFromShareableHandle(&mut imported, from(none), POSIX), hipErrorInvalidValue);
        }
        let before = free_bytes();
        ok(hipMemImportFromShareableHandle(&mut imported, from(file), POSIX));
        libc_close(file);
        ok(hipMemMap(base.byte_add(unit), unit, 0, imported, 0));
        ok(allow(base, 2 * unit, hipMemAccessFlagsProtReadWrite));
        ok(hipMemsetD32(base, 77, unit / 4));
        assert_eq!(download::<i32>(base.byte_add(unit), unit / 4), vec![77; unit / 4], "the same memory");
        ok(hipMemUnmap(base, 2 * unit));
        ok(hipMemRelease(imported));
        assert_eq!(free_bytes(), before, "what another has made counts there");
        ok(hipMemRelease(memory));
        assert_eq!(hipMemExportToShareableHandle((&raw mut file).cast(), memory, POSIX, 0), hipErrorInvalidValue);
        ok(hipMemAddressFree(base, 2 * unit));
    }
}

fn libc_close(file: c_int) {
    use std::os::fd::FromRawFd as _;
    // SAFETY: the descriptor is ours.
    drop(unsafe { std::os::fd::OwnedFd::from_raw_fd(file) });
}

#[test]
fn what_makes_no_sense_is_refused() {
    let _alone = alone();
    let (unit, good) = (unit(), properties(hipMemHandleTypeNone));
    let bad = hipErrorInvalidValue;
    let with = |change: fn(&mut hipMemAllocationProp)| {
        let mut properties = good;
        change(&mut properties);
        properties
    };
    let (untyped, nowhere) = (with(|p| p.type_ = hipMemAllocationTypeInvalid), with(|p| p.location.type_.0 = 0));
    let far = with(|p| p.location.id = 99);
    let (mut size, mut handle, mut base) = (0, null_mut(), null_mut());
    // SAFETY: all pointers are null or valid; the simulator checks the rest.
    unsafe {
        let minimum = hipMemAllocationGranularityMinimum;
        assert_eq!(hipMemGetAllocationGranularity(null_mut(), &good, minimum), bad);
        assert_eq!(hipMemGetAllocationGranularity(&mut size, null(), minimum), bad);
        assert_eq!(hipMemGetAllocationGranularity(&mut size, &good, hipMemAllocationGranularity_flags(7)), bad);
        for properties in [untyped, nowhere, far] {
            assert_eq!(hipMemGetAllocationGranularity(&mut size, &properties, minimum), bad);
        }

        assert_eq!(hipMemCreate(null_mut(), unit, &good, 0), bad);
        assert_eq!(hipMemCreate(&mut handle, unit, null(), 0), bad);
        assert_eq!(hipMemCreate(&mut handle, unit, &good, 1), bad);
        for size in [0, unit + 1, unit / 2] {
            assert_eq!(hipMemCreate(&mut handle, size, &good, 0), bad);
        }
        assert_eq!(hipMemCreate(&mut handle, unit, &untyped, 0), bad);
        assert_eq!(hipMemCreate(&mut handle, unit, &nowhere, 0), bad);
        assert_eq!(hipMemCreate(&mut handle, unit, &far, 0), hipErrorInvalidDevice);
        assert_eq!(hipMemCreate(&mut handle, 1 << 50, &good, 0), hipErrorOutOfMemory);
        let win32 = properties(hipMemHandleTypeWin32);
        assert_eq!(hipMemCreate(&mut handle, unit, &win32, 0), hipErrorNotSupported);

        assert_eq!(hipMemAddressReserve(null_mut(), unit, 0, NO_HINT, 0), bad);
        assert_eq!(hipMemAddressReserve(&mut base, unit, 0, NO_HINT, 1), bad);
        assert_eq!(hipMemAddressReserve(&mut base, unit, 3, NO_HINT, 0), bad);
        for size in [0, unit + 1] {
            assert_eq!(hipMemAddressReserve(&mut base, size, 0, NO_HINT, 0), bad);
        }
        assert_eq!(hipMemAddressReserve(&mut base, 1 << 60, 0, NO_HINT, 0), hipErrorOutOfMemory);
        ok(hipMemAddressReserve(&mut base, unit, 1 << 20, NO_HINT, 0));
        assert_eq!(base.addr() % (1 << 20), 0);
        ok(hipMemAddressFree(base, unit));

        let (memory, base) = (create(2 * unit, hipMemHandleTypeNone), reserve(8 * unit));
        for (ptr, size, offset, handle, flags) in [
            (null_mut(), unit, 0, memory, 0),
            (base, 0, 0, memory, 0),
            (base, unit / 2, 0, memory, 0),
            (base, 3 * unit, 0, memory, 0),
            (base, unit, unit, memory, 0),
            (base, unit, 0, memory, 1),
            (base, unit, 0, null_mut(), 0),
            (base, unit, 0, std::ptr::without_provenance_mut(0x29), 0),
            (base.byte_add(1), unit, 0, memory, 0),
            (base.byte_add(7 * unit), 2 * unit, 0, memory, 0),
        ] {
            assert_eq!(hipMemMap(ptr, size, offset, handle, flags), bad, "{ptr:?} {size} {offset} {handle:?} {flags}");
        }
        ok(hipMemMap(base.byte_add(unit), 2 * unit, 0, memory, 0));
        for at in [0, 1, 2] {
            assert_eq!(hipMemMap(base.byte_add(at * unit), 2 * unit, 0, memory, 0), bad, "something is there");
        }
        let mapped = base.byte_add(unit);
        for (ptr, size) in
            [(base, unit), (mapped, unit), (mapped, 3 * unit), (mapped.byte_add(unit), unit), (mapped, 0)]
        {
            assert_eq!(hipMemUnmap(ptr, size), bad, "{ptr:?} {size}");
            assert_eq!(allow(ptr, size, hipMemAccessFlagsProtReadWrite), bad, "{ptr:?} {size}");
        }
        assert_eq!(hipMemUnmap(null_mut(), unit), bad);
        assert_eq!(allow(mapped, 2 * unit, hipMemAccessFlags(2)), bad);
        assert_eq!(hipMemSetAccess(mapped, 2 * unit, null(), 1), bad);
        let description = hipMemAccessDesc { location: far.location, flags: hipMemAccessFlagsProtReadWrite };
        assert_eq!(hipMemSetAccess(mapped, 2 * unit, &description, 0), bad);
        assert_eq!(hipMemSetAccess(mapped, 2 * unit, &description, 1), bad);
        let mut flags = 0;
        assert_eq!(hipMemGetAccess(&mut flags, &DEVICE, base), bad);
        assert_eq!(hipMemGetAccess(&mut flags, &far.location, mapped), bad);
        assert_eq!(hipMemGetAccess(null_mut(), &DEVICE, mapped), bad);
        assert_eq!(hipMemRetainAllocationHandle(&mut handle, base), bad);
        assert_eq!(hipMemRetainAllocationHandle(null_mut(), mapped), bad);
        let mut file: c_int = -1;
        assert_eq!(hipMemExportToShareableHandle((&raw mut file).cast(), memory, POSIX, 0), bad, "not made for it");
        assert_eq!(hipFree(mapped), bad, "not hipMalloc's");
        assert_eq!(hipFreeAsync(mapped, null_mut()), bad);

        assert_eq!(hipMemAddressFree(null_mut(), unit), bad);
        assert_eq!(hipMemAddressFree(base, 0), bad);
        assert_eq!(hipMemAddressFree(base, unit), hipErrorUnknown);
        assert_eq!(hipMemAddressFree(mapped, 7 * unit), hipErrorUnknown);
        assert_eq!(hipMemAddressFree(base, 8 * unit), bad, "something is mapped");
        ok(hipMemUnmap(mapped, 2 * unit));
        assert_eq!(hipMemUnmap(mapped, 2 * unit), bad);
        ok(hipMemRelease(memory));
        assert_eq!(hipMemRelease(memory), bad);
        assert_eq!(hipMemRelease(null_mut()), bad);
        ok(hipMemAddressFree(base, 8 * unit));
        assert_eq!(hipMemAddressFree(base, 8 * unit), hipErrorUnknown);
        hipGetLastError();
    }
}

/// A device reset frees its memory wherever it is mapped, and the addresses can be used again.
#[test]
fn a_reset_ends_the_devices_memory() {
    let _alone = alone();
    let unit = unit();
    let (mapped, loose, base) = (create(unit, POSIX), create(unit, POSIX), reserve(unit));
    // SAFETY: addresses that are reserved.
    unsafe {
        ok(hipMemMap(base, unit, 0, mapped, 0));
        ok(hipDeviceReset());
        for handle in [mapped, loose] {
            assert_eq!(hipMemRelease(handle), hipErrorInvalidValue);
        }
        assert_eq!(hipMemUnmap(base, unit), hipErrorInvalidValue);
        let (mut free, mut total) = (0, 0);
        ok(hipMemGetInfo(&mut free, &mut total));
        assert_eq!(free, total);
        let memory = create(unit, hipMemHandleTypeNone);
        ok(hipMemMap(base, unit, 0, memory, 0));
        ok(hipMemUnmap(base, unit));
        ok(hipMemRelease(memory));
        ok(hipMemAddressFree(base, unit));
    }
}
