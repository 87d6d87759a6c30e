//! The choice of the HIP runtime: ROCm's, one over NVIDIA's driver, or the software GPU.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::OnceLock;

use crate::core::backend_kind::Backend;
use crate::core::call::check;
use crate::core::error::{Error, NO_DEVICE, Result};
use crate::core::lock::{Mutex, MutexGuard};
use crate::core::nvidia;
use crate::core::trace;

/// The environment variable that selects the backend if the program does not: `rocm`, `cuda` or `sim`.
const VARIABLE: &str = "HIP_RS_BACKEND";

/// The backend, once it is chosen. It never changes afterwards.
static CHOSEN: Mutex<Option<Backend>> = Mutex::new(None);

/// The runtime, or the error of loading it. Stored on first use, because the library is opened only once.
static RUNTIME: OnceLock<Result<Runtime>> = OnceLock::new();

/// The HIP runtime in use.
pub(crate) struct Runtime {
    pub(crate) version: (u32, u32, u32),
    /// The number of devices.
    pub(crate) devices: usize,
}

/// Returns the backend in use. If none of [`select_backend`], [`select_any_gpu`] and [`sim_if_no_gpu`] was called
/// before, the first call chooses it for the life of the program: the value of the environment variable
/// `HIP_RS_BACKEND` (`rocm`, `cuda` or `sim`), else [`Backend::Rocm`].
///
/// # Errors
/// [`Error::UnknownBackend`] for another value of the variable; [`Error::NoSim`] and [`Error::NoCuda`] if it names one
/// that the build lacks.
pub fn backend() -> Result<Backend> {
    let mut chosen = lock();
    match *chosen {
        Some(backend) => Ok(backend),
        None => {
            let backend = from_environment()?.unwrap_or(Backend::Rocm);
            settle(&mut chosen, backend)
        }
    }
}

/// Returns the backend that was chosen, in code or by the first use, or the one that `HIP_RS_BACKEND` names. Returns
/// `None` if none was chosen yet. Unlike [`backend`], this chooses none.
///
/// # Errors
/// [`Error::UnknownBackend`] for a value of the variable that names no backend.
pub fn chosen_backend() -> Result<Option<Backend>> {
    let chosen = *lock();
    chosen.map_or_else(from_environment, |backend| Ok(Some(backend)))
}

/// Chooses the backend in code and ignores `HIP_RS_BACKEND`. Choosing the backend that is already in use succeeds.
///
/// # Errors
/// [`Error::BackendInUse`] if another backend is already in use; [`Error::NoSim`] in a build without the feature `sim`,
/// [`Error::NoCuda`] in one without the feature `nvidia`.
pub fn select_backend(backend: Backend) -> Result<()> {
    let mut chosen = lock();
    match *chosen {
        Some(current) if current == backend => Ok(()),
        Some(current) => Err(Error::BackendInUse { asked: backend, reason: format!("{current:?} is in use already") }),
        None => settle(&mut chosen, backend).map(drop),
    }
}

/// Chooses the first of these that is available: AMD's GPUs, NVIDIA's GPUs (in a build with the feature `nvidia`), and
/// the software GPU (with the feature `sim`). Returns the choice: a program that calls this should tell its user which
/// one it runs on. `HIP_RS_BACKEND` takes precedence, and a backend that is already in use is kept.
///
/// # Errors
/// [`Error::NoGpu`] if none is available, with the reason for each; the errors of [`Device::count`](crate::Device::count)
/// if the chosen one cannot be used.
///
/// ```
/// match hip::select_any_gpu() {
///     Ok(backend) => println!("running on {backend:?}: {}", hip::Device::get(0)?.properties()?.name),
///     Err(error) => eprintln!("{error}"),
/// }
/// # Ok::<(), hip::Error>(())
/// ```
pub fn select_any_gpu() -> Result<Backend> {
    let mut chosen = lock();
    let backend = match *chosen {
        Some(backend) => backend,
        None => {
            let backend = match from_environment()? {
                Some(backend) => backend,
                None => first_available()?,
            };
            settle(&mut chosen, backend)?
        }
    };
    drop(chosen);
    runtime()?;
    Ok(backend)
}

fn first_available() -> Result<Backend> {
    let Some(rocm) = refusal() else { return Ok(Backend::Rocm) };
    let Some(cuda) = nvidia::refusal() else { return Ok(Backend::Cuda) };
    if cfg!(feature = "sim") { Ok(Backend::Sim) } else { Err(Error::NoGpu { rocm, cuda }) }
}

/// Chooses AMD's GPUs if one is available, else the software GPU, and returns the choice. A program that calls this
/// should tell its user which one it runs on. `HIP_RS_BACKEND` takes precedence, so `HIP_RS_BACKEND=rocm` forbids the
/// fallback. NVIDIA's GPUs are not considered: [`select_any_gpu`] does.
///
/// A backend that is already in use is kept.
///
/// # Errors
/// [`Error::NoLibrary`] or [`Error::NoDevice`] if no GPU is available and the build lacks the feature `sim`;
/// [`Error::Version`] and the like if a GPU is available but its runtime cannot be used: the user should fix that, so
/// there is no fallback.
///
/// ```
/// match hip::sim_if_no_gpu() {
///     Ok(hip::Backend::Sim) => eprintln!("no AMD GPU here: running on the software GPU"),
///     Ok(_) => {}
///     Err(error) => eprintln!("{error}"),
/// }
/// ```
pub fn sim_if_no_gpu() -> Result<Backend> {
    let mut chosen = lock();
    let backend = match *chosen {
        Some(backend) => backend,
        None => {
            let backend = match from_environment()? {
                Some(backend) => backend,
                None if cfg!(feature = "sim") && refusal().is_some() => Backend::Sim,
                None => Backend::Rocm,
            };
            settle(&mut chosen, backend)?
        }
    };
    drop(chosen);
    if cfg!(not(feature = "sim")) {
        // Without a fallback, return the error of the real GPU.
        runtime()?;
    }
    Ok(backend)
}

/// Returns the version of the HIP runtime in use: major, minor, patch (`hipRuntimeGetVersion`).
#[doc(alias("hipRuntimeGetVersion", "cudaRuntimeGetVersion"))]
pub fn runtime_version() -> Result<(u32, u32, u32)> {
    Ok(runtime()?.version)
}

fn lock() -> MutexGuard<'static, Option<Backend>> {
    CHOSEN.lock()
}

fn from_environment() -> Result<Option<Backend>> {
    let Some(value) = std::env::var_os(VARIABLE) else { return Ok(None) };
    match value.to_str() {
        Some("") => Ok(None),
        Some("rocm") => Ok(Some(Backend::Rocm)),
        Some("cuda") => Ok(Some(Backend::Cuda)),
        Some("sim") => Ok(Some(Backend::Sim)),
        _ => Err(Error::UnknownBackend(value.to_string_lossy().into_owned())),
    }
}

fn settle(chosen: &mut Option<Backend>, backend: Backend) -> Result<Backend> {
    match backend {
        Backend::Rocm => {}
        Backend::Cuda => use_nvidia()?,
        Backend::Sim => use_sim()?,
    }
    *chosen = Some(backend);
    Ok(backend)
}

#[cfg(feature = "sim")]
fn use_sim() -> Result<()> {
    hip_sys::set_provider(hip_sim::provider())
        .map_err(|error| Error::BackendInUse { asked: Backend::Sim, reason: error.to_string() })
}

#[cfg(not(feature = "sim"))]
fn use_sim() -> Result<()> {
    Err(Error::NoSim)
}

#[cfg(feature = "nvidia")]
fn use_nvidia() -> Result<()> {
    nvidia::choose().map_err(|reason| Error::BackendInUse { asked: Backend::Cuda, reason })
}

#[cfg(not(feature = "nvidia"))]
fn use_nvidia() -> Result<()> {
    Err(Error::NoCuda)
}

/// Returns why no device of AMD's can be used, if so. Opens the library directly: a call of `hip_sys` would bind
/// `hip_sys` to it.
fn refusal() -> Option<String> {
    static PROBE: rocm_loader::Binding = rocm_loader::Binding::new(&rocm_loader::libraries::AMDHIP64);
    let Some(symbol) = PROBE.symbol(c"hipGetDeviceCount") else {
        let missing = || "the HIP runtime has no hipGetDeviceCount".to_owned();
        return Some(PROBE.check().err().map_or_else(missing, |error| error.summary()));
    };
    // SAFETY: the symbol is `hipError_t hipGetDeviceCount(int*)` in every HIP release, and the library stays loaded.
    let get_device_count = unsafe {
        std::mem::transmute::<NonNull<c_void>, unsafe extern "C" fn(*mut c_int) -> hip_sys::hipError_t>(symbol)
    };
    let mut count: c_int = 0;
    // SAFETY: `count` is valid for a write.
    let status = unsafe { get_device_count(&mut count) };
    match (status.0, count) {
        (0, 1..) => None,
        (0 | 100, _) => Some(NO_DEVICE.to_owned()),
        _ => Some(format!("the HIP runtime does not start: {status:?} ({})", status.0)),
    }
}

/// Returns the runtime. It is loaded, checked and initialised on first use.
pub(crate) fn runtime() -> Result<&'static Runtime> {
    if crate::core::context::is_forked() {
        return Err(Error::ForkedChild);
    }
    // A wrong choice of the backend is not stored, so that the program can correct it.
    if RUNTIME.get().is_none() {
        backend()?;
        let started = RUNTIME.get_or_init(start).is_ok();
        // Reported outside of the initialisation, so that no subscriber runs while other threads wait for it.
        if let Some(release) = hip_sys::BINDING.newer_release().filter(|_| started) {
            trace::newer_release(release);
        }
    }
    match RUNTIME.get_or_init(start) {
        Ok(runtime) => Ok(runtime),
        Err(error) => Err(error.clone()),
    }
}

fn start() -> Result<Runtime> {
    let mut raw: c_int = 0;
    // SAFETY: `raw` is valid for a write.
    let status = unsafe { hip_sys::hipRuntimeGetVersion(&mut raw) };
    // Some releases already fail here if there is no device.
    check(status, "hipRuntimeGetVersion", || "the version of the HIP runtime".to_owned())?;
    let version = decode_version(raw);
    check_version(version)?;
    crate::core::releases::begin(version);
    crate::core::context::watch_fork();
    // SAFETY: 0 is the only flag that HIP defines.
    let status = unsafe { hip_sys::hipInit(0) };
    check(status, "hipInit", || "start the HIP runtime".to_owned())?;
    let mut count: c_int = 0;
    // SAFETY: `count` is valid for a write.
    let status = unsafe { hip_sys::hipGetDeviceCount(&mut count) };
    check(status, "hipGetDeviceCount", || "the number of devices".to_owned())?;
    let count = usize::try_from(count).unwrap_or(0);
    if count == 0 {
        return Err(Error::NoDevice);
    }
    crate::core::context::runtime_has_started();
    Ok(Runtime { version, devices: count })
}

/// Decodes `HIP_VERSION`: major * 10,000,000 + minor * 100,000 + patch.
pub(crate) fn decode_version(raw: c_int) -> (u32, u32, u32) {
    let raw = u32::try_from(raw).unwrap_or(0);
    (raw / 10_000_000, raw / 100_000 % 100, raw % 100_000)
}

/// The oldest supported release. Functions that later releases added are looked up when they are called.
const OLDEST: (u32, u32) = (5, 7);

/// Accepts every supported runtime, whatever the API level. The level only selects the functions that exist in Rust,
/// and other crates of the program may raise it.
fn check_version(runtime: (u32, u32, u32)) -> Result<()> {
    if (runtime.0, runtime.1) < OLDEST { Err(Error::Version { runtime, oldest: OLDEST }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_decoded_as_hip_encodes_them() {
        assert_eq!(decode_version(50731921), (5, 7, 31921));
        assert_eq!(decode_version(60443484), (6, 4, 43484));
        assert_eq!(decode_version(100000001), (10, 0, 1));
        assert_eq!(decode_version(-1), (0, 0, 0));
    }

    #[test]
    fn a_runtime_is_refused_only_if_this_crate_cannot_use_it() {
        for fine in [(5, 7, 31921), (6, 4, 43484), (7, 2, 0), (10, 0, 0), (11, 3, 0)] {
            assert!(check_version(fine).is_ok(), "{fine:?}");
        }
        for old in [(5, 6, 99999), (4, 5, 0), (0, 0, 0)] {
            let error = check_version(old).unwrap_err();
            let text = error.to_string();
            assert!(matches!(error, Error::Version { .. }), "{text}");
            assert!(text.contains("5.7 or newer"), "{text}");
        }
    }
}
