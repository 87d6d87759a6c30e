//! Descriptions of copies, for graphs and batches.

use std::ffi::c_void;
use std::fmt;

use bytemuck::Pod;
use hip_sys::hipMemcpyKind;

use super::array::{ArraySlice, ArraySliceMut, Texel};
use super::box_copy::{End, copy_node};
use super::{Extent, IntoSlice, IntoSliceMut, PinnedSlice, PinnedSliceMut, PitchedSlice, PitchedSliceMut, same_len};
use crate::core::device::Device;
#[cfg(doc)]
use crate::core::error::Error;
use crate::core::error::Result;
use crate::stream::usage::Access;

const WHAT: &str = "copy in a graph";

/// A copy for a graph: its source and destination.
pub struct GraphCopy<'a> {
    pub(crate) destination: *mut c_void,
    pub(crate) source: *mut c_void,
    pub(crate) bytes: usize,
    pub(crate) kind: hipMemcpyKind,
    pub(crate) device: Device,
    pub(crate) accesses: [Access<'a>; 2],
}

impl<'a> GraphCopy<'a> {
    /// Describes a copy from device memory to device memory, of one device.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::WrongDevice`].
    pub fn on_device<T: Pod>(destination: impl IntoSliceMut<'a, T>, source: impl IntoSlice<'a, T>) -> Result<Self> {
        let (destination, source) = (destination.into(), source.into());
        same_len(WHAT, destination.len(), source.len())?;
        destination.device().expect(source.device(), "the source")?;
        Ok(Self {
            destination: destination.pointer(),
            source: source.pointer(),
            bytes: destination.byte_len(),
            kind: hip_sys::hipMemcpyDeviceToDevice,
            device: destination.device(),
            accesses: [destination.access(), source.access()],
        })
    }

    /// Describes a copy from pinned host memory to device memory. Launch the graph with
    /// [`launch_with_host_memory`](crate::GraphExec::launch_with_host_memory).
    ///
    /// # Errors
    /// [`Error::Length`].
    pub fn from_pinned<T: Pod>(
        destination: impl IntoSliceMut<'a, T>,
        source: impl Into<PinnedSlice<'a, T>>,
    ) -> Result<Self> {
        let (destination, source) = (destination.into(), source.into());
        same_len(WHAT, destination.len(), source.len())?;
        let _admitted = source.admit(destination.device(), "the source")?;
        Ok(Self {
            destination: destination.pointer(),
            source: source.pointer(),
            bytes: destination.byte_len(),
            kind: hip_sys::hipMemcpyHostToDevice,
            device: destination.device(),
            accesses: [destination.access(), source.access()],
        })
    }

    /// Describes a copy from device memory to pinned host memory. Launch the graph with
    /// [`launch_with_host_memory`](crate::GraphExec::launch_with_host_memory).
    ///
    /// # Errors
    /// [`Error::Length`].
    pub fn to_pinned<T: Pod>(
        destination: impl Into<PinnedSliceMut<'a, T>>,
        source: impl IntoSlice<'a, T>,
    ) -> Result<Self> {
        let (destination, source) = (destination.into(), source.into());
        same_len(WHAT, destination.len(), source.len())?;
        let _admitted = destination.admit(source.device(), "the destination")?;
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
pub struct GraphCopy3d<'a> {
    pub(crate) to: End,
    pub(crate) from: End,
    pub(crate) extent: Extent,
    pub(crate) element_bytes: usize,
    pub(crate) device: Device,
    pub(crate) accesses: [Access<'a>; 2],
}

/// One side of a copy: its place, extent, device and access.
type Side<'a> = (End, Extent, Device, Access<'a>);

impl<'a> GraphCopy3d<'a> {
    /// Describes a copy between pitched memory of the same extent.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the extents differ, [`Error::WrongDevice`].
    pub fn pitched<T: Pod>(
        destination: PitchedSliceMut<'a, T>,
        source: impl Into<PitchedSlice<'a, T>>,
    ) -> Result<Self> {
        let source = source.into();
        Self::new::<T>(
            (destination.end(), destination.extent(), destination.device(), destination.access()),
            (source.end(), source.extent(), source.device(), source.access()),
        )
    }

    /// Describes a copy from pitched memory to an array.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the extents differ, [`Error::WrongDevice`].
    pub fn to_array<T: Texel>(
        destination: impl Into<ArraySliceMut<'a, T>>,
        source: impl Into<PitchedSlice<'a, T>>,
    ) -> Result<Self> {
        let (destination, source) = (destination.into(), source.into());
        Self::new::<T>(
            (destination.end(), destination.extent(), destination.device(), destination.access()),
            (source.end(), source.extent(), source.device(), source.access()),
        )
    }

    /// Describes a copy from an array to pitched memory.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the extents differ, [`Error::WrongDevice`].
    pub fn from_array<T: Texel>(
        destination: PitchedSliceMut<'a, T>,
        source: impl Into<ArraySlice<'a, T>>,
    ) -> Result<Self> {
        let source = source.into();
        Self::new::<T>(
            (destination.end(), destination.extent(), destination.device(), destination.access()),
            (source.end(), source.extent(), source.device(), source.access()),
        )
    }

    fn new<T>(destination: Side<'a>, source: Side<'a>) -> Result<Self> {
        let ((to, extent, device, write), (from, source_extent, source_device, read)) = (destination, source);
        extent.expect_source(source_extent)?;
        device.expect(source_device, "the source")?;
        Ok(Self { to, from, extent, element_bytes: size_of::<T>(), device, accesses: [write, read] })
    }

    /// Returns the C parameters.
    pub(crate) fn parameters(&self) -> hip_sys::hipMemcpy3DParms {
        copy_node(self.to, self.from, self.extent, self.element_bytes, hip_sys::hipMemcpyDeviceToDevice)
    }
}

impl fmt::Debug for GraphCopy3d<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a copy of {} elements of {} bytes", self.extent, self.element_bytes)
    }
}
