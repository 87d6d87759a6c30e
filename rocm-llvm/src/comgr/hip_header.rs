//! HIP's device header, from HIPRTC.

use std::sync::OnceLock;

use rocm_loader::libraries::HIPRTC_BUILTINS;

use crate::comgr::error::{Error, Result};

/// The name under which sources include the header.
pub(crate) const NAME: &str = "hiprtc_runtime.h";

/// Returns HIP's device header: one text that defines `__global__`, `threadIdx`, HIP's device functions and its vector
/// types. It is part of HIPRTC, in the library `libhiprtc-builtins`; no header files are needed. The result is cached.
///
/// # Errors
/// [`Error::NoHipHeader`] if the library is not installed.
pub fn hip_header() -> Result<&'static str> {
    static HEADER: OnceLock<Result<String>> = OnceLock::new();
    HEADER.get_or_init(read).as_deref().map_err(Error::clone)
}

fn read() -> Result<String> {
    let missing = |error| Error::NoHipHeader(Box::new(error));
    let library = rocm_loader::process_search().open(&HIPRTC_BUILTINS).map_err(missing)?;
    let symbol = |name| library.symbol(name).ok_or_else(|| missing(library.missing(name, "5.7")));
    let (text, size) = (symbol(c"__hipRTC_header")?, symbol(c"__hipRTC_header_size")?);
    // SAFETY: `__hipRTC_header_size` is an `unsigned` that never changes; libraries are never closed.
    let size = unsafe { size.cast::<u32>().read_unaligned() };
    // SAFETY: `__hipRTC_header` is an array of `size` characters, which never changes.
    let text = unsafe { std::slice::from_raw_parts(text.cast::<u8>().as_ptr(), size as usize) };
    let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
    Ok(String::from_utf8_lossy(&text[..end]).into_owned())
}
