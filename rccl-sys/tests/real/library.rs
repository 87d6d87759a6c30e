// Tests of one level, whose module is imported as `sys`.

use std::collections::BTreeMap;
use std::ffi::CStr;

use sys::*;
use sys_testing::child::{run_with_libraries, tree};

/// RCCL does not load without ROCm SMI.
const FILES: &[&str] = match API_LEVEL.0 {
    ..=5 => &["librccl.so.1", "librocm_smi64.so.1"],
    _ => &["librccl.so.1", "librocm_smi64.so.7"],
};

fn run_in_child(test: &str) -> bool {
    run_with_libraries(&format!("{}::{test}", module_path!()), tree(API_LEVEL), FILES)
}

fn text(result: ncclResult_t) -> String {
    // SAFETY: takes no pointer, returns a static string.
    unsafe { CStr::from_ptr(ncclGetErrorString(result)) }.to_str().unwrap().to_owned()
}

#[test]
fn version_is_that_of_the_headers() {
    if run_in_child("version_is_that_of_the_headers") {
        return;
    }
    let mut version = 0;
    // SAFETY: `version` is valid for the write; null is an error that RCCL reports.
    unsafe {
        assert_eq!(ncclGetVersion(&mut version), ncclSuccess);
        assert_eq!(ncclGetVersion(std::ptr::null_mut()), ncclInvalidArgument);
    }
    if API_LEVEL_NAME == tree(API_LEVEL) {
        assert_eq!(version, i32::try_from(NCCL_VERSION_CODE).unwrap());
    }
    assert_eq!(version / 10_000, i32::try_from(NCCL_MAJOR).unwrap());
}

/// Each result of the headers has its own text; other values have that of an unknown error.
#[test]
fn results_have_texts() {
    if run_in_child("results_have_texts") {
        return;
    }
    let unknown = text(ncclResult_t(9999));
    assert_eq!(unknown, "unknown result code");
    // The library may belong to another release and lack some results.
    let known = if API_LEVEL.0 < 10 { ncclNumResults } else { ncclResult_t(8) };
    let mut texts = BTreeMap::new();
    for value in 0..known.0 {
        let result = ncclResult_t(value);
        assert!(!format!("{result:?}").starts_with("ncclResult_t("), "{value} has no name");
        assert_eq!(texts.insert(text(result), result), None);
    }
    assert!(!texts.contains_key(&unknown), "{texts:?}");
    assert_eq!(text(known), unknown);
    assert_eq!(text(ncclSuccess), "no error");
    assert!(text(ncclInvalidUsage).starts_with("invalid usage"));
}

/// A struct of 128 bytes is written through a pointer, and nothing beyond it; without a GPU RCCL does not start, and
/// reports that.
#[test]
fn unique_ids_are_unique() {
    if run_in_child("unique_ids_are_unique") {
        return;
    }
    // SAFETY: no other thread of this process reads the environment.
    unsafe { std::env::set_var("NCCL_SOCKET_IFNAME", "lo") };
    let mut ids = [ncclUniqueId::default(); 3];
    // SAFETY: each is valid for the write.
    let results = unsafe { [ncclGetUniqueId(&mut ids[0]), ncclGetUniqueId(&mut ids[1])] };
    let empty = [0; 128];
    if results == [ncclSuccess; 2] {
        assert!(ids[0].internal != empty && ids[0].internal != ids[1].internal);
    } else {
        assert_eq!(results, [ncclUnhandledCudaError; 2]);
        assert_eq!([ids[0].internal, ids[1].internal], [empty; 2]);
        // SAFETY: null requests the last error of the process instead of a communicator's.
        assert!(!unsafe { CStr::from_ptr(ncclGetLastError(std::ptr::null_mut())) }.is_empty());
    }
    assert_eq!(ids[2].internal, empty);
}
