//! `ptxas`: code of AMD GPUs is complete, so that it is only checked and copied.

use std::path::Path;
use std::process::ExitCode;

use cuda_compat::driver::{image, text};

use super::tool::{self, Tool};

const HELP: &str = "\
ptxas of cuda-compat takes the texts that its nvcc writes, checks them, and copies them: they contain machine code already.

Usage: ptxas [OPTION]... FILE -o OUTPUT

  -o FILE, --output-file FILE   the output; elf.o without it
  --version, --help
  Other options of NVIDIA's ptxas have no effect.
";

/// Options with a value behind them.
const WITH_VALUE: [&str; 9] = [
    "-arch",
    "--gpu-name",
    "-O",
    "--opt-level",
    "-maxrregcount",
    "--maxrregcount",
    "-m",
    "--machine",
    "--def-load-cache",
];

pub(super) fn run(arguments: Vec<String>) -> Result<ExitCode, String> {
    let (mut input, mut output) = (None, None);
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "-h" | "--help" => return tool::print(HELP).map(|()| ExitCode::SUCCESS),
            "-V" | "--version" => return tool::print(&Tool::Ptxas.version()).map(|()| ExitCode::SUCCESS),
            "-o" | "--output-file" => output = arguments.next(),
            option if WITH_VALUE.contains(&option) => drop(arguments.next()),
            option if option.starts_with('-') => {
                if let Some(("-o" | "--output-file", file)) = option.split_once('=') {
                    output = Some(file.to_owned());
                }
            }
            _ if input.is_some() => return Err(format!("{argument}: only one file is assembled at a time")),
            _ => input = Some(argument),
        }
    }
    let input = input.ok_or("no file is given: ptxas FILE -o OUTPUT")?;
    let output = output.unwrap_or_else(|| "elf.o".to_owned());
    copy(Path::new(&input), Path::new(&output))?;
    Ok(ExitCode::SUCCESS)
}

/// Copies a text, if it is whole.
pub(super) fn copy(input: &Path, output: &Path) -> Result<(), String> {
    let name = input.display();
    let bytes = std::fs::read(input).map_err(|error| format!("{name}: {error}"))?;
    match text::decode(&bytes) {
        Ok(Some(_)) => tool::write(output, &bytes),
        Ok(None) => Err(format!(
            "{name}: {}",
            image::explain(&bytes).unwrap_or("this is not a text that nvcc of cuda-compat has written")
        )),
        Err(damaged) => Err(format!("{name}: {damaged}")),
    }
}
