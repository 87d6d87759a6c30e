//! `cargo xtask cuda`: writes the names of CUDA in `cuda-compat`, and the page that lists them.
//!
//! The counterpart of a name is the item that AMD's Python layer (`api/cuda-interop.tsv`) or HIPIFY
//! (`api/cuda-library-names.tsv`) maps it to, or the item of the same name with ROCm's prefix, if the `-sys` crates
//! have it. `rules.rs` states the exceptions.

mod code;
mod enums;
mod found;
mod inputs;
mod names;
mod page;
mod read;
mod reader;
mod rules;
mod safe;
mod table;
mod wrapper;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use crate::paths;
use names::Names;

/// Write the names of CUDA in `cuda-compat` again, and `cuda-compat/CUDA_NAMES.md`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write nothing: fail if a file is not what would be written
    #[arg(long)]
    check: bool,

    /// First write `api/cudarc-api.tsv` from this folder, the source of a published `cudarc`
    #[arg(long, value_name = "FOLDER", conflicts_with = "check")]
    cudarc: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    if let Some(folder) = &args.cudarc {
        let path = paths::root().join("api/cudarc-api.tsv");
        fs::write(&path, safe::api(folder)?).with_context(|| format!("writing {}", path.display()))?;
    }
    for (path, text) in files()? {
        if args.check {
            let is = fs::read_to_string(&path).unwrap_or_default();
            ensure!(is == text, "{} is not up to date (cargo xtask cuda)", path.display());
        } else {
            fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        }
    }
    Ok(())
}

/// Returns all files with their contents.
fn files() -> Result<Vec<(PathBuf, String)>> {
    let folder = paths::root().join("cuda-compat");
    let names = Names::read()?;
    let mut files = vec![(folder.join("CUDA_NAMES.md"), page::page(&names)?)];
    let generated = folder.join("src/generated");
    for module in names.modules.iter().filter(|of| !of.module.is_written) {
        files.push((generated.join(format!("{}.rs", module.module.name)), module.code(&names)?));
    }
    files.push((generated.join("lacking.rs"), names.lacking()?));
    files.push((generated.join("names.tsv"), table::table(&names)?));
    files.push((generated.join("cudarc.tsv"), safe::table()?));
    files.push((folder.join("tests/check/cudarc.rs"), safe::imports()?));
    files.extend(enums::files(&names)?);
    files.push((folder.join("tests/interop/names.rs"), names.of_amd()?));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_committed_is_up_to_date() {
        run(&Args { check: true, cudarc: None }).unwrap();
    }
}
