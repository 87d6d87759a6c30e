//! The choice of the library; all tests again on each available library; rejected libraries.

use std::path::{Path, PathBuf};
use std::process::Command;

use rocm_llvm::llvm::{Context, Error, Library};

use crate::support::{LIBRARY, llvm, skipped};

/// Set in the processes that this file starts.
const INSIDE: &str = "ROCM_LLVM_TEST_INSIDE";
/// The loader that this program was started with, and its folders.
const LOADER: &str = "ROCM_LLVM_TEST_LOADER";

/// Returns whether this process runs all tests again on another LLVM than the first.
pub(crate) fn is_again() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Returns the command that starts this program again in the same way.
pub(crate) fn again() -> Command {
    let program = std::env::current_exe().unwrap();
    match std::env::var_os(LOADER) {
        Some(folder) => {
            through_loader(Path::new(&folder), &std::env::var_os(INSIDE).map(PathBuf::from).unwrap_or(program))
        }
        None => Command::new(program),
    }
}

fn through_loader(folder: &Path, program: &Path) -> Command {
    let mut command = Command::new(folder.join("ld-linux-x86-64.so.2"));
    command.arg("--library-path").arg(folder).arg(program).env(LOADER, folder);
    command
}

fn run(what: &str, mut command: Command) {
    let output = command.env(INSIDE, std::env::current_exe().unwrap()).args(["--test-threads", "2"]).output().unwrap();
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success() && text.contains("test result: ok"), "{what}:\n{text}");
    let lines =
        text.lines().filter(|line| ["contexts: ", "LLVM in use", "test result"].iter().any(|part| line.contains(part)));
    lines.for_each(|line| note(&format!("{what}: {line}")));
}

fn note(line: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stdout(), "{line}");
}

#[test]
fn the_library_in_use_is_named() {
    let Some(library) = llvm() else { return };
    assert!(library.version().major >= 17 && library.has(c"LLVMRunPasses") && !library.has(c"LLVMNoSuchThing"));
    note(&format!("LLVM in use: {} at {}", library.version(), library.path()));
    // Opening the same file again returns the same library, another file is an error.
    assert_eq!(Library::open(library.path()).unwrap().version(), library.version());
    let other = std::env::current_exe().unwrap();
    assert!(matches!(Library::open(other), Err(Error::InUse { .. })));
    assert_eq!(Library::load().unwrap().path(), library.path());
}

/// The Rust toolchain's LLVM, which is also available on a machine without ROCm.
#[test]
fn all_tests_pass_on_the_rust_toolchains_llvm() {
    if std::env::var_os(INSIDE).is_some() {
        return;
    }
    let path = match Library::in_rust_toolchain() {
        Ok(path) => path,
        Err(error) => return skipped(error),
    };
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(LIBRARY, path);
    run("Rust toolchain", command);
}

/// The LLVMs 17 to 22 of ROCm releases, each with the C library that it needs.
#[test]
fn all_tests_pass_on_rocms_llvm() {
    if std::env::var_os(INSIDE).is_some() {
        return;
    }
    let trees = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/rocm");
    for release in ["5.7", "6.4", "7.2"] {
        let root = trees.join(release).join("usr");
        let folder = root.join("lib/x86_64-linux-gnu");
        if !folder.join("ld-linux-x86-64.so.2").exists() {
            skipped(format_args!("no ROCm {release} in {} (`cargo xtask rocm fetch {release}`)", trees.display()));
            continue;
        }
        let mut command = through_loader(&folder.canonicalize().unwrap(), &std::env::current_exe().unwrap());
        command.env("ROCM_PATH", root.canonicalize().unwrap());
        for name in ["HIP_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"] {
            command.env_remove(name);
        }
        run(&format!("ROCm {release}"), command);
    }
}

/// Runs in a separate process, since a process has one LLVM.
#[test]
fn without_rocm_the_toolchains_llvm_is_found() {
    const MARK: &str = "ROCM_LLVM_TEST_SEARCH";
    if std::env::var_os(INSIDE).is_some() {
        return;
    }
    if std::env::var_os(MARK).is_none() {
        if Library::in_rust_toolchain().is_err() {
            return skipped("no LLVM in the Rust toolchain");
        }
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "libraries::without_rocm_the_toolchains_llvm_is_found"]).env(MARK, "1");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    rocm_loader::set_search(rocm_loader::Search::nowhere().system(false)).unwrap();
    assert!(matches!(Library::open("libLLVM.so"), Err(Error::Open(rocm_loader::Error::RelativePath { .. }))));
    assert!(matches!(Library::open("/nonexistent/libLLVM.so"), Err(Error::Open(_))));
    let library = Library::load().unwrap();
    assert_eq!(Path::new(&library.path()), Library::in_rust_toolchain().unwrap());
    Context::new().unwrap();
}

/// The file that the program names, ROCm's, the system's, the toolchain's: each comes before the next.
#[cfg(unix)]
#[test]
fn the_order_of_the_search_is_kept() {
    const MARK: &str = "ROCM_LLVM_TEST_ORDER";
    if is_again() {
        return;
    }
    let toolchain = match Library::in_rust_toolchain() {
        Ok(path) => path,
        Err(error) => return skipped(error),
    };
    let Ok(case) = std::env::var(MARK) else {
        for case in ["named", "rocm", "system"] {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["--exact", "libraries::the_order_of_the_search_is_kept", "--nocapture"]).env(MARK, case);
            let output = command.output().unwrap();
            let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
            assert!(output.status.success(), "{case}: {text}");
            text.lines().filter(|line| line.contains("SKIPPED")).for_each(note);
        }
        return;
    };
    // An installation whose LLVM is the toolchain's under another name.
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("lib/llvm/lib");
    std::fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(&toolchain, folder.join("libLLVM.so.22.0git")).unwrap();
    let everywhere = rocm_loader::Search::nowhere().root(root.path()).system(true);
    match &case[..] {
        "named" => {
            rocm_loader::set_search(everywhere).unwrap();
            assert_eq!(Path::new(&Library::open(&toolchain).unwrap().path()), toolchain);
            assert_eq!(Path::new(&Library::load().unwrap().path()), toolchain);
        }
        "rocm" => {
            rocm_loader::set_search(everywhere).unwrap();
            let library = Library::load().unwrap();
            assert!(library.library().path().unwrap().starts_with(root.path()), "{}", library.path());
        }
        _ => {
            rocm_loader::set_search(rocm_loader::Search::nowhere().system(true)).unwrap();
            if rocm_loader::process_search().open(&rocm_loader::libraries::LLVM).is_err() {
                return skipped("the system has no LLVM");
            }
            let library = Library::load().unwrap();
            assert_ne!(Path::new(&library.path()), toolchain);
            assert!(!library.path().starts_with("/opt"), "{}", library.path());
        }
    }
}

/// LLVM 14 and 15 do not report their version, and lack functions that this crate calls. Other libraries lack LLVM
/// altogether.
#[test]
fn old_and_other_libraries_are_refused() {
    const MARK: &str = "ROCM_LLVM_TEST_OLD";
    if std::env::var_os(INSIDE).is_some() {
        return;
    }
    if std::env::var_os(MARK).is_none() {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "libraries::old_and_other_libraries_are_refused", "--nocapture"]).env(MARK, "1");
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        text.lines().filter(|line| line.contains("SKIPPED")).for_each(note);
        return;
    }
    for number in [14, 15] {
        let path = format!("/usr/lib/x86_64-linux-gnu/libLLVM-{number}.so.1");
        if !Path::new(&path).exists() {
            skipped(format_args!("no {path}"));
            continue;
        }
        let error = Library::open(&path).unwrap_err();
        assert!(matches!(error, Error::TooOld { .. }), "{error}");
        assert!(error.to_string().contains("LLVM 17 or newer is needed"), "{error}");
    }
    for other in ["/lib/x86_64-linux-gnu/libm.so.6", "/etc/passwd"] {
        if Path::new(other).exists() {
            assert!(matches!(Library::open(other), Err(Error::Open(_))), "{other}");
        }
    }
    // None of these calls chooses a library.
    if let Ok(path) = Library::in_rust_toolchain() {
        Library::open(path).unwrap();
    }
}
