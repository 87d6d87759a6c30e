//! An object of OpenGL's that is registered with the runtime, whatever it is.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr;

use hip::interop::{Tracked, Uses};
use hip::sys::{hipArray_t, hipError_t, hipGraphicsResource, hipGraphicsResource_t};
use hip::{Device, Status, Stream, sys};

use crate::devices::connect;
use crate::error::{Error, Result};
use crate::library::{self, Context};
use crate::releases::is_forgotten;

/// What is asked for, in errors.
const MAPPING: &str = "mapping an OpenGL object";

/// A registered object. It is unregistered when dropped, after all work that uses it, where that can be done.
pub(crate) struct Resource {
    raw: hipGraphicsResource_t,
    pub(crate) device: Device,
    /// The context that was current when it was registered.
    context: Context,
    /// The uses of what is mapped. No graph keeps it, as it ends with a borrow.
    pub(crate) tracked: Tracked,
    /// The stream that it is mapped on.
    mapped: Option<Stream>,
    /// The runtime's array for what is mapped, or null. Freed when that is unmapped.
    array: hipArray_t,
    /// Whether it has ever been mapped.
    was_mapped: bool,
    /// Where it was mapped, if that is known; or 0.
    address: u64,
    /// What it is, for errors.
    pub(crate) name: String,
    /// A context of OpenGL's is one thread's at a time.
    thread: PhantomData<*const ()>,
}

/// What ends with a mapping.
pub(crate) struct Mapping<'a>(pub(crate) &'a mut Resource);

impl Drop for Mapping<'_> {
    fn drop(&mut self) {
        // If it cannot be unmapped now, it is when it is mapped again or unregistered.
        let _ = self.0.unmap();
    }
}

impl Resource {
    /// Registers an object by a call that is given where to put the handle.
    pub(crate) fn register(
        device: &Device,
        name: String,
        function: &'static str,
        call: impl FnOnce(*mut *mut hipGraphicsResource) -> hipError_t,
    ) -> Result<Self> {
        let connected = connect("registering an OpenGL object")?;
        expect(device, connected.device, "the OpenGL context")?;
        device.make_current()?;
        let mut raw: *mut hipGraphicsResource = ptr::null_mut();
        let status = Status::from(call(&mut raw));
        status.check(function, || format!("{name} on device {}", device.index()))?;
        Ok(Self {
            raw,
            device: *device,
            context: connected.context,
            tracked: Tracked::without_graphs(),
            mapped: None,
            array: ptr::null_mut(),
            was_mapped: false,
            address: 0,
            name,
            thread: PhantomData,
        })
    }

    pub(crate) fn raw(&self) -> hipGraphicsResource_t {
        self.raw
    }

    /// Maps it on a stream (`hipGraphicsMapResources`).
    pub(crate) fn map(&mut self, stream: &Stream) -> Result<Mapping<'_>> {
        expect(&self.device, stream.device(), "the stream")?;
        if library::current(MAPPING)? != self.context {
            let reason = "another context is current on this thread than when the object was registered: make that one current again";
            return Err(Error::open_gl(MAPPING, reason));
        }
        // What a mapping that was forgotten has left.
        self.unmap()?;
        self.was_mapped = true;
        let mut uses = Uses::on(stream);
        uses.tracked(&self.tracked);
        let mut raw = self.raw;
        // SAFETY: the call waits for OpenGL, and uses the object alone.
        unsafe {
            uses.call_blocking(|queue| {
                // One resource, registered and not mapped; its context is current on this thread.
                let status = Status::from(sys::hipGraphicsMapResources(1, &mut raw, queue));
                status.check("hipGraphicsMapResources", || self.name.clone())
            })?;
        }
        self.mapped = Some(stream.clone());
        Ok(Mapping(self))
    }

    /// Where it is mapped, and how many bytes it has (`hipGraphicsResourceGetMappedPointer`). It must be mapped.
    pub(crate) fn pointer(&mut self) -> Result<(u64, usize)> {
        self.device.make_current()?;
        let mut address: *mut c_void = ptr::null_mut();
        let mut bytes = 0;
        // SAFETY: both are valid for a write, and the resource is mapped.
        let status = unsafe { sys::hipGraphicsResourceGetMappedPointer(&mut address, &mut bytes, self.raw) };
        Status::from(status).check("hipGraphicsResourceGetMappedPointer", || self.name.clone())?;
        if address.is_null() {
            return Err(Error::open_gl(MAPPING, format!("{} has no address on the device", self.name)));
        }
        self.address = address.expose_provenance() as u64;
        Ok((self.address, bytes))
    }

    /// The array that it is mapped as (`hipGraphicsSubResourceGetMappedArray`). It must be mapped. It stays this resource's.
    pub(crate) fn array(&mut self) -> Result<hipArray_t> {
        self.device.make_current()?;
        let mut raw: hipArray_t = ptr::null_mut();
        // SAFETY: `raw` is valid for a write, and the resource is mapped.
        let status = unsafe { sys::hipGraphicsSubResourceGetMappedArray(&mut raw, self.raw, 0, 0) };
        Status::from(status).check("hipGraphicsSubResourceGetMappedArray", || self.name.clone())?;
        self.array = raw;
        Ok(raw)
    }

    /// Unmaps it, if it is mapped, after all work that uses it (`hipGraphicsUnmapResources`).
    pub(crate) fn unmap(&mut self) -> Result<()> {
        let Some(stream) = &self.mapped else { return Ok(()) };
        let worked = self.tracked.synchronize();
        if let Err(error @ hip::Error::Capture { .. }) = worked {
            return Err(error.into()); // it is not known whether the work is over
        }
        let mut uses = Uses::on(stream);
        uses.tracked(&self.tracked);
        let mut raw = self.raw;
        // SAFETY: nothing uses the object any more, and the call uses nothing else.
        unsafe {
            uses.call_blocking(|queue| {
                // One resource, which is mapped.
                let status = Status::from(sys::hipGraphicsUnmapResources(1, &mut raw, queue));
                status.check("hipGraphicsUnmapResources", || self.name.clone())
            })?;
        }
        self.mapped = None;
        let (array, device) = (std::mem::replace(&mut self.array, ptr::null_mut()).expose_provenance(), self.device);
        // After an error it is not known whether something uses it.
        if array != 0 && worked.is_ok() {
            Tracked::new().release_when_idle(&device, move || {
                if device.make_current().is_ok() {
                    // SAFETY: from hipGraphicsSubResourceGetMappedArray, not freed yet, and no work uses it any more.
                    let _ = unsafe { sys::hipFreeArray(ptr::with_exposed_provenance_mut(array)) };
                }
            });
        }
        Ok(worked?)
    }
}

/// `Ok` if `found` is the device.
fn expect(device: &Device, found: Device, what: &'static str) -> Result<()> {
    if *device == found {
        return Ok(());
    }
    Err(hip::Error::WrongDevice { what: what.into(), expected: device.index(), found: found.index() }.into())
}

impl Drop for Resource {
    fn drop(&mut self) {
        let _ = self.unmap();
        let (raw, address, device) = (self.raw.expose_provenance(), self.address, self.device);
        let is_mapped = self.mapped.is_some();
        let was_mapped = self.was_mapped;
        std::mem::take(&mut self.tracked).release(move || {
            // If it could not be unmapped, it is lost rather than taken away from who may use it.
            if !is_mapped && device.make_current().is_ok() && (!was_mapped || is_forgotten(address)) {
                // SAFETY: registered, not mapped, and not unregistered yet.
                let _ = unsafe { sys::hipGraphicsUnregisterResource(ptr::with_exposed_provenance_mut(raw)) };
            }
        });
    }
}
