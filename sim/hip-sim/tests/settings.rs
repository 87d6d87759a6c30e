//! The environment's settings. Each case is a process of its own: this test program, run again with the variables set.

mod common;

use std::process::Command;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use common::*;
use hip_sys::rocm_7_2::*;

/// Kernels with known mistakes.
const OBSERVED: &[u8] = include_bytes!("../../amdgpu-sim/tests/kernels/observe.co");

/// Runs one of the ignored tests below in a new process with `variables` set. Returns what it printed.
#[track_caller]
fn child(test: &str, variables: &[(&str, &str)]) -> String {
    // Not `current_exe`: if the program runs under an explicit loader, that returns the loader.
    let mut command = Command::new(std::env::args_os().next().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture"]).envs(variables.iter().copied());
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    text.into_owned()
}

#[test]
fn another_processor() {
    child("another_processor_child", &[("HIP_SIM_TARGET", "gfx942:xnack+")]);
}

#[test]
#[ignore = "run by another_processor"]
fn another_processor_child() {
    start();
    let (mut major, mut minor) = (0, 0);
    // SAFETY: places for results, and an image.
    unsafe {
        ok(hipDeviceComputeCapability(&mut major, &mut minor, 0));
        assert_eq!((major, minor), (9, 4));
        assert_eq!(hipModuleLoadData(&mut null_mut(), GFX90A.as_ptr().cast()), hipErrorNoBinaryForGpu);
    }
    assert!(hip_sim::last_fault().unwrap().contains("the device is gfx942:sramecc+:xnack+"));
    // The bundle's other entry is chosen.
    for image in [GFX942, COMPRESSED] {
        let empty = kernel(load(image), "empty");
        ok(launch!(empty, [2, 1, 1], [64, 1, 1], null_mut(), ()));
    }
    // SAFETY: no pointers.
    ok(unsafe { hipDeviceSynchronize() });
}

#[test]
fn two_devices() {
    child("two_devices_child", &[("HIP_SIM_DEVICES", "2")]);
}

#[test]
#[ignore = "run by two_devices"]
fn two_devices_child() {
    start();
    let (mut count, mut current) = (0, 9);
    // SAFETY: places for results; sizes are those of the allocations.
    unsafe {
        ok(hipGetDeviceCount(&mut count));
        assert_eq!(count, 2);
        assert_eq!(hipSetDevice(2), hipErrorInvalidDevice);
        assert_eq!(hipSetDevice(-1), hipErrorInvalidDevice);
        let first = upload(&[1_u32, 2, 3]);
        ok(hipSetDevice(1));
        let (second, second_stream) = (malloc(12), stream(0));
        ok(hipMemcpy(second, first, 12, hipMemcpyDeviceToDevice));
        assert_eq!(download::<u32>(second, 3), [1, 2, 3]);
        ok(hipMemcpyPeer(first, 0, second.byte_add(4), 1, 4));
        assert_eq!(download::<u32>(first, 3), [2, 2, 3]);
        let mut can = 5;
        ok(hipDeviceCanAccessPeer(&mut can, 0, 1));
        assert_eq!(can, 1);
        ok(hipDeviceCanAccessPeer(&mut can, 1, 1));
        assert_eq!(can, 0, "a device is no peer of its own");

        // A kernel of one device cannot access the other's memory before peer access is enabled, nor be launched on its streams.
        let store = kernel(load(GFX90A), "store_at");
        ok(launch!(store, [1; 3], [1; 3], second_stream, (first, 0_i64, 1_i32)));
        assert_eq!(hipStreamSynchronize(second_stream), hipErrorIllegalAddress);
        assert_eq!(hipDeviceEnablePeerAccess(1, 0), hipErrorInvalidDevice);
        assert_eq!(hipDeviceDisablePeerAccess(0), hipErrorPeerAccessNotEnabled);
        ok(hipDeviceEnablePeerAccess(0, 0));
        assert_eq!(hipDeviceEnablePeerAccess(0, 0), hipErrorPeerAccessAlreadyEnabled);
        ok(launch!(store, [1; 3], [1; 3], second_stream, (first, 0_i64, 7_i32)));
        ok(hipStreamSynchronize(second_stream));
        assert_eq!(download::<u32>(first, 1), [7]);
        ok(hipSetDevice(0));
        let later = malloc(12);
        ok(hipSetDevice(1));
        ok(launch!(store, [1; 3], [1; 3], second_stream, (later, 0_i64, 8_i32)));
        ok(hipStreamSynchronize(second_stream));
        assert_eq!(download::<u32>(later, 1), [8], "what is allocated later too");
        ok(hipDeviceDisablePeerAccess(0));
        for ptr in [first, later] {
            ok(launch!(store, [1; 3], [1; 3], second_stream, (ptr, 0_i64, 1_i32)));
            assert_eq!(hipStreamSynchronize(second_stream), hipErrorIllegalAddress);
        }
        ok(hipSetDevice(0));
        assert_eq!(launch!(store, [1; 3], [1; 3], null_mut(), (first, 0_i64, 1_i32)), hipErrorInvalidDevice);
        let e = event();
        assert_eq!(hipEventRecord(e, second_stream), hipErrorInvalidHandle);

        // The current device is per thread.
        std::thread::spawn(|| {
            let mut current = 9;
            ok(hipGetDevice(&mut current));
            assert_eq!(current, 0);
            ok(hipSetDevice(1));
        })
        .join()
        .unwrap();
        ok(hipGetDevice(&mut current));
        assert_eq!(current, 0);
        let mut id = [0; 16];
        ok(hipDeviceGetPCIBusId(id.as_mut_ptr(), 16, 1));
        let mut found = 9;
        ok(hipDeviceGetByPCIBusId(&mut found, id.as_ptr()));
        assert_eq!(found, 1);
    }
}

#[test]
fn a_launch_on_two_devices() {
    child("a_launch_on_two_devices_child", &[("HIP_SIM_DEVICES", "2")]);
}

/// Blocks a stream until the sender is used.
fn hold(stream: hipStream_t) -> std::sync::mpsc::Sender<()> {
    type Opened = std::sync::mpsc::Receiver<()>;
    unsafe extern "C" fn wait(data: *mut std::ffi::c_void) {
        // SAFETY: `hold` passes a box of this type, once.
        let opened = unsafe { Box::from_raw(data.cast::<Opened>()) };
        opened.recv().unwrap();
    }
    let (open, opened) = std::sync::mpsc::channel();
    // SAFETY: `wait` takes the box back.
    ok(unsafe { hipLaunchHostFunc(stream, Some(wait), Box::into_raw(Box::<Opened>::new(opened)).cast()) });
    open
}

/// Returns whether a stream is still busy after enough queries for it to have completed.
fn is_held(stream: hipStream_t) -> bool {
    (0..500).all(|_| {
        std::thread::yield_now();
        // SAFETY: no pointers.
        unsafe { hipStreamQuery(stream) == hipErrorNotReady }
    })
}

#[test]
#[ignore = "run by a_launch_on_two_devices"]
fn a_launch_on_two_devices_child() {
    start();
    // For each device: a word, a kernel that writes it, and a stream.
    let [first, second] = [0, 1].map(|device| {
        // SAFETY: no pointers.
        ok(unsafe { hipSetDevice(device) });
        (upload(&[0_i32; 2]), kernel(load(GFX90A), "store_at"), stream(hipStreamNonBlocking))
    });
    let (index, value) = (1_i64, 6_i32);
    let mut arguments = [first, second].map(|(word, ..)| Box::new((word, index, value)));
    let mut pointers = arguments
        .each_mut()
        .map(|of| [(&raw mut of.0).cast::<std::ffi::c_void>(), (&raw mut of.1).cast(), (&raw mut of.2).cast()]);
    let mut parts = [0, 1].map(|at| {
        let (_, function, stream) = [first, second][at];
        hipFunctionLaunchParams {
            function,
            gridDimX: 1,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: 1,
            blockDimY: 1,
            blockDimZ: 1,
            hStream: stream,
            kernelParams: pointers[at].as_mut_ptr(),
            ..Default::default()
        }
    });
    let both = parts.as_mut_ptr();
    // SAFETY: two parts, with a pointer to each argument.
    let launch = |flags| unsafe { hipModuleLaunchCooperativeKernelMultiDevice(both, 2, flags) };
    // By default, the launch on each device waits for both streams.
    for (held, other) in [(first, second), (second, first)] {
        let go = hold(held.2);
        ok(launch(0));
        assert!(is_held(other.2));
        assert_eq!(download::<i32>(other.0, 2), [0, 0], "it has not begun");
        go.send(()).unwrap();
        for (word, _, stream) in [first, second] {
            // SAFETY: no pointers but to the words.
            unsafe {
                ok(hipStreamSynchronize(stream));
                assert_eq!(download::<i32>(word, 2), [0, 6]);
                ok(hipMemset(word, 0, 8));
                ok(hipDeviceSynchronize());
                ok(hipSetDevice(1));
                ok(hipDeviceSynchronize());
            }
        }
    }
    // Without the wait before, a device waits for its own stream only. Later work waits for both launches, unless that is disabled too.
    for (flags, waits_after) in [(1, true), (3, false)] {
        let go = hold(first.2);
        ok(launch(flags));
        if waits_after {
            assert!(is_held(second.2), "for the end of the first's");
        } else {
            // SAFETY: no pointers.
            ok(unsafe { hipStreamSynchronize(second.2) });
        }
        go.send(()).unwrap();
        // SAFETY: no pointers.
        [first.2, second.2].into_iter().for_each(|stream| ok(unsafe { hipStreamSynchronize(stream) }));
    }
    // Two parts on one device, and parts that differ.
    parts[1].function = first.1;
    parts[1].hStream = first.2;
    // SAFETY: as above.
    let launch = |parts: &mut [hipFunctionLaunchParams; 2]| unsafe {
        hipModuleLaunchCooperativeKernelMultiDevice(parts.as_mut_ptr(), 2, 0)
    };
    assert_eq!(launch(&mut parts), hipErrorInvalidValue);
    (parts[1].function, parts[1].hStream) = (second.1, second.2);
    parts[1].blockDimX = 2;
    assert_eq!(launch(&mut parts), hipErrorInvalidValue);
    parts[1].blockDimX = 1;
    parts[1].function = first.1;
    assert_eq!(launch(&mut parts), hipErrorInvalidDevice, "loaded for the other");
}

#[test]
fn memory_limit() {
    child("memory_limit_child", &[("HIP_SIM_MEMORY", "1M")]);
}

#[test]
#[ignore = "run by memory_limit"]
fn memory_limit_child() {
    let s = stream(0);
    let (mut a, mut b) = (null_mut(), null_mut());
    // SAFETY: places for the results.
    unsafe {
        ok(hipMalloc(&mut a, 700 << 10));
        assert_eq!(hipMalloc(&mut b, 700 << 10), hipErrorOutOfMemory);
        // Frees that are pending on the stream are waited for.
        ok(hipFreeAsync(a, s));
        ok(hipMallocAsync(&mut b, 700 << 10, s));
        ok(hipFree(b));
    }
}

#[test]
fn endless_kernels_are_cut_off() {
    child("endless_kernels_child", &[("HIP_SIM_BUDGET", "100000")]);
}

#[test]
#[ignore = "run by endless_kernels_are_cut_off"]
fn endless_kernels_child() {
    let spin = kernel(load(GFX90A), "spin");
    let flag = upload(&[0_i32]);
    ok(launch!(spin, [1; 3], [64, 1, 1], null_mut(), (flag)));
    // SAFETY: no pointers.
    assert_eq!(unsafe { hipDeviceSynchronize() }, hipErrorLaunchTimeOut);
    assert!(hip_sim::last_fault().unwrap().contains("spin"));
}

/// Adds up 256 numbers with a kernel of that name.
fn add_up(name: &str) -> hipError_t {
    let (input, out) = (upload(&[1_i32; 256]), upload(&[0_i32]));
    ok(launch!(kernel(load(OBSERVED), name), [1; 3], [256, 1, 1], null_mut(), (input, out)));
    // SAFETY: no pointers.
    unsafe { hipDeviceSynchronize() }
}

#[test]
fn races_make_launches_fail() {
    let text = child("races_child", &[("HIP_SIM_CHECK", "race")]);
    assert!(text.contains("hip-sim: kernel reduce_racy: race at LDS address"), "{text}");
}

#[test]
#[ignore = "run by races_make_launches_fail"]
fn races_child() {
    ok(add_up("reduce"));
    assert_eq!(add_up("reduce_racy"), hipErrorLaunchFailure);
    let story = hip_sim::last_fault().unwrap();
    assert!(story.contains("the checks found") && story.contains("race at LDS address"), "{story}");
}

#[test]
fn lanes_of_one_wave_that_store_different_values_are_a_race() {
    let text = child("racing_lanes_child", &[("HIP_SIM_CHECK", "race")]);
    assert!(text.contains("hip-sim: kernel lanes_global: race at address"), "{text}");
    assert!(text.contains("lanes of one wave write different values at once"), "{text}");
}

#[test]
#[ignore = "run by lanes_of_one_wave_that_store_different_values_are_a_race"]
fn racing_lanes_child() {
    for (values, expected) in [(1_u32, hipSuccess), (64, hipErrorLaunchFailure)] {
        let out = upload(&[0_u32; 64]);
        ok(launch!(kernel(load(OBSERVED), "lanes_global"), [1; 3], [64, 1, 1], null_mut(), (out, 64_u32, values)));
        // SAFETY: no pointers.
        assert_eq!(unsafe { hipDeviceSynchronize() }, expected, "{values}");
    }
}

#[test]
fn races_are_only_told_if_so_wished() {
    let text = child("told_races_child", &[("HIP_SIM_CHECK", "race,warn"), ("HIP_SIM_SEED", "3")]);
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("hip-sim: ")).collect();
    assert!(lines.iter().any(|line| line.contains("kernel reduce_racy: race at LDS address")), "{text}");
    assert!(lines.len() < 20, "each once: {text}");
}

#[test]
#[ignore = "run by races_are_only_told_if_so_wished"]
fn told_races_child() {
    (0..20).for_each(|_| ok(add_up("reduce_racy")));
}

#[test]
fn a_profile_is_written_at_the_end() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("profile-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let name = folder.join("%p.txt");
    child("profile_child", &[("HIP_SIM_PROFILE", name.to_str().unwrap())]);
    let written: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(written.len(), 1, "{written:?}");
    let text = std::fs::read_to_string(&written[0]).unwrap();
    assert!(text.starts_with("kernel reduce\n  dispatches 2, workgroups 2, waves 8\n"), "{text}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
#[ignore = "run by a_profile_is_written_at_the_end"]
fn profile_child() {
    (0..2).for_each(|_| ok(add_up("reduce")));
}

/// Queues kernels on a stream, each of which adds 1 to a number in host memory. Returns the stream and the number.
fn count(kernels: i32) -> (hipStream_t, &'static AtomicI32) {
    let (stream, mut data) = (stream(hipStreamNonBlocking), null_mut());
    // SAFETY: a place for the pointer; the memory is never freed, and all use it by whole words.
    let number = unsafe {
        ok(hipHostMalloc(&mut data, 4, 0));
        AtomicI32::from_ptr(data.cast())
    };
    let add = kernel(load(GFX90A), "add_to_all");
    (0..kernels).for_each(|_| ok(launch!(add, [1; 3], [1; 3], stream, (data, 1_i32, 1_i32))));
    (stream, number)
}

/// With delays of seconds in its queue, a program that does not wait reads too early, even if it is slow itself.
#[test]
fn a_delay_shows_a_wait_that_is_missing() {
    child("missing_wait_child", &[("HIP_SIM_DELAY", "1000000:1")]);
}

#[test]
#[ignore = "run by a_delay_shows_a_wait_that_is_missing"]
fn missing_wait_child() {
    loop {
        let begun = std::time::Instant::now();
        let (_, number) = count(20);
        // Long enough for a queue without delays.
        std::thread::sleep(std::time::Duration::from_millis(200));
        if number.load(Relaxed) < 20 {
            break;
        }
        // On a busy machine this thread may have slept for seconds; then the check proves nothing.
        assert!(begun.elapsed().as_secs() >= 1, "the queue does not wait");
    }
}

#[test]
fn a_delay_changes_nothing_for_who_waits() {
    child("wait_child", &[("HIP_SIM_DELAY", "2000:1")]);
}

#[test]
#[ignore = "run by a_delay_changes_nothing_for_who_waits"]
fn wait_child() {
    let (stream, number) = count(20);
    // SAFETY: waits for the stream; no pointers.
    ok(unsafe { hipStreamSynchronize(stream) });
    assert_eq!(number.load(Relaxed), 20);
}

#[test]
fn nonsense_is_told() {
    child("nonsense_child", &[("HIP_SIM_DEVICES", "many")]);
}

#[test]
#[ignore = "run by nonsense_is_told"]
fn nonsense_child() {
    start();
    let mut count = 0;
    // SAFETY: `count` is valid for the write.
    assert_eq!(unsafe { hipGetDeviceCount(&mut count) }, hipErrorInitializationError);
    assert!(hip_sim::last_fault().unwrap().contains("HIP_SIM_DEVICES=\"many\""));
}

#[test]
fn what_there_is_and_what_there_is_not() {
    start();
    let mut version = 0;
    // SAFETY: places for the results.
    unsafe {
        ok(hipRuntimeGetVersion(&mut version));
        assert_eq!(version, 70_200_000);
        assert_eq!(hipTexObjectDestroy(null_mut()), hipErrorNotSupported);
        assert_eq!(hipGetLastError(), hipErrorNotSupported);
        let name = hipGetErrorName(hipErrorNotSupported);
        assert_eq!(std::ffi::CStr::from_ptr(name), c"hipErrorNotSupported");
    }
    assert!(hip_sys::has(c"hipMalloc"));
    assert!(!hip_sys::has(c"hipNoSuchFunction"));
    assert!(!hip_sys::has(c"hipCreateChannelDesc"), "returns no status, so there is nothing to answer");
}

#[cfg(unix)]
#[test]
fn a_forked_child_gets_an_error() {
    child("fork_child", &[]);
}

#[cfg(unix)]
#[test]
#[ignore = "run by a_forked_child_gets_an_error"]
fn fork_child() {
    free(malloc(4));
    // SAFETY: the child calls one function that takes no lock, and leaves without running anything else.
    unsafe {
        match libc::fork() {
            0 => {
                let mut ptr = null_mut();
                libc::_exit(if hipMalloc(&mut ptr, 4) == hipErrorNotInitialized { 0 } else { 1 });
            }
            pid => {
                let mut status = -1;
                assert_eq!(libc::waitpid(pid, &mut status, 0), pid);
                assert_eq!(status, 0);
            }
        }
    }
    free(malloc(4));
}

/// At API level 5.7 this is the older structure and function, from 6.2 on the newer ones.
#[test]
fn the_device_says_that_it_is_simulated() {
    start();
    let mut properties = hipDeviceProp_t::default();
    // SAFETY: places for results.
    unsafe {
        ok(hipGetDeviceProperties(&mut properties, 0));
        assert_eq!(hipGetDeviceProperties(&mut properties, 1), hipErrorInvalidDevice);
        assert_eq!(hipGetDeviceProperties(null_mut(), 0), hipErrorInvalidValue);
        let text = |chars: &[std::ffi::c_char]| std::ffi::CStr::from_ptr(chars.as_ptr()).to_str().unwrap().to_owned();
        assert_eq!(text(&properties.name), "AMD gfx90a (software GPU)");
        assert_eq!(text(&properties.gcnArchName), "gfx90a:sramecc+:xnack-");
        let mut name = [0; 8];
        ok(hipDeviceGetName(name.as_mut_ptr(), 8, 0));
        assert_eq!(text(&name), "AMD gfx", "cut off to fit");
        assert_eq!(hipDeviceGetName(name.as_mut_ptr(), 0, 0), hipErrorInvalidValue);
        let mut value = 0;
        ok(hipDeviceGetAttribute(&mut value, hipDeviceAttributeMultiprocessorCount, 0));
        assert_eq!(value, properties.multiProcessorCount);
        assert_eq!(hipDeviceGetAttribute(&mut value, hipDeviceAttribute_t(77_777), 0), hipErrorInvalidValue);
    }
    assert_eq!((properties.warpSize, properties.maxThreadsPerBlock), (64, 1024));
    assert_eq!(properties.sharedMemPerBlock, 64 << 10);
    assert_eq!(properties.maxThreadsDim, [1024; 3]);
    assert_eq!(properties.maxGridSize, [i32::MAX, 65536, 65536]);
    assert!(properties.multiProcessorCount >= 1);
}
