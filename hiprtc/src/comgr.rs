//! Queries Comgr, the compiler behind HIPRTC, for the architectures that it supports.
//!
//! HIPRTC 6.4 and older corrupt memory if Comgr rejects the architecture. So Comgr is queried first.

use std::ffi::{CStr, CString, c_char};

use hip::Arch;
use rocm_loader::Library;

/// `amd_comgr_status_t`; 0 is success.
pub(crate) type Status = u32;
/// `amd_comgr_action_info_t`: a structure of one 64-bit handle, which C passes like the handle itself.
pub(crate) type ActionInfo = u64;
type CreateActionInfo = unsafe extern "C" fn(*mut ActionInfo) -> Status;
type DestroyActionInfo = unsafe extern "C" fn(ActionInfo) -> Status;
type SetIsaName = unsafe extern "C" fn(ActionInfo, *const c_char) -> Status;
type GetIsaCount = unsafe extern "C" fn(*mut usize) -> Status;
type GetIsaName = unsafe extern "C" fn(usize, *mut *const c_char) -> Status;

const TRIPLE: &str = "amdgcn-amd-amdhsa--";
/// The oldest ROCm release that is supported, whose Comgr has all functions that are called here but one.
pub(crate) const SINCE: &str = "5.7";

/// Returns Comgr's name of an architecture.
pub(crate) fn isa_name(arch: &Arch) -> Option<CString> {
    CString::new(format!("{TRIPLE}{arch}")).ok()
}

/// The Comgr that HIPRTC will use.
#[derive(Debug)]
pub(crate) struct Comgr(pub(crate) Library);

impl Comgr {
    /// Returns whether Comgr compiles for `arch`; `None` if it cannot be queried.
    pub(crate) fn supports(&self, arch: &Arch) -> Option<bool> {
        let name = isa_name(arch)?;
        // SAFETY: the signatures are those of Comgr's header, the same since its version 1.
        let (create, set, destroy) = unsafe {
            (
                self.0.function::<CreateActionInfo>(c"amd_comgr_create_action_info", SINCE).ok()?,
                self.0.function::<SetIsaName>(c"amd_comgr_action_info_set_isa_name", SINCE).ok()?,
                self.0.function::<DestroyActionInfo>(c"amd_comgr_destroy_action_info", SINCE).ok()?,
            )
        };
        let mut info = 0;
        // SAFETY: the pointer is valid for the result.
        if unsafe { create(&mut info) } != 0 {
            return None;
        }
        // SAFETY: a live action info and a C string, which is copied.
        let status = unsafe { set(info, name.as_ptr()) };
        // SAFETY: a live action info, destroyed once.
        let _ = unsafe { destroy(info) };
        Some(status == 0)
    }

    /// Returns the processors that Comgr supports, such as `gfx90a`.
    pub(crate) fn processors(&self) -> Vec<String> {
        // SAFETY: the signatures are those of Comgr's header, the same since its version 1.
        let functions = unsafe {
            (
                self.0.function::<GetIsaCount>(c"amd_comgr_get_isa_count", SINCE),
                self.0.function::<GetIsaName>(c"amd_comgr_get_isa_name", SINCE),
            )
        };
        let (Ok(get_count), Ok(get_name)) = functions else { return Vec::new() };
        let mut count = 0;
        // SAFETY: the pointer is valid for the result.
        if unsafe { get_count(&mut count) } != 0 {
            return Vec::new();
        }
        let name = |index| {
            let mut name = std::ptr::null();
            // SAFETY: an index below the count, and a pointer that is valid for the result.
            let status = unsafe { get_name(index, &mut name) };
            // SAFETY: if the call succeeds, the name is a C string that is a constant of the library.
            (status == 0 && !name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
        };
        (0..count).filter_map(name).map(|name| name.strip_prefix(TRIPLE).unwrap_or(&name).to_owned()).collect()
    }
}
