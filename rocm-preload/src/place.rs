//! Redirected paths.

use std::ffi::{CStr, c_char};

use crate::process;

const MOST: usize = libc::PATH_MAX as usize;

/// A path as a C string on the stack: allocations are not allowed here, because of children of `vfork`.
#[derive(Clone)]
pub struct Place {
    bytes: [u8; MOST],
}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default();
        f.debug_tuple("Place").field(&text).finish()
    }
}

impl Place {
    /// Returns `prefix` followed by `path`, or `None` if it is longer than a path may be.
    pub fn new(prefix: &[u8], path: &[u8]) -> Option<Self> {
        let len = prefix.len() + path.len();
        if len >= MOST {
            return None;
        }
        let mut bytes = [0; MOST];
        bytes[..prefix.len()].copy_from_slice(prefix);
        bytes[prefix.len()..len].copy_from_slice(path);
        Some(Self { bytes })
    }

    /// Appends `more`, or returns `None` if the path becomes too long.
    pub(crate) fn and(mut self, more: &[u8]) -> Option<Self> {
        let len = self.bytes.iter().position(|byte| *byte == 0)?;
        // The last byte stays zero.
        self.bytes[..MOST - 1].get_mut(len..len + more.len())?.copy_from_slice(more);
        Some(self)
    }

    /// Returns the path as a C string.
    pub fn as_ptr(&self) -> *const c_char {
        self.bytes.as_ptr().cast()
    }

    /// Returns the program's file if `path` is `/proc/self/exe` (or the same with this process's ID) and that link
    /// refers to the loader. `None` for every other path.
    ///
    /// # Safety
    /// `path` must be null or a C string.
    pub unsafe fn of_this_program(path: *const c_char) -> Option<Self> {
        if path.is_null() {
            return None;
        }
        // SAFETY: not null, so the caller vouches for it.
        let text = unsafe { CStr::from_ptr(path) }.to_bytes();
        Self::new(b"", process::program_of(text)?)
    }
}
