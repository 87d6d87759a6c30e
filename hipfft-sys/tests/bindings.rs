//! The bindings are held to C's headers, to AMD's packages and to the real libraries; a missing library or function is
//! a status.

#[rustfmt::skip]
mod generated;

sys_testing::bindings! {
    hipfft_sys, "hipfft", generated;
    hipfftGetVersion(&mut 0) => HIPFFT_INTERNAL_ERROR, HIPFFT_NOT_IMPLEMENTED;
}
