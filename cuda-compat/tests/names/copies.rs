//! Copies with integers as addresses.

use std::ptr::null_mut;

use cuda_compat::driver::*;

use crate::{download, free, has, ok, start, stream, upload};

#[test]
fn copies_in_every_direction() {
    start();
    let (a, b, stream) = (upload(&[1, 2, 3, 4]), upload(&[0; 4]), stream());
    let (source, mut back) = ([9_u32, 8], [0_u32; 2]);
    // SAFETY: all inside the 16 bytes; the stream is waited for before host memory is used.
    unsafe {
        ok(cuMemcpyDtoDAsync(b, a, 8, stream));
        ok(cuMemcpyDtoDAsync_v2(b + 8, a + 8, 8, stream));
        ok(cuStreamSynchronize(stream));
        assert_eq!(download(b, 4), [1, 2, 3, 4]);
        ok(cuMemcpyHtoD(b, source.as_ptr().cast(), 4));
        ok(cuMemcpyHtoDAsync(b + 4, source.as_ptr().cast(), 4, stream));
        ok(cuMemcpyHtoDAsync_v2(b + 8, source.as_ptr().cast(), 8, stream));
        ok(cuStreamSynchronize(stream));
        assert_eq!(download(b, 4), [9, 9, 9, 8]);
        ok(cuMemcpyDtoH(back.as_mut_ptr().cast(), b + 8, 8));
        assert_eq!(back, [9, 8]);
        ok(cuMemcpyDtoHAsync(back.as_mut_ptr().cast(), a, 4, stream));
        ok(cuMemcpyDtoHAsync_v2(back.as_mut_ptr().add(1).cast(), a + 12, 4, stream));
        ok(cuStreamSynchronize(stream));
        assert_eq!(back, [1, 4]);
        // With addresses only.
        ok(cuMemcpy(a, source.as_ptr() as CUdeviceptr, 8));
        ok(cuMemcpyAsync(back.as_mut_ptr() as CUdeviceptr, a, 8, stream));
        ok(cuStreamSynchronize(stream));
        assert_eq!(back, source);
    }
    [a, b].into_iter().for_each(free);
}

/// Calls functions with a copy and, for some of them, a stream; checks the content of `pointer` after each, and zeroes
/// it.
fn each<T>(
    now: &[unsafe extern "C" fn(*const T) -> CUresult],
    queued: &[unsafe extern "C" fn(*const T, CUstream) -> CUresult],
    copy: &T,
    pointer: CUdeviceptr,
    expected: [u32; 8],
) {
    let check = || {
        assert_eq!(download(pointer, 8), expected);
        // SAFETY: the memory has 32 bytes.
        unsafe {
            ok(cuMemsetD32(pointer, 0, 8));
            ok(cuStreamSynchronize(null_mut()));
        }
    };
    for call in now {
        // SAFETY: the copy is inside its buffers, of 32 bytes each.
        ok(unsafe { call(copy) });
        check();
    }
    let stream = stream();
    for call in queued {
        // SAFETY: the same; the stream is waited for.
        unsafe {
            ok(call(copy, stream));
            ok(cuStreamSynchronize(stream));
        }
        check();
    }
}

#[test]
fn copies_of_rectangles_take_structs_with_addresses() {
    if !has(&["hipMemcpyParam2D", "hipDrvMemcpy3D"]) {
        return;
    }
    start();
    let (a, b) = (upload(&[1, 2, 3, 4, 5, 6, 7, 8]), upload(&[0; 8]));
    // From the second column of two rows of four, to the first.
    let copy = CUDA_MEMCPY2D {
        srcMemoryType: CU_MEMORYTYPE_DEVICE,
        srcDevice: a,
        srcPitch: 16,
        srcXInBytes: 4,
        dstMemoryType: CU_MEMORYTYPE_DEVICE,
        dstDevice: b,
        dstPitch: 16,
        WidthInBytes: 8,
        Height: 2,
        ..Default::default()
    };
    let now = [cuMemcpy2D as unsafe extern "C" fn(_) -> _, cuMemcpy2D_v2, cuMemcpy2DUnaligned, cuMemcpy2DUnaligned_v2];
    let queued = [cuMemcpy2DAsync as unsafe extern "C" fn(_, _) -> _, cuMemcpy2DAsync_v2];
    each(&now, &queued, &copy, b, [2, 3, 0, 0, 6, 7, 0, 0]);
    // The first columns of two layers of two rows of two.
    let copy = CUDA_MEMCPY3D {
        srcMemoryType: CU_MEMORYTYPE_DEVICE,
        srcDevice: a,
        srcPitch: 8,
        srcHeight: 2,
        dstMemoryType: CU_MEMORYTYPE_DEVICE,
        dstDevice: b,
        dstPitch: 8,
        dstHeight: 2,
        WidthInBytes: 4,
        Height: 2,
        Depth: 2,
        ..Default::default()
    };
    let now = [cuMemcpy3D as unsafe extern "C" fn(_) -> _, cuMemcpy3D_v2];
    let queued = [cuMemcpy3DAsync as unsafe extern "C" fn(_, _) -> _, cuMemcpy3DAsync_v2];
    each(&now, &queued, &copy, b, [1, 0, 3, 0, 5, 0, 7, 0]);
    [a, b].into_iter().for_each(free);
}

#[test]
fn copies_from_and_to_arrays() {
    if !has(&["hipMemcpyDtoA"]) {
        return;
    }
    start();
    let mut array = null_mut();
    let mut descriptor = CUDA_ARRAY_DESCRIPTOR::default();
    (descriptor.Width, descriptor.Height, descriptor.NumChannels) = (8, 1, 1);
    descriptor.Format = CU_AD_FORMAT_UNSIGNED_INT32;
    let (a, b) = (upload(&[1, 2, 3, 4]), upload(&[0; 4]));
    // SAFETY: the array has 32 bytes, the buffers 16.
    unsafe {
        ok(cuArrayCreate(&mut array, &descriptor));
        ok(cuMemcpyDtoA(array, 0, a, 16));
        ok(cuMemcpyDtoA_v2(array, 16, a, 16));
        ok(cuMemcpyAtoD(b, array, 8, 8));
        ok(cuMemcpyAtoD_v2(b + 8, array, 16, 8));
        assert_eq!(download(b, 4), [3, 4, 1, 2]);
        ok(cuArrayDestroy(array));
    }
    [a, b].into_iter().for_each(free);
}

#[test]
fn a_batch_of_copies() {
    start();
    let (a, b, stream) = (upload(&[1, 2, 3, 4]), upload(&[0; 4]), stream());
    let (mut to, mut from, mut sizes): ([CUdeviceptr; 2], [CUdeviceptr; 2], _) = ([b, b + 12], [a + 8, a], [8, 4]);
    let mut failed = 0;
    // SAFETY: all inside the 16 bytes, two of each. HIP supports no attributes.
    unsafe {
        let (to, from, sizes) = (to.as_mut_ptr(), from.as_mut_ptr(), sizes.as_mut_ptr());
        ok(cuMemcpyBatchAsync(to, from, sizes, 2, null_mut(), null_mut(), 0, &mut failed, stream));
        ok(cuStreamSynchronize(stream));
    }
    assert_eq!(download(b, 4), [3, 4, 0, 1]);
    [a, b].into_iter().for_each(free);
}

#[test]
fn copies_between_devices_take_contexts() {
    start();
    let (source, target) = (upload(&[1, 2, 3, 4]), upload(&[0; 4]));
    let mut context = null_mut();
    // SAFETY: room for the result; the memory has 16 bytes, and the stream is the default one.
    unsafe {
        ok(cuCtxGetCurrent(&mut context));
        ok(cuMemcpyPeer(target, context, source, context, 8));
        assert_eq!(download(target, 4), [1, 2, 0, 0]);
        ok(cuMemcpyPeerAsync(target, context, source, context, 16, null_mut()));
    }
    assert_eq!(download(target, 4), [1, 2, 3, 4]);
    free(source);
    free(target);
}

#[test]
fn variants_of_enums_are_imported_under_both_names() {
    use cuda_compat::driver::sys::CUevent_flags_enum::CU_EVENT_BLOCKING_SYNC as of_enum;
    use cuda_compat::driver::sys::CUfunc_cache_enum::CU_FUNC_CACHE_PREFER_L1;
    assert_eq!(of_enum, cuda_compat::driver::sys::CUevent_flags::CU_EVENT_BLOCKING_SYNC);
    assert_eq!(CU_FUNC_CACHE_PREFER_L1, cuda_compat::driver::sys::CUfunc_cache::CU_FUNC_CACHE_PREFER_L1);
}
