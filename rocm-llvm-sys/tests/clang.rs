//! The bindings of the module `clang` are held to C's headers, to AMD's packages and to the real libraries; a missing
//! library or function is a status.

#[rustfmt::skip]
#[path = "clang/generated/mod.rs"]
mod generated;

sys_testing::bindings! {
    rocm_llvm_sys::clang, "clang_c", generated;
    clang_createIndex(0, 0) => std::ptr::null_mut(), std::ptr::null_mut();
}
