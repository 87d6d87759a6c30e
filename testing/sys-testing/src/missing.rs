//! Calls without the library, and with one that lacks the function. The location of ROCm is decided once per process,
//! so run each in a separate one ([`crate::child`]).

use std::ffi::{CStr, CString};
use std::path::Path;
use std::process::Command;

use rocm_loader::{Binding, Error, Search, set_search};

/// Checks that `call` works without a library, and that the binding reports what was tried.
///
/// # Panics
/// Panics if not.
pub fn no_library(binding: &'static Binding, call: impl FnOnce()) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    set_search(Search::nowhere().root(folder.path())).expect("nothing was looked for yet");
    call();
    let error = binding.check().expect_err("there is no library").to_string();
    let tried = folder.path().join("lib");
    assert!(error.contains(&*tried.to_string_lossy()), "{error}");
}

/// Checks that `call` of `function` works with a library that lacks it, and that its error names the library and the
/// release.
///
/// # Panics
/// Panics if not.
pub fn no_function(
    binding: &'static Binding,
    function: &str,
    call: impl FnOnce(),
    symbol_error: impl FnOnce(&CStr) -> Option<Error>,
) {
    let root = tempfile::tempdir().expect("a temporary folder");
    let folder = root.path().join("lib");
    std::fs::create_dir(&folder).expect("a folder");
    let file = binding.spec().sonames().first().map_or(binding.spec().unversioned(), |soname| soname.file);
    compile("int nothing_of_note;", &folder.join(file));
    set_search(Search::nowhere().root(root.path())).expect("nothing was looked for yet");
    call();
    assert!(binding.check().is_ok(), "{:?}", binding.check());
    let name = CString::new(function).expect("a name");
    assert!(!binding.has(&name));
    let error = symbol_error(&name).expect("the function is missing").to_string();
    assert!(error.contains(function) && error.contains(file), "{error}");
}

/// Compiles C code to a shared library.
///
/// # Panics
/// Panics if there is no C compiler or the code does not compile.
pub fn compile(source: &str, library: &Path) {
    let file = library.with_extension("c");
    std::fs::write(&file, source).expect("a file");
    let soname = library.file_name().expect("a file name").to_string_lossy();
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let status = Command::new(compiler)
        .args(["-shared", "-fPIC", &format!("-Wl,-soname,{soname}"), "-o"])
        .args([library, &file])
        .status()
        .expect("a C compiler");
    assert!(status.success());
}
