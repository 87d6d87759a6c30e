//! `rocm-sdk test`

use std::process::ExitCode;
use std::time::Duration;

use rocm_sdk::check::Check;

use super::myself::Myself;
use super::output::{self, Outcome};
use super::place::Place;

/// Test the installation: its layout, that every library loads, that its programs run
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER)]
pub(crate) struct Test {
    /// Write JSON, after all tests
    #[arg(long)]
    json: bool,

    /// Time limit for loading one library, or running one program
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..))]
    time_limit: u64,
}

const AFTER: &str = "\
Prints a line for each test, in the format of Python's unittest, then the failures with their reasons. Every shared
library of the installation is loaded in a separate process, with the installation's C library. No GPU is needed:
`rocm-sdk doctor` examines GPUs.

Exit codes:
  0  nothing failed
  1  something failed, or there is no installation";

impl Test {
    pub(crate) fn run(&self, place: &Place) -> Outcome {
        let mut check = Check::new(place.search()?).time_limit(Duration::from_secs(self.time_limit));
        if let Some(myself) = Myself::find() {
            check = check.myself(move || myself.command());
        }
        let mut written = Ok(());
        let report = check.run(&mut |outcome| {
            if written.is_ok() && !self.json {
                written = output::line(outcome);
            }
        })?;
        written?;
        match self.json {
            true => output::line(serde_json::to_string_pretty(&report)?)?,
            false => output::line(report.summary())?,
        }
        Ok(if report.is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
