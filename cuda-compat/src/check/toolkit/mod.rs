//! Stand-ins for CUDA's commands `nvcc`, `ptxas` and `nvidia-smi`, for build scripts that call them.

pub(crate) mod env;
mod host;
mod job;
mod nvcc;
mod options;
mod ptxas;
mod smi;
mod source;
mod tool;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;

pub(crate) use tool::Tool;

/// Runs a command.
pub(crate) fn run(tool: Tool, arguments: Vec<OsString>) -> ExitCode {
    let text = |argument: OsString| {
        argument.into_string().map_err(|argument| format!("{}: an argument is not UTF-8", argument.to_string_lossy()))
    };
    let result = arguments.into_iter().map(text).collect::<Result<Vec<_>, _>>().and_then(|arguments| match tool {
        Tool::Nvcc => nvcc::run(arguments),
        Tool::Ptxas => ptxas::run(arguments),
        Tool::NvidiaSmi => smi::run(&arguments),
    });
    result.unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "{}: error: {error}", tool.name());
        ExitCode::from(1)
    })
}
