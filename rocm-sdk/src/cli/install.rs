//! `rocm-sdk install`, `list`, `remove` and `run`: ROCm from Debian's packages in a folder of the user.

use std::ffi::OsString;
use std::process::ExitCode;

use rocm_sdk::install::{self, Bars, Installed, Installer, Progress, Silent};

use super::output::{self, Outcome};

/// Install ROCm from Debian's packages into a directory of yours, without root
#[derive(Debug, clap::Args)]
#[command(after_long_help = INSTALL)]
pub(crate) struct Install {
    /// 5.7, 6.4 or 7.2
    release: String,

    /// Libraries in addition to HIP and its run-time compiler, by short name, separated by commas; `--help` has the names
    #[arg(long, value_name = "LIBRARIES", value_delimiter = ',')]
    with: Vec<String>,

    /// List the names that `--with` accepts for this release, and mark those that are installed
    #[arg(long, conflicts_with_all = ["with", "update"])]
    list: bool,

    /// Replace the installed packages by Debian's newest ones of that release
    #[arg(long)]
    update: bool,

    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

const INSTALL: &str = "\
Installs into ~/.local/share/rocm-sdk, or into the directory in ROCM_SDK_INSTALL_DIR. Needs apt-get, dpkg-deb and the
keys of the Debian archive, which Debian and Ubuntu have. apt resolves dependencies and verifies signatures; dpkg only
unpacks: nothing is installed into the system, and no script of a package runs. Run it again to continue after an
interruption.

Every installation has the HIP runtime and HIPRTC. `--with` adds libraries with their headers, to an existing
installation too: the next run downloads only what is missing, and keeps the rest. The names, for 7.2:
  hipblas hipblaslt hipfft hiprand hipsolver hipsparse hipsparselt miopen rccl
  rocblas rocfft rocrand rocsolver rocsparse rocm_smi64 roctx64
  rocprim rocthrust hipcub rocwmma       headers only
  hipcc                                  with the compiler, 150 MB
`--list` prints the names of a release, one a line, from Debian's lists of packages.

Every search finds the installation, after ROCM_PATH and Python environments, before /opt/rocm. The libraries need the C
library that is installed with them: `rocm-sdk run` starts a program with it.

Examples:
  rocm-sdk install 7.2
  rocm-sdk install 7.2 --with rocblas,rocrand
  rocm-sdk install 7.2 --with hipfft     adds hipFFT later
  rocm-sdk install 6.4 --list
  rocm-sdk run 7.2 -- target/release/my-program";

/// List the installations of `rocm-sdk install`
#[derive(Debug, clap::Args)]
#[command(after_long_help = LIST)]
pub(crate) struct List {
    /// Write JSON: an array of objects with release, version, root, libraries
    #[arg(long)]
    json: bool,
}

const LIST: &str = "\
Prints a line for each: release, version, root and the requested libraries. `rocm-sdk doctor` shows every ROCm of this
machine, however it was installed.";

/// Remove an installation of `rocm-sdk install`
#[derive(Debug, clap::Args)]
pub(crate) struct Remove {
    /// The release, as `rocm-sdk list` shows it: 7.2
    release: String,
}

/// Run a program on an installation of `rocm-sdk install`
#[derive(Debug, clap::Args)]
#[command(after_long_help = RUN)]
pub(crate) struct Run {
    /// The release, as `rocm-sdk list` shows it: 7.2
    release: String,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

const RUN: &str = "\
Runs the program, or a script, with the loader and the C library of that release. The programs that it starts run with
them, too. ROCM_PATH and ROCM_HOME are set to the release, and its programs are on PATH. The program replaces this
command, so the exit code is the program's. As Cargo's runner, it applies to `cargo run` and `cargo test`:
runner = [\"rocm-sdk\", \"run\", \"7.2\", \"--\"].

Examples:
  rocm-sdk run 7.2 -- target/release/my-program --size 1024
  rocm-sdk run 6.4 -- rocm-sdk doctor";

impl Install {
    pub(crate) fn run(&self) -> Outcome {
        let installer = Installer::standard()?;
        let mut progress: Box<dyn Progress> = if self.quiet { Box::new(Silent) } else { Box::new(Bars::new()) };
        if self.list {
            return self.list(&installer, &mut *progress);
        }
        let request = installer.release(&self.release)?.with(&self.with).update(self.update);
        let done = request.run(&mut *progress)?;
        let (installed, root) = (describe(&done.installed), done.installed.root());
        output::line(match done.added.len() {
            0 => format!("{installed} is already installed in '{}'", root.display()),
            n => format!("{installed} installed in '{}', {n} packages", root.display()),
        })?;
        Ok(ExitCode::SUCCESS)
    }

    fn list(&self, installer: &Installer, progress: &mut dyn Progress) -> Outcome {
        let names = installer.clone().release(&self.release)?.available(progress)?;
        let installed = installer.installed()?;
        let here = installed.iter().find(|installed| installed.release() == self.release);
        for name in names {
            let there = here.is_some_and(|installed| installed.libraries().any(|library| library == name));
            output::line(if there { format!("{name}\tinstalled") } else { name })?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl List {
    pub(crate) fn run(&self) -> Outcome {
        let installed = install::installed()?;
        if self.json {
            let all: Vec<_> = installed.iter().map(Listed::of).collect();
            output::line(serde_json::to_string_pretty(&all)?)?;
        } else if installed.is_empty() {
            output::note(format!("nothing is installed in '{}'", install::directory()?.display()));
        }
        for installed in installed.iter().filter(|_| !self.json) {
            let version = installed.version().unwrap_or("-");
            let libraries: Vec<&str> = installed.libraries().collect();
            let line =
                format!("{}\t{version}\t{}\t{}", installed.release(), installed.root().display(), libraries.join(","));
            output::line(line.trim_end())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Remove {
    pub(crate) fn run(&self) -> Outcome {
        let removed = install::remove(&self.release)?;
        output::line(format!("{} removed from '{}'", describe(&removed), removed.folder().display()))?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Run {
    pub(crate) fn run(&self) -> Outcome {
        match install::run(&self.release, &self.command)? {}
    }
}

fn describe(installed: &Installed) -> String {
    format!("ROCm {}", installed.version().unwrap_or(installed.release()))
}

/// An element of the output of `list --json`.
#[derive(serde::Serialize)]
struct Listed<'a> {
    release: &'a str,
    version: Option<&'a str>,
    root: String,
    libraries: Vec<&'a str>,
}

impl<'a> Listed<'a> {
    fn of(installed: &'a Installed) -> Self {
        Self {
            release: installed.release(),
            version: installed.version(),
            root: installed.root().display().to_string(),
            libraries: installed.libraries().collect(),
        }
    }
}
