//! Whether the environment is to be trusted.

/// Returns whether this process gained privileges when it was started, so that another user controls its environment.
#[cfg(target_os = "linux")]
pub fn runs_set_uid() -> bool {
    // SAFETY: getauxval only reads the auxiliary vector.
    unsafe { crate::c::getauxval(crate::c::AT_SECURE) != 0 }
}

#[cfg(all(unix, not(target_os = "linux")))]
pub fn runs_set_uid() -> bool {
    // SAFETY: these four only read the process's credentials.
    unsafe { crate::c::getuid() != crate::c::geteuid() || crate::c::getgid() != crate::c::getegid() }
}

#[cfg(not(unix))]
pub fn runs_set_uid() -> bool {
    false
}
