//! Compares the bindings with C's headers, AMD's packages and the real libraries; a missing library or function gives a
//! status.

#![cfg(feature = "rocm-10-0")]

#[rustfmt::skip]
mod generated;

sys_testing::bindings! {
    hipdnn_sys, "hipdnn_backend", generated;
    hipdnnCreate(&mut std::ptr::null_mut()) => HIPDNN_STATUS_NOT_INITIALIZED, HIPDNN_STATUS_NOT_SUPPORTED;
}
