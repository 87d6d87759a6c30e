//! Graphs as text for Graphviz.

use std::ffi::{CStr, c_char, c_uint};
use std::fmt::Write as _;

use hip_sys::rocm_7_2::*;

use super::handles::graph_of;
use crate::api::hip_functions;
use crate::graph::{Graph, Operation};
use crate::runtime::{Runtime, runtime};
use crate::status::{Refusal, ensure};

/// `hipGraphDebugDotFlagsVerbose`.
const VERBOSE: c_uint = 1;

/// The label of a node; with `verbose`, also its parameters.
fn label(operation: &Operation, verbose: bool) -> String {
    match operation {
        Operation::Empty => "EMPTY".into(),
        Operation::Kernel(kernel) => {
            let (name, launch) = (&kernel.prepared.kernel.info().name, kernel.prepared.launch);
            let details = format!("\\ngrid {:?} block {:?} LDS {}", launch.grid, launch.block, launch.lds);
            format!("KERNEL\\n{name}{}", if verbose { &*details } else { "" })
        }
        Operation::Copy(node) if verbose => {
            let hipMemcpy3DParms { dstPtr, srcPtr, extent, .. } = node.parameters;
            let hipExtent { width, height, depth } = extent;
            format!("MEMCPY\\n{:p} to {:p}\\n{width} x {height} x {depth}", srcPtr.ptr, dstPtr.ptr)
        }
        Operation::Copy(_) => "MEMCPY".into(),
        Operation::Fill(node) if verbose => {
            let hipMemsetParams { dst, elementSize, height, value, width, .. } = node.parameters;
            format!("MEMSET\\n{dst:p} to {value:#x}\\n{width} x {height} of {elementSize} bytes")
        }
        Operation::Fill(_) => "MEMSET".into(),
        Operation::Host(_) => "HOST".into(),
        Operation::Child(_) => "GRAPH".into(),
        Operation::Record(_) => "EVENT_RECORD".into(),
        Operation::Wait(_) => "EVENT_WAIT".into(),
        Operation::Alloc(memory) => format!("MEM_ALLOC\\n{} bytes", memory.size),
        Operation::Free(_) => "MEM_FREE".into(),
        Operation::Signals(node) => format!("BATCH_MEM_OP\\n{} operations", node.signals.len()),
        #[cfg(target_os = "linux")]
        Operation::SignalSemaphores(node) => format!("EXT_SEMAPHORE_SIGNAL\\n{} semaphores", node.handles.len()),
        #[cfg(target_os = "linux")]
        Operation::WaitSemaphores(node) => format!("EXT_SEMAPHORE_WAIT\\n{} semaphores", node.handles.len()),
    }
}

/// Draws the nodes and edges of a graph, then its child graphs.
fn draw(runtime: &Runtime, graph: &Graph, name: &str, verbose: bool, out: &mut String) {
    let body = graph.body().clone();
    let id = |node: usize| body.nodes.iter().position(|other| *other == node).unwrap_or(0);
    // Writing to a `String` cannot fail.
    let _ = writeln!(out, "subgraph \"cluster_{name}\" {{\nlabel=\"{name}\"");
    let mut children = Vec::new();
    for (at, node) in body.nodes.iter().enumerate() {
        let Some(node) = runtime.graphs.node(*node) else { continue };
        let operation = node.operation().clone();
        let _ =
            writeln!(out, "\"{name}_node_{at}\" [shape=\"rectangle\" label=\"{at}\\n{}\"]", label(&operation, verbose));
        if let Operation::Child(child) = operation {
            children.push((at, child));
        }
    }
    for (from, to) in &body.edges {
        let _ = writeln!(out, "\"{name}_node_{}\" -> \"{name}_node_{}\"", id(*from), id(*to));
    }
    let _ = writeln!(out, "}}");
    for (at, child) in children {
        if let Some(child) = runtime.graphs.graph(child) {
            draw(runtime, &child, &format!("{name}_{at}"), verbose, out);
        }
    }
}

hip_functions! {
    fn hipGraphDebugDotPrint(graph: hipGraph_t, path: *const c_char, flags: c_uint) {
        let runtime = runtime()?;
        let graph = graph_of(runtime, graph)?;
        ensure(!path.is_null(), hipErrorInvalidValue)?;
        let path = CStr::from_ptr(path).to_str().map_err(|_| hipErrorInvalidValue)?;
        let mut text = String::from("digraph dot {\n");
        draw(runtime, &graph, "graph_0", flags & VERBOSE != 0, &mut text);
        text.push_str("}\n");
        std::fs::write(path, text)
            .map_err(|error| Refusal::new(hipErrorOperatingSystem, format!("{path}: {error}")))
    }
}
