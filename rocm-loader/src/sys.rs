//! The platform's dynamic loader, through libloading.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use libloading::Library;

use crate::report::Reason;
use crate::scope::Scope;

#[cfg(unix)]
pub fn open_path(path: &Path, scope: Scope) -> Result<Library, String> {
    open(path.as_os_str(), scope)
}

#[cfg(unix)]
pub fn open_name(name: &str, scope: Scope) -> Result<Library, String> {
    open(name.as_ref(), scope)
}

#[cfg(unix)]
fn open(name: &OsStr, scope: Scope) -> Result<Library, String> {
    use libloading::os::unix;
    // RTLD_NOW: an undefined symbol is reported now, and not in the middle of a later call, where the loader ends the process.
    let flags = unix::RTLD_NOW
        | match scope {
            Scope::Local => unix::RTLD_LOCAL,
            Scope::Global => unix::RTLD_GLOBAL,
        };
    // SAFETY: opening runs the initialisers of a ROCm library (the name comes from a table of them, or the caller declares it as one),
    // which have no precondition; `Library` never closes it.
    unsafe { unix::Library::open(Some(name), flags) }.map(Into::into).map_err(|e| e.to_string())
}

/// Returns whether the dynamic loader has loaded a library that it knows by this name.
#[cfg(target_os = "linux")]
pub(crate) fn is_loaded(name: &str) -> bool {
    use libloading::os::unix;
    // SAFETY: nothing is loaded, so no initialiser runs; a loaded library stays loaded.
    let found = unsafe { unix::Library::open(Some(name), unix::RTLD_NOW | crate::c::RTLD_NOLOAD) };
    found.map(std::mem::forget).is_ok()
}

#[cfg(windows)]
pub fn open_path(path: &Path, _: Scope) -> Result<Library, String> {
    use libloading::os::windows;
    // Its dependencies lie in the same directory.
    let flags = windows::LOAD_WITH_ALTERED_SEARCH_PATH;
    // SAFETY: as above.
    unsafe { windows::Library::load_with_flags(path, flags) }.map(Into::into).map_err(|e| e.to_string())
}

#[cfg(windows)]
pub fn open_name(name: &str, _: Scope) -> Result<Library, String> {
    use libloading::os::windows;
    // Without the current directory.
    let flags = windows::LOAD_LIBRARY_SEARCH_DEFAULT_DIRS;
    // SAFETY: as above.
    unsafe { windows::Library::load_with_flags(name, flags) }.map(Into::into).map_err(|e| e.to_string())
}

/// Distinguishes a missing library from a missing dependency by the loader's message.
pub fn explain(target: &OsStr, message: String) -> Reason {
    match absent_name(&message) {
        Some(name) if OsStr::new(name) == target => Reason::NotThere,
        Some(name) => Reason::DependencyMissing { dependency: name.to_owned(), message },
        None => match absent_version(&message) {
            Some((library, version)) => too_old(library, version),
            None => Reason::Loader { message },
        },
    }
}

/// Returns the library that lacks a symbol version, and the version, from the loader's message.
fn absent_version(message: &str) -> Option<(&str, &str)> {
    // glibc: "/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by /y/liby.so)"
    let (library, rest) = message.split_once(": version `")?;
    let (version, _) = rest.split_once("' not found")?;
    let library = library.rsplit(' ').next().unwrap_or(library);
    Some((library.rsplit('/').next().unwrap_or(library), version))
}

/// Returns the error for a symbol version that no library of this process has.
pub fn too_old(library: &str, version: &str) -> Reason {
    let (needed, found) = match version.strip_prefix("GLIBC_") {
        Some(number) => (format!("glibc {number}"), glibc().map(|(major, minor)| format!("{major}.{minor}"))),
        None => (format!("{version} of {library}"), None),
    };
    Reason::SystemTooOld { needed, found, run: None }
}

/// Returns the version of the C library of this process, if it is glibc.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn glibc() -> Option<(u32, u32)> {
    // SAFETY: it has no precondition and returns a static string.
    let version = unsafe { std::ffi::CStr::from_ptr(crate::c::gnu_get_libc_version()) };
    glibc_number(version.to_str().ok()?)
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn glibc() -> Option<(u32, u32)> {
    None
}

/// Parses `2.38` into numbers, and symbol versions: `GLIBC_2.2.5`.
pub fn glibc_number(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.strip_prefix("GLIBC_").unwrap_or(text).split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// Returns the library that the dynamic loader did not find.
fn absent_name(message: &str) -> Option<&str> {
    // glibc: "libx.so.1: cannot open shared object file: No such file or directory"
    if let Some((name, _)) = message.split_once(": cannot open shared object file: No such file") {
        return Some(name.rsplit(' ').next().unwrap_or(name));
    }
    // musl: "Error loading shared library libx.so.1: No such file or directory (needed by /y/liby.so)"
    let (_, rest) = message.split_once("Error loading shared library ")?;
    rest.split_once(": No such file").map(|(name, _)| name)
}

/// Returns the file of an open library, and the library itself.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn path_of(library: Library) -> (Library, Option<PathBuf>) {
    let handle = libloading::os::unix::Library::from(library).into_raw();
    let path = path_of_handle(handle);
    // SAFETY: the handle was taken from a library just now.
    (unsafe { libloading::os::unix::Library::from_raw(handle) }.into(), path)
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn path_of_handle(handle: *mut std::ffi::c_void) -> Option<PathBuf> {
    use std::ffi::{CStr, OsString, c_char, c_void};
    use std::os::unix::ffi::OsStringExt;

    /// The public part of glibc's `struct link_map`.
    #[repr(C)]
    struct LinkMap {
        address: usize,
        name: *const c_char,
        dynamic: *const c_void,
        next: *const LinkMap,
        previous: *const LinkMap,
    }

    let mut map: *const LinkMap = std::ptr::null();
    // SAFETY: the handle is an open library's, and RTLD_DI_LINKMAP writes one pointer.
    let failed = unsafe { crate::c::dlinfo(handle, crate::c::RTLD_DI_LINKMAP, (&raw mut map).cast()) };
    if failed != 0 || map.is_null() {
        return None;
    }
    // SAFETY: the loader's own entry of an open library lives as long as the library; `name` is NUL-terminated.
    let name = unsafe { CStr::from_ptr((*map).name) };
    Some(PathBuf::from(OsString::from_vec(name.to_bytes().to_vec()))).filter(|p| p.is_absolute())
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn path_of(library: Library) -> (Library, Option<PathBuf>) {
    (library, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loaders_words_are_understood() {
        let explained = |message: &str| explain("/x/liby.so".as_ref(), message.to_owned());
        let here = glibc().map(|(major, minor)| format!("{major}.{minor}"));
        assert_eq!(
            explained("/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.99' not found (required by /x/liby.so)"),
            Reason::SystemTooOld { needed: "glibc 2.99".into(), found: here, run: None }
        );
        assert_eq!(
            explained("/lib/libstdc++.so.6: version `GLIBCXX_3.4.99' not found (required by /x/liby.so)"),
            Reason::SystemTooOld { needed: "GLIBCXX_3.4.99 of libstdc++.so.6".into(), found: None, run: None }
        );
        assert!(matches!(
            explained("libz.so.9: cannot open shared object file: No such file or directory"),
            Reason::DependencyMissing { dependency, .. } if dependency == "libz.so.9"
        ));
        assert!(matches!(explained("/x/liby.so: undefined symbol: z"), Reason::Loader { .. }));
    }

    #[test]
    fn versions_of_glibc() {
        for (text, number) in [
            ("2.36", Some((2, 36))),
            ("GLIBC_2.2.5", Some((2, 2))),
            ("GLIBC_PRIVATE", None),
            ("GLIBC_ABI_DT_RELR", None),
        ] {
            assert_eq!(glibc_number(text), number, "{text}");
        }
    }
}
