//! The bindings are held to C's headers, to AMD's packages and to the real libraries; a missing library or function is
//! a status.

#![cfg(feature = "rocm-10-0")]

#[rustfmt::skip]
mod generated;

sys_testing::bindings! {
    hiptensor_sys, "hiptensor", generated;
    hiptensorCreate(&mut std::ptr::null_mut()) => hiptensorStatus_t(u32::MAX), hiptensorStatus_t(u32::MAX);
}
