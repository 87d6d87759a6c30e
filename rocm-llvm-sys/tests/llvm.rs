//! The bindings of the module `llvm` are held to C's headers, to AMD's packages and to the real libraries; a missing
//! library or function is a status.

#[rustfmt::skip]
#[path = "llvm/generated/mod.rs"]
mod generated;

sys_testing::bindings! {
    rocm_llvm_sys::llvm, "llvm_c", generated;
    LLVMGetGlobalContext() => std::ptr::null_mut(), std::ptr::null_mut();
}
