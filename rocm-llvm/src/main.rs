//! The command `rocm-llvm`: inspects, disassembles and extracts code for AMD GPUs. See `rocm-llvm --help`.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
