//! `path`, `version` and `init` in every layout.
#![cfg(all(feature = "cli", target_os = "linux"))]

mod cli_common;
#[path = "../../rocm-loader/tests/support/mod.rs"]
mod support;
mod wheels;

use std::fs;
use std::path::Path;

use cli_common::{Run, on, rocm_sdk};
use support::Tree;
use wheels::{Archive, Site};

const KINDS: [&str; 6] = ["--root", "--bin", "--cmake", "--lib", "--include", "--llvm"];

/// Returns the output of `path` for each option, relative to `root`.
fn paths(root: &Path, run: impl Fn(&str) -> Run) -> [String; 6] {
    KINDS.map(|kind| {
        let said = run(&format!("path {kind}")).says();
        let line = said.strip_suffix('\n').unwrap();
        let below =
            Path::new(line).strip_prefix(root).unwrap_or_else(|_| panic!("{line} is not in {}", root.display()));
        below.display().to_string()
    })
}

/// Makes an installation like AMD's packages.
fn amd(tree: &Tree, root: &str, release: &str, major: u32) {
    let soname = format!("libamdhip64.so.{major}");
    tree.stub(&format!("{root}/lib/{soname}"), &soname, 0);
    tree.write(&format!("{root}/.info/version"), format!("{release}-98\n"));
    tree.write(&format!("{root}/bin/hipcc"), "");
    tree.write(&format!("{root}/lib/llvm/bin/clang"), "");
}

#[test]
fn a_prefix_by_root_by_variable_and_by_search() {
    let tree = Tree::new();
    amd(&tree, "opt/rocm-7.2.4", "7.2.4", 7);
    amd(&tree, "opt/rocm-6.4.3", "6.4.3", 6);
    amd(&tree, "elsewhere", "7.0.2", 7);
    let expected = ["", "bin", "lib/cmake", "lib", "include", "lib/llvm"];

    let newest = tree.path("opt/rocm-7.2.4");
    assert_eq!(paths(&newest, |args| on(tree.root(), args)), expected);
    assert_eq!(on(tree.root(), "version").says(), "7.2.4-98\n");

    let old = tree.path("opt/rocm-6.4.3");
    assert_eq!(paths(&old, |args| rocm_sdk("--root").arg(&old).args(args.split(' '))), expected);
    assert_eq!(rocm_sdk("version --root").arg(&old).says(), "6.4.3-98\n");

    let elsewhere = tree.path("elsewhere");
    let by_variable = |args: &str| on(tree.root(), args).env("ROCM_PATH", &elsewhere);
    assert_eq!(paths(&elsewhere, by_variable), expected);
    assert_eq!(by_variable("version").says(), "7.0.2-98\n");
    assert_eq!(on(tree.root(), "version").env("HIP_PATH", &elsewhere).says(), "7.0.2-98\n");

    // /opt/rocm comes before its siblings.
    tree.link("rocm-6.4.3", "opt/rocm");
    assert_eq!(paths(&tree.path("opt/rocm"), |args| on(tree.root(), args)), expected);
    assert_eq!(on(tree.root(), "version").says(), "6.4.3-98\n");
}

#[test]
fn debian_s_directories() {
    let tree = Tree::new();
    let lib = format!("lib/{}-linux-gnu", std::env::consts::ARCH);
    tree.stub(&format!("usr/{lib}/libamdhip64.so.7.2.53211"), "libamdhip64.so.7", 0);
    tree.link("libamdhip64.so.7.2.53211", &format!("usr/{lib}/libamdhip64.so.7"));
    tree.write("usr/lib/llvm-22/bin/clang", "");
    let root = tree.path("usr");
    let run = |args: &str| rocm_sdk("--root").arg(&root).args(args.split(' '));
    assert_eq!(paths(&root, run), ["", "bin", &format!("{lib}/cmake"), &lib, "include", "lib/llvm-22"]);
    assert_eq!(run("version").says(), "7.2.53211\n");
}

fn in_environment(site: &Site, args: &str) -> Run {
    on(&site.outside().join("no system"), args).env("VIRTUAL_ENV", site.outside())
}

#[test]
fn wheels_are_expanded_when_first_asked_for() {
    let site = Site::with(&Archive::good(), true);
    site.wheel("rocm-sdk-core", "7.10.0a20251120", &[]);
    assert_eq!(in_environment(&site, "version").says(), "7.10.0a20251120\n");
    assert!(site.path("rocm_sdk_devel/_devel.tar.xz").exists());

    let devel = site.path("_rocm_sdk_devel");
    let expected = ["", "bin", "lib/cmake", "lib", "include", "lib/llvm"];
    assert_eq!(paths(&devel, |args| in_environment(&site, args)), expected);
    assert!(devel.join("include/hip/hip_runtime.h").is_file());
    // Once more, and starting from the wheel itself.
    assert_eq!(paths(&devel, |args| in_environment(&site, args)), expected);
    let core = site.path("_rocm_sdk_core");
    assert_eq!(paths(&devel, |args| rocm_sdk("--root").arg(&core).args(args.split(' '))), expected);
    assert_eq!(in_environment(&site, "init").says(), format!("Devel contents expanded to '{}'\n", devel.display()));
}

#[test]
fn init_says_where_and_quietly_nothing() {
    for (arguments, quiet) in [("init", false), ("init --quiet", true)] {
        let site = Site::with(&Archive::good(), false);
        let devel = site.path("_rocm_sdk_devel");
        let line = format!("Devel contents expanded to '{}'\n", devel.display());
        for _ in 0..2 {
            let said = in_environment(&site, arguments).says();
            assert_eq!(said, if quiet { "" } else { &line });
            assert!(devel.join("lib/libamdhip64.so.7").is_file());
        }
    }
}

/// AMD's own command also asks for `rocm[devel]`, and then fails with an unbound variable if even the core is missing.
#[test]
fn wheels_without_the_devel_wheel() {
    let site = Site::new();
    for args in ["path --bin", "init", "init --quiet"] {
        let error = in_environment(&site, args).fails();
        assert!(
            error.contains("rocm[devel]") && error.contains(site.path("x").parent().unwrap().to_str().unwrap()),
            "{error}"
        );
    }
    fs::remove_dir_all(site.path("_rocm_sdk_core")).unwrap();
    for args in ["path --bin", "version", "init"] {
        let error = in_environment(&site, args).fails();
        assert!(error.starts_with("ERROR: ROCm was not found"), "{error}");
    }
}

#[test]
fn a_hostile_archive_is_refused() {
    let site =
        Site::with(&Archive::default().file("__init__.py", "").link("bin/x", "../../../../../../../etc/passwd"), false);
    let before = site.snapshot();
    for args in ["path --root", "init"] {
        let error = in_environment(&site, args).fails();
        assert!(error.contains("_devel.tar") && error.contains("rejected: it leads out of site-packages"), "{error}");
    }
    let after: Vec<_> = site.snapshot().into_keys().filter(|path| !path.ends_with(".devel_reconcile.lock")).collect();
    let before: Vec<_> = before.into_keys().collect();
    assert_eq!(after, before);
}

#[test]
fn what_is_no_wheel_has_nothing_to_expand() {
    let tree = Tree::new();
    amd(&tree, "opt/rocm", "7.2.4", 7);
    let line = format!("Nothing to expand: '{}' is not a Python wheel\n", tree.path("opt/rocm").display());
    assert_eq!(on(tree.root(), "init").says(), line);
    assert_eq!(on(tree.root(), "init --quiet").says(), "");
}

#[test]
fn nothing_installed() {
    let tree = Tree::new();
    let opt = tree.path("opt/rocm");
    for args in ["path --root", "version", "init", "env --shell sh"] {
        let error = on(tree.root(), args).fails();
        let expected = format!(
            "ERROR: ROCm was not found; install ROCm (`rocm-sdk install 7.2`), or set ROCM_PATH to an installation.\nSearch for ROCm:\n   1. {} [/opt]: not found\n",
            opt.display()
        );
        assert_eq!(error, expected);
    }
}

#[test]
fn what_is_named_wrongly_is_told() {
    let tree = Tree::new();
    tree.write("file", "");
    tree.write("empty/readme", "");
    for (name, why) in [("missing", "not found"), ("file", "not a directory"), ("empty", "contains nothing of ROCm")] {
        let path = tree.path(name);
        let error = rocm_sdk("version --root").arg(&path).fails();
        assert!(error.contains(&format!("{} [path given in code]: {why}", path.display())), "{error}");
        let error = on(tree.root(), "path --lib").env("ROCM_PATH", &path).fails();
        assert!(error.contains(&format!("{} [ROCM_PATH]: {why}", path.display())), "{error}");
    }
    let error = on(tree.root(), "version").env("ROCM_PATH", "relative").fails();
    assert!(error.contains("relative [ROCM_PATH]: rejected: a relative path"), "{error}");
}

/// A variable without effect is reported in one line, or is an error.
#[test]
fn a_variable_that_names_nothing_is_told() {
    let tree = Tree::new();
    amd(&tree, "opt/rocm", "7.2.4", 7);
    tree.write("file", "");
    let path = |name: &str| tree.path(name).display().to_string();
    let right = path("opt/rocm");
    for (value, why) in [
        (path("missing"), "not found"),
        ("rocm".to_owned(), "a relative path"),
        (format!("{right} "), "remove the white space"),
        (path("file"), "not a directory"),
        (format!("{right}:{right}"), "name one directory"),
        (String::new(), "is empty"),
    ] {
        for name in ["ROCM_PATH", "HIP_PATH"] {
            for arguments in ["path --lib", "version", "env --shell sh", "libs amdhip64"] {
                let ended = on(tree.root(), arguments).env(name, &value).end();
                assert!(ended.code == Some(0) && !ended.stdout.is_empty(), "{arguments}: {}", ended.stderr);
                let [line] = &ended.stderr.lines().collect::<Vec<_>>()[..] else { panic!("{}", ended.stderr) };
                assert!(line.starts_with(&format!("WARNING: {name}")) && line.contains(why), "{line}");
                let first = on(tree.root(), &format!("--strict {arguments}")).env(name, &value).fails();
                let last = on(tree.root(), &format!("{arguments} --strict")).env(name, &value).fails();
                assert!(first == last && first.contains(why), "{first} {last}");
            }
        }
        assert!(on(tree.root(), "doctor --strict").env("ROCM_PATH", &value).fails().contains(why));
    }
    assert_eq!(on(tree.root(), "version --strict").env("ROCM_PATH", &right).says(), "7.2.4-98\n");
    // With an option for the root, the variables are not read.
    assert_eq!(rocm_sdk("version --strict --root").arg(&right).env("ROCM_PATH", "rocm").says(), "7.2.4-98\n");
}

/// On the command line, a relative path is relative to the user's current directory.
#[test]
fn a_relative_root_is_of_the_current_directory() {
    let tree = Tree::new();
    amd(&tree, "rocm", "7.2.4", 7);
    let mut command = rocm_sdk("--root ./rocm path --bin").command();
    let output = command.current_dir(tree.root()).output().unwrap();
    let current = fs::canonicalize(tree.root()).unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{}\n", current.join("rocm/bin").display()));
}

#[test]
fn an_installation_that_tells_no_release() {
    let tree = Tree::new();
    tree.stub("opt/rocm/lib/libamdhip64.so.7", "libamdhip64.so.7", 0);
    let error = on(tree.root(), "version").fails();
    assert!(error.contains(tree.path("opt/rocm").to_str().unwrap()), "{error}");
    assert_eq!(on(tree.root(), "path --root").says(), format!("{}\n", tree.path("opt/rocm").display()));
}

/// A path can contain any bytes except NUL.
#[test]
fn a_path_that_is_no_text_is_printed_as_it_is() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let tree = Tree::new();
    let odd = tree.root().join(OsStr::from_bytes(b"odd \xff\n$(x)"));
    fs::create_dir_all(odd.join("lib")).unwrap();
    fs::write(odd.join("lib/libamdhip64.so.7"), "").unwrap();
    let output = rocm_sdk("--root").arg(&odd).args(["path", "--lib"]).output();
    let expected = [odd.join("lib").as_os_str().as_bytes(), b"\n"].concat();
    assert_eq!((output.status.code(), output.stdout, output.stderr), (Some(0), expected, Vec::new()));
}
