//! `cargo xtask isa`: the proof that the software GPU decodes ROCm's own kernels like LLVM. The crate `isa-proof` does
//! the work; this task passes it the fetched files.

use anyhow::{Context, Result, bail, ensure};

use crate::process::{capture, cargo};
use crate::rocm::{self, Release};
use crate::{paths, process};

/// Path of the record, from the root of the workspace.
const RECORD: &str = "sim/amdgpu-sim/DECODING.md";

/// Path of the list of the instructions that were found, for COVERAGE.md.
const INSTRUCTIONS: &str = "sim/amdgpu-sim/tests/opcodes/libraries.txt";

/// Compare the software GPU's decoder with LLVM's on every instruction in ROCm's libraries.
///
/// Opens the libraries of a fetched release, extracts each code object for gfx90a and gfx942 (from bundles, compressed
/// bundles, and the kernel files in the library's folder), and reads every word of their code twice: with amdgpu-sim's
/// decoder and disassembler, and with the LLVM 22 that rustc contains. Both have to find the same instructions, with
/// the same text. Fails if they differ anywhere, and says where.
///
/// The libraries are read as they are; no GPU and no ROCm installation is needed. All five take about two minutes on
/// two cores and up to 2 GB of memory. `cargo xtask test --all` does the same with a sample of more than two million
/// instructions.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  cargo xtask rocm fetch 7.2 --with rocblas,rocrand,rocsparse,rccl,rocsolver
  cargo xtask isa 7.2                        all five libraries
  cargo xtask isa 7.2 --record               and write the result to sim/amdgpu-sim/DECODING.md
  cargo xtask isa 7.2 --libraries rocrand    one library
  cargo xtask isa 7.2 --sample 1000000       1 MB of each code object")]
pub(crate) struct Args {
    /// Release, such as 7.2
    #[arg(value_name = "REL", value_parser = rocm::release)]
    release: &'static Release,
    /// Libraries, by Debian's name without `lib` and number; hipblaslt, hipsparselt and rocfft have code too
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        default_values = ["rocblas", "rocrand", "rocsparse", "rccl", "rocsolver"]
    )]
    libraries: Vec<String>,
    /// Read only this many bytes of each code object, spread over it
    #[arg(long, value_name = "BYTES")]
    sample: Option<usize>,
    /// Write the result, with date and versions, to sim/amdgpu-sim/DECODING.md, and the list of instructions to its
    /// tests
    #[arg(long, conflicts_with = "sample")]
    record: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let tree = rocm::tree(args.release);
    let contents = tree.contents()?;
    let mut libraries = Vec::new();
    let mut missing = Vec::new();
    for library in &args.libraries {
        let package = contents.packages.iter().find(|stamp| is_of(&stamp.name, library));
        match package {
            Some(stamp) => libraries.push(format!("{library}={} {}", stamp.name, stamp.version)),
            None => missing.push(library.as_str()),
        }
    }
    ensure!(
        missing.is_empty(),
        "not there yet: {}; fetch them with `cargo xtask rocm fetch {} --with {}`",
        missing.join(", "),
        args.release.name,
        missing.join(",")
    );
    let mut command = cargo();
    command.args(["run", "--quiet", "-p", "isa-proof", "--", "--folder"]).arg(tree.libraries());
    for library in libraries {
        command.args(["--library", &library]);
    }
    if let Some(bytes) = args.sample {
        command.args(["--sample", &bytes.to_string()]);
    }
    if args.record {
        let date = capture(std::process::Command::new("date").args(["-u", "+%Y-%m-%d"])).context("the date")?;
        command.arg("--record").arg(paths::root().join(RECORD)).arg(date.trim());
        command.arg("--instructions").arg(paths::root().join(INSTRUCTIONS));
    }
    let status = command.status().with_context(|| format!("{} could not be started", process::shown(&command)))?;
    if !status.success() {
        bail!("the comparison failed: see above");
    }
    Ok(())
}

/// Returns whether a package is the library itself: `librocblas5` for `rocblas`, not `librocblas-dev`.
fn is_of(package: &str, library: &str) -> bool {
    let number = package.strip_prefix("lib").and_then(|name| name.strip_prefix(library));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_known_from_its_headers() {
        for (package, expected) in [
            ("librocblas5", true),
            ("librocblas-dev", false),
            ("librocblaslt1", false),
            ("rocblas5", false),
            ("librocblas", false),
        ] {
            assert_eq!(is_of(package, "rocblas"), expected, "{package}");
        }
    }
}
