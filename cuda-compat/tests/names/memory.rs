//! Allocation, mapping, and attributes of addresses.

use std::ffi::c_void;
use std::ptr::null_mut;

use cuda_compat::driver::*;

use crate::{download, free, has, ok, start, stream, upload};

#[test]
fn every_allocator_gives_an_address() {
    start();
    let stream = stream();
    let mut pool = null_mut();
    // SAFETY: room for the result.
    unsafe { ok(cuDeviceGetDefaultMemPool(&mut pool, 0)) };
    let allocators: [&dyn Fn(&mut CUdeviceptr) -> CUresult; 4] = [
        // SAFETY: room for the result.
        &|pointer| unsafe { cuMemAlloc(pointer, 64) },
        // SAFETY: room for the result.
        &|pointer| unsafe { cuMemAllocManaged(pointer, 64, CU_MEM_ATTACH_GLOBAL) },
        // SAFETY: room for the result.
        &|pointer| unsafe { cuMemAllocAsync(pointer, 64, stream) },
        // SAFETY: room for the result.
        &|pointer| unsafe { cuMemAllocFromPoolAsync(pointer, 64, pool, stream) },
    ];
    for (index, allocate) in allocators.iter().enumerate() {
        let mut pointer: CUdeviceptr = 0;
        ok(allocate(&mut pointer));
        assert_ne!(pointer, 0);
        // SAFETY: the memory has 64 bytes, and the stream orders its use.
        unsafe {
            ok(cuMemsetD32Async(pointer, 3, 16, stream));
            ok(cuStreamSynchronize(stream));
            assert_eq!(download(pointer, 16), [3; 16]);
            match index {
                2 | 3 => ok(cuMemFreeAsync(pointer, stream)),
                _ => ok(cuMemFree(pointer)),
            }
        }
    }
    // SAFETY: it is no longer used.
    unsafe { ok(cuStreamDestroy(stream)) };
}

#[test]
fn rows_with_a_pitch() {
    if !has(&["hipMemsetD2D32"]) {
        return;
    }
    start();
    for allocate in [cuMemAllocPitch as unsafe extern "C" fn(_, _, _, _, _) -> _, cuMemAllocPitch_v2] {
        let (mut pointer, mut pitch): (CUdeviceptr, _) = (0, 0);
        // SAFETY: places for the results; two rows of two words are inside.
        unsafe {
            ok(allocate(&mut pointer, &mut pitch, 8, 2, 4));
            assert!(pitch >= 8);
            for fill in [cuMemsetD2D32 as unsafe extern "C" fn(_, _, _, _, _) -> _, cuMemsetD2D32_v2] {
                ok(cuMemsetD2D8(pointer, pitch, 0, 8, 2));
                ok(fill(pointer, pitch, 0x8000_0001, 2, 2));
                let second = pointer + pitch as CUdeviceptr;
                assert_eq!([download(pointer, 2), download(second, 2)].concat(), [0x8000_0001; 4]);
                ok(cuMemsetD2D8_v2(second, pitch, 9, 3, 1));
                assert_eq!(download(second, 2), [0x8009_0909, 0x8000_0001]);
                // Two rows: AMD's runtime of ROCm 7.2 takes the width of a single row as bytes.
                ok(cuMemsetD2D16_v2(pointer, pitch, 0x1234, 4, 2));
                assert_eq!([download(pointer, 2), download(second, 2)].concat(), [0x1234_1234; 4]);
                ok(cuMemsetD2D16(pointer, pitch, 0x4321, 2, 2));
                assert_eq!([download(pointer, 2), download(second, 2)].concat(), [0x4321_4321, 0x1234_1234].repeat(2));
            }
        }
        free(pointer);
    }
}

#[test]
fn fills_of_each_width() {
    start();
    let (pointer, stream) = (upload(&[0; 8]), stream());
    // SAFETY: all inside the 32 bytes; the stream is waited for.
    unsafe {
        ok(cuMemsetD8(pointer, 1, 1));
        ok(cuMemsetD8_v2(pointer + 1, 2, 3));
        ok(cuMemsetD16(pointer + 4, 0x1111, 1));
        ok(cuMemsetD16_v2(pointer + 6, 0x2222, 1));
        ok(cuMemsetD32(pointer + 8, u32::MAX, 1)); // HIP's value is signed
        ok(cuMemsetD32_v2(pointer + 12, 0x8000_0000, 1));
        ok(cuMemsetD8Async(pointer + 16, 5, 4, stream));
        ok(cuMemsetD16Async(pointer + 20, 6, 2, stream));
        ok(cuMemsetD32Async(pointer + 24, 0x9000_0000, 1, stream));
        ok(cuStreamSynchronize(stream));
        ok(cuStreamDestroy(stream));
    }
    assert_eq!(
        download(pointer, 8),
        [0x0202_0201, 0x2222_1111, u32::MAX, 0x8000_0000, 0x0505_0505, 0x0006_0006, 0x9000_0000, 0]
    );
    free(pointer);
}

#[test]
fn an_address_leads_to_its_allocation() {
    if !has(&["hipPointerGetAttribute", "hipDrvPointerGetAttributes"]) {
        return;
    }
    start();
    let pointer = upload(&[0; 8]);
    for range in [cuMemGetAddressRange as unsafe extern "C" fn(_, _, _) -> _, cuMemGetAddressRange_v2] {
        let (mut base, mut size): (CUdeviceptr, _) = (0, 0);
        // SAFETY: places for the results.
        unsafe { ok(range(&mut base, &mut size, pointer + 20)) };
        assert_eq!((base, size), (pointer, 32));
    }
    let mut start: CUdeviceptr = 0;
    let mut attribute = CU_POINTER_ATTRIBUTE_RANGE_START_ADDR;
    let place = (&raw mut start).cast::<c_void>();
    // SAFETY: a place of 8 bytes for the result.
    unsafe { ok(cuPointerGetAttribute(place, attribute, pointer + 4)) };
    assert_eq!(start, pointer);
    start = 0;
    // SAFETY: one attribute, one place.
    unsafe { ok(cuPointerGetAttributes(1, &mut attribute, &mut { place }, pointer + 8)) };
    assert_eq!(start, pointer);
    free(pointer);
}

#[test]
fn memory_of_the_host_has_an_address_on_the_device() {
    start();
    let mut host = null_mut();
    // SAFETY: places for the results; freed once.
    unsafe {
        ok(cuMemHostAlloc(&mut host, 16, CU_MEMHOSTALLOC_DEVICEMAP));
        host.cast::<[u32; 4]>().write([4, 3, 2, 1]);
        for get in [cuMemHostGetDevicePointer as unsafe extern "C" fn(_, _, _) -> _, cuMemHostGetDevicePointer_v2] {
            let mut pointer: CUdeviceptr = 0;
            ok(get(&mut pointer, host, 0));
            assert_eq!(download(pointer, 4), [4, 3, 2, 1]);
        }
        ok(cuMemFreeHost(host));
    }
}

#[test]
fn managed_memory_is_advised_and_prefetched() {
    start();
    let (mut pointer, stream): (CUdeviceptr, _) = (0, stream());
    // SAFETY: the memory has 4096 bytes, and the stream is waited for.
    unsafe {
        ok(cuMemAllocManaged(&mut pointer, 4096, CU_MEM_ATTACH_GLOBAL));
        ok(cuMemAdvise(pointer, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
        let mut is_set = 0_i32;
        let place = (&raw mut is_set).cast::<c_void>();
        ok(cuMemRangeGetAttribute(place, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, pointer, 4096));
        assert_eq!(is_set, 1);
        if has(&["hipMemRangeGetAttributes"]) {
            is_set = 0;
            let mut attribute = CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY;
            ok(cuMemRangeGetAttributes(&mut { place }, &mut 4, &mut attribute, 1, pointer, 4096));
            assert_eq!(is_set, 1);
        }
        let location = CUmemLocation { type_: CU_MEM_LOCATION_TYPE_DEVICE, ..Default::default() };
        ok(cuMemAdvise_v2(pointer, 4096, CU_MEM_ADVISE_UNSET_READ_MOSTLY, location));
        ok(cuMemRangeGetAttribute(place, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, pointer, 4096));
        assert_eq!(is_set, 0);
        ok(cuMemPrefetchAsync(pointer, 4096, 0, stream));
        ok(cuMemPrefetchAsync_v2(pointer, 4096, location, 0, stream));
        ok(cuStreamAttachMemAsync(stream, pointer, 0, CU_MEM_ATTACH_GLOBAL));
        ok(cuStreamSynchronize(stream));
    }
    free(pointer);
}

#[test]
fn reserved_addresses_are_mapped() {
    start();
    let mut properties = CUmemAllocationProp { type_: CU_MEM_ALLOCATION_TYPE_PINNED, ..Default::default() };
    properties.location.type_ = CU_MEM_LOCATION_TYPE_DEVICE;
    let (mut pointer, mut handle, mut size): (CUdeviceptr, _, _) = (0, null_mut(), 0);
    let access = CUmemAccessDesc { location: properties.location, flags: CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    // SAFETY: room for the results; mapped memory is unmapped before it is freed.
    unsafe {
        ok(cuMemGetAllocationGranularity(&mut size, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
        ok(cuMemCreate(&mut handle, size, &properties, 0));
        ok(cuMemAddressReserve(&mut pointer, size, 0, 0, 0));
        assert_ne!(pointer, 0);
        ok(cuMemMap(pointer, size, 0, handle, 0));
        ok(cuMemSetAccess(pointer, size, &access, 1));
        let mut flags = 0;
        ok(cuMemGetAccess(&mut flags, &access.location, pointer));
        assert_eq!(flags, u64::from(CU_MEM_ACCESS_FLAGS_PROT_READWRITE.0));
        ok(cuMemsetD32(pointer, 6, 4));
        assert_eq!(download(pointer, 4), [6; 4]);
        ok(cuMemUnmap(pointer, size));
        ok(cuMemRelease(handle));
        ok(cuMemAddressFree(pointer, size));
    }
}

#[test]
fn streams_write_and_wait_for_values() {
    start();
    let (pointer, stream) = (upload(&[0; 8]), stream());
    // SAFETY: all inside the 32 bytes; the stream is waited for.
    unsafe {
        ok(cuStreamWriteValue32(stream, pointer, 0xf000_0001, 0));
        ok(cuStreamWaitValue32(stream, pointer, 0xf000_0001, CU_STREAM_WAIT_VALUE_EQ));
        ok(cuStreamWriteValue32_v2(stream, pointer + 4, 2, 0));
        ok(cuStreamWaitValue32_v2(stream, pointer + 4, 2, CU_STREAM_WAIT_VALUE_GEQ));
        ok(cuStreamWriteValue64(stream, pointer + 8, 3 << 40, 0));
        ok(cuStreamWaitValue64(stream, pointer + 8, 3 << 40, CU_STREAM_WAIT_VALUE_EQ));
        ok(cuStreamWriteValue64_v2(stream, pointer + 16, 4, 0));
        ok(cuStreamWaitValue64_v2(stream, pointer + 16, 4, CU_STREAM_WAIT_VALUE_EQ));
        ok(cuStreamSynchronize(stream));
    }
    assert_eq!(download(pointer, 8), [0xf000_0001, 2, 0, 3 << 8, 4, 0, 0, 0]);
    if crate::is_amds() {
        // On that runtime, the fill that ends the wait would be queued after it.
        return free(pointer);
    }
    // All bits are compared: a wait for a value that differs only in the highest bit does not end.
    // SAFETY: the memory is alive until the wait is over.
    unsafe {
        ok(cuStreamWaitValue32(stream, pointer, 0x7000_0001, CU_STREAM_WAIT_VALUE_EQ));
        assert_eq!(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
        ok(cuMemsetD32(pointer, 0x7000_0001, 1));
        ok(cuStreamSynchronize(stream));
    }
    free(pointer);
}

#[test]
fn a_pool_and_its_memory_are_exported() {
    if !has(&["hipMemPoolExportToShareableHandle"]) {
        return;
    }
    start();
    let mut properties = CUmemPoolProps {
        allocType: CU_MEM_ALLOCATION_TYPE_PINNED,
        handleTypes: CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        ..Default::default()
    };
    properties.location.type_ = CU_MEM_LOCATION_TYPE_DEVICE;
    let mut pool = null_mut();
    let mut file = -1_i32;
    // SAFETY: places for the results.
    unsafe {
        ok(cuMemPoolCreate(&mut pool, &properties));
        let place = (&raw mut file).cast();
        // Flags are not supported, and those beyond 32 bits are not dropped.
        let flags = 1 << 32;
        let status = cuMemPoolExportToShareableHandle(place, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, flags);
        assert_ne!(status, CUDA_SUCCESS);
        ok(cuMemPoolExportToShareableHandle(place, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
        assert!(file >= 0);
        let mut pointer: CUdeviceptr = 0;
        ok(cuMemAllocFromPoolAsync(&mut pointer, 64, pool, null_mut()));
        let mut exported = CUmemPoolPtrExportData::default();
        ok(cuMemPoolExportPointer(&mut exported, pointer));
        ok(cuMemFreeAsync(pointer, null_mut()));
        ok(cuStreamSynchronize(null_mut()));
        ok(cuMemPoolDestroy(pool));
    }
}

#[test]
fn fills_of_rectangles_are_queued() {
    if !has(&["hipMemsetD2D32Async"]) {
        return;
    }
    start();
    let (pointer, stream) = (upload(&[0; 24]), stream());
    // SAFETY: two rows each of 16 bytes inside the 96; the stream is waited for.
    unsafe {
        ok(cuMemsetD2D8Async(pointer, 16, 1, 4, 2, stream));
        ok(cuMemsetD2D16Async(pointer + 32, 16, 2, 4, 2, stream));
        ok(cuMemsetD2D32Async(pointer + 64, 16, 0x8000_0003, 1, 2, stream));
        ok(cuStreamSynchronize(stream));
    }
    let words = download(pointer, 24);
    for (rows, row) in words.chunks(8).zip([[0x0101_0101, 0], [0x0002_0002; 2], [0x8000_0003, 0]]) {
        assert_eq!((&rows[..2], &rows[4..6]), (&row[..], &row[..]));
    }
    free(pointer);
}

#[test]
fn memory_for_other_processes_has_a_handle() {
    start();
    let pointer = upload(&[0; 4]);
    let mut handle = CUipcMemHandle::default();
    // SAFETY: room for the result.
    unsafe {
        ok(cuIpcGetMemHandle(&mut handle, pointer));
        assert_ne!(cuIpcGetMemHandle(&mut handle, 0), CUDA_SUCCESS);
    }
    free(pointer);
}
