//! `rocm-sdk libs`

use std::process::ExitCode;

use rocm_sdk::probe::{self, Probe};
use rocm_sdk::{LibrarySpec, libraries};

use super::open;
use super::output::{self, Outcome};
use super::place::Place;

/// List every library of ROCm: its path, version and soname, or why it is missing
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER)]
pub(crate) struct Libs {
    /// Only these libraries, by short name: amdhip64, hipblas, rccl...
    names: Vec<String>,

    /// Show the steps of each search too
    #[arg(long, short)]
    verbose: bool,

    /// Write JSON: an array with an object for each library, including the steps of its search
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    patience: open::Patience,
}

const AFTER: &str = "\
Each library is opened in a separate process, as a new program would open it.

Exit codes:
  0  every named library was found; without names: no library is broken. One that programs can use by `rocm-sdk run` is
     found
  1  a named library was not found, or a library was found that cannot be used";

impl Libs {
    pub(crate) fn run(&self, place: &Place) -> Outcome {
        let specs: Vec<&'static LibrarySpec> = if self.names.is_empty() {
            libraries::ALL.iter().copied().filter(|spec| spec.is_on_this_platform()).collect()
        } else {
            let spec = |name| rocm_sdk::LibraryName::library(name);
            self.names.iter().map(spec).collect::<Result<_, _>>()?
        };
        let probes = open::all(place, self.patience, &specs)?;
        if self.json {
            output::line(serde_json::to_string_pretty(&probes)?)?;
        } else {
            let table = probe::table(&probes);
            let mut text = String::new();
            for (probe, line) in probes.iter().zip(table.lines()) {
                text += line;
                text.push('\n');
                let steps = probe.steps.iter().enumerate().filter(|_| self.verbose);
                steps.for_each(|(n, step)| text += &format!("{:>6}. {step}\n", n + 1));
            }
            probe::how_to_run(&probes).iter().for_each(|how| text += &format!("\n{how}\n"));
            output::bytes(text.as_bytes())?;
        }
        let bad =
            |probe: &Probe| probe.usable().is_none() && (!self.names.is_empty() || probe.faults().next().is_some());
        Ok(if probes.iter().any(bad) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}
