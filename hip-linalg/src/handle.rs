//! Handles of libraries: each belongs to one device, and works on one stream at a time.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use hip::interop::Tracked;
use hip::sys::{self, hipStream_t};
use hip::{DeviceBuffer, Error, Result, Status, Stream};

use crate::place::invalid;
use crate::{IntoScalar, Operands, Scalar, ScalarRef};

/// The functions of a library that [`Handle`] needs.
pub trait Library: 'static {
    /// The library's error.
    type Error: From<Error>;
    /// Whether the library's calls take scalars, on the host or on the device. If not, handles allocate no memory for
    /// them.
    const SCALARS: bool = true;

    /// Creates a handle on the current device.
    ///
    /// # Errors
    /// An error from the library.
    fn create() -> Result<*mut c_void, Self::Error>;

    /// Destroys a handle.
    ///
    /// # Safety
    /// [`create`](Self::create) must have made the handle, and nothing may use it any more.
    unsafe fn destroy(raw: *mut c_void);

    /// Makes the handle queue its work on a stream.
    ///
    /// # Errors
    /// An error from the library.
    ///
    /// # Safety
    /// The handle must be alive, and the stream must be of its device.
    unsafe fn set_stream(raw: *mut c_void, stream: hipStream_t) -> Result<(), Self::Error>;

    /// Makes the library read scalars from device memory, or from the host. A new handle reads them from the host. Does
    /// nothing for a library without scalars.
    ///
    /// # Errors
    /// An error from the library.
    ///
    /// # Safety
    /// The handle must be alive.
    unsafe fn set_pointer_mode(_raw: *mut c_void, _device: bool) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// A handle of a library whose work follows a stream. For crates that wrap libraries.
///
/// Calls are serialized, from all threads. The handle is destroyed after the last work and the last graph that uses it.
pub struct Handle<L: Library> {
    stream: Stream,
    /// `Some` until the handle is dropped.
    tracked: Option<Tracked>,
    state: Mutex<State>,
    library: PhantomData<fn() -> L>,
}

/// The state of a handle that calls change.
struct State {
    raw: *mut c_void,
    stream: Option<hipStream_t>,
    device_pointers: bool,
    /// For host scalars that are passed together with device scalars.
    scratch: DeviceBuffer<u64>,
}

// SAFETY: a handle is not bound to a thread; calls with it are serialized by the lock, and after the last call by ownership.
unsafe impl Send for State {}

/// A scalar of one call: a number on the host, or its address on the device. [`Operands::factor`] returns it.
#[derive(Clone, Copy, Debug)]
pub struct Factor {
    value: Value,
    len: usize,
    address: Option<*const c_void>,
}

impl Factor {
    /// Returns whether the scalar is in device memory.
    #[must_use]
    pub fn is_on_device(&self) -> bool {
        self.address.is_some()
    }
}

#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
struct Value([u8; SCRATCH]);

impl<'a> Operands<'a> {
    /// Names a scalar that the call reads.
    ///
    /// # Errors
    /// [`Error::WrongDevice`]; [`Error::InvalidValue`] for a slice of no elements.
    pub fn factor<T: Scalar>(&mut self, what: &'static str, scalar: impl IntoScalar<'a, T>) -> Result<Factor> {
        let mut value = Value([0; SCRATCH]);
        let mut address = None;
        match scalar.into() {
            ScalarRef::Host(number) => value.0[..size_of::<T>()].copy_from_slice(hip::bytemuck::bytes_of(&number)),
            ScalarRef::Device(slice) if slice.is_empty() => {
                return Err(invalid(what, "a slice of no elements", "one element or more"));
            }
            ScalarRef::Device(slice) => address = Some(self.slice(what, slice.slice(..1)?)?),
        }
        Ok(Factor { value, len: size_of::<T>(), address })
    }
}

/// Bytes of scratch memory for each scalar.
const SCRATCH: usize = 16;
/// Offset in the scratch memory, in bytes, of a number for the host.
const RESULT: usize = 48;

impl<L: Library> Handle<L> {
    /// Creates a handle on the stream's device. Its work is queued on the stream. The creation waits until no host
    /// function runs and no stream is captured ([`hip::interop::wait_for_device`]), because libraries use the default
    /// stream then.
    ///
    /// # Errors
    /// An error from the library or from an allocation.
    pub fn new(stream: &Stream) -> Result<Self, L::Error> {
        Self::with(stream, L::create)
    }

    /// As [`new`](Self::new), for a handle that depends on more than the device: `create` is called with the stream's
    /// device current.
    ///
    /// # Errors
    /// An error from `create` or from an allocation.
    pub fn with(stream: &Stream, create: impl FnOnce() -> Result<*mut c_void, L::Error>) -> Result<Self, L::Error> {
        hip::interop::expect_rocm("a library of ROCm on this backend")?;
        let device = stream.device();
        let scratch = DeviceBuffer::zeroed(&device, if L::SCALARS { 8 } else { 0 })?;
        // Libraries copy tables to the device during creation, on its default stream.
        let raw = hip::interop::wait_for_device(&device, create)?;
        let state = Mutex::new(State { raw, stream: None, device_pointers: false, scratch });
        Ok(Self { stream: stream.clone(), tracked: Some(Tracked::new()), state, library: PhantomData })
    }

    /// Returns the stream that later calls queue their work on.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Makes later calls queue their work on another stream. Work on both streams that uses the handle's workspace
    /// stays in order.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for a stream of another device.
    pub fn set_stream(&mut self, stream: &Stream) -> Result<()> {
        if stream.device() != self.stream.device() {
            let (found, needed) = (stream.device().index(), self.stream.device().index());
            return Err(invalid("the device of a handle's stream", found.to_string(), format!("{needed}, as before")));
        }
        self.stream = stream.clone();
        Ok(())
    }

    /// Blocks until no queued work uses the handle.
    ///
    /// # Errors
    /// An error of that work.
    pub fn wait(&self) -> Result<()> {
        self.tracked.as_ref().map_or(Ok(()), Tracked::synchronize)
    }

    /// Returns whether a graph that can still be launched uses the handle. If so, the library's state for the handle
    /// must not be changed. See [`Tracked::is_in_graph`].
    #[must_use]
    pub fn is_in_graph(&self) -> bool {
        self.tracked.as_ref().is_some_and(Tracked::is_in_graph)
    }

    /// Makes a call that queues work. `call` receives the handle and the addresses of the scalars.
    ///
    /// # Errors
    /// An error from `call` or from [`Uses::call`](hip::interop::Uses::call).
    ///
    /// # Safety
    /// The requirements of [`Uses::call`](hip::interop::Uses::call).
    pub unsafe fn call<'a, const N: usize, R>(
        &'a self,
        operands: Operands<'a>,
        scalars: &[Factor; N],
        call: impl FnOnce(*mut c_void, [*const c_void; N]) -> Result<R, L::Error>,
    ) -> Result<R, L::Error> {
        let uses = self.uses(operands);
        // SAFETY: the caller's call, after the stream was set for the handle, and writes to the handle's own memory.
        unsafe { uses.call(|stream| self.prepared(stream, scalars, None, |handle, _, scalars| call(handle, scalars))) }
    }

    /// As [`call`](Self::call), for a call without scalars that returns one number of at most 16 bytes to the host, and
    /// waits for it. `call` receives the handle, and an address in device memory for the number.
    ///
    /// # Errors
    /// An error from `call` or from [`Uses::call_blocking`](hip::interop::Uses::call_blocking): it fails while the
    /// stream is captured.
    ///
    /// # Safety
    /// The requirements of [`Uses::call`](hip::interop::Uses::call).
    pub unsafe fn call_for_number<'a, N: hip::Pod>(
        &'a self,
        operands: Operands<'a>,
        call: impl FnOnce(*mut c_void, *mut c_void) -> Result<(), L::Error>,
    ) -> Result<N, L::Error> {
        const { assert!(size_of::<N>() <= SCRATCH) };
        let raw = self.stream.as_raw();
        let uses = self.uses(operands);
        let mut number = N::zeroed();
        let result = |handle, scratch: usize| {
            // Libraries can write the number to the host themselves, but rocBLAS of 5.7 returns before the number is written.
            let from = (scratch + RESULT) as *mut c_void;
            call(handle, from)?;
            let (to, bytes) = ((&raw mut number).cast(), size_of::<N>());
            // SAFETY: a part of the handle's scratch memory, and a number that stays alive until the stream has been synchronized.
            let status = unsafe { sys::hipMemcpyAsync(to, from, bytes, sys::hipMemcpyDeviceToHost, raw) };
            // SAFETY: the handle's stream.
            let waited = unsafe { sys::hipStreamSynchronize(raw) };
            Status::from(status).check("hipMemcpyAsync", || "a number".to_owned())?;
            Status::from(waited).check("hipStreamSynchronize", || "for a number".to_owned())?;
            Ok(())
        };
        // SAFETY: the caller's call, after the stream was set for the handle, and a copy of the handle's own memory.
        unsafe {
            uses.call_blocking(|_| self.prepared(raw, &[], Some(true), |handle, scratch, _| result(handle, scratch)))?
        };
        Ok(number)
    }

    /// As [`call`](Self::call), for a call that waits, or that works on the host. Scalars and results are on the host.
    ///
    /// # Errors
    /// An error from `call` or from [`Uses::call_blocking`](hip::interop::Uses::call_blocking): it fails while the
    /// stream is captured.
    ///
    /// # Safety
    /// The requirements of [`Uses::call`](hip::interop::Uses::call).
    pub unsafe fn call_blocking<'a, R>(
        &'a self,
        operands: Operands<'a>,
        call: impl FnOnce(*mut c_void) -> Result<R, L::Error>,
    ) -> Result<R, L::Error> {
        let raw = self.stream.as_raw();
        let uses = self.uses(operands);
        // SAFETY: the caller's call, after the stream was set for the handle.
        unsafe { uses.call_blocking(|_| self.prepared(raw, &[], Some(false), |handle, _, _| call(handle))) }
    }

    /// As [`call_blocking`](Self::call_blocking), for a call that waits for the whole device: for example, one that
    /// frees memory.
    ///
    /// # Errors
    /// An error from `call` or from [`Uses::call_waiting_for_device`](hip::interop::Uses::call_waiting_for_device): it
    /// fails while this thread captures a stream.
    ///
    /// # Safety
    /// The requirements of [`Uses::call`](hip::interop::Uses::call).
    pub unsafe fn call_waiting_for_device<'a, R>(
        &'a self,
        operands: Operands<'a>,
        call: impl FnOnce(*mut c_void) -> Result<R, L::Error>,
    ) -> Result<R, L::Error> {
        let raw = self.stream.as_raw();
        let uses = self.uses(operands);
        // SAFETY: the caller's call, after the stream was set for the handle.
        unsafe { uses.call_waiting_for_device(|_| self.prepared(raw, &[], Some(false), |handle, _, _| call(handle))) }
    }

    /// As [`call_blocking`](Self::call_blocking), for a call in which the library queues a host function.
    ///
    /// # Errors
    /// An error from `call` or from [`Uses::call_queueing_for_host`](hip::interop::Uses::call_queueing_for_host).
    ///
    /// # Safety
    /// The requirements of [`Uses::call`](hip::interop::Uses::call).
    pub unsafe fn call_queueing_for_host<'a, R>(
        &'a self,
        operands: Operands<'a>,
        call: impl FnOnce(*mut c_void) -> Result<R, L::Error>,
    ) -> Result<R, L::Error> {
        let raw = self.stream.as_raw();
        let uses = self.uses(operands);
        // SAFETY: the caller's call, after the stream was set for the handle.
        unsafe { uses.call_queueing_for_host(|_| self.prepared(raw, &[], Some(false), |handle, _, _| call(handle))) }
    }

    /// As [`call`](Self::call), for a call without scalars that writes a number to device memory.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    ///
    /// # Safety
    /// The requirements of [`Uses::call`](hip::interop::Uses::call).
    pub unsafe fn call_with_device_result<'a, R>(
        &'a self,
        operands: Operands<'a>,
        call: impl FnOnce(*mut c_void) -> Result<R, L::Error>,
    ) -> Result<R, L::Error> {
        let uses = self.uses(operands);
        // SAFETY: the caller's call, after the stream was set for the handle.
        unsafe { uses.call(|stream| self.prepared(stream, &[], Some(true), |handle, _, _| call(handle))) }
    }

    fn uses<'a>(&'a self, operands: Operands<'a>) -> hip::interop::Uses<'a> {
        let mut uses = operands.into_uses();
        if let Some(tracked) = &self.tracked {
            uses.tracked(tracked);
        }
        uses
    }

    /// # Safety
    /// The requirements of the call; what is tracked must be in use.
    unsafe fn prepared<const N: usize, R>(
        &self,
        stream: hipStream_t,
        scalars: &[Factor; N],
        device_pointers: Option<bool>,
        call: impl FnOnce(*mut c_void, usize, [*const c_void; N]) -> Result<R, L::Error>,
    ) -> Result<R, L::Error> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.stream != Some(stream) {
            state.stream = None;
            // SAFETY: the handle lives as long as `self`, and all its streams are of its device.
            unsafe { L::set_stream(state.raw, stream)? };
            state.stream = Some(stream);
        }
        let on_device = device_pointers.unwrap_or_else(|| scalars.iter().any(|scalar| scalar.address.is_some()));
        if state.device_pointers != on_device {
            // SAFETY: the handle is alive.
            unsafe { L::set_pointer_mode(state.raw, on_device)? };
            state.device_pointers = on_device;
        }
        let mut addresses = [std::ptr::null(); N];
        for (index, address) in addresses.iter_mut().enumerate() {
            let scalar = &scalars[index];
            *address = match scalar.address {
                Some(address) => address,
                None if !on_device => (&raw const scalar.value).cast(),
                None => {
                    let to = state.scratch.as_device_ptr().address() as usize + index * SCRATCH;
                    // SAFETY: inside the scratch memory, which only the handle uses.
                    unsafe { fill(stream, to, &scalar.value.0[..scalar.len])? };
                    to as *const c_void
                }
            };
        }
        call(state.raw, state.scratch.as_device_ptr().address() as usize, addresses)
    }

    /// Runs a closure that changes the handle itself: a mode, a workspace.
    ///
    /// # Errors
    /// An error from `change`.
    pub fn configure<R>(&self, change: impl FnOnce(*mut c_void) -> Result<R, L::Error>) -> Result<R, L::Error> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(state.raw)
    }
}

/// Writes up to 16 bytes to device memory in stream order. Works while the stream is captured.
///
/// # Safety
/// The memory must be on the stream's device, and the caller must be allowed to write to it.
unsafe fn fill(stream: hipStream_t, to: usize, bytes: &[u8]) -> Result<()> {
    let check = |status: sys::hipError_t| Status::from(status).check("hipMemsetD32Async", || "a scalar".to_owned());
    for (index, word) in bytes.chunks(4).enumerate() {
        let to = (to + index * 4) as *mut c_void;
        // SAFETY: the caller's memory and stream.
        check(unsafe {
            match *word {
                [a, b, c, d] => sys::hipMemsetD32Async(to, i32::from_ne_bytes([a, b, c, d]), 1, stream),
                [a, b] => sys::hipMemsetD16Async(to, u16::from_ne_bytes([a, b]), 1, stream),
                _ => sys::hipMemsetAsync(to, word[0].into(), 1, stream),
            }
        })?;
    }
    Ok(())
}

impl<L: Library> Drop for Handle<L> {
    fn drop(&mut self) {
        let Some(tracked) = self.tracked.take() else { return };
        let device = self.stream.device();
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let raw = state.raw as usize;
        let nothing = DeviceBuffer::uninit(&device, 0);
        let scratch = match nothing {
            Ok(nothing) => Some(std::mem::replace(&mut state.scratch, nothing)),
            Err(_) => None,
        };
        tracked.release_when_idle(&device.clone(), move || {
            // SAFETY: the library made it, and nothing uses it any more.
            let _ = device.with_current(|| unsafe { L::destroy(raw as *mut c_void) });
            drop(scratch);
        });
    }
}

impl<L: Library> fmt::Debug for Handle<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("stream", &self.stream).finish_non_exhaustive()
    }
}
