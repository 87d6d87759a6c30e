//! `rocm-sdk path`

use std::process::ExitCode;

use super::installation;
use super::output::Outcome;
use super::place::Place;

/// Print a path of the ROCm installation
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER)]
#[group(required = true, multiple = false)]
pub(crate) struct Path {
    /// The root directory
    #[arg(long = "root")]
    root: bool,

    /// The programs
    #[arg(long)]
    bin: bool,

    /// The CMake packages, for CMAKE_PREFIX_PATH
    #[arg(long)]
    cmake: bool,

    /// The libraries
    #[arg(long)]
    lib: bool,

    /// The C headers
    #[arg(long)]
    include: bool,

    /// The LLVM directory, which contains `bin/clang`
    #[arg(long)]
    llvm: bool,
}

const AFTER: &str = "\
Prints one line. For wheels, the paths are those of the devel tree, as with AMD's own `rocm-sdk`: it is expanded on
first use, and `rocm[devel]` must be installed. For any other installation, they are those of the installation that the
search finds. A path is printed whether or not it exists: packages without headers have no `include`. To select an
installation, write `--root DIR` before `path`.

Examples:
  cmake -DCMAKE_PREFIX_PATH=$(rocm-sdk path --cmake) ..
  $(rocm-sdk path --llvm)/bin/clang --version
  rocm-sdk --root /opt/rocm-7.2.4 path --lib";

impl Path {
    pub(crate) fn run(&self, place: &Place) -> Outcome {
        let layout = installation::whole(place)?;
        let path = if self.bin {
            layout.bin()
        } else if self.cmake {
            layout.cmake()
        } else if self.lib {
            layout.lib().to_owned()
        } else if self.include {
            layout.include()
        } else if self.llvm {
            layout.llvm()
        } else {
            layout.root().to_owned()
        };
        installation::print(&path)?;
        Ok(ExitCode::SUCCESS)
    }
}
