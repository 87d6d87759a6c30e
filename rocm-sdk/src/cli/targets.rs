//! `rocm-sdk targets`

use std::process::ExitCode;

use super::output::{self, Outcome};
use super::place::Place;

/// Print the GPU targets that the installation has code for
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER)]
pub(crate) struct Targets {}

const AFTER: &str = "\
One line, as in the distribution's share/therock/dist_info.json: gfx942;gfx950. Only what AMD's TheRock has built tells: its
wheels, and its packages since ROCm 7.10.";

impl Targets {
    pub(crate) fn run(&self, place: &Place) -> Outcome {
        let layout = place.search()?.layout()?;
        let distribution = layout.distribution()?.ok_or_else(|| {
            let root = layout.root().display();
            format!("{root} does not tell its GPU targets: it has no share/therock/dist_info.json, as only builds of AMD's TheRock have")
        })?;
        output::line(distribution.targets_text())?;
        Ok(ExitCode::SUCCESS)
    }
}
