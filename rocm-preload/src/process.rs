//! The properties of this process: its loader with its options, and its program.
//!
//! They are read once, when the library is loaded, since a program can overwrite its command line later. The kernel
//! knows only the loader, so the program's file is found in the list of mappings, by the address of its program
//! headers.

use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::OnceLock;

/// A process that was started through a loader named on its command line.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The loader's file.
    pub(crate) loader: CString,
    /// Its options with their values, except the libraries and the program's name.
    pub(crate) options: Vec<CString>,
    /// The value of its option `--library-path`.
    pub(crate) libraries: CString,
    /// The program's file.
    program: Vec<u8>,
}

static LOADED: OnceLock<Option<Loaded>> = OnceLock::new();

/// This process; `None` if the system started its program directly.
pub(crate) fn loaded() -> Option<&'static Loaded> {
    LOADED.get_or_init(Loaded::read).as_ref()
}

/// Reads the properties of this process. Called when a preloaded library is loaded.
pub(crate) fn read() {
    loaded();
}

impl Loaded {
    fn read() -> Option<Self> {
        let loader = link(c"/proc/self/exe")?;
        // SAFETY: only reads a value of the C library.
        let headers = unsafe { libc::getauxval(libc::AT_PHDR) };
        let program = mapped_at(&contents(c"/proc/self/maps")?, headers)?;
        if program == loader {
            return None;
        }
        Self::of(loader, program, &contents(c"/proc/self/cmdline")?)
    }

    /// Parses the command line; `None` if it is not a loader's.
    fn of(loader: Vec<u8>, program: Vec<u8>, command_line: &[u8]) -> Option<Self> {
        let string = |bytes: &[u8]| CString::new(bytes).ok();
        let command_line = command_line.strip_suffix(b"\0").unwrap_or(command_line);
        let mut words = command_line.split(|byte| *byte == 0).skip(1);
        let (mut options, mut libraries) = (Vec::new(), CString::default());
        loop {
            match words.next()? {
                b"--inhibit-cache" => options.push(c"--inhibit-cache".to_owned()),
                b"--library-path" => libraries = string(words.next()?)?,
                b"--argv0" => drop(words.next()?),
                option if option.starts_with(b"--") => {
                    options.extend([string(option)?, string(words.next()?)?]);
                }
                _ => break,
            }
        }
        Some(Self { loader: string(&loader)?, options, libraries, program })
    }
}

/// The target of a link. Uses system calls, like [`contents`]: the C library's functions are replaced by those of the
/// preloaded library, which depend on the properties of this process.
fn link(path: &CStr) -> Option<Vec<u8>> {
    let mut bytes = vec![0_u8; libc::PATH_MAX as usize];
    // SAFETY: a system call with a C string and memory of ours.
    let len = unsafe { libc::syscall(libc::SYS_readlink, path.as_ptr(), bytes.as_mut_ptr(), bytes.len()) };
    bytes.truncate(usize::try_from(len).ok()?);
    Some(bytes)
}

/// The contents of a file.
fn contents(path: &CStr) -> Option<Vec<u8>> {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    // SAFETY: system calls with a C string and memory of ours; the file is closed once.
    unsafe {
        let file = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, 0);
        if file < 0 {
            return None;
        }
        let (mut bytes, mut len) = (vec![0_u8; 1 << 16], 0);
        let complete = loop {
            if len == bytes.len() {
                bytes.resize(2 * len, 0);
            }
            let read = libc::syscall(libc::SYS_read, file, bytes[len..].as_mut_ptr(), bytes.len() - len);
            match usize::try_from(read) {
                Ok(0) => break true,
                Ok(more) => len += more,
                Err(_) => break false,
            }
        };
        libc::syscall(libc::SYS_close, file);
        bytes.truncate(len);
        complete.then_some(bytes)
    }
}

/// The file that is mapped at an address, according to `/proc/self/maps`.
fn mapped_at(maps: &[u8], address: u64) -> Option<Vec<u8>> {
    maps.split(|byte| *byte == b'\n').find_map(|line| {
        let text = std::str::from_utf8(line.split(|byte| *byte == b' ').next()?).ok()?;
        let (from, to) = text.split_once('-')?;
        let range = u64::from_str_radix(from, 16).ok()?..u64::from_str_radix(to, 16).ok()?;
        let path = line.iter().position(|byte| *byte == b'/')?;
        range.contains(&address).then(|| line[path..].to_vec())
    })
}

/// The program's file, if `path` is the link to it and the kernel would return the loader.
pub(crate) fn program_of(path: &[u8]) -> Option<&'static [u8]> {
    let name = path.strip_prefix(b"/proc/")?.strip_suffix(b"/exe")?;
    let own = || {
        let number: u32 = std::str::from_utf8(name).ok()?.parse().ok()?;
        (number == std::process::id()).then_some(())
    };
    if name != b"self" && name != b"thread-self" {
        own()?;
    }
    Some(&loaded()?.program)
}

/// Returns the result of `readlink` for the link to this process's program, if the kernel would return the loader.
///
/// # Safety
/// `path` must be null or a C string, `buffer` must be valid for writes of `size` bytes.
pub unsafe fn read_link(path: *const c_char, buffer: *mut c_char, size: usize) -> Option<isize> {
    if path.is_null() || size == 0 {
        return None;
    }
    // SAFETY: not null, so the caller vouches for it.
    let program = program_of(unsafe { CStr::from_ptr(path) }.to_bytes())?;
    let len = program.len().min(size);
    // SAFETY: as the caller vouches; the link is truncated as the system does it, and has no terminating zero.
    unsafe { std::ptr::copy_nonoverlapping(program.as_ptr().cast::<c_void>(), buffer.cast(), len) };
    isize::try_from(len).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_are_kept_and_the_programs_name_is_not() {
        let line = b"ld.so\0--library-path\0/a:/b\0--inhibit-cache\0--preload\0/p.so\0--argv0\0me\0./prog\0--x\0";
        let loaded = Loaded::of(b"/t/ld.so".to_vec(), b"/w/prog".to_vec(), line).unwrap();
        assert_eq!(loaded.libraries.as_c_str(), c"/a:/b");
        assert_eq!(loaded.options, [c"--inhibit-cache", c"--preload", c"/p.so"].map(ToOwned::to_owned));
        for cut in [&b""[..], b"ld.so\0", b"ld.so\0--preload\0"] {
            assert!(Loaded::of(b"/t/ld.so".to_vec(), b"/w/prog".to_vec(), cut).is_none(), "{cut:?}");
        }
    }

    #[test]
    fn a_file_is_found_by_an_address() {
        let maps = b"1000-2000 r--p 0 fd:00 1                /usr/a program\n2000-3000 rw-p 0 0 0 [heap]\n";
        assert_eq!(mapped_at(maps, 0x1fff).as_deref(), Some(&b"/usr/a program"[..]));
        assert_eq!(mapped_at(maps, 0x2000), None);
        assert_eq!(mapped_at(maps, 0x3000), None);
    }

    /// The system started this test without a loader.
    #[test]
    fn without_a_loader_nothing_is_redirected() {
        assert!(loaded().is_none());
        assert_eq!(program_of(b"/proc/self/exe"), None);
    }
}
