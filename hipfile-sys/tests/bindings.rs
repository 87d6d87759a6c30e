//! The bindings are held to C's headers, to AMD's packages and to the real libraries; a missing library or function is
//! a status.

#![cfg(feature = "rocm-10-0")]

#[rustfmt::skip]
mod generated;

sys_testing::bindings! {
    hipfile_sys, "hipfile", generated;
    hipFileUseCount() => -1, -1;
}
