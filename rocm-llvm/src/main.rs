//! The command `rocm-llvm`: inspects, disassembles and extracts code for AMD GPUs. `rocm-llvm --help` tells the rest.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
