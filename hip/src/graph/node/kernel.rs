//! Kernel nodes.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

#[cfg(doc)]
use crate::core::error::Error;
use crate::core::error::Result;
use crate::core::releases::one_at_a_time;
use crate::graph::Graph;
use crate::graph::handle::{Node, NodeKind};
use crate::module::{Kernel, KernelArgs, LaunchConfig};

/// Returns the C parameters of a launch.
pub(in crate::graph) fn kernel_params(
    kernel: &Kernel,
    config: LaunchConfig,
    parameters: *mut *mut c_void,
) -> hip_sys::hipKernelNodeParams {
    let dim = |dim: crate::core::geometry::Dim3| hip_sys::dim3 { x: dim.x, y: dim.y, z: dim.z };
    hip_sys::hipKernelNodeParams {
        blockDim: dim(config.block),
        extra: ptr::null_mut(),
        func: kernel.as_raw().cast(),
        gridDim: dim(config.grid),
        kernelParams: parameters,
        sharedMemBytes: config.shared_bytes,
    }
}

impl Graph {
    /// Adds a launch (`hipGraphAddKernelNode`), which runs after the nodes `after`. Arguments are as for
    /// [`Kernel::launch`](crate::Kernel::launch), and are copied; buffers are kept.
    ///
    /// # Errors
    /// Those of [`Kernel::launch`](crate::Kernel::launch); [`Error::Graph`] for nodes of another graph.
    ///
    /// # Safety
    /// That of [`Kernel::launch`](crate::Kernel::launch), for every launch of the graph. Nodes without a path between
    /// them may run concurrently: if two of them use the same bytes and one writes to them, the caller must order them
    /// by edges.
    #[doc(alias("hipGraphAddKernelNode", "cuGraphAddKernelNode", "cudaGraphAddKernelNode"))]
    pub unsafe fn add_kernel<A: KernelArgs>(
        &mut self,
        after: &[Node],
        kernel: &Kernel,
        config: LaunchConfig,
        args: A,
    ) -> Result<Node> {
        self.inner.device.expect(kernel.device(), "the kernel")?;
        let mut arguments = kernel.arguments(config, &args)?;
        let mut pointers = arguments.pointers();
        let params = kernel_params(kernel, config, pointers.as_mut_ptr());
        self.resources.keep(arguments.accesses())?;
        let asked = || kernel.describe(config);
        let node =
            self.add(NodeKind::Kernel, after, "hipGraphAddKernelNode", asked, |node, graph, before, count| {
                let _one = one_at_a_time();
                // SAFETY: the graph and the nodes are alive; the parameters are as for a launch, and are copied; what they point
                // to on the device is kept by the graph.
                unsafe { hip_sys::hipGraphAddKernelNode(node, graph, before, count, &params) }
            })?;
        self.resources.kernels.push(Arc::clone(kernel.named(&config).kernel));
        Ok(node)
    }
}
