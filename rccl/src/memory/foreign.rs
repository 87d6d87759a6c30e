//! The same for memory of other code: CUDA's with NCCL, or HIP's through its C functions.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;

use super::library::{self, Part, Registration};
#[cfg(feature = "one-sided")]
use super::one_sided;
#[cfg(feature = "one-sided")]
use crate::element::DataType;
use crate::error::{Error, Result};
use crate::foreign::Communicator;

/// Memory that the library has allocated on the current device (`ncclMemAlloc`).
#[derive(Debug)]
#[must_use = "it is leaked unless it is freed"]
pub struct ForeignMemory {
    address: *mut c_void,
}

impl ForeignMemory {
    /// Allocates `bytes` bytes on the current device of this thread.
    ///
    /// # Errors
    /// [`Error::Invalid`] for 0 bytes; [`Error::NoLibrary`], [`Error::NoSymbol`]; an error from the library.
    #[doc(alias = "ncclMemAlloc")]
    pub fn allocate(bytes: usize) -> Result<Self> {
        crate::library::settle()?;
        if bytes == 0 {
            return Err(Error::invalid("the bytes to allocate", "0", "1 or more"));
        }
        Ok(Self { address: library::allocate(bytes)? })
    }

    /// Returns the address.
    #[must_use]
    pub fn address(&self) -> *mut c_void {
        self.address
    }

    /// Frees the memory (`ncclMemFree`).
    ///
    /// # Errors
    /// An error from the library.
    ///
    /// # Safety
    /// Nothing may use the memory any more, and its device must be current.
    #[doc(alias = "ncclMemFree")]
    pub unsafe fn free(self) -> Result<()> {
        // SAFETY: as the caller ensures; freed once.
        unsafe { library::free(self.address) }
    }
}

/// Memory of other code that is registered with a communicator.
/// [`Communicator::register`](crate::foreign::Communicator::register) and
/// [`Communicator::window`](crate::foreign::Communicator::window) create it. Dropping it deregisters the memory.
#[must_use = "the memory is deregistered when this is dropped"]
pub struct ForeignRegistration<'a> {
    registration: Registration,
    _communicator: PhantomData<&'a Communicator>,
}

impl ForeignRegistration<'_> {
    /// Returns whether the library uses the registration.
    #[must_use]
    pub fn is_used(&self) -> bool {
        !self.registration.raw().is_null()
    }

    /// Deregisters the memory, once. No queued work may use it any more.
    ///
    /// # Errors
    /// An error from the library, which may then continue to use the memory.
    pub fn end(mut self) -> Result<()> {
        self.registration.end()
    }
}

impl fmt::Debug for ForeignRegistration<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForeignRegistration").field("is_used", &self.is_used()).finish_non_exhaustive()
    }
}

/// # Registered memory
impl Communicator {
    fn part(&self, address: *mut c_void, bytes: usize) -> Result<Part<'_>> {
        if address.is_null() || bytes == 0 {
            return Err(Error::invalid("the memory to register", format!("{bytes} bytes at {address:?}"), "not empty"));
        }
        Ok(Part { handle: &self.handle, device: None, address, bytes })
    }

    /// Registers memory with the library (`ncclCommRegister`), on this rank only.
    ///
    /// # Errors
    /// [`Error::Invalid`] for null and for 0 bytes; [`Error::NoSymbol`]; [`Error::Aborted`]; an error from the library.
    ///
    /// # Safety
    /// The memory must have this many bytes on the communicator's device, and stay until the registration has ended. At
    /// that time, no queued work may use it.
    #[doc(alias("ncclCommRegister", "ncclCommDeregister"))]
    pub unsafe fn register(&self, address: *mut c_void, bytes: usize) -> Result<ForeignRegistration<'_>> {
        let part = self.part(address, bytes)?;
        // SAFETY: as the caller ensures.
        let registration = unsafe { Registration::of_buffer(part)? };
        Ok(ForeignRegistration { registration, _communicator: PhantomData })
    }

    /// Registers memory of each rank with all ranks (`ncclCommWindowRegister`): all ranks must call it, in the same
    /// order, each on its own thread.
    ///
    /// # Errors
    /// The errors of [`register`](Self::register); [`Error::Timeout`] if a rank is missing.
    ///
    /// # Safety
    /// The requirements of [`register`](Self::register). All ranks must pass the same number of bytes, and the same
    /// `symmetric`. The memory of a symmetric window must have the same offset from the start of its allocation on all
    /// ranks.
    #[doc(alias("ncclCommWindowRegister", "ncclCommWindowDeregister"))]
    pub unsafe fn window(
        &self,
        address: *mut c_void,
        bytes: usize,
        symmetric: bool,
    ) -> Result<ForeignRegistration<'_>> {
        library::expect("ncclCommWindowRegister")?;
        let part = self.part(address, bytes)?;
        // SAFETY: as the caller ensures.
        let mut made = unsafe { Registration::of_windows(&[part], symmetric)? };
        let registration = made.pop().ok_or_else(super::nothing)?;
        Ok(ForeignRegistration { registration, _communicator: PhantomData })
    }
}

/// # One-sided operations
#[cfg(feature = "one-sided")]
#[cfg_attr(docsrs, doc(cfg(feature = "one-sided")))]
impl Communicator {
    /// Writes `count` elements to a rank's window, starting at byte `offset`, and signals the rank (`ncclPutSignal`).
    /// Without elements, it only signals. Since ROCm 10.0, NCCL 2.29.
    ///
    /// `window` is this rank's part of the window, which must be symmetric. The elements must be in a symmetric window
    /// of this communicator: this one or another.
    ///
    /// The first one-sided operation of a communicator may wait for that of every other rank (NCCL 2.29 does): all
    /// ranks must start with one, each on its own thread.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a rank that does not exist, for memory that is not in such a window, and for elements
    /// beyond the window's end; [`Error::NoSymbol`]; [`Error::Aborted`]; an error from the library.
    ///
    /// # Safety
    /// The stream must be alive, and of the communicator's device. The elements must not change until the stream's work
    /// is done, and the peer's window must stay until then.
    #[doc(alias = "ncclPutSignal")]
    pub unsafe fn put(
        &self,
        stream: *mut c_void,
        window: &ForeignRegistration<'_>,
        (send, count, data_type): (*const c_void, usize, DataType),
        peer: usize,
        offset: usize,
    ) -> Result<()> {
        let put = one_sided::Put { window: &window.registration, send, count, data_type, peer, offset };
        // SAFETY: as the caller ensures.
        unsafe { one_sided::put(&self.handle, stream, &put) }
    }

    /// Signals a rank (`ncclSignal`). Since ROCm 10.0, NCCL 2.29.
    ///
    /// # Errors
    /// The errors of [`put`](Self::put).
    ///
    /// # Safety
    /// The stream must be alive, and of the communicator's device.
    #[doc(alias = "ncclSignal")]
    pub unsafe fn signal(&self, stream: *mut c_void, peer: usize) -> Result<()> {
        // SAFETY: as the caller ensures.
        unsafe { one_sided::signal(&self.handle, stream, peer) }
    }

    /// Makes the stream wait for this many signals from these ranks (`ncclWaitSignal`). Since ROCm 10.0, NCCL 2.29.
    ///
    /// If a signal never comes, the stream never continues: aborting the communicator does not end the wait, and only
    /// the end of the process does (NCCL 2.32).
    ///
    /// # Errors
    /// The errors of [`put`](Self::put); [`Error::Invalid`] for an empty list of ranks and for 0 signals.
    ///
    /// # Safety
    /// The stream must be alive, and of the communicator's device.
    #[doc(alias = "ncclWaitSignal")]
    pub unsafe fn wait_signals(&self, stream: *mut c_void, signals: &[(usize, usize)]) -> Result<()> {
        // SAFETY: as the caller ensures.
        unsafe { one_sided::wait(&self.handle, stream, signals) }
    }
}
