//! Memory of the library: allocations and registrations. Each ends once.

use std::cell::UnsafeCell;
use std::ffi::{CString, c_int, c_void};
use std::ops::Range;
use std::ptr;
use std::sync::Arc;

use hip::Device;
use smallvec::SmallVec;

use crate::communicator::grouped;
use crate::error::{Context, Error, Result, check};
use crate::handle::Handle;
use crate::raw::{self, RawWindow};

/// `NCCL_WIN_COLL_SYMMETRIC`
const SYMMETRIC: c_int = 1;

/// Runs a call with a device current; with `None`, other code has made one current.
pub(super) fn on<R>(device: Option<Device>, call: impl FnOnce() -> R) -> Result<R> {
    match device {
        Some(device) => Ok(device.with_current(call)?),
        None => Ok(call()),
    }
}

/// Returns an error if the library lacks a function.
pub(super) fn expect(function: &'static str) -> Result<()> {
    crate::library::settle()?;
    let name = CString::new(function).unwrap_or_default();
    if raw::BINDING.has(&name) {
        return Ok(());
    }
    match raw::load_error() {
        Some(report) => Err(Error::NoLibrary { report: report.to_string() }),
        None => {
            let report = raw::symbol_error(&name).map_or_else(String::new, |report| report.to_string());
            Err(Error::NoSymbol { function, report })
        }
    }
}

/// Allocates memory of the library on the current device (`ncclMemAlloc`).
pub(super) fn allocate(bytes: usize) -> Result<*mut c_void> {
    let mut address = ptr::null_mut();
    // SAFETY: `address` is valid for the write.
    let status = unsafe { raw::ncclMemAlloc(&mut address, bytes) };
    check(status, "ncclMemAlloc", || format!("{bytes} bytes"))?;
    if address.is_null() {
        return Err(Error::invalid("the address of new memory", "null", "what ncclMemAlloc has allocated"));
    }
    Ok(address)
}

/// # Safety
/// The memory must be from [`allocate`], and nothing may use it any more.
pub(super) unsafe fn free(address: *mut c_void) -> Result<()> {
    // SAFETY: as the caller ensures.
    check(unsafe { raw::ncclMemFree(address) }, "ncclMemFree", || format!("{address:?}"))
}

/// The place for the library's handle of the memory, which it may write after the call has returned.
struct Place(UnsafeCell<*mut c_void>);

// SAFETY: a word that is not bound to a thread, which the library writes as a whole.
unsafe impl Send for Place {}
// SAFETY: as above.
unsafe impl Sync for Place {}

impl Place {
    fn new() -> Arc<Self> {
        Arc::new(Self(UnsafeCell::new(ptr::null_mut())))
    }

    fn get(&self) -> *mut *mut c_void {
        self.0.get()
    }

    fn value(&self) -> *mut c_void {
        // SAFETY: a word that the library writes as a whole.
        unsafe { self.get().read_volatile() }
    }
}

/// The kind of registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// `ncclCommRegister`
    Buffer,
    /// `ncclCommWindowRegister`
    Window,
}

impl Kind {
    /// Returns the call that ends it, and the C function.
    fn end(self) -> (&'static str, &'static str) {
        match self {
            Self::Buffer => ("deregister", "ncclCommDeregister"),
            Self::Window => ("close of a window", "ncclCommWindowDeregister"),
        }
    }
}

/// The memory of one rank.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) handle: &'a Arc<Handle>,
    pub(super) device: Option<Device>,
    pub(super) address: *mut c_void,
    pub(super) bytes: usize,
}

/// Memory that is registered with a communicator. Dropping it deregisters the memory, unless the communicator was
/// aborted, which ends the registration, too.
pub(super) struct Registration {
    handle: Arc<Handle>,
    device: Option<Device>,
    kind: Kind,
    place: Arc<Place>,
    open: bool,
    /// Addresses of the memory, if it is a symmetric window.
    symmetric: Option<Range<usize>>,
}

impl Part<'_> {
    fn addresses(&self) -> Range<usize> {
        let begin = self.address.addr();
        begin..begin.saturating_add(self.bytes)
    }
}

impl Registration {
    /// Registers memory with the library (`ncclCommRegister`), on this rank only.
    ///
    /// # Safety
    /// The memory must be on the device, and stay until the registration has ended.
    pub(super) unsafe fn of_buffer(part: Part<'_>) -> Result<Self> {
        let Part { handle, device, address, bytes } = part;
        let _calls = handle.calls();
        let place = Place::new();
        handle.note(Context { call: "register", asked: format!("{bytes} bytes"), ..Context::default() });
        let watch = handle.watch_call();
        let live = handle.live()?;
        // SAFETY: the communicator is alive as long as its state is locked. The place is valid for the write.
        let status = on(device, || unsafe { raw::ncclCommRegister(live.comm, address, bytes, place.get()) })?;
        drop(live);
        check(status, "ncclCommRegister", || format!("{bytes} bytes at {address:?}"))?;
        let made = Self { handle: Arc::clone(handle), device, kind: Kind::Buffer, place, open: true, symmetric: None };
        let waited = handle.wait_ready();
        made.keep_on_error(handle.end_watch(watch).and(waited))?;
        Ok(made)
    }

    /// Registers a window with the library (`ncclCommWindowRegister`): all ranks do it together. Several ranks of one
    /// process form one group.
    ///
    /// # Safety
    /// The memory must be on the device, and stay until the registration has ended.
    pub(super) unsafe fn of_windows(parts: &[Part<'_>], symmetric: bool) -> Result<Vec<Self>> {
        let mut made: Vec<Self> = parts
            .iter()
            .map(|part| Self {
                handle: Arc::clone(part.handle),
                device: part.device,
                kind: Kind::Window,
                place: Place::new(),
                open: false,
                symmetric: symmetric.then(|| part.addresses()),
            })
            .collect();
        let flags = if symmetric { SYMMETRIC } else { 0 };
        let asked = |bytes: usize| format!("{bytes} bytes{}", if symmetric { ", symmetric" } else { "" });
        for part in parts {
            part.handle.note(Context { call: "window", asked: asked(part.bytes), ..Context::default() });
        }
        let work: Vec<_> = parts.iter().map(|part| (part.address.expose_provenance(), part.bytes)).collect();
        let result = together("ncclCommWindowRegister", &made, move |index, comm, place| {
            let (address, bytes) = work[index];
            let address = ptr::with_exposed_provenance_mut(address);
            // SAFETY: the communicator is alive. The place lives as long as this closure, and is kept after an error.
            unsafe { raw::ncclCommWindowRegister(comm, address, bytes, place.get().cast::<RawWindow>(), flags) }
        });
        made.iter().try_for_each(|made| made.keep_on_error(result.clone()))?;
        for made in &mut made {
            made.open = true;
            if let Some(addresses) = made.symmetric.clone().filter(|_| !made.raw().is_null()) {
                made.handle.windows().push(addresses);
            }
        }
        Ok(made)
    }

    /// Keeps the place after an error: the library may write to it at any later time.
    fn keep_on_error(&self, result: Result<()>) -> Result<()> {
        result.inspect_err(|_| std::mem::forget(Arc::clone(&self.place)))
    }

    /// Returns the library's address of a window.
    pub(super) fn address(&self) -> Result<*mut c_void> {
        expect("ncclWinGetUserPtr")?;
        let live = self.handle.live()?;
        let mut address = ptr::null_mut();
        // SAFETY: the communicator is alive as long as its state is locked, and so is the window. `address` is valid for the write.
        let status = unsafe { raw::ncclWinGetUserPtr(live.comm, self.raw(), &mut address) };
        check(status, "ncclWinGetUserPtr", || format!("rank {} of {}", self.handle.rank(), self.handle.size()))?;
        Ok(address)
    }

    /// A registration that no library knows; a symmetric window, if it has addresses.
    #[cfg(all(test, feature = "one-sided"))]
    pub(super) fn of_addresses(handle: &Arc<Handle>, symmetric: Option<Range<usize>>) -> Self {
        let place = Place::new();
        // SAFETY: a word that only this thread has.
        unsafe { place.get().write(ptr::without_provenance_mut(1)) };
        handle.windows().extend(symmetric.clone());
        Self { handle: Arc::clone(handle), device: None, kind: Kind::Window, place, open: false, symmetric }
    }

    /// Returns its number of bytes, if one-sided operations of this communicator can write to it.
    #[cfg(feature = "one-sided")]
    pub(super) fn target(&self, handle: &Arc<Handle>) -> Result<usize> {
        let found = match &self.symmetric {
            None if self.kind == Kind::Buffer => "registered memory",
            None => "a window that is not symmetric",
            Some(_) if self.raw().is_null() => "one that the library makes no use of",
            Some(_) if !Arc::ptr_eq(&self.handle, handle) => "one of another communicator",
            Some(addresses) => return Ok(addresses.len()),
        };
        Err(Error::invalid("the window to write to", found, "a symmetric window of this communicator"))
    }

    /// Returns the library's handle; null if it does not use the registration.
    pub(super) fn raw(&self) -> *mut c_void {
        self.place.value()
    }

    /// Ends the registration, once. After an error, the library may still use the memory.
    pub(super) fn end(&mut self) -> Result<()> {
        Self::end_all(std::iter::once(self))
    }

    /// Ends the registrations of several ranks of one process, in one group.
    pub(super) fn end_all<'a>(all: impl Iterator<Item = &'a mut Self>) -> Result<()> {
        let mut result = Ok(());
        let mut rest: SmallVec<[&Self; 1]> = SmallVec::new();
        for registration in all {
            if !std::mem::take(&mut registration.open) {
                continue;
            }
            let registration = &*registration;
            let handle = &registration.handle;
            if let Some(addresses) = &registration.symmetric {
                let mut windows = handle.windows();
                if let Some(place) = windows.iter().position(|window| window == addresses) {
                    windows.swap_remove(place);
                }
            }
            if handle.is_being_aborted() {
                let aborted = "the communicator is still being aborted, and may use the memory";
                result = result.and(Err(Error::Aborted { reason: aborted.into() }));
            } else if handle.live().is_ok() && !registration.raw().is_null() {
                rest.push(registration);
            }
        }
        if let Some(first) = rest.first() {
            let (call, function) = first.kind.end();
            rest.iter().for_each(|of| of.handle.note(Context { call, ..Context::default() }));
            let kind = first.kind;
            let ended = together(function, &rest, move |_, comm, place| {
                let value = place.value();
                // SAFETY: the communicator is alive, and knows the memory by this value.
                unsafe {
                    match kind {
                        Kind::Buffer => raw::ncclCommDeregister(comm, value),
                        Kind::Window => raw::ncclCommWindowDeregister(comm, value),
                    }
                }
            });
            result = result.and(ended);
        }
        result
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Makes a call for each, which may wait for other ranks: on its own thread, until the deadline.
fn together(
    function: &'static str,
    of: &[impl std::borrow::Borrow<Registration>],
    call: impl Fn(usize, raw::ncclComm_t, &Place) -> raw::ncclResult_t + Send + 'static,
) -> Result<()> {
    let work: Vec<_> = of
        .iter()
        .map(|of| {
            let Registration { handle, device, place, .. } = of.borrow();
            (Arc::clone(handle), *device, Arc::clone(place))
        })
        .collect();
    let mut handles: Vec<_> = work.iter().map(|(handle, ..)| Arc::clone(handle)).collect();
    handles.sort_by_key(Arc::as_ptr);
    handles.dedup_by_key(|handle| Arc::as_ptr(handle));
    let _calls: SmallVec<[_; 2]> = handles.iter().map(|handle| handle.calls()).collect();
    Handle::enter(&handles, move || {
        grouped(work.len() > 1, || {
            for (index, (handle, device, place)) in work.iter().enumerate() {
                let comm = handle.live()?.comm;
                let status = on(*device, || call(index, comm, place))?;
                check(status, function, || format!("rank {} of {}", handle.rank(), handle.size()))?;
            }
            Ok(())
        })
    })?;
    handles.iter().map(|handle| handle.wait_entered()).fold(Ok(()), Result::and)
}
