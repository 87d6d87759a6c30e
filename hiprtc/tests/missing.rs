//! HIPRTC without the compiler behind it: an error where the C function would end the process.

#![cfg(unix)]

mod common;

use common::{Without, compiler_or_skip, library, skipped};
use hiprtc::{Error, Origin, Program};

const SCALE: &str = r#"extern "C" __global__ void scale(float *x, float by) { x[threadIdx.x] *= by; }"#;

/// The child's part: it must not crash, and prints the error.
#[test]
#[ignore = "run by the tests below"]
fn child() {
    let error = Program::new("scale.hip", SCALE).arch("gfx90a").compile().unwrap_err();
    assert!(error.is_unavailable());
    println!("CHILD: {error}");
    let file = hiprtc::BundleWriter::new().add("gfx90a".parse().unwrap(), b"shipped").to_bytes();
    let code = hiprtc::compile_or_bundle(&Program::new("scale.hip", SCALE).arch("gfx90a"), &file).unwrap();
    assert_eq!(code.as_bytes(), b"shipped");
    assert!(matches!(code.origin(), Origin::Bundle(_)));
}

fn without(test: &str, hide: &[&str], wanted: &[&str]) {
    if !compiler_or_skip(test) {
        return;
    }
    let Some(library) =
        library().filter(|path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("libhiprtc")))
    else {
        skipped(&"HIPRTC is inside the HIP runtime here, which links Comgr");
        return;
    };
    let (passed, text) = Without::new(&library, hide).run("child");
    assert!(passed && text.contains("1 passed"), "{text}");
    for part in wanted {
        assert!(text.contains(part), "no {part} in:\n{text}");
    }
}

#[test]
fn a_missing_comgr_is_an_error() {
    without("a_missing_comgr_is_an_error", &["libamd_comgr"], &["CHILD: HIPRTC (", "libamd_comgr.so"]);
}

#[test]
fn a_missing_llvm_is_an_error_that_names_it() {
    without(
        "a_missing_llvm_is_an_error_that_names_it",
        &["libLLVM"],
        &["CHILD: HIPRTC (", "libamd_comgr.so", "libLLVM"],
    );
}

#[test]
fn a_missing_hiprtc_is_an_error_that_names_it() {
    // Independent of this machine: a search without places finds nothing.
    let error = rocm_loader::Search::nowhere().open(&rocm_loader::libraries::HIPRTC).unwrap_err();
    let error = Error::NoHiprtc(Box::new(error));
    assert!(error.is_unavailable());
    assert!(error.to_string().contains("hiprtc"), "{error}");
}
