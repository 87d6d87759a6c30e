//! Compares the bindings with C's headers, AMD's packages and the real libraries; a missing library or function gives a
//! status.

#[rustfmt::skip]
mod generated;

sys_testing::bindings! {
    hipsparse_sys, "hipsparse", generated;
    hipsparseCreate(&mut std::ptr::null_mut()) => HIPSPARSE_STATUS_NOT_INITIALIZED, HIPSPARSE_STATUS_NOT_SUPPORTED;
}
