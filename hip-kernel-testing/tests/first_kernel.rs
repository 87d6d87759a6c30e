//! The page "Your first kernel in Rust" works as pasted.

use std::path::{Path, PathBuf};
use std::process::Command;

use hip_kernel_build::Toolchain;

const PAGE: &str = include_str!("../../hip-kernel/FIRST_KERNEL.md");

/// The code blocks of a language, each with the text before it.
fn blocks(language: &str) -> Vec<(&'static str, &'static str)> {
    let mut found = Vec::new();
    let mut rest = PAGE;
    while let Some((before, block)) = rest.split_once("\n```") {
        let (kind, block) = block.split_once('\n').unwrap();
        let (code, after) = block.split_once("\n```").unwrap();
        if kind == language {
            found.push((before, code));
        }
        rest = after;
    }
    found
}

/// Runs a line of the page, in a folder.
fn shell(line: &str, folder: &Path, environment: &[(&str, &str)]) -> (String, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    // The program of an earlier test run is built anew only where something changed.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("first-kernel");
    let mut command = Command::new("sh");
    command.args(["-ec", &line.replace("../rocm-for-rust", root.to_str().unwrap())]).current_dir(folder);
    command.env("CARGO_TARGET_DIR", target).env("CARGO_NET_OFFLINE", "true").env("HIP_RS_BACKEND", "sim");
    command.env_remove("HIP_KERNEL_BUILD").env_remove("RUSTFLAGS").envs(environment.iter().copied());
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{line}:\n{}{}", text(&output.stdout), text(&output.stderr));
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_page_works_as_pasted() {
    if let Err(why) = Toolchain::find() {
        println!("SKIPPED: kernels in Rust cannot be built here: {why}");
        return;
    }
    let empty = tempfile::tempdir().unwrap();
    let [(_, setup), (_, run)] = blocks("sh")[..] else { panic!("the page has other commands") };
    // What a user's network is for: rustup, and the versions that the workspace's lock file has.
    let lines: Vec<_> = setup.lines().filter(|line| !line.starts_with("rustup ")).collect();
    assert_eq!(lines.len() + 1, setup.lines().count(), "rustup is called once");
    shell(lines[0].split(" && ").next().unwrap(), empty.path(), &[]);
    let package = empty.path().join("twice");
    std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock"), package.join("Cargo.lock")).unwrap();
    lines[1..].iter().for_each(|line| drop(shell(line, &package, &[])));
    let files = blocks("rust,ignore");
    assert_eq!(files.len(), 3);
    for (before, code) in files {
        // The last name before the block: "Create `src/kernels.rs`:".
        let name = before.trim_end().trim_end_matches("`:").rsplit('`').next().unwrap();
        assert!(name.ends_with(".rs") && code.lines().count() < 25, "{name}");
        std::fs::write(package.join(name), code).unwrap();
    }
    assert!(std::fs::read_to_string(package.join("build.rs")).unwrap().lines().count() <= 5);

    let [(_, expected)] = blocks("text")[..] else { panic!("the page has other output") };
    let (out, _) = shell(run, &package, &[]);
    assert_eq!(out.trim_end(), expected);
    // Where there is no compiler, the bundle that was written is taken, and Cargo says so.
    let bundle: PathBuf = package.join("kernels.hipfb");
    assert!(bundle.is_file());
    let (out, err) = shell("cargo run", &package, &[("HIP_KERNEL_RUSTC", "/nowhere/rustc")]);
    assert_eq!(out.trim_end(), expected);
    assert!(err.contains("warning: twice@0.1.0: src/kernels.rs: taken from kernels.hipfb (/nowhere/rustc: "), "{err}");
}
