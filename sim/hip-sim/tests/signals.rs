//! Stream memory operations: both widths, batches, graph nodes, and refused calls.

mod common;

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use common::*;
use hip_sys::rocm_7_2::*;

const BAD: hipError_t = hipErrorInvalidValue;

/// Signal memory, which the host touches as well.
fn signal(value: u64) -> (&'static AtomicU64, *mut c_void) {
    start();
    let mut word = null_mut();
    // SAFETY: a place for the result; the memory is never freed, so that the reference stays good.
    unsafe {
        ok(hipExtMallocWithFlags(&mut word, 8, hipMallocSignalMemory));
        let atomic = AtomicU64::from_ptr(word.cast());
        atomic.store(value, Ordering::SeqCst);
        (atomic, word)
    }
}

/// Returns whether a stream is still busy after enough queries for it to have completed.
fn is_held(stream: hipStream_t) -> bool {
    (0..500).all(|_| {
        std::thread::yield_now();
        // SAFETY: no pointers.
        unsafe { hipStreamQuery(stream) == hipErrorNotReady }
    })
}

fn synchronize(stream: hipStream_t) {
    // SAFETY: no pointers.
    ok(unsafe { hipStreamSynchronize(stream) });
}

#[test]
fn streams_wait_for_words_of_both_widths() {
    let (word, at) = signal(0xffff_ffff_0000_0001);
    let (stream, data) = (stream(hipStreamNonBlocking), malloc(16));
    // SAFETY: the memory is live; the low half of the word is the first.
    unsafe {
        let low = AtomicU32::from_ptr(at.cast());
        ok(hipStreamWaitValue32(stream, at, 2, hipStreamWaitValueGte, u32::MAX));
        ok(hipStreamWriteValue32(stream, data, 77, 0));
        assert!(is_held(stream), "the high half is none of its business");
        low.store(2, Ordering::SeqCst);
        synchronize(stream);
        assert_eq!(download::<u32>(data, 2)[0], 77);
        // 64 bits, and a masked part of them.
        ok(hipStreamWaitValue64(stream, at, 0x12, hipStreamWaitValueEq, 0xff));
        ok(hipStreamWriteValue64(stream, data.byte_add(8), u64::MAX - 1, 0));
        assert!(is_held(stream));
        word.store(0x3412, Ordering::SeqCst);
        synchronize(stream);
        assert_eq!(download::<u64>(data, 2)[1], u64::MAX - 1);
        // Device memory, which a kernel writes to.
        let store = kernel(load(GFX90A), "store_at");
        let other = common::stream(hipStreamNonBlocking);
        ok(hipStreamWaitValue32(stream, data, 5, hipStreamWaitValueEq, u32::MAX));
        assert!(is_held(stream));
        ok(launch!(store, [1; 3], [1; 3], other, (data, 0_i64, 5_i32)));
        synchronize(stream);
        ok(hipStreamDestroy(other));
        ok(hipStreamDestroy(stream));
    }
    free(data);
    free(at);
}

/// `hipStreamBatchMemOpParams`. Everything newer than the lowest API level is declared here.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Operation {
    operation: u32,
    address: usize,
    value: u64,
    flags: u32,
    rest: [u64; 2],
}

/// `hipBatchMemOpNodeParams`.
#[repr(C)]
struct Node {
    context: usize,
    count: u32,
    operations: *mut Operation,
    flags: u32,
}

type Batch = unsafe extern "C" fn(hipStream_t, u32, *mut Operation, u32) -> hipError_t;
type AddNode =
    unsafe extern "C" fn(*mut hipGraphNode_t, hipGraph_t, *const hipGraphNode_t, usize, *const Node) -> hipError_t;
type SetNode = unsafe extern "C" fn(hipGraphNode_t, *mut Node) -> hipError_t;
type SetExecNode = unsafe extern "C" fn(hipGraphExec_t, hipGraphNode_t, *const Node) -> hipError_t;

fn batch() -> Batch {
    // SAFETY: its type.
    unsafe { newer(c"hipStreamBatchMemOp") }
}

const WAIT: u32 = 4;
const WRITE: u32 = 5;
const WRITE_32: u32 = 2;

fn wait(at: *mut c_void, value: u64) -> Operation {
    Operation { operation: WAIT, address: at.addr(), value, flags: hipStreamWaitValueEq, ..Default::default() }
}

fn write(operation: u32, at: *mut c_void, value: u64) -> Operation {
    Operation { operation, address: at.addr(), value, ..Default::default() }
}

#[test]
fn a_batch_is_done_as_a_whole_on_a_stream_and_as_a_node() {
    let ((go, go_at), (done, done_at)) = (signal(0), signal(0));
    let stream = stream(hipStreamNonBlocking);
    let mut operations = [wait(go_at, 3), write(WRITE_32, done_at, 8), write(WRITE, go_at, 0)];
    // SAFETY: the types of the functions, and as many operations as are said.
    unsafe {
        let add_node: AddNode = newer(c"hipGraphAddBatchMemOpNode");
        let (get_node, set_node) = (c"hipGraphBatchMemOpNodeGetParams", c"hipGraphBatchMemOpNodeSetParams");
        let [get_node, set_node] = [get_node, set_node].map(|name| newer::<SetNode>(name));
        let set_exec_node: SetExecNode = newer(c"hipGraphExecBatchMemOpNodeSetParams");
        ok(batch()(stream, 3, operations.as_mut_ptr(), 0));
        assert!(is_held(stream) && done.load(Ordering::SeqCst) == 0);
        go.store(3, Ordering::SeqCst);
        synchronize(stream);
        assert_eq!((done.load(Ordering::SeqCst), go.load(Ordering::SeqCst)), (8, 0));

        let (mut graph, mut node, mut exec) = (null_mut(), null_mut(), null_mut());
        ok(hipGraphCreate(&mut graph, 0));
        let mut params = Node { context: 0, count: 3, operations: operations.as_mut_ptr(), flags: 0 };
        ok(add_node(&mut node, graph, null_mut(), 0, &params));
        let mut kind = hipGraphNodeTypeEmpty;
        ok(hipGraphNodeGetType(node, &mut kind));
        assert_eq!(kind.0, 14, "hipGraphNodeTypeBatchMemOp");
        ok(hipGraphInstantiate(&mut exec, graph, null_mut(), null_mut(), 0));
        for _ in 0..2 {
            done.store(0, Ordering::SeqCst);
            ok(hipGraphLaunch(exec, stream));
            assert!(is_held(stream));
            go.store(3, Ordering::SeqCst);
            synchronize(stream);
            assert_eq!((done.load(Ordering::SeqCst), go.load(Ordering::SeqCst)), (8, 0));
        }
        // First the executable graph is changed and the graph is not; then the graph, and the executable graph is not.
        let mut other = [write(WRITE, done_at, 11)];
        (params.count, params.operations) = (1, other.as_mut_ptr());
        ok(set_exec_node(exec, node, &params));
        ok(hipGraphLaunch(exec, stream));
        synchronize(stream);
        assert_eq!(done.load(Ordering::SeqCst), 11);
        let mut told = Node { context: 1, count: 0, operations: null_mut(), flags: 1 };
        ok(get_node(node, &mut told));
        assert_eq!((told.count, (*told.operations).address, told.flags), (3, go_at.addr(), 0));
        *params.operations = write(WRITE, done_at, 12);
        ok(set_node(node, &mut params));
        ok(hipGraphLaunch(exec, stream));
        synchronize(stream);
        assert_eq!(done.load(Ordering::SeqCst), 11);
        ok(hipGraphExecDestroy(exec));
        ok(hipGraphDestroy(graph));
        ok(hipStreamDestroy(stream));
    }
    free(go_at);
    free(done_at);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let (_, at) = signal(0);
    let (stream, data, mut on_stack) = (stream(hipStreamNonBlocking), malloc(64), 0_u64);
    let all = u64::MAX;
    // SAFETY: all is checked by the simulator.
    unsafe {
        let mut ptr = null_mut();
        assert_eq!(hipExtMallocWithFlags(&mut ptr, 16, hipMallocSignalMemory), BAD);
        for bad in [null_mut(), (&raw mut on_stack).cast(), at.byte_add(2), data.byte_add(62), data.byte_add(64)] {
            assert_eq!(hipStreamWaitValue64(stream, bad, 0, hipStreamWaitValueEq, all), BAD, "{bad:?}");
            assert_eq!(hipStreamWriteValue32(stream, bad, 0, 0), BAD, "{bad:?}");
        }
        assert_eq!(hipStreamWaitValue64(stream, at, 0, 4, all), BAD);
        let made_up = std::ptr::without_provenance_mut(0x1234);
        assert_eq!(hipStreamWaitValue32(made_up, at, 0, 0, 0), hipErrorContextIsDestroyed);
        let mut operations = vec![write(WRITE, at, 1); 257];
        let queue = batch();
        let mut batch = |count, flags| queue(stream, count, operations.as_mut_ptr(), flags);
        assert_eq!((batch(0, 0), batch(257, 0), batch(1, 1)), (BAD, BAD, BAD));
        ok(batch(256, 0));
        assert_eq!(queue(stream, 1, null_mut(), 0), BAD);
        for (number, status) in [(0, BAD), (3, hipErrorNotSupported), (6, hipErrorNotSupported), (7, BAD)] {
            assert_eq!(queue(stream, 1, &mut write(number, at, 0), 0), status, "{number}");
        }
        // If one operation of a batch is invalid, none is performed.
        synchronize(stream);
        AtomicU64::from_ptr(at.cast()).store(5, Ordering::SeqCst);
        let mut half = [write(WRITE, at, 6), write(WRITE, null_mut(), 6)];
        assert_eq!(queue(stream, 2, half.as_mut_ptr(), 0), BAD);
        synchronize(stream);
        assert_eq!(AtomicU64::from_ptr(at.cast()).load(Ordering::SeqCst), 5);
        // A capture refuses them and becomes invalid.
        ok(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
        assert_eq!(hipStreamWriteValue64(stream, at, 7, 0), hipErrorStreamCaptureUnsupported);
        let mut graph = null_mut();
        assert_eq!(hipStreamEndCapture(stream, &mut graph), hipErrorStreamCaptureInvalidated);
        ok(hipStreamDestroy(stream));
        hipGetLastError();
    }
    free(data);
    free(at);
}
