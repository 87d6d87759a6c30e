//! The places that the command searches.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rocm_sdk::{Layout, LayoutKind, Search};

use super::output::{self, Failure, Outcome};

// The options before a subcommand, and after each one except `path`, whose `--root` has another meaning. A doc comment here would replace
// the subcommand's.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Place {
    /// Use only the ROCm installation in this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,

    /// Examine the system below this directory, such as a container's, instead of /
    #[arg(long, value_name = "DIR")]
    pub(crate) system_root: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) strict: Strict,
}

#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct Strict {
    /// Fail if ROCM_PATH or HIP_PATH names no ROCm installation, instead of warning
    #[arg(long)]
    strict: bool,
}

impl Place {
    /// Returns these options, with those of `outer` for options that are not set.
    pub(crate) fn or(&self, outer: &Self) -> Self {
        Self {
            root: self.root.clone().or_else(|| outer.root.clone()),
            system_root: self.system_root.clone().or_else(|| outer.system_root.clone()),
            strict: self.strict.or(outer.strict),
        }
    }

    pub(crate) fn is_strict(&self) -> bool {
        self.strict.strict
    }

    /// Runs a subcommand. A variable that names no installation has no effect on it: this is an error if requested,
    /// otherwise a warning, unless the subcommand fails and reports it itself.
    pub(crate) fn judged(&self, run: impl FnOnce(&Self) -> Outcome) -> Outcome {
        let wrong: Vec<String> = self.search()?.wrong_variables().iter().map(ToString::to_string).collect();
        if self.strict.strict && !wrong.is_empty() {
            return Err(wrong.join("; ").into());
        }
        let outcome = run(self);
        if outcome.is_ok() {
            wrong.into_iter().for_each(output::warn);
        }
        outcome
    }

    /// Returns the search that these options describe.
    pub(crate) fn search(&self) -> Result<Search, Failure> {
        let search = match &self.root {
            Some(root) => {
                let root = absolute(root)?;
                // For one wheel, its whole environment.
                let wheels = Layout::at(&root).filter(|layout| layout.kind() == LayoutKind::Wheels);
                let others = wheels.iter().flat_map(|layout| layout.library_roots().to_vec());
                others.fold(Search::nowhere().root(&root), Search::root)
            }
            None => Search::standard(),
        };
        Ok(match &self.system_root {
            // The libraries of another system do not work with this system's loader.
            Some(system) if self.root.is_none() => search.opt(Some(absolute(system)?.join("opt"))).system(false),
            _ => search,
        })
    }

    /// Returns the same options except `--strict`, for another process.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let options = [("--root", &self.root), ("--system-root", &self.system_root)];
        let given =
            options.into_iter().filter_map(|(name, value)| Some([name.into(), value.clone()?.into_os_string()]));
        given.flatten().collect()
    }
}

impl Strict {
    pub(crate) fn or(self, outer: Self) -> Self {
        Self { strict: self.strict || outer.strict }
    }
}

pub(crate) fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    Ok(std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))?)
}
