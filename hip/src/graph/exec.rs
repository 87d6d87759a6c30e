//! Instantiated graphs.

use std::ffi::{c_uint, c_ulonglong};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::Arc;

use hip_sys::{hipGraphExec_t, hipGraphExecUpdateResult, hipGraphNode_t};
use smallvec::SmallVec;

use super::apart::Aside;
use super::handle::{Node, NodeKind};
use super::node::{GraphFill, host_params, kernel_params, not_empty};
#[cfg(unix)]
use super::node::{with_signal, with_wait};
#[cfg(feature = "rocm-6-4")]
use super::signal_ops::SignalOps;
use super::{Graph, GraphInner, HostCall, Resources, exclusive};
use crate::core::call::check;
use crate::core::context;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::core::later::with_memory;
use crate::core::lock::MutexGuard;
use crate::core::releases::one_at_a_time;
use crate::core::trace;
#[cfg(unix)]
use crate::memory::external::ExternalSemaphore;
use crate::memory::graph_copy::GraphCopy;
use crate::module::{Kernel, KernelArgs, LaunchConfig};
#[cfg(feature = "rocm-6-4")]
use crate::stream::SignalOp;
use crate::stream::event::Event;
use crate::stream::recorded::Recorded;
use crate::stream::usage::{self, Access, Kept, Usage};
use crate::stream::{Launching, Stream};

/// Options for instantiating a graph. The default has no flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstantiateOptions {
    auto_free: bool,
    node_priority: bool,
}

impl InstantiateOptions {
    /// Creates options without flags.
    #[must_use]
    pub const fn new() -> Self {
        Self { auto_free: false, node_priority: false }
    }

    /// Sets whether a launch first frees the memory that nodes allocated in the previous launch and did not free
    /// (`hipGraphInstantiateFlagAutoFreeOnLaunch`). The runtimes up to 7.2 at least also free memory that launches of
    /// other graphs have left on the device.
    #[must_use]
    pub const fn auto_free(mut self, auto_free: bool) -> Self {
        self.auto_free = auto_free;
        self
    }

    /// Sets whether nodes run with their own priorities instead of the stream's
    /// (`hipGraphInstantiateFlagUseNodePriority`).
    #[must_use]
    pub const fn node_priority(mut self, node_priority: bool) -> Self {
        self.node_priority = node_priority;
        self
    }

    fn raw(self) -> c_ulonglong {
        let flag = |on: bool, flag: hip_sys::hipGraphInstantiateFlags| if on { c_ulonglong::from(flag.0) } else { 0 };
        flag(self.auto_free, hip_sys::hipGraphInstantiateFlagAutoFreeOnLaunch)
            | flag(self.node_priority, hip_sys::hipGraphInstantiateFlagUseNodePriority)
    }
}

/// An instantiated [`Graph`] (`hipGraphExec_t`). It can be launched repeatedly, and its node parameters can be changed
/// between launches.
///
/// It keeps everything that the graph kept, and the memory that its last launch has [allocated](Graph::add_alloc) and
/// nothing has freed. Launches of one `GraphExec` run one after the other, on any streams. Other work that uses the
/// same buffers comes before or after the whole graph, as for any launch.
#[doc(alias("hipGraphExecDestroy", "cuGraphExecDestroy", "cudaGraphExecDestroy"))]
pub struct GraphExec {
    raw: hipGraphExec_t,
    /// The graph that nodes are looked up in.
    graph: Arc<GraphInner>,
    resources: Resources,
    name: Arc<str>,
    /// The uses by its launches.
    usage: Usage,
    /// The private stream that it is launched on, if the runtime needs one.
    aside: Option<Aside>,
}

// SAFETY: a hipGraphExec_t is a handle that any thread may use: it is changed through `&mut` only, launches of it are
// put in order by `usage`, and it is destroyed in Drop, after its last launch.
unsafe impl Send for GraphExec {}
// SAFETY: as above.
unsafe impl Sync for GraphExec {}

fn name_of(resources: &Resources) -> Arc<str> {
    format!("a graph of {}", list(&resources.kernels)).into()
}

/// Lists the first kernels by name.
fn list(kernels: &[Arc<str>]) -> String {
    const SHOWN: usize = 4;
    match kernels {
        [] => "no kernels".to_owned(),
        few if few.len() <= SHOWN => few.join(", "),
        many => format!("{} and {} more kernels", many[..SHOWN].join(", "), many.len() - SHOWN),
    }
}

impl Graph {
    /// Instantiates the graph, without options; see [`instantiate_with`](Self::instantiate_with).
    pub fn instantiate(&self) -> Result<GraphExec> {
        self.instantiate_with(InstantiateOptions::new())
    }

    /// Instantiates the graph (`hipGraphInstantiateWithFlags`). Later additions to the graph do not affect the result.
    #[doc(alias("hipGraphInstantiate", "cuGraphInstantiate", "cudaGraphInstantiate"))]
    #[doc(alias("hipGraphInstantiateWithFlags", "cuGraphInstantiateWithFlags", "cudaGraphInstantiateWithFlags"))]
    pub fn instantiate_with(&self, options: InstantiateOptions) -> Result<GraphExec> {
        self.inner.device.activate()?;
        let aside = Aside::new(self)?;
        let mut raw: hipGraphExec_t = ptr::null_mut();
        let status = with_memory(&self.inner.device, || {
            let _exclusive = exclusive();
            let _one = one_at_a_time();
            // SAFETY: `raw` is valid for a write; the graph is alive.
            unsafe { hip_sys::hipGraphInstantiateWithFlags(&mut raw, self.inner.raw, options.raw()) }
        });
        check(status, "hipGraphInstantiateWithFlags", || self.describe())?;
        Ok(GraphExec {
            raw,
            graph: Arc::clone(&self.inner),
            resources: self.resources.clone(),
            name: name_of(&self.resources),
            usage: Usage::concurrent(),
            aside,
        })
    }
}

impl GraphExec {
    /// Returns the device.
    #[must_use]
    pub fn device(&self) -> Device {
        self.graph.device
    }

    /// Queues the whole graph (`hipGraphLaunch`) and returns at once. The stream first waits for conflicting work of
    /// other streams on the buffers that the graph uses; the buffers record this use, as for the launch of a kernel.
    ///
    /// Errors of the graph's work are returned by the next call that waits for the stream.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] for a stream of another device; [`Error::Graph`] if the graph uses pinned memory, which
    /// takes [`launch_with_host_memory`](Self::launch_with_host_memory).
    #[doc(alias("hipGraphLaunch", "cuGraphLaunch", "cudaGraphLaunch"))]
    pub fn launch(&self, stream: &Stream) -> Result<()> {
        if self.resources.uses_host_memory() {
            return Err(Error::Graph {
                reason:
                    "it uses pinned host memory, whose borrows a launch cannot know of: launch_with_host_memory does it"
                        .to_owned(),
            });
        }
        self.queue(stream)
    }

    /// Like [`launch`](Self::launch), for a graph that copies from or to pinned host memory.
    ///
    /// # Safety
    /// At the time of the call, no slice of host memory that the graph writes to may be borrowed, and none that it
    /// reads may be borrowed mutably. (Borrows made after the launch wait for it.)
    pub unsafe fn launch_with_host_memory(&self, stream: &Stream) -> Result<()> {
        self.queue(stream)
    }

    fn queue(&self, stream: &Stream) -> Result<()> {
        context::check_caller()?;
        self.graph.device.expect(stream.device(), "the stream")?;
        let (kept, panics) = (self.resources.kept.iter().flat_map(Kept::accesses), &self.resources.panics);
        let shared = panics.iter().map(|cell| cell.access());
        let accesses: SmallVec<[Access<'_>; 8]> = kept.chain(shared).chain([Access::write(&self.usage)]).collect();
        let record = if panics.is_empty() { None } else { Some(stream.inner.report().record(self.graph.device)?) };
        let watching = stream.inner.watch(self.resources.reports());
        let mut records = self.lock_records()?;
        let launch = Launching { kernel: &self.name, config: None };
        // A node may call a host function, or wait for a signal.
        let submitted = stream.inner.submit_held(&accesses, Some(launch), |raw| {
            let _one = one_at_a_time();
            // Under capture, nothing runs now.
            if let Some(record) = record.filter(|_| !stream.inner.is_captured()) {
                panics.iter().try_for_each(|cell| cell.lead_to(record, raw))?;
            }
            let launch = |raw| {
                // SAFETY: graph and stream are alive; the memory that the graph uses is kept, and records the launch.
                let status = unsafe { hip_sys::hipGraphLaunch(self.raw, raw) };
                check(status, "hipGraphLaunch", || self.name.to_string())
            };
            match &self.aside {
                None => launch(raw),
                Some(aside) => aside.launch(raw, launch),
            }
        });
        watching.until(submitted.as_ref().map_or_else(|_| stream.inner.issued(), |ticket| *ticket));
        let ticket = submitted?;
        if ticket != 0 {
            self.resources.memory.launched(self.graph.device);
        }
        for record in &mut records {
            // An event in the graph is done before the whole graph, and after the stream's earlier work.
            **record = Some(Recorded::moved(record.as_ref(), &stream.inner, ticket.saturating_sub(1)));
        }
        // The subscriber is called without a lock, since it may run any code.
        drop(records);
        trace::launch(stream.device(), stream.inner.id(), &self.name, None);
        Ok(())
    }

    /// Locks the marks of the events that the graph records, each once, in an order that all graphs share.
    fn lock_records(&self) -> Result<Vec<MutexGuard<'_, Option<Recorded>>>> {
        let mut events: Vec<&Event> = self.resources.recorded.iter().map(Arc::as_ref).collect();
        events.sort_by_key(|event| ptr::from_ref(*event).addr());
        events.dedup_by_key(|event| ptr::from_ref(*event).addr());
        events.into_iter().map(Event::lock_record).collect()
    }

    /// Copies data to the device that the first launch would have to copy (`hipGraphUpload`).
    ///
    /// # Errors
    /// [`Error::WrongDevice`] for a stream of another device.
    #[doc(alias("hipGraphUpload", "cuGraphUpload", "cudaGraphUpload"))]
    pub fn upload(&self, stream: &Stream) -> Result<()> {
        self.graph.device.expect(stream.device(), "the stream")?;
        stream.inner.submit(&[Access::write(&self.usage)], None, |raw| {
            // SAFETY: graph and stream are alive.
            let status = unsafe { hip_sys::hipGraphUpload(self.raw, raw) };
            check(status, "hipGraphUpload", || self.name.to_string())
        })
    }

    /// Changes the arguments, size or kernel of a launch (`hipGraphExecKernelNodeSetParams`), from the next launch of
    /// the graph on. The resources of the old parameters are kept until [`update`](Self::update).
    ///
    /// # Errors
    /// As for [`Graph::add_kernel`]; [`Error::Graph`] for a node of another graph or kind.
    ///
    /// # Safety
    /// That of [`Graph::add_kernel`].
    #[doc(alias(
        "hipGraphExecKernelNodeSetParams",
        "cuGraphExecKernelNodeSetParams",
        "cudaGraphExecKernelNodeSetParams"
    ))]
    pub unsafe fn set_kernel<A: KernelArgs>(
        &mut self,
        node: Node,
        kernel: &Kernel,
        config: LaunchConfig,
        args: A,
    ) -> Result<()> {
        self.expect(node, NodeKind::Kernel)?;
        self.graph.device.expect(kernel.device(), "the kernel")?;
        let mut arguments = kernel.arguments(config, &args)?;
        let mut pointers = arguments.pointers();
        let params = kernel_params(kernel, config, pointers.as_mut_ptr());
        self.change(arguments.accesses())?;
        let _exclusive = exclusive();
        let _one = one_at_a_time();
        // SAFETY: the graph is alive and the node is one of its kernels; the parameters are as for a launch, and are copied.
        let status = unsafe { hip_sys::hipGraphExecKernelNodeSetParams(self.raw, node.raw, &params) };
        check(status, "hipGraphExecKernelNodeSetParams", || kernel.describe(config))?;
        self.resources.kernels.push(Arc::clone(kernel.named(&config).kernel));
        self.name = name_of(&self.resources);
        Ok(())
    }

    /// Replaces a copy (`hipGraphExecMemcpyNodeSetParams1D`).
    ///
    /// # Errors
    /// As for [`Graph::add_copy`]; [`Error::Graph`] for a node of another graph or kind. The runtime's status if the
    /// copy is between other kinds of memory than before.
    #[doc(alias("hipGraphExecMemcpyNodeSetParams1D", "cudaGraphExecMemcpyNodeSetParams1D"))]
    pub fn set_copy(&mut self, node: Node, copy: GraphCopy<'_>) -> Result<()> {
        self.expect(node, NodeKind::Copy)?;
        self.graph.device.expect(copy.device, "the copy")?;
        not_empty(copy.bytes)?;
        self.change(&copy.accesses)?;
        let GraphCopy { destination, source, bytes, kind, .. } = copy;
        let _exclusive = exclusive();
        // SAFETY: the graph is alive and the node is one of its copies; both sides hold `bytes` bytes, and are kept.
        let status =
            unsafe { hip_sys::hipGraphExecMemcpyNodeSetParams1D(self.raw, node.raw, destination, source, bytes, kind) };
        check(status, "hipGraphExecMemcpyNodeSetParams1D", || format!("{copy:?}"))
    }

    /// Replaces a fill (`hipGraphExecMemsetNodeSetParams`).
    ///
    /// # Errors
    /// As for [`Graph::add_fill`]; [`Error::Graph`] for a node of another graph or kind.
    #[doc(alias("hipGraphExecMemsetNodeSetParams", "cudaGraphExecMemsetNodeSetParams"))]
    pub fn set_fill(&mut self, node: Node, fill: GraphFill<'_>) -> Result<()> {
        self.expect(node, NodeKind::Fill)?;
        self.graph.device.expect(fill.device, "the destination")?;
        not_empty(fill.bytes)?;
        let params = fill.params()?;
        self.change(&[fill.access])?;
        let _exclusive = exclusive();
        // SAFETY: the graph is alive and the node is one of its fills; the memory holds as many bytes, and is kept.
        let status = unsafe { hip_sys::hipGraphExecMemsetNodeSetParams(self.raw, node.raw, &params) };
        check(status, "hipGraphExecMemsetNodeSetParams", || format!("{fill:?}"))
    }

    /// Replaces the function of a host node (`hipGraphExecHostNodeSetParams`).
    ///
    /// # Errors
    /// [`Error::Graph`] for a node of another graph or kind.
    #[doc(alias("hipGraphExecHostNodeSetParams", "cuGraphExecHostNodeSetParams", "cudaGraphExecHostNodeSetParams"))]
    pub fn set_host(&mut self, node: Node, function: impl Fn() + Send + Sync + 'static) -> Result<()> {
        self.expect(node, NodeKind::Host)?;
        self.change(&[])?;
        let call = Arc::new(HostCall { function: Box::new(function), report: Arc::default() });
        let params = host_params(&call);
        self.resources.hosts.push(call);
        let _exclusive = exclusive();
        // SAFETY: the graph is alive and the node is one of its host functions; the data is kept.
        let status = unsafe { hip_sys::hipGraphExecHostNodeSetParams(self.raw, node.raw, &params) };
        check(status, "hipGraphExecHostNodeSetParams", || self.name.to_string())
    }

    /// Replaces the waits for signals and writes to them (`hipGraphExecBatchMemOpNodeSetParams`).
    ///
    /// # Errors
    /// As for [`Graph::add_signal_ops`]; [`Error::Graph`] for a node of another graph or kind.
    #[doc(alias("hipGraphExecBatchMemOpNodeSetParams", "cuGraphExecBatchMemOpNodeSetParams"))]
    #[cfg(feature = "rocm-6-4")]
    pub fn set_signal_ops(&mut self, node: Node, operations: &[SignalOp<'_>]) -> Result<()> {
        self.expect(node, NodeKind::SignalOps)?;
        let batch = SignalOps::new(operations)?;
        self.change(&SignalOps::accesses(operations))?;
        let params = batch.params(self.graph.device)?;
        self.resources.signals.push(batch);
        let _exclusive = exclusive();
        // SAFETY: the graph is alive and the node is one of its batches; the operations and their signals are kept.
        let status = unsafe { hip_sys::hipGraphExecBatchMemOpNodeSetParams(self.raw, node.raw, &params) };
        check(status, "hipGraphExecBatchMemOpNodeSetParams", || format!("{operations:?}"))
    }

    /// Replaces a signal of another API's semaphore (`hipGraphExecExternalSemaphoresSignalNodeSetParams`).
    ///
    /// # Errors
    /// As for [`Graph::add_external_signal`]; [`Error::Graph`] for a node of another graph or kind.
    #[doc(alias(
        "hipGraphExecExternalSemaphoresSignalNodeSetParams",
        "cuGraphExecExternalSemaphoresSignalNodeSetParams",
        "cudaGraphExecExternalSemaphoresSignalNodeSetParams"
    ))]
    #[cfg(unix)]
    pub fn set_external_signal(&mut self, node: Node, semaphore: &ExternalSemaphore, value: u64) -> Result<()> {
        self.expect(node, NodeKind::ExternalSignal)?;
        self.graph.device.expect(semaphore.device(), "the semaphore")?;
        self.change(&[semaphore.access()])?;
        let _exclusive = exclusive();
        let status = with_signal(semaphore, value, |parameters| {
            // SAFETY: the graph is alive and the node is one of its signals; the runtime copies the parameters, and the semaphore is kept.
            unsafe {
                crate::core::forms::hipGraphExecExternalSemaphoresSignalNodeSetParams(self.raw, node.raw, parameters)
            }
        });
        check(status, "hipGraphExecExternalSemaphoresSignalNodeSetParams", || format!("{semaphore:?} with {value}"))
    }

    /// Replaces a wait for another API's semaphore (`hipGraphExecExternalSemaphoresWaitNodeSetParams`).
    ///
    /// # Errors
    /// As for [`Graph::add_external_wait`]; [`Error::Graph`] for a node of another graph or kind.
    #[doc(alias(
        "hipGraphExecExternalSemaphoresWaitNodeSetParams",
        "cuGraphExecExternalSemaphoresWaitNodeSetParams",
        "cudaGraphExecExternalSemaphoresWaitNodeSetParams"
    ))]
    #[cfg(unix)]
    pub fn set_external_wait(&mut self, node: Node, semaphore: &ExternalSemaphore, value: u64) -> Result<()> {
        self.expect(node, NodeKind::ExternalWait)?;
        self.graph.device.expect(semaphore.device(), "the semaphore")?;
        self.change(&[semaphore.access()])?;
        let _exclusive = exclusive();
        let status = with_wait(semaphore, value, |parameters| {
            // SAFETY: as for a signal.
            unsafe {
                crate::core::forms::hipGraphExecExternalSemaphoresWaitNodeSetParams(self.raw, node.raw, parameters)
            }
        });
        check(status, "hipGraphExecExternalSemaphoresWaitNodeSetParams", || format!("{semaphore:?} for {value}"))
    }

    /// Replaces a child graph with another one of the same shape (`hipGraphExecChildGraphNodeSetParams`).
    ///
    /// # Errors
    /// [`Error::Graph`] for a node of another graph or kind. In a graph with branches, also for a child that uses a
    /// library handle that the graph already uses ([`interop::Tracked`](crate::interop::Tracked)): two branches could
    /// use it concurrently. The runtime's status for a graph of another shape.
    #[doc(alias(
        "hipGraphExecChildGraphNodeSetParams",
        "cuGraphExecChildGraphNodeSetParams",
        "cudaGraphExecChildGraphNodeSetParams"
    ))]
    pub fn set_child(&mut self, node: Node, child: &Graph) -> Result<()> {
        self.expect(node, NodeKind::Child)?;
        self.graph.device.expect(child.inner.device, "the child graph")?;
        if self.resources.takes_turns_with(&child.resources) && !self.graph.is_line()? {
            let reason = "it has branches, and the child uses a handle of a library that it uses already: build it again, with the child in it";
            return Err(Error::Graph { reason: reason.to_owned() });
        }
        self.change(&[])?;
        self.resources.extend(&child.resources)?;
        let _exclusive = exclusive();
        // SAFETY: both graphs are alive and the node is a child; what the new one uses is kept.
        let status = unsafe { hip_sys::hipGraphExecChildGraphNodeSetParams(self.raw, node.raw, child.inner.raw) };
        check(status, "hipGraphExecChildGraphNodeSetParams", || self.name.to_string())
    }

    /// Enables or disables a kernel, copy or fill (`hipGraphNodeSetEnabled`). A disabled node acts like an empty node.
    ///
    /// # Errors
    /// [`Error::Graph`] for a node of another graph or kind.
    #[doc(alias("hipGraphNodeSetEnabled", "cuGraphNodeSetEnabled", "cudaGraphNodeSetEnabled"))]
    pub fn set_enabled(&mut self, node: Node, enabled: bool) -> Result<()> {
        self.expect_switch(node)?;
        self.change(&[])?;
        let _exclusive = exclusive();
        // SAFETY: the graph is alive and the node is of a kind that can be disabled.
        let status = unsafe { hip_sys::hipGraphNodeSetEnabled(self.raw, node.raw, c_uint::from(enabled)) };
        check(status, "hipGraphNodeSetEnabled", || format!("{node:?}"))
    }

    /// Returns whether a kernel, copy or fill is enabled (`hipGraphNodeGetEnabled`).
    ///
    /// # Errors
    /// [`Error::Graph`] for a node of another graph or kind.
    #[doc(alias("hipGraphNodeGetEnabled", "cuGraphNodeGetEnabled", "cudaGraphNodeGetEnabled"))]
    pub fn is_enabled(&self, node: Node) -> Result<bool> {
        self.expect_switch(node)?;
        context::check_caller()?;
        // Launches do not change this, but must not run concurrently with other calls on the graph.
        let _order = usage::order();
        let _exclusive = exclusive();
        let mut enabled: c_uint = 0;
        // SAFETY: as above; `enabled` is valid for a write.
        let status = unsafe { hip_sys::hipGraphNodeGetEnabled(self.raw, node.raw, &mut enabled) };
        check(status, "hipGraphNodeGetEnabled", || format!("{node:?}"))?;
        Ok(enabled != 0)
    }

    /// Takes over all parameters of a graph of the same shape (`hipGraphExecUpdate`). The resources of the old
    /// parameters are no longer kept.
    ///
    /// # Errors
    /// [`Error::Graph`] with the difference. The runtime may have taken over the parameters of some nodes already, so
    /// this `GraphExec` keeps the resources of both graphs.
    #[doc(alias("hipGraphExecUpdate", "cuGraphExecUpdate", "cudaGraphExecUpdate"))]
    pub fn update(&mut self, graph: &Graph) -> Result<()> {
        self.graph.device.expect(graph.inner.device, "the graph")?;
        self.change(&[])?;
        self.resources.extend(&graph.resources)?;
        let mut node: hipGraphNode_t = ptr::null_mut();
        let mut result = hip_sys::hipGraphExecUpdateSuccess;
        let status = {
            let _exclusive = exclusive();
            let _one = one_at_a_time();
            // SAFETY: both are alive; `node` and `result` are valid for a write.
            unsafe { hip_sys::hipGraphExecUpdate(self.raw, graph.inner.raw, &mut node, &mut result) }
        };
        if status.0 != 0 && result != hip_sys::hipGraphExecUpdateSuccess {
            // SAFETY: takes nothing and only resets a value that belongs to this thread.
            let _ = unsafe { hip_sys::hipGetLastError() };
            return Err(Error::Graph { reason: format!("it cannot be updated: {}", difference(result)) });
        }
        check(status, "hipGraphExecUpdate", || self.name.to_string())?;
        // Memory that launches have allocated must still be freed, whatever the new nodes do.
        let both = std::mem::replace(&mut self.resources, graph.resources.clone());
        self.resources.memory.extend(&both.memory);
        self.name = name_of(&self.resources);
        Ok(())
    }

    /// Returns the C handle, for calls of [`hip_sys`] that this crate does not make. The `GraphExec` keeps ownership.
    #[must_use]
    pub fn as_raw(&self) -> hipGraphExec_t {
        self.raw
    }

    /// Prepares a change: waits for running launches, and keeps the resources that the change needs.
    fn change(&mut self, accesses: &[Access<'_>]) -> Result<()> {
        self.graph.device.activate()?;
        // The runtime may read a node's parameters until the launch is over.
        self.usage.wait_for_all()?;
        self.resources.keep(accesses)
    }

    fn expect(&self, node: Node, kind: NodeKind) -> Result<()> {
        if node.graph != self.graph.id {
            return Err(Error::Graph { reason: format!("{node:?} is not of the graph that this was made of") });
        }
        if node.kind != kind {
            return Err(Error::Graph { reason: format!("{node:?} is no {kind:?} node") });
        }
        Ok(())
    }

    fn expect_switch(&self, node: Node) -> Result<()> {
        match node.kind {
            kind @ (NodeKind::Copy | NodeKind::Fill) => self.expect(node, kind),
            _ => self.expect(node, NodeKind::Kernel),
        }
    }
}

fn difference(result: hipGraphExecUpdateResult) -> String {
    match result {
        hip_sys::hipGraphExecUpdateErrorTopologyChanged => "the graphs differ in their nodes or edges".to_owned(),
        hip_sys::hipGraphExecUpdateErrorNodeTypeChanged => "a node is of another kind".to_owned(),
        hip_sys::hipGraphExecUpdateErrorFunctionChanged => "a launch is of another kernel".to_owned(),
        hip_sys::hipGraphExecUpdateErrorParametersChanged => "parameters of a node cannot be changed so".to_owned(),
        hip_sys::hipGraphExecUpdateErrorUnsupportedFunctionChange => "a kernel cannot be changed so".to_owned(),
        other => format!("{other:?}"),
    }
}

impl Drop for GraphExec {
    fn drop(&mut self) {
        let address = self.raw.expose_provenance();
        // Launches may still run, and this may be in one of their host functions. If the runtime cannot report their end, their resources
        // leak.
        let graph = Arc::clone(&self.graph);
        self.resources.kept.iter_mut().for_each(Kept::retire);
        let used = ManuallyDrop::new((std::mem::take(&mut self.resources), self.aside.take(), graph));
        self.usage.release(move || {
            let (resources, _, graph) = &*used;
            resources.memory.free_rest(graph.device);
            // SAFETY: owned by this object, not destroyed yet, and no launch of it is left.
            let _ = unsafe { hip_sys::hipGraphExecDestroy(ptr::with_exposed_provenance_mut(address)) };
            drop(ManuallyDrop::into_inner(used));
        });
    }
}

impl fmt::Debug for GraphExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GraphExec").field("device", &self.graph.device.index()).field("of", &self.name).finish()
    }
}
