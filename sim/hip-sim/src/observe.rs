//! Reports the findings of the checks on standard error, and writes the profile to a file at process exit.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use amdgpu_sim::{Finding, Gpu, Profile, ProfileFormat};

use crate::status::is_forked;

/// The maximum number of reported findings. Later ones are dropped.
const MOST_TOLD: usize = 1000;

/// Reports the findings of a device's last dispatches, each once per process.
pub(crate) fn tell_findings(gpu: &Gpu) {
    static TOLD: Mutex<Vec<Finding>> = Mutex::new(Vec::new());
    if !gpu.config().checks.any() {
        return;
    }
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    for finding in gpu.take_findings() {
        if told.len() < MOST_TOLD && !told.iter().any(|other| other.is_alike(&finding)) {
            eprintln!("hip-sim: {finding}");
            told.push(finding);
        }
    }
}

/// Expands `path`: `%p` becomes the process ID.
fn expanded(path: &Path) -> PathBuf {
    match path.to_str() {
        Some(text) => PathBuf::from(text.replace("%p", &std::process::id().to_string())),
        None => path.to_owned(),
    }
}

/// The profile that was requested: the path of its file, and the devices that it is of.
static PROFILE: OnceLock<(PathBuf, Vec<Arc<Gpu>>)> = OnceLock::new();

/// Writes the profile of all devices, if one was requested.
pub(crate) fn write_profile() {
    let Some((path, gpus)) = PROFILE.get() else { return };
    let mut profile = Profile::default();
    for gpu in gpus {
        profile.extend(gpu.profile());
    }
    let path = expanded(path);
    // The settings were refused if the format could not be written.
    let text = ProfileFormat::of(&path).render(&profile).unwrap_or_default();
    if let Err(error) = fs::write(&path, text) {
        eprintln!("hip-sim: the profile can't be written to {}: {error}", path.display());
    }
}

/// Requests the profile of these devices: it is written to a file at process exit.
pub(crate) fn request_profile(path: PathBuf, gpus: Vec<Arc<Gpu>>) {
    if PROFILE.set((path, gpus)).is_ok() {
        write_profile_at_exit();
    }
}

/// Registers the profile to be written at process exit.
#[cfg(unix)]
fn write_profile_at_exit() {
    extern "C" fn at_exit() {
        // A forked child has no profile. A panic must not leave this function.
        if !is_forked() {
            let _ = std::panic::catch_unwind(write_profile);
        }
    }
    // SAFETY: `at_exit` is a function of this program, and the data that it uses is never dropped.
    let failed = unsafe { libc::atexit(at_exit) };
    debug_assert_eq!(failed, 0);
}

/// The profile is written after every launch, since no exit handler is available.
#[cfg(not(unix))]
fn write_profile_at_exit() {}

/// Called after a launch has ended.
pub(crate) fn launched(gpu: &Gpu) {
    tell_findings(gpu);
    if cfg!(not(unix)) && gpu.config().profile && !is_forked() {
        write_profile();
    }
}
