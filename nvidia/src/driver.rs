//! The CUDA driver: the shared library, opened on first use, and its functions.

use std::ffi::{CStr, c_char, c_uint, c_void};
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use hip_sys::rocm_7_2::{hipErrorNoDevice, hipErrorNotReady, hipErrorNotSupported};

use crate::status::{Failure, Outcome, from_cuda};

/// The names of the library: the loader's own search applies.
#[cfg(windows)]
const NAMES: &[&str] = &["nvcuda.dll"];
#[cfg(not(windows))]
const NAMES: &[&str] = &["libcuda.so.1", "libcuda.so"];

/// Returns the function of a name.
pub(crate) type Lookup = fn(&CStr) -> Option<NonNull<c_void>>;

enum Source {
    /// It stays open until the process ends: the driver has threads of its own.
    Library(ManuallyDrop<libloading::Library>),
    /// The stand-in of a test.
    #[cfg_attr(not(test), allow(dead_code, reason = "only tests have a stand-in"))]
    StandIn(Lookup),
}

impl Source {
    fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        match self {
            Self::Library(library) => {
                // SAFETY: only the address is read here; the caller of the function states its type.
                let symbol = unsafe { library.get::<*mut c_void>(name.to_bytes_with_nul()) };
                symbol.ok().and_then(|symbol| NonNull::new(*symbol))
            }
            Self::StandIn(lookup) => lookup(name),
        }
    }
}

/// The opened library, or why it could not be opened.
static SOURCE: OnceLock<Result<Source, String>> = OnceLock::new();

/// The result of `cuInit`: the number of devices, or CUDA's reason.
static STARTED: OnceLock<Result<usize, String>> = OnceLock::new();

fn source() -> Result<&'static Source, &'static str> {
    SOURCE.get_or_init(open).as_ref().map_err(String::as_str)
}

fn open() -> Result<Source, String> {
    let mut reasons = Vec::new();
    for name in NAMES {
        // SAFETY: the CUDA driver's initialisers have no requirements; a file of this name on the loader's path is the
        // driver.
        match unsafe { libloading::Library::new(name) } {
            Ok(library) => return Ok(Source::Library(ManuallyDrop::new(library))),
            Err(error) => reasons.push(error.to_string()),
        }
    }
    let reasons = reasons.join("; ");
    Err(format!(
        "the CUDA driver is not available: {reasons}. Install NVIDIA's driver, or put its folder on the loader's path"
    ))
}

/// Replaces the library in a test.
#[cfg(test)]
pub(crate) fn stand_in(lookup: Lookup) {
    let source = SOURCE.get_or_init(|| Ok(Source::StandIn(lookup)));
    assert!(matches!(source, Ok(Source::StandIn(_))), "the driver was opened before");
}

/// One function of the driver, looked up on first use. Several names are tried in order: the driver adds versions of a
/// function, such as `cuEventElapsedTime_v2`.
pub(crate) struct Symbol {
    names: &'static [&'static CStr],
    /// Null until resolved; then the function, or `MISSING`.
    address: AtomicPtr<c_void>,
}

const MISSING: usize = 1;

impl Symbol {
    pub(crate) const fn new(names: &'static [&'static CStr]) -> Self {
        Self { names, address: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Returns the function. Fails with `hipErrorNotSupported` if this driver lacks it.
    #[inline]
    pub(crate) fn get(&self) -> Outcome<NonNull<c_void>> {
        // Acquire pairs with the release below, so that a thread that sees the address also sees the loaded library.
        let address = self.address.load(Ordering::Acquire);
        if address.addr() > MISSING {
            // SAFETY: greater than the mark, hence not null.
            return Ok(unsafe { NonNull::new_unchecked(address) });
        }
        self.resolve()
    }

    /// Returns its name for messages.
    pub(crate) fn name(&self) -> &'static str {
        self.names.first().and_then(|name| name.to_str().ok()).unwrap_or_default()
    }

    #[cold]
    fn resolve(&self) -> Outcome<NonNull<c_void>> {
        let source = source().map_err(|reason| Failure::new(hipErrorNoDevice, reason))?;
        let found = self.names.iter().find_map(|name| source.symbol(name));
        let address = found.map_or(ptr::without_provenance_mut(MISSING), NonNull::as_ptr);
        self.address.store(address, Ordering::Release);
        found.ok_or_else(|| {
            let text = format!("this CUDA driver has no {}. Install a newer one", self.name());
            Failure::new(hipErrorNotSupported, text)
        })
    }

    /// Returns the outcome of a call that returned `code`.
    #[inline]
    pub(crate) fn check(&self, code: c_uint) -> Outcome {
        if code == 0 { Ok(()) } else { Err(self.failure(code)) }
    }

    #[cold]
    fn failure(&self, code: c_uint) -> Failure {
        let status = from_cuda(code);
        if status == hipErrorNotReady {
            return status.into();
        }
        Failure::new(status, format!("{}: {}", self.name(), describe(code)))
    }
}

/// Declares functions of the driver by their parameters. Each returns an [`Outcome`].
macro_rules! driver_functions {
    ($($(#[$attr:meta])* fn $name:ident $([$($other:literal),+])? ($($arg:ident: $ty:ty),* $(,)?);)*) => {$(
        $(#[$attr])*
        ///
        /// # Safety
        /// Pointers must be valid for what the driver documents for the parameter, and handles alive.
        #[allow(non_snake_case, clippy::too_many_arguments)]
        #[inline]
        pub(crate) unsafe fn $name($($arg: $ty),*) -> $crate::status::Outcome {
            static SYMBOL: $crate::driver::Symbol = $crate::driver::Symbol::new(&[
                const { $crate::driver::c_str(concat!(stringify!($name), "\0")) }, $($($other),+)?
            ]);
            let function = SYMBOL.get()?;
            // SAFETY: `xtask` compares the declaration with the driver's header; the parameters have the same ABI.
            let function = unsafe {
                std::mem::transmute::<
                    std::ptr::NonNull<std::ffi::c_void>,
                    unsafe extern "C" fn($($ty),*) -> std::ffi::c_uint,
                >(function)
            };
            // SAFETY: the caller keeps the driver's contract.
            SYMBOL.check(unsafe { function($($arg),*) })
        }
    )*};
}
pub(crate) use driver_functions;

/// Returns a literal that ends with NUL as a C string.
pub(crate) const fn c_str(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a NUL inside a literal"),
    }
}

driver_functions! {
    /// Starts the driver.
    fn cuInit(flags: c_uint);
    /// Writes the number of devices.
    fn cuDeviceGetCount(count: *mut i32);
}

/// The functions that return the name and the description of a status.
static ERROR_NAME: Symbol = Symbol::new(&[c"cuGetErrorName"]);
static ERROR_STRING: Symbol = Symbol::new(&[c"cuGetErrorString"]);

/// Describes a status in CUDA's words: `CUDA_ERROR_MISALIGNED_ADDRESS (716), misaligned address`.
fn describe(code: c_uint) -> String {
    let name = constant(code, &ERROR_NAME);
    let text = constant(code, &ERROR_STRING);
    match (name, text) {
        (Some(name), Some(text)) => format!("{} ({code}), {}", name.to_string_lossy(), text.to_string_lossy()),
        _ => format!("CUDA status {code}"),
    }
}

/// Returns CUDA's description of a status, a string constant of the driver.
pub(crate) fn text(code: c_uint) -> Option<&'static CStr> {
    source().ok().and_then(|_| constant(code, &ERROR_STRING))
}

/// Calls one of both functions. Not by the macro: a failure of theirs must not be described in turn.
fn constant(code: c_uint, symbol: &Symbol) -> Option<&'static CStr> {
    let function = symbol.get().ok()?;
    // SAFETY: both functions have these parameters.
    let function = unsafe {
        std::mem::transmute::<NonNull<c_void>, unsafe extern "C" fn(c_uint, *mut *const c_char) -> c_uint>(function)
    };
    let mut text = ptr::null();
    // SAFETY: `text` is valid for a write.
    let status = unsafe { function(code, &raw mut text) };
    // SAFETY: a string constant of the driver, which is never unloaded.
    (status == 0 && !text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
}

/// Starts the driver once, and returns the number of devices. Fails with `hipErrorNoDevice` and the reason.
pub(crate) fn start() -> Outcome<usize> {
    match STARTED.get_or_init(|| devices_now().map_err(|failure| failure.into_text())) {
        Ok(0) => Err(hipErrorNoDevice.into()),
        Ok(count) => Ok(*count),
        Err(reason) => Err(Failure::new(hipErrorNoDevice, reason.as_str())),
    }
}

fn devices_now() -> Outcome<usize> {
    let mut count = 0;
    // SAFETY: `count` is valid for a write, and 0 is the only flag.
    unsafe {
        cuInit(0)?;
        cuDeviceGetCount(&raw mut count)?;
    }
    Ok(usize::try_from(count).unwrap_or(0))
}

/// Returns the number of NVIDIA GPUs that the CUDA driver of this machine offers. At least one.
///
/// The first call loads the driver and starts it. Later calls return the same.
///
/// # Errors
/// A text that says why there is none, and what to do: the driver is not installed, it does not start, or it has no
/// device.
///
/// ```
/// match hip_nvidia::devices() {
///     Ok(count) => println!("{count} NVIDIA GPUs"),
///     Err(reason) => println!("{reason}"),
/// }
/// ```
pub fn devices() -> Result<usize, String> {
    start().map_err(|failure| {
        failure.text().map_or_else(
            || "the CUDA driver offers no GPU. `nvidia-smi` lists those of the machine; CUDA_VISIBLE_DEVICES hides GPUs".into(),
            str::to_owned,
        )
    })
}
