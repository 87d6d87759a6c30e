//! `cargo xtask msrv`: checks that the published crates build with the oldest supported Rust.
//!
//! The toolchain is rustup's if it has that version, otherwise Debian's package of it, unpacked under `target/rust` and
//! run through the loader of that tree.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use rocm_sdk::install::debian::{Apt, Archive, Fetch, Lock, Recipe, Selection, Tree, Wanted, usable};
use rocm_sdk::install::{self, Bars, Bytes};

use crate::process::{capture, cargo, find, shown};
use crate::turn::Turn;
use crate::{paths, workspace};

/// Debian suite whose `rustc` has that version.
const SUITE: &str = "trixie";

/// Checks that every published crate builds on the `rust-version` of the root Cargo.toml.
///
/// All features are on: without them there is less code, but no other code, and the step `features` of `cargo xtask ci`
/// checks that with the newest Rust. Uses the toolchain of that version from rustup if it is installed; otherwise
/// fetches Debian's (about 95 MB, once) into target/rust.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Fetch nothing: fail if the toolchain is missing
    #[arg(long)]
    pub(crate) offline: bool,
    /// Build a third of the crates and `hip`, with all that they depend on; the third alternates from commit to commit
    #[arg(long)]
    pub(crate) sample: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let version = stated_version()?;
    let mut packages: Vec<String> = workspace::published()?.into_iter().map(|package| package.name).collect();
    if args.sample {
        packages = Turn::of_this_run()?.select(packages, 3, |name| name == "hip");
    }
    let toolchain = toolchain(&version, args.offline)?;
    let said = capture(Command::new(&toolchain).arg("--version"))?;
    ensure!(said.starts_with(&format!("rustc {version}.")), "{} is {said}, not {version}", toolchain.display());
    println!("{} with {}", packages.join(" "), said.trim());
    let mut command = cargo();
    command.args(["check", "--all-features"]);
    if args.offline {
        command.arg("--offline");
    }
    packages.iter().for_each(|package| {
        command.args(["-p", package]);
    });
    command.env("RUSTC", &toolchain).env("CARGO_TARGET_DIR", target_folder());
    command.env_remove("RUSTFLAGS").env_remove("RUSTC_WRAPPER").env_remove("RUSTUP_TOOLCHAIN");
    ensure!(command.status()?.success(), "`{}` failed with Rust {version}", shown(&command));
    Ok(())
}

fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| paths::root().join("target"), PathBuf::from).join("msrv")
}

/// Returns `rust-version` of the workspace.
fn stated_version() -> Result<String> {
    let path = paths::root().join("Cargo.toml");
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    version_in(&text).with_context(|| format!("{} states no rust-version", path.display()))
}

fn version_in(manifest: &str) -> Option<String> {
    let value = manifest.lines().find_map(|line| line.strip_prefix("rust-version")?.trim_start().strip_prefix('='))?;
    Some(value.trim().trim_matches('"').to_owned())
}

/// Returns the compiler's path, and fetches it if necessary.
fn toolchain(version: &str, offline: bool) -> Result<PathBuf> {
    if let Some(path) = from_rustup(version) {
        return Ok(path);
    }
    let wrapper = wrapper(version);
    if !wrapper.is_file() {
        if offline {
            bail!("Rust {version} is not there; `rustup toolchain install {version}`, or run without --offline");
        }
        fetch(version, &wrapper)?;
    }
    Ok(wrapper)
}

fn from_rustup(version: &str) -> Option<PathBuf> {
    find("rustup")?;
    let path = capture(Command::new("rustup").args(["which", "rustc", "--toolchain", version])).ok()?;
    Some(PathBuf::from(path.trim())).filter(|path| path.is_file())
}

fn wrapper(version: &str) -> PathBuf {
    paths::fetched("rust").join(version).join("rustc")
}

/// The compiler and its library. The compiler's package depends on gcc and libc6-dev, which a machine that builds Rust
/// already has.
struct Compiler;

impl Recipe for Compiler {
    fn wanted(&self, _: &Apt<'_>) -> Result<Wanted, install::Error> {
        let (roots, alone) = (vec!["libstd-rust-dev".to_owned()], vec!["rustc".to_owned()]);
        Ok(Wanted { roots, alone, ..Wanted::default() })
    }
}

fn fetch(version: &str, wrapper: &Path) -> Result<()> {
    usable().with_context(|| format!("Rust {version} cannot be fetched"))?;
    let tree = Tree::new(paths::fetched("rust").join(version));
    let state = paths::fetched("debian");
    let mut progress = Bars::new();
    let lock = Lock::hold(&state.join("lock"), &mut progress)?;
    println!("Rust {version} ({})", tree.folder().display());
    let (name, pin) = (format!("rust-{version}"), format!("{version}.*"));
    let selection = Selection { name: &name, suites: &[SUITE], pins: &[("rustc libstd-rust-*", &pin)] };
    let archive = Archive::of_this_machine()?;
    let sets = ["rustc".to_owned()];
    let fetch = Fetch { state: &state, lock: &lock, archive: &archive, selection, sets: &sets, afresh: false };
    let packages = tree.fetch(&fetch, &Compiler, &mut progress)?;
    let size: u64 = packages.iter().map(|package| package.size).sum();
    println!("Rust {version}: fetched {} packages, {}", packages.len(), Bytes(size));
    let script = script(&tree);
    fs::write(wrapper, script).with_context(|| format!("writing {}", wrapper.display()))?;
    fs::set_permissions(wrapper, fs::Permissions::from_mode(0o755)).context("making the wrapper executable")
}

/// Returns a shell script that runs the tree's `rustc`.
fn script(tree: &Tree) -> String {
    let quote = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    let folder = tree.folder().join("usr");
    let launcher: Vec<String> = tree.launcher().iter().map(|word| quote(word)).collect();
    format!(
        "#!/bin/sh\nexec {} {} --sysroot {} \"$@\"\n",
        launcher.join(" "),
        quote(&folder.join("bin/rustc").display().to_string()),
        quote(&folder.display().to_string()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_the_manifest() {
        assert_eq!(version_in("[workspace.package]\nrust-version = \"1.85\"\n").as_deref(), Some("1.85"));
        assert_eq!(version_in("edition = \"2024\"\n"), None);
        assert!(stated_version().is_ok());
    }

    #[test]
    fn the_wrapper_survives_odd_paths() {
        let script = script(&Tree::new(PathBuf::from("/it's here")));
        assert!(script.contains(r"--sysroot '/it'\''s here/usr' "), "{script}");
    }
}
