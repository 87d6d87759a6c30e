//! HIP features that are built on HSA: managed memory, memory pools, virtual memory, graphs, cooperative launches,
//! calls from kernels to the host, peers. With HIP's raw functions, on the real runtimes.
#![cfg(target_os = "linux")]

mod support;

use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use hip_sys::*;

const CODE: &[u8] = include_bytes!("kernels/features.gfx90a.co");
const RUNTIMES: [(&str, &str); 3] =
    [("7.2", "libamdhip64.so.7"), ("6.4", "libamdhip64.so.6"), ("5.7", "libamdhip64.so.5")];

/// Runs `test` with each runtime in a separate process; false in that process.
fn elsewhere(test: &str, variables: &[(&str, &str)], check: impl Fn(&str, bool, &str)) -> bool {
    if support::inside().is_some() {
        return false;
    }
    for (release, file) in RUNTIMES {
        if let Some((success, text)) = support::try_on(release, &[file], test, variables) {
            check(release, success, &text);
        }
    }
    true
}

fn passes(release: &str, success: bool, text: &str) {
    assert!(success && text.contains("1 passed"), "ROCm {release}: {text}");
}

#[track_caller]
fn ok(status: hipError_t) {
    assert_eq!(status, hipSuccess);
}

fn kernel(name: &std::ffi::CStr) -> hipFunction_t {
    let (mut module, mut function) = (null_mut(), null_mut());
    // SAFETY: a whole code object, and places for the handles.
    unsafe {
        ok(hipModuleLoadData(&mut module, CODE.as_ptr().cast()));
        ok(hipModuleGetFunction(&mut function, module, name.as_ptr().cast::<c_char>()));
    }
    function
}

/// Launches a kernel with one argument.
fn launch<T>(kernel: hipFunction_t, blocks: u32, threads: u32, stream: hipStream_t, argument: &T) {
    ok(try_launch(kernel, blocks, threads, stream, argument));
}

/// The same; returns HIP's status.
fn try_launch<T>(kernel: hipFunction_t, blocks: u32, threads: u32, stream: hipStream_t, argument: &T) -> hipError_t {
    let mut arguments = [(&raw const *argument).cast_mut().cast::<c_void>()];
    let arguments = arguments.as_mut_ptr();
    // SAFETY: the kernels of this file take one argument at most.
    unsafe { hipModuleLaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, null_mut()) }
}

/// Device memory of 4096 zeros.
fn buffer() -> *mut c_void {
    let mut buffer = null_mut();
    // SAFETY: a place for the pointer; the buffer has as many bytes.
    unsafe {
        ok(hipMalloc(&mut buffer, 4096));
        ok(hipMemset(buffer, 0, 4096));
        // The host does not wait for a fill, and neither do other devices and non-blocking streams.
        ok(hipStreamSynchronize(null_mut()));
    }
    buffer
}

/// Word `index` of device memory.
fn word(buffer: *mut c_void, index: usize) -> c_int {
    let mut value: c_int = -1;
    // SAFETY: inside the buffer; `value` has room.
    ok(unsafe { hipMemcpyDtoH((&raw mut value).cast(), buffer.wrapping_byte_add(4 * index), 4) });
    value
}

#[test]
fn managed_memory_is_seen_by_both() {
    if elsewhere("managed_memory_is_seen_by_both", &[], passes) {
        return;
    }
    let mut data = null_mut();
    // SAFETY: 4096 bytes, of which the first 256 are used; the kernel has ended before they are read.
    unsafe {
        ok(hipMallocManaged(&mut data, 4096, hipMemAttachGlobal));
        let numbers = std::slice::from_raw_parts_mut(data.cast::<c_int>(), 64);
        (0..).zip(&mut *numbers).for_each(|(n, place)| *place = n);
        launch(kernel(c"increment"), 1, 64, null_mut(), &data);
        ok(hipDeviceSynchronize());
        assert!((1..).zip(&*numbers).all(|(n, place)| *place == n), "{numbers:?}");
        ok(hipFree(data));
    }
}

#[test]
fn memory_comes_from_stream_ordered_pools() {
    if elsewhere("memory_comes_from_stream_ordered_pools", &[], passes) {
        return;
    }
    let (mut stream, mut data) = (null_mut(), null_mut());
    // SAFETY: places for the handles; copies are inside the buffer.
    unsafe {
        ok(hipStreamCreate(&mut stream));
        for round in 0..20 {
            ok(hipMallocAsync(&mut data, 1 << 20, stream));
            ok(hipMemsetD32Async(data, round, 1 << 18, stream));
            let mut last = -1;
            let at = data.wrapping_byte_add((1 << 20) - 4);
            ok(hipMemcpyDtoHAsync((&raw mut last).cast(), at, 4, stream));
            ok(hipFreeAsync(data, stream));
            ok(hipStreamSynchronize(stream));
            assert_eq!(last, round);
        }
    }
}

#[test]
fn a_captured_graph_is_launched_again_and_again() {
    if elsewhere("a_captured_graph_is_launched_again_and_again", &[], passes) {
        return;
    }
    let (mut stream, mut graph, mut executable) = (null_mut(), null_mut(), null_mut());
    let (data, increment) = (buffer(), kernel(c"increment"));
    // SAFETY: places for the handles; the buffer outlives the launches.
    unsafe {
        ok(hipStreamCreate(&mut stream));
        ok(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
        (0..5).for_each(|_| launch(increment, 1, 64, stream, &data));
        ok(hipStreamEndCapture(stream, &mut graph));
        ok(hipGraphInstantiate(&mut executable, graph, null_mut(), null_mut(), 0));
        (0..3).for_each(|_| ok(hipGraphLaunch(executable, stream)));
        ok(hipStreamSynchronize(stream));
    }
    assert_eq!((word(data, 0), word(data, 63), word(data, 64)), (15, 15, 0));
}

#[test]
fn blocks_of_a_cooperative_launch_wait_for_each_other() {
    if elsewhere("blocks_of_a_cooperative_launch_wait_for_each_other", &[], passes) {
        return;
    }
    let data = buffer();
    let mut arguments = [(&raw const data).cast_mut().cast::<c_void>()];
    let function = kernel(c"sum_over_the_grid");
    // SAFETY: the kernel takes the buffer.
    unsafe {
        ok(hipModuleLaunchCooperativeKernel(function, 24, 1, 1, 128, 1, 1, 0, null_mut(), arguments.as_mut_ptr()));
        ok(hipDeviceSynchronize());
    }
    assert_eq!(word(data, 1), 24);
}

#[test]
fn kernels_print() {
    let printed = |release: &str, success: bool, text: &str| {
        passes(release, success, text);
        for block in 0..2 {
            for (thread, product) in [(0, "0.00"), (1, "1.50"), (2, "3.00")] {
                let line = format!("thread {thread} of block {block}: {product} text");
                assert!(text.contains(&line), "ROCm {release}: {text}");
            }
        }
    };
    if elsewhere("kernels_print", &[], printed) {
        return;
    }
    launch(kernel(c"say"), 2, 3, null_mut(), &0);
    // SAFETY: waits.
    ok(unsafe { hipDeviceSynchronize() });
}

/// A kernel that aborts: 7.2 reports the error, and does not lose the kernel's output. Earlier releases end the
/// process, as on a GPU.
#[test]
fn a_kernel_that_aborts_is_told_of() {
    let told = |release: &str, success: bool, text: &str| {
        assert_eq!(success, release == "7.2", "ROCm {release}: {text}");
        // If the process ends, the output may be lost.
        assert!(text.contains("about to fail") || release != "7.2", "ROCm {release}: {text}");
        assert!(text.contains("hsa-sim: kernel fail: trap 2"), "ROCm {release}: {text}");
    };
    if elsewhere("a_kernel_that_aborts_is_told_of", &[], told) {
        return;
    }
    // The error is returned immediately if the kernel has already failed.
    let mut status = try_launch(kernel(c"fail"), 1, 64, null_mut(), &0);
    if status == hipSuccess {
        // SAFETY: waits.
        status = unsafe { hipDeviceSynchronize() };
    }
    assert_eq!(status, hipErrorLaunchFailure);
}

/// On a stream of its own: HIP waits for the default stream at process exit.
#[test]
fn a_process_ends_with_a_kernel_in_flight() {
    // With a budget, so that a process that waits for the kernel ends too, with an error.
    let limit = [("HIP_SIM_BUDGET", "10000000000")];
    let ended = |release: &str, success: bool, text: &str| {
        let left = text.contains("leaving") && text.contains("ended with exit status: 3");
        let fine = !success && left && !text.contains("hsa-sim");
        assert!(fine, "ROCm {release}: {text}");
    };
    if elsewhere("a_process_ends_with_a_kernel_in_flight", &limit, ended) {
        return;
    }
    let mut stream = null_mut();
    // SAFETY: a place for the handle.
    ok(unsafe { hipStreamCreate(&mut stream) });
    launch(kernel(c"wait_for_ever"), 1, 64, stream, &buffer());
    println!("leaving");
    std::process::exit(3);
}

/// A kernel is running; copies, a host function and an event are queued after it.
#[test]
fn a_process_ends_with_much_in_flight() {
    // With a budget that is not reached, and with one that is reached during process exit.
    for budget in ["10000000000", "200000"] {
        let limit = [("HIP_SIM_BUDGET", budget)];
        let ended = |release: &str, _: bool, text: &str| {
            let kept = text.contains("leaving") && text.contains("ended with exit status: 3");
            // When a kernel is stopped, the older runtimes abort the process.
            let cut = budget == "200000" && release != "7.2" && text.contains("signal: 6");
            assert!(kept || cut, "ROCm {release}, {budget} instructions: {text}");
        };
        if !elsewhere("a_process_ends_with_much_in_flight", &limit, ended) {
            much_in_flight();
        }
    }
}

/// Does not return.
fn much_in_flight() {
    unsafe extern "C" fn nothing(_: *mut c_void) {}
    let (mut stream, mut event, mut pinned) = (null_mut(), null_mut(), null_mut());
    let data = buffer();
    // SAFETY: places for the handles; copies are inside the buffers.
    unsafe {
        ok(hipStreamCreateWithFlags(&mut stream, hipStreamNonBlocking));
        ok(hipEventCreate(&mut event));
        ok(hipHostMalloc(&mut pinned, 4096, 0));
        launch(kernel(c"wait_for_ever"), 1, 64, stream, &data);
        for _ in 0..5 {
            // Fails if the kernel has already been stopped.
            let _ = hipMemcpyAsync(pinned, data, 4096, hipMemcpyDeviceToHost, stream);
            let _ = hipMemsetAsync(data, 1, 4096, stream);
        }
        let _ = hipLaunchHostFunc(stream, Some(nothing), null_mut());
        let _ = hipEventRecord(event, stream);
    }
    println!("leaving");
    std::process::exit(3);
}

/// Threads wait in the runtime, each in a different way, while the main thread ends the process. What they wait for
/// never happens, or happens at about that time.
///
/// Afterwards they do not call HIP any more: the behaviour of a call that starts while HIP shuts down is up to HIP.
#[test]
fn a_process_ends_while_threads_wait() {
    for end in ["never", "soon"] {
        let variables = [("HIP_SIM_BUDGET", "1000000000"), ("HSA_SIM_TEST_KERNELS_END", end)];
        let ended = |release: &str, _: bool, text: &str| {
            let fine = text.contains("leaving") && text.contains("ended with exit status: 3");
            assert!(fine, "ROCm {release}, kernels end {end}: {text}");
        };
        // Failures there are intermittent.
        for _ in 0..3 {
            if !elsewhere("a_process_ends_while_threads_wait", &variables, ended) {
                threads_wait(end == std::env::var("HSA_SIM_TEST_KERNELS_END").unwrap());
            }
        }
    }
}

/// Does not return.
fn threads_wait(never: bool) {
    const THREADS: u64 = 8;
    let ready = std::sync::Barrier::new(THREADS as usize);
    let launched = std::sync::Barrier::new(THREADS as usize + 1);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (ready, launched) = (&ready, &launched);
            scope.spawn(move || {
                let (mut stream, mut event) = (null_mut(), null_mut());
                let (data, increment, forever) = (buffer(), kernel(c"increment"), kernel(c"wait_for_ever"));
                let mut bytes = [0_u8; 64];
                let to = bytes.as_mut_ptr().cast::<c_void>();
                // SAFETY: places for the handles, handles of this thread; copies are inside the buffers.
                unsafe {
                    ok(hipStreamCreateWithFlags(&mut stream, hipStreamNonBlocking));
                    ok(hipEventCreate(&mut event));
                    // Everything queued so far has completed: HIP waits for the default stream at process exit.
                    ok(hipDeviceSynchronize());
                    ready.wait();
                    if never {
                        launch(forever, 4, 64, stream, &data);
                    } else {
                        (0..300 * (thread + 1)).for_each(|_| launch(increment, 4, 64, stream, &data));
                    }
                    launched.wait();
                    // Fails if a kernel is stopped before the process exits.
                    let _ = match thread % 4 {
                        0 => hipStreamSynchronize(stream),
                        1 => {
                            let _ = hipEventRecord(event, stream);
                            hipEventSynchronize(event)
                        }
                        2 => hipMemcpyWithStream(to, data, 64, hipMemcpyDeviceToHost, stream),
                        _ => hipDeviceSynchronize(),
                    };
                }
                std::thread::sleep(std::time::Duration::from_secs(60));
            });
        }
        launched.wait();
        // By now the other threads are probably waiting. The process exits in any case.
        std::thread::sleep(std::time::Duration::from_millis(if never { 30 } else { 5 }));
        println!("leaving");
        std::process::exit(3);
    });
}

#[test]
fn memory_is_mapped_to_reserved_addresses() {
    if elsewhere("memory_is_mapped_to_reserved_addresses", &[], |release, success, text| {
        // The runtime of 5.7 has its own mechanism, without HSA.
        if release != "5.7" {
            passes(release, success, text);
        }
    }) {
        return;
    }
    // SAFETY: all zero is a value of both structs; places for the handles; sizes as HIP says.
    unsafe {
        let mut properties: hipMemAllocationProp = std::mem::zeroed();
        properties.type_ = hipMemAllocationTypePinned;
        properties.location.type_ = hipMemLocationTypeDevice;
        let mut size = 0;
        ok(hipMemGetAllocationGranularity(&mut size, &properties, hipMemAllocationGranularityRecommended));
        let (mut first, mut second, mut base) = (null_mut(), null_mut(), null_mut());
        ok(hipMemCreate(&mut first, size, &properties, 0));
        ok(hipMemCreate(&mut second, size, &properties, 0));
        ok(hipMemAddressReserve(&mut base, 4 * size, 0, null_mut(), 0));
        ok(hipMemMap(base, size, 0, first, 0));
        ok(hipMemMap(base.wrapping_byte_add(size), size, 0, second, 0));
        let mut access: hipMemAccessDesc = std::mem::zeroed();
        access.location = properties.location;
        access.flags = hipMemAccessFlagsProtReadWrite;
        ok(hipMemSetAccess(base, 2 * size, &access, 1));
        // Over both pieces at once.
        ok(hipMemset(base, 7, 2 * size));
        let middle = base.wrapping_byte_add(size - 128);
        launch(kernel(c"increment"), 1, 64, null_mut(), &middle);
        ok(hipDeviceSynchronize());
        assert_eq!(
            [0, 31, 32, 63, 64].map(|n| word(middle, n)),
            [0x7070708, 0x7070708, 0x7070708, 0x7070708, 0x7070707]
        );
        ok(hipMemUnmap(base, 2 * size));
        ok(hipMemRelease(first));
        ok(hipMemRelease(second));
        ok(hipMemAddressFree(base, 4 * size));
    }
}

#[test]
fn peers_use_each_others_memory() {
    if elsewhere("peers_use_each_others_memory", &[("HIP_SIM_DEVICES", "2")], passes) {
        return;
    }
    let data = buffer();
    let mut can = 0;
    // SAFETY: a place for the answer; buffers of 4096 bytes.
    unsafe {
        ok(hipDeviceCanAccessPeer(&mut can, 1, 0));
        assert_eq!(can, 1);
        ok(hipSetDevice(1));
        let other = buffer();
        ok(hipMemset(other, 1, 4096));
        ok(hipDeviceSynchronize());
        ok(hipMemcpyPeer(data, 0, other, 1, 4096));
        assert_eq!(word(data, 9), 0x0101_0101);
        ok(hipDeviceEnablePeerAccess(0, 0));
        launch(kernel(c"increment"), 1, 64, null_mut(), &data);
        ok(hipDeviceSynchronize());
        assert_eq!(word(data, 9), 0x0101_0102);
    }
}

/// Freed memory is not reused for a while, so nothing else is mapped there: a copy from it or to it is still an error.
/// (Except a copy that HIP does itself, such as from freed to live memory: it treats the former as host memory.)
#[test]
fn copies_of_freed_memory_are_refused() {
    if elsewhere("copies_of_freed_memory_are_refused", &[], passes) {
        return;
    }
    let freed = buffer();
    let mut bytes = [5_u8; 256];
    let host = bytes.as_mut_ptr().cast::<c_void>();
    // SAFETY: 256 bytes each; HIP is to find out about the freed ones.
    unsafe {
        ok(hipFree(freed));
        let statuses =
            [hipMemcpy(host, freed, 256, hipMemcpyDeviceToHost), hipMemcpy(freed, host, 256, hipMemcpyHostToDevice)];
        assert_eq!(statuses, [hipErrorInvalidValue; 2]);
    }
    assert_eq!(bytes, [5; 256]);
}

/// Access to the pool's memory is granted before its allocation, or after.
#[test]
fn a_pools_memory_is_used_by_another_device() {
    if elsewhere("a_pools_memory_is_used_by_another_device", &[("HIP_SIM_DEVICES", "2")], passes) {
        return;
    }
    for first in [true, false] {
        let (mut pool, mut stream, mut data) = (null_mut(), null_mut(), null_mut());
        // SAFETY: all zero is a value of both structs; places for the handles; a buffer of 4096 bytes.
        unsafe {
            ok(hipSetDevice(0));
            let mut properties: hipMemPoolProps = std::mem::zeroed();
            properties.allocType = hipMemAllocationTypePinned;
            properties.location.type_ = hipMemLocationTypeDevice;
            ok(hipMemPoolCreate(&mut pool, &properties));
            ok(hipStreamCreate(&mut stream));
            let mut access: hipMemAccessDesc = std::mem::zeroed();
            access.location.type_ = hipMemLocationTypeDevice;
            access.location.id = 1;
            access.flags = hipMemAccessFlagsProtReadWrite;
            if first {
                ok(hipMemPoolSetAccess(pool, &access, 1));
            }
            ok(hipMallocFromPoolAsync(&mut data, 4096, pool, stream));
            if !first {
                ok(hipMemPoolSetAccess(pool, &access, 1));
            }
            ok(hipMemsetAsync(data, 1, 4096, stream));
            ok(hipStreamSynchronize(stream));
            ok(hipSetDevice(1));
            launch(kernel(c"increment"), 1, 64, null_mut(), &data);
            ok(hipDeviceSynchronize());
            assert_eq!(word(data, 9), 0x0101_0102, "access given first: {first}");
        }
    }
}

/// An attribute of 8192 bytes of memory.
fn range_attribute(attribute: hipMemRangeAttribute, memory: *mut c_void) -> c_int {
    let mut value: c_int = 77;
    // SAFETY: a place for the value, with its size.
    ok(unsafe { hipMemRangeGetAttribute((&raw mut value).cast(), 4, attribute, memory, 8192) });
    value
}

/// The devices that are reported to access 8192 bytes of memory, at most four.
fn accessed_by(memory: *mut c_void) -> [c_int; 4] {
    let mut devices = [77; 4];
    let attribute = hipMemRangeAttributeAccessedBy;
    // SAFETY: a place for the devices, with its size.
    ok(unsafe { hipMemRangeGetAttribute(devices.as_mut_ptr().cast(), 16, attribute, memory, 8192) });
    devices
}

/// Values as in HIP's documentation: -2 means no device, -1 the CPU.
#[test]
fn advice_on_managed_memory_is_read_back() {
    if elsewhere("advice_on_managed_memory_is_read_back", &[("HIP_SIM_DEVICES", "2")], passes) {
        return;
    }
    const { assert!(hipInvalidDeviceId == -2 && hipCpuDeviceId == -1) };
    let mut memory = null_mut();
    let advise = |memory: *mut c_void, size, advice, device| {
        // SAFETY: HIP checks the range.
        unsafe { hipMemAdvise(memory, size, advice, device) }
    };
    for (attribute, expected) in [
        (hipDeviceAttributeManagedMemory, 1),
        (hipDeviceAttributeConcurrentManagedAccess, 1),
        (hipDeviceAttributePageableMemoryAccess, 0),
    ] {
        let mut value = 77;
        // SAFETY: a place for the value.
        ok(unsafe { hipDeviceGetAttribute(&mut value, attribute, 1) });
        assert_eq!(value, expected, "{attribute:?}");
    }
    for size in [8192, 8000] {
        // SAFETY: a place for the pointer.
        ok(unsafe { hipMallocManaged(&mut memory, size, hipMemAttachGlobal) });
        let half = memory.wrapping_byte_add(4096);
        let get = |attribute| range_attribute(attribute, memory);
        let (read, place, grain) =
            (hipMemRangeAttributeReadMostly, hipMemRangeAttributePreferredLocation, hipMemRangeAttributeCoherencyMode);
        assert_eq!((get(read), get(place), get(grain)), (0, -2, 0), "{size}");
        assert_eq!(get(hipMemRangeAttributeLastPrefetchLocation), -2);
        assert_eq!(accessed_by(memory), [-2; 4]);

        ok(advise(memory, 4096, hipMemAdviseSetReadMostly, 0));
        assert_eq!(get(read), 0, "half of it is no more than that");
        ok(advise(half, size - 4096, hipMemAdviseSetReadMostly, 0));
        assert_eq!(get(read), 1);
        for (device, seen) in [(1, 1), (0, 0), (hipCpuDeviceId, -1)] {
            ok(advise(memory, size, hipMemAdviseSetPreferredLocation, device));
            assert_eq!(get(place), seen);
        }
        ok(advise(half, 100, hipMemAdviseUnsetPreferredLocation, 0));
        assert_eq!(get(place), -2, "it is not the same everywhere");
        ok(advise(memory, size, hipMemAdviseSetAccessedBy, 1));
        assert_eq!(accessed_by(memory), [1, -2, -2, -2]);
        ok(advise(memory, size, hipMemAdviseSetAccessedBy, 0));
        let mut both = accessed_by(memory);
        both.sort_unstable();
        assert_eq!(both, [-2, -2, 0, 1]);
        ok(advise(memory, size, hipMemAdviseUnsetAccessedBy, 1));
        assert_eq!(accessed_by(memory), [0, -2, -2, -2]);
        ok(advise(memory, size, hipMemAdviseSetCoarseGrain, 0));
        assert_eq!(get(grain), 1);
        ok(advise(memory, 4096, hipMemAdviseUnsetCoarseGrain, 0));
        assert_eq!(get(grain), 2);
        ok(advise(memory, size, hipMemAdviseUnsetReadMostly, 0));
        assert_eq!(get(read), 0);

        // Several at once.
        let (mut one, mut other): (c_int, c_int) = (77, 77);
        let mut data = [(&raw mut one).cast(), (&raw mut other).cast()];
        let mut attributes = [hipMemRangeAttributeReadMostly, hipMemRangeAttributeCoherencyMode];
        // SAFETY: two places with their sizes.
        ok(unsafe {
            hipMemRangeGetAttributes(data.as_mut_ptr(), [4, 4].as_mut_ptr(), attributes.as_mut_ptr(), 2, memory, 8192)
        });
        assert_eq!((one, other), (0, 2));

        assert_eq!(advise(null_mut(), 4096, hipMemAdviseSetReadMostly, 0), hipErrorInvalidValue);
        assert_eq!(advise(memory, 0, hipMemAdviseSetReadMostly, 0), hipErrorInvalidValue);
        assert_eq!(advise(memory, size + 1, hipMemAdviseSetReadMostly, 0), hipErrorInvalidValue);
        assert_eq!(advise(memory, size, hipMemoryAdvise(99), 0), hipErrorInvalidValue);
        assert_eq!(advise(memory, size, hipMemAdviseSetPreferredLocation, 7), hipErrorInvalidDevice);
        let mut value: c_int = 77;
        let mut ask = |size, attribute| {
            // SAFETY: a place for the value; its size is right, or an error.
            unsafe { hipMemRangeGetAttribute((&raw mut value).cast(), size, attribute, memory, 8192) }
        };
        assert_eq!(ask(2, hipMemRangeAttributeReadMostly), hipErrorInvalidValue);
        assert_eq!(ask(4, hipMemRangeAttribute(99)), hipErrorInvalidValue);
        assert_eq!(value, 77);
        // SAFETY: allocated above.
        ok(unsafe { hipFree(memory) });
    }
}

/// The location is returned; the bytes are the same for host and GPUs before and after.
#[test]
fn managed_memory_is_prefetched() {
    if elsewhere("managed_memory_is_prefetched", &[("HIP_SIM_DEVICES", "2")], passes) {
        return;
    }
    const COUNT: usize = 1 << 18;
    let (mut memory, mut stream) = (null_mut(), null_mut());
    // SAFETY: places for pointer and handle; the memory has as many bytes, and nothing runs when the host uses it.
    unsafe {
        ok(hipMallocManaged(&mut memory, 4 * COUNT, hipMemAttachGlobal));
        ok(hipStreamCreate(&mut stream));
        let increment = kernel(c"increment");
        let numbers = std::slice::from_raw_parts_mut(memory.cast::<c_int>(), COUNT);
        numbers[63] = 5;
        for (device, round) in [(1, 0), (0, 1), (hipCpuDeviceId, 2), (0, 3)] {
            ok(hipMemPrefetchAsync(memory, 4 * COUNT, device, if device == 1 { null_mut() } else { stream }));
            launch(increment, 1, 64, stream, &memory);
            ok(hipMemPrefetchAsync(memory, 8192, device, stream));
            ok(hipStreamSynchronize(stream));
            ok(hipDeviceSynchronize());
            assert_eq!(range_attribute(hipMemRangeAttributeLastPrefetchLocation, memory), device);
            assert_eq!((numbers[0], numbers[63]), (round + 1, round + 6));
        }
        // Copies both ways, one of them big.
        let device = buffer();
        ok(hipMemcpy(device, memory, 4096, hipMemcpyDefault));
        assert_eq!(word(device, 63), 9);
        let mut big = null_mut();
        ok(hipMalloc(&mut big, 4 * COUNT));
        ok(hipMemset(big, 3, 4 * COUNT));
        ok(hipMemcpy(memory, big, 4 * COUNT, hipMemcpyDefault));
        assert!(numbers.iter().all(|number| *number == 0x0303_0303));
        assert_eq!(hipMemPrefetchAsync(null_mut(), 4096, 0, stream), hipErrorInvalidValue);
        assert_eq!(hipMemPrefetchAsync(memory, 0, 0, stream), hipErrorInvalidValue);
        assert_eq!(hipMemPrefetchAsync(memory, 4 * COUNT + 1, 0, stream), hipErrorInvalidValue);
        assert_eq!(hipMemPrefetchAsync(memory, 4096, 9, stream), hipErrorInvalidDevice);
        ok(hipFree(memory));
        // Memory of the program: only for devices that can access it directly.
        let mut own = vec![1_u8; 3 << 12];
        assert_ne!(hipMemPrefetchAsync(own.as_mut_ptr().cast(), 4096, 0, stream), hipSuccess);
        ok(hipStreamSynchronize(stream));
        // 5.7 does not know any memory but managed memory.
        let status = hipMemPrefetchAsync(own.as_mut_ptr().cast(), 4096, hipCpuDeviceId, stream);
        let refused = support::inside().as_deref() == Some("5.7");
        assert_eq!(status, if refused { hipErrorInvalidValue } else { hipSuccess });
        ok(hipStreamSynchronize(stream));
        // Repeatedly, possibly at the same addresses: the advice must be forgotten with the memory.
        for _ in 0..20 {
            ok(hipMallocManaged(&mut memory, 1 << 16, hipMemAttachGlobal));
            launch(increment, 1, 64, stream, &memory);
            ok(hipStreamSynchronize(stream));
            assert_eq!(memory.cast::<c_int>().read(), 1);
            ok(hipFree(memory));
        }
    }
}

/// HIP 7.2 is notified of a loss twice and keeps the last error: this one from the system event, then the final one
/// from the queue. A call that waits meanwhile returns either.
const TOLD_FIRST: hipError_t = hipErrorLaunchFailure;

/// A GPU that is lost, as by a reset: 7.2 returns one error for every later call, for any device. Earlier releases end
/// the process.
#[test]
fn a_gpu_that_is_lost_is_told_of() {
    let told = |release: &str, success: bool, text: &str| {
        assert_eq!(success, release == "7.2", "ROCm {release}: {text}");
        assert!(text.contains("hsa-sim: kernel increment: the device is lost"), "ROCm {release}: {text}");
        assert_eq!(text.matches("hsa-sim: GPU 0 is lost").count(), 1, "ROCm {release}: {text}");
        assert!(release == "7.2" || text.contains("signal: 6"), "ROCm {release}: {text}");
    };
    // One of the dispatches zeroes the buffer.
    let variables = [("HIP_SIM_LOSE", "3"), ("HIP_SIM_DEVICES", "2")];
    if elsewhere("a_gpu_that_is_lost_is_told_of", &variables, told) {
        return;
    }
    let (data, increment) = (buffer(), kernel(c"increment"));
    for _ in 0..2 {
        launch(increment, 1, 64, null_mut(), &data);
        // SAFETY: waits.
        ok(unsafe { hipDeviceSynchronize() });
    }
    let mut status = try_launch(increment, 1, 64, null_mut(), &data);
    if status == hipSuccess {
        // SAFETY: waits.
        status = unsafe { hipDeviceSynchronize() };
    }
    while status == TOLD_FIRST {
        // SAFETY: waits.
        status = unsafe { hipDeviceSynchronize() };
    }
    assert_eq!(status, hipErrorUnknown);
    let mut there = [0_u8; 64];
    let host = there.as_mut_ptr().cast();
    let (mut more, mut stream, mut event) = (null_mut(), null_mut(), null_mut());
    // SAFETY: copies within buffer and array, places for the handles; what is refused is not used.
    let later = unsafe {
        [
            hipMemcpy(host, data, 64, hipMemcpyDeviceToHost),
            hipMemcpy(data, host, 64, hipMemcpyHostToDevice),
            hipMemset(data, 1, 64),
            hipMalloc(&mut more, 64),
            hipStreamCreate(&mut stream),
            hipEventCreate(&mut event),
            hipStreamSynchronize(null_mut()),
            hipSetDevice(1),
            hipFree(data),
            hipDeviceReset(),
            hipDeviceSynchronize(),
        ]
    };
    assert_eq!(later, [hipErrorUnknown; 11]);
    // The process exits normally.
}

/// The number of kernels on a stream, each of which adds 1 to a number in host memory.
const KERNELS: c_int = 20;

/// Launches them. Returns the number and the stream.
fn count() -> (&'static AtomicI32, hipStream_t) {
    let (mut stream, mut data) = (null_mut(), null_mut());
    // SAFETY: places for handle and pointer; the memory is never freed, is zeroed before anything is launched, and afterwards all accesses
    // are of whole words.
    let number = unsafe {
        ok(hipStreamCreateWithFlags(&mut stream, hipStreamNonBlocking));
        ok(hipHostMalloc(&mut data, 4096, 0));
        data.cast::<c_int>().write(0);
        AtomicI32::from_ptr(data.cast())
    };
    let increment = kernel(c"increment");
    (0..KERNELS).for_each(|_| launch(increment, 1, 1, stream, &data));
    (number, stream)
}

/// With delays of seconds in its queue, a program that does not wait reads too early, even if it is slow itself.
#[test]
fn a_delay_shows_a_wait_that_is_missing() {
    let early = |release: &str, _: bool, text: &str| {
        assert!(text.contains("that was too early"), "ROCm {release}: {text}");
    };
    if elsewhere("a_delay_shows_a_wait_that_is_missing", &[("HIP_SIM_DELAY", "1000000:1")], early) {
        return;
    }
    loop {
        let begun = std::time::Instant::now();
        let (number, _) = count();
        // Long enough for a queue without delays.
        std::thread::sleep(std::time::Duration::from_millis(200));
        if number.load(Relaxed) < KERNELS {
            println!("that was too early");
            break;
        }
        // On a busy machine this thread may have slept for seconds; then the check proves nothing.
        assert!(begun.elapsed().as_secs() >= 1, "the queue does not wait");
    }
    // SAFETY: ends the process, without the waits of HIP's own destructors.
    unsafe { libc::_exit(0) }
}

#[test]
fn a_delay_changes_nothing_for_who_waits() {
    if elsewhere("a_delay_changes_nothing_for_who_waits", &[("HIP_SIM_DELAY", "2000:1")], passes) {
        return;
    }
    let (number, stream) = count();
    // SAFETY: waits.
    ok(unsafe { hipStreamSynchronize(stream) });
    assert_eq!(number.load(Relaxed), KERNELS);
    let (data, copy) = (buffer(), buffer());
    // SAFETY: waits, and copies inside of both buffers.
    unsafe {
        launch(kernel(c"increment"), 1, 64, stream, &data);
        ok(hipMemcpyAsync(copy, data, 4096, hipMemcpyDeviceToDevice, stream));
        ok(hipStreamSynchronize(stream));
    }
    assert_eq!(word(copy, 63), 1);
}

/// A copy from freed memory: HIP treats it as host memory and may copy it itself, so it succeeds; but it is reported.
#[test]
fn a_copy_from_freed_memory_is_told_of() {
    let told = |release: &str, success: bool, text: &str| {
        passes(release, success, text);
        assert!(text.contains("hsa-sim: use after free: "), "ROCm {release}: {text}");
    };
    if elsewhere("a_copy_from_freed_memory_is_told_of", &[], told) {
        return;
    }
    // HIP copies smaller sizes without calling HSA.
    let size = 8 << 20;
    let (mut gone, mut live) = (null_mut(), null_mut());
    // SAFETY: places for the pointers; memory that was freed is kept back, which is what this is about.
    unsafe {
        ok(hipMalloc(&mut gone, size));
        ok(hipMalloc(&mut live, size));
        ok(hipFree(gone));
        ok(hipMemcpy(live, gone, size, hipMemcpyDeviceToDevice));
    }
}

/// The same with the safe crate, with the releases whose HIP returns: the error names the launch, and drops are silent.
#[test]
fn a_gpu_that_is_lost_is_an_error_of_the_safe_crate() {
    let told = |release: &str, success: bool, text: &str| {
        assert_eq!(success, release == "7.2", "ROCm {release}: {text}");
        assert!(!text.contains("panicked"), "ROCm {release}: {text}");
    };
    if elsewhere("a_gpu_that_is_lost_is_an_error_of_the_safe_crate", &[("HIP_SIM_LOSE", "3")], told) {
        return;
    }
    let device = hip::Device::get(0).unwrap();
    let module = hip::Module::load(&device, CODE).unwrap();
    let increment = module.kernel("increment").unwrap();
    let stream = hip::Stream::new(&device).unwrap();
    let mut data = hip::DeviceBuffer::<i32>::zeroed(&device, 64).unwrap();
    let error = (0..4).find_map(|_| {
        // SAFETY: 64 threads, 64 elements.
        let launched = unsafe { increment.launch(&stream, hip::LaunchConfig::new(1, 64), (&mut data,)) };
        launched.and_then(|()| stream.synchronize()).err()
    });
    let error = error.expect("it is lost after three dispatches");
    let told_first = Some(hip::Status(TOLD_FIRST.0));
    assert!([told_first, Some(hip::Status::UNKNOWN)].contains(&error.status()), "{error}");
    // From the launch itself if the GPU was fast, otherwise from the wait for it.
    let text = error.to_string();
    assert!(text.contains("increment<<<") || text.contains("increment in (1, 1, 1) blocks"), "{text}");
    while stream.synchronize().is_err_and(|error| error.status() == told_first) {}
    let later = [
        stream.synchronize(),
        device.synchronize(),
        data.to_vec().map(drop),
        hip::Stream::new(&device).map(drop),
        hip::DeviceBuffer::<i32>::zeroed(&device, 64).map(drop),
    ];
    assert!(
        later.iter().all(|result| result.as_ref().is_err_and(|e| e.status() == Some(hip::Status::UNKNOWN))),
        "{later:?}"
    );
    drop((data, stream, module));
}
