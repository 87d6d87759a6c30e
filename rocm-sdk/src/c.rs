//! The few functions of the C library that std does not offer. The crate `libc` has them, but its build is not worth
//! its time for users without the tools. `tests::declared_as_in_libc` compares these declarations with it.

/// Constants for `prctl`, `waitid` and `killpg`.
#[cfg(target_os = "linux")]
pub(crate) use of_children::*;

#[cfg(target_os = "linux")]
mod of_children {
    use std::ffi::{c_int, c_uint};

    pub(crate) const PR_SET_PDEATHSIG: c_int = 1;
    pub(crate) const SIGKILL: c_int = 9;
    pub(crate) const P_PID: c_uint = 1;
    pub(crate) const WNOHANG: c_int = 1;
    pub(crate) const WEXITED: c_int = 4;
    pub(crate) const WNOWAIT: c_int = 0x0100_0000;

    /// `siginfo_t`: 128 bytes on every Linux, the signal's number first.
    #[repr(C, align(8))]
    #[derive(Default)]
    pub(crate) struct SigInfo([c_int; 32]);

    impl SigInfo {
        /// 0 if nothing was written.
        pub(crate) fn signal(&self) -> c_int {
            self.0[0]
        }
    }
}

/// Flags of `access`: readable, writable.
#[cfg(all(target_os = "linux", feature = "doctor"))]
pub(crate) const R_OK: std::ffi::c_int = 4;
#[cfg(all(target_os = "linux", feature = "doctor"))]
pub(crate) const W_OK: std::ffi::c_int = 2;

#[cfg(target_os = "linux")]
unsafe extern "C" {
    pub(crate) fn prctl(option: std::ffi::c_int, ...) -> std::ffi::c_int;
    pub(crate) fn waitid(
        kind: std::ffi::c_uint,
        id: u32,
        info: *mut SigInfo,
        options: std::ffi::c_int,
    ) -> std::ffi::c_int;
    pub(crate) fn killpg(group: i32, signal: std::ffi::c_int) -> std::ffi::c_int;
    #[cfg(feature = "doctor")]
    pub(crate) fn access(path: *const std::ffi::c_char, mode: std::ffi::c_int) -> std::ffi::c_int;
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    #[test]
    fn declared_as_in_libc() {
        #[cfg(feature = "doctor")]
        {
            let _: [unsafe extern "C" fn(*const libc::c_char, libc::c_int) -> libc::c_int; 2] =
                [super::access, libc::access];
            assert_eq!((super::R_OK, super::W_OK), (libc::R_OK, libc::W_OK));
        }
        let _: [unsafe extern "C" fn(libc::pid_t, libc::c_int) -> libc::c_int; 2] = [super::killpg, libc::killpg];
        let _: [unsafe extern "C" fn(libc::c_int, ...) -> libc::c_int; 2] = [super::prctl, libc::prctl];
        let _: unsafe extern "C" fn(libc::idtype_t, libc::id_t, *mut super::SigInfo, libc::c_int) -> libc::c_int =
            super::waitid;
        assert_eq!(size_of::<super::SigInfo>(), size_of::<libc::siginfo_t>());
        assert!(align_of::<super::SigInfo>() >= align_of::<libc::siginfo_t>());
        assert_eq!(std::mem::offset_of!(libc::siginfo_t, si_signo), 0);
        assert_eq!((super::PR_SET_PDEATHSIG, super::SIGKILL), (libc::PR_SET_PDEATHSIG, libc::SIGKILL));
        assert_eq!(super::P_PID, libc::P_PID);
        assert_eq!((super::WNOHANG, super::WEXITED, super::WNOWAIT), (libc::WNOHANG, libc::WEXITED, libc::WNOWAIT));
    }
}
