//! `libs`: each library, found or missing, intact or broken.
#![cfg(all(feature = "cli", target_os = "linux"))]

mod cli_common;
#[path = "../../rocm-loader/tests/support/mod.rs"]
mod support;

use std::fs;
use std::path::Path;

use cli_common::{Ended, json, on, rocm_sdk};
use rocm_sdk::libraries;
use support::{OWN, Tree, for_a_newer_system};

fn libs(root: &Path, arguments: &str) -> Ended {
    rocm_sdk(&format!("libs {arguments}")).arg("--root").arg(root).end()
}

#[test]
fn every_library_of_the_table_has_a_line() {
    let tree = Tree::new();
    let ended = on(tree.root(), "libs").end();
    let names: Vec<&str> = ended.stdout.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let table: Vec<&str> = libraries::ALL.iter().map(|spec| spec.name()).collect();
    assert_eq!((ended.code, names, ended.stderr.as_str()), (Some(0), table, ""));
    assert!(ended.stdout.lines().all(|line| line.ends_with("  not found")), "{}", ended.stdout);
}

#[test]
fn whole_output_of_three_libraries() {
    let tree = Tree::new();
    tree.stub("rocm/lib/libamdhip64.so.7.2.53211", "libamdhip64.so.7", 0);
    tree.link("libamdhip64.so.7.2.53211", "rocm/lib/libamdhip64.so.7");
    tree.stub("rocm/lib/librccl.so.9", "librccl.so.9", 0);
    tree.write("rocm/.info/version", "7.2.4");
    let root = tree.path("rocm");
    let at = root.join("lib").display().to_string();
    let ended = libs(&root, "amdhip64 rccl hipfft");
    let expected = format!(
        "amdhip64  libamdhip64.so.7  ROCm 7.2.4  path given in code  {at}/libamdhip64.so.7\n\
         rccl      librccl.so.9      ROCm 7.2.4  path given in code  {at}/librccl.so.9\n\
         hipfft    not found\n"
    );
    assert_eq!((ended.code, ended.stdout, ended.stderr.as_str()), (Some(1), expected, ""));
    // Without names, a missing library is not a failure.
    assert_eq!(libs(&root, "").code, Some(0));
    assert_eq!(libs(&root, "amdhip64 rccl").code, Some(0));
}

#[test]
fn as_json() {
    let tree = Tree::new();
    tree.stub("opt/rocm-6.4.3/lib/libamdhip64.so.6", "libamdhip64.so.6", 0);
    tree.write("opt/rocm-6.4.3/.info/version", "6.4.3-128");
    let path = tree.path("opt/rocm-6.4.3/lib/libamdhip64.so.6");
    let all = json(&on(tree.root(), "libs --json").says());
    assert_eq!(all.as_array().unwrap().len(), libraries::ALL.len());
    let hip = &all[0];
    let found = serde_json::json!({
        "path": path, "soname": "libamdhip64.so.6", "release": "ROCm 6.4.3+128", "version": "6.4.3+128", "step": "/opt", "known": true,
    });
    assert_eq!(
        (&hip["library"], &hip["found"], &hip["reason"]),
        (&"amdhip64".into(), &found, &serde_json::Value::Null)
    );
    let steps = hip["steps"].as_array().unwrap();
    let last = serde_json::json!({ "step": "/opt", "target": path, "opened": true, "fault": null, "remark": null });
    assert_eq!(steps.last(), Some(&last));
    let first = serde_json::json!({
        "step": "/opt", "target": tree.path("opt/rocm"), "opened": false, "fault": null, "remark": "not found",
    });
    assert_eq!(steps[0], first);
    let absent = all.as_array().unwrap().iter().find(|library| library["library"] == "hipblas").unwrap();
    assert_eq!((&absent["found"], &absent["reason"]), (&serde_json::Value::Null, &"not found".into()));
}

#[test]
fn the_steps_are_told_when_asked_for() {
    let tree = Tree::new();
    tree.write("a/lib/libamdhip64.so.7", "text");
    tree.stub("opt/rocm/lib/libamdhip64.so.6", "libamdhip64.so.6", 0);
    let said = on(tree.root(), "libs -v amdhip64").env("ROCM_PATH", tree.path("a")).says();
    let lines: Vec<&str> = said.lines().map(str::trim).collect();
    let [a, opt] = ["a/lib", "opt/rocm/lib"].map(|dir| tree.path(dir).display().to_string());
    assert_eq!(lines[0], format!("amdhip64  libamdhip64.so.6  release unknown  /opt  {opt}/libamdhip64.so.6"));
    let step = |end: &str| lines.iter().position(|line| line.ends_with(end)).unwrap_or_else(|| panic!("{end}: {said}"));
    let order = [
        step(&format!("{a}/libamdhip64.so.7 [ROCM_PATH]: not a shared library but text")),
        step(&format!("{a}/libamdhip64.so [ROCM_PATH]: not found")),
        step(&format!("{opt}/libamdhip64.so.7 [/opt]: not found")),
        step(&format!("{opt}/libamdhip64.so.6 [/opt]: opened")),
    ];
    assert!(order.is_sorted() && order[3] == lines.len() - 1, "{said}");
}

/// A broken library is reported with its cause, and is a failure even if it was not named.
#[test]
fn broken_libraries() {
    let tree = Tree::new();
    let lib = |name: &str| format!("rocm/lib/{name}");
    tree.write(&lib("libamdhip64.so.7"), "\x7fELF but no more");
    tree.patched(&lib("libhipblas.so.3"), "libhipblas.so.3", 18, &[183, 0]);
    fs::create_dir_all(tree.path(&lib("librccl.so.1"))).unwrap();
    tree.link("libhiprand.so.1.9", &lib("libhiprand.so.1"));
    tree.library(
        &lib("libhsa-runtime64.so.1"),
        "libhsa-runtime64.so.1",
        "#include <stdlib.h>\n__attribute__((constructor)) static void at_once(void) { abort(); }",
    );
    tree.library(
        &lib("librocfft.so.0"),
        "librocfft.so.0",
        "extern int nowhere(void); int f(void) { return nowhere(); }",
    );
    tree.stub("hidden/libdeep.so.1", "libdeep.so.1", 0);
    let hidden = tree.path("hidden/libdeep.so.1").display().to_string();
    tree.library_with(&lib("librocrand.so.1"), "librocrand.so.1", "int f;", &["-Wl,--no-as-needed", &hidden]);
    let root = tree.path("rocm");
    let ended = libs(&root, "");
    let line = |name: &str| ended.stdout.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap();
    let at = root.join("lib").display().to_string();
    for (name, why) in [
        ("amdhip64", format!("{at}/libamdhip64.so.7: not a shared library but a truncated ELF file")),
        ("rccl", format!("{at}/librccl.so.1: not a regular file")),
        ("hiprand", "not found".to_owned()),
    ] {
        assert!(line(name).ends_with(&format!("  {why}")), "{}", line(name));
    }
    if cfg!(target_arch = "x86_64") {
        let why = format!("{at}/libhipblas.so.3: built for AArch64, but this program runs on x86-64");
        assert!(line("hipblas").ends_with(&why), "{}", line("hipblas"));
    }
    let crash = format!("  {at}/libhsa-runtime64.so.1: opening it ended the process: signal: 6");
    assert!(line("hsa-runtime64").contains(&crash), "{}", line("hsa-runtime64"));
    assert!(line("rocfft").contains("undefined symbol: nowhere"), "{}", line("rocfft"));
    assert!(
        line("rocrand").contains("librocrand.so.1: needs libdeep.so.1, which was not found"),
        "{}",
        line("rocrand")
    );
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(1), ""));

    let broken = json(&libs(&root, "rccl rocrand hsa-runtime64 rocfft --json").stdout);
    let faults: Vec<_> =
        (0..4).map(|n| broken[n]["steps"].as_array().unwrap().iter().find_map(|s| s["fault"].as_str())).collect();
    assert_eq!(faults, ["not-a-library", "dependency-missing", "crashed", "refused"].map(Some));
}

/// Each library is opened alone, in any order: its dependencies are found in the installation, where the loader does
/// not search.
#[test]
fn one_library_does_not_need_another_to_be_open() {
    let tree = Tree::new();
    tree.stub("rocm/lib/llvm/lib/libLLVM.so.20.1", "libLLVM.so.20.1", 0);
    let llvm = tree.path("rocm/lib/llvm/lib/libLLVM.so.20.1").display().to_string();
    let needs = ["-Wl,--no-as-needed", &llvm];
    tree.library_with("rocm/lib/libamd_comgr.so.3", "libamd_comgr.so.3", "int f;", &needs);
    let ended = libs(&tree.path("rocm"), "LLVM amd_comgr");
    let found = format!("LLVM       libLLVM.so.20.1    release unknown  path given in code  {llvm}\n");
    assert!(ended.stdout.contains(&found), "{}", ended.stdout);
    assert_eq!(ended.code, Some(0));
    // Another directory of the installation is not searched.
    std::fs::create_dir_all(tree.path("rocm/elsewhere")).unwrap();
    std::fs::rename(&llvm, tree.path("rocm/elsewhere/libLLVM.so.20.1")).unwrap();
    let ended = libs(&tree.path("rocm"), "amd_comgr");
    assert!(ended.stdout.contains("libamd_comgr.so.3: needs libLLVM.so.20.1, which was not found"), "{}", ended.stdout);
    assert_eq!(ended.code, Some(1));
    std::fs::rename(tree.path("rocm/elsewhere/libLLVM.so.20.1"), &llvm).unwrap();
    // If the library has a run path, it works.
    let needs = ["-Wl,--no-as-needed", &llvm, "-Wl,-rpath,$ORIGIN/llvm/lib"];
    tree.library_with("rocm/lib/libamd_comgr.so.3", "libamd_comgr.so.3", "int f;", &needs);
    assert_eq!(libs(&tree.path("rocm"), "LLVM amd_comgr").code, Some(0));
}

/// Some libraries write to stdout when they are opened, and crash at the end of the process.
#[test]
fn what_a_library_says_and_how_it_ends_does_no_harm() {
    let tree = Tree::new();
    let c = "#include <stdio.h>\n#include <stdlib.h>\n\
             __attribute__((constructor)) static void first(void) { puts(\"{\\\"library\\\":\\\"x\\\"}\"); fflush(stdout); fputs(\"hello\", stderr); }\n\
             __attribute__((destructor)) static void last(void) { abort(); }";
    tree.library("rocm/lib/libamdhip64.so.7", "libamdhip64.so.7", c);
    let ended = libs(&tree.path("rocm"), "amdhip64 --json");
    assert_eq!(json(&ended.stdout)[0]["found"]["soname"], "libamdhip64.so.7");
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
}

/// A rejected variable may be the cause.
#[test]
fn a_refused_variable_is_told() {
    let tree = Tree::new();
    let ended = on(tree.root(), "libs amdhip64").env("ROCM_PATH", "rocm").end();
    let expected = "amdhip64  not found; rocm [ROCM_PATH]: rejected: a relative path\n";
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), expected));
}

#[test]
fn a_library_that_takes_too_long() {
    let tree = Tree::new();
    let c = "#include <unistd.h>\n__attribute__((constructor)) static void wait(void) { sleep(100000); }";
    let path = tree.library("rocm/lib/libamdhip64.so.7", "libamdhip64.so.7", c);
    let ended = libs(&tree.path("rocm"), "amdhip64 --time-limit 1");
    let expected = format!("amdhip64  {}: opening it took more than 1 s\n", path.display());
    assert_eq!((ended.code, ended.stdout, ended.stderr.as_str()), (Some(1), expected, ""));
}

/// A library that leaves a process behind, which holds the pipe.
#[test]
fn a_library_that_starts_a_program() {
    let tree = Tree::new();
    let log = tree.path("pid");
    let c = format!(
        "#include <stdio.h>\n#include <unistd.h>\n\
         __attribute__((constructor)) static void go(void) {{ pid_t child = fork(); \
         if (child == 0) {{ sleep(100000); _exit(0); }} \
         FILE *f = fopen(\"{}\", \"w\"); fprintf(f, \"%d\", child); fclose(f); }}",
        log.display()
    );
    tree.library("rocm/lib/libamdhip64.so.7", "libamdhip64.so.7", &c);
    assert_eq!(libs(&tree.path("rocm"), "amdhip64 --time-limit 100000").code, Some(0));
    // It is killed with the process that opened the library.
    support::until_ended(&fs::read_to_string(log).unwrap());
}

#[test]
fn unknown_names() {
    let error = rocm_sdk("libs amdhip64 libhipblas.so").fails();
    assert!(error.contains("libhipblas.so") && error.contains("hipblas"), "{error}");
    let error = rocm_sdk("libs cublas").fails();
    assert!(error.contains("cublas"), "{error}");
}

/// A file of another user; root can read everything, so root runs the command as nobody.
#[test]
fn unreadable() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::os::unix::process::CommandExt as _;
    let tree = Tree::new();
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let path = tree.stub("rocm/lib/libamdhip64.so.7", "libamdhip64.so.7", 0);
    tree.stub("rocm/closed/lib/librccl.so.1", "librccl.so.1", 0);
    mode(&path, 0o000);
    mode(tree.root(), 0o755);
    let program = tree.path("rocm-sdk");
    cli_common::copy_program(&program);
    let end = |root: &str, name: &str| {
        let mut command = std::process::Command::new(&program);
        command.env_clear().current_dir("/").args(["libs", name, "--root"]).arg(tree.path(root));
        if fs::metadata(&path).unwrap().uid() == 0 {
            command.uid(65534).gid(65534);
        }
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, said) = end("rocm", "amdhip64");
    let expected = format!("amdhip64  {}: cannot be read: Permission denied (os error 13)\n", path.display());
    assert_eq!((code, said), (Some(1), expected));
    mode(&tree.path("rocm/closed"), 0o000);
    let (code, said) = end("rocm/closed", "rccl");
    mode(&tree.path("rocm/closed"), 0o755);
    assert!(
        code == Some(1) && said.contains("closed/lib") && said.contains("cannot be read: Permission denied"),
        "{said}"
    );
}

/// AMD's wheels are several directories of one installation.
#[test]
fn libraries_of_every_wheel() {
    let tree = Tree::new();
    let site = "venv/lib/python3.12/site-packages";
    tree.stub(&format!("{site}/_rocm_sdk_core/lib/libamdhip64.so.7"), "libamdhip64.so.7", 0);
    tree.stub(&format!("{site}/_rocm_sdk_libraries_gfx94X_dcgpu/lib/libhipblas.so.3"), "libhipblas.so.3", 0);
    tree.write(&format!("{site}/rocm_sdk_core-7.10.0a20251120.dist-info/METADATA"), "");
    tree.write(&format!("{site}/rocm_sdk_libraries_gfx94x_dcgpu-7.10.0a20251120.dist-info/METADATA"), "");
    let at = tree.path(site).display().to_string();
    let expected = |step: &str| {
        format!(
            "amdhip64  libamdhip64.so.7  ROCm 7.10.0-a20251120  {step}  {at}/_rocm_sdk_core/lib/libamdhip64.so.7\n\
             hipblas   libhipblas.so.3   ROCm 7.10.0-a20251120  {step}  {at}/_rocm_sdk_libraries_gfx94X_dcgpu/lib/libhipblas.so.3\n"
        )
    };
    for variable in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
        let said = on(tree.root(), "libs amdhip64 hipblas").env(variable, tree.path("venv")).says();
        assert_eq!(said, expected(&format!("wheels of {variable}")));
    }
    let ended = libs(&tree.path(site).join("_rocm_sdk_core"), "amdhip64 hipblas");
    assert_eq!((ended.code, ended.stdout), (Some(0), expected("path given in code")));
}

/// Only the system loader finds it.
#[test]
#[cfg(target_env = "gnu")]
fn a_library_of_the_system() {
    let tree = Tree::new();
    tree.stub("x/libamdhip64.so.7.2.53211", "libamdhip64.so.7", 0);
    tree.link("libamdhip64.so.7.2.53211", "x/libamdhip64.so.7");
    let run = |names: &str| rocm_sdk(&format!("libs {names}")).env("LD_LIBRARY_PATH", tree.path("x"));
    let path = tree.path("x/libamdhip64.so.7").display().to_string();
    assert_eq!(run("amdhip64").says(), format!("amdhip64  libamdhip64.so.7  HIP 7.2.53211  system loader  {path}\n"));
}

/// A folder that cannot be read does not count as empty.
#[test]
fn an_unreadable_folder_of_installations() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::os::unix::process::CommandExt as _;
    let tree = Tree::new();
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    tree.write("mine/7.2/.packages", "Sets: hip\n");
    mode(tree.root(), 0o755);
    let (mine, program) = (tree.path("mine"), tree.path("rocm-sdk"));
    cli_common::copy_program(&program);
    let end = |arguments: &str| {
        let mut command = std::process::Command::new(&program);
        command.env_clear().env("ROCM_SDK_INSTALL_DIR", &mine).current_dir("/").args(arguments.split(' '));
        if fs::metadata(&mine).unwrap().uid() == 0 {
            command.uid(65534).gid(65534);
        }
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    mode(&mine, 0o000);
    let ends: Vec<_> = ["list", "remove 7.2", "run 7.2 -- /bin/true", "libs amdhip64"]
        .into_iter()
        .map(|run| (run, end(run)))
        .collect();
    mode(&mine, 0o755);
    for (run, (code, stdout, stderr)) in ends {
        let said = if run.starts_with("libs") { stdout } else { stderr };
        assert_eq!(code, Some(1), "{run}: {said}");
        assert!(said.contains(&mine.display().to_string()) && said.contains("Permission denied"), "{run}: {said}");
    }
}

/// Scripts read these names: removing or changing one breaks them.
#[test]
fn the_names_in_its_json() {
    let tree = Tree::new();
    tree.stub("rocm/lib/libamdhip64.so.7", "libamdhip64.so.7", 0);
    let text = rocm_sdk("libs amdhip64 --json --root").arg(tree.path("rocm")).says();
    let found = "found found.path found.soname found.release found.version found.step found.known";
    let steps = "steps steps[].step steps[].target steps[].opened steps[].fault steps[].remark";
    let expected = format!("library {found} reason {steps}");
    let expected: Vec<String> = expected.split(' ').map(|name| format!("[]{name}")).collect();
    assert_eq!(cli_common::keys(&text), expected, "{text}");
}

/// After `rocm-sdk install` on an older distribution: the command that starts programs is told once.
#[test]
#[cfg(all(target_env = "gnu", target_arch = "x86_64"))]
fn libraries_for_a_newer_system() {
    let tree = Tree::new();
    for_a_newer_system(&tree);
    let run = |arguments: &str| on(tree.root(), arguments).env("ROCM_SDK_INSTALL_DIR", tree.path("own"));
    let at = tree.path(OWN).display().to_string();
    let said = run("libs amdhip64 hiprtc").says();
    let (table, how) = said.split_once("\n\n").unwrap();
    let expected = format!(
        "amdhip64  libamdhip64.so.7  ROCm 7.2.4  rocm-sdk install  {at}/libamdhip64.so.7\n\
         hiprtc    libhiprtc.so.7    ROCm 7.2.4  rocm-sdk install  {at}/libhiprtc.so.7"
    );
    assert_eq!(table, expected);
    assert!(
        how.starts_with("2 of these need a newer C library than this machine has (up to glibc 2.999, not 2."),
        "{how}"
    );
    assert!(
        how.ends_with("start programs by `rocm-sdk run 7.2 -- PROGRAM`\n") && said.matches("rocm-sdk run").count() == 1,
        "{said}"
    );
    assert_eq!((run("libs").end().code, run("libs hipblas").end().code), (Some(0), Some(1)));
    let hip = &json(&run("libs amdhip64 --json").says())[0];
    assert_eq!(
        (&hip["found"], &hip["through"]["run"]),
        (&serde_json::Value::Null, &"rocm-sdk run 7.2 -- PROGRAM".into())
    );
    assert_eq!(
        (&hip["through"]["library"]["version"], &hip["through"]["needed"]),
        (&"7.2.4".into(), &"glibc 2.998".into())
    );

    // Without that C library, nothing starts programs on it.
    std::fs::remove_file(tree.path(OWN).join("ld-linux-x86-64.so.2")).unwrap();
    let ended = run("libs amdhip64").end();
    assert!(
        ended.code == Some(1) && ended.stdout.contains("needs glibc 2.998, this machine has 2."),
        "{}",
        ended.stdout
    );
}
