//! Compares the bindings with C's headers, AMD's packages and the real libraries; a missing library or function gives a
//! status.

#[rustfmt::skip]
mod generated;

sys_testing::bindings! {
    hiprand_sys, "hiprand", generated;
    hiprandGetVersion(&mut 0) => HIPRAND_STATUS_INITIALIZATION_FAILED, HIPRAND_STATUS_NOT_IMPLEMENTED;
}
