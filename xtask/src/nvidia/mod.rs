//! `cargo xtask nvidia`: writes the tables of `hip-nvidia`, which has HIP's functions over the CUDA driver, and the page
//! that lists them.
//!
//! A HIP function is forwarded if a function of the driver corresponds to it by AMD's own map (`api/cuda-names.tsv`) or
//! by `rules.rs`, and has the same parameters in the C ABI (`api/cuda-driver.tsv`). The others are in the sources of
//! `hip-nvidia`, or `rules.rs` says why they are not supported. A function that `hip` calls and that is none of these is
//! an error.

mod abi;
mod forward;
mod header;
mod hip;
mod page;
mod rules;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use crate::paths;
use forward::Functions;

/// Write the tables of `hip-nvidia` again, and `nvidia/COVERAGE.md`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write nothing: fail if a file is not what would be written
    #[arg(long)]
    check: bool,

    /// First write `api/cuda-driver.tsv` from CUDA's headers in this folder (needs a C compiler)
    #[arg(long, value_name = "FOLDER", conflicts_with = "check")]
    headers: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    if let Some(folder) = &args.headers {
        let path = paths::root().join("api/cuda-driver.tsv");
        fs::write(&path, header::table(folder)?).with_context(|| format!("writing {}", path.display()))?;
    }
    for (path, text) in files()? {
        if args.check {
            let is = fs::read_to_string(&path).unwrap_or_default();
            ensure!(is == text, "{} is not up to date (cargo xtask nvidia)", path.display());
        } else {
            fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        }
    }
    Ok(())
}

/// Returns all files with their contents.
fn files() -> Result<Vec<(PathBuf, String)>> {
    let folder = paths::root().join("nvidia");
    let functions = Functions::read()?;
    Ok(vec![
        (folder.join("src/generated/forward.rs"), functions.code()?),
        (folder.join("src/generated/attributes.rs"), forward::attributes()?),
        (folder.join("COVERAGE.md"), page::page(&functions)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_committed_is_up_to_date() {
        run(&Args { check: true, headers: None }).unwrap();
    }
}
