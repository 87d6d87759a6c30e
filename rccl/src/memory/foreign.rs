//! The same for memory of other code: CUDA's with NCCL, or HIP's by its C functions.

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

/// Memory of the device that was current, which the library has allocated (`ncclMemAlloc`).
#[derive(Debug)]
#[must_use = "it is leaked unless it is freed"]
pub struct ForeignMemory {
    address: *mut c_void,
}

impl ForeignMemory {
    /// So many bytes, on the current device of this thread.
    ///
    /// # Errors
    /// [`Error::Invalid`] for no bytes; [`Error::NoLibrary`], [`Error::NoSymbol`]; the library's.
    #[doc(alias = "ncclMemAlloc")]
    pub fn allocate(bytes: usize) -> Result<Self> {
        crate::library::settle()?;
        if bytes == 0 {
            return Err(Error::invalid("the bytes to allocate", "0", "1 or more"));
        }
        Ok(Self { address: library::allocate(bytes)? })
    }

    /// Its address.
    #[must_use]
    pub fn address(&self) -> *mut c_void {
        self.address
    }

    /// Frees it (`ncclMemFree`).
    ///
    /// # Errors
    /// The library's.
    ///
    /// # Safety
    /// Nothing uses it any more, and its device is current.
    #[doc(alias = "ncclMemFree")]
    pub unsafe fn free(self) -> Result<()> {
        // SAFETY: the caller's; freed once.
        unsafe { library::free(self.address) }
    }
}

/// Memory of other code that a communicator knows: of [`Communicator::register`](crate::foreign::Communicator::register) and
/// [`Communicator::window`](crate::foreign::Communicator::window). It is deregistered when it is dropped.
#[must_use = "the memory is deregistered when this is dropped"]
pub struct ForeignRegistration<'a> {
    registration: Registration,
    _communicator: PhantomData<&'a Communicator>,
}

impl ForeignRegistration<'_> {
    /// Whether the library uses it.
    #[must_use]
    pub fn is_used(&self) -> bool {
        !self.registration.raw().is_null()
    }

    /// Deregisters the memory, once. Nothing that is queued uses it any more.
    ///
    /// # Errors
    /// The library's: it may use the memory on then.
    pub fn end(mut self) -> Result<()> {
        self.registration.end()
    }
}

impl fmt::Debug for ForeignRegistration<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForeignRegistration").field("is_used", &self.is_used()).finish_non_exhaustive()
    }
}

/// # Memory that the library knows
impl Communicator {
    fn part(&self, address: *mut c_void, bytes: usize) -> Result<Part<'_>> {
        if address.is_null() || bytes == 0 {
            return Err(Error::invalid("the memory to register", format!("{bytes} bytes at {address:?}"), "not empty"));
        }
        Ok(Part { handle: &self.handle, device: None, address, bytes })
    }

    /// Has the library know memory (`ncclCommRegister`), on this rank alone.
    ///
    /// # Errors
    /// [`Error::Invalid`] for null and for no bytes; [`Error::NoSymbol`]; [`Error::Aborted`]; the library's.
    ///
    /// # Safety
    /// So many bytes of the communicator's device, which stay until the registration has ended. Nothing queued uses them then.
    #[doc(alias("ncclCommRegister", "ncclCommDeregister"))]
    pub unsafe fn register(&self, address: *mut c_void, bytes: usize) -> Result<ForeignRegistration<'_>> {
        let part = self.part(address, bytes)?;
        // SAFETY: the caller's.
        let registration = unsafe { Registration::of_buffer(part)? };
        Ok(ForeignRegistration { registration, _communicator: PhantomData })
    }

    /// Has all ranks know memory of each (`ncclCommWindowRegister`): all ranks call it, in the same order, each on a thread of its own.
    ///
    /// # Errors
    /// Those of [`register`](Self::register); [`Error::Timeout`] if not all ranks came.
    ///
    /// # Safety
    /// That of [`register`](Self::register). All ranks give as many bytes, and the same `symmetric`. The memory of a symmetric window has the same offset
    /// from the beginning of its allocation on all ranks.
    #[doc(alias("ncclCommWindowRegister", "ncclCommWindowDeregister"))]
    pub unsafe fn window(
        &self,
        address: *mut c_void,
        bytes: usize,
        symmetric: bool,
    ) -> Result<ForeignRegistration<'_>> {
        library::expect("ncclCommWindowRegister")?;
        let part = self.part(address, bytes)?;
        // SAFETY: the caller's.
        let mut made = unsafe { Registration::of_windows(&[part], symmetric)? };
        let registration = made.pop().ok_or_else(super::nothing)?;
        Ok(ForeignRegistration { registration, _communicator: PhantomData })
    }
}

/// # One-sided operations
#[cfg(feature = "one-sided")]
#[cfg_attr(docsrs, doc(cfg(feature = "one-sided")))]
impl Communicator {
    /// Writes `count` elements to a rank's window, from its byte `offset` on, and signals the rank (`ncclPutSignal`). No elements are a signal. Since
    /// ROCm 10.0, NCCL 2.29.
    ///
    /// `window` is this rank's part of the window, which is symmetric. The elements are in a symmetric window of this communicator: this one or another.
    ///
    /// The first one-sided operation of a communicator may wait for that of every other rank (NCCL 2.29 does): all ranks begin with one, each on a
    /// thread of its own.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a rank that is not there, for memory that is not in such a window, and for elements beyond the window's end;
    /// [`Error::NoSymbol`]; [`Error::Aborted`]; the library's.
    ///
    /// # Safety
    /// The stream is alive, and of the communicator's device. The elements are unchanged until the stream's work is done, and the peer's window stays
    /// until then.
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
        // SAFETY: the caller's.
        unsafe { one_sided::put(&self.handle, stream, &put) }
    }

    /// Signals a rank (`ncclSignal`). Since ROCm 10.0, NCCL 2.29.
    ///
    /// # Errors
    /// Those of [`put`](Self::put).
    ///
    /// # Safety
    /// The stream is alive, and of the communicator's device.
    #[doc(alias = "ncclSignal")]
    pub unsafe fn signal(&self, stream: *mut c_void, peer: usize) -> Result<()> {
        // SAFETY: the caller's.
        unsafe { one_sided::signal(&self.handle, stream, peer) }
    }

    /// Has the stream wait for so many signals of these ranks (`ncclWaitSignal`). Since ROCm 10.0, NCCL 2.29.
    ///
    /// If a signal never comes, the stream never goes on: aborting the communicator does not end the wait, and only the end of the process does
    /// (NCCL 2.32).
    ///
    /// # Errors
    /// Those of [`put`](Self::put); [`Error::Invalid`] for no ranks and for no signals.
    ///
    /// # Safety
    /// The stream is alive, and of the communicator's device.
    #[doc(alias = "ncclWaitSignal")]
    pub unsafe fn wait_signals(&self, stream: *mut c_void, signals: &[(usize, usize)]) -> Result<()> {
        // SAFETY: the caller's.
        unsafe { one_sided::wait(&self.handle, stream, signals) }
    }
}
