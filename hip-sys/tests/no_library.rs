//! A machine without ROCm: calls answer 303, null or -1, and what was tried can be asked for.

use hip_sys::*;

#[test]
fn calls_answer_and_nothing_panics() {
    let folder = tempfile::tempdir().unwrap();
    rocm_sdk::set_search(rocm_sdk::Search::nowhere().root(folder.path())).unwrap();

    let mut count = -7;
    // SAFETY: `count` is valid for the write.
    let status = unsafe { hipGetDeviceCount(&mut count) };
    assert_eq!((status, status.0, count), (hipErrorSharedObjectInitFailed, 303, -7));
    // SAFETY: takes no pointers.
    unsafe {
        assert!(hipGetErrorName(hipSuccess).is_null());
        assert_eq!(hipGetStreamDeviceId(std::ptr::null_mut()), -1);
        let channels = hipCreateChannelDesc(8, 8, 8, 8, hipChannelFormatKindUnsigned);
        assert_eq!((channels.x, channels.y, channels.z, channels.w), (0, 0, 0, 0));
    }
    assert!(!has(c"hipGetDeviceCount"));

    let error = load_error().expect("there is no library").to_string();
    let tried = folder.path().join("lib");
    assert!(error.contains(&*tried.to_string_lossy()), "{error}");
    assert_eq!(symbol_error(c"hipGetDeviceCount").unwrap().to_string(), error);
}
