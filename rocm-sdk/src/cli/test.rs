//! `rocm-sdk test`

use std::process::ExitCode;
use std::time::Duration;

use rocm_sdk::check::Check;

use super::myself::Myself;
use super::output::{self, Outcome};
use super::place::Place;

/// Test the installation: its layout, that every library loads, that its programs answer
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER)]
pub(crate) struct Test {
    /// Write JSON, when all is done
    #[arg(long)]
    json: bool,

    /// How long one library may load, or one program run
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..))]
    time_limit: u64,
}

const AFTER: &str = "\
A line for each test, as Python's unittest writes it, then what failed and why. Every shared library of the installation is
loaded in a process of its own, with the C library that goes with it. A GPU is not needed: see `rocm-sdk doctor` for that.

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
