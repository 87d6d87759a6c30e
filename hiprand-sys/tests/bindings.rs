//! The bindings are held to C's headers, to AMD's packages and to the real libraries; a missing library or function is
//! a status.

#[rustfmt::skip]
mod generated;

sys_testing::bindings! {
    hiprand_sys, "hiprand", generated;
    hiprandGetVersion(&mut 0) => HIPRAND_STATUS_INITIALIZATION_FAILED, HIPRAND_STATUS_NOT_IMPLEMENTED;
}
