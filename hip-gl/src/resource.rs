//! An OpenGL object of any kind that is registered with the runtime.

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

/// The operation, for errors.
const MAPPING: &str = "mapping an OpenGL object";

/// A registered object. It is unregistered when dropped, after all work that uses it, if possible.
pub(crate) struct Resource {
    raw: hipGraphicsResource_t,
    pub(crate) device: Device,
    /// The context in which it was registered.
    context: Context,
    /// The uses of the mapping. No graph keeps it, because it ends with a borrow.
    pub(crate) tracked: Tracked,
    /// The stream that it is mapped on.
    mapped: Option<Stream>,
    /// The runtime's array for the mapping, or null. Freed when the object is unmapped.
    array: hipArray_t,
    /// Whether it has ever been mapped.
    was_mapped: bool,
    /// The address at which it was mapped, or 0 if unknown.
    address: u64,
    /// A description of the object, for errors.
    pub(crate) name: String,
    /// Only one thread at a time can use an OpenGL context.
    thread: PhantomData<*const ()>,
}

/// Ends a mapping when dropped.
pub(crate) struct Mapping<'a>(pub(crate) &'a mut Resource);

impl Drop for Mapping<'_> {
    fn drop(&mut self) {
        // If it cannot be unmapped now, it is unmapped when it is mapped again or unregistered.
        let _ = self.0.unmap();
    }
}

impl Resource {
    /// Registers an object with a call that receives the place for the handle.
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

    /// Maps the object on a stream (`hipGraphicsMapResources`).
    pub(crate) fn map(&mut self, stream: &Stream) -> Result<Mapping<'_>> {
        expect(&self.device, stream.device(), "the stream")?;
        if library::current(MAPPING)? != self.context {
            let reason = "another context is current on this thread than when the object was registered: make that one current again";
            return Err(Error::open_gl(MAPPING, reason));
        }
        // Ends a mapping that was leaked.
        self.unmap()?;
        self.was_mapped = true;
        let mut uses = Uses::on(stream);
        uses.tracked(&self.tracked);
        let mut raw = self.raw;
        // SAFETY: the call waits for OpenGL, and uses only the object.
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

    /// Returns the address and size in bytes of the mapping (`hipGraphicsResourceGetMappedPointer`). The object must be
    /// mapped.
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

    /// Returns the array of the mapping (`hipGraphicsSubResourceGetMappedArray`). The object must be mapped. This
    /// resource still owns the array.
    pub(crate) fn array(&mut self) -> Result<hipArray_t> {
        self.device.make_current()?;
        let mut raw: hipArray_t = ptr::null_mut();
        // SAFETY: `raw` is valid for a write, and the resource is mapped.
        let status = unsafe { sys::hipGraphicsSubResourceGetMappedArray(&mut raw, self.raw, 0, 0) };
        Status::from(status).check("hipGraphicsSubResourceGetMappedArray", || self.name.clone())?;
        self.array = raw;
        Ok(raw)
    }

    /// Unmaps the object if it is mapped, after all work that uses it (`hipGraphicsUnmapResources`).
    pub(crate) fn unmap(&mut self) -> Result<()> {
        let Some(stream) = &self.mapped else { return Ok(()) };
        let worked = self.tracked.synchronize();
        if let Err(error @ hip::Error::Capture { .. }) = worked {
            return Err(error.into()); // the work may not be done
        }
        let mut uses = Uses::on(stream);
        uses.tracked(&self.tracked);
        let mut raw = self.raw;
        // SAFETY: nothing uses the object any more, and the call uses only the object.
        unsafe {
            uses.call_blocking(|queue| {
                // One resource, which is mapped.
                let status = Status::from(sys::hipGraphicsUnmapResources(1, &mut raw, queue));
                status.check("hipGraphicsUnmapResources", || self.name.clone())
            })?;
        }
        self.mapped = None;
        let (array, device) = (std::mem::replace(&mut self.array, ptr::null_mut()).expose_provenance(), self.device);
        // After an error, the array may still be in use.
        if array != 0 && worked.is_ok() {
            Tracked::new().release_when_idle(&device, move || {
                if device.make_current().is_ok() {
                    // SAFETY: `hipGraphicsSubResourceGetMappedArray` returned it, it has not been freed yet, and no work uses it any more.
                    let _ = unsafe { sys::hipFreeArray(ptr::with_exposed_provenance_mut(array)) };
                }
            });
        }
        Ok(worked?)
    }
}

/// Returns `Ok` if `found` is the device.
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
            // If the object could not be unmapped, it is leaked, because it may still be in use.
            if !is_mapped && device.make_current().is_ok() && (!was_mapped || is_forgotten(address)) {
                // SAFETY: registered, not mapped, and not unregistered yet.
                let _ = unsafe { sys::hipGraphicsUnregisterResource(ptr::with_exposed_provenance_mut(raw)) };
            }
        });
    }
}
