//! The library: RCCL, or NVIDIA's NCCL in its place.

use std::ffi::{CStr, OsString, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::OnceLock;

use rocm_loader::Provider;

use crate::error::{Error, Result, check};
use crate::raw;

/// The variable that selects another library: `nccl`, or a path.
const VARIABLE: &str = "RCCL_RS_LIBRARY";
/// NCCL's name for the system loader.
const NCCL: &str = "libnccl.so.2";

/// Functions with different names in NCCL and RCCL.
const OTHER_NAMES: [(&CStr, &CStr); 1] = [(c"ncclAllToAll", c"ncclAlltoAll")];

struct Nccl {
    library: libloading::Library,
    path: String,
}

impl Provider for Nccl {
    fn name(&self) -> &str {
        &self.path
    }

    fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        let get = |name: &CStr| {
            // SAFETY: only the address is read; the declaration of the function states its type.
            let found = unsafe { self.library.get::<*mut c_void>(name.to_bytes_with_nul()) };
            found.ok().and_then(|symbol| NonNull::new(*symbol))
        };
        get(name).or_else(|| {
            let (_, other) = OTHER_NAMES.iter().find(|(ours, _)| *ours == name)?;
            get(other)
        })
    }
}

static OTHER: OnceLock<Result<Nccl>> = OnceLock::new();

/// Uses NVIDIA's NCCL in place of RCCL, for the whole process: `libnccl.so.2` as found by the system loader, or the
/// file at `path`.
///
/// The functions are the same. Memory and streams are CUDA's. A program whose [`hip`] runs on NVIDIA's GPUs
/// (`hip::Backend::Cuda`) uses [`Communicator`](crate::Communicator), which selects NCCL by itself if no library was
/// used before. Others use [`foreign::Communicator`](crate::foreign::Communicator). The variable `RCCL_RS_LIBRARY`
/// (`nccl`, or an absolute path) does the same without changing the program.
///
/// # Errors
/// [`Error::NoLibrary`] if it cannot be loaded; [`Error::Invalid`] for a relative path, and if a library is already in
/// use.
pub fn use_nccl(path: Option<&Path>) -> Result<()> {
    let wanted = match path {
        Some(path) if path.is_absolute() => path.as_os_str().to_owned(),
        Some(path) => {
            return Err(Error::invalid("the path of NCCL", path.display().to_string(), "absolute"));
        }
        None => NCCL.into(),
    };
    install(wanted)
}

fn install(wanted: OsString) -> Result<()> {
    let described = PathBuf::from(&wanted).display().to_string();
    let nccl = OTHER.get_or_init(|| {
        // SAFETY: a library that the caller or the user names, whose initializers are trusted.
        match unsafe { libloading::Library::new(&wanted) } {
            Ok(library) => Ok(Nccl { library, path: described.clone() }),
            Err(error) => Err(Error::NoLibrary { report: format!("{described}: {error}") }),
        }
    });
    let nccl = nccl.as_ref().map_err(Clone::clone)?;
    if nccl.path != described {
        return Err(Error::invalid("the library", described, format!("{}, which is in use", nccl.path)));
    }
    rccl_sys::set_provider(nccl)
        .map_err(|error| Error::invalid("the library", described, format!("chosen before its first use ({error})")))
}

/// Selects a library, before the first call.
pub(crate) fn settle() -> Result<()> {
    static SETTLED: OnceLock<Result<()>> = OnceLock::new();
    SETTLED
        .get_or_init(|| match std::env::var_os(VARIABLE) {
            Some(value) if !value.is_empty() && raw::BINDING.provider_name().is_none() => {
                let wanted = if value == "nccl" { NCCL.into() } else { value };
                if wanted != NCCL && !Path::new(&wanted).is_absolute() {
                    let allowed = "`nccl` or an absolute path";
                    return Err(Error::invalid("RCCL_RS_LIBRARY", wanted.to_string_lossy(), allowed));
                }
                install(wanted)
            }
            _ => Ok(()),
        })
        .clone()
}

/// Returns whether RCCL, or the library in its place, can be loaded. If not, [`version`] returns the reason.
#[must_use]
pub fn is_available() -> bool {
    settle().is_ok() && raw::load_error().is_none()
}

/// Returns the path or name of the library in place of RCCL, if one is in use.
#[must_use]
pub fn other_library() -> Option<&'static str> {
    let _ = settle();
    raw::BINDING.provider_name()
}

/// Returns the library's NCCL interface version: major, minor, patch, for example `(2, 27, 7)` for RCCL of ROCm 7.2.
///
/// # Errors
/// [`Error::NoLibrary`] if it cannot be loaded.
#[doc(alias = "ncclGetVersion")]
pub fn version() -> Result<(u32, u32, u32)> {
    settle()?;
    let mut number: c_int = 0;
    // SAFETY: `number` is valid for the write.
    check(unsafe { raw::ncclGetVersion(&mut number) }, "ncclGetVersion", || "its version".to_owned())?;
    Ok(parts(number.unsigned_abs()))
}

/// Up to 2.8, the number has two digits less.
fn parts(number: u32) -> (u32, u32, u32) {
    let major = if number < 10_000 { 1_000 } else { 10_000 };
    (number / major, number % major / 100, number % 100)
}

/// Returns the version as one number, the form of the configuration.
pub(crate) fn version_number() -> Result<u32> {
    let (major, minor, patch) = version()?;
    Ok(if (major, minor) <= (2, 8) { 1_000 } else { 10_000 } * major + 100 * minor + patch)
}

/// Returns whether the library has a function.
pub(crate) fn has(name: &CStr) -> bool {
    settle().is_ok() && raw::BINDING.has(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_two_forms() {
        assert_eq!(parts(2708), (2, 7, 8));
        assert_eq!(parts(21304), (2, 13, 4));
        assert_eq!(parts(22707), (2, 27, 7));
    }

    #[test]
    fn a_relative_path_is_refused() {
        let error = use_nccl(Some(Path::new("libnccl.so.2"))).unwrap_err().to_string();
        assert!(error.contains("absolute"), "{error}");
    }
}
