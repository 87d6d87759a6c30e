//! Looking at files before the loader does.

use std::fs::{self, File};
use std::path::Path;

use crate::elf::{self, Dynamic};
use crate::report::Reason;
use crate::sys;

/// Checks whether the library needs a newer glibc than that of this process. The dynamic loader would look for the
/// dependencies first.
pub(crate) fn check_versions(path: &Path) -> Result<(), Reason> {
    let Some(here) = sys::glibc() else { return Ok(()) };
    let Ok(mut file) = File::open(path) else { return Ok(()) };
    let newest = elf::versions::needed(&mut file)
        .into_iter()
        .filter_map(|(library, version)| Some((sys::glibc_number(version.strip_prefix("GLIBC_")?)?, library, version)))
        .max();
    match newest {
        Some((number, library, version)) if number > here => Err(sys::too_old(&library, &version)),
        _ => Ok(()),
    }
}

/// Returns whether the C library of this process is new enough for a library.
pub(crate) fn is_new_enough(path: &Path) -> bool {
    check_versions(path).is_ok()
}

/// Returns the dynamic section of a file that is a shared library for this machine.
pub(crate) fn look_at(path: &Path) -> Result<Dynamic, Reason> {
    let metadata = fs::metadata(path).map_err(elf::unreadable)?;
    if !metadata.is_file() {
        return Err(Reason::NotAFile);
    }
    let mut file = File::open(path).map_err(elf::unreadable)?;
    if cfg!(any(windows, target_vendor = "apple")) {
        return Ok(Dynamic::default());
    }
    elf::inspect(&mut file)
}

pub fn look_at_directory(path: &Path) -> Result<(), Reason> {
    match fs::metadata(path).map_err(elf::unreadable)?.is_dir() {
        true => Ok(()),
        false => Err(Reason::NotADirectory),
    }
}
