//! Modules, their kernels and variables.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::{Mutex, PoisonError};

use amdgpu_sim::{CodeObject, KernelInfo, KernelKind, LoadError, bundle};
use hip_sys::rocm_7_2::*;

use super::{hip_functions, put, put_if_wanted};
use crate::allocation::{free_managed, managed};
use crate::fault::{self, Failure};
use crate::image;
use crate::launch::{Launch, Prepared};
use crate::module::{Function, Module};
use crate::properties::LDS_BYTES;
use crate::runtime::{Runtime, runtime};
use crate::status::{Outcome, Refusal, ensure};
use crate::variables::ManagedVariables;

/// Loads `bytes` on the current device.
///
/// # Safety
/// `to` must be null or valid for a write.
unsafe fn load(to: *mut hipModule_t, bytes: &[u8]) -> Outcome {
    let runtime = runtime()?;
    ensure(!to.is_null(), hipErrorInvalidValue)?;
    let device = runtime.live_current()?;
    let refused = |error: LoadError| Refusal::new(status_of(&error), error.to_string());
    let parsed = bundle::pick(bytes, &device.gpu.target()).and_then(|code| CodeObject::parse(&code));
    let parsed = parsed.map_err(refused)?;
    let code = device.gpu.load(&parsed).map_err(refused)?;
    let mut variables = ManagedVariables::default();
    variables.connect(runtime.memory(), &parsed, &code, |size| managed(runtime, size))?;
    run_automatic(runtime, device.ordinal, &code, KernelKind::Init)
        .map_err(|failure| Refusal::new(failure.status, failure.text))?;
    let module = Module { device: device.ordinal, code, functions: Mutex::default(), managed: Mutex::new(variables) };
    // SAFETY: not null, hence valid, as the caller vouches.
    unsafe { put(to, runtime.modules.insert(module).ok_or(hipErrorOutOfMemory)?.cast()) }
}

/// Runs the module's kernels of a kind immediately, with one thread each and no arguments.
fn run_automatic(runtime: &Runtime, device: usize, code: &amdgpu_sim::Module, kind: KernelKind) -> Result<(), Failure> {
    let launch = Launch { grid: [1; 3], block: [1; 3], lds: 0, is_cooperative: false };
    let mut kernels: Vec<_> = code.kernels().filter(|kernel| kernel.info().kind == kind).collect();
    kernels.sort_unstable_by(|a, b| a.info().name.cmp(&b.info().name));
    kernels.into_iter().try_for_each(|kernel| {
        let arguments = vec![0; kernel.info().explicit_size() as usize];
        Prepared { device, kernel: kernel.clone(), launch, arguments }.run(&runtime.devices)
    })
}

/// The HIP status of a load error.
pub(crate) fn status_of(error: &LoadError) -> hipError_t {
    match error {
        LoadError::Target { .. } | LoadError::NoCodeFor { .. } => hipErrorNoBinaryForGpu,
        LoadError::Memory(_) => hipErrorOutOfMemory,
        LoadError::UndefinedSymbol(_) => hipErrorSharedObjectInitFailed,
        _ => hipErrorInvalidImage,
    }
}

/// `hipModuleLoadData` and similar functions.
///
/// # Safety
/// `to` must be null or valid for a write, `image` null or an image.
unsafe fn load_image(to: *mut hipModule_t, image: *const c_void) -> Outcome {
    ensure(!to.is_null() && !image.is_null(), hipErrorInvalidValue)?;
    // SAFETY: as the caller vouches.
    let bytes = unsafe { image::read(image) };
    let bytes = bytes.map_err(|text| Refusal::new(hipErrorInvalidImage, text))?;
    // SAFETY: as the caller vouches.
    unsafe { load(to, &bytes) }
}

/// Reads a name, which must not be empty.
///
/// # Safety
/// `text` must be null or end with a NUL.
pub(crate) unsafe fn name_of<'a>(text: *const c_char) -> Result<&'a str, Refusal> {
    ensure(!text.is_null(), hipErrorInvalidValue)?;
    // SAFETY: not null, hence a C string, as the caller vouches.
    let text = unsafe { CStr::from_ptr(text) };
    // Names of kernels and variables are UTF-8, so a name that is not cannot be found.
    let name = text.to_str().map_err(|_| hipErrorNotFound)?;
    ensure(!name.is_empty(), hipErrorInvalidValue)?;
    Ok(name)
}

/// The handle of a module's kernel, the same in every call.
fn function(runtime: &Runtime, handle: hipModule_t, name: &str) -> Result<hipFunction_t, Refusal> {
    let module = runtime.modules.get(handle.cast()).ok_or(hipErrorInvalidHandle)?;
    let mut known = module.functions.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, function)) = known.iter().find(|(other, _)| other == name) {
        return Ok(std::ptr::without_provenance_mut(*function));
    }
    let Some(kernel) = module.code.kernel(name) else {
        let mut names: Vec<_> = module.code.kernels().map(|k| k.info().name.as_str()).collect();
        names.sort_unstable();
        return Err(Refusal::new(
            hipErrorNotFound,
            format!("no kernel {name:?} in the module; it has {}", names.join(", ")),
        ));
    };
    let function = Function { device: module.device, module: handle.addr(), kernel };
    let function = runtime.functions.insert(function).ok_or(hipErrorOutOfMemory)?;
    known.push((name.to_owned(), function.addr()));
    Ok(function.cast())
}

/// An attribute of a kernel.
pub(crate) fn attribute(info: &KernelInfo, which: hipFunction_attribute) -> Result<c_int, Refusal> {
    let number = match which {
        HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK => info.max_workgroup_size,
        HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES => info.lds_size,
        HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES
        | HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA
        | HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT => 0,
        HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES => info.private_size,
        HIP_FUNC_ATTRIBUTE_NUM_REGS => info.vgpr_count,
        HIP_FUNC_ATTRIBUTE_PTX_VERSION | HIP_FUNC_ATTRIBUTE_BINARY_VERSION => 90,
        HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => LDS_BYTES.saturating_sub(info.lds_size),
        _ => return Err(hipErrorInvalidValue.into()),
    };
    Ok(c_int::try_from(number).unwrap_or(c_int::MAX))
}

hip_functions! {
    fn hipModuleLoad(module: *mut hipModule_t, path: *const c_char) {
        ensure(!module.is_null() && !path.is_null(), hipErrorInvalidValue)?;
        let path = CStr::from_ptr(path);
        ensure(!path.is_empty(), hipErrorInvalidValue)?;
        let path = path.to_str().map_err(|_| hipErrorFileNotFound)?;
        let bytes = image::read_file(path).map_err(|text| Refusal::new(hipErrorFileNotFound, text))?;
        load(module, &bytes)
    }

    fn hipModuleLoadData(module: *mut hipModule_t, image: *const c_void) {
        load_image(module, image)
    }

    fn hipModuleLoadDataEx(
        module: *mut hipModule_t, image: *const c_void,
        option_count: c_uint, options: *mut hipJitOption, values: *mut *mut c_void,
    ) {
        // The options are for the compiler and have no meaning for code objects. AMD's runtime ignores them too.
        let _ = (option_count, options, values);
        load_image(module, image)
    }

    fn hipModuleUnload(module: hipModule_t) {
        let runtime = runtime()?;
        runtime.captures.refuse_unsafe()?;
        let unloaded = runtime.modules.remove(module.cast()).ok_or(hipErrorInvalidHandle)?;
        if let Err(failure) = run_automatic(runtime, unloaded.device, &unloaded.code, KernelKind::Fini) {
            // The failure cannot be returned: the module is unloaded in any case.
            fault::remember(&failure);
        }
        // Queued kernels keep the code alive until they have run.
        runtime.functions.remove_where(|function| function.module == module.addr());
        let managed = unloaded.managed.lock().unwrap_or_else(PoisonError::into_inner).take();
        managed.into_iter().for_each(|base| free_managed(runtime, base));
        Ok(())
    }

    fn hipModuleGetFunction(to: *mut hipFunction_t, module: hipModule_t, name: *const c_char) {
        let runtime = runtime()?;
        ensure(!to.is_null(), hipErrorInvalidValue)?;
        put(to, function(runtime, module, name_of(name)?)?)
    }

    fn hipModuleGetGlobal(address: *mut hipDeviceptr_t, bytes: *mut usize, module: hipModule_t, name: *const c_char) {
        let runtime = runtime()?;
        ensure(!(address.is_null() && bytes.is_null()), hipErrorInvalidValue)?;
        let name = name_of(name)?;
        let module = runtime.modules.get(module.cast()).ok_or(hipErrorInvalidHandle)?;
        let managed = module.managed.lock().unwrap_or_else(PoisonError::into_inner).find(name);
        let Some((at, size)) = managed.or_else(|| module.code.global(name)) else {
            return Err(Refusal::new(hipErrorNotFound, format!("no variable {name:?} in the module")));
        };
        put_if_wanted(address, std::ptr::with_exposed_provenance_mut(at as usize));
        put_if_wanted(bytes, size as usize);
        Ok(())
    }

    fn hipFuncGetAttribute(value: *mut c_int, which: hipFunction_attribute, function: hipFunction_t) {
        let runtime = runtime()?;
        ensure(!value.is_null(), hipErrorInvalidValue)?;
        let function = runtime.functions.get(function.cast()).ok_or(hipErrorInvalidHandle)?;
        put(value, attribute(function.kernel.info(), which)?)
    }

    since:

    fn hipModuleGetFunctionCount(count: *mut c_uint, module: hipModule_t) {
        let module = runtime()?.modules.get(module.cast()).ok_or(hipErrorInvalidHandle)?;
        put(count, module.code.kernels().count() as c_uint)
    }

    fn hipModuleLoadFatBinary(module: *mut hipModule_t, image: *const c_void) {
        load_image(module, image)
    }
}
