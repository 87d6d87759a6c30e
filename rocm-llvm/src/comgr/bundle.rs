//! Code objects in bundles.

use std::ffi::CString;
use std::ops::Range;

use rocm_llvm_sys::comgr::{self as sys, amd_comgr_code_object_info_t};

use crate::comgr::data::Data;
use crate::comgr::error::{Error, Result};
use crate::comgr::kind::DataKind;
use crate::comgr::library::{c_string, check};

/// Returns the range of a bundle that contains the code object for each of these ISA names
/// (`amd_comgr_lookup_code_object`); `None` for one that the bundle does not have. The names must be complete and match
/// exactly: `amdgcn-amd-amdhsa--gfx90a`. A bundle must not be compressed.
///
/// # Errors
/// [`Error::Input`] if it is not a bundle, or an ISA name contains a NUL. [`Error::Call`] if Comgr cannot read it.
#[doc(alias("amd_comgr_lookup_code_object", "amd_comgr_code_object_info_t"))]
pub fn find_code_objects(bundle: &[u8], isas: &[&str]) -> Result<Vec<Option<Range<usize>>>> {
    if !bundle.starts_with(b"__CLANG_OFFLOAD_BUNDLE__") {
        return Err(Error::input("the bundle", "it does not start with __CLANG_OFFLOAD_BUNDLE__"));
    }
    let names = isas.iter().map(|isa| c_string("the ISA name", isa)).collect::<Result<Vec<CString>>>()?;
    let data = Data::new(DataKind::Bundle, "bundle", bundle)?;
    let info = |name: &CString| amd_comgr_code_object_info_t { isa: name.as_ptr(), size: 0, offset: 0 };
    let mut infos: Vec<_> = names.iter().map(info).collect();
    // SAFETY: a live data object; the entries and their number are those of the vector, and their names are alive.
    let status = unsafe { sys::amd_comgr_lookup_code_object(data.raw(), infos.as_mut_ptr(), infos.len()) };
    check(status, "amd_comgr_lookup_code_object", || isas.join(", "))?;
    let range = |info: &amd_comgr_code_object_info_t| {
        let start = usize::try_from(info.offset).ok()?;
        let range = start..start.checked_add(info.size)?;
        (info.size != 0 && range.end <= bundle.len()).then_some(range)
    };
    Ok(infos.iter().map(range).collect())
}
