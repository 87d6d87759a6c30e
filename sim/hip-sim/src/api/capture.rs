//! Capturing the work of streams into graphs.

use std::ffi::{c_uint, c_ulonglong};

use hip_sys::rocm_7_2::*;

use super::graph::{handle, nodes_from};
use super::{hip_functions, put, put_if_wanted};
use crate::capture;
use crate::runtime::{Runtime, runtime};
use crate::status::{Outcome, Refusal, ensure};
use crate::target::Target;

/// `hipStreamSetCaptureDependencies`: replaces the previous dependencies.
const SET: c_uint = 1;

fn is_mode(mode: hipStreamCaptureMode) -> bool {
    [hipStreamCaptureModeGlobal, hipStreamCaptureModeThreadLocal, hipStreamCaptureModeRelaxed].contains(&mode)
}

/// The stream to capture. Refused if it cannot be captured.
fn target(runtime: &Runtime, stream: hipStream_t, mode: hipStreamCaptureMode) -> Result<Target, Refusal> {
    let target = runtime.target(stream)?;
    ensure(is_mode(mode), hipErrorInvalidValue)?;
    ensure(!target.is_null, hipErrorStreamCaptureUnsupported)?;
    Ok(target)
}

/// The capture information that is returned to the program.
struct Told {
    status: hipStreamCaptureStatus,
    view: Option<capture::View>,
}

fn told(stream: hipStream_t) -> Result<Told, Refusal> {
    let runtime = runtime()?;
    let view = runtime.captures.view(runtime.target(stream)?.queue);
    let status = match &view {
        None => hipStreamCaptureStatusNone,
        Some(view) if view.is_invalid => hipStreamCaptureStatusInvalidated,
        Some(_) => hipStreamCaptureStatusActive,
    };
    Ok(Told { status, view: view.filter(|view| !view.is_invalid) })
}

/// Changes the dependencies of a captured stream's next node.
///
/// # Safety
/// `nodes` must be null or valid for reads of `count` handles.
unsafe fn depend(stream: hipStream_t, nodes: *const hipGraphNode_t, count: usize, flags: c_uint) -> Outcome {
    let runtime = runtime()?;
    let queue = runtime.target(stream)?.queue;
    let view = runtime.captures.view(queue).ok_or(hipErrorIllegalState)?;
    ensure(flags <= SET, hipErrorInvalidValue)?;
    // SAFETY: as the caller vouches.
    let nodes = unsafe { nodes_from(runtime, handle(view.graph), nodes, count) }?;
    runtime.captures.depend(queue, &nodes, flags == SET)
}

hip_functions! {
    fn hipStreamBeginCapture(stream: hipStream_t, mode: hipStreamCaptureMode) {
        let runtime = runtime()?;
        let target = target(runtime, stream, mode)?;
        runtime.captures.begin(&runtime.graphs, &target, mode, None)
    }

    fn hipStreamEndCapture(stream: hipStream_t, graph: *mut hipGraph_t) {
        let runtime = runtime()?;
        let ended = runtime.captures.end(&runtime.graphs, runtime.target(stream)?.queue);
        match ended {
            Ok(ended) if graph.is_null() => {
                runtime.graphs.destroy(ended);
                Ok(())
            }
            Ok(ended) => put(graph, handle(ended)),
            Err(refusal) => {
                put_if_wanted(graph, std::ptr::null_mut());
                Err(refusal)
            }
        }
    }

    fn hipStreamIsCapturing(stream: hipStream_t, status: *mut hipStreamCaptureStatus) {
        ensure(!status.is_null(), hipErrorInvalidValue)?;
        let runtime = runtime()?;
        if runtime.target(stream)?.is_null {
            runtime.captures.deny_blocking(hipErrorStreamCaptureImplicit)?;
        }
        put(status, told(stream)?.status)
    }

    fn hipStreamGetCaptureInfo(stream: hipStream_t, status: *mut hipStreamCaptureStatus, id: *mut c_ulonglong) {
        ensure(!status.is_null(), hipErrorInvalidValue)?;
        let told = told(stream)?;
        if let Some(view) = told.view {
            put_if_wanted(id, view.id);
        }
        put(status, told.status)
    }

    fn hipStreamGetCaptureInfo_v2(
        stream: hipStream_t, status: *mut hipStreamCaptureStatus, id: *mut c_ulonglong, graph: *mut hipGraph_t,
        before: *mut *const hipGraphNode_t, count: *mut usize,
    ) {
        ensure(!status.is_null(), hipErrorInvalidValue)?;
        let told = told(stream)?;
        if let Some(view) = told.view {
            put_if_wanted(id, view.id);
            put_if_wanted(graph, handle(view.graph));
            // A handle and its number have the same representation.
            put_if_wanted(before, view.last.cast());
            put_if_wanted(count, view.count);
        }
        put(status, told.status)
    }

    fn hipStreamUpdateCaptureDependencies(
        stream: hipStream_t, nodes: *mut hipGraphNode_t, count: usize, flags: c_uint,
    ) {
        depend(stream, nodes, count, flags)
    }

    fn hipThreadExchangeStreamCaptureMode(mode: *mut hipStreamCaptureMode) {
        ensure(!mode.is_null() && is_mode(*mode), hipErrorInvalidValue)?;
        put(mode, capture::exchange_mode(*mode))
    }

    since:

    fn hipStreamBeginCaptureToGraph(
        stream: hipStream_t, graph: hipGraph_t, before: *const hipGraphNode_t, data: *const std::ffi::c_void,
        count: usize, mode: hipStreamCaptureMode,
    ) {
        // HIP has no edge data.
        let _ = data;
        let runtime = runtime()?;
        runtime.graphs.graph(graph.addr()).ok_or(hipErrorInvalidValue)?;
        let target = target(runtime, stream, mode)?;
        let before = nodes_from(runtime, graph, before, count)?;
        runtime.captures.begin(&runtime.graphs, &target, mode, Some((graph.addr(), before)))
    }
}
