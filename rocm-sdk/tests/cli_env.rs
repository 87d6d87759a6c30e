//! `env`: shells evaluate its lines correctly, whatever the installation's path is.
#![cfg(all(feature = "cli", target_os = "linux"))]

mod cli_common;
#[path = "../../rocm-loader/tests/support/mod.rs"]
mod support;

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use cli_common::{Run, on, rocm_sdk};
use support::Tree;

const HOSTILE: &[&[u8]] = &[
    b"plain",
    b"a b  c",
    b" ends with blanks  ",
    b"it's",
    b"''",
    b"say \"x\"",
    b"$HOME ${PATH} $(echo x) `echo x`",
    b"back\\slash\\",
    b"\\'",
    b"bang! !!",
    b"semi;colon & amp | bar > out < in",
    b"star* quest? [a-z] {a,b} ~",
    b"#hash %percent ^caret",
    b"-n --root",
    b"two\nlines\n",
    b"tab\tand\rreturn",
    "ünïcode \u{2018}quoted\u{2019}".as_bytes(),
    b"no text \xff\xfe",
];

/// Makes an installation with everything that `env` looks for.
fn install(root: &Path) {
    for dir in ["bin", "lib/cmake"] {
        fs::create_dir_all(root.join(dir)).unwrap();
    }
    fs::write(root.join("lib/libamdhip64.so.7"), "").unwrap();
}

fn has(shell: &str) -> bool {
    let there = Command::new(shell).args(["-c", "exit 0"]).output().is_ok();
    if !there {
        let _ = writeln!(std::io::stdout(), "SKIPPED: no {shell} here");
    }
    there
}

/// Returns the variables after a shell has run `line`, in which `$ROCM_SDK` and `$ROOT` name the program and the root.
fn after(shell: &str, line: &str, root: &Path, variables: &[(&str, &str)]) -> HashMap<OsString, OsString> {
    let mut command = Command::new(shell);
    if shell.ends_with("csh") {
        command.arg("-f");
    }
    command.args(["-c", &format!("{line}; /usr/bin/env -0")]);
    let run = Run::new(command).env("ROCM_SDK", cli_common::PROGRAM);
    // Two ways to pass the root: not every shell can pass every word.
    let run = run.env("ROOT", root).env("HIP_PATH", root).env("LC_ALL", "C.UTF-8");
    let run = variables.iter().fold(run, |run, (name, value)| run.env(name, *value));
    let output = run.output();
    assert!(output.status.success() && output.stderr.is_empty(), "{shell}: {output:?}");
    let entries = output.stdout.split(|&b| b == 0).filter_map(|entry| {
        let at = entry.iter().position(|&b| b == b'=')?;
        Some((OsString::from_vec(entry[..at].to_vec()), OsString::from_vec(entry[at + 1..].to_vec())))
    });
    entries.collect()
}

/// Directories joined by colons.
fn joined(directories: &[PathBuf], rest: &str) -> OsString {
    let mut all: Vec<&OsStr> = directories.iter().map(|dir| dir.as_os_str()).collect();
    all.extend((!rest.is_empty()).then(|| OsStr::new(rest)));
    all.join(OsStr::new(":"))
}

fn check(shell: &str, line: &str) {
    if !has(shell) {
        return;
    }
    let tree = Tree::new();
    let path = std::env::var("PATH").unwrap();
    for name in HOSTILE {
        if shell == "tcsh" && name.contains(&b'\n') {
            continue;
        }
        let root = tree.root().join(OsStr::from_bytes(name));
        install(&root);
        for (before, times) in [("", 1), ("/x/lib:/y/lib", 1), ("/x/lib", 2)] {
            let line = vec![line; times].join("; ");
            let mut variables = vec![];
            if !before.is_empty() {
                variables = vec![("LD_LIBRARY_PATH", before), ("CMAKE_PREFIX_PATH", before)];
            }
            let set = after(shell, &line, &root, &variables);
            let value = |name: &str| set.get(OsStr::new(name)).cloned().unwrap_or_default();
            assert_eq!(value("ROCM_PATH"), root.as_os_str(), "{shell}");
            assert_eq!(value("PATH"), joined(&[root.join("bin")], &path), "{shell} {root:?}");
            assert_eq!(value("LD_LIBRARY_PATH"), joined(&[root.join("lib")], before), "{shell} {root:?}");
            assert_eq!(value("CMAKE_PREFIX_PATH"), joined(&[root.join("lib/cmake")], before), "{shell} {root:?}");
        }
    }
}

const POSIX: &str = "eval \"$(\"$ROCM_SDK\" --root \"$ROOT\" env --shell sh)\"";

#[test]
fn sh() {
    check("sh", POSIX);
    // Scripts that stop at unset variables and failures.
    check("sh", &format!("set -eu; {POSIX}"));
}

#[test]
fn bash() {
    check("bash", POSIX);
}

#[test]
fn dash() {
    check("dash", POSIX);
}

#[test]
fn zsh() {
    check("zsh", POSIX);
}

#[test]
fn ksh() {
    check("ksh", POSIX);
}

#[test]
fn fish() {
    check("fish", "\"$ROCM_SDK\" --root \"$ROOT\" env --shell fish | source");
}

#[test]
fn tcsh() {
    check("tcsh", "eval \"`$ROCM_SDK env --shell csh`\"");
}

/// Compares the lines as text, without the shells.
#[test]
fn lines_for_each_shell() {
    let tree = Tree::new();
    let root = tree.path("it's ‘odd’! \\");
    install(&root);
    let there = tree.root().display().to_string();
    let run = |shell: &str| {
        let run = rocm_sdk("--root").arg(&root).args(["env", "--shell", shell]);
        run.env("PATH", "/usr/bin").env("LD_LIBRARY_PATH", "/x/lib").says().replace(&there, "T")
    };
    assert_eq!(
        run("sh"),
        r#"export ROCM_PATH='T/it'\''s ‘odd’! \'
case ":${CMAKE_PREFIX_PATH-}:" in *:'T/it'\''s ‘odd’! \/lib/cmake':*) ;; *) export CMAKE_PREFIX_PATH='T/it'\''s ‘odd’! \/lib/cmake'"${CMAKE_PREFIX_PATH:+:${CMAKE_PREFIX_PATH}}" ;; esac
case ":${LD_LIBRARY_PATH-}:" in *:'T/it'\''s ‘odd’! \/lib':*) ;; *) export LD_LIBRARY_PATH='T/it'\''s ‘odd’! \/lib'"${LD_LIBRARY_PATH:+:${LD_LIBRARY_PATH}}" ;; esac
case ":${PATH-}:" in *:'T/it'\''s ‘odd’! \/bin':*) ;; *) export PATH='T/it'\''s ‘odd’! \/bin'"${PATH:+:${PATH}}" ;; esac
"#
    );
    assert_eq!(
        run("fish"),
        r"set -gx ROCM_PATH 'T/it\'s ‘odd’! \\'
contains -- 'T/it\'s ‘odd’! \\/lib/cmake' $CMAKE_PREFIX_PATH; or set -gx --path --prepend CMAKE_PREFIX_PATH 'T/it\'s ‘odd’! \\/lib/cmake'
contains -- 'T/it\'s ‘odd’! \\/lib' $LD_LIBRARY_PATH; or set -gx --path --prepend LD_LIBRARY_PATH 'T/it\'s ‘odd’! \\/lib'
contains -- 'T/it\'s ‘odd’! \\/bin' $PATH; or set -gx --path --prepend PATH 'T/it\'s ‘odd’! \\/bin'
"
    );
    assert_eq!(
        run("csh"),
        r"setenv ROCM_PATH 'T/it'\''s ‘odd’\! \';
setenv CMAKE_PREFIX_PATH 'T/it'\''s ‘odd’\! \/lib/cmake';
setenv LD_LIBRARY_PATH 'T/it'\''s ‘odd’\! \/lib:/x/lib';
setenv PATH 'T/it'\''s ‘odd’\! \/bin:/usr/bin';
"
    );
    let again = rocm_sdk("env --shell csh --root").arg(&root).env("PATH", root.join("bin")).says();
    assert!(again.contains("setenv LD_LIBRARY_PATH ") && !again.contains("setenv PATH "), "{again}");
    let powershell = run("powershell");
    let lines: Vec<&str> = powershell.lines().collect();
    assert_eq!(lines[0], r"$env:ROCM_PATH = 'T/it''s ‘‘odd’’! \'");
    assert_eq!(
        lines[3],
        r"if (($env:PATH -split [IO.Path]::PathSeparator) -cnotcontains 'T/it''s ‘‘odd’’! \/bin') { $env:PATH = (@('T/it''s ‘‘odd’’! \/bin') + @($env:PATH -split [IO.Path]::PathSeparator | Where-Object { $_ })) -join [IO.Path]::PathSeparator }"
    );
    assert_eq!(lines.len(), 4);
}

#[test]
fn the_shell_is_that_of_the_user() {
    let tree = Tree::new();
    install(&tree.path("opt/rocm"));
    for (shell, start) in [
        ("/bin/bash", "export ROCM_PATH="),
        ("/usr/bin/fish", "set -gx ROCM_PATH "),
        ("/bin/tcsh", "setenv ROCM_PATH "),
        ("/usr/bin/pwsh", "$env:ROCM_PATH = "),
        ("", "export ROCM_PATH="),
    ] {
        let said = on(tree.root(), "env").env("SHELL", shell).says();
        assert!(said.starts_with(start), "{shell}: {said}");
    }
    assert!(on(tree.root(), "env --shell sh").env("SHELL", "/usr/bin/fish").says().starts_with("export"));
}

#[test]
fn of_wheels_all_libraries() {
    let tree = Tree::new();
    let site = "venv/lib/python3.12/site-packages";
    for wheel in ["_rocm_sdk_core", "_rocm_sdk_libraries_gfx94X_dcgpu"] {
        install(&tree.path(&format!("{site}/{wheel}")));
    }
    let said = on(&tree.path("none"), "env --shell csh").env("VIRTUAL_ENV", tree.path("venv")).says();
    let site = tree.path(site).display().to_string();
    let expected =
        format!("setenv LD_LIBRARY_PATH '{site}/_rocm_sdk_core/lib:{site}/_rocm_sdk_libraries_gfx94X_dcgpu/lib';\n");
    assert_eq!(said.lines().rfind(|line| line.contains("LD_LIBRARY_PATH")), expected.strip_suffix('\n'));
}

#[test]
fn directories_that_are_not_there_are_left_out() {
    let tree = Tree::new();
    tree.write("opt/rocm/lib/libamdhip64.so.7", "");
    let root = tree.path("opt/rocm").display().to_string();
    let said = on(tree.root(), "env --shell fish").says();
    let lib = format!(
        "contains -- '{root}/lib' $LD_LIBRARY_PATH; or set -gx --path --prepend LD_LIBRARY_PATH '{root}/lib'\n"
    );
    assert_eq!(said, format!("set -gx ROCM_PATH '{root}'\n{lib}"));
}

/// A colon cannot be in PATH, nor bytes that are not Unicode in PowerShell, nor a line end in text that csh evaluates.
#[test]
fn what_cannot_be_said_is_told() {
    let tree = Tree::new();
    let root = tree.path("a:b");
    install(&root);
    let ended = rocm_sdk("env --shell sh --root").arg(&root).end();
    assert_eq!((ended.code, ended.stdout), (Some(0), format!("export ROCM_PATH='{}'\n", root.display())));
    assert!(ended.stderr.lines().all(|line| line.starts_with("WARNING: ")) && ended.stderr.lines().count() == 3);
    let root = tree.root().join(OsStr::from_bytes(b"\xff"));
    install(&root);
    assert!(rocm_sdk("env --shell powershell --root").arg(&root).fails().contains("Unicode"));
    let root = tree.path("two\nlines");
    install(&root);
    assert!(rocm_sdk("env --shell csh --root").arg(&root).fails().contains("line end"));
}

/// Its directories in PATH or LD_LIBRARY_PATH would crash every program of the shell.
#[test]
fn a_tree_with_its_own_c_library() {
    let tree = Tree::new();
    install(&tree.path("opt/rocm"));
    tree.write("opt/rocm/lib/libc.so.6", "");
    let ended = on(tree.root(), "env --shell sh").end();
    assert_eq!(ended.code, Some(0));
    assert!(!ended.stdout.contains(" PATH=") && !ended.stdout.contains("LD_LIBRARY_PATH"), "{}", ended.stdout);
    assert!(ended.stdout.contains("CMAKE_PREFIX_PATH") && ended.stdout.contains("ROCM_PATH"), "{}", ended.stdout);
    assert!(ended.stderr.starts_with("WARNING: ") && ended.stderr.contains("C library"), "{}", ended.stderr);
}
