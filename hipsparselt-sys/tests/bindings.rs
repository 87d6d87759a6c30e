//! Compares the bindings with C's headers, AMD's packages and the real libraries; a missing library or function gives a
//! status.

#![cfg(feature = "rocm-6-3")]

#[rustfmt::skip]
mod generated;

sys_testing::bindings! {
    hipsparselt_sys, "hipsparselt", generated;
    hipsparseLtInit(&mut Default::default()) => HIPSPARSE_STATUS_NOT_INITIALIZED, HIPSPARSE_STATUS_NOT_SUPPORTED;
}
