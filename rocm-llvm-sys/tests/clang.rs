//! Compares the bindings of the module `clang` with C's headers, AMD's packages and the real libraries; a missing
//! library or function gives a status.

#[rustfmt::skip]
#[path = "clang/generated/mod.rs"]
mod generated;

sys_testing::bindings! {
    rocm_llvm_sys::clang, "clang_c", generated;
    clang_createIndex(0, 0) => std::ptr::null_mut(), std::ptr::null_mut();
}
