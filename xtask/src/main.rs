//! Everything that is not product: fetch ROCm, generate bindings, check, test, bench.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bindgen;
mod debian;
mod msrv;
mod paths;
mod process;
mod rocm;

/// Tasks of the ROCm for Rust workspace.
///
/// No task needs an AMD GPU, an installed ROCm, or root. What is fetched goes to target/ and is kept there.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version, after_long_help = "Examples:
  cargo xtask rocm fetch 7.2   get the real HIP runtime of ROCm 7.2 under target/rocm
  cargo xtask msrv             check that the crates build on the Rust they promise

`cargo xtask help TASK` tells more about each.")]
struct Cli {
    #[command(subcommand)]
    command: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    Rocm(rocm::Cli),
    Bindgen(bindgen::Args),
    Msrv(msrv::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Task::Rocm(cli) => rocm::run(&cli),
        Task::Bindgen(args) => bindgen::run(&args),
        Task::Msrv(args) => msrv::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprint!("error: {error}");
            error.chain().skip(1).for_each(|cause| eprint!("\n  {cause}"));
            eprintln!();
            ExitCode::FAILURE
        }
    }
}
