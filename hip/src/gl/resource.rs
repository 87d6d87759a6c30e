//! An object of OpenGL's that is registered with the runtime, whatever it is.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;

use hip_sys::{hipError_t, hipGraphicsResource, hipGraphicsResource_t};

use super::devices::connect;
use super::library::{self, Context, error};
use crate::core::call::check;
use crate::core::context;
use crate::core::device::Device;
use crate::core::error::{Error, Result, Status};
use crate::stream::usage::{Access, AccessKind, Usage};
use crate::stream::{Stream, StreamInner};

/// A registered object. It is unregistered when dropped, after all work that uses it, where that can be done.
pub(super) struct Resource {
    raw: hipGraphicsResource_t,
    pub(super) device: Device,
    /// The context that was current when it was registered.
    context: Context,
    /// Of what is mapped: it ends with a borrow, so that no graph can keep it.
    pub(super) usage: Usage,
    /// The stream that it is mapped on.
    mapped: Option<Arc<StreamInner>>,
    /// Whether it has ever been mapped.
    was_mapped: bool,
    /// Where it was mapped, if that is known; or 0.
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
                what: "the OpenGL context".into(),
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
            was_mapped: false,
            address: 0,
            name,
            thread: PhantomData,
        })
    }

    pub(super) fn raw(&self) -> hipGraphicsResource_t {
        self.raw
    }

    /// Maps it on a stream (`hipGraphicsMapResources`).
    pub(super) fn map(&mut self, stream: &Stream) -> Result<()> {
        const WHAT: &str = "mapping an object of OpenGL's";
        context::check_caller()?;
        self.device.expect(stream.device(), "the stream")?;
        stream.inner.refuse_captured(WHAT)?;
        if library::current(WHAT)? != self.context {
            let reason = "another context is current on this thread than when the object was registered: make that one current again";
            return Err(error(WHAT, reason));
        }
        // What a mapping that was forgotten has left.
        self.unmap()?;
        let mut raw = self.raw;
        self.was_mapped = true;
        stream.inner.submit(&[Access::write(&self.usage)], None, |queue| {
            // SAFETY: one resource, registered and not mapped; its context is current on this thread.
            let status = unsafe { hip_sys::hipGraphicsMapResources(1, &mut raw, queue) };
            check(status, "hipGraphicsMapResources", || self.name.clone())
        })?;
        self.mapped = Some(Arc::clone(&stream.inner));
        Ok(())
    }

    /// Where it is mapped, and how many bytes it has (`hipGraphicsResourceGetMappedPointer`). It must be mapped.
    pub(super) fn pointer(&mut self) -> Result<(*mut c_void, usize)> {
        self.device.activate()?;
        let mut address: *mut c_void = ptr::null_mut();
        let mut bytes = 0;
        // SAFETY: both are valid for a write, and the resource is mapped.
        let status = unsafe { hip_sys::hipGraphicsResourceGetMappedPointer(&mut address, &mut bytes, self.raw) };
        check(status, "hipGraphicsResourceGetMappedPointer", || self.name.clone())?;
        if address.is_null() {
            return Err(error("mapping an object of OpenGL's", format!("{} has no address on the device", self.name)));
        }
        self.address = address.expose_provenance();
        Ok((address, bytes))
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
        let is_mapped = self.mapped.is_some();
        let was_mapped = self.was_mapped;
        self.usage.release(move || {
            // If it could not be unmapped, it is lost rather than taken away from who may use it.
            if !is_mapped && device.activate().is_ok() && (!was_mapped || is_forgotten(address)) {
                // SAFETY: registered, not mapped, and not unregistered yet.
                let _ = unsafe { hip_sys::hipGraphicsUnregisterResource(ptr::with_exposed_provenance_mut(raw)) };
            }
        });
    }
}

/// Whether the runtime has forgotten that an object was mapped at `address`; 0 if that is not known.
///
/// ROCm's runtimes note a mapped object by its address. 7.2 keeps the note when the object is unmapped and unregistered, and takes whoever has the
/// address next for the object, which is gone: it refuses work, or crashes. 5.7 and 6.4 keep the note too, but also the memory. So what was mapped is
/// not unregistered, unless the runtime has forgotten it: nobody else gets its address.
fn is_forgotten(address: usize) -> bool {
    if address == 0 {
        return false;
    }
    let (mut base, mut bytes) = (ptr::null_mut(), 0);
    let at = ptr::with_exposed_provenance_mut(address);
    // SAFETY: both are valid for a write; the address is only looked up.
    let status = unsafe { hip_sys::hipMemGetAddressRange(&mut base, &mut bytes, at) };
    if status.0 != 0 {
        let _ = crate::core::runtime::take_last_error();
    }
    status.0 == Status::NOT_FOUND.0
}
