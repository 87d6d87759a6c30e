//! The bindings are held to C's headers, to AMD's packages and to the real libraries; a missing library or function is
//! a status.

#[rustfmt::skip]
mod generated;

sys_testing::bindings! {
    hiprtc_sys, "hiprtc", generated;
    hiprtcVersion(&mut 0, &mut 0) => HIPRTC_ERROR_INTERNAL_ERROR, HIPRTC_ERROR_INTERNAL_ERROR;
}
