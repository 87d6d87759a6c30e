//! Compares the bindings with C's headers, AMD's packages and the real libraries; a missing library or function gives a
//! status.

#[rustfmt::skip]
mod generated;

sys_testing::bindings! {
    amdsmi_sys, "amdsmi", generated;
    amdsmi_shut_down() => AMDSMI_STATUS_FAIL_LOAD_MODULE, AMDSMI_STATUS_FAIL_LOAD_SYMBOL;
}
