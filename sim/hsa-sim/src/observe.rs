//! What the checks find, told on stderr, and the profile, written to a file when the process ends.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use amdgpu_sim::{Finding, Gpu, Profile, ProfileFormat};

/// Findings that are told; of more than this the process keeps silent.
const MOST_TOLD: usize = 1000;

/// Tells what the last kernels of a GPU have been found to do, each once a process.
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

/// Has the profile written when the process ends.
pub(crate) fn write_profile_at_exit() {
    extern "C" fn at_exit() {
        // A panic must not leave this function.
        let _ = std::panic::catch_unwind(write_profile);
    }
    // SAFETY: the function stays for ever, as the library is never unloaded, and what it uses is never dropped.
    if unsafe { libc::atexit(at_exit) } != 0 {
        eprintln!("hsa-sim: there will be no profile: the process takes no more functions to call at its end");
    }
}
