//! The command `cuda-compat`. `cuda-compat check DIR` reads a Rust project and reports what of its CUDA code maps to
//! AMD GPUs. `cuda-compat env` installs stand-ins for `nvcc`, `ptxas` and `nvidia-smi`: links to this program, which looks at
//! its name.

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
mod toolkit;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some((tool, arguments)) = toolkit::Tool::of_command(std::env::args_os()) {
        return toolkit::run(tool, arguments);
    }
    cli::main()
}
