//! Handles of graphs and nodes: what they name, and how they are numbers.

use std::sync::Arc;

use hip_sys::rocm_7_2::*;

use crate::graph::{Graph, Node};
use crate::runtime::Runtime;
use crate::status::{Refusal, ensure};

pub(super) fn graph_of(runtime: &Runtime, handle: hipGraph_t) -> Result<Arc<Graph>, Refusal> {
    runtime.graphs.graph(handle.addr()).ok_or_else(|| hipErrorInvalidValue.into())
}

pub(super) fn node_of(runtime: &Runtime, handle: hipGraphNode_t) -> Result<Arc<Node>, Refusal> {
    runtime.graphs.node(handle.addr()).ok_or_else(|| hipErrorInvalidValue.into())
}

/// Converts a number to a handle.
pub(crate) fn handle<T>(number: usize) -> *mut T {
    std::ptr::without_provenance_mut(number)
}

/// Reads `count` nodes from C. They must be distinct and in the graph.
///
/// # Safety
/// `nodes` must be null or valid for reads of `count` handles.
pub(crate) unsafe fn nodes_from(
    runtime: &Runtime,
    graph: hipGraph_t,
    nodes: *const hipGraphNode_t,
    count: usize,
) -> Result<Vec<usize>, Refusal> {
    if count == 0 {
        return Ok(Vec::new());
    }
    ensure(!nodes.is_null(), hipErrorInvalidValue)?;
    let mut found = Vec::new();
    for at in 0..count {
        // SAFETY: there are `count` of them, as the caller vouches.
        let node = unsafe { nodes.add(at).read() };
        ensure(node_of(runtime, node)?.graph == graph.addr(), hipErrorInvalidValue)?;
        ensure(!found.contains(&node.addr()), hipErrorInvalidValue)?;
        found.push(node.addr());
    }
    Ok(found)
}
