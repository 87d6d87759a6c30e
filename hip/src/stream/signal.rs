//! Words in memory that streams wait on and write to.

use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use std::ffi::c_void;

use crate::core::attribute::DeviceAttribute;
use crate::core::call::check;
use crate::core::context;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::stream::usage::{Access, Usage};

/// A 64-bit word that streams wait on and write to, as does the host (`hipExtMallocWithFlags`, `hipMallocSignalMemory`).
///
/// It is to streams as an atomic is to threads: everybody may read and write it at any time, and this crate orders nothing by it.
/// A stream that waits for a value which never comes waits for ever, and so does everything that waits for that stream, dropping
/// the signal included. Streams share the device's hardware queues (four by default), and a wait holds up its whole queue: let the
/// host or another device write the value, or work of the same stream in front of the wait; another stream's write may be stuck behind it.
/// A thread that frees memory meanwhile waits for the device, with locks that other calls need: [`Signal::store`] needs none.
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

// SAFETY: the word is only touched atomically, by the host and by devices; freed in Drop, after all work that uses it.
unsafe impl Send for Signal {}
// SAFETY: as above.
unsafe impl Sync for Signal {}

/// What a stream waits for in [`Stream::wait_signal`](super::Stream::wait_signal).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitCondition {
    /// Until the word minus this, as a signed number, is not negative (`hipStreamWaitValueGte`).
    AtLeast(u64),
    /// Until the word is this (`hipStreamWaitValueEq`).
    Equal(u64),
    /// Until one of these bits is set (`hipStreamWaitValueAnd`).
    AnyBit(u64),
    /// Until a bit is clear both in the word and in this (`hipStreamWaitValueNor`).
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
    /// A signal with a first value.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if streams of the device cannot wait for values.
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
        // SAFETY: `raw` is valid for a write; signal memory is always of 8 bytes.
        let status = unsafe { hip_sys::hipExtMallocWithFlags(&mut raw, bytes, hip_sys::hipMallocSignalMemory) };
        check(status, "hipExtMallocWithFlags", || format!("a signal on device {}", device.index()))?;
        let signal = Self { pointer: raw.cast(), device: *device, usage: Usage::default() };
        signal.store(value)?;
        Ok(signal)
    }

    /// Its value now.
    ///
    /// # Errors
    /// [`Error::ForkedChild`] in the child of a `fork`, which need not have the memory.
    pub fn load(&self) -> Result<u64> {
        Ok(self.word()?.load(Ordering::Acquire))
    }

    /// Sets it from the host: streams that wait for it go on. No call into the runtime: a host function may do it too.
    ///
    /// # Errors
    /// That of [`load`](Self::load).
    pub fn store(&self, value: u64) -> Result<()> {
        self.word()?.store(value, Ordering::Release);
        Ok(())
    }

    /// As devices see it.
    pub(super) fn pointer(&self) -> *mut c_void {
        self.pointer.cast()
    }

    /// Every use is a read to the tickets: they keep the memory, and order nothing.
    pub(super) fn access(&self) -> Access<'_> {
        Access::read(&self.usage)
    }

    fn word(&self) -> Result<&AtomicU64> {
        if context::is_forked() {
            return Err(Error::ForkedChild);
        }
        // SAFETY: 8 bytes of the runtime's signal memory, which is host memory and aligned; alive until Drop, and this process's, which is
        // no child of the one that has it.
        Ok(unsafe { &*self.pointer })
    }

    /// The device that it was made for.
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
                // SAFETY: from hipExtMallocWithFlags, not freed yet, and no work uses it any more.
                let _ = unsafe { hip_sys::hipFree(ptr::with_exposed_provenance_mut(address)) };
            }
        });
    }
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signal").field("device", &self.device.index()).field("value", &self.load().ok()).finish()
    }
}
