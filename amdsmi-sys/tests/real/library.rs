// Tests of one level, whose module is imported as `sys`.

use sys::*;
use sys_testing::child::{run_with_libraries, tree};

/// AMD SMI does not load without the other files.
const FILES: &[&str] = match API_LEVEL.0 {
    ..=5 => &["libamd_smi.so.0"],
    _ => &["libamd_smi.so.27", "libe_smi64.so.1", "libnl-3.so.200", "libnl-genl-3.so.200", "libmnl.so.0"],
};

fn run_in_child(test: &str) -> bool {
    run_with_libraries(&format!("{}::{test}", module_path!()), tree(API_LEVEL), FILES)
}

#[test]
fn calls_go_through() {
    if run_in_child("calls_go_through") {
        return;
    }
    let mut count = u32::MAX;
    // SAFETY: `count` is valid for the write, and null requests only the count.
    let status = unsafe { amdsmi_get_socket_handles(&mut count, std::ptr::null_mut()) };
    assert_eq!((status, count), (AMDSMI_STATUS_NOT_INIT, u32::MAX));
    assert!(load_error().is_none(), "{:?}", load_error());
}
