// Tests of one level, whose module is imported as `sys`.

use std::ffi::CStr;

use sys::*;
use sys_testing::child::{run_with_libraries, tree};

/// The library of each release.
const FILE: &str = match API_LEVEL.0 {
    ..=5 => "libamdhip64.so.5",
    6 => "libhiprtc.so.6",
    _ => "libhiprtc.so.7",
};

fn run_in_child(test: &str) -> bool {
    run_with_libraries(&format!("{}::{test}", module_path!()), tree(API_LEVEL), &[FILE])
}

#[test]
fn results_have_the_names_that_the_library_gives_them() {
    if run_in_child("results_have_the_names_that_the_library_gives_them") {
        return;
    }
    assert!(load_error().is_none(), "{:?}", load_error());
    let mut named = 0;
    for value in 0..200 {
        let ours = format!("{:?}", hiprtcResult(value));
        if !ours.starts_with("hiprtcResult(") {
            named += 1;
            // SAFETY: takes no pointer, returns a static string.
            let theirs = unsafe { CStr::from_ptr(hiprtcGetErrorString(hiprtcResult(value))) };
            assert_eq!(ours, theirs.to_str().unwrap());
        }
    }
    assert_eq!(named, 13);
}

#[test]
fn calls_go_through() {
    if run_in_child("calls_go_through") {
        return;
    }
    let (mut major, mut minor) = (0, 0);
    // SAFETY: both are valid for the write.
    assert_eq!(unsafe { hiprtcVersion(&mut major, &mut minor) }, HIPRTC_SUCCESS);
    assert!(major >= 5, "{major}.{minor}");
    // SAFETY: a null destination is an error that HIPRTC reports.
    assert_eq!(unsafe { hiprtcVersion(std::ptr::null_mut(), &mut minor) }, HIPRTC_ERROR_INVALID_INPUT);
}

/// Compiles a program with a header of its own, options and a log, for a GPU that is not installed; and a wrong
/// program.
#[test]
fn a_kernel_is_compiled() {
    if run_in_child("a_kernel_is_compiled") {
        return;
    }
    let source = c"#include \"value.h\"\nextern \"C\" __global__ void store(int *to) { *to = VALUE; }\n";
    let (status, log, code) = compile(source, c"#define VALUE 42\n");
    assert_eq!(status, HIPRTC_SUCCESS, "{log}");
    // An ELF file, or a bundle of several.
    assert!(code.starts_with(b"\x7fELF") || code.starts_with(b"__CLANG_OFFLOAD_BUNDLE__"), "{:x?}", &code[..16]);
    assert!(code.windows(9).any(|name| name == b"store.kd\0"));

    let (status, log, _) = compile(source, c"#define VALUE undeclared\n");
    assert_eq!(status, HIPRTC_ERROR_COMPILATION);
    assert!(log.contains("undeclared identifier 'undeclared'"), "{log}");
}

/// Returns the status of the compilation, the log and the code.
fn compile(source: &CStr, header: &CStr) -> (hiprtcResult, String, Vec<u8>) {
    let mut program = std::ptr::null_mut();
    let mut headers = [header.as_ptr()];
    let mut names = [c"value.h".as_ptr()];
    let mut options = [c"--offload-arch=gfx90a".as_ptr()];
    let (mut log, mut code, mut size) = (Vec::new(), Vec::new(), 0);
    // SAFETY: strings are C strings, counts are those of the arrays, vectors have the sizes that HIPRTC requests, and the program lives
    // until it is destroyed.
    unsafe {
        let name = c"store.hip".as_ptr();
        let made = hiprtcCreateProgram(
            &mut program,
            source.as_ptr(),
            name,
            1,
            headers.as_mut_ptr().cast(),
            names.as_mut_ptr().cast(),
        );
        assert_eq!(made, HIPRTC_SUCCESS);
        let status = hiprtcCompileProgram(program, 1, options.as_mut_ptr().cast());
        assert_eq!(hiprtcGetProgramLogSize(program, &mut size), HIPRTC_SUCCESS);
        if size > 0 {
            log.resize(size, 0_u8);
            assert_eq!(hiprtcGetProgramLog(program, log.as_mut_ptr().cast()), HIPRTC_SUCCESS);
        }
        if status == HIPRTC_SUCCESS {
            assert_eq!(hiprtcGetCodeSize(program, &mut size), HIPRTC_SUCCESS);
            code.resize(size, 0_u8);
            assert_eq!(hiprtcGetCode(program, code.as_mut_ptr().cast()), HIPRTC_SUCCESS);
        }
        assert_eq!(hiprtcDestroyProgram(&mut program), HIPRTC_SUCCESS);
        (status, String::from_utf8_lossy(&log).into_owned(), code)
    }
}
