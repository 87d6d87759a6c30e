//! A machine without ROCm: calls answer with a status or null, and what was tried can be asked for.

use hiprtc_sys::*;

#[test]
fn calls_answer_and_nothing_panics() {
    let folder = tempfile::tempdir().unwrap();
    rocm_sdk::set_search(rocm_sdk::Search::nowhere().root(folder.path())).unwrap();

    let (mut major, mut minor) = (-7, -7);
    // SAFETY: both are valid for the write.
    let status = unsafe { hiprtcVersion(&mut major, &mut minor) };
    assert_eq!((status, major, minor), (HIPRTC_ERROR_INTERNAL_ERROR, -7, -7));
    // SAFETY: takes no pointers.
    assert!(unsafe { hiprtcGetErrorString(HIPRTC_SUCCESS) }.is_null());
    assert!(!has(c"hiprtcVersion"));

    let error = load_error().expect("there is no library").to_string();
    let tried = folder.path().join("lib");
    assert!(error.contains(&*tried.to_string_lossy()), "{error}");
    assert_eq!(symbol_error(c"hiprtcVersion").unwrap().to_string(), error);
}
