//! `rocm-sdk version`

use std::process::ExitCode;

use super::output::{self, Outcome};
use super::place::Place;
use rocm_sdk::SearchExt as _;

/// Print the release of the ROCm installation
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER)]
pub(crate) struct Version {}

const AFTER: &str = "\
Prints one line, as the installation states it: for wheels the version of the packages (7.10.0a20251120), otherwise the
content of `.info/version` (7.2.4), otherwise the number in the name of HIP's library (7.2.53211). `rocm-sdk --version`
prints this command's own version.";

impl Version {
    pub(crate) fn run(&self, place: &Place) -> Outcome {
        output::line(place.search()?.version()?.text)?;
        Ok(ExitCode::SUCCESS)
    }
}
