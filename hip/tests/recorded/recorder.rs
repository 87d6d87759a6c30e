//! A HIP runtime that records its calls: it replaces the library, and forwards to the real one or the software GPU.
#![allow(non_snake_case, non_upper_case_globals, reason = "names are C's")]

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_int, c_uint, c_void};
use std::mem::transmute;
use std::ptr::NonNull;
use std::slice;
use std::sync::Mutex;
#[cfg(feature = "sim")]
use std::sync::OnceLock;

use hip::sys::*;
use rocm_loader::{Binding, Provider};

thread_local! {
    static CALLS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static CACHE: Cell<hipFuncCache_t> = const { Cell::new(hipFuncCachePreferNone) };
}

/// Handles that were destroyed, by any thread.
static DESTROYED: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// Forgets an earlier handle with the same address.
pub(crate) fn made<H>(handle: *mut H) {
    DESTROYED.lock().unwrap().retain(|&known| known != handle.addr());
}

/// Returns the position of a handle in the order of destruction, if it was destroyed.
pub(crate) fn destroyed<H>(handle: *mut H) -> Option<usize> {
    DESTROYED.lock().unwrap().iter().position(|&known| known == handle.addr())
}

fn note_destroyed<H>(handle: *mut H) -> String {
    DESTROYED.lock().unwrap().push(handle.addr());
    format!("{handle:p}")
}

/// Returns the result of `body`, and the recorded calls that it made on this thread.
pub(crate) fn calls<R>(body: impl FnOnce() -> R) -> (R, Vec<String>) {
    CALLS.take();
    let result = body();
    (result, CALLS.take())
}

/// Makes `hipDeviceGetCacheConfig` return this on this thread.
pub(crate) fn set_cache_config(config: hipFuncCache_t) {
    CACHE.set(config);
}

fn note(function: &str, told: &str) {
    CALLS.with_borrow_mut(|calls| calls.push(format!("{function} {told}").trim_end().to_owned()));
}

/// Returns whether the runtime below can be found, and has a device.
pub(crate) fn is_there() -> bool {
    let Some(count) = below(c"hipGetDeviceCount") else { return false };
    // SAFETY: the function of this name has this type in every release.
    let count = unsafe { transmute::<NonNull<c_void>, unsafe extern "C" fn(*mut c_int) -> hipError_t>(count) };
    let mut devices = 0;
    // SAFETY: `devices` is valid for a write.
    unsafe { count(&mut devices) == hipSuccess && devices > 0 }
}

/// The runtime that executes the calls: ROCm's.
static LIBRARY: Binding = Binding::new(&rocm_loader::libraries::AMDHIP64);

/// Whether the software GPU executes the calls instead.
#[cfg(feature = "sim")]
fn is_sim() -> bool {
    static SIM: OnceLock<bool> = OnceLock::new();
    *SIM.get_or_init(|| {
        std::env::var_os("HIP_RS_BACKEND").is_some_and(|backend| backend == "sim") || LIBRARY.load().is_err()
    })
}

/// Returns a function of that runtime.
fn below(name: &CStr) -> Option<NonNull<c_void>> {
    #[cfg(feature = "sim")]
    if is_sim() {
        return hip_sim::provider().symbol(name);
    }
    LIBRARY.symbol(name)
}

/// The provider.
pub(crate) struct Recorder;

impl Provider for Recorder {
    fn name(&self) -> &str {
        "a recorder"
    }

    fn release(&self) -> Option<(u32, u32)> {
        #[cfg(feature = "sim")]
        if is_sim() {
            return hip_sim::provider().release();
        }
        LIBRARY.abi().map(|abi| abi.first)
    }

    fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        let next = below(name)?;
        Some(instead(name).unwrap_or(next))
    }
}

/// Defines functions that record their arguments, in the form of the expression, and then call the function of the same
/// name below.
macro_rules! recorded {
    ($($(#[$gate:meta])? $name:ident($($argument:ident: $type:ty),*) $told:expr;)*) => {
        $(
            $(#[$gate])?
            unsafe extern "C" fn $name($($argument: $type),*) -> hipError_t {
                note(stringify!($name), &$told);
                let name = concat!(stringify!($name), "\0");
                let Some(function) = CStr::from_bytes_with_nul(name.as_bytes()).ok().and_then(below) else {
                    return hipErrorNotSupported;
                };
                // SAFETY: the function of this name has this type in every release that has it; the caller ensures the rest.
                unsafe {
                    let function = transmute::<NonNull<c_void>, unsafe extern "C" fn($($type),*) -> hipError_t>(function);
                    function($($argument),*)
                }
            }
        )*

        fn instead(name: &CStr) -> Option<NonNull<c_void>> {
            match name.to_str().ok()? {
                $(
                    $(#[$gate])?
                    stringify!($name) => NonNull::new($name as *const () as *mut c_void),
                )*
                "hipEventElapsedTime" => NonNull::new(elapsed_time as *const () as *mut c_void),
                "hipDeviceGetCacheConfig" => NonNull::new(get_cache_config as *const () as *mut c_void),
                _ => None,
            }
        }
    };
}

recorded! {
    hipMemPoolCreate(pool: *mut hipMemPool_t, properties: *const hipMemPoolProps)
        // SAFETY: the caller's properties.
        pool_properties(unsafe { &*properties });
    hipModuleLoadDataEx(
        module: *mut hipModule_t, image: *const c_void, count: c_uint, options: *mut hipJitOption, values: *mut *mut c_void
    )
        // SAFETY: the caller's lists of `count` each.
        unsafe { load_options(slice::from_raw_parts(options, count as usize), slice::from_raw_parts(values, count as usize)) };
    hipDeviceGraphMemTrim(device: c_int) device.to_string();
    hipMalloc3DArray(
        array: *mut hipArray_t, description: *const hipChannelFormatDesc, extent: hipExtent, flags: c_uint
    )
        format!("{} x {} x {} flags {flags}", extent.width, extent.height, extent.depth);
    hipFree(pointer: *mut c_void) format!("{pointer:p}");
    hipFreeArray(array: hipArray_t) note_destroyed(array);
    hipDestroyTextureObject(texture: hipTextureObject_t) note_destroyed(texture);
    hipDeviceSetCacheConfig(config: hipFuncCache_t) format!("{config:?}");
    #[cfg(feature = "rocm-7-0")]
    hipDrvLaunchKernelEx(
        config: *const HIP_LAUNCH_CONFIG, kernel: hipFunction_t, parameters: *mut *mut c_void, extra: *mut *mut c_void
    )
        // SAFETY: the caller's configuration.
        launch_config(unsafe { &*config });
}

fn pool_properties(properties: &hipMemPoolProps) -> String {
    #[cfg(feature = "rocm-6-2")]
    let most = properties.maxSize;
    #[cfg(not(feature = "rocm-6-2"))]
    let most = "?";
    format!("device {} handles {:?} most {most}", properties.location.id, properties.handleTypes)
}

/// Returns the options, except for the logs' addresses.
fn load_options(options: &[hipJitOption], values: &[*mut c_void]) -> String {
    let told = options.iter().zip(values).filter_map(|(option, value)| match *option {
        hipJitOptionInfoLogBuffer | hipJitOptionErrorLogBuffer => None,
        _ => Some(format!("{option:?}={}", value.addr())),
    });
    told.collect::<Vec<_>>().join(" ")
}

#[cfg(feature = "rocm-7-0")]
fn launch_config(config: &HIP_LAUNCH_CONFIG) -> String {
    let attributes = match config.numAttrs {
        0 => &[][..],
        // SAFETY: the caller's list.
        count => unsafe { slice::from_raw_parts(config.attrs, count as usize) },
    };
    // SAFETY: both attributes that the crate uses are numbers at the start of the union.
    let told = attributes.iter().map(|a| format!("{:?}={}", a.id, unsafe { a.anon_1.val.priority }));
    told.collect::<Vec<_>>().join(" ")
}

unsafe extern "C" fn get_cache_config(config: *mut hipFuncCache_t) -> hipError_t {
    // SAFETY: the caller ensures that it is valid for a write.
    unsafe { config.write(CACHE.get()) };
    hipSuccess
}

/// Always 1500 milliseconds.
unsafe extern "C" fn elapsed_time(milliseconds: *mut f32, _: hipEvent_t, _: hipEvent_t) -> hipError_t {
    // SAFETY: the caller ensures that it is valid for a write.
    unsafe { milliseconds.write(1500.0) };
    hipSuccess
}
