//! Reports the findings of the checks on stderr, and writes the profile to a file at process exit.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use amdgpu_sim::{Finding, Gpu, Profile, ProfileFormat};

/// The maximum number of reported findings. Later ones are dropped.
const MOST_TOLD: usize = 1000;

/// Reports the findings of a GPU's last kernels, each once per process.
pub(crate) fn tell_findings(gpu: &Gpu) {
    static TOLD: Mutex<Vec<Finding>> = Mutex::new(Vec::new());
    if !gpu.config().checks.any() {
        return;
    }
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    for finding in gpu.take_findings() {
        if told.len() < MOST_TOLD && !told.iter().any(|other| other.is_alike(&finding)) {
            eprintln!("hsa-sim: {finding}");
            told.push(finding);
        }
    }
}

/// Writes the profile of all GPUs.
fn write_profile() {
    let Some(runtime) = crate::runtime::ever() else { return };
    let Some(path) = &runtime.profile else { return };
    let path = PathBuf::from(path.to_string_lossy().replace("%p", &std::process::id().to_string()));
    let mut profile = Profile::default();
    for gpu in runtime.agents.gpu_ids().filter_map(|agent| runtime.agents.gpu(agent).ok()) {
        profile.extend(gpu.profile());
    }
    // The settings were refused if the format could not be written.
    let text = ProfileFormat::of(&path).render(&profile).unwrap_or_default();
    if let Err(error) = std::fs::write(&path, text) {
        eprintln!("hsa-sim: the profile can't be written to {}: {error}", path.display());
    }
}

/// Registers the profile to be written at process exit.
pub(crate) fn write_profile_at_exit() {
    extern "C" fn at_exit() {
        // A panic must not leave this function.
        let _ = std::panic::catch_unwind(write_profile);
    }
    // SAFETY: the function remains valid, as the library is never unloaded, and the data that it uses is never dropped.
    if unsafe { libc::atexit(at_exit) } != 0 {
        eprintln!("hsa-sim: there will be no profile: the process takes no more functions to call at its end");
    }
}
