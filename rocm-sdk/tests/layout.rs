//! The installation that a search finds, its paths and its release, in every layout.
#![cfg(target_os = "linux")]

#[path = "../../rocm-loader/tests/support/mod.rs"]
mod support;

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use rocm_sdk::{Error, Layout, LayoutKind, LoadError, Numbering, Origin, Reason, Search, SearchExt as _};
use support::{Tree, in_child, is_child};

const SITE: &str = "venv/lib/python3.12/site-packages";

fn with_variables(variables: &[(&str, PathBuf)]) -> Search {
    let variables: HashMap<String, OsString> =
        variables.iter().map(|(k, v)| ((*k).to_owned(), v.clone().into())).collect();
    Search::nowhere().environment(move |name| variables.get(name).cloned())
}

/// Returns bin, lib, include, cmake and llvm, relative to the root.
fn places(layout: &Layout) -> [String; 5] {
    [layout.bin(), layout.lib().to_owned(), layout.include(), layout.cmake(), layout.llvm()]
        .map(|path| path.strip_prefix(layout.root()).unwrap().display().to_string())
}

/// Wheels as pip unpacks them.
fn wheels() -> Tree {
    let tree = Tree::new();
    tree.write(&format!("{SITE}/_rocm_sdk_core/lib/libamdhip64.so.7"), "");
    tree.write(&format!("{SITE}/_rocm_sdk_core/lib/llvm/bin/clang"), "");
    tree.write(&format!("{SITE}/_rocm_sdk_core/.info/version"), "7.10.0");
    tree.write(&format!("{SITE}/_rocm_sdk_libraries_gfx94X_dcgpu/lib/libhipblas.so.3"), "");
    tree.write(&format!("{SITE}/rocm_sdk_core-7.10.0a20251120.dist-info/METADATA"), "");
    tree.write(&format!("{SITE}/rocm_sdk_libraries_gfx94x_dcgpu-7.10.0a20251120.dist-info/METADATA"), "");
    tree
}

#[test]
fn wheels_without_the_devel_tree() {
    let tree = wheels();
    let search = with_variables(&[("VIRTUAL_ENV", tree.path("venv"))]);
    let layout = search.layout().unwrap();
    assert_eq!((layout.kind(), layout.origin()), (LayoutKind::Wheels, Origin::Wheel("VIRTUAL_ENV")));
    assert_eq!(layout.root(), tree.path(SITE).join("_rocm_sdk_core"));
    assert_eq!(places(&layout), ["bin", "lib", "include", "lib/cmake", "lib/llvm"]);
    let roots = ["_rocm_sdk_core", "_rocm_sdk_libraries_gfx94X_dcgpu"].map(|name| tree.path(SITE).join(name));
    assert_eq!(layout.library_roots(), roots);
    // The packages' version, which contains the build date; `.info/version` does not.
    let release = search.version().unwrap();
    assert_eq!((release.text.as_str(), release.to_string().as_str()), ("7.10.0a20251120", "ROCm 7.10.0-a20251120"));
    assert!(release.source.ends_with("rocm_sdk_core-7.10.0a20251120.dist-info"));
}

#[test]
fn wheels_with_the_devel_tree() {
    let tree = wheels();
    tree.write(&format!("{SITE}/_rocm_sdk_devel/include/hip/hip_version.h"), "");
    let archive = tree.write(&format!("{SITE}/rocm_sdk_devel/_devel.tar.xz"), "");
    let search = with_variables(&[("CONDA_PREFIX", tree.path("venv"))]);
    let core = tree.path(SITE).join("_rocm_sdk_core");
    assert_eq!(search.layout().unwrap().root(), core, "while the archive is there the tree is not complete");
    std::fs::remove_file(archive).unwrap();
    let layout = search.layout().unwrap();
    assert_eq!(layout.root(), tree.path(SITE).join("_rocm_sdk_devel"));
    // A package's own version counts, although its directory is spelled in capitals.
    let info = tree.path(SITE).join("rocm_sdk_libraries_gfx94x_dcgpu-7.10.0a20251120.dist-info");
    std::fs::rename(info, tree.path(SITE).join("rocm_sdk_libraries_gfx94x_dcgpu-7.9.0.dist-info")).unwrap();
    assert_eq!(rocm_sdk::release_at(&layout.library_roots()[1]).unwrap().text, "7.9.0");
    assert_eq!(layout.library_roots()[0], core);
    assert_eq!(layout.release().unwrap().text, "7.10.0a20251120");
    // The result is the same whichever wheel is named.
    for name in ["_rocm_sdk_core", "_rocm_sdk_devel", "_rocm_sdk_libraries_gfx94X_dcgpu"] {
        let named = with_variables(&[("ROCM_PATH", tree.path(SITE).join(name))]).layout().unwrap();
        assert_eq!((named.root(), named.kind()), (layout.root(), LayoutKind::Wheels));
        assert_eq!(named.origin(), Origin::Variable("ROCM_PATH"));
    }
}

#[test]
fn wheels_of_a_build_with_a_suffix() {
    let tree = Tree::new();
    tree.stub(&format!("{SITE}/_rocm_sdk_core_linux_x86_64/lib/libamdhip64.so.7"), "libamdhip64.so.7", 0);
    tree.write(&format!("{SITE}/rocm_sdk_core-10.0.0.dist-info/METADATA"), "");
    let search = with_variables(&[("VIRTUAL_ENV", tree.path("venv"))]);
    let layout = search.layout().unwrap();
    assert_eq!(layout.root(), tree.path(SITE).join("_rocm_sdk_core_linux_x86_64"));
    assert_eq!(search.version().unwrap().text, "10.0.0");
    assert!(search.find("amdhip64").unwrap().path().starts_with(layout.root()));
}

#[test]
fn half_an_environment_of_wheels() {
    let tree = Tree::new();
    tree.write(&format!("{SITE}/_rocm_sdk_libraries/lib/libhipblas.so.3"), "");
    let layout = with_variables(&[("VIRTUAL_ENV", tree.path("venv"))]).layout().unwrap();
    assert_eq!(layout.root(), tree.path(SITE).join("_rocm_sdk_libraries"));
    assert_eq!(layout.release(), None);
    // The rest of a package that pip left behind does not count.
    let tree = Tree::new();
    tree.write(&format!("{SITE}/_rocm_sdk_core/lib/__pycache__/x.pyc"), "");
    let error = with_variables(&[("VIRTUAL_ENV", tree.path("venv"))]).layout().unwrap_err();
    assert!(matches!(error, LoadError::Unusable { reason: Reason::NotAnInstallation, .. }), "{error}");
}

#[test]
fn amds_packages() {
    let tree = Tree::new();
    tree.write("opt/rocm-6.4.3/.info/version", "6.4.3-128\n");
    tree.write("opt/rocm-6.4.3/lib/libhipblas.so.2", "");
    tree.write("opt/rocm-6.4.3/lib/llvm/bin/clang", "");
    tree.link("lib/llvm", "opt/rocm-6.4.3/llvm");
    tree.write("opt/rocm-5.7.1/llvm/bin/clang", "");
    tree.write("opt/rocm-5.7.1/lib/libhipblas.so.1", "");
    let search = Search::nowhere().opt(Some(tree.path("opt")));
    let layout = search.layout().unwrap();
    assert_eq!((layout.root(), layout.kind()), (tree.path("opt/rocm-6.4.3").as_path(), LayoutKind::Prefix));
    assert_eq!(places(&layout), ["bin", "lib", "include", "lib/cmake", "lib/llvm"]);
    assert_eq!(search.version().unwrap().text, "6.4.3-128");
    let old = Layout::at(tree.path("opt/rocm-5.7.1")).unwrap();
    assert_eq!((old.llvm(), old.origin()), (tree.path("opt/rocm-5.7.1/llvm"), Origin::Explicit));
    assert_eq!(old.library_roots(), [tree.path("opt/rocm-5.7.1")]);
}

/// ROCm 7.10 and later: `/opt/rocm/core-7.13`, and `/opt/rocm/core` leads to it.
#[test]
fn amds_packages_with_a_core_directory() {
    let tree = Tree::new();
    tree.write("opt/rocm/core-7.13/lib/libamdhip64.so.7", "");
    tree.write("opt/rocm/core-7.13/.info/version", "7.13.0");
    let search = Search::nowhere().opt(Some(tree.path("opt")));
    assert_eq!(search.layout().unwrap().root(), tree.path("opt/rocm/core-7.13"));
    tree.link("core-7.13", "opt/rocm/core");
    let layout = search.layout().unwrap();
    assert_eq!((layout.root(), layout.kind()), (tree.path("opt/rocm/core").as_path(), LayoutKind::Prefix));
    assert_eq!(places(&layout), ["bin", "lib", "include", "lib/cmake", "lib/llvm"]);
    assert_eq!(layout.release().unwrap().text, "7.13.0");
}

#[test]
#[cfg(target_arch = "x86_64")]
fn debian() {
    let tree = Tree::new();
    let lib = "usr/lib/x86_64-linux-gnu";
    tree.stub(&format!("{lib}/libamdhip64.so.7.2.53211"), "libamdhip64.so.7", 0);
    tree.link("libamdhip64.so.7.2.53211", &format!("{lib}/libamdhip64.so.7"));
    for llvm in ["llvm-9", "llvm-22", "llvm-23"] {
        tree.write(&format!("usr/lib/{llvm}/bin/clang"), "");
    }
    let layout = Layout::at(tree.path("usr")).unwrap();
    assert_eq!((layout.kind(), layout.root()), (LayoutKind::Multiarch, tree.path("usr").as_path()));
    let cmake = "lib/x86_64-linux-gnu/cmake";
    assert_eq!(places(&layout), ["bin", "lib/x86_64-linux-gnu", "include", cmake, "lib/llvm-23"]);
    let release = layout.release().unwrap();
    assert_eq!((release.numbering, release.text.as_str()), (Numbering::Hip, "7.2.53211"));
    // The LLVM that Comgr is built with, although a newer one is installed.
    let llvm = tree.library(&format!("{lib}/libLLVM.so.22.1"), "libLLVM.so.22.1", "int llvm(void) { return 1; }");
    let c = "int llvm(void); int stub_id(void) { return llvm(); }";
    tree.library_with(&format!("{lib}/libamd_comgr.so.3"), "libamd_comgr.so.3", c, &[llvm.to_str().unwrap()]);
    assert_eq!(layout.llvm(), tree.path("usr/lib/llvm-22"));
}

#[test]
fn fedora() {
    let tree = Tree::new();
    tree.write("usr/lib64/libamdhip64.so.6", "");
    tree.write("usr/lib64/rocm/llvm/bin/clang", "");
    let layout = Layout::at(tree.path("usr")).unwrap();
    assert_eq!(places(&layout), ["bin", "lib64", "include", "lib64/cmake", "lib64/rocm/llvm"]);
    assert_eq!(layout.kind(), LayoutKind::Prefix);
}

/// A library that the system loader finds leads to its installation.
#[test]
fn the_system() {
    let tree = Tree::new();
    tree.stub("usr/lib/libamdhip64.so.7", "libamdhip64.so.7", 0);
    let search = with_variables(&[("LD_LIBRARY_PATH", tree.path("usr/lib"))]).system(true);
    let layout = search.layout().unwrap();
    assert_eq!((layout.root(), layout.origin()), (tree.path("usr").as_path(), Origin::System));
    let error = search.version().unwrap_err();
    assert!(matches!(&error, Error::NoRelease { root } if *root == tree.path("usr")), "{error}");
}

#[test]
fn nothing_installed_and_half_installed() {
    let tree = Tree::new();
    tree.write("home/lib/readme", "");
    tree.write("file", "");
    tree.link("gone", "opt/rocm");
    tree.write("venv/lib/python3.12/site-packages/torch/__init__.py", "");
    let search = with_variables(&[
        ("ROCM_PATH", tree.path("home")),
        ("HIP_PATH", tree.path("file")),
        ("VIRTUAL_ENV", tree.path("venv")),
        ("CONDA_PREFIX", "relative".into()),
    ])
    .root("/no/such/rocm")
    .opt(Some(tree.path("opt")));
    let error = search.layout().unwrap_err();
    let LoadError::Unusable { library: "ROCm", reason: Reason::NotAnInstallation, target, report } = &error else {
        panic!("{error}");
    };
    assert_eq!(*target, tree.path("home").display().to_string());
    let failures: Vec<_> = report.attempts().iter().map(|a| a.failure.clone().unwrap()).collect();
    let there = [
        Reason::NotThere,
        Reason::NotAnInstallation,
        Reason::NotADirectory,
        // The environment does not contain ROCm's wheels.
        Reason::NotThere,
        Reason::RelativePath,
        Reason::NotThere,
    ];
    assert_eq!(failures, there, "{report}");
    assert!(error.to_string().contains("home [ROCM_PATH]: contains nothing of ROCm"), "{error}");
    let wheels = "venv/lib/python*/site-packages/_rocm_sdk_core [wheels of VIRTUAL_ENV]: not found";
    assert!(error.to_string().contains(wheels), "{error}");
    let nothing = Search::nowhere().root("/no/such/rocm").version().unwrap_err();
    assert!(matches!(&nothing, Error::Load(LoadError::NotFound { library: "ROCm", .. })), "{nothing}");
    assert!(
        nothing.to_string().starts_with("ROCm was not found; install ROCm (`rocm-sdk install 7.2`), or set ROCM_PATH"),
        "{nothing}"
    );
    assert_eq!(Layout::at("relative"), None);
    // A broken library is skipped for a working one.
    tree.write("opt/rocm-7.2.0/lib/libhipblas.so.3", "");
    assert_eq!(search.layout().unwrap().root(), tree.path("opt/rocm-7.2.0"));
}

/// Each of these files alone identifies an installation.
#[test]
fn what_tells_an_installation() {
    for file in [
        ".info/version",
        "include/hip/hip_version.h",
        "bin/hipconfig",
        "lib/librccl.so",
        "lib64/libroctx64.so.4.1.0",
        "lib/libhsa-runtime64.so.1",
    ] {
        let tree = Tree::new();
        tree.write(file, "");
        assert!(Layout::at(tree.root()).is_some(), "{file}");
    }
    for file in ["lib/libLLVM.so.22.1", "lib/libamdhip64.a", "lib/libhipblas3.so", "lib/libclang.so", "bin/clang"] {
        let tree = Tree::new();
        tree.write(file, "");
        assert_eq!(Layout::at(tree.root()), None, "{file}");
    }
}

#[test]
fn the_search_of_the_process() {
    if !is_child() {
        let tree = wheels();
        return in_child(
            "the_search_of_the_process",
            &[("ROCM_PATH", tree.path(SITE).join("_rocm_sdk_core").to_str().unwrap())],
        );
    }
    assert_eq!(rocm_sdk::version().unwrap().text, "7.10.0a20251120");
    assert_eq!(rocm_sdk::layout().unwrap().kind(), LayoutKind::Wheels);
}

#[test]
fn real_releases() {
    let trees = std::env::var_os("ROCM_RS_TREES").map(PathBuf::from);
    let trees = trees.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/rocm"));
    let mut releases = 0;
    for (release, llvm) in [("5.7", "llvm-17"), ("6.4", "llvm-21"), ("7.2", "llvm-22")] {
        let usr = std::fs::canonicalize(trees.join(release).join("usr"));
        let Some(usr) = usr.ok().filter(|_| cfg!(target_arch = "x86_64")) else { continue };
        releases += 1;
        let layout = Search::nowhere().root(&usr).layout().unwrap();
        assert_eq!((layout.kind(), layout.root()), (LayoutKind::Multiarch, usr.as_path()));
        assert_eq!(layout.lib(), usr.join("lib/x86_64-linux-gnu"));
        let found = layout.release().unwrap();
        assert_eq!((found.numbering, &found.text[..3]), (Numbering::Hip, release));
        assert!(layout.include().join("hip/hip_version.h").is_file() || !layout.include().is_dir());
        // With only HIP's own packages, 5.7 has LLVM's library but no folder of LLVM.
        let llvm = Some(llvm).filter(|llvm| usr.join("lib").join(llvm).is_dir()).unwrap_or("llvm");
        assert_eq!(layout.llvm(), usr.join("lib").join(llvm));
    }
    if releases == 0 {
        let _ = writeln!(std::io::stdout(), "SKIPPED: no ROCm in {} (`cargo xtask rocm fetch 7.2`)", trees.display());
    }
}
