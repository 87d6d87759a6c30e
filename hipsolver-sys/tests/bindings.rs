//! Compares the bindings with C's headers, AMD's packages and the real libraries; a missing library or function gives a
//! status.

#[rustfmt::skip]
mod generated;

sys_testing::bindings! {
    hipsolver_sys, "hipsolver", generated;
    hipsolverCreate(&mut std::ptr::null_mut()) => HIPSOLVER_STATUS_NOT_INITIALIZED, HIPSOLVER_STATUS_NOT_SUPPORTED;
}
