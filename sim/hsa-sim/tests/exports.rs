//! Compares the exports of the shared library with those of the real libraries.
#![cfg(target_os = "linux")]

mod support;

use std::collections::BTreeSet;
use std::path::Path;

use object::{Object as _, ObjectSymbol as _};

const RELEASES: [(&str, &str); 3] =
    [("7.2", "libamdhip64.so.7"), ("6.4", "libamdhip64.so.6"), ("5.7", "libamdhip64.so.5")];

/// The dynamic symbols of a library that start with `hsa_`: the defined ones, or the undefined ones.
fn symbols(path: &Path, defined: bool) -> BTreeSet<String> {
    let data = std::fs::read(path).unwrap();
    let file = object::File::parse(&*data).unwrap();
    let names = file.dynamic_symbols().filter(|symbol| symbol.is_definition() == defined);
    let names = names.filter_map(|symbol| symbol.name().ok().map(str::to_owned));
    names.filter(|name| name.starts_with("hsa_")).collect()
}

#[test]
fn every_function_is_in_the_library_once() {
    let ours = symbols(support::library(), true);
    let listed: BTreeSet<String> = hsa_sim::EXPORTS.iter().map(|export| export.name.to_owned()).collect();
    assert_eq!(ours, listed);
    assert_eq!(listed.len(), hsa_sim::EXPORTS.len());
}

#[test]
fn symbols_have_the_version_that_rocm_asks_for() {
    // SAFETY: loading it starts nothing.
    let library = unsafe { libloading::os::unix::Library::open(Some(support::library()), libc::RTLD_NOW) }.unwrap();
    // SAFETY: the library stays open for the call; both strings end with a zero.
    let symbol = unsafe { libc::dlvsym(library.into_raw(), c"hsa_init".as_ptr(), c"ROCR_1".as_ptr()) };
    assert!(!symbol.is_null());
}

#[test]
fn no_function_of_the_real_libraries_is_missing() {
    let ours = symbols(support::library(), true);
    for (release, hip) in RELEASES {
        let Some(folder) = support::libraries(release, &["libhsa-runtime64.so.1", hip]) else { continue };
        let missing: Vec<_> = symbols(&folder.join("libhsa-runtime64.so.1"), true).difference(&ours).cloned().collect();
        assert_eq!(missing, [""; 0], "exported by that of ROCm {release}");
        let needed: Vec<_> = symbols(&folder.join(hip), false).difference(&ours).cloned().collect();
        assert_eq!(needed, [""; 0], "needed by {hip}");
    }
}
