//! `rocm-sdk doctor`

use std::process::ExitCode;

use rocm_sdk::doctor::Doctor as Examination;
use rocm_sdk::probe::Probe;

use super::myself::Myself;
use super::open;
use super::output::{self, Failure, Outcome};
use super::place::{Place, absolute};

/// Diagnose why programs cannot use ROCm and a GPU, and say what to do
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER)]
pub(crate) struct Doctor {
    /// Write JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    patience: open::Patience,
}

const AFTER: &str = "\
Examines the places of the search and their contents, every library (each opened in a separate process), the libraries'
dependencies, the kernel driver, the device nodes and their permissions, the GPUs, the relevant variables, and the Rust
compiler for kernels in Rust. It changes nothing, and calls no function of ROCm.

Exit codes:
  0  programs can use a GPU; there may be warnings
  1  they cannot, or something is broken: the errors state the cause and what to do

Examples:
  rocm-sdk doctor
  rocm-sdk doctor --json | jq '.problems[] | select(.severity == \"error\")'
  rocm-sdk --root /opt/rocm-7.2.4 doctor";

impl Doctor {
    pub(crate) fn run(&self, place: &Place) -> Outcome {
        let mut examination = Examination::new(place.search()?);
        if let Some(system) = &place.system_root {
            examination = examination.system_root(absolute(system)?);
        }
        let loader = Myself::find().and_then(|myself| myself.library_path().map(ToOwned::to_owned));
        let (children, patience, search) = (place.clone(), self.patience, place.search()?);
        let diagnosis = examination
            .library_path(loader)
            .probe(move |specs| {
                let failed =
                    |error: Failure| specs.iter().map(|s| Probe::crashed(&search, s, error.message())).collect();
                open::all(&children, patience, specs).unwrap_or_else(failed)
            })
            .examine();
        match self.json {
            true => output::line(diagnosis.to_json())?,
            false => output::line(&diagnosis)?,
        }
        Ok(if diagnosis.usable { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
