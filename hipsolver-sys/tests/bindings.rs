//! The bindings are held to C's headers, to AMD's packages and to the real libraries; a missing library or function is
//! a status.

#[rustfmt::skip]
mod generated;

sys_testing::bindings! {
    hipsolver_sys, "hipsolver", generated;
    hipsolverCreate(&mut std::ptr::null_mut()) => HIPSOLVER_STATUS_NOT_INITIALIZED, HIPSOLVER_STATUS_NOT_SUPPORTED;
}
