//! A second name for a library that is loaded.
//!
//! Some libraries open others under an unversioned name: HIPRTC's linker opens `libamdhip64.so`, RCCL opens
//! `libhsa-runtime64.so`. The dynamic loader does not know a loaded library by that name, and takes the first such file
//! of its search path. This module therefore loads an empty library with that name, whose only content is a dependency
//! on the right one.

use std::ffi::c_long;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{FromRawFd as _, IntoRawFd as _, RawFd};
use std::path::Path;

use crate::c;
use crate::elf::native;
use crate::scope::Scope;
use crate::sys;

/// Makes the dynamic loader find the library that is loaded as `soname` under `name`, too.
///
/// # Errors
/// The reason as text. The dynamic loader then uses the first file of that name that it finds.
pub(crate) fn add(name: &str, soname: &str) -> Result<(), String> {
    if sys::is_loaded(name) {
        return Ok(());
    }
    let file = memory_file().ok_or("no file in memory can be made")?;
    let mut file = file;
    file.write_all(&library(name, soname)).map_err(|error| error.to_string())?;
    // The descriptor stays open: the dynamic loader knows the library by this path, so a later library must not get the same number.
    let path = format!("/proc/self/fd/{}", file.into_raw_fd());
    let alias = sys::open_path(Path::new(&path), Scope::Local)?;
    std::mem::forget(alias);
    match sys::is_loaded(name) {
        true => Ok(()),
        false => Err(format!("the loader does not find {name} in {path}")),
    }
}

/// Creates an anonymous file in memory.
fn memory_file() -> Option<File> {
    const CLOSE_ON_EXEC: c_long = 1;
    let name = c"rocm-loader";
    // SAFETY: `memfd_create` reads a C string and returns a new descriptor, or -1.
    let descriptor = unsafe { c::syscall(c::SYS_MEMFD_CREATE, name.as_ptr(), CLOSE_ON_EXEC) };
    let descriptor = RawFd::try_from(descriptor).ok().filter(|descriptor| *descriptor >= 0)?;
    // SAFETY: the descriptor was just opened, and nothing else owns it.
    Some(unsafe { File::from_raw_fd(descriptor) })
}

const HEADER: u64 = 64;
const SEGMENT: u64 = 56;
const SEGMENTS: u16 = 3;
const SYMBOL: u64 = 24;

/// Returns the ELF file of a library called `name` that depends on `needed`, for this machine, without symbols or code.
fn library(name: &str, needed: &str) -> Vec<u8> {
    let strings = [b"\0", name.as_bytes(), b"\0", needed.as_bytes(), b"\0"].concat();
    let symbols_at = HEADER + SEGMENT * u64::from(SEGMENTS);
    let strings_at = symbols_at + SYMBOL;
    let dynamic_at = (strings_at + strings.len() as u64).next_multiple_of(16);
    // DT_NEEDED, DT_SONAME, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_SYMENT, DT_NULL
    let entries = [
        (1, 2 + name.len() as u64),
        (14, 1),
        (5, strings_at),
        (6, symbols_at),
        (10, strings.len() as u64),
        (11, SYMBOL),
        (0, 0),
    ];
    let dynamic_size = entries.len() as u64 * 16;
    let size = dynamic_at + dynamic_size;
    let (class, little, machine) = native();

    let mut file = b"\x7fELF".to_vec();
    file.extend([class, if little { 1 } else { 2 }, 1]);
    file.resize(16, 0);
    // ET_DYN, the machine, the version; no entry point, the program headers, no sections; the sizes.
    file.extend([3_u16, machine].map(u16::to_ne_bytes).concat());
    file.extend(1_u32.to_ne_bytes());
    file.extend([0, HEADER, 0_u64].map(u64::to_ne_bytes).concat());
    file.extend(0_u32.to_ne_bytes());
    file.extend([HEADER as u16, SEGMENT as u16, SEGMENTS, 64, 0, 0].map(u16::to_ne_bytes).concat());
    // Kind, flags, offset and size. Everything is readable and writable, since the dynamic loader writes to the dynamic section; then the
    // dynamic section; then a stack that is not executable.
    for (kind, at, length, alignment) in
        [(1_u32, 0, size, 4096_u64), (2, dynamic_at, dynamic_size, 8), (0x6474_e551, 0, 0, 16)]
    {
        file.extend([kind, 6].map(u32::to_ne_bytes).concat());
        file.extend([at, at, at, length, length, alignment].map(u64::to_ne_bytes).concat());
    }
    // The null symbol that every symbol table begins with.
    file.resize(strings_at as usize, 0);
    file.extend(strings);
    file.resize(dynamic_at as usize, 0);
    file.extend(entries.into_iter().flat_map(|(tag, value): (u64, u64)| [tag, value]).flat_map(u64::to_ne_bytes));
    file
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elf;

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn the_file_is_a_library() {
        let bytes = library("libamdhip64.so", "libamdhip64.so.7");
        let found = elf::inspect(&mut std::io::Cursor::new(&bytes)).unwrap();
        assert_eq!(found.soname.as_deref(), Some("libamdhip64.so"));
        assert_eq!(found.needed, ["libamdhip64.so.7"]);
    }

    /// Opens the C library under two names that no file has.
    #[test]
    #[cfg(all(target_env = "gnu", target_pointer_width = "64"))]
    fn a_library_has_two_names() {
        let name = "librocm-loader-of-no-file.so";
        assert!(!sys::is_loaded(name));
        add(name, "libc.so.6").unwrap();
        add(name, "libc.so.6").unwrap();
        let alias = sys::open_name(name, Scope::Local).unwrap();
        // SAFETY: only the address is taken.
        assert!(unsafe { alias.get::<*mut std::ffi::c_void>(b"getenv\0") }.is_ok());
        assert!(add("librocm-loader-of-nothing.so", "libno-such-library.so.9").is_err());
    }
}
