//! `cargo xtask kernels`: the examples' kernels, compiled ahead of time for the architectures that ship.
//!
//! The compiler is the real HIPRTC of ROCm 7.2, fetched under `target/rocm`; the work is done by hiprtc's own example
//! `bundle`, which runs through that tree's loader.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process::{capture, cargo};
use crate::{paths, rocm};

/// What the shipped bundles hold: AMD Instinct MI200 and MI300, Radeon RX 7900 and RX 9070.
const ARCHITECTURES: [&str; 4] = ["gfx90a", "gfx942", "gfx1100", "gfx1201"];

/// The release whose compiler makes them.
const RELEASE: &str = "7.2";

/// Compiles examples/kernels/*.hip for the architectures that ship, as bundles beside their sources.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "The compiler is that of ROCm 7.2, fetched under target/rocm if it is not there yet.

Examples:
  cargo xtask kernels            write the bundles anew
  cargo xtask kernels --check    fail if they differ from what is compiled now")]
pub(crate) struct Args {
    /// Write nothing; fail if a bundle differs from what is compiled now
    #[arg(long)]
    check: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let release = rocm::release(RELEASE)?;
    rocm::fetch(release, &[], false)?;
    let tool = tool()?;
    let launcher = rocm::tree(release).launcher();
    let folder = paths::root().join("examples/kernels");
    let mut differing = Vec::new();
    for source in sources(&folder)? {
        let bundle = source.with_extension("hipfb");
        let made = if args.check {
            paths::fetched("kernels").join(bundle.file_name().unwrap_or_default())
        } else {
            bundle.clone()
        };
        if let Some(folder) = made.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let [loader, options @ ..] = &launcher[..] else { bail!("the tree of ROCm {RELEASE} has no loader") };
        let mut command = Command::new(loader);
        command.args(options).arg(&tool).arg(&source).arg(&made).args(ARCHITECTURES).current_dir(paths::root());
        command.env("ROCM_PATH", rocm::tree(release).folder().join("usr"));
        capture(&mut command)?;
        if !args.check {
            println!("{}: {} bytes", made.display(), std::fs::metadata(&made)?.len());
        } else if std::fs::read(&bundle).ok() != Some(std::fs::read(&made)?) {
            println!("{}: differs", bundle.display());
            differing.push(bundle);
        } else {
            println!("{}: up to date", bundle.display());
        }
    }
    if !differing.is_empty() {
        let names: Vec<_> = differing.iter().map(|path| path.display().to_string()).collect();
        bail!("not what HIPRTC {RELEASE} makes of the source now (run `cargo xtask kernels`): {}", names.join(", "));
    }
    Ok(())
}

/// Builds hiprtc's example `bundle` and says where it is.
fn tool() -> Result<PathBuf> {
    let messages = capture(cargo().args(["build", "-p", "hiprtc", "--example", "bundle", "--message-format", "json"]))?;
    let executable = messages.lines().rev().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        if message["target"]["name"] == "bundle" { message["executable"].as_str().map(PathBuf::from) } else { None }
    });
    executable.context("cargo built hiprtc's example `bundle`, but did not say where")
}

/// The kernel sources, in the order of their names.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    let mut sources = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    sources.retain(|path| path.extension().is_some_and(|extension| extension == "hip"));
    sources.sort();
    Ok(sources)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_has_its_bundle_and_no_bundle_is_left_over() {
        let folder = paths::root().join("examples/kernels");
        let sources = sources(&folder).unwrap();
        assert!(sources.len() >= 8, "{sources:?}");
        for source in &sources {
            assert!(source.with_extension("hipfb").is_file(), "{} has no bundle", source.display());
        }
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "hipfb") {
                assert!(path.with_extension("hip").is_file(), "{} has no source", path.display());
            }
        }
    }
}
