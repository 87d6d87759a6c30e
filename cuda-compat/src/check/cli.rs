//! The command line.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

use crate::report::Report;
use crate::toolkit::env::Env;
use crate::{project, text};

/// Move CUDA Rust code to AMD GPUs.
#[derive(Debug, Parser)]
#[command(name = "cuda-compat", version, disable_help_subcommand = true, after_help = TOOLS)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const TOOLS: &str = "\
Stand-ins for commands of CUDA, which `cuda-compat env` puts on the path:
  cuda-compat nvcc --help
  cuda-compat ptxas --help
  cuda-compat nvidia-smi --help";

#[derive(Debug, Subcommand)]
enum Command {
    Check(Check),
    Env(Env),
}

const AFTER: &str = "\
What is read: all .rs files with the CUDA C++ in their strings, .cu and .cuh files, Cargo.toml. Nothing is compiled, and
nothing is written. Hidden folders, `target` folders and links to folders are skipped.

What is reported, per item with file and line:
  missing  it has no counterpart: the report says what to do instead
  differs  it is here, and behaves differently
  mapped   it is here under the same name; `--all` lists these

Examples:
  cuda-compat check                      the project in this folder
  cuda-compat check ../candle --all      with all that maps, and every place
  cuda-compat check --format json . | jq '.items[] | select(.status == \"missing\") | .name'

Exit codes:
  0  nothing is missing
  1  something is missing
  2  the command line is wrong, or the folder cannot be read; stderr states the cause after `ERROR: `

The guide: cuda-compat/PORTING.md of the checkout";

/// Report the uses of CUDA in a Rust project, and which of them map
///
/// Reads C names (cuMemAlloc, cublasSgemm, CUDA_SUCCESS), cudarc's types and methods, device functions and headers in
/// kernels, inline PTX, and dependencies such as cudarc, cust and bindgen_cuda.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
struct Check {
    /// The project's folder, or one .rs, .cu or Cargo.toml file
    #[arg(default_value = ".", value_name = "DIR")]
    folder: PathBuf,

    /// List mapped items too, and every place of each item
    #[arg(long)]
    all: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Whether text has colours. `auto`: on a terminal, unless NO_COLOR is set
    #[arg(long, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    color: Colour,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Colour {
    Auto,
    Always,
    Never,
}

/// Runs the command.
pub(crate) fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Check(check) => check.run().map(|report| match report.is_complete() {
            true => ExitCode::SUCCESS,
            false => ExitCode::from(1),
        }),
        Command::Env(env) => env.run(),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(io::stderr(), "ERROR: {error}");
            ExitCode::from(2)
        }
    }
}

impl Check {
    fn run(&self) -> Result<Report, String> {
        let report = read(&self.folder)?;
        let written = match self.format {
            Format::Json => serde_json::to_string_pretty(&report).map_err(|error| error.to_string())? + "\n",
            Format::Text => text::Text { report: &report, all: self.all, colours: self.has_colours() }.to_string(),
        };
        let mut stdout = io::stdout().lock();
        match stdout.write_all(written.as_bytes()).and_then(|()| stdout.flush()) {
            // The reader may close the pipe early, as `head` does.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("writing to stdout: {error}")),
            _ => Ok(report),
        }
    }

    fn has_colours(&self) -> bool {
        match self.color {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => {
                std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) && io::stdout().is_terminal()
            }
        }
    }
}

/// Reads a project.
fn read(folder: &Path) -> Result<Report, String> {
    let project = project::Project::read(folder)?;
    Ok(project.report())
}
