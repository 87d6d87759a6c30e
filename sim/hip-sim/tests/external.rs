//! Memory and semaphores of other APIs by file descriptor, through HIP's functions and as nodes of graphs.
#![cfg(target_os = "linux")]

mod common;

use std::ffi::c_void;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, IntoRawFd as _, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::ptr::{null, null_mut};

use common::*;
use hip_sys::rocm_7_2::*;

const BAD: hipError_t = hipErrorInvalidValue;

/// Exports 64 KiB of memory; returns its handle and descriptor.
fn exported() -> (hipMemGenericAllocationHandle_t, File) {
    start();
    let mut properties = hipMemAllocationProp { type_: hipMemAllocationTypePinned, ..Default::default() };
    properties.location = hipMemLocation { type_: hipMemLocationTypeDevice, id: 0 };
    // The field with the requested handle type has two names across releases; it is the second field.
    let posix = hipMemHandleTypePosixFileDescriptor;
    // SAFETY: the second number of the structure in every release.
    unsafe { (&raw mut properties).cast::<u32>().add(1).write(posix.0) };
    let (mut memory, mut descriptor) = (null_mut(), -1);
    // SAFETY: places for results.
    unsafe {
        ok(hipMemCreate(&mut memory, 64 << 10, &properties, 0));
        ok(hipMemExportToShareableHandle((&raw mut descriptor).cast(), memory, posix, 0));
        (memory, File::from(OwnedFd::from_raw_fd(descriptor)))
    }
}

fn memory_description(file: &File, size: u64) -> hipExternalMemoryHandleDesc {
    let handle = hipExternalMemoryHandleDesc_handle { fd: file.as_raw_fd() };
    hipExternalMemoryHandleDesc { type_: hipExternalMemoryHandleTypeOpaqueFd, handle, size, ..Default::default() }
}

fn part(offset: u64, size: u64) -> hipExternalMemoryBufferDesc {
    hipExternalMemoryBufferDesc { offset, size, ..Default::default() }
}

#[test]
fn parts_of_imported_memory_are_mapped_and_freed() {
    let (handle, file) = exported();
    let (mut memory, mut first, mut second) = (null_mut(), null_mut(), null_mut());
    // SAFETY: places for results; the simulator checks the rest.
    unsafe {
        ok(hipImportExternalMemory(&mut memory, &memory_description(&file, 64 << 10)));
        ok(hipExternalMemoryGetMappedBuffer(&mut first, memory, &part(0, 64 << 10)));
        ok(hipExternalMemoryGetMappedBuffer(&mut second, memory, &part(256, 16)));
        assert_ne!(first.byte_add(256), second, "each has addresses of its own");
        for bad in [part(0, 0), part(0, (64 << 10) + 1), part(64 << 10, 1), part(u64::MAX, 2)] {
            let mut mapped = null_mut();
            assert_eq!(hipExternalMemoryGetMappedBuffer(&mut mapped, memory, &bad), BAD, "{} {}", bad.offset, bad.size);
        }
        assert_eq!(hipExternalMemoryGetMappedBuffer(null_mut(), memory, &part(0, 16)), BAD);
        ok(hipDestroyExternalMemory(memory));
        assert_eq!(hipDestroyExternalMemory(memory), BAD);
        assert_eq!(hipExternalMemoryGetMappedBuffer(&mut null_mut(), memory, &part(0, 16)), BAD);
        // The mapping keeps the memory alive. A kernel writes through one address, and the other shows the value.
        let store = kernel(load(GFX90A), "store_at");
        ok(launch!(store, [1; 3], [1; 3], null_mut(), (second, 3_i64, 41_i32)));
        assert_eq!(download::<i32>(first, 70)[64..68], [0, 0, 0, 41]);
        // An access beyond the end of the memory is refused.
        let mut back = [0_u8; 20];
        assert_eq!(hipMemcpy(back.as_mut_ptr().cast(), second, 20, hipMemcpyDeviceToHost), BAD);
        let (mut base, mut size) = (null_mut(), 0);
        ok(hipMemGetAddressRange(&mut base, &mut size, second.byte_add(5)));
        assert_eq!((base, size), (second, 16));
        free(second);
        assert_eq!(hipFree(second), BAD);
        let s = stream(hipStreamNonBlocking);
        ok(launch!(store, [1; 3], [1; 3], s, (second, 3_i64, 7_i32)));
        assert_eq!(hipStreamSynchronize(s), hipErrorIllegalAddress, "it has no address any more");
        ok(hipStreamDestroy(s));
        assert_eq!(download::<i32>(first, 68)[67], 41);
        free(first);
        ok(hipMemRelease(handle));
    }
}

#[test]
fn what_is_no_memory_is_refused() {
    let (handle, file) = exported();
    let mut memory = null_mut();
    let import = |description: &hipExternalMemoryHandleDesc, to: &mut hipExternalMemory_t| {
        // SAFETY: both are valid; descriptors are looked at.
        unsafe { hipImportExternalMemory(to, description) }
    };
    let good = memory_description(&file, 4096);
    // SAFETY: null pointers are found.
    unsafe {
        assert_eq!(hipImportExternalMemory(null_mut(), &good), BAD);
        assert_eq!(hipImportExternalMemory(&mut memory, null()), BAD);
        assert_eq!(hipDestroyExternalMemory(null_mut()), BAD);
    }
    let windows = hipExternalMemoryHandleTypeOpaqueWin32;
    assert_eq!(import(&hipExternalMemoryHandleDesc { type_: windows, ..good }, &mut memory), BAD);
    assert_eq!(import(&hipExternalMemoryHandleDesc { flags: 2, ..good }, &mut memory), BAD);
    assert_eq!(import(&memory_description(&file, 0), &mut memory), BAD);
    // AMD's runtime returns this status.
    assert_eq!(import(&memory_description(&file, (64 << 10) + 1), &mut memory), hipErrorOutOfMemory);
    let nothing = File::open("/dev/null").unwrap();
    assert_eq!(import(&memory_description(&nothing, 4096), &mut memory), hipErrorOutOfMemory);
    let closed = hipExternalMemoryHandleDesc { handle: hipExternalMemoryHandleDesc_handle { fd: -1 }, ..good };
    assert_eq!(import(&closed, &mut memory), hipErrorOutOfMemory);
    let story = hip_sim::last_fault();
    assert_eq!(story, None, "nothing more to be said of descriptor -1");
    // SAFETY: ours.
    unsafe {
        ok(hipMemRelease(handle));
        hipGetLastError();
    }
}

/// A binary semaphore, and its `eventfd`.
fn semaphore() -> (hipExternalSemaphore_t, File) {
    start();
    // SAFETY: takes numbers; the descriptor is new.
    let file = File::from(unsafe { OwnedFd::from_raw_fd(libc::eventfd(0, 0)) });
    let handle = hipExternalSemaphoreHandleDesc_handle { fd: file.try_clone().unwrap().into_raw_fd() };
    let type_ = hipExternalSemaphoreHandleTypeOpaqueFd;
    let description = hipExternalSemaphoreHandleDesc { type_, handle, ..Default::default() };
    let mut semaphore = null_mut();
    // SAFETY: both are valid, and the runtime takes the descriptor.
    ok(unsafe { hipImportExternalSemaphore(&mut semaphore, &description) });
    (semaphore, file)
}

/// A timeline, and its file.
fn timeline() -> (hipExternalSemaphore_t, File) {
    start();
    // SAFETY: a C string; the descriptor is new.
    let file = File::from(unsafe { OwnedFd::from_raw_fd(libc::memfd_create(c"timeline".as_ptr(), 0)) });
    file.write_all_at(b"HIPTIME1\0\0\0\0\0\0\0\0", 0).unwrap();
    let handle = hipExternalSemaphoreHandleDesc_handle { fd: file.try_clone().unwrap().into_raw_fd() };
    let type_ = hipExternalSemaphoreHandleType(9);
    let description = hipExternalSemaphoreHandleDesc { type_, handle, ..Default::default() };
    let mut semaphore = null_mut();
    // SAFETY: both are valid, and the runtime takes the descriptor.
    ok(unsafe { hipImportExternalSemaphore(&mut semaphore, &description) });
    (semaphore, file)
}

fn value(timeline: &File) -> u64 {
    let mut bytes = [0; 8];
    timeline.read_exact_at(&mut bytes, 8).unwrap();
    u64::from_le_bytes(bytes)
}

fn signals(values: &[u64]) -> Vec<hipExternalSemaphoreSignalParams> {
    let of = |value: &u64| {
        let mut params = hipExternalSemaphoreSignalParams::default();
        params.params.fence.value = *value;
        params
    };
    values.iter().map(of).collect()
}

fn waits(values: &[u64]) -> Vec<hipExternalSemaphoreWaitParams> {
    let of = |value: &u64| {
        let mut params = hipExternalSemaphoreWaitParams::default();
        params.params.fence.value = *value;
        params
    };
    values.iter().map(of).collect()
}

fn is_held(stream: hipStream_t) -> bool {
    (0..500).all(|_| {
        std::thread::yield_now();
        // SAFETY: no pointers.
        unsafe { hipStreamQuery(stream) == hipErrorNotReady }
    })
}

#[test]
fn several_semaphores_are_waited_for_and_signalled_in_one_call() {
    let ((binary, mut one), (line, two)) = (semaphore(), timeline());
    let (both, stream) = ([binary, line], stream(hipStreamNonBlocking));
    // SAFETY: as many as are said; the simulator checks the rest.
    unsafe {
        ok(hipWaitExternalSemaphoresAsync(both.as_ptr(), waits(&[0, 4]).as_ptr(), 2, stream));
        ok(hipSignalExternalSemaphoresAsync(both.as_ptr(), signals(&[0, 9]).as_ptr(), 2, stream));
        one.write_all(&1_u64.to_ne_bytes()).unwrap();
        assert!(is_held(stream) && value(&two) == 0, "one of two");
        two.write_all_at(&4_u64.to_le_bytes(), 8).unwrap();
        ok(hipStreamSynchronize(stream));
        assert_eq!(value(&two), 9);
        ok(hipSignalExternalSemaphoresAsync(&line, signals(&[9]).as_ptr(), 1, stream));
        assert_eq!(hipStreamSynchronize(stream), BAD, "it has to grow");
        // After a failure, waits are skipped.
        let nowhere: *mut c_void = std::ptr::without_provenance_mut(0x5000);
        ok(launch!(kernel(load(GFX90A), "store_at"), [1; 3], [1; 3], stream, (nowhere, 0_i64, 1_i32)));
        ok(hipWaitExternalSemaphoresAsync(&line, waits(&[100]).as_ptr(), 1, stream));
        assert_eq!(hipStreamSynchronize(stream), hipErrorIllegalAddress);
        let mut count = [0; 8];
        one.read_exact(&mut count).unwrap();
        assert_eq!(u64::from_ne_bytes(count), 1, "its signal was taken, and it was signalled anew");
        // A destroyed semaphore is invalid for new calls only.
        ok(hipWaitExternalSemaphoresAsync(&binary, waits(&[0]).as_ptr(), 1, stream));
        ok(hipDestroyExternalSemaphore(binary));
        assert_eq!(hipWaitExternalSemaphoresAsync(&binary, waits(&[0]).as_ptr(), 1, stream), BAD);
        assert_eq!(hipDestroyExternalSemaphore(binary), BAD);
        assert!(is_held(stream));
        one.write_all(&1_u64.to_ne_bytes()).unwrap();
        ok(hipStreamSynchronize(stream));
        // A timeline whose file has lost its value: a wait for it fails.
        two.set_len(8).unwrap();
        ok(hipWaitExternalSemaphoresAsync(&line, waits(&[10]).as_ptr(), 1, stream));
        assert_eq!(hipStreamSynchronize(stream), hipErrorUnknown);
        assert!(hip_sim::last_fault().unwrap().contains("Timeline semaphore"));
        ok(hipDestroyExternalSemaphore(line));
        ok(hipStreamDestroy(stream));
        hipGetLastError();
    }
}

#[test]
fn what_is_no_semaphore_is_refused_and_stays_the_callers() {
    let (good, _file) = semaphore();
    let stream = stream(hipStreamNonBlocking);
    let nothing = File::open("/dev/null").unwrap();
    let short = {
        // SAFETY: a C string; the descriptor is new.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(libc::memfd_create(c"short".as_ptr(), 0)) });
        file.write_all_at(b"HIPTIME1", 0).unwrap();
        file
    };
    let import = |kind, fd| {
        let handle = hipExternalSemaphoreHandleDesc_handle { fd };
        let type_ = hipExternalSemaphoreHandleType(kind);
        let (mut made, of) = (null_mut(), hipExternalSemaphoreHandleDesc { type_, handle, ..Default::default() });
        // SAFETY: both are valid.
        unsafe { hipImportExternalSemaphore(&mut made, &of) }
    };
    for (kind, file) in [(1, &nothing), (1, &short), (9, &nothing), (9, &short), (2, &nothing), (4, &short)] {
        assert_eq!(import(kind, file.as_raw_fd()), BAD, "{kind}");
        file.metadata().unwrap();
    }
    assert_eq!((import(1, -1), import(9, 1 << 20)), (BAD, BAD));
    // SAFETY: null pointers and counts are checked.
    unsafe {
        assert_eq!(hipImportExternalSemaphore(&mut null_mut(), null()), BAD);
        assert_eq!(hipDestroyExternalSemaphore(null_mut()), BAD);
        assert_eq!(hipWaitExternalSemaphoresAsync(null(), waits(&[0]).as_ptr(), 1, stream), BAD);
        assert_eq!(hipSignalExternalSemaphoresAsync(&good, null(), 1, stream), BAD);
        assert_eq!(hipSignalExternalSemaphoresAsync(&good, signals(&[0]).as_ptr(), 0, stream), BAD);
        let mut flagged = signals(&[0]);
        flagged[0].flags = 1;
        assert_eq!(hipSignalExternalSemaphoresAsync(&good, flagged.as_ptr(), 1, stream), BAD);
        ok(hipDestroyExternalSemaphore(good));
        ok(hipStreamDestroy(stream));
        hipGetLastError();
    }
}

#[test]
#[allow(clippy::unnecessary_mut_passed, reason = "the lowest API level has `const` for what is written to")]
fn nodes_wait_for_semaphores_and_signal_them() {
    let ((first, mut go), (line, file)) = (semaphore(), timeline());
    let stream = stream(hipStreamNonBlocking);
    let (mut graph, mut exec, mut wait, mut signal) = (null_mut(), null_mut(), null_mut(), null_mut());
    let (mut semaphores, mut others) = ([first], [line]);
    let (wait_params, signal_params, more) = (waits(&[0]), signals(&[3]), signals(&[7]));
    // SAFETY: as many as are said; the simulator checks the rest.
    unsafe {
        ok(hipGraphCreate(&mut graph, 0));
        let waiting = hipExternalSemaphoreWaitNodeParams {
            extSemArray: semaphores.as_mut_ptr(),
            paramsArray: wait_params.as_ptr(),
            numExtSems: 1,
        };
        let mut signalling = hipExternalSemaphoreSignalNodeParams {
            extSemArray: others.as_mut_ptr(),
            paramsArray: signal_params.as_ptr(),
            numExtSems: 1,
        };
        ok(hipGraphAddExternalSemaphoresWaitNode(&mut wait, graph, null(), 0, &waiting));
        ok(hipGraphAddExternalSemaphoresSignalNode(&mut signal, graph, &wait, 1, &signalling));
        let kind = |node| {
            let mut kind = hipGraphNodeTypeEmpty;
            ok(hipGraphNodeGetType(node, &mut kind));
            kind
        };
        assert_eq!(kind(wait), hipGraphNodeTypeExtSemaphoreWait);
        assert_eq!(kind(signal), hipGraphNodeTypeExtSemaphoreSignal);
        ok(hipGraphInstantiate(&mut exec, graph, null_mut(), null_mut(), 0));
        for round in [3, 7] {
            ok(hipGraphLaunch(exec, stream));
            assert!(is_held(stream));
            go.write_all(&1_u64.to_ne_bytes()).unwrap();
            ok(hipStreamSynchronize(stream));
            assert_eq!(value(&file), round);
            // Takes effect with the next launch.
            signalling.paramsArray = more.as_ptr();
            ok(hipGraphExecExternalSemaphoresSignalNodeSetParams(exec, signal, &signalling));
            ok(hipGraphExternalSemaphoresSignalNodeSetParams(signal, &signalling));
        }
        let mut told = hipExternalSemaphoreSignalNodeParams::default();
        ok(hipGraphExternalSemaphoresSignalNodeGetParams(signal, &mut told));
        assert_eq!((*told.extSemArray, (*told.paramsArray).params.fence.value, told.numExtSems), (line, 7, 1));
        let mut told = hipExternalSemaphoreWaitNodeParams::default();
        ok(hipGraphExternalSemaphoresWaitNodeGetParams(wait, &mut told));
        assert_eq!((*told.extSemArray, told.numExtSems), (first, 1));
        // Neither node type accepts the other's functions, and null is refused.
        assert_eq!(hipGraphExternalSemaphoresWaitNodeGetParams(signal, &mut told), BAD);
        assert_eq!(hipGraphExternalSemaphoresSignalNodeSetParams(wait, &signalling), BAD);
        assert_eq!(hipGraphExecExternalSemaphoresWaitNodeSetParams(exec, wait, null()), BAD);
        ok(hipGraphExternalSemaphoresWaitNodeSetParams(wait, &waiting));
        let none = hipExternalSemaphoreWaitNodeParams { numExtSems: 0, ..waiting };
        assert_eq!(hipGraphAddExternalSemaphoresWaitNode(&mut wait, graph, null(), 0, &none), BAD);
        ok(hipGraphExecDestroy(exec));
        ok(hipGraphDestroy(graph));
        ok(hipDestroyExternalSemaphore(first));
        ok(hipDestroyExternalSemaphore(line));
        ok(hipStreamDestroy(stream));
        hipGetLastError();
    }
}
