//! Compares the bindings with C's headers, AMD's packages and the real libraries; a missing library or function gives a
//! status.

#![cfg(feature = "rocm-10-0")]

#[rustfmt::skip]
mod generated;

sys_testing::bindings! {
    hiptensor_sys, "hiptensor", generated;
    hiptensorCreate(&mut std::ptr::null_mut()) => hiptensorStatus_t(u32::MAX), hiptensorStatus_t(u32::MAX);
}
