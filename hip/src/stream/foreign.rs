//! Streams that other code has created.

use hip_sys::{hipDevice_t, hipStream_t};

use super::handle::Stream;
use super::inner::{StreamInner, is_default};
use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::{Error, Result};

impl Stream {
    /// Takes ownership of a stream that other code has created on `device`: it is destroyed (`hipStreamDestroy`) after
    /// its last handle, and the last buffer that the stream still works on, are dropped.
    /// [`borrow_raw`](Self::borrow_raw) does not take ownership.
    ///
    /// Work of this crate is ordered as on every stream. Work that the other code queues on the stream runs in the
    /// stream's order too: [`synchronize`](Self::synchronize) waits for it, and so does every wait for later work of
    /// the stream. Otherwise, work queued by other code is not tracked. If it touches the memory of a buffer that this
    /// crate uses on another stream or on the host, order it yourself, with an event or a wait.
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
    /// [`Error::InvalidValue`] for null and the other special handles (`hipStreamLegacy`, `hipStreamPerThread`): use
    /// [`Device::default_stream`] and [`Stream::per_thread`]. [`Error::WrongDevice`] for a stream of another device. On
    /// error, the caller keeps ownership.
    ///
    /// # Safety
    /// `raw` must be a live stream. No other code may destroy it, or use it once the handles and buffers named above
    /// may have been dropped. While this crate queues work on it or waits for it, only [`Stream::capture`] may capture
    /// it.
    #[doc(alias("hipStreamDestroy", "cuStreamDestroy", "cudaStreamDestroy"))]
    pub unsafe fn from_raw(device: &Device, raw: hipStream_t) -> Result<Self> {
        expect_of(device, raw)?;
        let inner = StreamInner::new(raw, *device);
        inner.hand_out();
        Ok(Self { inner })
    }

    /// Like [`from_raw`](Self::from_raw), but does not take ownership: the stream is not destroyed.
    ///
    /// # Errors
    /// Those of [`from_raw`](Self::from_raw).
    ///
    /// # Safety
    /// `raw` must be a live stream, and stay alive until every handle derived from this one is dropped, every buffer
    /// that was allocated in its order ([`DeviceBuffer::uninit_async`](crate::DeviceBuffer::uninit_async) and the like)
    /// is dropped, and the work queued through this crate is known to be over: one of the handles was [waited
    /// for](Self::synchronize) after the last of it. While this crate queues work on it or waits for it, only
    /// [`Stream::capture`] may capture it.
    pub unsafe fn borrow_raw(device: &Device, raw: hipStream_t) -> Result<Self> {
        expect_of(device, raw)?;
        Ok(Self { inner: StreamInner::borrowed(raw, *device) })
    }
}

/// Returns `Ok` if the stream `raw` belongs to `device`. It must be alive.
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
