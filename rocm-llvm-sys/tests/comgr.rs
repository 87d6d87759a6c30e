//! Compares the bindings of the module `comgr` with C's headers, AMD's packages and the real libraries; a missing
//! library or function gives a status.

#[rustfmt::skip]
#[path = "comgr/generated/mod.rs"]
mod generated;

sys_testing::bindings! {
    rocm_llvm_sys::comgr, "amd_comgr", generated;
    amd_comgr_get_isa_count(&mut 0) => AMD_COMGR_STATUS_ERROR, AMD_COMGR_STATUS_ERROR;
}
