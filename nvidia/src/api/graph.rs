//! Graphs: nodes whose parameters differ from the driver's.

use std::ffi::c_void;

use hip_sys::rocm_7_2::{
    hipErrorInvalidValue, hipGraph_t, hipGraphExec_t, hipGraphNode_t, hipGraphNodeType, hipGraphNodeTypeBatchMemOp,
    hipKernelNodeParams, hipMemcpy3DParms, hipMemcpyKind, hipMemsetParams,
};

use super::launch::{Extra, allow_shared};
use crate::context::{self, Context};
use crate::driver::driver_functions;
use crate::ends;
use crate::status::{Outcome, ensure};
use crate::structures::{Copy3D, KernelNode, MemsetNode};
use crate::table::{get, hip_functions};

driver_functions! {
    /// Adds a kernel node. The first version of the function: later ones also take the kernel of a library.
    fn cuGraphAddKernelNode(
        node: *mut hipGraphNode_t, graph: hipGraph_t, after: *const hipGraphNode_t, count: usize, kernel: *const KernelNode,
    );
    /// Changes a kernel node.
    fn cuGraphExecKernelNodeSetParams(exec: hipGraphExec_t, node: hipGraphNode_t, kernel: *const KernelNode);
    /// Adds a copy node.
    fn cuGraphAddMemcpyNode(
        node: *mut hipGraphNode_t, graph: hipGraph_t, after: *const hipGraphNode_t, count: usize, copy: *const Copy3D,
        context: Context,
    );
    /// Changes a copy node.
    fn cuGraphExecMemcpyNodeSetParams(exec: hipGraphExec_t, node: hipGraphNode_t, copy: *const Copy3D, context: Context);
    /// Adds a fill node.
    fn cuGraphAddMemsetNode(
        node: *mut hipGraphNode_t, graph: hipGraph_t, after: *const hipGraphNode_t, count: usize, fill: *const MemsetNode,
        context: Context,
    );
    /// Changes a fill node.
    fn cuGraphExecMemsetNodeSetParams(exec: hipGraphExec_t, node: hipGraphNode_t, fill: *const MemsetNode, context: Context);
    /// Writes the type of a node.
    fn cuGraphNodeGetType(node: hipGraphNode_t, to: *mut hipGraphNodeType);
}

/// `CU_GRAPH_NODE_TYPE_BATCH_MEM_OP`. The types before it have the same numbers in HIP.
const BATCH_MEM_OP: u32 = 12;

/// Calls `with` with HIP's kernel node as the driver's. A node keeps copies of the arguments.
///
/// # Safety
/// The parameters must be those of a kernel that is alive.
unsafe fn with_kernel(kernel: &hipKernelNodeParams, with: impl FnOnce(*const KernelNode) -> Outcome) -> Outcome {
    let function = kernel.func.cast();
    allow_shared(function, kernel.sharedMemBytes)?;
    // SAFETY: the caller's contract.
    let mut extra = unsafe { Extra::new(kernel.extra)? };
    let node = KernelNode {
        function,
        grid: [kernel.gridDim.x, kernel.gridDim.y, kernel.gridDim.z],
        block: [kernel.blockDim.x, kernel.blockDim.y, kernel.blockDim.z],
        shared: kernel.sharedMemBytes,
        parameters: kernel.kernelParams,
        extra: Extra::as_mut_ptr(&mut extra),
    };
    with(&raw const node)
}

/// Returns HIP's fill as the driver's.
fn memset_node(fill: &hipMemsetParams) -> MemsetNode {
    MemsetNode {
        dst: fill.dst,
        pitch: fill.pitch,
        value: fill.value,
        element: fill.elementSize,
        width: fill.width,
        height: fill.height,
    }
}

hip_functions! {
    translated fn hipGraphAddKernelNode(
        node: *mut hipGraphNode_t, graph: hipGraph_t, after: *const hipGraphNode_t, count: usize,
        kernel: *const hipKernelNodeParams,
    ) {
        context::enter()?;
        with_kernel(get(kernel)?, |kernel| cuGraphAddKernelNode(node, graph, after, count, kernel))
    }

    translated fn hipGraphExecKernelNodeSetParams(
        exec: hipGraphExec_t, node: hipGraphNode_t, kernel: *const hipKernelNodeParams,
    ) {
        context::enter()?;
        with_kernel(get(kernel)?, |kernel| cuGraphExecKernelNodeSetParams(exec, node, kernel))
    }

    translated fn hipGraphAddMemcpyNode(
        node: *mut hipGraphNode_t, graph: hipGraph_t, after: *const hipGraphNode_t, count: usize,
        copy: *const hipMemcpy3DParms,
    ) {
        let context = context::enter()?;
        let copy = ends::copy_3d(get(copy)?)?;
        cuGraphAddMemcpyNode(node, graph, after, count, &raw const copy, context)
    }

    translated fn hipGraphAddMemcpyNode1D(
        node: *mut hipGraphNode_t, graph: hipGraph_t, after: *const hipGraphNode_t, count: usize, dst: *mut c_void,
        src: *const c_void, bytes: usize, kind: hipMemcpyKind,
    ) {
        let context = context::enter()?;
        let copy = ends::copy_1d(dst, src, bytes, kind)?;
        cuGraphAddMemcpyNode(node, graph, after, count, &raw const copy, context)
    }

    translated fn hipGraphExecMemcpyNodeSetParams1D(
        exec: hipGraphExec_t, node: hipGraphNode_t, dst: *mut c_void, src: *const c_void, bytes: usize,
        kind: hipMemcpyKind,
    ) {
        let context = context::enter()?;
        let copy = ends::copy_1d(dst, src, bytes, kind)?;
        cuGraphExecMemcpyNodeSetParams(exec, node, &raw const copy, context)
    }

    translated fn hipGraphAddMemsetNode(
        node: *mut hipGraphNode_t, graph: hipGraph_t, after: *const hipGraphNode_t, count: usize,
        fill: *const hipMemsetParams,
    ) {
        let context = context::enter()?;
        let fill = memset_node(get(fill)?);
        cuGraphAddMemsetNode(node, graph, after, count, &raw const fill, context)
    }

    translated fn hipGraphExecMemsetNodeSetParams(
        exec: hipGraphExec_t, node: hipGraphNode_t, fill: *const hipMemsetParams,
    ) {
        let context = context::enter()?;
        let fill = memset_node(get(fill)?);
        cuGraphExecMemsetNodeSetParams(exec, node, &raw const fill, context)
    }

    translated fn hipGraphNodeGetType(node: hipGraphNode_t, to: *mut hipGraphNodeType) {
        context::enter()?;
        ensure(!to.is_null(), hipErrorInvalidValue)?;
        cuGraphNodeGetType(node, to)?;
        if (*to).0 == BATCH_MEM_OP {
            to.write(hipGraphNodeTypeBatchMemOp);
        }
        Ok(())
    }
}
