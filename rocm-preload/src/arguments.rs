//! Argument lists that are built without allocating: a child of `vfork` shares its parent's heap.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::null;

/// The number of words that fit without additional memory.
const FEW: usize = 512;

/// A list of C strings, terminated by a null pointer.
pub(crate) struct Arguments {
    few: [*const c_char; FEW],
    /// Mapped pages for longer lists, and their size in bytes.
    many: Option<(*mut *const c_char, usize)>,
    len: usize,
}

impl Arguments {
    /// Creates an empty list with room for `count` words; `None` if there is no memory.
    pub(crate) fn with_room(count: usize) -> Option<Self> {
        let mut many = None;
        if count >= FEW {
            let size = (count + 1) * size_of::<*const c_char>();
            let (access, flags): (c_int, c_int) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            // SAFETY: new memory at an address of the kernel's choice.
            let pages = unsafe { libc::mmap(std::ptr::null_mut(), size, access, flags, -1, 0) };
            if pages == libc::MAP_FAILED {
                return None;
            }
            many = Some((pages.cast(), size));
        }
        Some(Self { few: [null(); FEW], many, len: 0 })
    }

    /// Adds a word. The caller must have made room for it.
    pub(crate) fn push(&mut self, word: *const c_char) {
        match self.many {
            // SAFETY: there is room for `count` words and the null pointer, and no more than that are added.
            Some((words, _)) => unsafe { words.add(self.len).write(word) },
            None => self.few[self.len] = word,
        }
        self.len += 1;
    }

    /// The list in the form that `exec` takes.
    pub(crate) fn as_ptr(&self) -> *const *const c_char {
        // Unwritten entries are null: mapped pages are zeroed.
        self.many.map_or(self.few.as_ptr(), |(words, _)| words.cast_const())
    }
}

impl Drop for Arguments {
    fn drop(&mut self) {
        if let Some((words, size)) = self.many {
            // SAFETY: the pages of `with_room`, which nothing uses any more.
            unsafe { libc::munmap(words.cast::<c_void>(), size) };
        }
    }
}

/// Counts the words of a list.
///
/// # Safety
/// `list` must be null or end with a null pointer.
pub(crate) unsafe fn count(list: *const *const c_char) -> usize {
    if list.is_null() {
        return 0;
    }
    // SAFETY: as the caller vouches, nothing is read beyond the null pointer.
    (0..).take_while(|&at| unsafe { !(*list.add(at)).is_null() }).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_lists_end_with_null() {
        for len in [0, 1, FEW - 1, FEW, 3 * FEW] {
            let mut list = Arguments::with_room(len).unwrap();
            for _ in 0..len {
                list.push(c"word".as_ptr());
            }
            // SAFETY: a list of ours.
            assert_eq!(unsafe { count(list.as_ptr()) }, len);
        }
        // SAFETY: null is allowed.
        assert_eq!(unsafe { count(null()) }, 0);
    }
}
