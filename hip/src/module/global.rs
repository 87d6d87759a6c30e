//! Variables of a module as buffers.

use std::ffi::{CStr, CString, c_void};
use std::ops::Range;
use std::ptr;
use std::sync::Arc;

use bytemuck::Pod;
use hip_sys::hipError_t;

use super::Module;
use super::inner::ModuleInner;
use crate::core::call::check;
use crate::core::error::{Error, Result, Status};
use crate::memory::{Allocation, DeviceBuffer, Keeper};

impl Module {
    /// Returns a variable of the module (`__device__`, `__constant__`) by name (`hipModuleGetGlobal`), as a buffer of
    /// the `T` that fill its bytes: `float factors[8]` is 8 `f32`, a struct is one element of the same layout.
    ///
    /// The buffer keeps the module loaded, and only one buffer of a variable can exist at a time. Launches of any
    /// kernel of the module may use the variable, and are ordered with the work on the buffer: a copy comes after the
    /// launches that were queued before it, on any stream, and before those that are queued later. Launches are not
    /// ordered with each other: their callers must ensure that kernels which share a variable do not race, and that a
    /// kernel leaves valid values of the buffer's elements ([`Pod`] types take any). A kernel must not write to a
    /// `__constant__` variable.
    ///
    /// ```
    /// # fn main() -> hip::Result<()> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// use hip::{Device, LaunchConfig, Module, Stream};
    ///
    /// let device = Device::get(0)?;
    /// # if device.properties()?.arch.name() != "gfx90a" { return Ok(()) }
    /// let stream = Stream::new(&device)?;
    /// // __device__ unsigned counters[64] = {1, 2, 3, 4};
    /// let code = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernels/globals.gfx90a.co"));
    /// let module = Module::load(&device, code)?;
    /// let mut counters = module.global::<u32>("counters")?;
    /// counters.slice_mut(2..)?.fill(10)?;
    /// // SAFETY: adds 5 to as many counters as the block has threads, 64 at most.
    /// unsafe { module.kernel("slow_count")?.launch(&stream, LaunchConfig::new(1, 64), (0u32, 5u32))? };
    /// assert_eq!(counters.slice(..4)?.to_vec()?, [6, 7, 15, 15]); // waits for the launch
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the variable does not exist, if its size is not a multiple of `T`'s or it is not
    /// aligned for `T`, and while another buffer has any of its bytes; [`Error::ZeroSizedType`].
    #[doc(alias("hipModuleGetGlobal", "cuModuleGetGlobal"))]
    #[doc(alias = "hipMemcpyToSymbol")]
    #[doc(alias = "hipMemcpyFromSymbol")]
    #[doc(alias = "hipGetSymbolAddress")]
    #[doc(alias = "cudaMemcpyToSymbol")]
    #[doc(alias = "cudaMemcpyFromSymbol")]
    #[doc(alias = "cudaGetSymbolAddress")]
    pub fn global<T: Pod>(&self, name: &str) -> Result<DeviceBuffer<T>> {
        self.inner.device.activate()?;
        variable(&self.inner, name, "hipModuleGetGlobal", |pointer, bytes, name| {
            // SAFETY: both are valid for a write, the module is loaded, the name is terminated.
            unsafe { hip_sys::hipModuleGetGlobal(pointer, bytes, self.inner.raw, name.as_ptr()) }
        })
    }
}

/// Returns a variable of a module as a buffer. `find` writes the address and the size of a name. The device must be
/// current.
pub(crate) fn variable<T: Pod>(
    module: &Arc<ModuleInner>,
    name: &str,
    function: &'static str,
    find: impl FnOnce(&mut *mut c_void, &mut usize, &CStr) -> hipError_t,
) -> Result<DeviceBuffer<T>> {
    let type_name = std::any::type_name::<T>();
    if size_of::<T>() == 0 {
        return Err(Error::ZeroSizedType { type_name });
    }
    let refused =
        |value: String, allowed: String| Error::InvalidValue { what: "the variable of a module", value, allowed };
    let none = || refused(format!("{name:?}"), "the name of one that the module has".to_owned());
    let c_name = CString::new(name).ok().filter(|name| !name.is_empty()).ok_or_else(none)?;
    let (mut pointer, mut bytes) = (ptr::null_mut(), 0usize);
    match check(find(&mut pointer, &mut bytes, &c_name), function, || format!("the variable {name:?}")) {
        Err(error) if error.status() == Some(Status::NOT_FOUND) => return Err(none()),
        other => other?,
    }
    let address = pointer as usize;
    if pointer.is_null() || bytes == 0 || bytes % size_of::<T>() != 0 {
        let allowed = format!("a multiple of {} bytes long, for {type_name}", size_of::<T>());
        return Err(refused(format!("{name:?}, which is {bytes} bytes long"), allowed));
    }
    if address % align_of::<T>() != 0 {
        let allowed = format!("at a multiple of {}, for {type_name}", align_of::<T>());
        return Err(refused(format!("{name:?}, which is at {address:#x}"), allowed));
    }
    let claim = Claim::new(module, address..address.saturating_add(bytes)).ok_or_else(|| {
        refused(format!("{name:?}, which a buffer has already"), "one that no buffer has: drop that first".to_owned())
    })?;
    let usage = module.usage.shared();
    let memory = Allocation::part(&module.device, pointer, bytes, usage, Box::new(claim));
    Ok(DeviceBuffer::from_allocation(memory, bytes / size_of::<T>()))
}

/// A buffer's exclusive claim on some bytes of a module.
struct Claim {
    module: Arc<ModuleInner>,
    bytes: Range<usize>,
}

impl Claim {
    /// Returns `None` if another buffer has some of the bytes.
    fn new(module: &Arc<ModuleInner>, bytes: Range<usize>) -> Option<Self> {
        let mut claimed = module.variables.lock();
        if claimed.iter().any(|other| other.start < bytes.end && bytes.start < other.end) {
            return None;
        }
        claimed.push(bytes.clone());
        Some(Self { module: Arc::clone(module), bytes })
    }
}

impl Keeper for Claim {}

impl Drop for Claim {
    fn drop(&mut self) {
        self.module.variables.lock().retain(|other| *other != self.bytes);
    }
}
