//! `rocm-sdk init`

use std::process::ExitCode;

use rocm_sdk::SearchExt as _;
use rocm_sdk::devel::{self, Devel};

use super::installation;
use super::output::{self, Outcome};
use super::place::Place;

/// Expand the devel wheel of a Python environment: headers, CMake files, compilers
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER)]
pub(crate) struct Init {
    /// Write nothing to stdout, and show no progress
    #[arg(long)]
    quiet: bool,
}

const AFTER: &str = "\
Does the same as AMD's own `rocm-sdk init`; each recognises the result of the other. Run it again after a device wheel
was installed or removed. An installation that is not a wheel has nothing to expand; this is not an error.";

impl Init {
    pub(crate) fn run(&self, place: &Place) -> Outcome {
        let search = place.search()?;
        let said = match Devel::find(&search) {
            Ok(devel) => {
                let expansion = installation::expand(&devel, self.quiet)?;
                format!("Devel contents expanded to '{}'", expansion.root.display())
            }
            Err(missing @ devel::Error::NotInstalled { .. }) => {
                let layout = search.layout()?;
                if layout.kind() == rocm_sdk::LayoutKind::Wheels {
                    return Err(missing.into());
                }
                format!("Nothing to expand: '{}' is not a Python wheel", layout.root().display())
            }
            Err(error) => return Err(error.into()),
        };
        if !self.quiet {
            output::line(said)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
