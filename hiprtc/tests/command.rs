//! The command `hiprtc-compile`, with a real HIPRTC if available.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::compiler_or_skip;
use hiprtc::Bundle;

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/ahead_of_time/kernels").join(name)
}

/// Runs the command as this test was started, which may be through a release's loader.
fn compile(arguments: &[&str]) -> Output {
    let mut words = common::runner();
    words.push(env!("CARGO_BIN_EXE_hiprtc-compile").into());
    Command::new(&words[0]).args(&words[1..]).args(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn a_bundle_and_its_declarations_are_written() {
    if !compiler_or_skip("a_bundle_and_its_declarations_are_written") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let source = example("blur.hip");
    let arguments = [source.to_str().unwrap(), "--arch", "gfx90a,gfx942", "-o", &at("a.hipfb"), "--compiler", "hiprtc"];
    let output = compile(&[&arguments[..], &["--rust", &at("a.rs"), "-DUNUSED=1", "--", "-O2"]].concat());
    assert!(output.status.success(), "{}", text(&output));
    assert!(text(&output).contains("for gfx90a, gfx942, by HIPRTC"), "{}", text(&output));
    let bytes = std::fs::read(at("a.hipfb")).unwrap();
    let architectures = Bundle::parse(&bytes).unwrap().architectures();
    assert_eq!(architectures, ["gfx90a", "gfx942"].map(|arch| arch.parse().unwrap()));
    let rust = std::fs::read_to_string(at("a.rs")).unwrap();
    assert!(rust.contains("fn \"blur\"") && rust.contains("include_bytes!(\"a.hipfb\")"), "{rust}");
    // A failed compilation leaves the bundle unchanged.
    std::fs::write(at("bad.hip"), "nonsense").unwrap();
    let output = compile(&[&at("bad.hip"), "--arch", "gfx90a", "-o", &at("a.hipfb"), "--compiler", "hiprtc"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).starts_with("ERROR: ") && text(&output).contains("bad.hip:1:1"), "{}", text(&output));
    assert_eq!(std::fs::read(at("a.hipfb")).unwrap(), bytes);
}

#[test]
fn what_cannot_be_compiled_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(at("a.hipfb"), "int a;").unwrap();
    for (arguments, part) in [
        (vec![at("none.hip"), "--arch".into(), "gfx90a".into()], "none.hip"),
        (vec![at("a.hipfb"), "--arch".into(), "gfx90a".into()], "would replace the source"),
        (vec![at("a.hipfb"), "--arch".into(), "sm_90".into(), "-o".into(), at("b")], "sm_90"),
        (vec![at("a.hipfb"), "--arch".into(), "gfx90a".into(), "-o".into(), at("b"), "--rust-type=x".into()], "C=RUST"),
    ] {
        let output = compile(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        assert!(text(&output).starts_with("ERROR: ") && text(&output).contains(part), "{part}: {}", text(&output));
    }
    assert_eq!(compile(&["a.hip"]).status.code(), Some(2), "without architectures");
    assert!(text(&compile(&["--help"])).contains("hiprtc-compile scale.hip --arch gfx90a,gfx942"));
}
