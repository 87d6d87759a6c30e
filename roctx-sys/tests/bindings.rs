//! Compares the bindings with C's headers, AMD's packages and the real libraries; a missing library or function gives a
//! status.

#[rustfmt::skip]
mod generated;

sys_testing::bindings! {
    roctx_sys, "roctx", generated;
    roctxRangePop() => -1, -1;
}
