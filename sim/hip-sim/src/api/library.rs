//! Libraries: code that is loaded on each device at its first use there (since HIP 7.1, extended in 10.0).

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use amdgpu_sim::{CodeObject, KernelInfo, KernelKind, ValueKind, bundle};
use hip_sys::rocm_7_2::*;

use super::module::{attribute, name_of, status_of};
use super::{hip_functions, put, put_if_wanted};
use crate::allocation::{free_managed, managed};
use crate::device::Device;
use crate::image;
use crate::library::{Library, LibraryKernel};
use crate::module::Function;
use crate::properties::LDS_BYTES;
use crate::runtime::{Runtime, runtime};
use crate::status::{Outcome, Refusal, ensure};

/// A `hipLibrary_t`, which the lowest API level lacks.
type LibraryHandle = *mut c_void;
/// A `hipKernel_t`, likewise.
type KernelHandle = *mut c_void;

impl Library {
    /// The module on a device, loaded on first use.
    fn module(&self, runtime: &Runtime, device: &Device) -> Result<Arc<amdgpu_sim::Module>, Refusal> {
        let mut made = self.lock();
        if let Some((_, module)) = made.modules.iter().find(|(ordinal, _)| *ordinal == device.ordinal) {
            return Ok(Arc::clone(module));
        }
        device.alive()?;
        let module = device.gpu.load(&self.code).map_err(|error| Refusal::new(status_of(&error), error.to_string()))?;
        made.managed.connect(runtime.memory(), &self.code, &module, |size| managed(runtime, size))?;
        made.modules.push((device.ordinal, Arc::clone(&module)));
        Ok(module)
    }
}

/// Loads `bytes` for all devices, which have the same architecture.
///
/// # Safety
/// `to` must be null or valid for a write.
unsafe fn load(to: *mut LibraryHandle, bytes: &[u8]) -> Outcome {
    let runtime = runtime()?;
    ensure(!to.is_null(), hipErrorInvalidValue)?;
    let code = bundle::pick(bytes, &runtime.current().gpu.target())
        .and_then(|code| CodeObject::parse(&code))
        .map_err(|error| Refusal::new(status_of(&error), error.to_string()))?;
    let target = runtime.current().gpu.target();
    if !code.target().runs_on(&target) {
        return Err(Refusal::new(hipErrorNoBinaryForGpu, format!("code for {}, not for {target}", code.target())));
    }
    if let Some(kernel) = code.kernels().iter().find(|kernel| kernel.kind != KernelKind::Normal) {
        let text = format!("kernel {} of a library runs when it is loaded or unloaded", kernel.name);
        return Err(Refusal::new(hipErrorNotSupported, text));
    }
    let library = Library { code, made: Mutex::default() };
    // SAFETY: not null, hence valid, as the caller vouches.
    unsafe { put(to, runtime.libraries.insert(library).ok_or(hipErrorOutOfMemory)?) }
}

fn library(runtime: &Runtime, handle: LibraryHandle) -> Result<Arc<Library>, Refusal> {
    ensure(!handle.is_null(), hipErrorInvalidValue)?;
    runtime.libraries.get(handle).ok_or_else(|| hipErrorInvalidHandle.into())
}

fn kernel(runtime: &Runtime, handle: KernelHandle) -> Result<Arc<LibraryKernel>, Refusal> {
    ensure(!handle.is_null(), hipErrorInvalidValue)?;
    runtime.library_kernels.get(handle).ok_or_else(|| hipErrorInvalidHandle.into())
}

/// The handle of a library's kernel, the same in every call.
fn kernel_of(
    runtime: &Runtime,
    handle: LibraryHandle,
    library: &Library,
    info: &KernelInfo,
) -> Result<KernelHandle, Refusal> {
    let mut made = library.lock();
    if let Some((_, kernel)) = made.kernels.iter().find(|(other, _)| *other == info.name) {
        return Ok(std::ptr::without_provenance_mut(*kernel));
    }
    let name = CString::new(info.name.as_str()).map_err(|_| hipErrorInvalidImage)?;
    let kernel = LibraryKernel { name, info: info.clone(), library: handle.addr(), made: Mutex::default() };
    let kernel = runtime.library_kernels.insert(kernel).ok_or(hipErrorOutOfMemory)?;
    made.kernels.push((info.name.clone(), kernel.addr()));
    Ok(kernel)
}

/// The function handle of a kernel on the current device, the same in every call.
fn function(runtime: &Runtime, kernel: &LibraryKernel) -> Result<hipFunction_t, Refusal> {
    let device = runtime.current();
    let mut made = kernel.made.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, function)) = made.functions.iter().find(|(ordinal, _)| *ordinal == device.ordinal) {
        return Ok(std::ptr::without_provenance_mut(*function));
    }
    let handle: LibraryHandle = std::ptr::without_provenance_mut(kernel.library);
    let module = library(runtime, handle)?.module(runtime, device)?;
    let found = module.kernel(&kernel.info.name).ok_or(hipErrorNotFound)?;
    let function = Function { device: device.ordinal, module: kernel.library, kernel: found };
    let function = runtime.functions.insert(function).ok_or(hipErrorOutOfMemory)?;
    made.functions.push((device.ordinal, function.addr()));
    Ok(function.cast())
}

/// Unloads libraries from a device, on its reset. Their next use loads them again.
pub(crate) fn reset(runtime: &Runtime, device: usize) {
    for kernel in runtime.library_kernels.values() {
        let mut made = kernel.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.functions.retain(|(ordinal, _)| *ordinal != device);
        made.attributes.retain(|(ordinal, ..)| *ordinal != device);
    }
    for library in runtime.libraries.values() {
        let mut made = library.lock();
        made.modules.retain(|(ordinal, _)| *ordinal != device);
        made.managed.forget_dead(&runtime.blocks);
    }
}

hip_functions! {
    since:

    fn hipLibraryLoadData(
        to: *mut LibraryHandle, code: *const c_void, jit: *mut hipJitOption, jit_values: *mut *mut c_void,
        jit_count: c_uint, options: *mut c_void, values: *mut *mut c_void, count: c_uint,
    ) {
        // The options concern the compiler, or the lifetime of the bytes, which are copied anyway.
        let _ = (jit, jit_values, jit_count, options, values, count);
        ensure(!to.is_null() && !code.is_null(), hipErrorInvalidValue)?;
        let bytes = image::read(code).map_err(|text| Refusal::new(hipErrorInvalidImage, text))?;
        load(to, &bytes)
    }

    fn hipLibraryLoadFromFile(
        to: *mut LibraryHandle, path: *const c_char, jit: *mut hipJitOption, jit_values: *mut *mut c_void,
        jit_count: c_uint, options: *mut c_void, values: *mut *mut c_void, count: c_uint,
    ) {
        let _ = (jit, jit_values, jit_count, options, values, count);
        ensure(!to.is_null() && !path.is_null(), hipErrorInvalidValue)?;
        let path = CStr::from_ptr(path).to_str().map_err(|_| hipErrorFileNotFound)?;
        let bytes = image::read_file(path).map_err(|text| Refusal::new(hipErrorFileNotFound, text))?;
        load(to, &bytes)
    }

    fn hipLibraryUnload(handle: LibraryHandle) {
        let runtime = runtime()?;
        ensure(!handle.is_null(), hipErrorInvalidValue)?;
        let unloaded = runtime.libraries.remove(handle).ok_or(hipErrorInvalidHandle)?;
        // Queued kernels keep the code alive until they have run.
        runtime.library_kernels.remove_where(|kernel| kernel.library == handle.addr());
        runtime.functions.remove_where(|function| function.module == handle.addr());
        let managed = unloaded.lock().managed.take();
        managed.into_iter().for_each(|base| free_managed(runtime, base));
        Ok(())
    }

    fn hipLibraryGetKernel(to: *mut KernelHandle, handle: LibraryHandle, name: *const c_char) {
        let runtime = runtime()?;
        ensure(!to.is_null(), hipErrorInvalidValue)?;
        let library = library(runtime, handle)?;
        let name = name_of(name)?;
        let Some(info) = library.code.kernels().iter().find(|kernel| kernel.name == name) else {
            return Err(Refusal::new(hipErrorNotFound, format!("no kernel {name:?} in the library")));
        };
        put(to, kernel_of(runtime, handle, &library, info)?)
    }

    fn hipLibraryGetKernelCount(count: *mut c_uint, handle: LibraryHandle) {
        ensure(!count.is_null(), hipErrorInvalidValue)?;
        put(count, library(runtime()?, handle)?.code.kernels().len() as c_uint)
    }

    fn hipLibraryEnumerateKernels(to: *mut KernelHandle, room: c_uint, handle: LibraryHandle) {
        let runtime = runtime()?;
        ensure(!to.is_null() && room > 0, hipErrorInvalidValue)?;
        let library = library(runtime, handle)?;
        for (index, info) in library.code.kernels().iter().take(room as usize).enumerate() {
            to.add(index).write(kernel_of(runtime, handle, &library, info)?);
        }
        Ok(())
    }

    fn hipLibraryGetGlobal(to: *mut *mut c_void, bytes: *mut usize, handle: LibraryHandle, name: *const c_char) {
        let runtime = runtime()?;
        ensure(!(to.is_null() && bytes.is_null()), hipErrorInvalidValue)?;
        let library = library(runtime, handle)?;
        let name = name_of(name)?;
        let module = library.module(runtime, runtime.current())?;
        let Some((at, size)) = module.global(name) else {
            return Err(Refusal::new(hipErrorNotFound, format!("no variable {name:?} in the library")));
        };
        put_if_wanted(to, std::ptr::with_exposed_provenance_mut(at as usize));
        put_if_wanted(bytes, size as usize);
        Ok(())
    }

    fn hipLibraryGetManaged(to: *mut *mut c_void, bytes: *mut usize, handle: LibraryHandle, name: *const c_char) {
        let runtime = runtime()?;
        ensure(!(to.is_null() && bytes.is_null()), hipErrorInvalidValue)?;
        let library = library(runtime, handle)?;
        let name = name_of(name)?;
        library.module(runtime, runtime.current())?;
        let found = library.lock().managed.find(name);
        let Some((at, size)) = found else {
            return Err(Refusal::new(hipErrorNotFound, format!("no managed variable {name:?} in the library")));
        };
        put_if_wanted(to, std::ptr::with_exposed_provenance_mut(at as usize));
        put_if_wanted(bytes, size as usize);
        Ok(())
    }

    fn hipKernelGetName(name: *mut *const c_char, handle: KernelHandle) {
        // The name's address is stable while the library is loaded.
        put(name, kernel(runtime()?, handle)?.name.as_ptr())
    }

    fn hipKernelGetLibrary(to: *mut LibraryHandle, handle: KernelHandle) {
        put(to, std::ptr::without_provenance_mut(kernel(runtime()?, handle)?.library))
    }

    fn hipKernelGetFunction(to: *mut hipFunction_t, handle: KernelHandle) {
        let runtime = runtime()?;
        ensure(!to.is_null(), hipErrorInvalidValue)?;
        put(to, function(runtime, &*kernel(runtime, handle)?)?)
    }

    fn hipKernelGetAttribute(value: *mut c_int, which: hipFunction_attribute, handle: KernelHandle, device: c_int) {
        let runtime = runtime()?;
        ensure(!value.is_null(), hipErrorInvalidValue)?;
        let kernel = kernel(runtime, handle)?;
        let device = runtime.device(device)?.ordinal;
        let made = kernel.made.lock().unwrap_or_else(PoisonError::into_inner);
        let set = made.attributes.iter().find(|(ordinal, other, _)| (*ordinal, *other) == (device, which));
        match set {
            Some((.., set)) => put(value, *set),
            None => put(value, attribute(&kernel.info, which)?),
        }
    }

    fn hipKernelSetAttribute(which: hipFunction_attribute, value: c_int, handle: KernelHandle, device: c_int) {
        let runtime = runtime()?;
        let kernel = kernel(runtime, handle)?;
        let device = runtime.device(device)?.ordinal;
        let most = match which {
            HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => LDS_BYTES.saturating_sub(kernel.info.lds_size),
            HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT => 100,
            // The other attributes are read-only properties of the kernel.
            _ => return Err(hipErrorInvalidValue.into()),
        };
        if !u32::try_from(value).is_ok_and(|value| value <= most) {
            return Err(Refusal::new(hipErrorInvalidValue, format!("{which:?} = {value}, of 0 to {most}")));
        }
        let mut made = kernel.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.attributes.retain(|(ordinal, other, _)| (*ordinal, *other) != (device, which));
        made.attributes.push((device, which, value));
        Ok(())
    }

    fn hipKernelGetParamInfo(handle: KernelHandle, index: usize, offset: *mut usize, size: *mut usize) {
        let kernel = kernel(runtime()?, handle)?;
        ensure(!offset.is_null(), hipErrorInvalidValue)?;
        let mut explicit = kernel.info.args.iter().filter(|arg| !matches!(arg.kind, ValueKind::Hidden(_)));
        let argument = explicit.nth(index).ok_or(hipErrorInvalidValue)?;
        put(offset, argument.offset as usize)?;
        put_if_wanted(size, argument.size as usize);
        Ok(())
    }
}
