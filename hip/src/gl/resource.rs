//! An object of OpenGL's that is registered with the runtime, whatever it is.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem;
use std::ptr;
use std::sync::Arc;

use hip_sys::{hipError_t, hipGraphicsResource, hipGraphicsResource_t};

use super::devices::connect;
use super::library::{self, Context, error};
use crate::call::check;
use crate::context;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::stream::{Stream, StreamInner};
use crate::usage::{Access, AccessKind, Usage};

/// A registered object. It is unregistered when dropped, after all work that uses it.
pub(super) struct Resource {
    raw: hipGraphicsResource_t,
    pub(super) device: Device,
    /// The context that was current when it was registered.
    context: Context,
    /// Of what is mapped: it ends with a borrow, so that no graph can keep it.
    pub(super) usage: Usage,
    /// The stream that it is mapped on.
    mapped: Option<Arc<StreamInner>>,
    /// Where it has been mapped; 0 if it has not.
    address: usize,
    /// What it is, for errors.
    pub(super) name: String,
    /// A context of OpenGL's is one thread's at a time.
    thread: PhantomData<*const ()>,
}

impl Resource {
    /// Registers an object by a call that is given where to put the handle.
    pub(super) fn register(
        device: &Device,
        name: String,
        function: &'static str,
        call: impl FnOnce(*mut *mut hipGraphicsResource) -> hipError_t,
    ) -> Result<Self> {
        let connected = connect("registering an object of OpenGL's")?;
        if connected.device != *device {
            return Err(Error::WrongDevice {
                what: "the OpenGL context",
                expected: device.index(),
                found: connected.device.index(),
            });
        }
        device.activate()?;
        let mut raw: *mut hipGraphicsResource = ptr::null_mut();
        let status = call(&mut raw);
        check(status, function, || format!("{name} on device {}", device.index()))?;
        Ok(Self {
            raw,
            device: *device,
            context: connected.context,
            usage: Usage::borrowed(),
            mapped: None,
            address: 0,
            name,
            thread: PhantomData,
        })
    }

    pub(super) fn raw(&self) -> hipGraphicsResource_t {
        self.raw
    }

    /// Maps it on a stream (`hipGraphicsMapResources`), and asks for its address and size (`hipGraphicsResourceGetMappedPointer`).
    pub(super) fn map(&mut self, stream: &Stream) -> Result<(*mut c_void, usize)> {
        context::check_caller()?;
        self.device.expect(stream.device(), "the stream")?;
        stream.inner.refuse_captured("mapping an object of OpenGL's")?;
        let what = "mapping an object of OpenGL's";
        if library::current(what)? != self.context {
            let reason = "another context is current on this thread than when the object was registered: make that one current again";
            return Err(error(what, reason));
        }
        // What a mapping that was forgotten has left.
        self.unmap()?;
        let mut raw = self.raw;
        stream.inner.submit(&[Access::write(&self.usage)], None, |queue| {
            // SAFETY: one resource, registered and not mapped; its context is current on this thread.
            let status = unsafe { hip_sys::hipGraphicsMapResources(1, &mut raw, queue) };
            check(status, "hipGraphicsMapResources", || self.name.clone())
        })?;
        self.mapped = Some(Arc::clone(&stream.inner));
        let mut address: *mut c_void = ptr::null_mut();
        let mut bytes = 0;
        // SAFETY: both are valid for a write, and the resource is mapped.
        let status = unsafe { hip_sys::hipGraphicsResourceGetMappedPointer(&mut address, &mut bytes, self.raw) };
        let found = check(status, "hipGraphicsResourceGetMappedPointer", || self.name.clone());
        self.address = address.expose_provenance();
        match found {
            Ok(()) if !address.is_null() => Ok((address, bytes)),
            outcome => {
                // The first error is the one to tell.
                let _ = self.unmap();
                outcome?;
                Err(error(what, format!("{} has no memory that the device reaches", self.name)))
            }
        }
    }

    /// Unmaps it, if it is mapped, after all work that uses it (`hipGraphicsUnmapResources`).
    pub(super) fn unmap(&mut self) -> Result<()> {
        let Some(stream) = &self.mapped else { return Ok(()) };
        context::check_caller()?;
        stream.refuse_captured("unmapping an object of OpenGL's")?;
        // The call waits for the stream with its queue locked, so that little should be left to wait for.
        let worked = self.usage.wait(AccessKind::Write);
        let mut raw = self.raw;
        stream.submit(&[Access::write(&self.usage)], None, |queue| {
            // SAFETY: one resource, which is mapped; the stream has been made to wait for all others that use it.
            let status = unsafe { hip_sys::hipGraphicsUnmapResources(1, &mut raw, queue) };
            check(status, "hipGraphicsUnmapResources", || self.name.clone())
        })?;
        self.mapped = None;
        worked
    }
}

impl Drop for Resource {
    fn drop(&mut self) {
        let _ = self.unmap();
        let (raw, address, device) = (self.raw.expose_provenance(), self.address, self.device);
        let mapped = self.mapped.take();
        self.usage.release(move || {
            if mapped.is_some() {
                // It could not be unmapped, and whether anything uses it cannot be known: it is lost rather than taken away.
                mem::forget(mapped);
            } else if device.activate().is_ok() {
                unregister(ptr::with_exposed_provenance_mut(raw), address);
            }
        });
    }
}

/// Unregisters an object that is not mapped.
fn unregister(raw: hipGraphicsResource_t, _address: usize) {
    // SAFETY: registered, not mapped, and not unregistered yet.
    let _ = unsafe { hip_sys::hipGraphicsUnregisterResource(raw) };
}
