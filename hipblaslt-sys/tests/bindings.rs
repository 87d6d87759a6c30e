//! Compares the bindings with C's headers, AMD's packages and the real libraries; a missing library or function gives a
//! status.

#![cfg(feature = "rocm-6-2")]

#[rustfmt::skip]
mod generated;

sys_testing::bindings! {
    hipblaslt_sys, "hipblaslt", generated;
    hipblasLtCreate(&mut std::ptr::null_mut()) => HIPBLAS_STATUS_NOT_INITIALIZED, HIPBLAS_STATUS_NOT_SUPPORTED;
}
