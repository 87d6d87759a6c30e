//! Compares the bindings with C's headers, AMD's packages and the real libraries; a missing library or function gives a
//! status.

#[rustfmt::skip]
mod generated;

sys_testing::bindings! {
    hipfft_sys, "hipfft", generated;
    hipfftGetVersion(&mut 0) => HIPFFT_INTERNAL_ERROR, HIPFFT_NOT_IMPLEMENTED;
}
