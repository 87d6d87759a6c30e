//! The command, with one file per subcommand.

mod completions;
#[cfg(unix)]
mod doctor;
mod env;
mod init;
mod install;
mod installation;
mod libs;
mod myself;
mod open;
mod output;
mod path;
mod place;
mod targets;
#[cfg(unix)]
mod test;
mod version;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

use output::Outcome;
use place::{Place, Strict};

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
ROCm is searched for in this order, and the first hit wins: ROCM_PATH, HIP_PATH; the wheels of the Python environment of
VIRTUAL_ENV, CONDA_PREFIX; installations of `rocm-sdk install`; /opt/rocm and /opt/rocm-*, newest first; the system
loader. `--root` selects one installation. A ROCM_PATH or HIP_PATH that names no installation is passed over with a
warning; with `--strict` it is an error.

Examples:
  rocm-sdk doctor                        find out what is wrong, and what to do
  rocm-sdk libs                          list the libraries with their paths
  rocm-sdk install 7.2                   install ROCm in your home, without root (Debian, Ubuntu)
  rocm-sdk run 7.2 -- my-program         run a program on it
  eval \"$(rocm-sdk env)\"                 set PATH and other variables of this shell
  cmake -DCMAKE_PREFIX_PATH=$(rocm-sdk path --cmake) ..

Exit codes:
  0  done
  1  failed, or a problem was found; stderr states the cause after `ERROR: `
  2  the command line is wrong";

#[derive(Debug, Subcommand)]
enum Command {
    Path(Strictly<path::Path>),
    Version(With<version::Version>),
    Targets(With<targets::Targets>),
    Init(With<init::Init>),
    #[cfg(unix)]
    Test(With<test::Test>),
    Libs(With<libs::Libs>),
    #[cfg(unix)]
    Doctor(With<doctor::Doctor>),
    Env(With<env::Env>),
    Install(install::Install),
    List(install::List),
    Remove(install::Remove),
    Run(install::Run),
    Completions(completions::Completions),
    #[command(name = open::NAME, hide = true)]
    Open {
        name: String,
    },
}

#[derive(Debug, clap::Args)]
struct With<T: clap::Args> {
    #[command(flatten)]
    place: Place,

    #[command(flatten)]
    command: T,
}

// A subcommand whose `--root` is not that of `Place`. Not documentation: clap would print it as help.
#[derive(Debug, clap::Args)]
struct Strictly<T: clap::Args> {
    #[command(flatten)]
    strict: Strict,

    #[command(flatten)]
    command: T,
}

impl<T: clap::Args> With<T> {
    fn run(&self, outer: &Place, run: impl FnOnce(&T, &Place) -> Outcome) -> Outcome {
        self.place.or(outer).judged(|place| run(&self.command, place))
    }
}

pub(crate) fn main() -> ExitCode {
    // This does not return in a process that a test has started.
    #[cfg(unix)]
    rocm_sdk::check::serve();
    output::end(Cli::parse().run())
}

impl Cli {
    fn run(&self) -> Outcome {
        let place = &self.place;
        match &self.command {
            Command::Path(path) => {
                let strict = path.strict.or(place.strict);
                Place { strict, ..place.clone() }.judged(|place| path.command.run(place))
            }
            Command::Version(with) => with.run(place, |command, place| command.run(place)),
            Command::Targets(with) => with.run(place, |command, place| command.run(place)),
            #[cfg(unix)]
            Command::Test(with) => with.run(place, |command, place| command.run(place)),
            Command::Init(with) => with.run(place, |command, place| command.run(place)),
            Command::Libs(with) => with.run(place, |command, place| command.run(place)),
            #[cfg(unix)]
            Command::Doctor(with) => {
                let place = with.place.or(place);
                // The subcommand reports wrong variables itself.
                if place.is_strict() { place.judged(|place| with.command.run(place)) } else { with.command.run(&place) }
            }
            Command::Env(with) => with.run(place, |command, place| command.run(place)),
            Command::Install(command) => command.run(),
            Command::List(command) => command.run(),
            Command::Remove(command) => command.run(),
            Command::Run(command) => command.run(),
            Command::Completions(command) => command.run(Cli::command()),
            Command::Open { name } => open::run(place, name),
        }
    }
}
