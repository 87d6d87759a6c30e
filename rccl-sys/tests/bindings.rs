//! The bindings are held to C's headers, to AMD's packages and to the real libraries; a missing library or function is
//! a status.

#[rustfmt::skip]
mod generated;

sys_testing::bindings! {
    rccl_sys, "rccl", generated;
    ncclGetVersion(&mut 0) => ncclSystemError, ncclInvalidUsage;
}
