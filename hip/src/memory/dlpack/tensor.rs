//! Tensors: memory with a shape, of this crate or of other code.

use std::fmt;
use std::ops::Deref;

use super::abi::{DLDataType, Kinds};
use super::{Element, Layout};
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::memory::{Allocation, DeviceBuffer, DevicePtr, PinnedBuffer, byte_len};
use crate::stream::Stream;
use crate::stream::usage::{Access, AccessKind};

/// A tensor: device memory or pinned host memory, with a shape. It owns the memory, as a buffer does.
pub struct Tensor {
    pub(super) memory: Allocation,
    pub(super) pinned: bool,
    pub(super) data_type: DLDataType,
    pub(super) layout: Layout,
    pub(super) read_only: bool,
    /// Whether a stream, instead of the host, waits for the work on the memory.
    pub(super) ordered: bool,
}

/// Read-only memory, of a tensor that is marked so.
pub struct ReadOnly<B>(B);

impl<B> Deref for ReadOnly<B> {
    type Target = B;

    fn deref(&self) -> &B {
        &self.0
    }
}

impl<B: fmt::Debug> fmt::Debug for ReadOnly<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReadOnly").field(&self.0).finish()
    }
}

impl Tensor {
    /// Creates a tensor of all elements of a buffer, in row-major order.
    ///
    /// # Errors
    /// [`Error::Length`] if the shape has another number of elements than the buffer; [`Error::InvalidValue`] if its
    /// number of elements overflows.
    pub fn from_buffer<T: Element>(buffer: DeviceBuffer<T>, shape: &[usize]) -> Result<Self> {
        let len = buffer.len();
        Self::new::<T>(buffer.into_allocation(), len, shape, false)
    }

    /// Creates a tensor of all elements of pinned host memory, in row-major order.
    ///
    /// # Errors
    /// Those of [`from_buffer`](Self::from_buffer).
    pub fn from_pinned<T: Element>(buffer: PinnedBuffer<T>, shape: &[usize]) -> Result<Self> {
        let len = buffer.len();
        Self::new::<T>(buffer.into_allocation(), len, shape, true)
    }

    fn new<T: Element>(memory: Allocation, len: usize, shape: &[usize], pinned: bool) -> Result<Self> {
        let layout = Layout::contiguous(shape)?;
        if layout.len() != len {
            return Err(Error::Length { what: "a buffer as a tensor", destination: layout.len(), source_len: len });
        }
        Ok(Self { memory, pinned, data_type: T::DATA_TYPE, layout, read_only: false, ordered: false })
    }

    /// Changes the element type to another one of the same size, such as [`DLDataType::BOOL`] for `u8` (all of which
    /// must be 0 or 1 then).
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the types differ in size.
    pub fn with_data_type(mut self, data_type: DLDataType) -> Result<Self> {
        if data_type.bytes() != self.data_type.bytes() {
            return Err(Error::InvalidValue {
                what: "another type for a tensor",
                value: data_type.to_string(),
                allowed: format!("as large as {}", self.data_type),
            });
        }
        self.data_type = data_type;
        Ok(self)
    }

    /// Returns shape and strides.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the type of the elements.
    #[must_use]
    pub fn data_type(&self) -> DLDataType {
        self.data_type
    }

    /// Returns the device that the memory is on, or in whose context it is pinned.
    #[must_use]
    pub fn device(&self) -> Device {
        self.memory.device
    }

    /// Returns [`DL_ROCM`](super::DL_ROCM), or [`DL_ROCM_HOST`](super::DL_ROCM_HOST) for pinned host memory; on NVIDIA's
    /// GPUs, [`DL_CUDA`](super::DL_CUDA) and [`DL_CUDA_HOST`](super::DL_CUDA_HOST).
    #[must_use]
    pub fn device_type(&self) -> i32 {
        let kinds = Kinds::in_use();
        if self.pinned { kinds.pinned } else { kinds.device }
    }

    /// Returns whether the elements are read-only ([`FLAG_READ_ONLY`](super::FLAG_READ_ONLY)).
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Returns the address of the element with all indices 0. The tensor does not track accesses through it.
    #[must_use]
    pub fn as_device_ptr(&self) -> DevicePtr<u8> {
        DevicePtr::from_address(self.address() as u64)
    }

    pub(super) fn address(&self) -> *mut std::ffi::c_void {
        if self.pinned { self.memory.host } else { self.memory.pointer }
    }

    /// Makes `stream` wait for all tracked work on the memory, so that exporting the tensor does not block the host.
    /// The importer must use `stream`, or order its work after it.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] for a stream of a device that cannot use the memory.
    pub fn order_before(&mut self, stream: &Stream) -> Result<()> {
        let _admitted = self.memory.admit(stream.device(), AccessKind::Write, "the tensor")?;
        stream.inner.refuse_captured("giving a tensor away")?;
        stream.inner.submit(&[Access::write(&self.memory.usage)], None, |_| Ok(()))?;
        self.ordered = true;
        Ok(())
    }

    /// Converts to a buffer of the elements.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if they are of another type than `T`, have gaps between them (use
    /// [`into_span`](Self::into_span)), are read-only, not aligned for `T`, or in host memory. The tensor is released
    /// then.
    pub fn into_buffer<T: Element>(self) -> Result<DeviceBuffer<T>> {
        self.expect_contiguous()?;
        Ok(self.into_span()?.0)
    }

    /// Like [`into_buffer`](Self::into_buffer), for a tensor that may be read-only.
    ///
    /// # Errors
    /// Those of [`into_buffer`](Self::into_buffer), except for read-only elements.
    pub fn into_read_only_buffer<T: Element>(mut self) -> Result<ReadOnly<DeviceBuffer<T>>> {
        self.read_only = false;
        self.into_buffer().map(ReadOnly)
    }

    /// Converts to a buffer of the span of memory that the tensor covers, gaps included, and the layout that locates
    /// its elements.
    ///
    /// # Errors
    /// Those of [`into_buffer`](Self::into_buffer), except for gaps.
    pub fn into_span<T: Element>(self) -> Result<(DeviceBuffer<T>, Layout)> {
        let len = self.check::<T>(false)?;
        Ok((DeviceBuffer::from_allocation(self.memory, len), self.layout))
    }

    /// Converts to pinned host memory.
    ///
    /// # Errors
    /// Those of [`into_buffer`](Self::into_buffer), except that the elements must be in host memory.
    pub fn into_pinned<T: Element>(self) -> Result<PinnedBuffer<T>> {
        self.expect_contiguous()?;
        let len = self.check::<T>(true)?;
        Ok(PinnedBuffer::from_allocation(self.memory, len))
    }

    fn expect_contiguous(&self) -> Result<()> {
        if self.layout.is_contiguous() {
            return Ok(());
        }
        Err(Error::InvalidValue {
            what: "a tensor that is to be a buffer",
            value: format!("of strides {:?} and shape {:?}", self.layout.strides(), self.layout.shape()),
            allowed: "row after row with no gaps".to_owned(),
        })
    }

    /// Returns the number of elements of `T` that the memory holds, gaps included.
    fn check<T: Element>(&self, pinned: bool) -> Result<usize> {
        let refused = |value: String, allowed: String| {
            Err(Error::InvalidValue { what: "a tensor that is to be a buffer", value, allowed })
        };
        if self.pinned != pinned {
            let place = |pinned| if pinned { "in the host's memory" } else { "in a device's memory" };
            return refused(place(self.pinned).to_owned(), place(pinned).to_owned());
        }
        if !T::takes(self.data_type) {
            return refused(format!("of {}", self.data_type), T::DATA_TYPE.to_string());
        }
        if self.read_only {
            return refused("read-only".to_owned(), "one that may be written to".to_owned());
        }
        let Some(len) = self.layout.span() else {
            return refused(format!("of strides {:?}", self.layout.strides()), "none below 0".to_owned());
        };
        byte_len::<T>(len)?;
        let address = self.address();
        if len != 0 && address.addr() % align_of::<T>() != 0 {
            return refused(format!("at {address:p}"), format!("at a multiple of {}", align_of::<T>()));
        }
        Ok(len)
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tensor")
            .field("type", &format_args!("{}", self.data_type))
            .field("shape", &self.layout.shape())
            .field("strides", &self.layout.strides())
            .field("device", &self.memory.device.index())
            .field("pinned", &self.pinned)
            .field("read_only", &self.read_only)
            .field("address", &self.as_device_ptr())
            .finish()
    }
}
