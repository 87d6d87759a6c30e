//! `cargo xtask cudarc`: cudarc's own examples and tests, unchanged, against `cuda-compat` on the software GPU.
//!
//! cudarc's source comes from the registry. Examples are compiled in place. Tests are modules inside its sources, and
//! use private items around them: each module is written below `target/cudarc`, with `crate::` as `cudarc::`, inside
//! modules of the same names.

mod case;
mod crates;
mod extract;
mod page;
mod run;
mod scratch;

use anyhow::{Result, bail};

use crate::hsa::{self, Profile};
use crate::process::messages;
use crate::suites;
use case::VERSION;

/// Compiles cudarc's own examples and tests, unchanged, against `cuda-compat`, runs them on the software GPU, and
/// writes cuda-compat/CUDARC.md.
///
/// cudarc's source is fetched from the registry by cargo. Nothing of it is copied into the repository.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only a few, on the embedded runtime, and write nothing: what CI runs
    #[arg(long)]
    sample: bool,
    /// Compile published crates that depend on cudarc, instead, run their tests, and write cuda-compat/CRATES.md: NAME is a part of
    /// a crate's name, and the results of others stay
    #[arg(long, conflicts_with = "sample")]
    crates: bool,
    /// With `--crates`, run each Nth test only
    #[arg(long, value_name = "N", requires = "crates", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    every: u32,
    /// Only those whose names contain this, and write nothing
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

/// The cases of a quick run.
const SAMPLE: &[&str] = &[
    "02-copy",
    "matmul-kernel",
    "test_ctx_copy_to_views",
    "test_leak_and_upgrade",
    "test_launch_with_mut_and_ref_cudarc",
];

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let release = suites::release(false)?;
    if args.crates {
        return crates::run(release, args.name.as_deref(), args.every as usize);
    }
    let backends: &[&'static str] = if args.sample { &["sim"] } else { &["sim", "rocm"] };
    if !args.sample {
        hsa::build(false, Profile::Dev)?;
        messages(&mut hsa::build_command(false))?;
    }
    let source = scratch::fetch("cudarc", VERSION, &["cuda-12080"])?;
    let wanted = |name: &str| match (&args.name, args.sample) {
        (Some(part), _) => name.contains(part.as_str()),
        (None, true) => SAMPLE.contains(&name),
        (None, false) => true,
    };
    let (mut cases, compiler) = scratch::examples(&source, &wanted)?;
    cases.extend(scratch::tests(&source, &wanted)?);
    if cases.is_empty() {
        bail!("no example and no test of cudarc {VERSION} has such a name");
    }
    let folder = run::folder(&source, release, compiler.as_deref())?;
    for case in &mut cases {
        let is_of_library = !["driver", "nvrtc"].contains(&case.feature);
        for backend in backends.iter().filter(|backend| !is_of_library || **backend == "rocm") {
            run::run(case, backend, release, &folder);
        }
        println!("{}", page::line(case));
    }
    page::finish(&cases, args.sample || args.name.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    #[test]
    fn the_crate_for_patches_has_the_features_and_the_version_of_cudarc() {
        let packages = workspace::packages().unwrap();
        let package = |name: &str| packages.iter().find(|package| package.name == name).unwrap();
        let (patch, mut features) = (package("cudarc"), package("cuda-compat").features.clone());
        features.retain(|name| !name.starts_with("rocm-") && !["cli", "nvml", "sim"].contains(&name.as_str()));
        assert_eq!(patch.features, features);
        assert_eq!(patch.version, VERSION);
        let manifest = std::fs::read_to_string(patch.folder.join("Cargo.toml")).unwrap();
        for feature in features {
            let line = manifest.lines().find(|line| line.starts_with(&format!("{feature} = "))).unwrap();
            assert!(line.contains(&format!("\"cuda-compat/{feature}\"")), "{line}");
        }
    }
}
