//! Installations from a small private archive: the whole way through apt and dpkg-deb, without a network.
#![cfg(all(feature = "install", target_os = "linux", target_arch = "x86_64"))]
#![allow(unreachable_pub)] // The modules are private to this program.

mod hostile;
mod http;
mod interrupted;
mod repository;
mod trust;
mod whole;

use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs the test `test` again in a process whose apt has none of this machine's settings (proxies, ignored expiry
/// dates). Returns `false` in that process.
fn apart(test: &str) -> bool {
    const CHILD: &str = "ROCM_SDK_TEST_APART";
    if std::env::var_os(CHILD).is_some() {
        return false;
    }
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("apt.conf");
    fs::write(&config, "Dir::Etc::parts \"/nonexistent\";\nDir::Etc::main \"/nonexistent\";\n").unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(CHILD, "1").env("APT_CONFIG", config);
    for proxy in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env_remove(proxy);
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    match said.lines().find(|line| line.starts_with("SKIPPED: ")) {
        Some(line) => repository::skipped(&line["SKIPPED: ".len()..]),
        None => assert!(output.status.success() && said.contains("1 passed"), "{said}"),
    }
    true
}

/// Returns the names in a folder, in order; none if it does not exist.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
