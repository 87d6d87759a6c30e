//! Nodes that allocate and free.

use std::ffi::c_void;
use std::ptr;

use bytemuck::Pod;

use super::{Graph, Node, NodeKind, not_empty};
use crate::core::device::Device;
#[cfg(doc)]
use crate::core::error::Error;
use crate::core::error::Result;
use crate::memory::{DevicePtr, byte_len};

impl Graph {
    /// Adds an allocation of `len` elements (`hipGraphAddMemAllocNode`). The address is known at once; the memory is there in
    /// each launch from this node on until an [`add_free`](Self::add_free) node, of this graph or one that is launched later, or the next launch with
    /// [`auto_free`](crate::graph::InstantiateOptions::auto_free), and no longer than the [`GraphExec`](crate::GraphExec), which frees what its last launch
    /// has left. (HIP 5.7 has the memory from here on, and never gives back what no node has freed.)
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::ZeroSizedType`], [`Error::InvalidValue`] for no elements; [`Error::Graph`] for nodes of another
    /// graph.
    #[doc(alias("hipGraphAddMemAllocNode", "cuGraphAddMemAllocNode", "cudaGraphAddMemAllocNode"))]
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
        let pointer = DevicePtr::<T>::from_address(params.dptr as u64);
        self.resources.memory.allocates(pointer.address());
        Ok((node, pointer))
    }

    /// Adds the end of memory that an [`add_alloc`](Self::add_alloc) node has allocated (`hipGraphAddMemFreeNode`).
    ///
    /// # Errors
    /// [`Error::Graph`] for nodes of another graph; the runtime's for another pointer.
    ///
    /// # Safety
    /// No node that may run after this one, or at the same time, uses the memory, and none frees it a second time. Where another graph has allocated it,
    /// the graph of this node is launched after that, before that [`GraphExec`](crate::GraphExec) is gone.
    #[doc(alias("hipGraphAddMemFreeNode", "cudaGraphAddMemFreeNode"))]
    pub unsafe fn add_free<T>(&mut self, after: &[Node], pointer: DevicePtr<T>) -> Result<Node> {
        let address = ptr::without_provenance_mut::<c_void>(pointer.address() as usize);
        let asked = || format!("{pointer:?}");
        let node = self.add(NodeKind::Free, after, "hipGraphAddMemFreeNode", asked, |node, graph, before, count| {
            // SAFETY: the graph and the nodes are alive; the caller answers for the memory.
            unsafe { hip_sys::hipGraphAddMemFreeNode(node, graph, before, count, address) }
        })?;
        self.resources.memory.frees(pointer.address());
        Ok(node)
    }
}

fn set_location(location: &mut hip_sys::hipMemLocation, device: Device) {
    location.id = device.raw();
}
