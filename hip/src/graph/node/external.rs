//! Nodes that signal or wait for semaphores of other APIs.

use std::ptr;

use hip_sys::rocm_6_2::{
    hipExternalSemaphore_t, hipExternalSemaphoreSignalNodeParams, hipExternalSemaphoreSignalParams,
    hipExternalSemaphoreWaitNodeParams, hipExternalSemaphoreWaitParams,
};

use crate::core::error::Result;
use crate::core::forms;
use crate::graph::Graph;
use crate::graph::handle::{Node, NodeKind};
use crate::memory::external::ExternalSemaphore;

/// Calls `call` with the C parameters of a signal.
pub(in crate::graph) fn with_signal<R>(
    semaphore: &ExternalSemaphore,
    value: u64,
    call: impl FnOnce(&hipExternalSemaphoreSignalNodeParams) -> R,
) -> R {
    let mut raw: hipExternalSemaphore_t = semaphore.raw();
    let mut parameters = hipExternalSemaphoreSignalParams::default();
    parameters.params.fence.value = value;
    call(&hipExternalSemaphoreSignalNodeParams {
        extSemArray: ptr::from_mut(&mut raw),
        paramsArray: &parameters,
        numExtSems: 1,
    })
}

/// Calls `call` with the C parameters of a wait.
pub(in crate::graph) fn with_wait<R>(
    semaphore: &ExternalSemaphore,
    value: u64,
    call: impl FnOnce(&hipExternalSemaphoreWaitNodeParams) -> R,
) -> R {
    let mut raw: hipExternalSemaphore_t = semaphore.raw();
    let mut parameters = hipExternalSemaphoreWaitParams::default();
    parameters.params.fence.value = value;
    call(&hipExternalSemaphoreWaitNodeParams {
        extSemArray: ptr::from_mut(&mut raw),
        paramsArray: &parameters,
        numExtSems: 1,
    })
}

impl Graph {
    /// Adds a signal of a semaphore of another API (`hipGraphAddExternalSemaphoresSignalNode`). `value` is the new
    /// value of a timeline semaphore.
    ///
    /// ROCm's runtimes for Linux do not support such semaphores and nodes; the embedded software GPU supports both.
    ///
    /// ```no_run
    /// use hip::{Device, Graph};
    /// use hip::memory::external::{ExternalSemaphore, ExternalSemaphoreKind};
    ///
    /// # fn frame(device: &Device, drawn: std::os::fd::OwnedFd, seen: std::os::fd::OwnedFd) -> hip::Result<()> {
    /// // SAFETY: the descriptors are of binary semaphores that the other API has exported.
    /// let [drawn, seen] = unsafe {
    ///     let import = |fd| ExternalSemaphore::import_fd(device, fd, ExternalSemaphoreKind::Binary);
    ///     [import(drawn)?, import(seen)?]
    /// };
    /// let mut graph = Graph::new(device)?;
    /// let wait = graph.add_external_wait(&[], &drawn, 0)?;
    /// // ... kernels that come after `wait`
    /// graph.add_external_signal(&[wait], &seen, 0)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Graph`](crate::Error::Graph) for nodes of another
    /// graph; the runtime's status.
    #[doc(alias(
        "hipGraphAddExternalSemaphoresSignalNode",
        "cuGraphAddExternalSemaphoresSignalNode",
        "cudaGraphAddExternalSemaphoresSignalNode"
    ))]
    pub fn add_external_signal(&mut self, after: &[Node], semaphore: &ExternalSemaphore, value: u64) -> Result<Node> {
        self.inner.device.expect(semaphore.device(), "the semaphore")?;
        self.resources.keep(&[semaphore.access()])?;
        let asked = || format!("{semaphore:?} with {value}");
        let function = "hipGraphAddExternalSemaphoresSignalNode";
        self.add(NodeKind::ExternalSignal, after, function, asked, |node, graph, before, count| {
            with_signal(semaphore, value, |parameters| {
                // SAFETY: the graph and the nodes are alive; the runtime copies the parameters, and the graph keeps the semaphore.
                unsafe { forms::hipGraphAddExternalSemaphoresSignalNode(node, graph, before, count, parameters) }
            })
        })
    }

    /// Adds a wait for a semaphore of another API (`hipGraphAddExternalSemaphoresWaitNode`). A timeline semaphore must
    /// reach `value`.
    ///
    /// ROCm's runtimes for Linux do not support such semaphores and nodes; the embedded software GPU supports both.
    ///
    /// # Errors
    /// Those of [`add_external_signal`](Self::add_external_signal).
    #[doc(alias(
        "hipGraphAddExternalSemaphoresWaitNode",
        "cuGraphAddExternalSemaphoresWaitNode",
        "cudaGraphAddExternalSemaphoresWaitNode"
    ))]
    pub fn add_external_wait(&mut self, after: &[Node], semaphore: &ExternalSemaphore, value: u64) -> Result<Node> {
        self.inner.device.expect(semaphore.device(), "the semaphore")?;
        self.resources.keep(&[semaphore.access()])?;
        let asked = || format!("{semaphore:?} for {value}");
        let function = "hipGraphAddExternalSemaphoresWaitNode";
        self.add(NodeKind::ExternalWait, after, function, asked, |node, graph, before, count| {
            with_wait(semaphore, value, |parameters| {
                // SAFETY: as for a signal.
                unsafe { forms::hipGraphAddExternalSemaphoresWaitNode(node, graph, before, count, parameters) }
            })
        })
    }
}
