//! Fills of two and three dimensions.

use bytemuck::Pod;
use hip_sys::{hipExtent, hipStream_t};

use super::super::fill::{Pattern, fill_linear};
use super::PitchedSliceMut;
use crate::core::call::check;
use crate::core::error::Result;
use crate::core::trace;
use crate::stream::Stream;

impl<T: Pod> PitchedSliceMut<'_, T> {
    /// Queues a fill with `value`. Padding between the rows does not change.
    ///
    /// A value that repeats one byte (such as any zero) takes one `hipMemset2DAsync` or `hipMemset3DAsync`. Any other
    /// value fills the first row (see [`DeviceSliceMut::fill_async`](crate::DeviceSliceMut::fill_async)), which is then
    /// copied to the others on the device.
    ///
    /// # Errors
    /// [`WrongDevice`](crate::Error::WrongDevice) if the stream is on another device.
    #[doc(alias("hipMemset2DAsync", "cudaMemset2DAsync"))]
    #[doc(alias("hipMemset3DAsync", "cudaMemset3DAsync"))]
    pub fn fill_async(&mut self, stream: &Stream, value: T) -> Result<()> {
        let _admitted = self.admit(stream.device(), "the destination")?;
        if self.extent().is_empty() {
            return Ok(());
        }
        let row = self.extent().width * size_of::<T>();
        trace::fill(self.device(), stream.inner.id(), row * self.extent().height * self.extent().depth);
        stream.inner.submit(&[self.access()], None, |raw| {
            let value = bytemuck::bytes_of(&value);
            if let Pattern::Bytes1(byte) = Pattern::of(value) {
                return self.set_bytes(byte, raw);
            }
            fill_linear(self.pointer(), value, row, raw)?;
            self.repeat_rows(raw)
        })
    }

    /// Fills with `value`, after all queued work that uses the buffer: [`fill_async`](Self::fill_async) on a private
    /// stream, and waits.
    #[doc(alias("hipMemset2D", "cudaMemset2D"))]
    #[doc(alias("hipMemset3D", "cudaMemset3D"))]
    pub fn fill(&mut self, value: T) -> Result<()> {
        let stream = self.device().blocking_stream()?;
        self.fill_async(&stream, value)?;
        stream.synchronize()
    }

    fn set_bytes(&self, byte: u8, stream: hipStream_t) -> Result<()> {
        let (side, extent) = (self.side(), self.extent());
        let row = extent.width * size_of::<T>();
        let asked = || format!("{extent} elements of {} bytes", size_of::<T>());
        if extent.depth == 1 {
            // SAFETY: the rows are inside of the slice, which has recorded the use and is not freed before it is over.
            let status =
                unsafe { hip_sys::hipMemset2DAsync(side.pointer, side.pitch, byte.into(), row, extent.height, stream) };
            return check(status, "hipMemset2DAsync", asked);
        }
        let bytes = hipExtent { width: row, height: extent.height, depth: extent.depth };
        // SAFETY: as above.
        let status = unsafe { hip_sys::hipMemset3DAsync(side.pitched(row), byte.into(), bytes, stream) };
        check(status, "hipMemset3DAsync", asked)
    }
}
