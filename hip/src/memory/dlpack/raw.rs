//! Tensors as C structures, and ownership across the interface.

use std::ffi::c_void;
use std::ptr;
use std::slice;

use super::abi::{DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLTensor, FLAG_READ_ONLY, Kinds, VERSION};
use super::{Layout, Tensor};
use crate::core::context;
use crate::core::device::Device;
use crate::core::error::{Error, Result, Status};
use crate::core::later;
use crate::memory::{Allocation, DevicePtr, Keeper, Owner, PointerKind};
use crate::stream::usage::{AccessKind, Usage};

/// Maximum number of dimensions: more than any tensor has. It bounds the read of the shape of an untrusted structure.
const MOST_DIMENSIONS: usize = 64;

fn refused(value: impl Into<String>, allowed: impl Into<String>) -> Error {
    Error::InvalidValue { what: "a DLPack tensor", value: value.into(), allowed: allowed.into() }
}

/// An exported structure, with the data that its pointers refer to.
#[repr(C)]
struct Given<M> {
    /// The first field, so that its address is the address of the whole.
    managed: M,
    tensor: Tensor,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

/// Frees memory that an importer has released. The importer may still have work queued that uses it, which this crate
/// does not track.
fn release(tensor: Tensor) {
    if context::is_no_place() {
        later::in_time(move || release(tensor));
        return;
    }
    if context::is_forked() {
        std::mem::forget(tensor);
        return;
    }
    // The importer's thread keeps its current device.
    let current = Device::current();
    let stopped = [Status::ILLEGAL_ADDRESS, Status::LAUNCH_TIMEOUT, Status::ASSERT, Status::LAUNCH_FAILURE];
    match tensor.device().synchronize() {
        Err(error) if !error.status().is_some_and(|status| stopped.contains(&status)) => std::mem::forget(tensor),
        _ => drop(tensor),
    }
    if let Ok(current) = current {
        let _ = current.make_current();
    }
}

/// The deleter of exported structures.
///
/// # Safety
/// `raw` must be null or from [`Tensor::give`] with the same `M`, and this must be called only once.
unsafe extern "C" fn delete<M>(raw: *mut M) {
    if !raw.is_null() {
        // SAFETY: the caller ensures that Box::into_raw of a `Given<M>`, whose first field this is, has returned it.
        let given = unsafe { Box::from_raw(raw.cast::<Given<M>>()) };
        release(given.tensor);
    }
}

impl Tensor {
    /// Exports the tensor as a C structure, whose deleter frees the memory. The host waits for queued work on it,
    /// unless [`order_before`](Self::order_before) has made a stream wait instead.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the tensor is read-only, which this form cannot represent. Errors of the queued work.
    pub fn into_raw(self) -> Result<*mut DLManagedTensor> {
        if self.read_only {
            return Err(refused("read-only", "given away by into_raw_versioned"));
        }
        self.give(
            |dl_tensor| DLManagedTensor { dl_tensor, manager_ctx: ptr::null_mut(), deleter: Some(delete) },
            |managed| &mut managed.dl_tensor,
        )
    }

    /// Like [`into_raw`](Self::into_raw), in the form of DLPack 1.x.
    ///
    /// # Errors
    /// Errors of the queued work.
    pub fn into_raw_versioned(self) -> Result<*mut DLManagedTensorVersioned> {
        let flags = if self.read_only { FLAG_READ_ONLY } else { 0 };
        self.give(
            |dl_tensor| DLManagedTensorVersioned {
                version: VERSION,
                manager_ctx: ptr::null_mut(),
                deleter: Some(delete),
                flags,
                dl_tensor,
            },
            |managed| &mut managed.dl_tensor,
        )
    }

    fn give<M>(self, managed: impl FnOnce(DLTensor) -> M, tensor: fn(&mut M) -> &mut DLTensor) -> Result<*mut M> {
        if !self.ordered {
            self.memory.usage.wait(AccessKind::Write)?;
        }
        let shape: Vec<i64> = self.layout.shape().iter().map(|&extent| extent as i64).collect();
        let strides: Vec<i64> = self.layout.strides().iter().map(|&stride| stride as i64).collect();
        let dl_tensor = DLTensor {
            data: self.address(),
            device: DLDevice { device_type: self.device_type(), device_id: self.device().raw() },
            ndim: shape.len() as i32,
            dtype: self.data_type,
            shape: ptr::null_mut(),
            strides: ptr::null_mut(),
            byte_offset: 0,
        };
        let mut given = Box::new(Given { managed: managed(dl_tensor), tensor: self, shape, strides });
        let Given { managed, shape, strides, .. } = &mut *given;
        let dl_tensor = tensor(managed);
        (dl_tensor.shape, dl_tensor.strides) = (shape.as_mut_ptr(), strides.as_mut_ptr());
        Ok(Box::into_raw(given).cast())
    }

    /// Takes ownership of a tensor: its deleter is called when the tensor, or the buffer made from it, is dropped. On
    /// an error, the caller keeps ownership, and the deleter is not called.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for a null pointer, memory that is not the backend's or that the runtime does not know, a shape
    /// or strides that do not fit an address space, and elements that do not fill whole bytes; [`Error::DeviceIndex`]
    /// and [`Error::WrongDevice`] for a device that does not exist or that the memory is not on.
    ///
    /// # Safety
    /// `raw` must be null or point to a structure that conforms to DLPack. No other code may use it after this call,
    /// and its deleter must be callable from any thread. Until the deleter is called, the memory must hold all elements
    /// of the shape and strides, and no other code may use it in conflict with this crate's uses. Work queued on it
    /// earlier must be over, or ordered before this crate's work.
    pub unsafe fn from_raw(raw: *mut DLManagedTensor) -> Result<Self> {
        // SAFETY: the caller ensures it.
        let Some(managed) = (unsafe { raw.as_ref() }) else { return Err(refused("null", "a tensor")) };
        // SAFETY: as above.
        let described = unsafe { describe(&managed.dl_tensor)? };
        let release = managed.deleter.map_or(Foreign::Nothing, |deleter| Foreign::Plain(raw, deleter));
        Ok(described.take(release, false))
    }

    /// Like [`from_raw`](Self::from_raw), in the form of DLPack 1.x.
    ///
    /// # Errors
    /// Those of [`from_raw`](Self::from_raw), and [`Error::InvalidValue`] for another major version.
    ///
    /// # Safety
    /// That of [`from_raw`](Self::from_raw).
    pub unsafe fn from_raw_versioned(raw: *mut DLManagedTensorVersioned) -> Result<Self> {
        if raw.is_null() {
            return Err(refused("null", "a tensor"));
        }
        // SAFETY: the caller ensures it; the version is the first field in all versions, and determines the rest.
        let version = unsafe { (*raw).version };
        if version.major != VERSION.major {
            return Err(refused(
                format!("of version {}.{}", version.major, version.minor),
                format!("{}.x", VERSION.major),
            ));
        }
        // SAFETY: the caller ensures it.
        let managed = unsafe { &*raw };
        // SAFETY: as above.
        let described = unsafe { describe(&managed.dl_tensor)? };
        let release = managed.deleter.map_or(Foreign::Nothing, |deleter| Foreign::Versioned(raw, deleter));
        Ok(described.take(release, managed.flags & FLAG_READ_ONLY != 0))
    }
}

/// A structure of other code, which its deleter releases.
enum Foreign {
    /// Without a deleter.
    Nothing,
    Plain(*mut DLManagedTensor, unsafe extern "C" fn(*mut DLManagedTensor)),
    Versioned(*mut DLManagedTensorVersioned, unsafe extern "C" fn(*mut DLManagedTensorVersioned)),
}

// SAFETY: the importer's caller has promised that its deleter may be called from any thread; nothing else is done with it.
unsafe impl Send for Foreign {}
// SAFETY: a shared reference gives no access.
unsafe impl Sync for Foreign {}

impl Keeper for Foreign {}

impl Drop for Foreign {
    fn drop(&mut self) {
        match *self {
            Self::Nothing => {}
            // SAFETY: the structure's own deleter, called once; its owner has promised that it is still valid.
            Self::Plain(raw, deleter) => unsafe { deleter(raw) },
            // SAFETY: as above.
            Self::Versioned(raw, deleter) => unsafe { deleter(raw) },
        }
    }
}

/// A checked tensor.
struct Described {
    device: Device,
    pinned: bool,
    address: *mut c_void,
    bytes: usize,
    data_type: super::DLDataType,
    layout: Layout,
}

impl Described {
    fn take(self, release: Foreign, read_only: bool) -> Tensor {
        let Self { device, pinned, address, bytes, data_type, layout } = self;
        let owner = Owner::Keeper(Box::new(release));
        let mut memory = Allocation::empty(&device);
        if pinned {
            memory.usage = Usage::host();
            memory.adopt_host(address, bytes, owner);
        } else {
            memory.adopt(address, bytes, owner);
        }
        Tensor { memory, pinned, data_type, layout, read_only, ordered: false }
    }
}

/// Checks a tensor, without trusting its numbers.
///
/// # Safety
/// Shape and strides must point to as many numbers as there are dimensions, unless there are more than
/// [`MOST_DIMENSIONS`], or be null.
unsafe fn describe(tensor: &DLTensor) -> Result<Described> {
    let dimensions = usize::try_from(tensor.ndim).ok().filter(|&dimensions| dimensions <= MOST_DIMENSIONS);
    let dimensions = dimensions
        .ok_or_else(|| refused(format!("of {} dimensions", tensor.ndim), format!("of 0 to {MOST_DIMENSIONS}")))?;
    if dimensions != 0 && (tensor.shape.is_null() || !tensor.shape.is_aligned() || !tensor.strides.is_aligned()) {
        return Err(refused("with a shape at no good address", "one that can be read"));
    }
    // SAFETY: not null, aligned, and the caller ensures the length.
    let shape = if dimensions == 0 { &[][..] } else { unsafe { slice::from_raw_parts(tensor.shape, dimensions) } };
    let strides = if tensor.strides.is_null() || dimensions == 0 {
        None
    } else {
        // SAFETY: as above.
        Some(unsafe { slice::from_raw_parts(tensor.strides, dimensions) })
    };
    let layout = Layout::from_raw(shape, strides)?;
    let element = tensor.dtype.bytes().ok_or_else(|| refused(format!("of {}", tensor.dtype), "whole bytes"))?;
    let span = layout
        .span()
        .ok_or_else(|| refused(format!("of strides {:?}", layout.strides()), "none below 0 where it has an extent"))?;
    let bytes = span.checked_mul(element).filter(|&bytes| isize::try_from(bytes).is_ok());
    let bytes = bytes.ok_or(Error::TooLarge { elements: span, element_bytes: element })?;

    let pinned = Kinds::in_use().is_pinned(tensor.device.device_type)?;
    let device = Device::get(usize::try_from(tensor.device.device_id).unwrap_or(usize::MAX))?;
    if bytes == 0 {
        let address = ptr::null_mut();
        return Ok(Described { device, pinned, address, bytes, data_type: tensor.dtype, layout });
    }
    let offset = usize::try_from(tensor.byte_offset).ok();
    let start = offset.and_then(|offset| tensor.data.addr().checked_add(offset));
    let Some(start) = start.filter(|start| !tensor.data.is_null() && start.checked_add(bytes).is_some()) else {
        return Err(refused(
            format!("of {bytes} bytes at {:p} and {}", tensor.data, tensor.byte_offset),
            "within an address space",
        ));
    };
    expect_memory(start, bytes, device, pinned)?;
    let address = tensor.data.wrapping_byte_add(start - tensor.data.addr());
    Ok(Described { device, pinned, address, bytes, data_type: tensor.dtype, layout })
}

/// Checks the memory at both ends with the runtime.
fn expect_memory(start: usize, bytes: usize, device: Device, pinned: bool) -> Result<()> {
    for address in [start, start + bytes - 1] {
        let Some(found) = DevicePtr::<u8>::from_address(address as u64).attributes()? else {
            return Err(refused(format!("at {address:#x}, where the runtime has made no memory"), "memory of ROCm"));
        };
        let fits = match found.kind {
            PointerKind::Host => pinned,
            PointerKind::Device => !pinned,
            PointerKind::Managed | PointerKind::Unified => true,
            PointerKind::Array => false,
        };
        if !fits {
            let place = if pinned { "pinned memory of the host" } else { "memory of a device" };
            return Err(refused(format!("in memory of the kind {:?}", found.kind), place));
        }
        if found.kind == PointerKind::Device {
            device.expect(found.device, "the memory of a tensor")?;
        }
    }
    Ok(())
}
