//! Errors on a machine without an AMD GPU, in a build without the software GPU.
#![cfg(not(feature = "sim"))]

use std::io::Write as _;

use hip::{Backend, Device, Error, Status};

#[test]
fn no_gpu_is_an_error_that_says_what_was_tried_and_what_to_do() {
    let error = match Device::get(0) {
        Ok(device) => {
            let _ = writeln!(std::io::stdout(), "SKIPPED: there is a GPU, {device}");
            return;
        }
        Err(error) => error,
    };
    let text = error.to_string();
    assert!(error.is_no_gpu(), "{text}");
    assert!(text.contains("HIP_RS_BACKEND=sim") && text.contains("feature `sim`"), "{text}");
    match error.status() {
        // No library: the error lists every path that was tried.
        Some(Status::LIBRARY_NOT_FOUND) => {
            assert!(text.contains("libamdhip64.so") && text.contains("/opt/rocm"), "{text}");
            assert!(text.contains("rocm-sdk doctor") && text.contains("set ROCM_PATH"), "{text}");
            assert!(text.contains("rocm-sdk install"), "{text}");
        }
        Some(Status::NO_DEVICE) => assert!(text.contains("/dev/kfd"), "{text}"),
        other => panic!("{other:?}: {text}"),
    }
    // The second time, too.
    assert_eq!(Device::count().unwrap_err().to_string(), text);
    assert!(Device::all().is_err() && Device::current().is_err() && hip::runtime_version().is_err());
}

#[test]
fn the_software_gpu_cannot_be_chosen_in_a_build_without_it() {
    if let Err(error) = hip::select_backend(Backend::Sim) {
        assert!(matches!(error, Error::NoSim | Error::BackendInUse { .. }), "{error}");
    } else {
        panic!("there is no software GPU in this build");
    }
    if let Err(error) = hip::sim_if_no_gpu() {
        assert!(error.is_no_gpu() || matches!(error, Error::Version { .. }), "{error}");
    }
}

#[test]
fn a_backend_of_another_name_is_refused() {
    const CHILD: &str = "HIP_TEST_CHILD";
    if std::env::var_os(CHILD).is_none() {
        let program = std::env::current_exe().unwrap();
        if program.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ld-linux")) {
            let _ = writeln!(std::io::stdout(), "SKIPPED: run by another loader, which a child process would not be");
            return;
        }
        let output = std::process::Command::new(program)
            .args(["--exact", "a_backend_of_another_name_is_refused"])
            .env(CHILD, "1")
            .env("HIP_RS_BACKEND", "metal")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    for error in [Device::count().unwrap_err(), hip::backend().unwrap_err(), hip::sim_if_no_gpu().unwrap_err()] {
        assert!(matches!(&error, Error::UnknownBackend(name) if name == "metal"), "{error}");
    }
    // A choice in code takes precedence over the variable.
    hip::select_backend(Backend::Rocm).unwrap();
    assert_eq!(hip::backend().unwrap(), Backend::Rocm);
}
