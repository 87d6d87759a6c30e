//! The loaded Comgr: its version, and calls of its functions.

use std::ffi::{CStr, CString, c_char};
use std::sync::OnceLock;

use rocm_llvm_sys::comgr::{self as sys, BINDING, amd_comgr_status_t};

use crate::comgr::error::{Error, Result};
use crate::comgr::version::{Numbering, Version};

/// Checks whether Comgr can be used: the library and its dependencies can be loaded, and its numbers for actions and
/// languages are known. Every function of this module calls this first. The result is cached.
///
/// # Errors
/// [`Error::Unavailable`] with every path searched, or [`Error::Numbering`].
pub fn available() -> Result<()> {
    library().map(drop)
}

/// Returns the version of the loaded Comgr (`amd_comgr_get_version`).
///
/// # Errors
/// Those of [`available`].
#[doc(alias = "amd_comgr_get_version")]
pub fn version() -> Result<Version> {
    Ok(library()?.version)
}

/// The Comgr of this process.
#[derive(Debug)]
pub(crate) struct Library {
    pub(crate) version: Version,
    pub(crate) numbering: Numbering,
}

/// Loads Comgr, on the first call.
pub(crate) fn library() -> Result<&'static Library> {
    static LIBRARY: OnceLock<Result<Library>> = OnceLock::new();
    LIBRARY.get_or_init(load).as_ref().map_err(Error::clone)
}

fn load() -> Result<Library> {
    if let Some(error) = sys::load_error() {
        return Err(Error::Unavailable(Box::new(error.clone())));
    }
    if let Some(error) = sys::symbol_error(c"amd_comgr_get_version") {
        return Err(Error::Unavailable(Box::new(error)));
    }
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the function is available, and both places are valid for its writes.
    unsafe { sys::amd_comgr_get_version(&mut major, &mut minor) };
    let version = Version { major, minor };
    let abi = BINDING.abi();
    let wrong = |()| Error::Numbering { found: version, library: name(), wanted: Numbering::wanted(abi) };
    let numbering = Numbering::of(version, abi).ok_or(()).map_err(wrong)?;
    Ok(Library { version, numbering })
}

/// Returns the file of the library.
pub(crate) fn name() -> String {
    let library = BINDING.opened();
    let path = library.and_then(|library| library.path()).map(|path| path.display().to_string());
    path.or_else(|| BINDING.provider_name().map(str::to_owned))
        .unwrap_or_else(|| BINDING.spec().unversioned().to_owned())
}

/// Returns the error for a feature that this version does not have.
pub(crate) fn not_supported(what: impl Into<String>, wanted: &'static str) -> Error {
    match library() {
        Ok(library) => Error::NotSupported { what: what.into(), wanted, found: library.version, library: name() },
        Err(error) => error,
    }
}

/// Converts a status to an error that names the function and its input.
pub(crate) fn check(status: amd_comgr_status_t, function: &'static str, what: impl FnOnce() -> String) -> Result<()> {
    if status == sys::AMD_COMGR_STATUS_SUCCESS {
        return Ok(());
    }
    let missing = CString::new(function).ok().and_then(|name| sys::symbol_error(&name));
    let status = missing.map_or_else(|| status_text(status), |error| error.to_string());
    Err(Error::Call { function, what: what(), status, library: name() })
}

/// Returns Comgr's name of a status, such as `INVALID_ARGUMENT` (`amd_comgr_status_string`).
pub(crate) fn status_text(status: amd_comgr_status_t) -> String {
    let mut text = std::ptr::null();
    // SAFETY: the place is valid for the write.
    let answer = unsafe { sys::amd_comgr_status_string(status, &mut text) };
    if answer != sys::AMD_COMGR_STATUS_SUCCESS || text.is_null() {
        return format!("{status:?}");
    }
    // SAFETY: on success it is a C string that is a constant of the library.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Reads bytes from a function that returns their number first: it is called without a buffer, then with one.
pub(crate) fn bytes(
    function: &'static str,
    what: impl Fn() -> String,
    mut get: impl FnMut(*mut usize, *mut c_char) -> amd_comgr_status_t,
) -> Result<Vec<u8>> {
    let mut size = 0;
    check(get(&mut size, std::ptr::null_mut()), function, &what)?;
    let mut bytes = vec![0_u8; size];
    if size != 0 {
        check(get(&mut size, bytes.as_mut_ptr().cast()), function, &what)?;
    }
    bytes.truncate(size);
    Ok(bytes)
}

/// Reads text likewise. The size that the function returns includes the terminating NUL.
pub(crate) fn text(
    function: &'static str,
    what: impl Fn() -> String,
    get: impl FnMut(*mut usize, *mut c_char) -> amd_comgr_status_t,
) -> Result<String> {
    let mut bytes = bytes(function, what, get)?;
    if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
        bytes.truncate(end);
    }
    Ok(lossy(bytes))
}

/// Converts text of the compiler, which may quote source bytes that are not UTF-8.
pub(crate) fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Converts to a C string, or returns an error that names the text with a NUL.
pub(crate) fn c_string(what: &str, text: &str) -> Result<CString> {
    CString::new(text).map_err(|error| {
        let at = error.nul_position();
        Error::input(format!("{what} {text:?}"), format!("has a NUL at byte {at}"))
    })
}
