//! Nodes that allocate or free memory.

use std::ffi::c_void;
use std::ptr;

use bytemuck::Pod;

use super::add::not_empty;
use crate::core::device::Device;
#[cfg(doc)]
use crate::core::error::Error;
use crate::core::error::Result;
use crate::graph::Graph;
use crate::graph::handle::{Node, NodeKind};
use crate::memory::{DevicePtr, byte_len};

impl Graph {
    /// Adds an allocation of `len` elements (`hipGraphAddMemAllocNode`). The address is known at once. In each launch,
    /// the memory is allocated from this node on until an [`add_free`](Self::add_free) node runs, of this graph or one
    /// that is launched later, or until the next launch with
    /// [`auto_free`](crate::graph::InstantiateOptions::auto_free). The [`GraphExec`](crate::GraphExec) frees the memory
    /// that its last launch has left when it is dropped. (HIP 5.7 allocates the memory in this call, and never frees
    /// memory that no node has freed.)
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::ZeroSizedType`], [`Error::InvalidValue`] for no elements; [`Error::Graph`] for
    /// nodes of another graph.
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

    /// Frees memory that an [`add_alloc`](Self::add_alloc) node has allocated (`hipGraphAddMemFreeNode`).
    ///
    /// # Errors
    /// [`Error::Graph`] for nodes of another graph; the runtime's status for another pointer.
    ///
    /// # Safety
    /// A node that may run after this one or concurrently must not use the memory, and no other node may free it. If
    /// another graph has allocated it, this node's graph must be launched after that one, before that
    /// [`GraphExec`](crate::GraphExec) is dropped.
    #[doc(alias("hipGraphAddMemFreeNode", "cudaGraphAddMemFreeNode"))]
    pub unsafe fn add_free<T>(&mut self, after: &[Node], pointer: DevicePtr<T>) -> Result<Node> {
        let address = ptr::without_provenance_mut::<c_void>(pointer.address() as usize);
        let asked = || format!("{pointer:?}");
        let node = self.add(NodeKind::Free, after, "hipGraphAddMemFreeNode", asked, |node, graph, before, count| {
            // SAFETY: the graph and the nodes are alive; the caller ensures that the memory may be freed.
            unsafe { hip_sys::hipGraphAddMemFreeNode(node, graph, before, count, address) }
        })?;
        self.resources.memory.frees(pointer.address());
        Ok(node)
    }
}

fn set_location(location: &mut hip_sys::hipMemLocation, device: Device) {
    location.id = device.raw();
}
