//! Tests in separate processes: decisions that are made once per process (which library is open) are made again there.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Set in such a process.
const INSIDE: &str = "SYS_TESTING_INSIDE";

/// Runs the test `path` (`module_path!()` and its name) again in a separate process; returns `false` in that process.
///
/// # Panics
/// Panics if the test fails there.
pub fn run(path: &str) -> bool {
    std::env::var_os(INSIDE).is_none() && start(path, None)
}

/// The fetched tree for a level: one per major release, and none for 10.0.
pub fn tree(level: (u32, u32)) -> &'static str {
    match level.0 {
        ..=5 => "5.7",
        6 => "6.4",
        _ => "7.2",
    }
}

/// Like [`run`], in a process with the real libraries of a fetched `tree` and their libc, where `ROCM_PATH` points into
/// the tree. The test is skipped if there is no such tree, or if it lacks one of the `files`.
///
/// # Panics
/// Panics if the test fails there.
pub fn run_with_libraries(path: &str, tree: &str, files: &[&str]) -> bool {
    run_with(path, tree, files, None)
}

/// Like [`run_with_libraries`], with C functions that replace those of the same names in every library.
///
/// # Panics
/// Panics if the test fails there, or if the C code does not compile.
pub fn run_with_stand_in(path: &str, tree: &str, files: &[&str], source: &str) -> bool {
    run_with(path, tree, files, Some(source))
}

/// The fetched tree whose libraries this process uses, if it is such a process.
pub fn inside() -> Option<String> {
    let tree = std::env::var(INSIDE).ok()?;
    Some(tree)
}

fn run_with(path: &str, tree: &str, files: &[&str], stand_in: Option<&str>) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return false;
    }
    let libraries = crate::trees::trees().join(tree).join("usr/lib/x86_64-linux-gnu");
    let lacking = ["ld-linux-x86-64.so.2"].iter().chain(files).find(|file| !libraries.join(file).exists());
    if let Some(file) = lacking {
        let command = format!("cargo xtask rocm fetch {tree} --with bindings,LIBRARY");
        crate::trees::skipped(format_args!("no {file} in {} (`{command}`)", libraries.display()));
        return true;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let library = folder.path().join("stand_in.so");
    if let Some(source) = stand_in {
        crate::missing::compile(source, &library);
    }
    start(path, Some((&libraries, stand_in.map(|_| &*library))))
}

/// Starts the process, optionally with the libraries of a folder and replacements for their functions.
fn start(path: &str, libraries: Option<(&Path, Option<&Path>)>) -> bool {
    // Without the crate's name.
    let test = path.split_once("::").map_or(path, |(_, test)| test);
    let program: PathBuf = std::env::current_exe().expect("the test's own program");
    let mut command = match libraries {
        None => Command::new(&program),
        Some((libraries, stand_in)) => {
            let mut command = Command::new(libraries.join("ld-linux-x86-64.so.2"));
            command.arg("--library-path").arg(libraries);
            stand_in.iter().for_each(|library| _ = command.arg("--preload").arg(library));
            command.arg(&program);
            let root = libraries.ancestors().nth(2).expect("two folders above");
            command.env("ROCM_PATH", root);
            // Other variables that the search reads.
            ["HIP_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"].iter().for_each(|name| _ = command.env_remove(name));
            command
        }
    };
    let output = command
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, libraries.and_then(|(folder, _)| folder.ancestors().nth(3)?.file_name()).unwrap_or("1".as_ref()))
        .output()
        .expect("the program starts");
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    // Skipped tests, and counts.
    text.lines()
        .filter(|line| line.contains("SKIPPED: ") || line.contains(" forms were refused, "))
        .for_each(|line| println!("{line}"));
    true
}
