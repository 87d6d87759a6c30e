//! Modules and kernels through HIP's functions: results, arguments, attributes, and every kind of misuse.

mod common;

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use common::*;
use hip_sys::rocm_7_2::*;

const NULL: hipStream_t = null_mut();

#[test]
fn vector_add_is_right_with_a_ragged_end() {
    let module = load(GFX90A);
    let add = kernel(module, "vector_add");
    let n = 1000_u32;
    let a: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let b: Vec<f32> = (0..n).map(|i| 0.5 * i as f32).collect();
    let (da, db, dc) = (upload(&a), upload(&b), upload(&vec![-1.0_f32; n as usize + 24]));
    ok(launch!(add, [4, 1, 1], [256, 1, 1], NULL, (da, db, dc, n)));
    let c: Vec<f32> = download(dc, n as usize + 24);
    assert!((0..n as usize).all(|i| c[i] == a[i] + b[i]));
    assert!(c[n as usize..].iter().all(|x| *x == -1.0), "written past n");
    for ptr in [da, db, dc] {
        free(ptr);
    }
}

#[test]
fn arguments_are_laid_out_as_in_c_and_may_come_in_a_buffer() {
    let module = load(GFX90A);
    let arguments = kernel(module, "arguments");
    let out = malloc(40);
    let (a, triple, b) = (7_i32, [1.5_f32, 2.5, 3.5], -9_i32);
    ok(launch!(arguments, [1; 3], [1; 3], NULL, (a, triple, b, out)));
    assert_eq!(download::<f64>(out, 5), [7.0, 1.5, 2.5, 3.5, -9.0]);

    let mut buffer = Vec::new();
    buffer.extend(8_i32.to_le_bytes());
    triple.iter().for_each(|x| buffer.extend((2.0 * x).to_le_bytes()));
    buffer.extend(10_i32.to_le_bytes());
    buffer.extend([0; 4]);
    buffer.extend((out.addr() as u64).to_le_bytes());
    let (mut size, mut short) = (buffer.len(), buffer.len() - 8);
    let mark = |n| std::ptr::without_provenance_mut::<c_void>(n);
    let mut extra = [mark(1), buffer.as_mut_ptr().cast(), mark(2), (&raw mut size).cast(), mark(3)];
    // SAFETY: `extra` is as HIP describes it.
    ok(unsafe { hipModuleLaunchKernel(arguments, 1, 1, 1, 1, 1, 1, 0, NULL, null_mut(), extra.as_mut_ptr()) });
    assert_eq!(download::<f64>(out, 5), [8.0, 3.0, 5.0, 7.0, 10.0]);
    extra[3] = (&raw mut short).cast();
    // SAFETY: as above; the buffer is said to be too small.
    let status = unsafe { hipModuleLaunchKernel(arguments, 1, 1, 1, 1, 1, 1, 0, NULL, null_mut(), extra.as_mut_ptr()) };
    assert_eq!(status, hipErrorInvalidValue);
    free(out);
}

#[test]
fn three_dimensions_reach_the_kernel() {
    let module = load(GFX90A);
    let out = malloc(4 * 4 * 6 * 6);
    ok(launch!(kernel(module, "geometry"), [2, 3, 2], [2, 2, 3], NULL, (out)));
    let got: Vec<u32> = download(out, 4 * 6 * 6);
    let want =
        (0..6_u32).flat_map(|z| (0..6_u32).flat_map(move |y| (0..4_u32).map(move |x| x | y << 8 | z << 16 | 2 << 24)));
    assert_eq!(got, want.collect::<Vec<_>>());
    free(out);
}

#[test]
fn dynamic_lds_is_there_in_the_size_asked_for() {
    let module = load(GFX90A);
    let reverse = kernel(module, "reverse");
    let data: Vec<i32> = (0..256).collect();
    let ptr = upload(&data);
    ok(launch!(reverse, [1; 3], [256, 1, 1], lds 1024, NULL, (ptr)));
    assert_eq!(download::<i32>(ptr, 256), data.iter().rev().copied().collect::<Vec<_>>());
    assert_eq!(launch!(reverse, [1; 3], [256, 1, 1], lds 65537, NULL, (ptr)), hipErrorInvalidValue);
    free(ptr);
}

#[test]
fn module_variables_are_read_written_and_bounded() {
    let module = load(GFX90A);
    let (mut address, mut size) = (null_mut(), 0);
    // SAFETY: places for the results and a C string.
    ok(unsafe { hipModuleGetGlobal(&mut address, &mut size, module, c"counter".as_ptr()) });
    assert_eq!(size, 16);
    assert_eq!(download::<i32>(address, 4), [1, 2, 3, 4]);
    ok(launch!(kernel(module, "count_up"), [1; 3], [1; 3], NULL, ()));
    assert_eq!(download::<i32>(address, 4), [11, 12, 13, 14]);
    // SAFETY: as above.
    let status = unsafe { hipModuleGetGlobal(&mut address, &mut size, module, c"nothing".as_ptr()) };
    assert_eq!(status, hipErrorNotFound);
}

#[test]
fn attributes_and_occupancy_follow_the_code_object() {
    let module = load(GFX90A);
    let (add, bounded) = (kernel(module, "vector_add"), kernel(module, "bounded"));
    let get = |function, attribute| {
        let mut value = -1;
        // SAFETY: `value` is valid for the write.
        ok(unsafe { hipFuncGetAttribute(&mut value, attribute, function) });
        value
    };
    assert_eq!(get(add, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 1024);
    assert_eq!(get(bounded, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 64);
    assert_eq!(get(add, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 0);
    assert_eq!(get(add, HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 65536);
    assert!((1..=512).contains(&get(add, HIP_FUNC_ATTRIBUTE_NUM_REGS)));

    let active = |block, lds| {
        let mut blocks = -1;
        // SAFETY: `blocks` is valid for the write.
        ok(unsafe { hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, add, block, lds) });
        blocks
    };
    // 2048 work-items a compute unit, 64 KiB LDS.
    assert_eq!(active(256, 0), 8);
    assert_eq!(active(65, 0), 16);
    assert_eq!(active(256, 16 << 10), 4);
    assert_eq!(active(1025, 0), 0);
    let (mut grid, mut block) = (0, 0);
    // SAFETY: both are valid for the write.
    ok(unsafe { hipModuleOccupancyMaxPotentialBlockSize(&mut grid, &mut block, bounded, 0, 0) });
    assert_eq!(block, 64);
    assert!(grid >= 32 && grid % 32 == 0, "{grid}");
}

#[test]
fn wrong_launches_are_refused_before_they_start() {
    let module = load(GFX90A);
    let (add, bounded) = (kernel(module, "vector_add"), kernel(module, "bounded"));
    let ptr = malloc(4096);
    let n = 0_u32;
    let add_with = |grid, block| launch!(add, grid, block, NULL, (ptr, ptr, ptr, n));
    assert_eq!(add_with([1, 1, 1], [0, 1, 1]), hipErrorInvalidValue);
    assert_eq!(add_with([0, 1, 1], [64, 1, 1]), hipErrorInvalidValue);
    assert_eq!(add_with([1, 1, 1], [1025, 1, 1]), hipErrorInvalidValue);
    assert_eq!(add_with([1, 1, 1], [32, 32, 2]), hipErrorInvalidValue);
    assert_eq!(add_with([1, 65537, 1], [1, 1, 1]), hipErrorInvalidValue);
    assert_eq!(add_with([1 << 30, 1, 1], [64, 1, 1]), hipErrorInvalidConfiguration);
    assert_eq!(add_with([u32::MAX, u32::MAX, u32::MAX], [u32::MAX, 1, 1]), hipErrorInvalidValue);
    assert_eq!(launch!(bounded, [1; 3], [65, 1, 1], NULL, (ptr)), hipErrorLaunchFailure);
    assert!(hip_sim::last_fault().unwrap().contains("at most 64 threads"));
    // SAFETY: missing and null arguments, which must both be detected.
    unsafe {
        let launch = |params, extra| hipModuleLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, params, extra);
        assert_eq!(launch(null_mut(), null_mut()), hipErrorInvalidValue);
        assert_eq!(launch([null_mut(); 4].as_mut_ptr(), null_mut()), hipErrorInvalidValue);
        let mut one = [std::ptr::without_provenance_mut(3)];
        assert_eq!(launch([ptr; 4].as_mut_ptr(), one.as_mut_ptr()), hipErrorInvalidValue);
        assert_eq!(launch(null_mut(), one.as_mut_ptr()), hipErrorInvalidValue);
    }
    free(ptr);
}

#[test]
fn what_is_no_code_for_the_device_is_refused_with_its_reason() {
    start();
    let mut module = null_mut();
    let mut load = |image: &[u8]| {
        // SAFETY: the images are complete, or damaged in ways that the loader detects.
        unsafe { hipModuleLoadData(&mut module, image.as_ptr().cast()) }
    };
    assert_eq!(load(GFX942), hipErrorNoBinaryForGpu);
    let text = hip_sim::last_fault().unwrap();
    assert!(text.contains("gfx942") && text.contains("gfx90a"), "{text}");
    assert_eq!(load(b"#!/bin/sh\necho this is not code\n"), hipErrorInvalidImage);
    let mut empty = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    empty.extend([0; 8]);
    assert_eq!(load(&empty), hipErrorNoBinaryForGpu);
    let mut broken = GFX90A.to_vec();
    broken[18] = 62; // EM_X86_64
    assert_eq!(load(&broken), hipErrorInvalidImage);
    // SAFETY: null pointers and C strings; all must be detected.
    unsafe {
        assert_eq!(hipModuleLoadData(&mut module, null()), hipErrorInvalidValue);
        assert_eq!(hipModuleLoadData(null_mut(), GFX90A.as_ptr().cast()), hipErrorInvalidValue);
        assert_eq!(hipModuleLoad(&mut module, c"/nowhere/kernel.co".as_ptr()), hipErrorFileNotFound);
        assert_eq!(hipModuleLoad(&mut module, c"".as_ptr()), hipErrorInvalidValue);
    }
}

#[test]
fn bundles_and_files_load_too() {
    start();
    let id = b"hipv4-amdgcn-amd-amdhsa--gfx90a";
    let other = b"hipv4-amdgcn-amd-amdhsa--gfx942";
    let mut bundle = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    bundle.extend(2_u64.to_le_bytes());
    let mut offset = 4096_u64;
    for (id, code) in [(other, GFX942), (id, GFX90A)] {
        bundle.extend(offset.to_le_bytes());
        bundle.extend((code.len() as u64).to_le_bytes());
        bundle.extend((id.len() as u64).to_le_bytes());
        bundle.extend(id);
        offset += (code.len() as u64).next_multiple_of(4096);
    }
    for code in [GFX942, GFX90A] {
        bundle.resize(bundle.len().next_multiple_of(4096), 0);
        bundle.extend(code);
    }
    for image in [&bundle[..], COMPRESSED] {
        let module = load(image);
        ok(launch!(kernel(module, "empty"), [3, 1, 1], [64, 1, 1], NULL, ()));
    }
    // The form in which a compiler embeds a bundle: a wrapper that points to it.
    let pointer = COMPRESSED.as_ptr().expose_provenance() as u64;
    let wrapper = [1 << 32 | 0x4849_5046, pointer, 0_u64];
    let mut module = null_mut();
    // SAFETY: the wrapper points to a whole bundle.
    ok(unsafe { hipModuleLoadData(&mut module, wrapper.as_ptr().cast()) });
    kernel(module, "vector_add");
    // SAFETY: no pointers.
    ok(unsafe { hipDeviceSynchronize() });

    let path = std::env::temp_dir().join(format!("hip-sim-{}.co", std::process::id()));
    std::fs::write(&path, &bundle).unwrap();
    let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    let mut module = null_mut();
    // SAFETY: a C string and a place for the result.
    ok(unsafe { hipModuleLoad(&mut module, name.as_ptr()) });
    kernel(module, "vector_add");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn dead_and_foreign_handles_are_errors() {
    let module = load(GFX90A);
    let add = kernel(module, "vector_add");
    assert_eq!(add, kernel(module, "vector_add"), "a kernel has one handle");
    let mut function = null_mut();
    // SAFETY: wrong handles and null pointers, which must be detected.
    unsafe {
        assert_eq!(hipModuleGetFunction(&mut function, module, c"missing".as_ptr()), hipErrorNotFound);
        assert!(hip_sim::last_fault().unwrap().contains("vector_add"), "the names that there are");
        assert_eq!(hipModuleGetFunction(&mut function, module, null()), hipErrorInvalidValue);
        assert_eq!(hipModuleGetFunction(&mut function, null_mut(), c"x".as_ptr()), hipErrorInvalidHandle);
        assert_eq!(hipModuleUnload(null_mut()), hipErrorInvalidHandle);
        assert_eq!(hipModuleUnload(add.cast()), hipErrorInvalidHandle);
        ok(hipModuleUnload(module));
        assert_eq!(hipModuleUnload(module), hipErrorInvalidHandle);
        assert_eq!(hipModuleGetFunction(&mut function, module, c"empty".as_ptr()), hipErrorInvalidHandle);
    }
    let n = 0_u32;
    let ptr: *mut c_void = null_mut();
    assert_eq!(launch!(add, [1; 3], [1; 3], NULL, (ptr, ptr, ptr, n)), hipErrorInvalidHandle);
    assert_eq!(launch!(null_mut(), [1; 3], [1; 3], NULL, (n)), hipErrorInvalidHandle);
    let stray = Box::new(5_u64);
    let stray: hipFunction_t = (&raw const *stray).cast_mut().cast();
    assert_eq!(launch!(stray, [1; 3], [1; 3], NULL, (n)), hipErrorInvalidHandle);
}

/// Kernels that use the barrier of the device library's grid synchronisation.
const WAITING: &[u8] = include_bytes!("../../amdgpu-sim/tests/kernels/waiting.co");

#[test]
fn workgroups_of_a_cooperative_launch_wait_for_each_other() {
    const ROUNDS: u32 = 100;
    let rounds = kernel(load(WAITING), "gws_rounds");
    let (groups, threads) = (9_u32, 64_u32);
    let streams = [stream(hipStreamNonBlocking), stream(hipStreamNonBlocking)];
    let places = streams.map(|_| (upload(&vec![0_u32; groups as usize]), upload(&[0_u32])));
    let launch = |groups: u32, stream: hipStream_t, (mut data, mut wrong): (*mut c_void, *mut c_void)| {
        let mut count = ROUNDS;
        let mut arguments: [*mut c_void; 3] =
            [(&raw mut data).cast(), (&raw mut count).cast(), (&raw mut wrong).cast()];
        let arguments = arguments.as_mut_ptr();
        // SAFETY: a pointer to each argument; the simulator checks what the kernel does.
        unsafe { hipModuleLaunchCooperativeKernel(rounds, groups, 1, 1, threads, 1, 1, 0, stream, arguments) }
    };
    // Concurrently on two streams: there is one barrier, and each launch has exclusive use of it.
    for _ in 0..4 {
        (0..2).for_each(|at| ok(launch(groups, streams[at], places[at])));
    }
    for (stream, (data, wrong)) in streams.into_iter().zip(places) {
        // SAFETY: ours.
        ok(unsafe { hipStreamSynchronize(stream) });
        assert_eq!((download::<u32>(data, groups as usize), download::<u32>(wrong, 1)), (vec![ROUNDS; 9], vec![0]));
    }
    // The maximum number of blocks is accepted, and one more is refused.
    let (mut units, mut blocks) = (0, 0);
    // SAFETY: places for results.
    unsafe {
        ok(hipDeviceGetAttribute(&mut units, hipDeviceAttributeMultiprocessorCount, 0));
        ok(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, rounds, threads as i32, 0));
    }
    let most = (units * blocks) as u32;
    let data = upload(&vec![0_u32; most as usize]);
    ok(launch(most, NULL, (data, places[0].1)));
    assert_eq!(launch(most + 1, NULL, (data, places[0].1)), hipErrorCooperativeLaunchTooLarge);
    assert_eq!(download::<u32>(data, most as usize), vec![ROUNDS; most as usize]);
    free(data);
    for (stream, (data, wrong)) in streams.into_iter().zip(places) {
        // SAFETY: ours, and no longer used.
        ok(unsafe { hipStreamDestroy(stream) });
        free(data);
        free(wrong);
    }
}
