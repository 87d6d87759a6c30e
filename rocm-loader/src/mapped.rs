//! The libraries that the process has loaded, and the directories that its dynamic loader searches.

use std::path::{Path, PathBuf};

/// Returns the files of the libraries that the process has loaded, as the dynamic loader names them.
#[cfg(target_os = "linux")]
pub(crate) fn libraries() -> Vec<PathBuf> {
    use std::ffi::{CStr, OsStr, c_int, c_void};
    use std::os::unix::ffi::OsStrExt;

    use crate::c::{LoadedObject, dl_iterate_phdr};

    unsafe extern "C" fn add(object: *mut LoadedObject, _: usize, found: *mut c_void) -> c_int {
        // SAFETY: the dynamic loader passes a live object, whose name is null or NUL-terminated, and the list of the call below, to which
        // no other reference is in use.
        let (name, found) = unsafe { ((*object).name, &mut *found.cast::<Vec<PathBuf>>()) };
        if !name.is_null() {
            // SAFETY: see above.
            let name = OsStr::from_bytes(unsafe { CStr::from_ptr(name) }.to_bytes());
            if Path::new(name).is_absolute() {
                found.push(PathBuf::from(name));
            }
        }
        0
    }

    let mut found: Vec<PathBuf> = Vec::new();
    // SAFETY: `add` has the signature that is called, does not unwind, and gets the list, which outlives the call.
    unsafe { dl_iterate_phdr(add, (&raw mut found).cast()) };
    found
}

/// Returns the directories given to the dynamic loader, by `LD_LIBRARY_PATH` or its option `--library-path`, and its
/// built-in ones.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn loader_directories() -> Vec<PathBuf> {
    serinfo().unwrap_or_else(from_variable)
}

#[cfg(all(target_os = "linux", not(target_env = "gnu")))]
pub(crate) fn loader_directories() -> Vec<PathBuf> {
    from_variable()
}

#[cfg(target_os = "linux")]
fn from_variable() -> Vec<PathBuf> {
    let value = std::env::var_os("LD_LIBRARY_PATH").filter(|_| !crate::set_uid::runs_set_uid()).unwrap_or_default();
    std::env::split_paths(&value).filter(|dir| dir.is_absolute()).collect()
}

/// Asks the dynamic loader itself: its list dates from the start of the process, even if the variable has changed
/// since.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn serinfo() -> Option<Vec<PathBuf>> {
    use std::ffi::{CStr, OsStr, c_char, c_uint};
    use std::os::unix::ffi::OsStrExt;

    use crate::c::{RTLD_DI_SERINFO, RTLD_DI_SERINFOSIZE, dlinfo};

    /// `Dl_serinfo` up to its list, and an entry of that list.
    #[repr(C)]
    #[derive(Default)]
    struct Head {
        size: usize,
        count: c_uint,
    }
    #[repr(C)]
    struct Entry {
        name: *const c_char,
        flags: c_uint,
    }

    let program = libloading::os::unix::Library::this().into_raw();
    let mut head = Head::default();
    // SAFETY: the handle is the program's, and the request writes a size and a count.
    if unsafe { dlinfo(program, RTLD_DI_SERINFOSIZE, (&raw mut head).cast()) } != 0 {
        return None;
    }
    // An array of words, for the alignment. The request reads the size and the count from its head.
    let mut list = vec![0_usize; head.size.max(size_of::<Head>()).div_ceil(size_of::<usize>())];
    let start = list.as_mut_ptr();
    // SAFETY: the array has room for the head and is aligned for it.
    unsafe { start.cast::<Head>().write(Head { size: head.size, count: head.count }) };
    // SAFETY: as above, with the memory that the loader asked for.
    if unsafe { dlinfo(program, RTLD_DI_SERINFO, start.cast()) } != 0 {
        return None;
    }
    let room = (list.len() * size_of::<usize>() - size_of::<Head>()) / size_of::<Entry>();
    let mut found = Vec::new();
    for n in 0..(head.count as usize).min(room) {
        // SAFETY: the loader has written `count` entries behind the head, all of them inside the list.
        let entry = unsafe { start.byte_add(size_of::<Head>()).cast::<Entry>().add(n).read() };
        if entry.name.is_null() {
            continue;
        }
        // SAFETY: a NUL-terminated text inside the list, which is not changed while it is read.
        let path = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(entry.name) }.to_bytes()));
        if path.is_absolute() && !found.iter().any(|known| known == path) {
            found.push(path.to_owned());
        }
    }
    Some(found)
}

/// Returns whether two paths lead to one file, which the dynamic loader loads once.
pub(crate) fn same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let file = |path: &Path| std::fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    one == other || file(one).is_some_and(|one| file(other) == Some(one))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_c_library_is_loaded() {
        let loaded = libraries();
        let named = |start: &str| {
            loaded.iter().any(|path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(start)))
        };
        assert!(named("libc.") || named("ld-musl"), "{loaded:?}");
        let real = |path: &PathBuf| std::fs::canonicalize(path).ok();
        assert!(loaded.iter().all(|path| real(path).is_none_or(|real| same_file(path, &real))));
    }

    #[test]
    #[cfg(target_env = "gnu")]
    fn the_loader_has_directories() {
        let directories = serinfo().unwrap();
        assert!(directories.iter().any(|dir| dir.join("libc.so.6").exists()), "{directories:?}");
    }
}
