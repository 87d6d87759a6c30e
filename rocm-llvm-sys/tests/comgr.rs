//! The bindings of the module `comgr` are held to C's headers, to AMD's packages and to the real libraries; a missing
//! library or function is a status.

#[rustfmt::skip]
#[path = "comgr/generated/mod.rs"]
mod generated;

sys_testing::bindings! {
    rocm_llvm_sys::comgr, "amd_comgr", generated;
    amd_comgr_get_isa_count(&mut 0) => AMD_COMGR_STATUS_ERROR, AMD_COMGR_STATUS_ERROR;
}
