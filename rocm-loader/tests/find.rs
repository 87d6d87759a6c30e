//! Libraries are found without being loaded.
#![cfg(target_os = "linux")]

mod support;

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};

use rocm_loader::{Error, LibrarySpec, Origin, Reason, Search, SkipReason, Soname, find_libraries, libraries};
use support::{STUB, Tree, in_child, is_child};

fn with_variables(variables: &[(&str, PathBuf)]) -> Search {
    let variables: HashMap<String, OsString> =
        variables.iter().map(|(k, v)| ((*k).to_owned(), v.clone().into())).collect();
    Search::nowhere().environment(move |name| variables.get(name).cloned())
}

/// Returns whether a file of `folder` is mapped into this process.
fn is_loaded(folder: &Path) -> bool {
    std::fs::read_to_string("/proc/self/maps").unwrap().contains(folder.to_str().unwrap())
}

/// Each layout of a ROCm package, and the path of one library in it.
#[test]
fn every_layout() {
    let tree = Tree::new();
    let site = "venv/lib/python3.12/site-packages";
    let multiarch = format!("debian/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    tree.stub(&format!("{site}/_rocm_sdk_core/lib/libamdhip64.so.7"), "libamdhip64.so.7", 0);
    let math = format!("{site}/_rocm_sdk_core/lib/host-math/lib/librocm-openblas.so.0");
    tree.stub(&math, "librocm-openblas.so.0", 0);
    let lzma = format!("{site}/_rocm_sdk_core/lib/rocm_sysdeps/lib/librocm_sysdeps_liblzma.so.5");
    tree.stub(&lzma, "librocm_sysdeps_liblzma.so.5", 0);
    let llvm = format!("{site}/_rocm_sdk_core/lib/llvm/lib/libLLVM.so.23.0git");
    tree.stub(&llvm, "libLLVM.so.23.0git", 0);
    tree.stub(&format!("{site}/_rocm_sdk_libraries_gfx94X_dcgpu/lib/libhipblas.so.3"), "libhipblas.so.3", 0);
    tree.stub("opt/rocm-6.4.3/lib/libhipblas.so.2", "libhipblas.so.2", 0);
    tree.stub("opt/rocm-6.4.3/llvm/lib/libLLVM.so.19.0git", "libLLVM.so.19.0git", 0);
    tree.stub("opt/rocm-7.2.0/lib/libhipblas.so.3", "libhipblas.so.3", 0);
    tree.stub(&format!("{multiarch}/libhipblas.so.2.4"), "libhipblas.so.2", 0);
    tree.link("libhipblas.so.2.4", &format!("{multiarch}/libhipblas.so.2"));

    let wheels = with_variables(&[("VIRTUAL_ENV", tree.path("venv"))]);
    let found =
        wheels.find_libraries(["hipblas", "amdhip64", "rocm-openblas", "rocm_sysdeps_liblzma", "LLVM"]).unwrap();
    let expected = [
        format!("{site}/_rocm_sdk_libraries_gfx94X_dcgpu/lib/libhipblas.so.3"),
        format!("{site}/_rocm_sdk_core/lib/libamdhip64.so.7"),
        math,
        lzma,
        llvm,
    ];
    assert_eq!(found.paths(), expected.map(|path| tree.path(&path)));
    assert!(found.libraries().iter().all(|l| l.origin() == Origin::Wheel("VIRTUAL_ENV") && l.is_known_release()));
    assert_eq!(found.get("hipblas").and_then(|l| l.soname_major()), Some(3));
    assert!(found.get("hipfft").is_none() && found.skipped().is_empty());

    // The newest of several releases side by side.
    let opt = Search::nowhere().opt(Some(tree.path("opt")));
    assert_eq!(opt.find("hipblas").unwrap().path(), tree.path("opt/rocm-7.2.0/lib/libhipblas.so.3"));
    assert_eq!(opt.find("LLVM").unwrap().path(), tree.path("opt/rocm-6.4.3/llvm/lib/libLLVM.so.19.0git"));
    let chosen = with_variables(&[("ROCM_PATH", tree.path("opt/rocm-6.4.3"))]).opt(Some(tree.path("opt")));
    let found = chosen.find(&libraries::HIPBLAS).unwrap();
    assert_eq!(found.path(), tree.path("opt/rocm-6.4.3/lib/libhipblas.so.2"));
    assert_eq!(found.origin(), Origin::Variable("ROCM_PATH"));

    // Only the architectures that have a multiarch directory in the search.
    if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        let debian = Search::nowhere().root(tree.path("debian/usr")).find("hipblas").unwrap();
        assert_eq!(debian.path(), tree.path(&multiarch).join("libhipblas.so.2"));
        assert_eq!(debian.soname(), Some("libhipblas.so.2"));
    }
    assert!(!is_loaded(tree.root()), "nothing is loaded");
}

#[test]
fn the_loaders_directories() {
    let tree = Tree::new();
    tree.stub("one/libstub.so.6", "libstub.so.6", 6);
    tree.stub("two/libstub.so.7", "libstub.so.7", 7);
    let paths = std::env::join_paths([tree.path("one"), tree.path("two")]).unwrap();
    let search = with_variables(&[("LD_LIBRARY_PATH", paths.into())]).system(true);
    let found = search.find(&STUB).unwrap();
    assert_eq!((found.path(), found.origin()), (tree.path("two/libstub.so.7").as_path(), Origin::System));
    assert!(
        matches!(search.clone().set_uid(true).find(&STUB), Err(Error::NotFound { .. })),
        "not for set-uid programs"
    );
    let relative = with_variables(&[("LD_LIBRARY_PATH", "one".into())]).system(true);
    assert!(relative.find(&STUB).is_err());
}

/// The C library is found in the loader's directories, which only the system's configuration or convention gives.
#[test]
fn the_systems_own_directories() {
    static LIBC: LibrarySpec = LibrarySpec::new("c", "libc.so", &[Soname::new("libc.so.6", 5, 10)], &[]);
    let found = Search::nowhere().system(true).find(&LIBC);
    match found {
        Ok(found) => assert!(found.path().is_absolute() && found.soname() == Some("libc.so.6")),
        Err(error) if cfg!(target_env = "gnu") => panic!("{error}"),
        Err(_) => {}
    }
}

#[test]
fn a_report_tells_each_step_and_that_nothing_was_opened() {
    let tree = Tree::new();
    tree.stub("rocm/lib/libstub.so.6", "libstub.so.6", 6);
    let found = Search::nowhere().root(tree.path("no")).root(tree.path("rocm")).find(&STUB).unwrap();
    let text = found.report().to_string();
    assert!(text.contains("no [path given in code]: not found"), "{text}");
    assert!(text.contains("libstub.so.7 [path given in code]: not found"), "{text}");
    assert!(text.ends_with("libstub.so.6 [path given in code]: found"), "{text}");
    assert_eq!(found.release(), None);
    tree.write("rocm/.info/version", "6.4.3-12\n");
    assert_eq!(found.release().unwrap().to_string(), "ROCm 6.4.3+12");
}

#[test]
fn what_a_library_needs() {
    let tree = Tree::new();
    let base = tree.library("lib/libbase.so.1", "libbase.so.1", "int base(void) { return 1; }");
    let c = "int base(void); int stub_id(void) { return base(); }";
    tree.library_with("lib/libstub.so.7", "libstub.so.7", c, &[base.to_str().unwrap()]);
    let found = Search::nowhere().root(tree.root()).find(&STUB).unwrap();
    assert!(found.needed().contains(&"libbase.so.1".to_owned()), "{:?}", found.needed());
}

/// If several LLVMs are installed, as distributions do, the one that Comgr is built with is found.
#[test]
fn the_llvm_of_comgr() {
    let tree = Tree::new();
    let llvm = |name: &str| tree.library(&format!("lib/{name}"), name, "int llvm(void) { return 1; }");
    let comgr = |soname: &str, llvm: &str| {
        let c = "int llvm(void); int stub_id(void) { return llvm(); }";
        tree.library_with(&format!("lib/{soname}"), soname, c, &[tree.path("lib").join(llvm).to_str().unwrap()]);
    };
    for name in ["libLLVM.so.21.1", "libLLVM.so.22.1", "libLLVM.so.23.1", "libLLVM.so.24.1", "libLLVM.so.25.1"] {
        llvm(name);
    }
    for name in ["libclang-21.so.21", "libclang-22.so.22", "libLLVM-17.so.1"] {
        llvm(name);
    }
    let installation = Search::nowhere().root(tree.root());
    let system = with_variables(&[("LD_LIBRARY_PATH", tree.path("lib"))]).system(true);
    let found = |search: &Search, name: &str| search.find(name).unwrap().soname().unwrap().to_owned();
    assert_eq!(found(&installation, "LLVM"), "libLLVM.so.23.1", "the newest known");
    for (number, needed) in [("22", "libLLVM.so.22.1"), ("21", "libLLVM.so.21.1"), ("17", "libLLVM-17.so.1")] {
        comgr("libamd_comgr.so.3", needed);
        for search in [&installation, &system] {
            assert_eq!(found(search, "LLVM"), needed);
            let clang = if number == "21" { "libclang-21.so.21" } else { "libclang-22.so.22" };
            assert_eq!(found(search, "clang"), clang, "{number}: the same, else the newest");
        }
        assert_eq!(installation.open(&libraries::LLVM).unwrap().soname(), Some(needed));
    }
    // A release newer than any known.
    comgr("libamd_comgr.so.3", "libLLVM.so.24.1");
    assert_eq!(found(&installation, "LLVM"), "libLLVM.so.24.1");
}

#[test]
fn unknown_names_are_told_before_anything_is_looked_for() {
    let search = Search::nowhere().root("/no/such/rocm");
    for (name, meant) in [
        ("hipBLAS", Some("hipblas")),
        ("libMIOpen.so.1", Some("miopen")),
        ("amd-smi", Some("amd_smi")),
        ("hipdnn_backend", Some("hipdnn")),
        ("cublas", None),
        ("", None),
    ] {
        match search.find_libraries(["amdhip64", name]) {
            Err(Error::UnknownLibrary { name: told, meant: guess }) => assert_eq!((&*told, guess), (name, meant)),
            other => panic!("{other:?}"),
        }
    }
    let message = search.find("hipBLAS").unwrap_err().to_string();
    assert_eq!(message, "hipBLAS is not the short name of a library of ROCm; did you mean hipblas?");
}

#[test]
fn nothing_installed() {
    let error = find_libraries_nowhere(&["hipblas"]);
    assert!(matches!(&error, Error::NotFound { library: "hipblas", .. }), "{error}");
    assert!(error.to_string().contains("`rocm-sdk install 7.2 --with hipblas`"), "{error}");
    let error = find_libraries_nowhere(&["hipblas", "rocdxg", "rccl"]);
    let Error::Several { errors } = &error else { panic!("{error}") };
    assert_eq!(errors.iter().map(Error::library).collect::<Vec<_>>(), [Some("hipblas"), Some("rccl")]);
    let message = error.to_string();
    assert!(message.starts_with("2 libraries are not available: hipblas, rccl.\n"), "{message}");
    assert!(message.contains("hipblas was not found") && message.contains("/no/such/rocm"), "{message}");
}

fn find_libraries_nowhere(names: &[&str]) -> Error {
    Search::nowhere().root("/no/such/rocm").find_libraries(names.iter().copied()).unwrap_err()
}

#[test]
fn half_installed() {
    let tree = Tree::new();
    tree.stub("lib/libamdhip64.so.7", "libamdhip64.so.7", 7);
    let search = Search::nowhere().root(tree.root());
    let found = search.find_libraries(["rocdxg", "amdhip64"]).unwrap();
    assert_eq!(found.paths(), [tree.path("lib/libamdhip64.so.7")]);
    assert_eq!((found.skipped()[0].spec.name(), found.skipped()[0].why), ("rocdxg", SkipReason::Optional));
    assert_eq!(found.skipped()[0].to_string(), "rocdxg: optional, not in this installation");
    assert!(matches!(search.find_libraries(["amdhip64", "hipfft"]), Err(Error::NotFound { library: "hipfft", .. })));
    assert!(search.find_libraries(Vec::<&str>::new()).unwrap().libraries().is_empty());
    // An optional library that exists but is broken does not count as missing.
    tree.write("lib/librocdxg.so.1", "text");
    assert!(matches!(search.find_libraries(["rocdxg"]), Err(Error::Unusable { library: "rocdxg", .. })));
}

#[test]
fn files_that_will_not_do() {
    let fault = |tree: &Tree| match Search::nowhere().root(tree.root()).find(&STUB) {
        Err(Error::Unusable { reason, target, .. }) => (reason, target),
        other => panic!("{other:?}"),
    };
    let tree = Tree::new();
    let other = if cfg!(target_arch = "aarch64") { 62_u16 } else { 183 };
    tree.patched("lib/libstub.so.7", "libstub.so.7", 18, &other.to_ne_bytes());
    assert!(matches!(fault(&tree).0, Reason::WrongArchitecture { .. }));
    // A usable library in a later directory is taken; the report keeps the fault.
    tree.stub("lib64/libstub.so.6", "libstub.so.6", 6);
    let found = Search::nowhere().root(tree.root()).find(&STUB).unwrap();
    assert_eq!(found.path(), tree.path("lib64/libstub.so.6"));
    assert!(matches!(found.report().first_fault(), Some((_, Reason::WrongArchitecture { .. }))));

    let tree = Tree::new();
    tree.write("lib/libstub.so.7", "version https://git-lfs.github.com/spec/v1\n");
    assert_eq!(fault(&tree).0, Reason::NotElf { found: "a Git LFS pointer" });

    let tree = Tree::new();
    tree.write("lib/libstub.so.7/x", "");
    assert_eq!(fault(&tree).0, Reason::NotAFile);

    let tree = Tree::new();
    tree.stub("lib/libstub.so", "libstub.so.3", 3);
    assert!(matches!(fault(&tree).0, Reason::WrongMajor { .. }));
}

#[test]
fn dangling_links_lead_nowhere() {
    let tree = Tree::new();
    tree.link("libstub.so.7.2.1", "lib/libstub.so.7");
    tree.link("lib", "lib64");
    let search = Search::nowhere().root(tree.root());
    assert!(matches!(search.find(&STUB), Err(Error::NotFound { .. })));
    tree.stub("lib/libstub.so.7.2.1", "libstub.so.7", 7);
    assert_eq!(search.find(&STUB).unwrap().path(), tree.path("lib/libstub.so.7"));
}

/// Runs as a user other than root, since root can read every file.
#[test]
fn unreadable_files() {
    const TREE: &str = "ROCM_SDK_TEST_TREE";
    if let Some(root) = std::env::var_os(TREE) {
        let error = Search::nowhere().root(root).find(&STUB).unwrap_err();
        assert!(matches!(error, Error::Unusable { reason: Reason::Unreadable { .. }, .. }), "{error}");
        println!("CHILD: unreadable");
        return;
    }
    let tree = Tree::new();
    let path = tree.stub("lib/libstub.so.7", "libstub.so.7", 7);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    std::fs::set_permissions(tree.root(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = tree.path("program");
    // Copied by another process: a file that this process has open for writing cannot be executed while another test forks.
    let copied = std::process::Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&program).status();
    assert!(copied.unwrap().success());
    let mut command = std::process::Command::new(&program);
    command.args(["--exact", "unreadable_files", "--nocapture"]).env(TREE, tree.root());
    // SAFETY: it has no precondition.
    if unsafe { libc::geteuid() } == 0 {
        command.uid(65_534);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("CHILD: unreadable"), "{text}");
}

#[test]
fn the_search_of_the_process() {
    if !is_child() {
        let tree = Tree::new();
        tree.stub("lib/libhipfft.so.0", "libhipfft.so.0", 0);
        return in_child("the_search_of_the_process", &[("ROCM_PATH", tree.root().to_str().unwrap())]);
    }
    let found = find_libraries([String::from("hipfft")]).unwrap();
    assert_eq!(found.libraries()[0].origin(), Origin::Variable("ROCM_PATH"));
    // `find` does not fix the search.
    rocm_loader::set_root("/no/such/rocm").unwrap();
    assert!(find_libraries([&libraries::HIPFFT]).is_ok());
}

/// Every library in the tree of a real release is found there, with the expected names.
#[test]
fn real_releases() {
    let trees = std::env::var_os("ROCM_RS_TREES").map(PathBuf::from);
    let trees = trees.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/rocm"));
    let mut releases = 0;
    for (release, hip, llvm) in [
        ("5.7", "libamdhip64.so.5", "libLLVM-17.so.1"),
        ("6.4", "libamdhip64.so.6", "libLLVM.so.21.1"),
        ("7.2", "libamdhip64.so.7", "libLLVM.so.22.1"),
    ] {
        let usr = std::fs::canonicalize(trees.join(release).join("usr"));
        let Some(usr) = usr.ok().filter(|_| cfg!(target_arch = "x86_64")) else { continue };
        releases += 1;
        let search = Search::nowhere().root(&usr);
        let found = search.find_libraries(["amd_comgr", "amdhip64"]).unwrap();
        assert_eq!(found.paths()[1], usr.join("lib/x86_64-linux-gnu").join(hip));
        assert_eq!(found.libraries()[1].soname(), Some(hip));
        assert_eq!(found.libraries()[1].release().unwrap().version.to_string()[..3], *release);
        let comgr = &found.libraries()[0];
        assert!(comgr.needed().iter().any(|n| n == llvm), "{:?}", comgr.needed());
        assert_eq!(search.find("LLVM").unwrap().soname(), Some(llvm), "that of Comgr");
        for spec in libraries::ALL {
            if let Ok(found) = search.find(*spec) {
                assert!(found.is_known_release() && found.path().starts_with(&usr), "{found:?} {:?}", found.soname());
            }
        }
        assert!(!is_loaded(&usr), "nothing is loaded");
    }
    if releases == 0 {
        let _ = writeln!(std::io::stdout(), "SKIPPED: no ROCm in {} (`cargo xtask rocm fetch 7.2`)", trees.display());
    }
}
