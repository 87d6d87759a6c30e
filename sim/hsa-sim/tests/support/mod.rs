//! Runs a test again in a process that has a release's real ROCm libraries, with our `libhsa-runtime64.so.1` instead of
//! theirs.
#![allow(dead_code)]

pub(crate) mod libraries;
pub(crate) mod numbers;
pub(crate) mod peer;
pub(crate) mod scalar;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Set to the release in such a process.
const INSIDE: &str = "HSA_SIM_TEST_RELEASE";

/// Reports a skipped test, bypassing libtest's capture.
pub(crate) fn skipped(why: &dyn std::fmt::Display) {
    let _ = writeln!(std::io::stdout(), "SKIPPED: {why}");
}

/// The fetched ROCm trees.
pub(crate) fn trees() -> PathBuf {
    match std::env::var_os("ROCM_RS_TREES") {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/rocm"),
    }
}

/// The folder of a release's libraries, if it has all of these.
pub(crate) fn libraries(release: &str, files: &[&str]) -> Option<PathBuf> {
    let folder = trees().join(release).join("usr/lib/x86_64-linux-gnu");
    match ["ld-linux-x86-64.so.2"].iter().chain(files).find(|file| !folder.join(file).exists()) {
        None => Some(folder),
        Some(file) => {
            skipped(&format_args!("no {file} of ROCm {release} (cargo xtask rocm fetch {release} --with LIBRARY)"));
            None
        }
    }
}

/// A folder with our library under its real name.
pub(crate) fn library_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let name = folder.path().join("libhsa-runtime64.so.1");
    std::os::unix::fs::symlink(library(), name).expect("a link");
    folder
}

/// Our library in Cargo's target directory.
pub(crate) fn library() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_libhsa-runtime64"))
}

/// The release in such a process.
pub(crate) fn inside() -> Option<String> {
    std::env::var(INSIDE).ok()
}

/// Runs `test` of this program again on the libraries of `release`. The test is skipped if any is missing. Returns the
/// output of the process, or `None`.
pub(crate) fn run_on(release: &str, files: &[&str], test: &str, variables: &[(&str, &str)]) -> Option<String> {
    let (success, text) = try_on(release, files, test, variables)?;
    assert!(success && text.contains("1 passed"), "{test} on ROCm {release}:\n{text}");
    Some(text)
}

/// The same for a process that may fail. Returns whether it succeeded, and its output.
pub(crate) fn try_on(release: &str, files: &[&str], test: &str, variables: &[(&str, &str)]) -> Option<(bool, String)> {
    let theirs = libraries(release, files)?;
    let ours = library_folder();
    let mut command = Command::new(theirs.join("ld-linux-x86-64.so.2"));
    command.arg("--library-path").arg(format!("{}:{}", ours.path().display(), theirs.display()));
    // As `hip-sim run` does.
    let variable =
        |name: &str| variables.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned());
    if let Ok(driver) = hsa_sim::driver_files_with(variable) {
        driver.write(&ours.path().join("driver")).expect("the driver's files");
        command.arg("--preload").arg(env!("CARGO_BIN_EXE_libhip-sim-driver"));
        command.env("HIP_SIM_DRIVER_FILES", ours.path().join("driver"));
    }
    command.arg(std::env::current_exe().expect("the test's own program"));
    command.args(["--exact", test, "--include-ignored", "--nocapture", "--test-threads=1"]);
    command.env(INSIDE, release).env("ROCM_PATH", trees().join(release).join("usr")).env("HIP_RS_BACKEND", "rocm");
    for name in ["HIP_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"] {
        command.env_remove(name);
    }
    no_core_dumps();
    let output = command.envs(variables.iter().copied()).output().expect("the program starts");
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    Some((output.status.success(), format!("{text}\nended with {}", output.status)))
}

/// For this process and its children: if core dumps are enabled, HIP 7.2 aborts when a GPU fails, and reports no error.
fn no_core_dumps() {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limits are valid for a read.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_CORE, &none) }, 0);
}
