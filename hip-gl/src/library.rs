//! Queries of the OpenGL library that come before calls of the runtime: the thread's context, and its GPU.
//!
//! ROCm's runtimes rely on this: without a context, or with one on another GPU, their first call leaves them in a state
//! in which later calls crash.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;
use std::mem::transmute;
use std::sync::{Mutex, PoisonError};

use libloading::os::unix::Library;

use crate::error::{Error, Result};
use crate::releases;

/// The library that the runtime opens.
const NAME: &str = "libGL.so.1";

/// Mesa's `struct mesa_glinterop_device_info`, version 1 (`GL/mesa_glinterop.h`).
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct DeviceInfo {
    version: u32,
    pci_segment_group: u32,
    pci_bus: u32,
    pci_device: u32,
    pci_function: u32,
    vendor_id: u32,
    device_id: u32,
}

type GetCurrent = unsafe extern "C" fn() -> *mut c_void;
type GetProcAddress = unsafe extern "C" fn(*const c_char) -> *const c_void;
type QueryDeviceInfo = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut DeviceInfo) -> c_int;

/// OpenGL's library, which is never closed.
struct OpenGl {
    context: GetCurrent,
    display: GetCurrent,
    query: Option<QueryDeviceInfo>,
}

/// The context of a thread, as addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Context {
    context: usize,
    display: usize,
}

/// A GPU that OpenGL runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gpu {
    domain: u32,
    pub(crate) bus: u32,
    pub(crate) device: u32,
    function: u32,
    vendor: u32,
    chip: u32,
}

/// AMD's PCI vendor ID.
const AMD: u32 = 0x1002;

impl Gpu {
    pub(crate) fn is_amd(self) -> bool {
        self.vendor == AMD
    }
}

impl fmt::Display for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { domain, bus, device, function, vendor, chip } = self;
        write!(f, "the GPU at {domain:04x}:{bus:02x}:{device:02x}.{function} (PCI id {vendor:04x}:{chip:04x})")
    }
}

/// A function of GLX.
///
/// # Safety
/// `F` must be the function's type.
unsafe fn function<F: Copy>(library: &Library, name: &str, symbol: &'static CStr) -> Result<F, String> {
    // SAFETY: as the caller ensures.
    let found = unsafe { library.get::<F>(symbol.to_bytes_with_nul()) };
    found.map(|found| *found).map_err(|error| format!("{name} has no GLX, by which HIP finds contexts: {error}"))
}

impl OpenGl {
    /// Opens the library with its symbols visible to the whole program.
    fn open(name: &str) -> Result<Self, String> {
        let library = releases::open(name).map_err(|error| {
            format!("no OpenGL library: {error}; install it (Debian: libgl1 libgl1-mesa-dri; Fedora: mesa-libGL)")
        })?;
        // SAFETY: GLX's functions, whose types these are.
        let (context, display, lookup) = unsafe {
            (
                function::<GetCurrent>(&library, name, c"glXGetCurrentContext")?,
                function::<GetCurrent>(&library, name, c"glXGetCurrentDisplay")?,
                function::<GetProcAddress>(&library, name, c"glXGetProcAddress")?,
            )
        };
        // SAFETY: the type of the function, under either of its names.
        let global = unsafe { Library::this().get::<QueryDeviceInfo>(b"MesaGLInteropGLXQueryDeviceInfo\0") };
        let query = global.ok().map(|found| *found).or_else(|| {
            // SAFETY: a string; the result is null or the function.
            unsafe {
                transmute::<*const c_void, Option<QueryDeviceInfo>>(lookup(c"glXGLInteropQueryDeviceInfoMESA".as_ptr()))
            }
        });
        // The library stays open: its functions are kept.
        std::mem::forget(library);
        Ok(Self { context, display, query })
    }

    fn current(&self) -> Result<Context, &'static str> {
        // SAFETY: both functions have no parameters, and return the thread's current state.
        let (context, display) = unsafe { ((self.context)(), (self.display)()) };
        if context.is_null() || display.is_null() {
            return Err("no context of GLX is current on this thread (glXGetCurrentContext): make one current first; \
                        ROCm's runtimes do not see contexts of EGL");
        }
        Ok(Context { context: context.expose_provenance(), display: display.expose_provenance() })
    }

    fn gpu(&self, current: Context) -> Result<Gpu, String> {
        let Some(query) = self.query else {
            return Err(
                "the OpenGL library has no interop of Mesa's (MesaGLInteropGLXQueryDeviceInfo), which HIP shares by: \
                        OpenGL must run on the AMD GPU by Mesa's driver (radeonsi)"
                    .to_owned(),
            );
        };
        let mut info = DeviceInfo { version: 1, ..DeviceInfo::default() };
        let pointer = std::ptr::with_exposed_provenance_mut::<c_void>;
        // SAFETY: display and context are current on this thread, so they exist; `info` has the version that it states.
        let status = unsafe { query(pointer(current.display), pointer(current.context), &mut info) };
        if status != 0 {
            return Err(format!("Mesa does not say which GPU it runs on (MesaGLInteropGLXQueryDeviceInfo: {status})"));
        }
        Ok(Gpu {
            domain: info.pci_segment_group,
            bus: info.pci_bus,
            device: info.pci_device,
            function: info.pci_function,
            vendor: info.vendor_id,
            chip: info.device_id,
        })
    }
}

/// Queries the library, which is opened at the first call. If that fails, the next call tries again, because it may be
/// available by then.
fn with<R, E: Into<String>>(what: &'static str, ask: impl FnOnce(&OpenGl) -> Result<R, E>) -> Result<R> {
    static LIBRARY: Mutex<Option<OpenGl>> = Mutex::new(None);
    let mut library = LIBRARY.lock().unwrap_or_else(PoisonError::into_inner);
    let open = match library.take() {
        Some(open) => open,
        None => OpenGl::open(NAME).map_err(|reason| Error::open_gl(what, reason))?,
    };
    ask(library.insert(open)).map_err(|reason| Error::open_gl(what, reason))
}

/// Returns the thread's context.
pub(crate) fn current(what: &'static str) -> Result<Context> {
    with(what, OpenGl::current)
}

/// Returns the GPU of the thread's context.
pub(crate) fn gpu(what: &'static str, current: Context) -> Result<Gpu> {
    with(what, |open| open.gpu(current))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_not_there_is_named_with_what_to_install() {
        let refused = OpenGl::open("libGL-of-nobody.so.1").err().unwrap();
        assert!(refused.contains("libGL-of-nobody.so.1") && refused.contains("libgl1-mesa-dri"), "{refused}");
    }

    #[test]
    fn a_library_that_is_no_opengl_is_named_with_what_it_lacks() {
        let refused = OpenGl::open("libc.so.6").err().unwrap();
        assert!(refused.contains("libc.so.6 has no GLX") && refused.contains("glXGetCurrentContext"), "{refused}");
    }

    #[test]
    fn without_mesa_a_driver_is_named_that_would_do() {
        extern "C" fn none() -> *mut c_void {
            std::ptr::null_mut()
        }
        let open = OpenGl { context: none, display: none, query: None };
        let refused = open.current().unwrap_err();
        assert!(refused.contains("glXGetCurrentContext") && refused.contains("EGL"), "{refused}");
        let refused = open.gpu(Context { context: 1, display: 1 }).unwrap_err();
        assert!(refused.contains("MesaGLInteropGLXQueryDeviceInfo") && refused.contains("radeonsi"), "{refused}");
    }

    #[test]
    fn a_gpu_that_is_not_told_is_an_error_with_mesas_status() {
        extern "C" fn some() -> *mut c_void {
            std::ptr::without_provenance_mut(1)
        }
        extern "C" fn query(_: *mut c_void, _: *mut c_void, info: *mut DeviceInfo) -> c_int {
            // SAFETY: as the caller ensures.
            unsafe { (*info).pci_bus = 3 };
            6
        }
        let open = OpenGl { context: some, display: some, query: Some(query) };
        let refused = open.gpu(open.current().unwrap()).unwrap_err();
        assert!(refused.contains("6"), "{refused}");
    }
}
