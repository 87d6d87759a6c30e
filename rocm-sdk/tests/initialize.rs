//! Preparing the process: preloading by name, the variable, the check of the release.
#![cfg(target_os = "linux")]

#[path = "../../rocm-loader/tests/support/mod.rs"]
mod support;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rocm_sdk::{
    Error, Initialized, LoadError, Numbering, Release, Scope, Search, SkipReason, VersionCheck, initialize_process,
    libraries, preload, preloaded, set_root, set_search,
};
use semver::VersionReq;
use support::{CHILD, Tree, id, in_child, is_child};

const VARIABLE: &str = "ROCM_SDK_PRELOAD_LIBRARIES";

/// Makes an installation of ROCm 7.2.4 with three libraries; hipFFT needs a symbol of hipRAND, but does not depend on
/// it.
fn installation() -> Tree {
    let tree = Tree::new();
    tree.write(".info/version", "7.2.4-93\n");
    tree.stub("lib/libamdhip64.so.7", "libamdhip64.so.7", 1);
    tree.library("lib/libhiprand.so.1", "libhiprand.so.1", "int random_value(void) { return 4; }");
    let c = "int random_value(void); int stub_id(void) { return random_value() + 1; }";
    tree.library("lib/libhipfft.so.0", "libhipfft.so.0", c);
    tree
}

fn names(done: &Initialized) -> Vec<&'static str> {
    done.preloaded.iter().map(|library| library.spec().name()).collect()
}

#[test]
fn nothing_asked_for_is_nothing_done() {
    if !is_child() {
        return in_child("nothing_asked_for_is_nothing_done", &[(VARIABLE, " , ;")]);
    }
    set_search(Search::nowhere().environment(|name| std::env::var_os(name))).unwrap();
    let done = initialize_process().run().unwrap();
    assert!(done.preloaded.is_empty() && done.skipped.is_empty() && done.mismatch.is_none() && done.release.is_none());
}

#[test]
fn libraries_are_preloaded_in_order_and_globally() {
    if !is_child() {
        return in_child("libraries_are_preloaded_in_order_and_globally", &[]);
    }
    let tree = installation();
    set_root(tree.root()).unwrap();
    // With hipRAND's symbols private, hipFFT cannot be opened.
    let local = initialize_process().scope(Scope::Local).preload(["hiprand", "hipfft"]).run();
    assert!(matches!(local, Err(Error::Load(LoadError::Unusable { library: "hipfft", .. }))), "{local:?}");
    let done = initialize_process().preload(["hiprand", "rocdxg"]).preload(["hipfft", "hiprand"]).run().unwrap();
    assert_eq!(names(&done), ["hiprand", "hipfft"]);
    assert_eq!(id(done.preloaded[1]), 5);
    assert_eq!((done.skipped[0].spec.name(), done.skipped[0].why), ("rocdxg", SkipReason::Optional));
    // Each is opened once per process, whatever name is used.
    let again = initialize_process().preload([&libraries::HIPFFT]).run().unwrap();
    assert!(std::ptr::eq(again.preloaded[0], done.preloaded[1]));
    assert!(std::ptr::eq(preload("hipfft", Scope::Global).unwrap(), done.preloaded[1]));
    assert_eq!(preloaded().len(), 2);
}

#[test]
fn unknown_names_are_refused_before_anything_is_loaded() {
    if !is_child() {
        return in_child("unknown_names_are_refused_before_anything_is_loaded", &[]);
    }
    let tree = installation();
    set_root(tree.root()).unwrap();
    let error = initialize_process().preload(["amdhip64", "hipBLAS"]).run().unwrap_err();
    assert!(
        matches!(&error, Error::Load(LoadError::UnknownLibrary { name, meant: Some("hipblas") }) if name == "hipBLAS"),
        "{error}"
    );
    assert!(matches!(preload("nothing", Scope::Local), Err(LoadError::UnknownLibrary { .. })));
    let missing = initialize_process().preload(["hipblas"]).run().unwrap_err();
    assert!(matches!(missing, Error::Load(LoadError::NotFound { library: "hipblas", .. })), "{missing}");
    assert!(preloaded().is_empty());
}

#[test]
fn the_variable_adds_libraries() {
    if !is_child() {
        return in_child("the_variable_adds_libraries", &[(VARIABLE, " hiprand;hipfft , amdhip64,")]);
    }
    let tree = installation();
    set_root(tree.root()).unwrap();
    let without = initialize_process().preload(["amdhip64"]).env_override(false).run().unwrap();
    assert_eq!(names(&without), ["amdhip64"]);
    let with = initialize_process().preload(["amdhip64"]).run().unwrap();
    assert_eq!(names(&with), ["amdhip64", "hiprand", "hipfft"]);
}

#[test]
fn a_wrong_variable_is_named_in_the_error() {
    if !is_child() {
        in_child("a_wrong_variable_is_named_in_the_error", &[(VARIABLE, "amdhip64;hipblass")]);
        return in_child("a_wrong_variable_is_named_in_the_error", &[(VARIABLE, "amdhip64;hipblas")]);
    }
    let tree = installation();
    set_root(tree.root()).unwrap();
    let value = std::env::var(VARIABLE).unwrap();
    let error = initialize_process().run().unwrap_err();
    let Error::PreloadVariable { variable, value: told, error: cause } = &error else { panic!("{error}") };
    assert_eq!((*variable, told), (VARIABLE, &value));
    let message = error.to_string();
    assert!(message.contains(&format!("{VARIABLE}={value}: ")) && message.contains("Unset"), "{message}");
    if value.ends_with("hipblass") {
        assert!(matches!(**cause, LoadError::UnknownLibrary { .. }) && preloaded().is_empty());
    } else {
        assert!(matches!(**cause, LoadError::NotFound { library: "hipblas", .. }) && error.report().is_some());
        assert_eq!(error.library(), Some("hipblas"));
    }
}

#[test]
fn a_set_uid_program_does_not_heed_the_variable() {
    if !is_child() {
        return in_child("a_set_uid_program_does_not_heed_the_variable", &[(VARIABLE, "amdhip64")]);
    }
    let tree = installation();
    set_search(Search::standard().root(tree.root()).set_uid(true)).unwrap();
    assert!(initialize_process().run().unwrap().preloaded.is_empty());
}

#[test]
fn the_release_is_checked() {
    if !is_child() {
        return in_child("the_release_is_checked", &[]);
    }
    let tree = installation();
    set_search(Search::nowhere().root(tree.root())).unwrap();
    for wanted in ["7.2.4-93", "7.2.*", "*", "7*93"] {
        let done = initialize_process().check_version(wanted).fail_on_version_mismatch(true).run().unwrap();
        assert_eq!((done.mismatch, done.release.unwrap().text.as_str()), (None, "7.2.4-93"), "{wanted}");
    }
    for wanted in [">=6.4, <8", "7.2", "=7.2.4", "^7"] {
        let wanted = VersionReq::parse(wanted).unwrap();
        assert_eq!(initialize_process().check_version(wanted).run().unwrap().mismatch, None);
    }
    // Not a regular expression: a dot is a dot.
    for wanted in ["7.2.4", "7.2", "7x2.4-93", "8.*", ""] {
        let done = initialize_process().check_version(wanted).preload(["amdhip64"]).run().unwrap();
        let mismatch = done.mismatch.unwrap();
        assert_eq!(mismatch.wanted, VersionCheck::Text(wanted.to_owned()));
        let message = mismatch.to_string();
        assert!(message.contains(&format!("ROCm {wanted}, but ROCm 7.2.4-93 is installed")), "{message}");
        assert_eq!(names_of_preloaded(), ["amdhip64"], "a warning stops nothing");
    }
    let wanted = VersionReq::parse("<7").unwrap();
    let error = initialize_process()
        .check_version(wanted)
        .fail_on_version_mismatch(true)
        .preload(["hiprand"])
        .run()
        .unwrap_err();
    assert!(matches!(error, Error::VersionMismatch { .. }) && error.to_string().contains("ROCm <7"), "{error}");
    assert_eq!(names_of_preloaded(), ["amdhip64"], "an error comes before anything is loaded");
}

fn names_of_preloaded() -> Vec<&'static str> {
    preloaded().iter().map(|library| library.spec().name()).collect()
}

#[test]
fn a_release_that_cannot_be_told_is_a_mismatch() {
    if !is_child() {
        return in_child("a_release_that_cannot_be_told_is_a_mismatch", &[]);
    }
    set_search(Search::nowhere().root("/no/such/rocm")).unwrap();
    let mismatch = initialize_process().check_version("*").run().unwrap().mismatch.unwrap();
    assert_eq!(mismatch.found, None);
    assert!(mismatch.to_string().contains("is unknown"), "{mismatch}");
}

#[test]
fn requirements_are_met_in_rocms_count() {
    let release = |text: &str, numbering| {
        let version = rocm_sdk::parse_release(text).unwrap();
        Release { version, text: text.to_owned(), numbering, source: PathBuf::new() }
    };
    let accepts =
        |wanted: &str, release: &Release| VersionCheck::from(VersionReq::parse(wanted).unwrap()).accepts(release);
    let hip_7_15 = release("7.15.26333", Numbering::Hip);
    assert!(accepts(">=10", &hip_7_15) && accepts("~10.0", &hip_7_15) && !accepts("7", &hip_7_15));
    let hip_7_2 = release("7.2.53211", Numbering::Hip);
    assert!(accepts("7.2", &hip_7_2) && accepts("~7.2.4", &hip_7_2) && !accepts("=7.2.4", &hip_7_2));
    let nightly = release("7.10.0a20251120", Numbering::Rocm);
    assert!(accepts(">=7.2", &nightly) && accepts("7.10", &nightly) && !accepts(">=7.11", &nightly));
    assert!(accepts(">7.10.0-a2, <7.11", &nightly) && !accepts(">=7.10.0-b", &nightly));
    assert!(VersionCheck::from("7.10.0a*").accepts(&nightly));
    let build = release("6.2.0-66", Numbering::Rocm);
    assert!(accepts("=6.2.0", &build) && VersionCheck::from(String::from("6.2.0*")).accepts(&build));
}

/// The real libraries of a release, through the release's own loader, since they need a newer C library than most hosts
/// have.
#[test]
fn a_real_release() {
    const TEST: &str = "a_real_release";
    if !is_child() {
        let trees = std::env::var_os("ROCM_RS_TREES").map(PathBuf::from);
        let trees = trees.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/rocm"));
        let usr = trees.join("7.2/usr");
        let libraries = usr.join("lib/x86_64-linux-gnu");
        let loader = libraries.join("ld-linux-x86-64.so.2");
        let Some(usr) = std::fs::canonicalize(&usr).ok().filter(|_| loader.exists() && cfg!(target_arch = "x86_64"))
        else {
            let why = format!("SKIPPED: no ROCm in {} (`cargo xtask rocm fetch 7.2`)\n", usr.display());
            let _ = std::io::stdout().write_all(why.as_bytes());
            return;
        };
        let mut command = Command::new(loader);
        command.arg("--library-path").arg(&libraries).arg(std::env::current_exe().unwrap());
        command.args(["--exact", TEST, "--nocapture"]).env(CHILD, "1").env("ROCM_PATH", usr).env(VARIABLE, "hiprtc");
        let output = command.output().unwrap();
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let found = rocm_sdk::find_libraries(["amd_comgr", "amdhip64", "hiprtc"]).unwrap();
    let done = initialize_process().preload(["amd_comgr", "amdhip64"]).check_version("7.2.*").run().unwrap();
    assert_eq!((names(&done), done.mismatch.is_none()), (vec!["amd_comgr", "amdhip64", "hiprtc"], true));
    // The loaded files are those that were found.
    let loaded: Vec<_> = done.preloaded.iter().map(|library| library.path().unwrap().to_owned()).collect();
    assert_eq!(loaded, found.paths());
    assert!(done.preloaded[2].symbol(c"hiprtcCreateProgram").is_some());
    let requirement = VersionReq::parse(">=10").unwrap();
    let mismatch = initialize_process().check_version(requirement).run().unwrap().mismatch.unwrap();
    assert!(mismatch.to_string().contains("ROCm >=10, but HIP 7.2."), "{mismatch}");
}
