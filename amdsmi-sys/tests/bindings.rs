//! The bindings are held to C's headers, to AMD's packages and to the real libraries; a missing library or function is
//! a status.

#[rustfmt::skip]
mod generated;

sys_testing::bindings! {
    amdsmi_sys, "amdsmi", generated;
    amdsmi_shut_down() => AMDSMI_STATUS_FAIL_LOAD_MODULE, AMDSMI_STATUS_FAIL_LOAD_SYMBOL;
}
