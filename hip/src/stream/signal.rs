//! Words in memory that streams wait for and write to.

use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use std::ffi::c_void;

use super::usage::{Access, Usage};
use crate::core::attribute::DeviceAttribute;
use crate::core::call::check;
use crate::core::context;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::core::nvidia;

/// A 64-bit word that streams and the host can wait for and write to (`hipExtMallocWithFlags`,
/// `hipMallocSignalMemory`; on NVIDIA's GPUs, pinned memory).
///
/// It is to streams as an atomic is to threads: all may read and write it at any time, and this crate does not order
/// these accesses. A stream that waits for a value that is never written never ends, and neither does a wait for that
/// stream, including dropping the signal. Streams share the device's hardware queues (four by default), and a wait
/// blocks its whole queue. So the value should be written by the host, by another device, or by earlier work of the
/// same stream; another stream's write may be stuck behind the wait. A thread that frees memory meanwhile waits for the
/// device and holds locks that other calls need; [`Signal::store`] needs none.
///
/// ```
/// # fn main() -> hip::Result<()> {
/// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
/// use hip::{Device, Stream};
/// use hip::stream::{Signal, WaitCondition};
///
/// let device = Device::get(0)?;
/// let signal = match Signal::new(&device, 0) {
///     Ok(signal) => signal,
///     Err(error) => { eprintln!("not on this device: {error}"); return Ok(()) }
/// };
/// let stream = Stream::new(&device)?;
/// match stream.wait_signal(&signal, WaitCondition::AtLeast(2)) {
///     Err(error) if error.status() == Some(hip::Status::NOT_SUPPORTED) => return Ok(()),
///     other => other?,
/// }
/// assert!(!stream.is_idle()?);
/// signal.store(2)?;
/// stream.synchronize()?;
/// # Ok(()) }
/// ```
#[doc(alias("hipExtMallocWithFlags"))]
pub struct Signal {
    pointer: *mut AtomicU64,
    device: Device,
    usage: Usage,
}

// SAFETY: the word is only accessed atomically, by the host and by devices; freed in Drop, after all work that uses it.
unsafe impl Send for Signal {}
// SAFETY: as above.
unsafe impl Sync for Signal {}

/// The condition of [`Stream::wait_signal`](super::Stream::wait_signal).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitCondition {
    /// The word minus this value, as a signed number, is not negative (`hipStreamWaitValueGte`).
    AtLeast(u64),
    /// The word equals this value (`hipStreamWaitValueEq`).
    Equal(u64),
    /// At least one of these bits is set (`hipStreamWaitValueAnd`).
    AnyBit(u64),
    /// At least one bit is clear in both the word and this value (`hipStreamWaitValueNor`).
    Nor(u64),
}

impl WaitCondition {
    pub(super) fn raw(self) -> (u64, u32) {
        match self {
            Self::AtLeast(value) => (value, hip_sys::hipStreamWaitValueGte),
            Self::Equal(value) => (value, hip_sys::hipStreamWaitValueEq),
            Self::AnyBit(value) => (value, hip_sys::hipStreamWaitValueAnd),
            Self::Nor(value) => (value, hip_sys::hipStreamWaitValueNor),
        }
    }
}

impl Signal {
    /// Creates a signal with an initial value.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if streams of the device do not support waiting for values.
    pub fn new(device: &Device, value: u64) -> Result<Self> {
        if device.attribute(DeviceAttribute::CAN_USE_STREAM_WAIT_VALUE)? == 0 {
            return Err(Error::Unsupported {
                what: "waiting for a value in a stream",
                reason: format!("device {} says that it cannot", device.index()),
            });
        }
        device.activate()?;
        let mut raw: *mut c_void = ptr::null_mut();
        let bytes = size_of::<u64>();
        let describe = || format!("a signal on device {}", device.index());
        if nvidia::is_in_use() {
            // NVIDIA's driver has no signal memory. Its streams wait for any word of pinned memory.
            // SAFETY: `raw` is valid for a write.
            check(unsafe { hip_sys::hipHostMalloc(&mut raw, bytes, 0) }, "hipHostMalloc", describe)?;
        } else {
            // SAFETY: `raw` is valid for a write; signal memory is always of 8 bytes.
            let status = unsafe { hip_sys::hipExtMallocWithFlags(&mut raw, bytes, hip_sys::hipMallocSignalMemory) };
            check(status, "hipExtMallocWithFlags", describe)?;
        }
        let signal = Self { pointer: raw.cast(), device: *device, usage: Usage::default() };
        signal.store(value)?;
        Ok(signal)
    }

    /// Returns the current value.
    ///
    /// # Errors
    /// [`Error::ForkedChild`] in the child of a `fork`, which may not have the memory.
    pub fn load(&self) -> Result<u64> {
        Ok(self.word()?.load(Ordering::Acquire))
    }

    /// Sets the value from the host, which releases the streams that wait for it. Does not call the runtime, so a host
    /// function may use it too.
    ///
    /// # Errors
    /// That of [`load`](Self::load).
    pub fn store(&self, value: u64) -> Result<()> {
        self.word()?.store(value, Ordering::Release);
        Ok(())
    }

    /// Returns the address for devices.
    pub(super) fn pointer(&self) -> *mut c_void {
        self.pointer.cast()
    }

    /// Tickets count every use as a read: they keep the memory, and order nothing.
    pub(super) fn access(&self) -> Access<'_> {
        Access::read(&self.usage)
    }

    fn word(&self) -> Result<&AtomicU64> {
        if context::is_forked() {
            return Err(Error::ForkedChild);
        }
        // SAFETY: 8 aligned bytes of the runtime's signal memory or of pinned memory: host memory, alive until Drop. This process is not a
        // forked child, as checked above.
        Ok(unsafe { &*self.pointer })
    }

    /// Returns the device.
    #[must_use]
    pub fn device(&self) -> Device {
        self.device
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        let (address, device) = (self.pointer.expose_provenance(), self.device);
        self.usage.release_when_idle(device, move || {
            if device.activate().is_ok() {
                let raw: *mut c_void = ptr::with_exposed_provenance_mut(address);
                // SAFETY: from hipHostMalloc or hipExtMallocWithFlags, as in `new`; not freed yet, and no work uses it anymore.
                let _ = unsafe { if nvidia::is_in_use() { hip_sys::hipHostFree(raw) } else { hip_sys::hipFree(raw) } };
            }
        });
    }
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signal").field("device", &self.device.index()).field("value", &self.load().ok()).finish()
    }
}
