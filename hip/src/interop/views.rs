//! Memory of other code whose uses count as those of a tracked resource.

use bytemuck::Pod;
use hip_sys::hipArray_t;

use super::Tracked;
use crate::core::device::Device;
use crate::core::error::Result;
use crate::memory::array::{Array, ArrayShape, Texel};
use crate::memory::{DeviceBuffer, DevicePtr, DeviceSlice};

impl<T: Pod> DeviceBuffer<T> {
    /// Creates a buffer of `len` elements at an address of `device`'s memory that belong to a tracked resource: a
    /// workspace in a library's handle, a mapping of another API's object. Work on the buffer counts as use of
    /// `tracked`. Dropping the buffer neither frees nor waits.
    ///
    /// The owner of the memory must call [`Tracked::synchronize`], or use [`Tracked::release`], before it takes the
    /// memory back. For memory that lives as long as it is used, use
    /// [`from_raw_parts_with`](Self::from_raw_parts_with).
    ///
    /// ```
    /// # fn main() -> hip::Result<()> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// use hip::interop::Tracked;
    /// use hip::{Device, DeviceBuffer, Stream};
    ///
    /// let device = Device::get(0)?;
    /// let stream = Stream::new(&device)?;
    /// let theirs = DeviceBuffer::<u32>::zeroed(&device, 4)?; // stands for memory that another API has mapped
    /// let mapping = Tracked::without_graphs();
    /// // SAFETY: 4 elements, which stay until the mapping ends below, and which nobody else uses meanwhile.
    /// let mut view = unsafe { DeviceBuffer::from_raw_parts_tracked(&device, theirs.as_device_ptr(), 4, &mapping)? };
    /// view.fill_async(&stream, 7)?;
    /// drop(view);
    /// mapping.synchronize()?; // waits for the fill
    /// assert_eq!(theirs.to_vec()?, [7; 4]); // the other API can have it back
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidValue`](crate::Error::InvalidValue) for null, and for an address that is not aligned for `T`;
    /// [`Error::TooLarge`](crate::Error::TooLarge), [`Error::ZeroSizedType`](crate::Error::ZeroSizedType).
    ///
    /// # Safety
    /// `device` must be able to use `len` elements at the address as long as the buffer exists or queued work uses
    /// `tracked`. Meanwhile, other code may access them only in calls that name `tracked`, or in an order that the
    /// caller ensures.
    pub unsafe fn from_raw_parts_tracked(
        device: &Device,
        pointer: DevicePtr<T>,
        len: usize,
        tracked: &Tracked,
    ) -> Result<Self> {
        Self::of_other_code(device, pointer, len, tracked.0.shared())
    }
}

impl<T> DeviceSlice<'_, T> {
    /// Returns whether a live graph, or a capture in progress, uses the allocation of the slice. Such a graph can be
    /// launched at any later time and then reads or writes the memory: a pool must not reuse the memory. Dropping its
    /// buffer is allowed, as the graph keeps the memory.
    #[must_use]
    pub fn is_in_graph(&self) -> bool {
        self.usage().is_in_graph()
    }

    /// Returns an error unless only the owner or borrower of the memory can change the content of the slice. A library
    /// crate calls it *before* it checks content on which it then relies, such as the indices of a sparse matrix, and
    /// names the memory in its calls with [`Uses::read_trusted`](super::Uses::read_trusted). `what` names the content
    /// in errors, as a plural.
    ///
    /// Graphs are the reason: they write whenever they are launched, without a borrow. While the slice is borrowed, no
    /// graph can be captured that writes to it.
    ///
    /// ```
    /// # fn main() -> hip::Result<()> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// use hip::{Device, DeviceBuffer, Stream};
    ///
    /// let device = Device::get(0)?;
    /// let stream = Stream::new(&device)?;
    /// let mut indices = DeviceBuffer::from_slice(&device, &[0_u32, 2, 1])?;
    /// let graph = stream.capture(|stream| indices.fill_async(stream, 1000));
    /// # if graph.as_ref().is_err_and(|e| e.status() == Some(hip::Status::NOT_SUPPORTED)) { return Ok(()) }
    /// // The graph could be launched after the check.
    /// assert!(indices.as_slice().expect_unwritten("the indices").is_err());
    /// drop(graph);
    /// indices.as_slice().expect_unwritten("the indices")?;
    /// assert!(indices.to_vec()?.iter().all(|&index| index < 3)); // the check
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Graph`](crate::Error::Graph) if a graph that can still be launched, or a capture in progress, writes to
    /// the memory, and for memory that other code may write to at any time: a variable of a module, memory of a
    /// library's object ([`from_raw_parts_tracked`](crate::DeviceBuffer::from_raw_parts_tracked)).
    pub fn expect_unwritten(&self, what: &'static str) -> Result<()> {
        self.usage().expect_unwritten(self.span(), what)
    }
}

impl<T: Texel> Array<T> {
    /// Wraps an array of other code that belongs to a tracked resource: a mapped image of a graphics API. Work on the
    /// array counts as use of `tracked`. Dropping it neither frees nor waits: the owner must call
    /// [`Tracked::synchronize`], or use [`Tracked::release`], before it takes the array back.
    ///
    /// # Errors
    /// [`Error::InvalidValue`](crate::Error::InvalidValue) for null, and if the texels do not have the format of `T`
    /// (`hipArray3DGetDescriptor`); [`Error::Unsupported`](crate::Error::Unsupported) on a device without
    /// [images](Device::has_images).
    ///
    /// # Safety
    /// `raw` must be an array of this shape on `device`, as long as this exists or queued work uses `tracked`.
    /// Meanwhile, other code may access it only in calls that name `tracked`, or in an order that the caller ensures.
    pub unsafe fn from_raw_tracked(
        device: &Device,
        raw: hipArray_t,
        shape: ArrayShape,
        tracked: &Tracked,
    ) -> Result<Self> {
        // SAFETY: the caller ensures that it is an array of this shape on the device.
        unsafe { Self::of_other_code(raw, *device, shape, tracked.0.shared()) }
    }
}
