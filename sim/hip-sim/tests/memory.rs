//! Memory through HIP's functions: every kind of allocation, copies and fills both ways, and misuse.

mod common;

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use common::*;
use hip_sys::rocm_7_2::*;

const NULL: hipStream_t = null_mut();

#[test]
fn copies_go_everywhere() {
    let data: Vec<u32> = (0..1000).collect();
    let (a, b) = (upload(&data), malloc(4000));
    // SAFETY: sizes are those of the allocations.
    unsafe {
        ok(hipMemcpy(b, a, 4000, hipMemcpyDeviceToDevice));
        assert_eq!(download::<u32>(b, 1000), data);
        let tail = b.byte_add(1002);
        ok(hipMemcpyDtoD(tail, a, 399));
        ok(hipMemcpyHtoD(b, data.as_ptr().cast_mut().cast(), 4));
        let mut back = vec![0_u8; 399];
        ok(hipMemcpyDtoH(back.as_mut_ptr().cast(), tail, 399));
        let bytes: Vec<u8> = data.iter().flat_map(|x| x.to_le_bytes()).collect();
        assert_eq!(back, bytes[..399]);
        // Host to host, by kind and by default.
        let mut host = vec![0_u32; 1000];
        ok(hipMemcpy(host.as_mut_ptr().cast(), data.as_ptr().cast(), 4000, hipMemcpyHostToHost));
        assert_eq!(host, data);
        ok(hipMemcpy(host.as_mut_ptr().cast(), b, 8, hipMemcpyDefault));
        // Overlapping, downwards.
        ok(hipMemcpy(a, a.byte_add(4), 3996, hipMemcpyDeviceToDevice));
        assert_eq!(download::<u32>(a, 999), data[1..]);
    }
    free(a);
    free(b);
}

#[test]
fn fills_of_all_widths_stop_where_they_should() {
    let ptr = upload(&[0xffff_ffff_u32; 8]);
    // SAFETY: all inside the 32 bytes.
    unsafe {
        ok(hipMemset(ptr, 0x101, 3));
        ok(hipMemsetD8(ptr.byte_add(3), 2, 1));
        ok(hipMemsetD16(ptr.byte_add(4), 0x1234, 2));
        ok(hipMemsetD32(ptr.byte_add(8), -2, 2));
        ok(hipMemsetD32Async(ptr.byte_add(16), 7, 1, NULL));
        ok(hipMemsetAsync(ptr.byte_add(20), 9, 4, NULL));
        assert_eq!(
            download::<u32>(ptr, 8),
            [0x0201_0101, 0x1234_1234, 0xffff_fffe, 0xffff_fffe, 7, 0x0909_0909, u32::MAX, u32::MAX]
        );
        assert_eq!(hipMemset(ptr, 0, 33), hipErrorInvalidValue);
        assert_eq!(hipMemsetD32(ptr, 0, usize::MAX / 2), hipErrorInvalidValue);
        assert_eq!(hipMemset(null_mut(), 0, 1), hipErrorInvalidValue);
        ok(hipMemset(null_mut(), 0, 0));
        let mut host = 5_u32;
        assert_eq!(hipMemset((&raw mut host).cast(), 0, 4), hipErrorInvalidValue);
        assert_eq!(host, 5);
    }
    free(ptr);
}

#[test]
fn rectangles_are_copied_and_filled() {
    let (mut ptr, mut pitch) = (null_mut(), 0);
    start();
    // SAFETY: sizes and pitches are those of the buffers.
    unsafe {
        ok(hipMallocPitch(&mut ptr, &mut pitch, 20, 3));
        assert!(pitch >= 20 && pitch % 256 == 0);
        ok(hipMemset2D(ptr, pitch, 0xee, 20, 3));
        let rows: Vec<u8> = (0..36).collect();
        ok(hipMemcpy2D(ptr, pitch, rows.as_ptr().cast(), 12, 10, 3, hipMemcpyHostToDevice));
        let mut back = [0_u8; 60];
        ok(hipMemcpy2D(back.as_mut_ptr().cast(), 20, ptr, pitch, 20, 3, hipMemcpyDeviceToHost));
        for row in 0..3 {
            assert_eq!(back[row * 20..][..10], rows[row * 12..][..10]);
            assert!(back[row * 20 + 10..][..10].iter().all(|b| *b == 0xee));
        }
        let mut copy =
            |width, height| hipMemcpy2D(back.as_mut_ptr().cast(), 20, ptr, pitch, width, height, hipMemcpyDeviceToHost);
        assert_eq!(copy(21, 1), hipErrorInvalidPitchValue);
        assert_eq!(copy(20, 4), hipErrorInvalidValue);
        assert_eq!(copy(20, usize::MAX), hipErrorInvalidValue);
        ok(copy(0, 7));
        assert_eq!(hipMemset2D(ptr, pitch, 0, pitch + 1, 2), hipErrorInvalidValue);
    }
    free(ptr);
}

#[test]
fn misuse_of_pointers_is_an_error() {
    let ptr = malloc(100);
    let mut host = [1_u8; 200];
    let h: *mut c_void = host.as_mut_ptr().cast();
    // SAFETY: invalid on purpose; each call must detect that before it touches any byte.
    unsafe {
        assert_eq!(hipMemcpy(ptr, h, 101, hipMemcpyHostToDevice), hipErrorInvalidValue);
        assert!(hip_sim::last_fault().unwrap().contains("past the end"));
        assert_eq!(hipMemcpy(h, ptr.byte_add(50), 51, hipMemcpyDeviceToHost), hipErrorInvalidValue);
        assert_eq!(hipMemcpy(ptr, null(), 1, hipMemcpyHostToDevice), hipErrorInvalidValue);
        assert_eq!(hipMemcpy(null_mut(), h, 1, hipMemcpyHostToDevice), hipErrorInvalidValue);
        assert_eq!(hipMemcpy(ptr, h, 1, hipMemcpyKind(77)), hipErrorInvalidMemcpyDirection);
        assert_eq!(hipMemcpy(h, h, 1, hipMemcpyHostToDevice), hipErrorInvalidValue);
        ok(hipMemcpy(null_mut(), null(), 0, hipMemcpyDeviceToDevice));
        assert_eq!(hipFree(ptr.byte_add(1)), hipErrorInvalidValue);
        assert_eq!(hipFree(h), hipErrorInvalidValue);
        ok(hipFree(null_mut()));
        ok(hipFree(ptr));
        assert_eq!(hipFree(ptr), hipErrorInvalidValue);
        assert_eq!(hipMemcpy(h, ptr, 1, hipMemcpyDeviceToHost), hipErrorInvalidValue);
        assert_eq!(hipMemset(ptr, 0, 1), hipErrorInvalidValue);
        assert_eq!(hipMalloc(null_mut(), 1), hipErrorInvalidValue);
        let mut p = h;
        ok(hipMalloc(&mut p, 0));
        assert!(p.is_null());
        assert_eq!(hipMalloc(&mut p, usize::MAX), hipErrorOutOfMemory);
        assert_eq!(hipMalloc(&mut p, 1 << 50), hipErrorOutOfMemory);
        assert!(hip_sim::last_fault().unwrap().contains("out of device memory"));
    }
    assert_eq!(host, [1; 200]);
}

#[test]
fn pinned_and_managed_memory_serve_both_sides() {
    let module = load(GFX90A);
    let add = kernel(module, "add_to_all");
    let (mut pinned, mut managed, mut device) = (null_mut(), null_mut(), null_mut());
    // SAFETY: places for results; the memory is 400 bytes, and used between synchronisations.
    unsafe {
        ok(hipHostMalloc(&mut pinned, 400, hipHostMallocPortable));
        ok(hipMallocManaged(&mut managed, 400, 1));
        for ptr in [pinned, managed] {
            let ints: *mut i32 = ptr.cast();
            for i in 0..100 {
                ints.add(i).write(i as i32);
            }
            ok(launch!(add, [2, 1, 1], [64, 1, 1], NULL, (ptr, 100_i32, 1000_i32)));
            ok(hipDeviceSynchronize());
            assert!((0..100).all(|i| ints.add(i).read() == i as i32 + 1000));
        }
        ok(hipHostGetDevicePointer(&mut device, pinned, 0));
        assert_eq!(device, pinned);
        let mut flags = 99;
        ok(hipHostGetFlags(&mut flags, pinned));
        assert_eq!(flags, hipHostMallocPortable);
        assert_eq!(hipHostMalloc(&mut device, 8, 0x4000_0000 | 0x8000_0000), hipErrorInvalidValue);
        assert_eq!(hipMallocManaged(&mut device, 8, 0), hipErrorInvalidValue);
        // The attach flags, as in AMD's runtime: global, host, single.
        let s = stream(0);
        for (flags, bytes, status) in [
            (1, 0, hipSuccess),
            (2, 400, hipSuccess),
            (4, 0, hipSuccess),
            (0, 0, hipErrorInvalidValue),
            (3, 0, hipErrorInvalidValue),
            (1, 100, hipErrorInvalidValue),
            (1, 401, hipErrorInvalidValue),
        ] {
            assert_eq!(hipStreamAttachMemAsync(s, managed, bytes, flags), status, "{flags} {bytes}");
        }
        assert_eq!(hipStreamAttachMemAsync(null_mut(), managed, 0, 4), hipErrorInvalidValue, "no default stream");
        assert_eq!(hipStreamAttachMemAsync(s, null_mut(), 0, 1), hipErrorInvalidValue);
        ok(hipStreamDestroy(s));
        ok(hipHostFree(pinned));
        assert_eq!(hipHostFree(pinned), hipErrorInvalidValue);
        ok(hipFree(managed));
    }
}

#[test]
fn registered_memory_is_the_programs_own() {
    let module = load(GFX90A);
    let add = kernel(module, "add_to_all");
    let mut data = vec![5_i32; 64];
    let ptr: *mut c_void = data.as_mut_ptr().cast();
    // SAFETY: `data` outlives its registration, and is read after the synchronisation.
    unsafe {
        ok(hipHostRegister(ptr, 256, 0));
        assert_eq!(hipHostRegister(ptr, 256, 0), hipErrorHostMemoryAlreadyRegistered);
        ok(launch!(add, [1, 1, 1], [64, 1, 1], NULL, (ptr, 64_i32, 2_i32)));
        ok(hipDeviceSynchronize());
        assert_eq!(hipFree(ptr), hipErrorInvalidValue);
        ok(hipHostUnregister(ptr));
        assert_eq!(hipHostUnregister(ptr), hipErrorHostMemoryNotRegistered);
        assert_eq!(hipHostRegister(null_mut(), 1, 0), hipErrorInvalidValue);
        assert_eq!(hipHostRegister(ptr, 0, 0), hipErrorInvalidValue);
    }
    assert_eq!(data, [7; 64]);
}

#[test]
fn stream_ordered_memory_lives_until_the_stream_frees_it() {
    let stream = stream(hipStreamNonBlocking);
    let module = load(GFX90A);
    let add = kernel(module, "add_to_all");
    let mut pinned = null_mut();
    let mut ptr = null_mut();
    // SAFETY: sizes are those of the allocations; the result is read after the synchronisation.
    unsafe {
        ok(hipHostMalloc(&mut pinned, 256, 0));
        ok(hipMallocAsync(&mut ptr, 256, stream));
        ok(hipMemsetAsync(ptr, 0, 256, stream));
        ok(launch!(add, [1, 1, 1], [64, 1, 1], stream, (ptr, 64_i32, 3_i32)));
        ok(hipMemcpyAsync(pinned, ptr, 256, hipMemcpyDeviceToHost, stream));
        ok(hipFreeAsync(ptr, stream));
        assert_eq!(hipFreeAsync(ptr, stream), hipErrorInvalidValue);
        assert_eq!(hipFree(ptr), hipErrorInvalidValue);
        ok(hipStreamSynchronize(stream));
        assert_eq!(std::slice::from_raw_parts(pinned.cast::<i32>(), 64), [3; 64]);
        assert_eq!(hipMemset(ptr, 0, 1), hipErrorInvalidValue);
        assert_eq!(hipFreeAsync(pinned, stream), hipErrorInvalidValue);
        ok(hipHostFree(pinned));
        ok(hipStreamDestroy(stream));
        assert_eq!(hipMallocAsync(&mut ptr, 4, stream), hipErrorInvalidHandle);
    }
}

#[test]
fn pointers_tell_what_they_are() {
    let ptr = malloc(1000);
    let local = 5_u8;
    let (mut base, mut size) = (null_mut(), 0);
    let mut attributes = hipPointerAttribute_t::default();
    // SAFETY: places for results; pointers are only asked about.
    unsafe {
        ok(hipMemGetAddressRange(&mut base, &mut size, ptr.byte_add(999)));
        assert_eq!((base, size), (ptr, 1000));
        assert_eq!(hipMemGetAddressRange(&mut base, &mut size, ptr.byte_add(1000)), hipErrorNotFound);
        ok(hipPointerGetAttributes(&mut attributes, ptr));
        assert_eq!((attributes.devicePointer, attributes.device), (ptr, 0));
        assert!(attributes.hostPointer.is_null());
        // From HIP 6.0 on, unknown pointers are memory of the program, null included.
        for unknown in [(&raw const local).cast(), null()] {
            let status = hipPointerGetAttributes(&mut attributes, unknown);
            assert_eq!(status, hipSuccess);
        }
    }
    free(ptr);
}

#[test]
fn free_memory_goes_down_and_up() {
    start();
    let info = || {
        let (mut free, mut total) = (0, 0);
        // SAFETY: both are valid for the write.
        ok(unsafe { hipMemGetInfo(&mut free, &mut total) });
        (free, total)
    };
    let big = malloc(1 << 30);
    let (during, total) = info();
    assert!(during <= total - (1 << 30));
    free(big);
    // Other tests of this process use less than that at the same time.
    assert!(info().0 > during);
}
