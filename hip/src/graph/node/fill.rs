//! Fill nodes.

use std::ffi::c_void;
use std::fmt;

use bytemuck::Pod;

use super::add::not_empty;
use crate::core::device::Device;
use crate::core::error::Error;
use crate::graph::Graph;
use crate::graph::handle::{Node, NodeKind};
use crate::memory::{IntoSliceMut, Pattern};
use crate::stream::usage::Access;

/// A fill for a graph: its destination and its value.
pub struct GraphFill<'a> {
    pointer: *mut c_void,
    pub(in crate::graph) bytes: usize,
    /// The repeated bytes, and the value as a number; for a longer value, its length, and adding the node returns the
    /// error.
    value: Result<(u32, u32), usize>,
    pub(in crate::graph) device: Device,
    pub(in crate::graph) access: Access<'a>,
}

impl<'a> GraphFill<'a> {
    /// Fills a slice with a value that repeats 1, 2 or 4 bytes: any value of these sizes, and any zero.
    pub fn new<T: Pod>(slice: impl IntoSliceMut<'a, T>, value: T) -> Self {
        let slice = slice.into();
        Self {
            pointer: slice.pointer(),
            bytes: slice.byte_len(),
            value: match Pattern::of(bytemuck::bytes_of(&value)) {
                Pattern::Bytes1(value) => Ok((1, value.into())),
                Pattern::Bytes2(value) => Ok((2, value.into())),
                Pattern::Bytes4(value) => Ok((4, value)),
                Pattern::Long(value) => Err(value.len()),
            },
            device: slice.device(),
            access: slice.access(),
        }
    }

    pub(in crate::graph) fn params(&self) -> crate::core::error::Result<hip_sys::hipMemsetParams> {
        match self.value {
            Ok((bytes, value)) => Ok(hip_sys::hipMemsetParams {
                dst: self.pointer,
                elementSize: bytes,
                height: 1,
                pitch: self.bytes,
                value,
                width: self.bytes / bytes as usize,
            }),
            Err(bytes) => Err(Error::InvalidValue {
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
        write!(f, "{} bytes at {:?} with ", self.bytes, self.pointer)?;
        match self.value {
            Ok((bytes, value)) => write!(f, "{value:#x}, {bytes} bytes"),
            Err(bytes) => write!(f, "a value of {bytes} bytes"),
        }
    }
}

impl Graph {
    /// Adds a fill (`hipGraphAddMemsetNode`).
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for no bytes, and for a value that does not repeat at most 4 bytes;
    /// [`Error::WrongDevice`], [`Error::Graph`] for nodes of another graph.
    #[doc(alias("hipGraphAddMemsetNode", "cudaGraphAddMemsetNode"))]
    pub fn add_fill(&mut self, after: &[Node], fill: GraphFill<'_>) -> crate::core::error::Result<Node> {
        self.inner.device.expect(fill.device, "the destination")?;
        not_empty(fill.bytes)?;
        let params = fill.params()?;
        self.resources.keep(&[fill.access])?;
        let asked = || format!("{fill:?}");
        let node = self.add(NodeKind::Fill, after, "hipGraphAddMemsetNode", asked, |node, graph, before, count| {
            // SAFETY: the graph and the nodes are alive; the memory holds as many bytes, and is kept by the graph.
            unsafe { hip_sys::hipGraphAddMemsetNode(node, graph, before, count, &params) }
        })?;
        self.set_apart(node)?;
        Ok(node)
    }
}
