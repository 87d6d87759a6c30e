//! `rocm-sdk targets`

use std::process::ExitCode;

use super::output::{self, Outcome};
use super::place::Place;
use rocm_sdk::SearchExt as _;

/// Print the GPU targets that the installation has code for
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER)]
pub(crate) struct Targets {}

const AFTER: &str = "\
Prints one line, as in the distribution's share/therock/dist_info.json: gfx942;gfx950. Only builds of AMD's TheRock have
this file: its wheels, and its packages since ROCm 7.10.";

impl Targets {
    pub(crate) fn run(&self, place: &Place) -> Outcome {
        let layout = place.search()?.layout()?;
        let distribution = layout.distribution()?.ok_or_else(|| {
            let root = layout.root().display();
            format!("the GPU targets of {root} are unknown: it has no share/therock/dist_info.json, which only builds of AMD's TheRock have")
        })?;
        output::line(distribution.targets_text())?;
        Ok(ExitCode::SUCCESS)
    }
}
