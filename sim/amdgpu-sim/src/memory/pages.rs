//! Pages from the operating system: address ranges without memory, and memory that can be mapped at several addresses
//! and in several processes (Linux's `memfd`). On other systems every function returns `None`.

/// The page size: addresses and sizes of mappings are multiples of it.
pub const PAGE: u64 = 4096;

#[cfg(target_os = "linux")]
mod os {
    use std::ffi::c_void;
    use std::fs::File;
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    use std::ptr::with_exposed_provenance_mut;

    pub(crate) type Fd = OwnedFd;

    fn place(base: u64) -> *mut c_void {
        with_exposed_provenance_mut(base as usize)
    }

    /// Reserves a range of `size` inaccessible bytes, at `hint` if that is free.
    pub(crate) fn reserve(size: u64, hint: u64) -> Option<u64> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a mapping at an address of the system's choice; the hint does not replace an existing one.
        let at = unsafe { libc::mmap(place(hint), usize::try_from(size).ok()?, libc::PROT_NONE, flags, -1, 0) };
        if at == libc::MAP_FAILED { None } else { Some(at.expose_provenance() as u64) }
    }

    /// Makes a part of a reserved range zeroed private memory.
    ///
    /// # Safety
    /// The range must be the caller's, from [`reserve`].
    pub(crate) unsafe fn commit(base: u64, size: u64) -> Option<()> {
        // SAFETY: the caller's own range, which becomes accessible.
        let done = unsafe { libc::mprotect(place(base), size as usize, libc::PROT_READ | libc::PROT_WRITE) };
        (done == 0).then_some(())
    }

    /// Removes the memory from a part of a reserved range, which stays reserved.
    ///
    /// # Safety
    /// The range must be the caller's, from [`reserve`], and nothing may access it any more.
    pub(crate) unsafe fn decommit(base: u64, size: u64) {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
        // SAFETY: it replaces what is the caller's own. Where it fails, the memory stays until the range is released.
        unsafe { libc::mmap(place(base), size as usize, libc::PROT_NONE, flags, -1, 0) };
    }

    /// Releases the memory of a part of a committed range. It reads as zeros afterwards.
    ///
    /// # Safety
    /// The range must be the caller's, [committed](commit), and nothing may access it any more.
    pub(crate) unsafe fn empty(base: u64, size: u64) {
        // SAFETY: private memory that is the caller's own, and that nothing uses.
        if unsafe { libc::madvise(place(base), size as usize, libc::MADV_DONTNEED) } != 0 {
            // SAFETY: as above.
            unsafe { place(base).cast::<u8>().write_bytes(0, size as usize) };
        }
    }

    /// Replaces a part of a committed range by zeroed private memory; `None` on failure.
    ///
    /// # Safety
    /// The range must be the caller's, from [`reserve`], and nothing may access it any more.
    pub(crate) unsafe fn renew(base: u64, size: u64) -> Option<()> {
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let flags = flags | libc::MAP_NORESERVE | libc::MAP_FIXED;
        // SAFETY: it replaces what is the caller's own.
        let at = unsafe { libc::mmap(place(base), size as usize, access, flags, -1, 0) };
        (at != libc::MAP_FAILED).then_some(())
    }

    /// Maps `size` bytes of a file from `offset` on at a part of a reserved range, and replaces what was mapped there.
    ///
    /// # Safety
    /// The range must be the caller's, from [`reserve`].
    pub(crate) unsafe fn map(base: u64, size: u64, file: &Fd, offset: u64) -> Option<()> {
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_FIXED);
        let offset = libc::off_t::try_from(offset).ok()?;
        // SAFETY: it replaces what is the caller's own.
        let at = unsafe { libc::mmap(place(base), size as usize, access, flags, file.as_raw_fd(), offset) };
        (at != libc::MAP_FAILED).then_some(())
    }

    /// Releases a reserved range.
    ///
    /// # Safety
    /// The range must be the caller's, from [`reserve`], and nothing may access it any more.
    pub(crate) unsafe fn release(base: u64, size: u64) {
        // SAFETY: the caller's own range, which nothing uses any more.
        unsafe { libc::munmap(place(base), size as usize) };
    }

    /// Creates a file of `size` zero bytes in memory. Its size is sealed, so that a mapping of it never loses its
    /// pages.
    pub(crate) fn file(size: u64) -> Option<Fd> {
        // SAFETY: the name is a C string.
        let fd = unsafe { libc::memfd_create(c"amdgpu-sim".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
        if fd < 0 {
            return None;
        }
        // SAFETY: it was opened just above and has no other owner.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(fd) });
        file.set_len(size).ok()?;
        // SAFETY: no memory is passed.
        let sealed =
            unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_SHRINK | libc::F_SEAL_GROW) };
        (sealed == 0).then(|| file.into())
    }

    /// The size of a file of [`file`]; `None` for a file that can shrink while it is mapped.
    pub(crate) fn sealed_size(fd: &Fd) -> Option<u64> {
        // SAFETY: no memory is passed.
        let seals = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GET_SEALS) };
        if seals < 0 || seals & libc::F_SEAL_SHRINK == 0 {
            return None;
        }
        Some(File::from(fd.try_clone().ok()?).metadata().ok()?.len())
    }

    /// Another descriptor of the same file.
    pub(crate) fn duplicate(fd: &Fd) -> Option<Fd> {
        fd.try_clone().ok()
    }
}

#[cfg(not(target_os = "linux"))]
#[allow(clippy::missing_safety_doc, reason = "nothing is done")]
mod os {
    /// Not supported.
    pub(crate) enum Fd {}

    pub(crate) fn reserve(_: u64, _: u64) -> Option<u64> {
        None
    }

    pub(crate) unsafe fn commit(_: u64, _: u64) -> Option<()> {
        None
    }

    pub(crate) unsafe fn decommit(_: u64, _: u64) {}

    pub(crate) unsafe fn empty(_: u64, _: u64) {}

    pub(crate) unsafe fn renew(_: u64, _: u64) -> Option<()> {
        None
    }

    pub(crate) unsafe fn map(_: u64, _: u64, file: &Fd, _: u64) -> Option<()> {
        match *file {}
    }

    pub(crate) unsafe fn release(_: u64, _: u64) {}

    pub(crate) fn file(_: u64) -> Option<Fd> {
        None
    }

    pub(crate) fn sealed_size(fd: &Fd) -> Option<u64> {
        match *fd {}
    }

    pub(crate) fn duplicate(fd: &Fd) -> Option<Fd> {
        match *fd {}
    }
}

pub(crate) use os::{Fd, commit, decommit, duplicate, empty, file, map, release, renew, reserve, sealed_size};
