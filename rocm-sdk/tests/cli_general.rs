//! Properties of every subcommand: help, versions, exit codes, output to a closed pipe.
#![cfg(all(feature = "cli", target_os = "linux"))]

mod cli_common;
#[path = "../../rocm-loader/tests/support/mod.rs"]
mod support;

use std::fs::{self, File};
use std::io::Read as _;
use std::process::Stdio;

use cli_common::{json, keys, on, rocm_sdk};
use support::Tree;

const COMMANDS: &[&str] = &[
    "path",
    "version",
    "targets",
    "init",
    "test",
    "libs",
    "doctor",
    "env",
    "install",
    "list",
    "remove",
    "run",
    "completions",
];

#[test]
fn every_subcommand_has_its_help() {
    let all = rocm_sdk("--help").says();
    assert!(all.contains("Exit codes:") && all.contains("Examples:"), "{all}");
    for command in COMMANDS {
        assert!(all.lines().any(|line| line.trim_start().starts_with(&format!("{command} "))), "{command}: {all}");
        let own = rocm_sdk(&format!("{command} --help")).says();
        assert!(own.contains(&format!("Usage: rocm-sdk {command}")), "{own}");
        assert!(rocm_sdk(&format!("{command} -h")).says().lines().count() <= own.lines().count());
    }
    // Internal subcommands are hidden from users.
    assert!(!all.contains("__open"), "{all}");
}

#[test]
fn its_own_version() {
    assert_eq!(rocm_sdk("--version").says(), format!("rocm-sdk {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_wrong_command_line_ends_with_2() {
    for wrong in ["", "frobnicate", "path", "path --root --bin", "libs --frob", "env --shell tcl", "install", "run 7.2"]
    {
        let ended = rocm_sdk(wrong).end();
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{wrong}");
        assert!(ended.stderr.contains("--help") || ended.stderr.contains("Usage: "), "{wrong}: {}", ended.stderr);
    }
}

/// `rocm-sdk doctor | head -1`
#[test]
fn a_reader_that_stops_is_no_panic() {
    let tree = Tree::new();
    for arguments in ["doctor", "doctor --json", "libs", "libs --json", "completions bash", "--help", "--version"] {
        let mut command = on(tree.root(), arguments).command();
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let status = child.wait().unwrap();
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(status.code().is_some_and(|code| code < 2) && said.is_empty(), "{arguments}: {status} {said}");
    }
}

#[test]
fn a_full_disk_is_an_error() {
    let tree = Tree::new();
    for arguments in ["libs", "completions zsh"] {
        let mut command = on(tree.root(), arguments).command();
        let output = command.stdout(File::options().write(true).open("/dev/full").unwrap()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.starts_with("ERROR: writing to stdout: No space left on device"), "{arguments}: {said}");
        assert_eq!(output.status.code(), Some(1));
    }
}

/// Its output is never coloured except the help on a terminal, where `NO_COLOR` applies.
#[test]
fn no_colours_in_a_pipe() {
    let tree = Tree::new();
    for arguments in ["doctor", "libs", "--help", "libs --frob"] {
        for (name, value) in [("TERM", "xterm-256color"), ("NO_COLOR", "1")] {
            let ended = on(tree.root(), arguments).env(name, value).end();
            assert!(!format!("{}{}", ended.stdout, ended.stderr).contains('\x1b'), "{arguments}");
        }
    }
}

#[test]
fn completions_name_the_subcommands() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = rocm_sdk(&format!("completions {shell}")).says();
        assert!(COMMANDS.iter().all(|command| script.contains(command)), "{shell}");
    }
}

#[test]
fn nothing_installed_by_this_command() {
    let tree = Tree::new();
    let folder = tree.path("installs");
    let run = |arguments: &str| rocm_sdk(arguments).env("ROCM_SDK_INSTALL_DIR", &folder);
    let ended = run("list").end();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""));
    assert_eq!(ended.stderr, format!("nothing is installed in '{}'\n", folder.display()));
    assert_eq!(json(&run("list --json").says()), serde_json::json!([]));
    for arguments in ["remove 7.2", "run 7.2 -- true"] {
        let error = run(arguments).fails();
        assert!(error.contains("7.2") && error.contains(folder.to_str().unwrap()), "{error}");
    }
    let error = run("install 3.14").fails();
    assert!(error.contains("3.14") && error.contains("7.2"), "{error}");
    assert!(!folder.exists());
    // Without a home directory there is no folder either.
    let error = rocm_sdk("list").fails();
    assert!(error.contains("ROCM_SDK_INSTALL_DIR"), "{error}");
}

/// `list`, `remove` and the search find complete installations, and `remove` an interrupted one.
#[test]
fn an_installation_is_listed_found_and_removed() {
    let tree = Tree::new();
    let folder = tree.path("installs");
    tree.stub("installs/7.2/usr/lib/libamdhip64.so.7", "libamdhip64.so.7", 0);
    tree.write("installs/7.2/usr/.info/version", "7.2.4\n");
    tree.write("installs/6.4/usr/lib/libamdhip64.so.6", "cut off");
    let run = |arguments: &str| on(&tree.path("no system"), arguments).env("ROCM_SDK_INSTALL_DIR", &folder);
    assert_eq!(run("list").end().stdout, "");
    let error = run("version").fails();
    assert!(error.contains("incomplete: run `rocm-sdk install 7.2` again"), "{error}");
    tree.write("installs/7.2/.packages", "Sets: hip rocblas\n");
    let root = tree.path("installs/7.2/usr").display().to_string();
    assert_eq!(run("list").says(), format!("7.2\t7.2.4\t{root}\trocblas\n"));
    let expected =
        serde_json::json!([{ "release": "7.2", "version": "7.2.4", "root": root, "libraries": ["rocblas"] }]);
    assert_eq!(json(&run("list --json").says()), expected);
    assert_eq!(keys(&run("list --json").says()), ["[]release", "[]version", "[]root", "[]libraries"]);
    assert_eq!(run("version").says(), "7.2.4\n");
    assert_eq!(run("path --root").says(), format!("{root}\n"));
    let said = run("remove 7.2").says();
    assert_eq!(said, format!("ROCm 7.2.4 removed from '{}'\n", tree.path("installs/7.2").display()));
    assert!(!tree.path("installs/7.2").exists() && tree.path("installs/6.4").exists());
    assert!(run("remove 7.2").fails().contains("7.2"));
}

/// The program replaces the command: its output and exit code are the program's own.
#[test]
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
fn a_program_runs_on_an_installation() {
    let tree = Tree::new();
    tree.write("installs/7.2/.packages", "Sets: hip\n");
    tree.link("/lib64/ld-linux-x86-64.so.2", "installs/7.2/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2");
    let run = |words: &[&str]| rocm_sdk("run").args(words).env("ROCM_SDK_INSTALL_DIR", tree.path("installs")).end();
    let root = tree.path("installs/7.2/usr").display().to_string();
    let ended = run(&["7.2", "--", "sh", "-c", "echo \"$ROCM_PATH $1\"; exit 7", "sh", "--help"]);
    assert_eq!((ended.code, ended.stdout, ended.stderr), (Some(7), format!("{root} --help\n"), String::new()));
    // Also without the dashes in between.
    assert_eq!(run(&["7.2", "sh", "-c", "exit 3"]).code, Some(3));
    let ended = run(&["7.2", "--", "no-such-program"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.starts_with("ERROR: ") && ended.stderr.contains("no-such-program"), "{}", ended.stderr);
    // The command itself, which starts itself again for each library.
    let ended = run(&["7.2", "--", cli_common::PROGRAM, "libs", "amdhip64", "--root", &root]);
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(1), "amdhip64  not found\n", ""));
}

#[test]
fn a_damaged_installation_is_an_error() {
    let tree = Tree::new();
    tree.write("installs/7.2/.packages", "what is this");
    let error = rocm_sdk("list").env("ROCM_SDK_INSTALL_DIR", tree.path("installs")).fails();
    assert!(error.contains(tree.path("installs/7.2/.packages").to_str().unwrap()), "{error}");
}

/// AMD's own command prints the same: the text of `dist_info.json`.
#[test]
fn targets_of_a_distribution() {
    let tree = Tree::new();
    tree.stub("opt/rocm/lib/libamdhip64.so.7", "libamdhip64.so.7", 0);
    let error = on(tree.root(), "targets").fails();
    assert!(error.contains("opt/rocm") && error.contains("dist_info.json"), "{error}");
    let info = tree.write("opt/rocm/share/therock/dist_info.json", r#"{"dist_amdgpu_targets": "gfx942;gfx950"}"#);
    assert_eq!(on(tree.root(), "targets").says(), "gfx942;gfx950\n");
    std::fs::write(&info, "{").unwrap();
    let error = on(tree.root(), "targets").fails();
    assert!(error.contains(info.to_str().unwrap()), "{error}");

    let site = "venv/lib/python3.12/site-packages";
    tree.stub(&format!("{site}/_rocm_sdk_core/lib/libamdhip64.so.7"), "libamdhip64.so.7", 0);
    let of_wheels = || on(tree.root(), "targets").env("VIRTUAL_ENV", tree.path("venv"));
    assert!(of_wheels().fails().contains("_rocm_sdk_core"));
    let info = r#"{"dist_amdgpu_targets": "gfx1100;gfx1101"}"#;
    tree.write(&format!("{site}/_rocm_sdk_core/share/therock/dist_info.json"), info);
    assert_eq!(of_wheels().says(), "gfx1100;gfx1101\n");
}

/// Each outcome is shown at once; the exit code says whether all passed.
#[test]
fn the_self_test() {
    let tree = Tree::new();
    let error = on(tree.root(), "test").fails();
    assert!(error.starts_with("ERROR: ROCm was not found"), "{error}");
    tree.stub("opt/rocm/lib/libamdhip64.so.7.2.70204", "libamdhip64.so.7", 0);
    tree.link("libamdhip64.so.7.2.70204", "opt/rocm/lib/libamdhip64.so.7");
    tree.link("libamdhip64.so.7", "opt/rocm/lib/libamdhip64.so");
    tree.write("opt/rocm/.info/version", "7.2.4");
    tree.library(
        "opt/rocm/lib/librccl.so.1",
        "librccl.so.1",
        "__attribute__((constructor)) static void f(void) { __builtin_trap(); }",
    );
    let ended = on(tree.root(), "test").end();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(1), ""));
    for line in ["loads: lib/libamdhip64.so.7.2.70204 (rocm) ... ok", "loads: lib/librccl.so.1 (rocm) ... FAIL"] {
        assert!(ended.stdout.lines().any(|l| l == line), "{line}: {}", ended.stdout);
    }
    assert!(ended.stdout.lines().last().unwrap().starts_with("FAILED (failures="), "{}", ended.stdout);
    let ended = on(tree.root(), "test --json").end();
    let report = json(&ended.stdout);
    let outcomes = report["outcomes"].as_array().unwrap();
    let of = |name: &str| outcomes.iter().find(|o| o["name"] == name).map(|o| o["verdict"].as_str().unwrap());
    assert_eq!((ended.code, of("loads: lib/librccl.so.1")), (Some(1), Some("fail")));
    assert_eq!((&report["layout"], &report["release"]), (&"prefix".into(), &"7.2.4".into()));
    let names = "root layout release outcomes outcomes[].name outcomes[].group outcomes[].verdict outcomes[].detail \
        outcomes[].seconds seconds";
    assert_eq!(keys(&ended.stdout).join(" "), names);
}

/// A set-uid program must not use a folder that another user's environment names.
#[test]
fn a_set_uid_command_installs_and_runs_nothing() {
    use std::io::Write as _;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
    let tree = Tree::new();
    tree.write("installs/7.2/.packages", "Sets: hip\n");
    let program = tree.path("rocm-sdk");
    cli_common::copy_program(&program);
    if fs::metadata(&program).unwrap().uid() != 0 {
        let _ = writeln!(std::io::stdout(), "SKIPPED: only root can make a program that runs as somebody else");
        return;
    }
    fs::set_permissions(tree.root(), fs::Permissions::from_mode(0o755)).unwrap();
    chown(&program, Some(65_534), None).unwrap();
    for (mode, expected) in [(0o755, "7.2"), (0o4755, "set-uid")] {
        fs::set_permissions(&program, fs::Permissions::from_mode(mode)).unwrap();
        let mut command = std::process::Command::new(&program);
        command.arg("list").env("ROCM_SDK_INSTALL_DIR", tree.path("installs"));
        let output = command.output().unwrap();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        if mode == 0o4755 && said.starts_with("7.2") {
            let _ = writeln!(std::io::stdout(), "SKIPPED: set-uid programs have no effect here");
            return;
        }
        assert!(said.contains(expected), "{said}");
    }
}

/// Files that are read may be anything: a pipe without a writer, or a device that never ends.
#[test]
fn odd_files_in_an_installation_hold_nobody_up() {
    for odd in [".info/version", "share/therock/dist_info.json"] {
        let tree = Tree::new();
        tree.stub("rocm/lib/libamdhip64.so.7.2.70204", "libamdhip64.so.7", 0);
        tree.link("libamdhip64.so.7.2.70204", "rocm/lib/libamdhip64.so.7");
        let path = tree.path("rocm").join(odd);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let run = |arguments: &str| rocm_sdk("--root").arg(tree.path("rocm")).args(arguments.split(' ')).end();
        assert_eq!(run("version").stdout, "7.2.70204\n");
        let ended = run("targets");
        assert!(ended.code == Some(1) && ended.stderr.contains("dist_info.json"), "{}", ended.stderr);
        assert_eq!(run("libs amdhip64").code, Some(0));
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        assert_eq!(run("version").stdout, "7.2.70204\n");
    }
}
