//! Graphs: creation, copying, queries and destruction, and their edges.

use std::ffi::c_uint;

use hip_sys::rocm_7_2::*;

use super::handles::{graph_of, handle, node_of};
use crate::api::{hip_functions, put};
use crate::graph::Operation;
use crate::runtime::{Runtime, runtime};
use crate::status::{Outcome, Refusal, ensure};

/// Returns nodes to the program: their number, or as many handles as it has room for, followed by nulls.
///
/// # Safety
/// `count` must be null or valid for reads and writes, `to` null or valid for `*count` writes.
unsafe fn tell_nodes(nodes: &[usize], to: *mut hipGraphNode_t, count: *mut usize) -> Outcome {
    ensure(!count.is_null(), hipErrorInvalidValue)?;
    // SAFETY: not null, hence valid, as the caller vouches.
    let room = unsafe { count.read() };
    if !to.is_null() {
        for at in 0..room {
            // SAFETY: `to` has room for `room` handles, as the caller vouches.
            unsafe { to.add(at).write(nodes.get(at).map_or(std::ptr::null_mut(), |node| handle(*node))) };
        }
    }
    let told = if to.is_null() { nodes.len() } else { room.min(nodes.len()) };
    // SAFETY: as above.
    unsafe { count.write(told) };
    Ok(())
}

/// Reads edges from C, as pairs of a node and its dependent.
///
/// # Safety
/// Both must be null or valid for reads of `count` handles.
unsafe fn pairs_from(
    runtime: &Runtime,
    graph: hipGraph_t,
    (from, to): (*const hipGraphNode_t, *const hipGraphNode_t),
    count: usize,
) -> Result<Vec<(usize, usize)>, Refusal> {
    if count == 0 {
        return Ok(Vec::new());
    }
    ensure(!from.is_null() && !to.is_null(), hipErrorInvalidValue)?;
    let mut pairs = Vec::new();
    for at in 0..count {
        // SAFETY: there are `count` of them, as the caller vouches.
        let (from, to) = unsafe { (from.add(at).read(), to.add(at).read()) };
        for node in [from, to] {
            ensure(node_of(runtime, node)?.graph == graph.addr(), hipErrorInvalidValue)?;
        }
        pairs.push((from.addr(), to.addr()));
    }
    Ok(pairs)
}

hip_functions! {
    fn hipGraphCreate(to: *mut hipGraph_t, flags: c_uint) {
        let runtime = runtime()?;
        ensure(!to.is_null() && flags == 0, hipErrorInvalidValue)?;
        put(to, handle(runtime.graphs.create().ok_or(hipErrorOutOfMemory)?))
    }

    fn hipGraphDestroy(graph: hipGraph_t) {
        let runtime = runtime()?;
        ensure(!graph_of(runtime, graph)?.is_child, hipErrorInvalidValue)?;
        runtime.graphs.destroy(graph.addr());
        Ok(())
    }

    fn hipGraphClone(to: *mut hipGraph_t, graph: hipGraph_t) {
        let runtime = runtime()?;
        ensure(!to.is_null(), hipErrorInvalidValue)?;
        let from = graph_of(runtime, graph)?;
        let allocates = |operation: &Operation| matches!(operation, Operation::Alloc(_) | Operation::Free(_));
        ensure(!runtime.graphs.any(&from, &allocates), hipErrorNotSupported)?;
        put(to, handle(runtime.graphs.copy(&from, false).ok_or(hipErrorOutOfMemory)?))
    }

    fn hipGraphNodeFindInClone(to: *mut hipGraphNode_t, node: hipGraphNode_t, clone: hipGraph_t) {
        let runtime = runtime()?;
        ensure(!to.is_null() && !node.is_null(), hipErrorInvalidValue)?;
        let found = graph_of(runtime, clone)?.clone_of(&runtime.graphs, node.addr());
        put(to, handle(found.ok_or(hipErrorInvalidValue)?))
    }

    fn hipGraphGetNodes(graph: hipGraph_t, nodes: *mut hipGraphNode_t, count: *mut usize) {
        let found = graph_of(runtime()?, graph)?.body().nodes.clone();
        tell_nodes(&found, nodes, count)
    }

    fn hipGraphGetRootNodes(graph: hipGraph_t, nodes: *mut hipGraphNode_t, count: *mut usize) {
        let body = graph_of(runtime()?, graph)?.body().clone();
        let roots = body.nodes.iter().copied().filter(|node| body.before(*node).next().is_none());
        tell_nodes(&roots.collect::<Vec<_>>(), nodes, count)
    }

    fn hipGraphGetEdges(graph: hipGraph_t, from: *mut hipGraphNode_t, to: *mut hipGraphNode_t, count: *mut usize) {
        let body = graph_of(runtime()?, graph)?.body().clone();
        ensure(from.is_null() == to.is_null() && !count.is_null(), hipErrorInvalidValue)?;
        let edges = body.nodes.iter().flat_map(|node| body.after(*node).map(|after| (*node, after)));
        let (befores, afters): (Vec<usize>, Vec<usize>) = edges.unzip();
        let mut room = *count;
        tell_nodes(&befores, from, &mut room)?;
        tell_nodes(&afters, to, count)
    }

    fn hipGraphNodeGetDependencies(node: hipGraphNode_t, nodes: *mut hipGraphNode_t, count: *mut usize) {
        let runtime = runtime()?;
        let graph = runtime.graphs.graph(node_of(runtime, node)?.graph).ok_or(hipErrorInvalidValue)?;
        let before: Vec<usize> = graph.body().before(node.addr()).collect();
        tell_nodes(&before, nodes, count)
    }

    fn hipGraphNodeGetDependentNodes(node: hipGraphNode_t, nodes: *mut hipGraphNode_t, count: *mut usize) {
        let runtime = runtime()?;
        let graph = runtime.graphs.graph(node_of(runtime, node)?.graph).ok_or(hipErrorInvalidValue)?;
        let after: Vec<usize> = graph.body().after(node.addr()).collect();
        tell_nodes(&after, nodes, count)
    }

    fn hipGraphAddDependencies(
        graph: hipGraph_t, from: *const hipGraphNode_t, to: *const hipGraphNode_t, count: usize,
    ) {
        let runtime = runtime()?;
        let of = graph_of(runtime, graph)?;
        let pairs = pairs_from(runtime, graph, (from, to), count)?;
        let mut body = of.body();
        for (at, pair) in pairs.iter().enumerate() {
            let is_new = !body.edges.contains(pair) && !pairs[..at].contains(pair);
            ensure(is_new && pair.0 != pair.1, hipErrorInvalidValue)?;
        }
        // A cycle is reported when the graph is instantiated.
        body.edges.extend(pairs);
        Ok(())
    }

    fn hipGraphRemoveDependencies(
        graph: hipGraph_t, from: *const hipGraphNode_t, to: *const hipGraphNode_t, count: usize,
    ) {
        let runtime = runtime()?;
        let of = graph_of(runtime, graph)?;
        let pairs = pairs_from(runtime, graph, (from, to), count)?;
        let mut body = of.body();
        ensure(pairs.iter().all(|pair| body.edges.contains(pair)), hipErrorInvalidValue)?;
        body.edges.retain(|pair| !pairs.contains(pair));
        Ok(())
    }

    fn hipGraphNodeGetType(node: hipGraphNode_t, kind: *mut hipGraphNodeType) {
        let node = node_of(runtime()?, node)?;
        put(kind, node.operation().kind())
    }

    fn hipGraphDestroyNode(node: hipGraphNode_t) {
        let runtime = runtime()?;
        let of = node_of(runtime, node)?;
        let allocates = matches!(&*of.operation(), Operation::Alloc(_) | Operation::Free(_));
        ensure(!allocates, hipErrorNotSupported)?;
        let graph = runtime.graphs.graph(of.graph).ok_or(hipErrorInvalidValue)?;
        {
            let mut body = graph.body();
            body.nodes.retain(|other| *other != node.addr());
            body.edges.retain(|(from, to)| *from != node.addr() && *to != node.addr());
        }
        runtime.graphs.end_node(node.addr());
        Ok(())
    }
}
