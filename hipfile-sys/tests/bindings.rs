//! Compares the bindings with C's headers, AMD's packages and the real libraries; a missing library or function gives a
//! status.

#![cfg(feature = "rocm-10-0")]

#[rustfmt::skip]
mod generated;

sys_testing::bindings! {
    hipfile_sys, "hipfile", generated;
    hipFileUseCount() => -1, -1;
}
