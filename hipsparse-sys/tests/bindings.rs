//! The bindings are held to C's headers, to AMD's packages and to the real libraries; a missing library or function is
//! a status.

#[rustfmt::skip]
mod generated;

sys_testing::bindings! {
    hipsparse_sys, "hipsparse", generated;
    hipsparseCreate(&mut std::ptr::null_mut()) => HIPSPARSE_STATUS_NOT_INITIALIZED, HIPSPARSE_STATUS_NOT_SUPPORTED;
}
