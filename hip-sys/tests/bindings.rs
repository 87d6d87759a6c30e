//! Compares the bindings with C's headers, AMD's packages and the real libraries; a missing library or function gives a
//! status.

#[rustfmt::skip]
mod generated;

sys_testing::bindings! {
    hip_sys, "hip", generated;
    hipGetDeviceCount(&mut 0) => hipErrorSharedObjectInitFailed, hipErrorSharedObjectSymbolNotFound;
}
