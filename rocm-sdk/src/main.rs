//! The command `rocm-sdk`: finds, checks and prepares a ROCm installation. See `rocm-sdk --help`.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
