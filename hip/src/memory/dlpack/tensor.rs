//! Memory with a shape, ours or somebody else's.

use std::fmt;
use std::ops::Deref;

use super::abi::{DL_ROCM, DL_ROCM_HOST, DLDataType};
use super::{Element, Layout};
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::memory::{Allocation, DeviceBuffer, DevicePtr, PinnedBuffer, byte_len};
use crate::stream::Stream;
use crate::stream::usage::{Access, AccessKind};

/// A tensor: memory of a device, or pinned memory of the host, with a shape. It owns the memory, as a buffer does.
pub struct Tensor {
    pub(super) memory: Allocation,
    pub(super) pinned: bool,
    pub(super) data_type: DLDataType,
    pub(super) layout: Layout,
    pub(super) read_only: bool,
    /// Whether a stream, in place of the host, waits for the work on the memory.
    pub(super) ordered: bool,
}

/// Memory that is there to be read: of a tensor that is marked so.
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
    /// All elements of a buffer, row after row.
    ///
    /// # Errors
    /// [`Error::Length`] if the shape has another number of elements than the buffer; [`Error::InvalidValue`] if it has too many for anything.
    pub fn from_buffer<T: Element>(buffer: DeviceBuffer<T>, shape: &[usize]) -> Result<Self> {
        let len = buffer.len();
        Self::new::<T>(buffer.into_allocation(), len, shape, false)
    }

    /// All elements of pinned host memory, row after row.
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

    /// The same bytes under another type's name, such as [`DLDataType::BOOL`] for `u8` (each of which is then 0 or 1).
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if its elements have another size.
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

    /// Shape and strides.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// What the elements are.
    #[must_use]
    pub fn data_type(&self) -> DLDataType {
        self.data_type
    }

    /// The device that the memory is on, or in whose context it is pinned.
    #[must_use]
    pub fn device(&self) -> Device {
        self.memory.device
    }

    /// [`DL_ROCM`], or [`DL_ROCM_HOST`] for pinned memory of the host.
    #[must_use]
    pub fn device_type(&self) -> i32 {
        if self.pinned { DL_ROCM_HOST } else { DL_ROCM }
    }

    /// Whether nobody may write to the elements ([`FLAG_READ_ONLY`](super::FLAG_READ_ONLY)).
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// The address of the element with all indices 0. What is done with it is unknown to the tensor.
    #[must_use]
    pub fn as_device_ptr(&self) -> DevicePtr<u8> {
        DevicePtr::from_address(self.address() as u64)
    }

    pub(super) fn address(&self) -> *mut std::ffi::c_void {
        if self.pinned { self.memory.host } else { self.memory.pointer }
    }

    /// Makes `stream` wait for all work on the memory that this crate knows of, so that the host need not when the tensor is given
    /// away: its taker works on `stream`, or orders its work after it.
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

    /// The elements as a buffer.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if they are of another type than `T`, have gaps between them ([`into_span`](Self::into_span)
    /// takes these), are read-only, not aligned for `T`, or in the host's memory. The tensor is given back then.
    pub fn into_buffer<T: Element>(self) -> Result<DeviceBuffer<T>> {
        self.expect_contiguous()?;
        Ok(self.into_span()?.0)
    }

    /// As [`into_buffer`](Self::into_buffer), for a tensor that is there to be read.
    ///
    /// # Errors
    /// Those of [`into_buffer`](Self::into_buffer), but for the last.
    pub fn into_read_only_buffer<T: Element>(mut self) -> Result<ReadOnly<DeviceBuffer<T>>> {
        self.read_only = false;
        self.into_buffer().map(ReadOnly)
    }

    /// A buffer from the tensor's first element in memory to its last, with whatever is in gaps between them, and where in it what is.
    ///
    /// # Errors
    /// Those of [`into_buffer`](Self::into_buffer), but for gaps.
    pub fn into_span<T: Element>(self) -> Result<(DeviceBuffer<T>, Layout)> {
        let len = self.check::<T>(false)?;
        Ok((DeviceBuffer::from_allocation(self.memory, len), self.layout))
    }

    /// The elements as pinned memory of the host.
    ///
    /// # Errors
    /// Those of [`into_buffer`](Self::into_buffer), but that they must be in the host's memory.
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

    /// The elements of `T` that the memory holds, gaps included.
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
