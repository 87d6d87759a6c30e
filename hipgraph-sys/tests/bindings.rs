//! Compares the bindings with C's headers, AMD's packages and the real libraries; a missing library or function gives a
//! status.

#![cfg(feature = "rocm-6-4")]

#[rustfmt::skip]
mod generated;

sys_testing::bindings! {
    hipgraph_sys, "hipgraph", generated;
    hipgraph_sampling_options_create(&mut std::ptr::null_mut(), &mut std::ptr::null_mut()) =>
        HIPGRAPH_UNKNOWN_ERROR, HIPGRAPH_NOT_IMPLEMENTED;
}
