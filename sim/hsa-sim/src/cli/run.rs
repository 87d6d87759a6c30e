//! Running a program.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use rocm_preload::Launcher;

use super::gpu::{Gpu, name};
use super::place::{Rocm, driver_folder, driver_library, fallback_folder, library_folder};

/// `hip-sim run`.
#[derive(Debug, Args)]
pub(super) struct Run {
    #[command(flatten)]
    program: Program,
    /// What to log on stderr besides faults
    #[arg(long, env = "HIP_SIM_LOG", value_enum)]
    log: Option<Log>,
}

/// `hip-sim trace`.
#[derive(Debug, Args)]
pub(super) struct Trace {
    #[command(flatten)]
    program: Program,
    /// Log each HSA call too
    #[arg(long)]
    calls: bool,
}

#[derive(Debug, Args)]
struct Program {
    #[command(flatten)]
    gpu: Gpu,
    /// A release that `rocm-sdk install` has installed, or a folder
    #[arg(long, value_name = "REL|DIR")]
    rocm: Option<String>,
    /// Do not show the program the kernel driver's files of the GPUs (/sys/class/kfd, /sys/class/drm, PCI devices)
    #[arg(long)]
    no_driver_files: bool,
    /// Program and its arguments
    #[arg(required = true, last = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

/// A setting of HIP 7.2: whether its memory pools divide chunks of 32 MiB. Without, each allocation of a pool is one of
/// HSA, as in earlier releases, and accesses outside of it are found.
const POOLS: &str = "DEBUG_HIP_MEM_POOL_VMHEAP";

/// What to log.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Log {
    /// Failed HSA calls
    Errors,
    /// Every kernel
    Kernels,
    /// Every HSA call
    Calls,
}

impl Run {
    pub(super) fn run(&self) -> Result<()> {
        self.program.run(self.log)
    }

    #[cfg(test)]
    pub(super) fn gpu(&self) -> &Gpu {
        &self.program.gpu
    }
}

impl Trace {
    pub(super) fn run(&self) -> Result<()> {
        self.program.run(Some(if self.calls { Log::Calls } else { Log::Kernels }))
    }
}

impl Program {
    /// Replaces this process with the program.
    fn run(&self, log: Option<Log>) -> Result<()> {
        // Checked before the program starts: it would report an invalid variable only as HIP's "no device".
        self.gpu.devices()?;
        let rocm = Rocm::find(self.rocm.as_deref())?;
        let ours = library_folder()?;
        let [program, arguments @ ..] = &self.command[..] else { anyhow::bail!("no program given") };
        let before = std::env::var_os("LD_LIBRARY_PATH").filter(|before| !before.is_empty());
        let fallback = fallback_folder().map(PathBuf::into_os_string);
        let folders = [ours.as_os_str(), rocm.libraries.as_os_str()].into_iter().chain(before.as_deref());
        let folders = folders.chain(fallback.as_deref()).collect::<Vec<_>>().join(OsStr::new(":"));
        let library = self.preloaded();
        let mut command = match &rocm.loader {
            Some(loader) => {
                let launcher = Launcher::new(loader, folders);
                let launcher = match &library {
                    Some(library) => launcher.preload(library),
                    None => launcher,
                };
                launcher.command(&found(program, &rocm)?, program)?
            }
            None => {
                let mut command = Command::new(program);
                command.env("LD_LIBRARY_PATH", folders);
                if let Some(library) = &library {
                    let before = std::env::var_os("LD_PRELOAD").filter(|before| !before.is_empty());
                    let all = [library.as_os_str()].into_iter().chain(before.as_deref());
                    command.env("LD_PRELOAD", all.collect::<Vec<_>>().join(OsStr::new(":")));
                }
                command
            }
        };
        command.args(arguments).envs(self.gpu.variables()).envs(rocm_sdk::variables(&rocm.root));
        if std::env::var_os(POOLS).is_none() {
            command.env(POOLS, "0");
        }
        match library.and_then(|_| self.driver_files()) {
            Some(folder) => command.env("HIP_SIM_DRIVER_FILES", folder),
            None => command.env_remove("HIP_SIM_DRIVER_FILES"),
        };
        if let Some(log) = log.and_then(name) {
            command.env("HIP_SIM_LOG", log);
        }
        let error = command.exec();
        Err(error).with_context(|| format!("could not start {}", program.to_string_lossy()))
    }

    /// The library to preload. Most programs run without it too.
    fn preloaded(&self) -> Option<PathBuf> {
        let library = driver_library();
        let told = |error: &anyhow::Error| {
            eprintln!(
                "hip-sim: RCCL and ROCm SMI will find no GPU, and other programs that it starts no ROCm: {error:#}"
            );
        };
        library.inspect_err(told).ok()
    }

    /// The folder with the driver's files, unless disabled.
    fn driver_files(&self) -> Option<PathBuf> {
        if self.no_driver_files {
            return None;
        }
        let files = self.gpu.driver_files().and_then(|files| driver_folder(&files));
        files.inspect_err(|error| eprintln!("hip-sim: RCCL and ROCm SMI will find no GPU: {error:#}")).ok()
    }
}

/// The program's file, which may be one of ROCm's: an explicitly called loader does not search `PATH`.
fn found(program: &OsStr, rocm: &Rocm) -> Result<PathBuf> {
    if program.to_string_lossy().contains('/') {
        return Ok(program.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = rocm.root.join("bin");
    let mut files = std::env::split_paths(&path).chain([own.clone()]).map(|folder| folder.join(program));
    let found = files.find(|file| file.is_file());
    found.with_context(|| format!("{} is neither on PATH nor in {}", program.to_string_lossy(), own.display()))
}
