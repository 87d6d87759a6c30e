//! Misuse of `llvm`, `clang` and `comgr` that must not compile. The expected messages are those of one compiler.

use std::io::Write as _;
use std::process::Command;

/// The compiler whose messages are in `tests/misuse/*.stderr`.
const COMPILER: &str = "rustc 1.95.";

#[test]
fn misuse_does_not_compile() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version =
        Command::new(rustc).arg("--version").output().map(|o| String::from_utf8_lossy(&o.stdout).into_owned());
    match version {
        Ok(version) if version.starts_with(COMPILER) => {}
        other => {
            let _ = writeln!(std::io::stdout(), "SKIPPED: the messages are those of {COMPILER}*, this is {other:?}");
            return;
        }
    }
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/misuse/llvm_*.rs");
    cases.compile_fail("tests/misuse/clang_*.rs");
    cases.compile_fail("tests/misuse/comgr_*.rs");
}
