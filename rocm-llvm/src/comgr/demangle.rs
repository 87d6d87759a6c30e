//! Demangling of C++ names.

use rocm_llvm_sys::comgr::{self as sys, amd_comgr_data_t};

use crate::comgr::data::Data;
use crate::comgr::error::{Error, Result};
use crate::comgr::kind::DataKind;
use crate::comgr::library::{check, lossy};

/// Returns the C++ declaration of a mangled name (`amd_comgr_demangle_symbol_name`). A name that is not mangled is
/// returned unchanged.
///
/// # Errors
/// [`Error::Input`] if the name is empty or contains a NUL.
///
/// ```
/// use rocm_llvm::comgr;
///
/// # if comgr::available().is_err() { return Ok(()) }
/// assert_eq!(comgr::demangle("_Z5scaleIfEvPT_S0_")?, "void scale<float>(float*, float)");
/// assert_eq!(comgr::demangle("main")?, "main");
/// # Ok::<(), comgr::Error>(())
/// ```
#[doc(alias = "amd_comgr_demangle_symbol_name")]
pub fn demangle(name: &str) -> Result<String> {
    if name.is_empty() || name.contains('\0') {
        return Err(Error::input(format!("the name {name:?}"), "it is empty or has a NUL"));
    }
    let mangled = Data::new(DataKind::Bytes, "name", name.as_bytes())?;
    let mut demangled = amd_comgr_data_t::default();
    // SAFETY: a live data object of bytes, and a place that is valid for the write.
    let status = unsafe { sys::amd_comgr_demangle_symbol_name(mangled.raw(), &mut demangled) };
    check(status, "amd_comgr_demangle_symbol_name", || name.to_owned())?;
    // The call has created the object for the caller.
    let mut text = Data::from_raw(demangled).bytes()?;
    while text.last() == Some(&0) {
        text.pop();
    }
    Ok(lossy(text))
}
