//! The bindings are held to C's headers, to AMD's packages and to the real libraries; a missing library or function is
//! a status.

#![cfg(feature = "rocm-6-4")]

#[rustfmt::skip]
mod generated;

sys_testing::bindings! {
    hipgraph_sys, "hipgraph", generated;
    hipgraph_sampling_options_create(&mut std::ptr::null_mut(), &mut std::ptr::null_mut()) =>
        HIPGRAPH_UNKNOWN_ERROR, HIPGRAPH_NOT_IMPLEMENTED;
}
