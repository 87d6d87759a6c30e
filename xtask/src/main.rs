//! Everything that is not product: fetch ROCm, generate bindings, check, test, bench.

use clap::{Parser, Subcommand};

mod bindgen;

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about, version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Bindgen(bindgen::Args),
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Bindgen(args) => bindgen::run(&args),
    }
}
