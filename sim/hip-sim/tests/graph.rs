//! Graphs and captures through HIP's functions: destroyed, foreign and invented handles, and calls that `hip` does not
//! allow.
//!
//! One test at a time: a capture refuses calls of other threads.

mod common;

use std::ffi::c_void;
use std::ptr::{null, null_mut, without_provenance_mut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use common::*;
use hip_sys::rocm_7_2::*;

fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    start();
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn graph() -> hipGraph_t {
    let mut graph = null_mut();
    // SAFETY: a place for the result.
    ok(unsafe { hipGraphCreate(&mut graph, 0) });
    graph
}

fn empty(graph: hipGraph_t, before: &[hipGraphNode_t]) -> hipGraphNode_t {
    let mut node = null_mut();
    // SAFETY: a place for the result, and as many nodes as are said.
    ok(unsafe { hipGraphAddEmptyNode(&mut node, graph, before.as_ptr(), before.len()) });
    node
}

fn instantiate(graph: hipGraph_t) -> hipGraphExec_t {
    let mut exec = null_mut();
    // SAFETY: a place for the result.
    ok(unsafe { hipGraphInstantiate(&mut exec, graph, null_mut(), null_mut(), 0) });
    exec
}

fn fill(dst: *mut c_void, value: u32, width: usize) -> hipMemsetParams {
    hipMemsetParams { dst, elementSize: 4, height: 1, pitch: 0, value, width }
}

#[test]
fn a_handle_that_is_no_graph_or_node_is_told_of() {
    let _alone = alone();
    let (gone, other, stream) = (graph(), graph(), stream(0));
    let (gone_node, foreign) = (empty(gone, &[]), empty(other, &[]));
    let mut clone = null_mut();
    // SAFETY: places for results; bad handles are found.
    unsafe {
        ok(hipGraphClone(&mut clone, gone));
        let gone_exec = instantiate(gone);
        ok(hipGraphDestroy(gone));
        ok(hipGraphExecDestroy(gone_exec));
        let (mut node, mut graph, mut exec, mut count) = (null_mut(), null_mut(), null_mut(), 0);
        for bad in [null_mut(), gone, stream.cast(), foreign.cast(), without_provenance_mut(0x1234_5670)] {
            assert_eq!(hipGraphDestroy(bad), hipErrorInvalidValue);
            assert_eq!(hipGraphClone(&mut graph, bad), hipErrorInvalidValue);
            assert_eq!(hipGraphAddEmptyNode(&mut node, bad, null(), 0), hipErrorInvalidValue);
            assert_eq!(hipGraphGetNodes(bad, null_mut(), &mut count), hipErrorInvalidValue);
            assert_eq!(hipGraphInstantiate(&mut exec, bad, null_mut(), null_mut(), 0), hipErrorInvalidValue);
            assert_eq!(hipGraphLaunch(bad.cast(), stream), hipErrorInvalidValue);
            assert_eq!(hipGraphExecDestroy(bad.cast()), hipErrorInvalidValue);
            assert_eq!(hipGraphNodeFindInClone(&mut node, foreign, bad), hipErrorInvalidValue);
        }
        assert_eq!(hipGraphLaunch(gone_exec, stream), hipErrorInvalidValue);
        let mut kind = hipGraphNodeTypeEmpty;
        for bad in [null_mut(), gone_node, other.cast(), stream.cast(), without_provenance_mut(0x1234_5670)] {
            assert_eq!(hipGraphNodeGetType(bad, &mut kind), hipErrorInvalidValue);
            assert_eq!(hipGraphDestroyNode(bad), hipErrorInvalidValue);
            assert_eq!(hipGraphAddEmptyNode(&mut node, other, &bad, 1), hipErrorInvalidValue);
            assert_eq!(hipGraphAddDependencies(other, &foreign, &bad, 1), hipErrorInvalidValue);
            assert_eq!(hipGraphNodeGetDependencies(bad, null_mut(), &mut count), hipErrorInvalidValue);
        }
        // A node of another graph, in each place; and one of the graph's own, twice.
        let mut own = null_mut();
        ok(hipGraphNodeFindInClone(&mut own, gone_node, clone));
        assert_eq!(hipGraphAddEmptyNode(&mut node, clone, &foreign, 1), hipErrorInvalidValue);
        assert_eq!(hipGraphAddEmptyNode(&mut node, clone, [own, own].as_ptr(), 2), hipErrorInvalidValue);
        assert_eq!(hipGraphAddDependencies(clone, &own, &foreign, 1), hipErrorInvalidValue);
        assert_eq!(hipGraphAddDependencies(clone, &own, &own, 1), hipErrorInvalidValue);
        assert_eq!(hipGraphAddChildGraphNode(&mut node, clone, null(), 0, clone), hipErrorInvalidValue);
        let exec = instantiate(clone);
        assert_eq!(hipGraphNodeSetEnabled(exec, foreign, 0), hipErrorInvalidValue);
        ok(hipGraphGetNodes(clone, null_mut(), &mut count));
        assert_eq!(count, 1, "nothing was added by what was refused");
        ok(hipStreamDestroy(stream));
        assert_eq!(hipGraphLaunch(exec, stream), hipErrorContextIsDestroyed);
        ok(hipGraphExecDestroy(exec));
        ok(hipGraphDestroy(clone));
        ok(hipGraphDestroy(other));
    }
}

#[test]
fn a_circle_cannot_be_instantiated_and_a_child_is_not_destroyed() {
    let _alone = alone();
    let (of, inner) = (graph(), graph());
    let first = empty(of, &[]);
    let second = empty(of, &[first]);
    let (mut exec, mut child, mut owned) = (null_mut(), null_mut(), null_mut());
    // SAFETY: places for results.
    unsafe {
        ok(hipGraphAddDependencies(of, &second, &first, 1));
        assert_eq!(hipGraphInstantiate(&mut exec, of, null_mut(), null_mut(), 0), hipErrorInvalidValue);
        assert!(hip_sim::last_fault().unwrap().contains("circle"));
        ok(hipGraphRemoveDependencies(of, &second, &first, 1));
        ok(hipGraphAddChildGraphNode(&mut child, of, &second, 1, inner));
        ok(hipGraphChildGraphNodeGetGraph(child, &mut owned));
        assert_ne!(owned, inner);
        assert_eq!(hipGraphDestroy(owned), hipErrorInvalidValue);
        ok(hipGraphDestroyNode(child));
        assert_eq!(hipGraphDestroy(owned), hipErrorInvalidValue, "it went with its node");
        ok(hipGraphDestroy(inner));
        ok(hipGraphDestroy(of));
    }
}

#[test]
fn a_failing_node_leaves_out_what_follows_and_is_told_of() {
    let _alone = alone();
    let (of, stream, data) = (graph(), stream(0), upload(&[1_u32; 4]));
    let store = kernel(load(GFX90A), "store_at");
    let (mut target, mut at, mut value) = (null_mut::<c_void>(), 0_i64, 5_i32);
    let mut arguments: [*mut c_void; 3] = [(&raw mut target).cast(), (&raw mut at).cast(), (&raw mut value).cast()];
    let one = dim3 { x: 1, y: 1, z: 1 };
    let launch = hipKernelNodeParams {
        blockDim: one,
        extra: null_mut(),
        func: store.cast(),
        gridDim: one,
        kernelParams: arguments.as_mut_ptr(),
        sharedMemBytes: 0,
    };
    let (mut bad, mut after) = (null_mut(), null_mut());
    // SAFETY: the arguments are the kernel's; it stores to null, which is detected.
    unsafe {
        ok(hipGraphAddKernelNode(&mut bad, of, null(), 0, &launch));
        ok(hipGraphAddMemsetNode(&mut after, of, &bad, 1, &fill(data, 9, 4)));
        let exec = instantiate(of);
        ok(hipGraphLaunch(exec, stream));
        assert_eq!(hipStreamSynchronize(stream), hipErrorIllegalAddress);
        assert!(hip_sim::last_fault().unwrap().contains("store_at"));
        assert_eq!(download::<u32>(data, 4), [1; 4]);
        // With the node disabled, the rest runs.
        ok(hipGraphNodeSetEnabled(exec, bad, 0));
        ok(hipGraphLaunch(exec, stream));
        ok(hipStreamSynchronize(stream));
        assert_eq!(download::<u32>(data, 4), [9; 4]);
        // New parameters must match the node.
        assert_eq!(hipGraphExecMemsetNodeSetParams(exec, bad, &fill(data, 1, 4)), hipErrorInvalidValue);
        assert_eq!(hipGraphExecMemsetNodeSetParams(exec, after, &fill(data, 1, 5)), hipErrorInvalidValue);
        ok(hipGraphExecDestroy(exec));
        ok(hipGraphDestroy(of));
        ok(hipStreamDestroy(stream));
    }
    free(data);
}

#[test]
fn memory_of_a_graph_is_there_between_its_nodes_alone() {
    let _alone = alone();
    let (of, stream) = (graph(), stream(0));
    let mut parameters = hipMemAllocNodeParams { bytesize: 64, ..Default::default() };
    parameters.poolProps.allocType = hipMemAllocationTypePinned;
    parameters.poolProps.location.type_ = hipMemLocationTypeDevice;
    let (mut alloc, mut fills, mut clone) = (null_mut(), null_mut(), null_mut());
    // SAFETY: places for results; the memory is looked up at each use.
    unsafe {
        ok(hipGraphAddMemAllocNode(&mut alloc, of, null(), 0, &mut parameters));
        let memory = parameters.dptr;
        ok(hipGraphAddMemsetNode(&mut fills, of, &alloc, 1, &fill(memory, 3, 16)));
        let exec = instantiate(of);
        // Not allocated yet.
        ok(hipMemsetAsync(memory, 0, 64, stream));
        assert_eq!(hipStreamSynchronize(stream), hipErrorIllegalAddress);
        ok(hipGraphLaunch(exec, stream));
        ok(hipStreamSynchronize(stream));
        assert_eq!(download::<u32>(memory, 16), [3; 16]);
        assert_eq!(hipGraphLaunch(exec, stream), hipErrorInvalidValue, "it is still allocated");
        ok(hipFreeAsync(memory, stream));
        assert_eq!(hipFreeAsync(memory, stream), hipErrorInvalidValue);
        ok(hipStreamSynchronize(stream));
        // Freed, and allocated again by the next launch.
        ok(hipMemsetAsync(memory, 0, 64, stream));
        assert_eq!(hipStreamSynchronize(stream), hipErrorIllegalAddress);
        ok(hipGraphLaunch(exec, stream));
        ok(hipFree(memory));
        // Only one executable graph can use these addresses.
        let mut second = null_mut();
        assert_eq!(hipGraphInstantiate(&mut second, of, null_mut(), null_mut(), 0), hipErrorNotSupported);
        assert_eq!(hipGraphClone(&mut clone, of), hipErrorNotSupported);
        assert_eq!(hipGraphDestroyNode(alloc), hipErrorNotSupported);
        assert_eq!(hipGraphAddMemFreeNode(&mut clone.cast(), of, null(), 0, malloc(4)), hipErrorInvalidValue);
        ok(hipGraphExecDestroy(exec));
        ok(hipGraphDestroy(of));
        assert_eq!(hipMemset(memory, 0, 1), hipErrorInvalidValue, "the addresses went with the graph");
        ok(hipStreamDestroy(stream));
    }
}

/// Makes a stream usable after its capture ended with an error. As in HIP 7.2, only another capture does that.
fn heal(stream: hipStream_t, mode: hipStreamCaptureMode) {
    let (mut of, mut state) = (null_mut(), hipStreamCaptureStatusNone);
    // SAFETY: places for results.
    unsafe {
        ok(hipStreamIsCapturing(stream, &mut state));
        assert_ne!(state, hipStreamCaptureStatusNone, "it stays as it is");
        assert_eq!(hipStreamSynchronize(stream), hipErrorStreamCaptureUnsupported);
        ok(hipStreamBeginCapture(stream, mode));
        ok(hipStreamEndCapture(stream, &mut of));
        ok(hipGraphDestroy(of));
        ok(hipStreamIsCapturing(stream, &mut state));
        assert_eq!(state, hipStreamCaptureStatusNone, "it is over");
    }
}

/// Begins a capture on a stream, runs `work`, and ends the capture.
fn capture(stream: hipStream_t, mode: hipStreamCaptureMode, work: impl FnOnce()) -> Result<usize, hipError_t> {
    let (mut of, mut count) = (null_mut(), 0);
    // SAFETY: places for results.
    unsafe {
        ok(hipStreamBeginCapture(stream, mode));
        work();
        let status = hipStreamEndCapture(stream, &mut of);
        if status != hipSuccess {
            assert!(of.is_null());
            heal(stream, mode);
            return Err(status);
        }
        ok(hipGraphGetNodes(of, null_mut(), &mut count));
        ok(hipGraphDestroy(of));
    }
    Ok(count)
}

#[test]
fn what_would_wait_for_captured_work_ends_the_capture() {
    let _alone = alone();
    let (s, other, data, event) = (stream(0), stream(1), malloc(64), event());
    let (all, own, relaxed) =
        (hipStreamCaptureModeGlobal, hipStreamCaptureModeThreadLocal, hipStreamCaptureModeRelaxed);
    let invalidated = Err(hipErrorStreamCaptureInvalidated);
    // SAFETY: sizes are those of the allocation, and places for results.
    unsafe {
        for mode in [all, own, relaxed] {
            let unsupported = hipErrorStreamCaptureUnsupported;
            assert_eq!(capture(s, mode, || assert_eq!(hipStreamSynchronize(s), unsupported)), invalidated);
            assert_eq!(capture(s, mode, || assert_eq!(hipStreamQuery(s), unsupported)), invalidated);
            assert_eq!(capture(s, mode, || assert_eq!(hipDeviceSynchronize(), unsupported)), invalidated);
            let legacy = || assert_eq!(hipMemset(data, 1, 64), hipErrorStreamCaptureImplicit);
            assert_eq!(capture(s, mode, legacy), invalidated);
            let legacy = || assert_eq!(hipMemset(data, 1, 64), hipErrorStreamCaptureImplicit);
            assert_eq!(capture(other, mode, legacy), invalidated, "even of a stream that nobody waits for");
            let asked = || {
                ok(hipEventRecord(event, s));
                assert_eq!(hipEventSynchronize(event), hipErrorCapturedEvent);
            };
            assert_eq!(capture(s, mode, asked), invalidated);
            ok(hipEventSynchronize(event));
            assert_eq!(capture(s, mode, || ok(hipMemsetAsync(data, 1, 64, s))), Ok(1));
            let wrong = || assert_eq!(hipMemsetAsync(data, 1, 65, s), hipErrorInvalidValue);
            assert_eq!(capture(s, mode, wrong), Ok(0));
            let elsewhere = |status| assert_eq!(hipStreamSynchronize(other), status);
            let expected = if mode == relaxed { hipSuccess } else { unsupported };
            assert_eq!(capture(s, mode, || elsewhere(expected)).is_ok(), mode == relaxed);
            // A global capture refuses calls of other threads.
            let expected = if mode == all { unsupported } else { hipSuccess };
            let there = other.addr();
            let by_another = || {
                let wait = move || hipStreamSynchronize(without_provenance_mut(there));
                assert_eq!(std::thread::spawn(wait).join().unwrap(), expected);
            };
            assert_eq!(capture(s, mode, by_another).is_ok(), mode != all);
        }
        // A thread in relaxed mode is not refused.
        let mut mode = relaxed;
        ok(hipThreadExchangeStreamCaptureMode(&mut mode));
        assert_eq!(mode, all);
        assert_eq!(capture(s, all, || ok(hipFree(malloc(4)))), Ok(0));
        ok(hipThreadExchangeStreamCaptureMode(&mut mode));
        assert_eq!(mode, relaxed);
        ok(hipEventDestroy(event));
        ok(hipStreamDestroy(s));
        ok(hipStreamDestroy(other));
    }
    free(data);
}

#[test]
fn captures_begin_join_and_end_where_they_may() {
    let _alone = alone();
    let (s, other, data, event, back) = (stream(0), stream(0), malloc(64), event(), event());
    let mode = hipStreamCaptureModeThreadLocal;
    let mut of = null_mut();
    // SAFETY: sizes are those of the allocation, and places for results.
    unsafe {
        assert_eq!(hipStreamBeginCapture(null_mut(), mode), hipErrorStreamCaptureUnsupported);
        assert_eq!(hipStreamBeginCapture(s, hipStreamCaptureMode(7)), hipErrorInvalidValue);
        assert_eq!(hipStreamEndCapture(s, &mut of), hipErrorIllegalState);
        let fork = || {
            ok(hipEventRecord(event, s));
            ok(hipStreamWaitEvent(other, event, 0));
            assert_eq!(hipStreamBeginCapture(other, mode), hipErrorIllegalState);
            ok(hipMemsetAsync(data, 1, 64, other));
        };
        let join = || {
            assert_eq!(hipStreamEndCapture(other, &mut null_mut()), hipErrorStreamCaptureUnmatched);
            ok(hipEventRecord(back, other));
            ok(hipStreamWaitEvent(s, back, 0));
        };
        assert_eq!(capture(s, mode, fork), Err(hipErrorStreamCaptureUnjoined));
        ok(hipMemsetAsync(data, 1, 64, other));
        ok(hipStreamSynchronize(other));
        let both = || {
            fork();
            join();
        };
        assert_eq!(capture(s, mode, both), Ok(1));
        // Another thread cannot end the capture, which continues.
        let there = s.addr();
        let foreign = || {
            let end = move || hipStreamEndCapture(without_provenance_mut(there), &mut null_mut());
            assert_eq!(std::thread::spawn(end).join().unwrap(), hipErrorStreamCaptureWrongThread);
        };
        assert_eq!(capture(s, mode, foreign), Ok(0));
        // Two captures cannot be joined.
        ok(hipStreamBeginCapture(other, mode));
        let merge = || {
            ok(hipEventRecord(event, s));
            assert_eq!(hipStreamWaitEvent(other, event, 0), hipErrorStreamCaptureMerge);
        };
        assert_eq!(capture(s, mode, merge), Err(hipErrorStreamCaptureInvalidated));
        assert_eq!(hipStreamEndCapture(other, &mut of), hipErrorStreamCaptureInvalidated);
        heal(other, mode);
        // During a capture, launches, allocations and frees become nodes.
        let inner = graph();
        empty(inner, &[]);
        let exec = instantiate(inner);
        assert_eq!(capture(s, mode, || ok(hipGraphLaunch(exec, s))), Ok(1));
        let allocates = || {
            let mut memory = null_mut();
            ok(hipMallocAsync(&mut memory, 64, s));
            ok(hipFreeAsync(memory, s));
            assert_eq!(hipFreeAsync(data, s), hipErrorInvalidValue, "not a graph's");
        };
        assert_eq!(capture(s, mode, allocates), Ok(2));
        ok(hipGraphExecDestroy(exec));
        ok(hipGraphDestroy(inner));
        // Destroying a stream ends its capture.
        ok(hipStreamBeginCapture(s, mode));
        ok(hipStreamDestroy(s));
        assert_eq!(hipStreamEndCapture(s, &mut of), hipErrorContextIsDestroyed);
        ok(hipFree(data));
        ok(hipStreamDestroy(other));
        ok(hipEventDestroy(event));
        ok(hipEventDestroy(back));
    }
}

#[test]
fn a_reset_and_the_end_of_a_thread_end_captures() {
    const PER_THREAD: usize = 2;
    let _alone = alone();
    let mode = hipStreamCaptureModeGlobal;
    let s = stream(0);
    // SAFETY: streams of ours; places for results.
    unsafe {
        ok(hipStreamBeginCapture(s, mode));
        ok(hipDeviceReset());
        std::thread::spawn(move || {
            let own: hipStream_t = without_provenance_mut(PER_THREAD);
            ok(hipStreamBeginCapture(own, mode));
            assert_eq!(hipStreamBeginCapture(own, mode), hipErrorIllegalState);
        })
        .join()
        .unwrap();
    }
    // An active capture would refuse this.
    free(malloc(4));
}

/// `hipGraphNodeParams` of HIP 6.2 and later, for a fill.
#[repr(C)]
struct FillNode {
    kind: hipGraphNodeType,
    reserved: [i32; 3],
    fill: hipMemsetParams,
    rest: [u64; 29 - size_of::<hipMemsetParams>() / 8],
    reserved_too: u64,
}

/// Looks up a function by name: the bindings may be those of an older release.
fn later<F: Copy>(name: &std::ffi::CStr) -> F {
    let address = rocm_loader::Provider::symbol(hip_sim::provider(), name).unwrap();
    assert_eq!(size_of::<F>(), size_of_val(&address));
    // SAFETY: the caller gives the function's own type, which is a pointer to a function.
    unsafe { std::mem::transmute_copy(&address) }
}

#[test]
fn nodes_are_added_and_changed_by_their_kind() {
    type Add = unsafe extern "C" fn(
        *mut hipGraphNode_t,
        hipGraph_t,
        *const hipGraphNode_t,
        usize,
        *mut FillNode,
    ) -> hipError_t;
    type Change = unsafe extern "C" fn(hipGraphNode_t, *mut FillNode) -> hipError_t;
    type ChangeExec = unsafe extern "C" fn(hipGraphExec_t, hipGraphNode_t, *mut FillNode) -> hipError_t;
    let _alone = alone();
    let (add, change, change_exec): (Add, Change, ChangeExec) =
        (later(c"hipGraphAddNode"), later(c"hipGraphNodeSetParams"), later(c"hipGraphExecNodeSetParams"));
    let (of, stream, data) = (graph(), stream(0), upload(&[0_u32; 4]));
    let (kind, rest) = (hipGraphNodeTypeMemset, [0; 29 - size_of::<hipMemsetParams>() / 8]);
    let mut fills = FillNode { kind, reserved: [0; 3], fill: fill(data, 1, 4), rest, reserved_too: 0 };
    let mut node = null_mut();
    // SAFETY: parameters of the kind that they say; bad ones are found.
    unsafe {
        ok(add(&mut node, of, null(), 0, &mut fills));
        let exec = instantiate(of);
        let filled_by = |exec, value: u32| {
            ok(hipGraphLaunch(exec, stream));
            ok(hipStreamSynchronize(stream));
            assert_eq!(download::<u32>(data, 4), [value; 4]);
        };
        filled_by(exec, 1);
        fills.fill.value = 2;
        ok(change(node, &mut fills));
        filled_by(exec, 1);
        filled_by(instantiate(of), 2);
        fills.fill.value = 3;
        ok(change_exec(exec, node, &mut fills));
        filled_by(exec, 3);
        fills.fill.width = 5;
        for status in [change(node, &mut fills), change_exec(exec, node, &mut fills)] {
            assert_eq!(status, hipErrorInvalidValue, "past the end");
        }
        fills.kind = hipGraphNodeTypeEmpty;
        assert_eq!(change(node, &mut fills), hipErrorInvalidValue, "another kind");
        fills.kind = hipGraphNodeTypeGraph;
        assert_eq!(change(node, &mut fills), hipErrorNotSupported);
        fills.kind = hipGraphNodeType(99);
        assert_eq!(add(&mut node, of, null(), 0, &mut fills), hipErrorNotSupported);
        assert_eq!(add(&mut node, of, null(), 0, null_mut()), hipErrorInvalidValue);
        ok(hipGraphExecDestroy(exec));
        ok(hipGraphDestroy(of));
        ok(hipStreamDestroy(stream));
    }
    free(data);
}

#[test]
fn what_graphs_keep_is_given_back_with_the_last_of_them() {
    use std::sync::atomic::{AtomicU32, Ordering};
    unsafe extern "C" fn end(data: *mut c_void) {
        // SAFETY: the counter of the test, which waits for this.
        unsafe { &*data.cast::<AtomicU32>() }.fetch_add(1, Ordering::SeqCst);
    }
    let _alone = alone();
    let ended = AtomicU32::new(0);
    let data = (&raw const ended).cast_mut().cast::<c_void>();
    let count = || ended.load(Ordering::SeqCst);
    let (of, mut object, mut clone) = (graph(), null_mut(), null_mut());
    empty(of, &[]);
    // SAFETY: the counter outlives the objects; bad handles are found.
    unsafe {
        for (destroy, references, flags) in [(None, 1, 1), (Some(end as _), 0, 1), (Some(end as _), 1, 0)] {
            assert_eq!(hipUserObjectCreate(&mut object, data, destroy, references, flags), hipErrorInvalidValue);
        }
        ok(hipUserObjectCreate(&mut object, data, Some(end), 2, 1));
        assert_eq!(hipUserObjectRetain(object, 0), hipErrorInvalidValue);
        assert_eq!(hipUserObjectRelease(object, 3), hipErrorInvalidValue, "there are two");
        ok(hipUserObjectRelease(object, 1));
        assert_eq!(hipGraphRetainUserObject(of, object, 1, 2), hipErrorInvalidValue);
        ok(hipGraphRetainUserObject(of, object, 1, 1)); // the program's own reference
        assert_eq!(hipGraphReleaseUserObject(of, object, 2), hipErrorInvalidValue);
        ok(hipGraphClone(&mut clone, of));
        let exec = instantiate(clone);
        ok(hipGraphDestroy(of));
        ok(hipGraphDestroy(clone));
        assert_eq!(count(), 0, "the executable graph has it");
        ok(hipGraphExecDestroy(exec));
        assert_eq!(count(), 1);
        assert_eq!(hipUserObjectRetain(object, 1), hipErrorInvalidValue, "it is gone");
        // Taken back from a graph that stays.
        let of = graph();
        ok(hipUserObjectCreate(&mut object, data, Some(end), 1, 1));
        ok(hipGraphRetainUserObject(of, object, 2, 0));
        ok(hipUserObjectRelease(object, 1));
        ok(hipGraphReleaseUserObject(of, object, 1));
        assert_eq!(count(), 1);
        ok(hipGraphReleaseUserObject(of, object, 1));
        assert_eq!(count(), 2);
        ok(hipGraphDestroy(of));
        assert_eq!(count(), 2);
    }
}
