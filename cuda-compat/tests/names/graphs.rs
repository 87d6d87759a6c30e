//! Graphs: nodes with addresses, and updates with one struct for the results.

use std::ptr::{null, null_mut};

use cuda_compat::driver::*;
use cuda_compat::runtime::{cudaGraphExecUpdate, cudaGraphExecUpdateResultInfo, cudaGraphInstantiate};

use crate::{download, free, has, ok, start, stream, upload};

fn graph() -> CUgraph {
    let mut graph = null_mut();
    // SAFETY: room for the result.
    unsafe { ok(cuGraphCreate(&mut graph, 0)) };
    graph
}

fn context() -> CUcontext {
    let mut context = null_mut();
    // SAFETY: room for the result.
    unsafe { ok(cuCtxGetCurrent(&mut context)) };
    context
}

/// Runs a graph once; instantiated in CUDA 12's way, with a graph and flags.
fn run(graph: CUgraph) -> CUgraphExec {
    let mut exec = null_mut();
    // SAFETY: room for the result, and a graph that is alive.
    unsafe {
        ok(cuGraphInstantiate(&mut exec, graph, 0));
        let stream = stream();
        ok(cuGraphLaunch(exec, stream));
        ok(cuStreamSynchronize(stream));
    }
    exec
}

#[test]
fn fills_and_copies_are_nodes() {
    if !has(&["hipDrvGraphAddMemcpyNode"]) {
        return;
    }
    start();
    let (a, b) = (upload(&[0; 4]), upload(&[0; 4]));
    let graph = graph();
    let mut fill =
        CUDA_MEMSET_NODE_PARAMS { dst: a, elementSize: 4, height: 1, value: 5, width: 4, ..Default::default() };
    let mut copy = CUDA_MEMCPY3D {
        srcMemoryType: CU_MEMORYTYPE_DEVICE,
        srcDevice: a,
        srcPitch: 16,
        dstMemoryType: CU_MEMORYTYPE_DEVICE,
        dstDevice: b,
        dstPitch: 16,
        WidthInBytes: 8,
        Height: 1,
        Depth: 1,
        ..Default::default()
    };
    let (mut first, mut second) = (null_mut(), null_mut());
    // SAFETY: the handles are alive, and the memory is as large as the nodes say.
    unsafe {
        ok(cuGraphAddMemsetNode(&mut first, graph, null(), 0, &fill, context()));
        ok(cuGraphAddMemcpyNode(&mut second, graph, &first, 1, &copy, context()));
        let mut got = CUDA_MEMSET_NODE_PARAMS::default();
        ok(cuGraphMemsetNodeGetParams(first, &mut got));
        assert_eq!((got.dst, got.value, got.width), (a, 5, 4));
        let mut got = CUDA_MEMCPY3D::default();
        ok(cuGraphMemcpyNodeGetParams(second, &mut got));
        assert_eq!((got.srcDevice, got.dstDevice, got.WidthInBytes), (a, b, 8));
        let exec = run(graph);
        assert_eq!(download(b, 4), [5, 5, 0, 0]);
        fill.value = 6;
        copy.dstDevice = b + 8;
        ok(cuGraphExecMemsetNodeSetParams(exec, first, &fill, context()));
        ok(cuGraphExecMemcpyNodeSetParams(exec, second, &copy, context()));
        ok(cuGraphLaunch(exec, null_mut()));
        ok(cuCtxSynchronize());
        assert_eq!(download(b, 4), [5, 5, 6, 6]);
        ok(cuGraphMemsetNodeSetParams(first, &fill));
        ok(cuGraphMemcpyNodeSetParams(second, &copy));
        ok(cuGraphExecDestroy(exec));
        ok(cuGraphDestroy(graph));
    }
    [a, b].into_iter().for_each(free);
}

#[test]
fn allocations_are_nodes() {
    if !has(&["hipDrvGraphAddMemFreeNode"]) {
        return;
    }
    start();
    let graph = graph();
    let mut parameters = CUDA_MEM_ALLOC_NODE_PARAMS { bytesize: 64, ..Default::default() };
    parameters.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    parameters.poolProps.location.type_ = CU_MEM_LOCATION_TYPE_DEVICE;
    let (mut first, mut last, mut freed): (_, _, CUdeviceptr) = (null_mut(), null_mut(), 0);
    // SAFETY: places for the results, and handles that are alive.
    unsafe {
        ok(cuGraphAddMemAllocNode(&mut first, graph, null(), 0, &mut parameters));
        assert_ne!(parameters.dptr, 0);
        ok(cuGraphAddMemFreeNode(&mut last, graph, &first, 1, parameters.dptr));
        let mut got = CUDA_MEM_ALLOC_NODE_PARAMS::default();
        ok(cuGraphMemAllocNodeGetParams(first, &mut got));
        assert_eq!((got.dptr, got.bytesize), (parameters.dptr, 64));
        ok(cuGraphMemFreeNodeGetParams(last, &mut freed));
        assert_eq!(freed, parameters.dptr);
        ok(cuGraphDestroy(graph));
    }
}

#[test]
fn an_update_says_what_it_found() {
    if !has(&["hipDrvGraphAddMemsetNode"]) {
        return;
    }
    start();
    let pointer = upload(&[0; 4]);
    let of = |value, nodes: usize| {
        let graph = graph();
        let fill =
            CUDA_MEMSET_NODE_PARAMS { dst: pointer, elementSize: 4, height: 1, value, width: 4, ..Default::default() };
        let mut node = null_mut();
        for _ in 0..nodes {
            // SAFETY: the memory has 16 bytes.
            unsafe { ok(cuGraphAddMemsetNode(&mut node, graph, null(), 0, &fill, context())) };
        }
        graph
    };
    let exec = run(of(1, 1));
    let mut info = CUgraphExecUpdateResultInfo::default();
    for (value, update) in [
        (2, cuGraphExecUpdate as unsafe extern "C" fn(_, _, *mut CUgraphExecUpdateResultInfo) -> _),
        (3, cuGraphExecUpdate_v2),
        (4, cudaGraphExecUpdate),
    ] {
        // SAFETY: the handles are alive, and there is room for the result.
        unsafe {
            ok(update(exec, of(value, 1), &mut info));
            assert_eq!(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
            ok(cuGraphLaunch(exec, null_mut()));
            ok(cuCtxSynchronize());
            assert_eq!(download(pointer, 4), [value; 4]);
            assert_ne!(update(exec, of(9, 2), &mut info), CUDA_SUCCESS, "another shape");
            assert_ne!(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
            assert_eq!(update(exec, of(9, 1), null_mut()), CUDA_ERROR_INVALID_VALUE);
        }
    }
    let _: cudaGraphExecUpdateResultInfo = info;
    let mut other = null_mut();
    // SAFETY: room for the result.
    unsafe { ok(cudaGraphInstantiate(&mut other, of(1, 1), 0)) };
    free(pointer);
}
