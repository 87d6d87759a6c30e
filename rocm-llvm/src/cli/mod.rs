//! The command, with one file per subcommand.

mod child;
mod disasm;
mod disassembler;
mod extract;
mod file;
#[cfg(test)]
mod fuzz;
mod inspect;
mod kernel;
mod lines;
mod occupancy;
mod output;

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use output::Result;

/// Inspect, disassemble and extract code for AMD GPUs. No GPU is needed.
#[derive(Debug, Parser)]
#[command(name = "rocm-llvm", version, after_long_help = AFTER, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const AFTER: &str = "\
FILE is one of
  a code object                 what Comgr, HIPRTC and `clang -target amdgcn-amd-amdhsa` make (ELF)
  an object file                the same, not linked
  an offload bundle             what `hipcc --genco` makes, compressed (CCOB) or not
  a host library or program     what hipcc links: its section .hip_fatbin has bundles

Examples:
  rocm-llvm inspect librocblas.so.5 --arch gfx90a      kernels: arguments, registers, LDS, spills, occupancy
  rocm-llvm inspect kernels.hipfb --json               the same for programs
  rocm-llvm disasm kernels.co saxpy                    instructions, with source lines if there is debug information
  rocm-llvm extract libfoo.so -o code                  each code object into a file of its own

`inspect` and `extract` need no ROCm. `disasm` uses the first of these that it finds: the LLVM that --llvm names, ROCm's
Comgr, ROCm's or the system's LLVM, and the LLVM in the Rust toolchain.

Exit codes:
  0  done
  1  failed; stderr states the cause after `ERROR: `
  2  the command line is wrong";

#[derive(Debug, Subcommand)]
enum Command {
    Inspect(inspect::Inspect),
    Disasm(disasm::Disasm),
    Extract(extract::Extract),
}

pub(crate) fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Inspect(command) => code(command.run()),
        Command::Disasm(command) => {
            let what = format!("disassembled the function above, of {}", command.file.display());
            child::run(&what, || code(command.run())).unwrap_or_else(|error| code(Err(error)))
        }
        Command::Extract(command) => code(command.run()),
    }
}

/// Prints the error, if it is one.
fn code(done: Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "ERROR: {error}");
            ExitCode::FAILURE
        }
    }
}
