//! Streams that other code has made.

use hip_sys::{hipDevice_t, hipStream_t};

use super::inner::is_default;
use super::{Stream, StreamInner};
use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::{Error, Result};

impl Stream {
    /// Takes over a stream that other code has made on `device`: it is destroyed (`hipStreamDestroy`) when the last handle, and the last buffer
    /// that the stream still works on, are gone. [`borrow_raw`](Self::borrow_raw) leaves it to its owner.
    ///
    /// What comes in which order is as for every stream of this crate. What the other code has queued on the stream, or queues later, has its place
    /// in the stream too, and is waited for by [`synchronize`](Self::synchronize) and by whatever waits for later work of the stream.
    /// But no buffer knows of it: between what the other code does with the memory of a buffer on this stream and what this crate does with it on another
    /// stream or on the host there is no order, unless an event or a wait of the caller's makes one.
    ///
    /// ```
    /// # fn main() -> hip::Result<()> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// use hip::{Device, DeviceBuffer, Stream, sys};
    ///
    /// let device = Device::get(0)?;
    /// device.make_current()?;
    /// let mut raw = std::ptr::null_mut();
    /// // SAFETY: `raw` is valid for a write.
    /// assert_eq!(unsafe { sys::hipStreamCreate(&mut raw) }, sys::hipSuccess);
    ///
    /// // SAFETY: a stream of this device, which nobody destroys but the handle.
    /// let stream = unsafe { Stream::from_raw(&device, raw)? };
    /// let mut numbers = DeviceBuffer::<u32>::uninit(&device, 3)?;
    /// numbers.fill_async(&stream, 7)?;
    /// assert_eq!(numbers.to_vec()?, [7; 3]); // waits for the fill
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for null and the other handles that name no one stream (`hipStreamLegacy`, `hipStreamPerThread`): take
    /// [`Device::default_stream`] and [`Stream::per_thread`]. [`Error::WrongDevice`] for a stream of another device. The stream is still
    /// the caller's then.
    ///
    /// # Safety
    /// `raw` is a stream that is alive. Nobody else destroys it, or uses it when the handles and buffers named above may be gone. While this crate
    /// queues work on it or waits for it, nobody captures it but [`Stream::capture`].
    #[doc(alias("hipStreamDestroy", "cuStreamDestroy", "cudaStreamDestroy"))]
    pub unsafe fn from_raw(device: &Device, raw: hipStream_t) -> Result<Self> {
        expect_of(device, raw)?;
        let inner = StreamInner::new(raw, *device);
        inner.hand_out();
        Ok(Self { inner })
    }

    /// As [`from_raw`](Self::from_raw), for a stream that stays its owner's: it is not destroyed.
    ///
    /// # Errors
    /// Those of [`from_raw`](Self::from_raw).
    ///
    /// # Safety
    /// `raw` is a stream that is alive, and stays so until every handle that comes of this one is gone, every buffer that was allocated in its order
    /// ([`DeviceBuffer::uninit_async`](crate::DeviceBuffer::uninit_async) and the like) is gone, and what was queued on it by way of this crate is
    /// known to be over: one of the handles was [waited for](Self::synchronize) after the last of it. While this crate queues work
    /// on it or waits for it, nobody captures it but [`Stream::capture`].
    pub unsafe fn borrow_raw(device: &Device, raw: hipStream_t) -> Result<Self> {
        expect_of(device, raw)?;
        Ok(Self { inner: StreamInner::borrowed(raw, *device) })
    }
}

/// `Ok` if `raw`, which is alive if it is a stream, is one of `device`.
fn expect_of(device: &Device, raw: hipStream_t) -> Result<()> {
    if is_default(raw) {
        return Err(Error::InvalidValue {
            what: "a stream of other code",
            value: format!("{raw:p}, which stands for a default stream"),
            allowed: "one that was made: Device::default_stream and Stream::per_thread have the others".to_owned(),
        });
    }
    device.activate()?;
    let mut found: hipDevice_t = -1;
    // SAFETY: the caller's stream is alive; `found` is valid for a write.
    let status = unsafe { hip_sys::hipStreamGetDevice(raw, &mut found) };
    check(status, "hipStreamGetDevice", || format!("the stream {raw:p} of other code"))?;
    let found = Device::get(usize::try_from(found).unwrap_or(usize::MAX))?;
    device.expect(found, "the stream of other code")
}
