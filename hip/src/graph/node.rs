//! Adding nodes.

use std::ffi::c_void;
use std::fmt;
use std::ptr;
use std::sync::Arc;

use bytemuck::Pod;
use hip_sys::{hipError_t, hipGraphNode_t, hipMemcpyKind};

use super::{Graph, HostCall};
use crate::array::{ArraySlice, ArraySliceMut, End, Texel, copy_node};
use crate::call::check;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::memory::{
    DevicePtr, DeviceSlice, DeviceSliceMut, Extent, PinnedSlice, PinnedSliceMut, PitchedSlice, PitchedSliceMut,
    byte_len,
};
use crate::module::{Kernel, KernelArgs, LaunchConfig};
use crate::usage::Access;

/// A node of a [`Graph`]: a name for it, which does nothing without the graph (`hipGraphNode_t`).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Node {
    pub(super) raw: hipGraphNode_t,
    pub(super) graph: u64,
    pub(super) kind: NodeKind,
}

// SAFETY: a handle, which is only followed by the runtime, with the graph that it belongs to.
unsafe impl Send for Node {}
// SAFETY: as above.
unsafe impl Sync for Node {}

/// What a [`Node`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NodeKind {
    /// A launch.
    Kernel,
    /// A copy.
    Copy,
    /// A fill.
    Fill,
    /// A Rust function.
    Host,
    /// Another graph.
    Child,
    /// Nothing: a point that others meet at.
    Empty,
    /// Waits for an event.
    EventWait,
    /// Records an event.
    EventRecord,
    /// Allocates memory.
    Alloc,
    /// Frees memory that another node has allocated.
    Free,
    /// Something else (`hipGraphNodeType`).
    Other(u32),
}

impl NodeKind {
    pub(super) fn from_raw(raw: hip_sys::hipGraphNodeType) -> Self {
        match raw {
            hip_sys::hipGraphNodeTypeKernel => Self::Kernel,
            hip_sys::hipGraphNodeTypeMemcpy => Self::Copy,
            hip_sys::hipGraphNodeTypeMemset => Self::Fill,
            hip_sys::hipGraphNodeTypeHost => Self::Host,
            hip_sys::hipGraphNodeTypeGraph => Self::Child,
            hip_sys::hipGraphNodeTypeEmpty => Self::Empty,
            hip_sys::hipGraphNodeTypeWaitEvent => Self::EventWait,
            hip_sys::hipGraphNodeTypeEventRecord => Self::EventRecord,
            hip_sys::hipGraphNodeTypeMemAlloc => Self::Alloc,
            hip_sys::hipGraphNodeTypeMemFree => Self::Free,
            other => Self::Other(other.0),
        }
    }
}

impl Node {
    /// What it does.
    #[must_use]
    pub fn kind(self) -> NodeKind {
        self.kind
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} node {:?} of graph {}", self.kind, self.raw, self.graph)
    }
}

/// A copy for a graph: from where to where.
pub struct GraphCopy<'a> {
    pub(crate) destination: *mut c_void,
    pub(crate) source: *mut c_void,
    pub(crate) bytes: usize,
    pub(super) kind: hipMemcpyKind,
    pub(crate) device: Device,
    pub(crate) accesses: [Access<'a>; 2],
}

fn same_len(destination: usize, source_len: usize) -> Result<()> {
    if destination == source_len {
        Ok(())
    } else {
        Err(Error::Length { what: "copy in a graph", destination, source_len })
    }
}

impl<'a> GraphCopy<'a> {
    /// From device memory to device memory, of one device.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::WrongDevice`].
    pub fn on_device<T: Pod>(
        destination: impl Into<DeviceSliceMut<'a, T>>,
        source: impl Into<DeviceSlice<'a, T>>,
    ) -> Result<Self> {
        let (destination, source) = (destination.into(), source.into());
        same_len(destination.len(), source.len())?;
        destination.device().expect(source.device(), "the source")?;
        Ok(Self {
            destination: destination.pointer(),
            source: source.pointer(),
            bytes: destination.byte_len(),
            kind: hip_sys::hipMemcpyDeviceToDevice,
            device: destination.device(),
            accesses: [Access::write(destination.usage()), source.access()],
        })
    }

    /// From pinned host memory to device memory. Such a graph is launched by
    /// [`launch_with_host_memory`](crate::GraphExec::launch_with_host_memory).
    ///
    /// # Errors
    /// [`Error::Length`].
    pub fn from_pinned<T: Pod>(
        destination: impl Into<DeviceSliceMut<'a, T>>,
        source: impl Into<PinnedSlice<'a, T>>,
    ) -> Result<Self> {
        let (destination, source) = (destination.into(), source.into());
        same_len(destination.len(), source.len())?;
        source.admit(destination.device(), "the source")?;
        Ok(Self {
            destination: destination.pointer(),
            source: source.pointer(),
            bytes: destination.byte_len(),
            kind: hip_sys::hipMemcpyHostToDevice,
            device: destination.device(),
            accesses: [Access::write(destination.usage()), source.access()],
        })
    }

    /// From device memory to pinned host memory. Such a graph is launched by
    /// [`launch_with_host_memory`](crate::GraphExec::launch_with_host_memory).
    ///
    /// # Errors
    /// [`Error::Length`].
    pub fn to_pinned<T: Pod>(
        destination: impl Into<PinnedSliceMut<'a, T>>,
        source: impl Into<DeviceSlice<'a, T>>,
    ) -> Result<Self> {
        let (destination, source) = (destination.into(), source.into());
        same_len(destination.len(), source.len())?;
        destination.admit(source.device(), "the destination")?;
        Ok(Self {
            destination: destination.pointer(),
            source: source.pointer(),
            bytes: source.byte_len(),
            kind: hip_sys::hipMemcpyDeviceToHost,
            device: source.device(),
            accesses: [destination.access(), source.access()],
        })
    }
}

impl fmt::Debug for GraphCopy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes from {:?} to {:?}", self.bytes, self.source, self.destination)
    }
}

/// A copy of two or three dimensions for a graph: between pitched memory and arrays of one device.
pub struct GraphCopy3<'a> {
    pub(super) parameters: hip_sys::hipMemcpy3DParms,
    extent: Extent,
    pub(super) device: Device,
    pub(super) accesses: [Access<'a>; 2],
}

impl<'a> GraphCopy3<'a> {
    /// Between pitched memory: rows of equal length, as many, in as many planes.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the extents differ, [`Error::WrongDevice`].
    pub fn pitched<T: Pod>(
        destination: PitchedSliceMut<'a, T>,
        source: impl Into<PitchedSlice<'a, T>>,
    ) -> Result<Self> {
        let source = source.into();
        let (to, from) = (End::Memory(destination.pitched_pointer()), End::Memory(source.pitched_pointer()));
        let accesses = [destination.access(), source.access()];
        Self::new::<T>(
            [to, from],
            [destination.extent(), source.extent()],
            [destination.device(), source.device()],
            accesses,
        )
    }

    /// From pitched memory to an array.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the extents differ, [`Error::WrongDevice`].
    pub fn to_array<T: Texel>(
        destination: impl Into<ArraySliceMut<'a, T>>,
        source: impl Into<PitchedSlice<'a, T>>,
    ) -> Result<Self> {
        let (destination, source) = (destination.into(), source.into());
        let (to, from) = (destination.end(), End::Memory(source.pitched_pointer()));
        let accesses = [destination.access(), source.access()];
        Self::new::<T>(
            [to, from],
            [destination.extent(), source.extent()],
            [destination.device(), source.device()],
            accesses,
        )
    }

    /// From an array to pitched memory.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the extents differ, [`Error::WrongDevice`].
    pub fn from_array<T: Texel>(
        destination: PitchedSliceMut<'a, T>,
        source: impl Into<ArraySlice<'a, T>>,
    ) -> Result<Self> {
        let source = source.into();
        let (to, from) = (End::Memory(destination.pitched_pointer()), source.end());
        let accesses = [destination.access(), source.access()];
        Self::new::<T>(
            [to, from],
            [destination.extent(), source.extent()],
            [destination.device(), source.device()],
            accesses,
        )
    }

    fn new<T>(ends: [End; 2], extents: [Extent; 2], devices: [Device; 2], accesses: [Access<'a>; 2]) -> Result<Self> {
        let ([to, from], [extent, source]) = (ends, extents);
        if extent != source {
            return Err(Error::InvalidValue {
                what: "the extent of the source of a copy in a graph",
                value: source.to_string(),
                allowed: format!("that of the destination, {extent}"),
            });
        }
        devices[0].expect(devices[1], "the source")?;
        let parameters = copy_node::<T>(to, from, extent, hip_sys::hipMemcpyDeviceToDevice);
        Ok(Self { parameters, extent, device: devices[0], accesses })
    }
}

impl fmt::Debug for GraphCopy3<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a copy of {} elements", self.extent)
    }
}

/// A fill for a graph: of what, with what.
pub struct GraphFill<'a> {
    pub(super) pointer: *mut c_void,
    pub(super) bytes: usize,
    value: FillValue,
    pub(super) device: Device,
    pub(super) access: Access<'a>,
}

/// Up to 4 bytes that repeat; a longer value that does not repeat is refused when the node is made.
#[derive(Clone, Copy, Debug)]
enum FillValue {
    Repeats { bytes: u32, value: u32 },
    Long { bytes: usize },
}

impl FillValue {
    fn of(bytes: &[u8]) -> Self {
        for size in [1, 2, 4] {
            let Some(first) = bytes.get(..size) else { continue };
            if bytes.len() % size == 0 && bytes.chunks_exact(size).all(|chunk| chunk == first) {
                let mut value = [0; 4];
                value[..size].copy_from_slice(first);
                return Self::Repeats { bytes: size as u32, value: u32::from_le_bytes(value) };
            }
        }
        Self::Long { bytes: bytes.len() }
    }
}

impl<'a> GraphFill<'a> {
    /// Fills a slice with a value that repeats 1, 2 or 4 bytes: any of these sizes, and any zero.
    pub fn new<T: Pod>(slice: impl Into<DeviceSliceMut<'a, T>>, value: T) -> Self {
        let slice = slice.into();
        Self {
            pointer: slice.pointer(),
            bytes: slice.byte_len(),
            value: FillValue::of(bytemuck::bytes_of(&value)),
            device: slice.device(),
            access: Access::write(slice.usage()),
        }
    }

    pub(super) fn params(&self) -> Result<hip_sys::hipMemsetParams> {
        match self.value {
            FillValue::Repeats { bytes, value } => Ok(hip_sys::hipMemsetParams {
                dst: self.pointer,
                elementSize: bytes,
                height: 1,
                pitch: self.bytes,
                value,
                width: self.bytes / bytes as usize,
            }),
            FillValue::Long { bytes } => Err(Error::InvalidValue {
                what: "the value of a fill in a graph",
                value: format!("{bytes} bytes that do not repeat"),
                allowed: "1, 2 or 4 bytes, or a repetition of such; fill one element and copy it, or use a kernel"
                    .to_owned(),
            }),
        }
    }
}

impl fmt::Debug for GraphFill<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at {:?} with {:?}", self.bytes, self.pointer, self.value)
    }
}

pub(super) unsafe extern "C" fn host_trampoline(data: *mut c_void) {
    // SAFETY: `data` points to a HostCall that the graph keeps as long as it may run.
    unsafe { &*data.cast::<HostCall>() }.run();
}

/// What C is told of a launch.
pub(super) fn kernel_params(
    kernel: &Kernel,
    config: LaunchConfig,
    parameters: *mut *mut c_void,
) -> hip_sys::hipKernelNodeParams {
    let dim = |dim: crate::Dim3| hip_sys::dim3 { x: dim.x, y: dim.y, z: dim.z };
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
    /// Adds a node with `add`, which gets where to put it, the graph, the nodes that go first and how many they are.
    fn add(
        &mut self,
        kind: NodeKind,
        after: &[Node],
        function: &'static str,
        asked: impl FnOnce() -> String,
        add: impl FnOnce(*mut hipGraphNode_t, hip_sys::hipGraph_t, *const hipGraphNode_t, usize) -> hipError_t,
    ) -> Result<Node> {
        self.expect(after)?;
        self.inner.device.activate()?;
        let before: Vec<hipGraphNode_t> = after.iter().map(|node| node.raw).collect();
        let before_pointer = if before.is_empty() { ptr::null() } else { before.as_ptr() };
        let mut raw: hipGraphNode_t = ptr::null_mut();
        let status = add(&mut raw, self.inner.raw, before_pointer, before.len());
        check(status, function, asked)?;
        Ok(Node { raw, graph: self.inner.id, kind })
    }

    /// Adds a launch (`hipGraphAddKernelNode`), which runs after the nodes `after`. Arguments are as for
    /// [`Kernel::launch`](crate::Kernel::launch), and are copied; buffers are kept.
    ///
    /// # Errors
    /// Those of [`Kernel::launch`](crate::Kernel::launch); [`Error::Graph`] for nodes of another graph.
    ///
    /// # Safety
    /// That of [`Kernel::launch`](crate::Kernel::launch), for every launch of the graph. Nodes without a path between them may run at
    /// the same time: where they use the same bytes and one writes to them, the caller orders them by edges.
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
                // SAFETY: the graph and the nodes are alive; the parameters are as for a launch, and are copied; what they point
                // to on the device is kept by the graph.
                unsafe { hip_sys::hipGraphAddKernelNode(node, graph, before, count, &params) }
            })?;
        self.resources.kernels.push(Arc::clone(kernel.named(config).kernel));
        Ok(node)
    }

    /// Adds a copy (`hipGraphAddMemcpyNode1D`).
    ///
    /// Nodes without a path between them may run at the same time: bytes that one of them writes and another reads are
    /// then any bytes.
    ///
    /// # Errors
    /// [`Error::WrongDevice`], [`Error::Graph`] for nodes of another graph, [`Error::InvalidValue`] for no bytes.
    pub fn add_copy(&mut self, after: &[Node], copy: GraphCopy<'_>) -> Result<Node> {
        self.inner.device.expect(copy.device, "the copy")?;
        not_empty(copy.bytes)?;
        self.resources.keep(&copy.accesses)?;
        let asked = || format!("{copy:?}");
        self.add(NodeKind::Copy, after, "hipGraphAddMemcpyNode1D", asked, |node, graph, before, count| {
            let GraphCopy { destination, source, bytes, kind, .. } = copy;
            // SAFETY: the graph and the nodes are alive; both sides hold `bytes` bytes, and are kept by the graph.
            unsafe { hip_sys::hipGraphAddMemcpyNode1D(node, graph, before, count, destination, source, bytes, kind) }
        })
    }

    /// Adds a copy of two or three dimensions (`hipGraphAddMemcpyNode`). What [`add_copy`](Self::add_copy) says of nodes without a path
    /// between them holds for it.
    ///
    /// # Errors
    /// [`Error::WrongDevice`], [`Error::Graph`] for nodes of another graph, [`Error::InvalidValue`] for no elements.
    pub fn add_copy_3d(&mut self, after: &[Node], copy: GraphCopy3<'_>) -> Result<Node> {
        self.inner.device.expect(copy.device, "the copy")?;
        not_empty(copy.extent.elements().unwrap_or(usize::MAX))?;
        self.resources.keep(&copy.accesses)?;
        let asked = || format!("{copy:?}");
        self.add(NodeKind::Copy, after, "hipGraphAddMemcpyNode", asked, |node, graph, before, count| {
            // SAFETY: the graph and the nodes are alive; both sides hold the box, and are kept by the graph.
            unsafe { hip_sys::hipGraphAddMemcpyNode(node, graph, before, count, &copy.parameters) }
        })
    }

    /// Adds a fill (`hipGraphAddMemsetNode`).
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for no bytes, and for a value of more than 4 bytes that does not repeat;
    /// [`Error::WrongDevice`], [`Error::Graph`] for nodes of another graph.
    pub fn add_fill(&mut self, after: &[Node], fill: GraphFill<'_>) -> Result<Node> {
        self.inner.device.expect(fill.device, "the destination")?;
        not_empty(fill.bytes)?;
        let params = fill.params()?;
        self.resources.keep(&[fill.access])?;
        let asked = || format!("{fill:?}");
        self.add(NodeKind::Fill, after, "hipGraphAddMemsetNode", asked, |node, graph, before, count| {
            // SAFETY: the graph and the nodes are alive; the memory holds as many bytes, and is kept by the graph.
            unsafe { hip_sys::hipGraphAddMemsetNode(node, graph, before, count, &params) }
        })
    }

    /// Adds a Rust function (`hipGraphAddHostNode`), which every launch of the graph calls on a thread of the runtime.
    ///
    /// What holds for [`Stream::launch_host_function`](crate::Stream::launch_host_function) holds for it: it must not call HIP, and
    /// if it panics, who waits for the stream of the launch gets [`Error::HostFunctionPanicked`].
    ///
    /// # Errors
    /// [`Error::Graph`] for nodes of another graph.
    pub fn add_host(&mut self, after: &[Node], function: impl Fn() + Send + Sync + 'static) -> Result<Node> {
        let call = Arc::new(HostCall { function: Box::new(function), report: Arc::default() });
        let params = host_params(&call);
        let asked = || "a host function".to_owned();
        self.resources.hosts.push(call);
        self.add(NodeKind::Host, after, "hipGraphAddHostNode", asked, |node, graph, before, count| {
            // SAFETY: the graph and the nodes are alive; the data is kept by the graph and what is instantiated from it.
            unsafe { hip_sys::hipGraphAddHostNode(node, graph, before, count, &params) }
        })
    }

    /// Adds a whole graph as a node (`hipGraphAddChildGraphNode`): a copy of what it is now.
    ///
    /// # Errors
    /// [`Error::WrongDevice`], [`Error::Graph`] for nodes of another graph.
    pub fn add_child(&mut self, after: &[Node], child: &Self) -> Result<Node> {
        self.inner.device.expect(child.inner.device, "the child graph")?;
        self.resources.extend(&child.resources)?;
        let raw = child.inner.raw;
        self.add(
            NodeKind::Child,
            after,
            "hipGraphAddChildGraphNode",
            || "a graph".to_owned(),
            |node, graph, before, count| {
                // SAFETY: both graphs and the nodes are alive; what the child uses is kept by this graph too.
                unsafe { hip_sys::hipGraphAddChildGraphNode(node, graph, before, count, raw) }
            },
        )
    }

    /// Adds a node that does nothing, for others to meet at (`hipGraphAddEmptyNode`).
    ///
    /// # Errors
    /// [`Error::Graph`] for nodes of another graph.
    pub fn add_empty(&mut self, after: &[Node]) -> Result<Node> {
        self.add(
            NodeKind::Empty,
            after,
            "hipGraphAddEmptyNode",
            || "an empty node".to_owned(),
            |node, graph, before, count| {
                // SAFETY: the graph and the nodes are alive.
                unsafe { hip_sys::hipGraphAddEmptyNode(node, graph, before, count) }
            },
        )
    }

    /// Adds a record of an event (`hipGraphAddEventRecordNode`): each launch moves the event's mark.
    ///
    /// # Errors
    /// [`Error::WrongDevice`], [`Error::Graph`] for nodes of another graph.
    pub fn add_event_record(&mut self, after: &[Node], event: &Arc<Event>) -> Result<Node> {
        self.inner.device.expect(event.device(), "the event")?;
        let raw = event.raw();
        self.resources.recorded.push(Arc::clone(event));
        self.add(
            NodeKind::EventRecord,
            after,
            "hipGraphAddEventRecordNode",
            || "an event".to_owned(),
            |node, graph, before, count| {
                // SAFETY: the graph and the nodes are alive; the event is kept by the graph.
                unsafe { hip_sys::hipGraphAddEventRecordNode(node, graph, before, count, raw) }
            },
        )
    }

    /// Adds a wait for an event (`hipGraphAddEventWaitNode`): for what it was last recorded behind when the graph is launched.
    ///
    /// # Errors
    /// [`Error::Graph`] for nodes of another graph.
    pub fn add_event_wait(&mut self, after: &[Node], event: &Arc<Event>) -> Result<Node> {
        let raw = event.raw();
        self.resources.waited.push(Arc::clone(event));
        self.add(
            NodeKind::EventWait,
            after,
            "hipGraphAddEventWaitNode",
            || "an event".to_owned(),
            |node, graph, before, count| {
                // SAFETY: the graph and the nodes are alive; the event is kept by the graph.
                unsafe { hip_sys::hipGraphAddEventWaitNode(node, graph, before, count, raw) }
            },
        )
    }

    /// Adds an allocation of `len` elements (`hipGraphAddMemAllocNode`). The address is known at once; the memory is there in
    /// each launch from this node on until an [`add_free`](Self::add_free) node, or the next launch with
    /// [`auto_free`](crate::InstantiateOptions::auto_free).
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::ZeroSizedType`], [`Error::InvalidValue`] for no elements; [`Error::Graph`] for nodes of another
    /// graph.
    pub fn add_alloc<T: Pod>(&mut self, after: &[Node], len: usize) -> Result<(Node, DevicePtr<T>)> {
        let bytes = byte_len::<T>(len)?;
        not_empty(bytes)?;
        // Launches take the memory from a pool.
        self.inner.device.prepare_pools()?;
        let mut params = hip_sys::hipMemAllocNodeParams { bytesize: bytes, ..Default::default() };
        params.poolProps.allocType = hip_sys::hipMemAllocationTypePinned;
        params.poolProps.location.type_ = hip_sys::hipMemLocationTypeDevice;
        set_location(&mut params.poolProps.location, self.inner.device);
        let asked = || format!("{bytes} bytes");
        let pointer = &raw mut params;
        let node =
            self.add(NodeKind::Alloc, after, "hipGraphAddMemAllocNode", asked, |node, graph, before, count| {
                // SAFETY: the graph and the nodes are alive; the parameters are valid for a read and a write.
                unsafe { hip_sys::hipGraphAddMemAllocNode(node, graph, before, count, pointer) }
            })?;
        Ok((node, DevicePtr::from_address(params.dptr as u64)))
    }

    /// Adds the end of memory that an [`add_alloc`](Self::add_alloc) node has allocated (`hipGraphAddMemFreeNode`).
    ///
    /// # Errors
    /// [`Error::Graph`] for nodes of another graph; the runtime's for another pointer.
    ///
    /// # Safety
    /// No node that may run after this one, or at the same time, uses the memory, and none frees it a second time.
    pub unsafe fn add_free<T>(&mut self, after: &[Node], pointer: DevicePtr<T>) -> Result<Node> {
        let address = ptr::without_provenance_mut::<c_void>(pointer.address() as usize);
        let asked = || format!("{pointer:?}");
        self.add(NodeKind::Free, after, "hipGraphAddMemFreeNode", asked, |node, graph, before, count| {
            // SAFETY: the graph and the nodes are alive; the caller answers for the memory.
            unsafe { hip_sys::hipGraphAddMemFreeNode(node, graph, before, count, address) }
        })
    }
}

pub(super) fn host_params(call: &Arc<HostCall>) -> hip_sys::hipHostNodeParams {
    hip_sys::hipHostNodeParams { fn_: Some(host_trampoline), userData: Arc::as_ptr(call).cast_mut().cast() }
}

pub(super) fn not_empty(bytes: usize) -> Result<()> {
    if bytes != 0 {
        return Ok(());
    }
    Err(Error::InvalidValue {
        what: "the work of a node",
        value: "0 bytes".to_owned(),
        allowed: "1 at least".to_owned(),
    })
}

fn set_location(location: &mut hip_sys::hipMemLocation, device: Device) {
    location.id = device.raw();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_repeat_are_found() {
        let repeats = |bytes: &[u8]| match FillValue::of(bytes) {
            FillValue::Repeats { bytes, value } => Some((bytes, value)),
            FillValue::Long { .. } => None,
        };
        assert_eq!(repeats(&[5]), Some((1, 5)));
        assert_eq!(repeats(&[0; 24]), Some((1, 0)));
        assert_eq!(repeats(&[1, 2]), Some((2, 0x201)));
        assert_eq!(repeats(&[1, 2, 3, 4, 1, 2, 3, 4]), Some((4, 0x0403_0201)));
        assert_eq!(repeats(&[1, 2, 3]), None);
        assert_eq!(repeats(&1.1f64.to_le_bytes()), None);
    }
}
