//! The command `cuda-compat`. `cuda-compat check DIR` reads a Rust project and reports what of its CUDA code maps to
//! AMD GPUs.

mod behaviour;
mod cli;
mod cudarc;
mod device;
mod kernels;
mod manifest;
mod names;
mod project;
mod report;
mod rust;
mod text;
mod tokens;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
