//! The command on real ROCm releases, if they are unpacked (`cargo xtask rocm fetch`). They need a newer C library than
//! most machines have: libraries that cannot be opened as usual are opened through the release's own loader.
#![cfg(all(feature = "cli", target_os = "linux", target_arch = "x86_64"))]

mod cli_common;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use cli_common::{Run, json, rocm_sdk};
use serde_json::Value;

const LIBRARIES: &str = "lib/x86_64-linux-gnu";

/// Returns the unpacked release, if it exists.
fn tree(release: &str) -> Option<PathBuf> {
    let trees = std::env::var_os("ROCM_RS_TREES").map(PathBuf::from);
    let trees = trees.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/rocm"));
    let usr = trees.join(release).join("usr");
    if usr.join(LIBRARIES).is_dir() {
        return usr.canonicalize().ok();
    }
    let why = format!("SKIPPED: no ROCm {release} in {} (`cargo xtask rocm fetch {release}`)", usr.display());
    let _ = writeln!(std::io::stdout(), "{why}");
    None
}

/// Runs the command through the release's loader.
fn inside(usr: &Path, arguments: &str) -> Run {
    let libraries = usr.join(LIBRARIES);
    let mut command = Command::new(libraries.join("ld-linux-x86-64.so.2"));
    command.arg("--library-path").arg(&libraries).arg(cli_common::PROGRAM).args(arguments.split_whitespace());
    Run::new(command).env("ROCM_PATH", usr)
}

/// `libraries` are those in every unpacked release.
fn check(release: &str, libraries: &[(&str, &str)]) {
    let Some(usr) = tree(release) else { return };
    // HIP's version is in the name of its file: `libamdhip64.so.7.2.53211`.
    let file = usr.join(LIBRARIES).join("libamdhip64.so").canonicalize().unwrap();
    let hip = file.to_str().unwrap().rsplit_once(".so.").unwrap().1;
    assert!(hip.starts_with(&format!("{release}.")), "{hip}");
    let there = usr.display().to_string();
    let on_it = |arguments: &str| rocm_sdk(arguments).env("ROCM_PATH", &usr);
    assert_eq!(on_it("version").says(), format!("{hip}\n"));
    assert_eq!(on_it("path --lib").says(), format!("{there}/{LIBRARIES}\n"));
    assert_eq!(on_it("path --cmake").says(), format!("{there}/{LIBRARIES}/cmake\n"));
    assert!(Path::new(on_it("path --include").says().trim_end()).join("hip/hip_runtime_api.h").is_file());
    let llvm = on_it("path --llvm").says();
    assert!(llvm.starts_with(&format!("{there}/lib/llvm-")) && Path::new(llvm.trim_end()).is_dir(), "{llvm}");
    assert!(on_it("targets").fails().contains(&there));

    let names: Vec<&str> = libraries.iter().map(|(name, _)| *name).collect();
    let said = inside(&usr, &format!("libs --json {}", names.join(" "))).says();
    for (probe, (name, soname)) in json(&said).as_array().unwrap().iter().zip(libraries) {
        let found = &probe["found"];
        assert_eq!(
            (&probe["library"], &found["soname"], &found["step"]),
            (&(*name).into(), &(*soname).into(), &"ROCM_PATH".into())
        );
        assert!(found["path"].as_str().unwrap().starts_with(&there) && found["known"] == true, "{found}");
    }
    let version = json(&said)[0]["found"]["version"].clone();
    assert_eq!(version, hip);

    // Inside the release, these have no problem. Outside, they are opened if this machine's C library is new enough; otherwise the report
    // says how to run a program.
    let about = |diagnosis: &Value| -> Vec<String> {
        let all = diagnosis["problems"].as_array().unwrap().iter().map(|problem| problem.to_string());
        all.filter(|problem| {
            names.iter().any(|name| problem.contains(&format!("lib{name}.so")) || problem.contains("C library"))
        })
        .collect()
    };
    let diagnosis = json(&inside(&usr, "doctor --json").end().stdout);
    assert_eq!(diagnosis["places"][0]["path"], there.as_str());
    assert_eq!(about(&diagnosis), Vec::<String>::new());
    let outside = on_it("libs amdhip64").end();
    let diagnosis = json(&on_it("doctor --json").end().stdout);
    if outside.code == Some(1) {
        let loader = format!(
            "start it by `{there}/{LIBRARIES}/ld-linux-x86-64.so.2 --library-path {there}/{LIBRARIES} PROGRAM`"
        );
        assert!(about(&diagnosis)[0].contains(&loader), "{:#?}", about(&diagnosis));
        assert_eq!(diagnosis["usable"], false);
    }

    let report = json(&on_it("test --json").end().stdout);
    let outcomes = report["outcomes"].as_array().unwrap();
    let loads = |soname: &str| {
        let is = |o: &&Value| o["name"].as_str().unwrap().starts_with(&format!("loads: {LIBRARIES}/{soname}"));
        outcomes.iter().find(is).map(|o| o["verdict"].clone())
    };
    for (name, soname) in libraries {
        assert_eq!(loads(soname), Some("ok".into()), "{name}: {report:#}");
    }
}

#[test]
fn rocm_7_2() {
    let all = [
        ("amdhip64", "libamdhip64.so.7"),
        ("hiprtc", "libhiprtc.so.7"),
        ("hiprtc-builtins", "libhiprtc-builtins.so.7"),
        ("amd_comgr", "libamd_comgr.so.3"),
        ("hsa-runtime64", "libhsa-runtime64.so.1"),
    ];
    check("7.2", &all);
}

#[test]
fn rocm_6_4() {
    let all = [
        ("amdhip64", "libamdhip64.so.6"),
        ("hiprtc", "libhiprtc.so.6"),
        ("hiprtc-builtins", "libhiprtc-builtins.so.6"),
        ("amd_comgr", "libamd_comgr.so.3"),
        ("hsa-runtime64", "libhsa-runtime64.so.1"),
    ];
    check("6.4", &all);
}

#[test]
fn rocm_5_7() {
    let all = [
        ("amdhip64", "libamdhip64.so.5"),
        ("hiprtc", "libamdhip64.so.5"),
        ("amd_comgr", "libamd_comgr.so.2"),
        ("hsa-runtime64", "libhsa-runtime64.so.1"),
    ];
    check("5.7", &all);
}

/// `rocm-sdk run` also covers programs that a program starts: a shell, a script, Python. On an older host, nothing else
/// lets them open the release's HIP.
#[test]
fn children_run_on_the_release() {
    let Some(usr) = tree("7.2") else { return };
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(usr.parent().unwrap(), folder.path().join("7.2")).unwrap();
    let run = |words: &[&str]| {
        let mut command = Command::new(cli_common::PROGRAM);
        command.args(["run", "7.2", "--"]).args(words).env("ROCM_SDK_INSTALL_DIR", folder.path());
        let output = command.output().unwrap();
        let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        assert!(output.status.success(), "{words:?}: {out}{err}");
        out
    };
    let own = cli_common::PROGRAM;
    let script = folder.path().join("script");
    // Written by another process: a file that this process has open for writing cannot be executed while another test forks.
    let lines = format!("#!/bin/sh\nreadlink -f /proc/self/exe\n{own} libs amdhip64");
    let write = ["-c", "printf '%s\\n' \"$1\" > \"$0\" && chmod 755 \"$0\"", script.to_str().unwrap(), &lines];
    assert!(Command::new("sh").args(write).status().unwrap().success());
    let out = run(&["sh", "-c", script.to_str().unwrap()]);
    assert!(out.contains("/readlink\n") || out.contains("coreutils\n"), "{out}");
    assert!(out.contains("libamdhip64.so.7") && out.contains("7.2."), "{out}");
    let environment = run(&["bash", "-c", "echo $ROCM_PATH $ROCM_HOME; command -v rocm_agent_enumerator || true"]);
    assert!(environment.starts_with(&format!("{0} {0}\n", folder.path().join("7.2/usr").display())), "{environment}");
    if Command::new("python3").arg("--version").output().is_err() {
        let _ = writeln!(std::io::stdout(), "SKIPPED: no python3: children of Python were not tested");
        return;
    }
    let program = "import subprocess, sys; print(subprocess.check_output(sys.argv[1:], text=True, env={}))";
    let out = run(&["python3", "-c", program, own, "--root", usr.to_str().unwrap(), "libs", "amdhip64"]);
    assert!(out.contains("libamdhip64.so.7"), "{out}");
}
