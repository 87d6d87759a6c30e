//! Compares the bindings of the module `llvm` with C's headers, AMD's packages and the real libraries; a missing
//! library or function gives a status.

#[rustfmt::skip]
#[path = "llvm/generated/mod.rs"]
mod generated;

sys_testing::bindings! {
    rocm_llvm_sys::llvm, "llvm_c", generated;
    LLVMGetGlobalContext() => std::ptr::null_mut(), std::ptr::null_mut();
}
