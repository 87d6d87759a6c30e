//! Compares the bindings with C's headers, AMD's packages and the real libraries; a missing library or function gives a
//! status.

#[rustfmt::skip]
mod generated;

sys_testing::bindings! {
    hipblas_sys, "hipblas", generated;
    hipblasCreate(&mut std::ptr::null_mut()) => HIPBLAS_STATUS_NOT_INITIALIZED, HIPBLAS_STATUS_NOT_SUPPORTED;
}
