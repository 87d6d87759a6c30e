//! The few functions of the C library that std does not offer. The crate `libc` has them, but everything in the
//! workspace would wait for its build: a seventh of a cold build of `hip`. `tests::declared_as_in_libc` compares these
//! declarations with it.

#[cfg(target_os = "linux")]
use std::ffi::{c_char, c_int, c_long, c_ulong, c_void};

/// Key of `getauxval`: whether the process gained privileges when it was started.
#[cfg(target_os = "linux")]
pub(crate) const AT_SECURE: c_ulong = 23;
/// Request of `dlinfo`: the dynamic loader's entry of an open library.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) const RTLD_DI_LINKMAP: c_int = 2;
/// Requests of `dlinfo`: the directories that the dynamic loader searches, and the size of their list.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) const RTLD_DI_SERINFO: c_int = 4;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) const RTLD_DI_SERINFOSIZE: c_int = 5;

/// The system call that creates a file in memory. The C library's function is not used, since older releases lack it.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) const SYS_MEMFD_CREATE: c_long = 319;
#[cfg(all(target_os = "linux", not(target_arch = "x86_64")))]
pub(crate) const SYS_MEMFD_CREATE: c_long = 279;
/// Flag of `dlopen`: return a library that is already loaded, and load nothing.
#[cfg(target_os = "linux")]
pub(crate) const RTLD_NOLOAD: c_int = 4;

/// The head of `struct dl_phdr_info`: a loaded object and the path of its file.
#[cfg(target_os = "linux")]
#[repr(C)]
pub(crate) struct LoadedObject {
    pub(crate) address: usize,
    pub(crate) name: *const c_char,
}

/// The callback that [`dl_iterate_phdr`] calls for each object.
#[cfg(target_os = "linux")]
pub(crate) type ForObject = unsafe extern "C" fn(*mut LoadedObject, usize, *mut c_void) -> c_int;

unsafe extern "C" {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    pub(crate) fn gnu_get_libc_version() -> *const c_char;
    #[cfg(target_os = "linux")]
    pub(crate) fn getauxval(kind: c_ulong) -> c_ulong;
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    pub(crate) fn dlinfo(handle: *mut c_void, request: c_int, info: *mut c_void) -> c_int;
    #[cfg(target_os = "linux")]
    pub(crate) fn dl_iterate_phdr(each: ForObject, data: *mut c_void) -> c_int;
    #[cfg(target_os = "linux")]
    pub(crate) fn syscall(number: c_long, ...) -> c_long;
    #[cfg(target_os = "linux")]
    pub(crate) fn memmem(bytes: *const c_void, length: usize, wanted: *const c_void, its_length: usize) -> *mut c_void;
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn getuid() -> u32;
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn geteuid() -> u32;
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn getgid() -> u32;
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn getegid() -> u32;
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    #[test]
    fn declared_as_in_libc() {
        let _: [unsafe extern "C" fn(libc::c_ulong) -> libc::c_ulong; 2] = [super::getauxval, libc::getauxval];
        type DlInfo = unsafe extern "C" fn(*mut libc::c_void, libc::c_int, *mut libc::c_void) -> libc::c_int;
        let _: [DlInfo; 2] = [super::dlinfo, libc::dlinfo];
        let _: [unsafe extern "C" fn() -> *const libc::c_char; 2] =
            [super::gnu_get_libc_version, libc::gnu_get_libc_version];
        type MemMem = unsafe extern "C" fn(*const libc::c_void, usize, *const libc::c_void, usize) -> *mut libc::c_void;
        let _: [MemMem; 2] = [super::memmem, libc::memmem];
        assert_eq!(super::AT_SECURE, libc::AT_SECURE);
        assert_eq!(super::SYS_MEMFD_CREATE, libc::SYS_memfd_create);
        assert_eq!(super::RTLD_NOLOAD, libc::RTLD_NOLOAD);
        assert_eq!(super::RTLD_DI_LINKMAP, libc::RTLD_DI_LINKMAP);
        // From `<dlfcn.h>`; the crate `libc` has neither.
        assert_eq!((super::RTLD_DI_SERINFO, super::RTLD_DI_SERINFOSIZE), (4, 5));
        assert_eq!(
            std::mem::offset_of!(super::LoadedObject, address),
            std::mem::offset_of!(libc::dl_phdr_info, dlpi_addr)
        );
        assert_eq!(
            std::mem::offset_of!(super::LoadedObject, name),
            std::mem::offset_of!(libc::dl_phdr_info, dlpi_name)
        );
    }
}
