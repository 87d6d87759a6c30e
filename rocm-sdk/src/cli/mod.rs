//! The command: its subcommands, one file each.

mod doctor;
mod libs;
mod myself;
mod open;
mod output;
mod place;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use output::Outcome;
use place::Place;

/// Find, check and prepare a ROCm installation.
#[derive(Debug, Parser)]
#[command(name = "rocm-sdk", version, after_long_help = AFTER, disable_help_subcommand = true)]
struct Cli {
    #[command(flatten)]
    place: Place,

    #[command(subcommand)]
    command: Command,
}

const AFTER: &str = "\
ROCm is looked for in this order, and the first hit wins: ROCM_PATH, HIP_PATH; the wheels of the Python environment of
VIRTUAL_ENV, CONDA_PREFIX; /opt/rocm and /opt/rocm-*, newest first; the system loader. `--root` names one and no other.

Examples:
  rocm-sdk doctor                        what is wrong, and what to do
  rocm-sdk libs                          which libraries there are, and where
  cmake -DCMAKE_PREFIX_PATH=$(rocm-sdk path --cmake) ..
  eval \"$(rocm-sdk env)\"                 PATH and the like, for this shell

Exit codes:
  0  done
  1  not done, or something is wrong; stderr says what, behind `ERROR: `
  2  the command line is wrong";

#[derive(Debug, Subcommand)]
enum Command {
    Libs(libs::Libs),
    Doctor(doctor::Doctor),
    #[command(name = open::NAME, hide = true)]
    Open {
        name: String,
    },
}

pub(crate) fn main() -> ExitCode {
    output::end(Cli::parse().run())
}

impl Cli {
    fn run(&self) -> Outcome {
        let place = &self.place;
        match &self.command {
            Command::Libs(command) => command.run(place),
            Command::Doctor(command) => command.run(place),
            Command::Open { name } => open::run(place, name),
        }
    }
}
