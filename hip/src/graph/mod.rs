//! Graphs: work that is described or captured once and launched many times.

mod apart;
mod capture;
mod exec;
mod handle;
mod memory;
mod node;
#[cfg(feature = "rocm-6-4")]
mod signal_ops;

use std::ffi::CString;
use std::fmt;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use hip_sys::{hipGraph_t, hipGraphNode_t};

pub use exec::{GraphExec, InstantiateOptions};
pub use handle::{Node, NodeKind};
use memory::GraphMemory;
pub use memory::GraphMemoryInfo;
pub use node::GraphFill;
#[cfg(feature = "rocm-6-4")]
use signal_ops::SignalOps;

pub use crate::memory::graph_copy::{GraphCopy, GraphCopy3d};

use crate::core::call::check;
use crate::core::context;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::core::later;
use crate::core::lock::{Mutex, MutexGuard};
use crate::core::releases::one_at_a_time;
use crate::stream::event::Event;
use crate::stream::usage::{Access, Kept, MemoryKind};
use crate::stream::{PanicCell, Report, keep, run_reporting};

/// Work on one device and its order (`hipGraph_t`): nodes, and edges between them. It is built node by node, or by
/// [capturing a stream](crate::Stream::capture), then [instantiated](Self::instantiate) and launched many times.
///
/// A graph keeps the resources of its nodes: the memory of buffers, the modules of kernels, events and host functions.
/// A buffer that is dropped is freed when the last graph that uses it is gone too, so a graph never runs on freed
/// memory. HIP does not support conditional nodes.
///
/// ```
/// # fn main() -> hip::Result<()> {
/// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
/// use hip::{Device, DeviceBuffer, Graph, Stream};
/// use hip::graph::{GraphCopy, GraphFill};
///
/// let device = Device::get(0)?;
/// let mut a = DeviceBuffer::<u32>::zeroed(&device, 100)?;
/// let mut b = DeviceBuffer::<u32>::zeroed(&device, 100)?;
/// let mut graph = match Graph::new(&device) {
///     Ok(graph) => graph,
///     Err(error) if error.status() == Some(hip::Status::NOT_SUPPORTED) => return Ok(()),
///     Err(error) => return Err(error),
/// };
/// let fill = graph.add_fill(&[], GraphFill::new(&mut a, 7))?;
/// graph.add_copy(&[fill], GraphCopy::on_device(&mut b, &a)?)?;
/// let exec = graph.instantiate()?;
///
/// let stream = Stream::new(&device)?;
/// exec.launch(&stream)?;
/// assert_eq!(b.to_vec()?, [7; 100]); // waits for the graph
/// # Ok(()) }
/// ```
#[doc(alias("hipGraphDestroy", "cuGraphDestroy", "cudaGraphDestroy"))]
pub struct Graph {
    inner: Arc<GraphInner>,
    /// The graph that this is a clone of; its nodes can be looked up here while it exists.
    original: Weak<GraphInner>,
    resources: Resources,
    /// A node that this crate has added, and hides.
    apart: Option<Node>,
}

/// The C graph. It also outlives the [`GraphExec`]s, which look up nodes in it.
struct GraphInner {
    raw: hipGraph_t,
    id: u64,
    device: Device,
}

// SAFETY: a hipGraph_t is a handle that any thread may use; `Graph` changes it through `&mut` only, and it is destroyed in
// Drop, when no other reference exists.
unsafe impl Send for GraphInner {}
// SAFETY: as above.
unsafe impl Sync for GraphInner {}

/// The resources of nodes.
#[derive(Clone, Default)]
struct Resources {
    kept: Vec<Kept>,
    kernels: Vec<Arc<str>>,
    hosts: Vec<Arc<HostCall>>,
    /// The cells in which kernels of captures find the records for their panics, each once.
    panics: Vec<Arc<PanicCell>>,
    recorded: Vec<Arc<Event>>,
    waited: Vec<Arc<Event>>,
    memory: GraphMemory,
    #[cfg(feature = "rocm-6-4")]
    signals: Vec<Arc<SignalOps>>,
}

/// A host function of a node.
struct HostCall {
    function: Box<dyn Fn() + Send + Sync>,
    report: Arc<Report>,
}

impl HostCall {
    fn run(&self) {
        run_reporting(&self.report, || (self.function)());
    }
}

impl Resources {
    fn keep(&mut self, accesses: &[Access<'_>]) -> Result<()> {
        accesses.iter().try_for_each(|access| keep(&mut self.kept, access))
    }

    fn extend(&mut self, other: &Self) -> Result<()> {
        for kept in &other.kept {
            kept.accesses().try_for_each(|access| keep(&mut self.kept, &access))?;
        }
        self.kernels.extend_from_slice(&other.kernels);
        self.hosts.extend_from_slice(&other.hosts);
        for cell in &other.panics {
            if !self.panics.iter().any(|known| Arc::ptr_eq(known, cell)) {
                self.panics.push(Arc::clone(cell));
            }
        }
        self.recorded.extend_from_slice(&other.recorded);
        self.waited.extend_from_slice(&other.waited);
        self.memory.extend(&other.memory);
        #[cfg(feature = "rocm-6-4")]
        self.signals.extend_from_slice(&other.signals);
        Ok(())
    }

    /// Returns whether both use the same exclusive resource, such as a library's handle.
    fn takes_turns_with(&self, other: &Self) -> bool {
        self.kept.iter().any(|kept| other.kept.iter().any(|other| kept.takes_turns_with(other)))
    }

    /// Returns the reports of the graph's host functions.
    fn reports(&self) -> impl Iterator<Item = &Arc<Report>> {
        self.hosts.iter().map(|host| &host.report)
    }

    fn uses_host_memory(&self) -> bool {
        self.kept.iter().any(|kept| matches!(kept.memory_kind(), MemoryKind::Host | MemoryKind::Borrowed))
    }
}

/// Held during a call that reads or changes the nodes of graphs, and never while anything is dropped. AMD documents
/// these calls as not thread-safe, and a graph shares nodes with its clones and instances.
fn exclusive() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock()
}

impl GraphInner {
    fn adopt(raw: hipGraph_t, device: Device) -> Arc<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Arc::new(Self { raw, id: NEXT.fetch_add(1, Ordering::Relaxed), device })
    }
}

impl Drop for GraphInner {
    fn drop(&mut self) {
        let address = self.raw.expose_provenance();
        later::in_time(move || {
            let _exclusive = exclusive();
            // SAFETY: owned by this object, not destroyed yet, and this is the last reference.
            let _ = unsafe { hip_sys::hipGraphDestroy(ptr::with_exposed_provenance_mut(address)) };
        });
    }
}

impl Graph {
    /// Creates a graph without nodes (`hipGraphCreate`), for work on `device`.
    #[doc(alias("hipGraphCreate", "cuGraphCreate", "cudaGraphCreate"))]
    pub fn new(device: &Device) -> Result<Self> {
        device.activate()?;
        let mut raw: hipGraph_t = ptr::null_mut();
        // SAFETY: `raw` is valid for a write; 0 is the only flag that HIP defines.
        let status = unsafe { hip_sys::hipGraphCreate(&mut raw, 0) };
        check(status, "hipGraphCreate", || format!("a graph on device {}", device.index()))?;
        Ok(Self::adopt(raw, *device, Resources::default()))
    }

    /// Takes ownership of a C graph.
    fn adopt(raw: hipGraph_t, device: Device, resources: Resources) -> Self {
        Self { inner: GraphInner::adopt(raw, device), original: Weak::new(), resources, apart: None }
    }

    /// Returns the device.
    #[must_use]
    pub fn device(&self) -> Device {
        self.inner.device
    }

    /// Creates a copy with nodes of its own (`hipGraphClone`). [`find`](Self::find) returns the copy's counterpart of a
    /// node.
    #[doc(alias("hipGraphClone", "cuGraphClone", "cudaGraphClone"))]
    pub fn try_clone(&self) -> Result<Self> {
        self.inner.device.activate()?;
        let mut raw: hipGraph_t = ptr::null_mut();
        let status = {
            let _exclusive = exclusive();
            let _one = one_at_a_time();
            // SAFETY: `raw` is valid for a write; the graph is alive.
            unsafe { hip_sys::hipGraphClone(&mut raw, self.inner.raw) }
        };
        check(status, "hipGraphClone", || self.describe())?;
        let graph = Self::adopt(raw, self.inner.device, self.resources.clone());
        let apart = self.apart_in(&graph.inner)?;
        Ok(Self { original: Arc::downgrade(&self.inner), apart, ..graph })
    }

    /// Returns this clone's counterpart of a node of the original graph (`hipGraphNodeFindInClone`).
    ///
    /// # Errors
    /// [`Error::Graph`] if this graph is not a direct clone of the node's graph, or if that graph was dropped; the
    /// runtime's status for a node that was added after cloning.
    #[doc(alias("hipGraphNodeFindInClone", "cuGraphNodeFindInClone", "cudaGraphNodeFindInClone"))]
    pub fn find(&self, original: Node) -> Result<Node> {
        // The runtime reads the node, which exists as long as its graph.
        let Some(_graph) = self.original.upgrade().filter(|graph| graph.id == original.graph) else {
            return Err(Error::Graph {
                reason: format!("it is no clone of the graph of {original:?}, or that is gone"),
            });
        };
        context::check_caller()?;
        let mut raw: hipGraphNode_t = ptr::null_mut();
        let _exclusive = exclusive();
        // SAFETY: `raw` is valid for a write; both graphs and the node are alive; for an unknown node the runtime returns an error.
        let status = unsafe { hip_sys::hipGraphNodeFindInClone(&mut raw, original.raw, self.inner.raw) };
        check(status, "hipGraphNodeFindInClone", || format!("{original:?} in {}", self.describe()))?;
        Ok(Node { raw, graph: self.inner.id, kind: original.kind })
    }

    /// Returns all nodes (`hipGraphGetNodes`, `hipGraphNodeGetType`), captured ones included.
    #[doc(alias("hipGraphGetNodes", "cuGraphGetNodes", "cudaGraphGetNodes"))]
    #[doc(alias("hipGraphNodeGetType", "cuGraphNodeGetType", "cudaGraphNodeGetType"))]
    pub fn nodes(&self) -> Result<Vec<Node>> {
        context::check_caller()?;
        let _exclusive = exclusive();
        let raw = nodes_of(self.inner.raw, &|| self.describe())?;
        let shown = |raw: &hipGraphNode_t| self.apart.is_none_or(|node| node.raw != *raw);
        raw.into_iter().filter(shown).map(|raw| self.node(raw)).collect()
    }

    /// Returns the edges, each from a node to one that waits for it (`hipGraphGetEdges`).
    #[doc(alias("hipGraphGetEdges", "cuGraphGetEdges", "cudaGraphGetEdges"))]
    pub fn edges(&self) -> Result<Vec<(Node, Node)>> {
        context::check_caller()?;
        let _exclusive = exclusive();
        let raw = edges_of(self.inner.raw, &|| self.describe())?;
        raw.into_iter().map(|(from, to)| Ok((self.node(from)?, self.node(to)?))).collect()
    }

    fn node(&self, raw: hipGraphNode_t) -> Result<Node> {
        Ok(Node { raw, graph: self.inner.id, kind: kind_of(raw, &|| self.describe())? })
    }

    /// Makes `to` wait for `from` (`hipGraphAddDependencies`).
    ///
    /// # Errors
    /// [`Error::Graph`] for nodes of another graph; the runtime's status for an edge that already exists, or would
    /// close a cycle.
    #[doc(alias("hipGraphAddDependencies", "cuGraphAddDependencies", "cudaGraphAddDependencies"))]
    pub fn add_dependency(&mut self, from: Node, to: Node) -> Result<()> {
        self.expect(&[from, to])?;
        context::check_caller()?;
        let _exclusive = exclusive();
        // SAFETY: both nodes are of this graph, which is alive.
        let status = unsafe { hip_sys::hipGraphAddDependencies(self.inner.raw, &from.raw, &to.raw, 1) };
        check(status, "hipGraphAddDependencies", || format!("{from:?} before {to:?}"))
    }

    /// Removes an edge (`hipGraphRemoveDependencies`).
    ///
    /// # Safety
    /// The nodes may then run in any order. If both use the same bytes and one writes to them, the caller must ensure
    /// that another path orders them.
    ///
    /// # Errors
    /// [`Error::Graph`] for nodes of another graph; the runtime's status if the edge does not exist.
    #[doc(alias("hipGraphRemoveDependencies", "cuGraphRemoveDependencies", "cudaGraphRemoveDependencies"))]
    pub unsafe fn remove_dependency(&mut self, from: Node, to: Node) -> Result<()> {
        self.expect(&[from, to])?;
        context::check_caller()?;
        let _exclusive = exclusive();
        // SAFETY: as above.
        let status = unsafe { hip_sys::hipGraphRemoveDependencies(self.inner.raw, &from.raw, &to.raw, 1) };
        check(status, "hipGraphRemoveDependencies", || format!("{from:?} before {to:?}"))
    }

    /// Writes the graph to a file in Graphviz's DOT format (`hipGraphDebugDotPrint`). `verbose` includes the parameters
    /// of nodes.
    ///
    /// # Errors
    /// The runtime's status, if the file cannot be written.
    #[doc(alias("hipGraphDebugDotPrint", "cuGraphDebugDotPrint", "cudaGraphDebugDotPrint"))]
    pub fn write_dot(&self, path: impl AsRef<Path>, verbose: bool) -> Result<()> {
        let path = path.as_ref();
        let bad = || Error::InvalidValue {
            what: "the path",
            value: path.display().to_string(),
            allowed: "UTF-8 without zeros".to_owned(),
        };
        let c_path = path.to_str().and_then(|path| CString::new(path).ok()).ok_or_else(bad)?;
        context::check_caller()?;
        let flags = if verbose { hip_sys::hipGraphDebugDotFlagsVerbose.0 } else { 0 };
        let _exclusive = exclusive();
        // SAFETY: the graph is alive, the path is terminated.
        let status = unsafe { hip_sys::hipGraphDebugDotPrint(self.inner.raw, c_path.as_ptr(), flags) };
        check(status, "hipGraphDebugDotPrint", || format!("{} to {}", self.describe(), path.display()))
    }

    /// Returns the C handle, for calls of [`hip_sys`] that this crate does not make. The `Graph` keeps ownership and
    /// does not see nodes added through it. With HIP 6.3 to 7.1 a graph with fills has an empty node that
    /// [`nodes`](Self::nodes) does not show.
    #[must_use]
    pub fn as_raw(&self) -> hipGraph_t {
        self.inner.raw
    }

    /// Returns `Ok` if all are nodes of this graph.
    fn expect(&self, nodes: &[Node]) -> Result<()> {
        match nodes.iter().find(|node| node.graph != self.inner.id) {
            None => Ok(()),
            Some(node) => Err(Error::Graph { reason: format!("{node:?} is no node of this graph") }),
        }
    }

    fn describe(&self) -> String {
        format!("a graph on device {}", self.inner.device.index())
    }
}

/// Returns the nodes of a graph, which must be alive.
fn nodes_of(graph: hipGraph_t, describe: &dyn Fn() -> String) -> Result<Vec<hipGraphNode_t>> {
    let mut count = 0usize;
    // SAFETY: the graph is alive; null asks for the number of nodes.
    let status = unsafe { hip_sys::hipGraphGetNodes(graph, ptr::null_mut(), &mut count) };
    check(status, "hipGraphGetNodes", describe)?;
    let mut nodes = vec![ptr::null_mut(); count];
    if count != 0 {
        // SAFETY: the graph is alive, and `nodes` has room for `count` of them.
        let status = unsafe { hip_sys::hipGraphGetNodes(graph, nodes.as_mut_ptr(), &mut count) };
        check(status, "hipGraphGetNodes", describe)?;
    }
    nodes.truncate(count);
    Ok(nodes)
}

/// Returns the edges of a graph, which must be alive.
fn edges_of(graph: hipGraph_t, describe: &dyn Fn() -> String) -> Result<Vec<(hipGraphNode_t, hipGraphNode_t)>> {
    let mut count = 0usize;
    // SAFETY: the graph is alive; null asks for the number of edges.
    let status = unsafe { hip_sys::hipGraphGetEdges(graph, ptr::null_mut(), ptr::null_mut(), &mut count) };
    check(status, "hipGraphGetEdges", describe)?;
    let (mut from, mut to) = (vec![ptr::null_mut(); count], vec![ptr::null_mut(); count]);
    if count != 0 {
        // SAFETY: the graph is alive, and both have room for `count` nodes.
        let status = unsafe { hip_sys::hipGraphGetEdges(graph, from.as_mut_ptr(), to.as_mut_ptr(), &mut count) };
        check(status, "hipGraphGetEdges", describe)?;
    }
    Ok(from.into_iter().zip(to).take(count).collect())
}

/// Returns the kind of a node. Its graph must be alive.
fn kind_of(node: hipGraphNode_t, describe: &dyn Fn() -> String) -> Result<NodeKind> {
    let mut kind = hip_sys::hipGraphNodeTypeEmpty;
    // SAFETY: a node of a graph that is alive; `kind` is valid for a write.
    let status = unsafe { hip_sys::hipGraphNodeGetType(node, &mut kind) };
    check(status, "hipGraphNodeGetType", describe)?;
    Ok(NodeKind::from_raw(kind))
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph")
            .field("id", &self.inner.id)
            .field("device", &self.inner.device.index())
            .field("kernels", &self.resources.kernels)
            .finish()
    }
}
