// Tests of one level, whose module is imported as `sys`.

use sys::*;
use sys_testing::child::{run_with_libraries, tree};

fn run_in_child(test: &str) -> bool {
    run_with_libraries(&format!("{}::{test}", module_path!()), tree(API_LEVEL), &["libroctx64.so.4"])
}

#[test]
fn version_is_that_of_the_headers() {
    if run_in_child("version_is_that_of_the_headers") {
        return;
    }
    // SAFETY: neither takes arguments.
    let version = unsafe { (roctx_version_major(), roctx_version_minor()) };
    assert_eq!(version, (ROCTX_VERSION_MAJOR, ROCTX_VERSION_MINOR));
}

/// Push and pop return the nesting depth of the thread's ranges; in the end there is none left to pop.
#[test]
fn ranges_nest() {
    if run_in_child("ranges_nest") {
        return;
    }
    // SAFETY: the strings are C strings.
    unsafe {
        roctxMarkA(c"mark".as_ptr());
        assert_eq!([c"a", c"b", c"c"].map(|name| roctxRangePushA(name.as_ptr())), [0, 1, 2]);
        // Another thread has its own ranges.
        assert_eq!(std::thread::spawn(|| roctxRangePushA(c"d".as_ptr())).join().unwrap(), 0);
        assert_eq!([(); 3].map(|()| roctxRangePop()), [2, 1, 0]);
        assert!(roctxRangePop() < 0);
    }
}

/// Process-wide ranges have different identifiers, and may end in any order.
#[test]
fn ranges_of_the_process_are_told_apart() {
    if run_in_child("ranges_of_the_process_are_told_apart") {
        return;
    }
    // SAFETY: the strings are C strings.
    unsafe {
        let (first, second) = (roctxRangeStartA(c"first".as_ptr()), roctxRangeStartA(c"second".as_ptr()));
        assert_ne!(first, second);
        roctxRangeStop(first);
        roctxRangeStop(second);
    }
}
