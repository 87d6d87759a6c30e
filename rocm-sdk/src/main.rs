//! The command `rocm-sdk`: finds, checks and prepares a ROCm installation. `rocm-sdk --help` tells the rest.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
