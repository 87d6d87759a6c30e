//! `ROCM_PATH` and `HIP_PATH` that name no installation are reported in one line on stderr, once per process.
#![cfg(target_os = "linux")]

mod support;

use std::process::Command;

use rocm_loader::{Binding, Scope, Search, libraries, preload};
use support::{CHILD, Tree, is_child};

static HIP: Binding = Binding::new(&libraries::AMDHIP64);
static BLAS: Binding = Binding::new(&libraries::HIPBLAS);

/// Returns the warnings of a program that uses two libraries, through a binding and directly, from several threads.
fn warnings(test: &str, variables: &[(&str, &str)]) -> Vec<String> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env_remove("ROCM_PATH").env_remove("HIP_PATH").env(CHILD, "1").envs(variables.iter().copied());
    let output = command.args(["--exact", test, "--nocapture"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    said.lines().filter(|line| line.contains("warning")).map(str::to_owned).collect()
}

#[test]
fn a_wrong_variable_is_told_once() {
    const TEST: &str = "a_wrong_variable_is_told_once";
    if is_child() {
        std::thread::scope(|scope| {
            for n in 0..4 {
                scope.spawn(move || if n % 2 == 0 { HIP.check().is_ok() } else { BLAS.check().is_ok() });
            }
        });
        let _ = preload("amd_comgr", Scope::Local);
        return;
    }
    let tree = Tree::new();
    tree.stub("good/lib/libamdhip64.so.7", "libamdhip64.so.7", 1);
    tree.write("empty/lib/libc.so", "");
    tree.write("file", "");
    tree.write("compiler/bin/hipcc", "");
    let at = |name: &str| tree.path(name).display().to_string();
    let (good, missing, file) = (at("good"), at("missing"), at("file"));
    for right in [&good, &at("compiler"), &format!("{good}/")] {
        assert_eq!(warnings(TEST, &[("ROCM_PATH", right)]), [""; 0], "{right}");
    }
    assert_eq!(warnings(TEST, &[]), [""; 0]);
    let wrong = [
        (missing.clone(), "not found; set it"),
        ("rocm".to_owned(), "rejected: a relative path; set it"),
        (format!("{good} "), "not found; remove the white space"),
        (file, "not a directory; set it"),
        (format!("{good}:{missing}"), "not found; name one directory, such as"),
        (at("empty"), "contains nothing of ROCm; set it"),
    ];
    for (value, why) in &wrong {
        for name in ["ROCM_PATH", "HIP_PATH"] {
            let [said] = &warnings(TEST, &[(name, value)])[..] else { panic!("{value}") };
            assert!(said.starts_with(&format!("rocm-loader: warning: {name}={value:?} is ignored: {why}")), "{said}");
        }
    }
    let [said] = &warnings(TEST, &[("ROCM_PATH", ""), ("HIP_PATH", &good)])[..] else { panic!() };
    assert!(said.contains("ROCM_PATH is empty and is ignored"), "{said}");
    assert_eq!(warnings(TEST, &[("ROCM_PATH", &missing), ("HIP_PATH", "x\ny")]).len(), 2, "a line each");
}

#[test]
fn searches_that_read_no_variable_have_none_that_is_wrong() {
    let wrong = |name: &str| (name == "ROCM_PATH").then(|| "/no/such".into());
    let search = Search::nowhere().environment(wrong);
    assert_eq!(search.wrong_variables().len(), 1);
    assert_eq!(search.clone().set_uid(true).wrong_variables(), []);
    assert_eq!(search.without_environment().wrong_variables(), []);
    assert_eq!(Search::nowhere().root("/no/such").wrong_variables(), []);
}
