//! Memory that other drivers can map.

use std::fs::File;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::fs::FileExt as _;

/// The alignment of the file's length in bytes.
const PAGE: usize = 4096;

/// An anonymous file of fixed size that contains an object at some offset, since drivers put several objects into one
/// allocation.
pub(crate) struct Storage {
    file: File,
    /// Offset of the object.
    pub(crate) offset: usize,
    /// Size of the object.
    pub(crate) bytes: usize,
}

impl Storage {
    /// Zeroed storage; `None` if there is no memory.
    pub(crate) fn new(offset: usize, bytes: usize) -> Option<Self> {
        let whole = offset.checked_add(bytes)?.checked_next_multiple_of(PAGE)?;
        // SAFETY: a name that ends with a zero.
        let raw = unsafe { libc::memfd_create(c"gl-sim".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
        if raw < 0 {
            return None;
        }
        // SAFETY: the descriptor is new and has no other owner.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(raw) });
        file.set_len(whole as u64).ok()?;
        // SAFETY: no memory is passed.
        let sealed = unsafe { libc::fcntl(raw, libc::F_ADD_SEALS, libc::F_SEAL_SHRINK | libc::F_SEAL_GROW) };
        (sealed == 0).then_some(Self { file, offset, bytes })
    }

    /// Copies bytes to the object. Returns whether they are inside it.
    pub(crate) fn write(&self, at: usize, bytes: &[u8]) -> bool {
        self.is_inside(at, bytes.len()) && self.file.write_all_at(bytes, (self.offset + at) as u64).is_ok()
    }

    /// Copies bytes from the object. Returns whether they are inside it.
    pub(crate) fn read(&self, at: usize, bytes: &mut [u8]) -> bool {
        self.is_inside(at, bytes.len()) && self.file.read_exact_at(bytes, (self.offset + at) as u64).is_ok()
    }

    fn is_inside(&self, at: usize, len: usize) -> bool {
        at.checked_add(len).is_some_and(|end| end <= self.bytes)
    }

    /// Duplicates the file's descriptor for the caller, who must close it. Negative if there are too many.
    pub(crate) fn export(&self) -> i32 {
        // SAFETY: no memory is passed, and the file is open.
        unsafe { libc::fcntl(self.file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_bounded_and_their_file_is_exported_whole() {
        let storage = Storage::new(256, 5000).unwrap();
        assert!(storage.write(4990, &[7; 10]));
        assert!(!storage.write(4991, &[7; 10]), "one byte beyond");
        assert!(!storage.write(usize::MAX, &[7; 10]));
        let raw = storage.export();
        // SAFETY: the descriptor is new and has no other owner.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(raw) });
        assert_eq!(file.metadata().unwrap().len(), 8192);
        assert!(file.set_len(4096).is_err(), "it keeps its size");
        let mut bytes = [0; 2];
        file.read_exact_at(&mut bytes, 256 + 4989).unwrap();
        assert_eq!(bytes, [0, 7]);
    }
}
