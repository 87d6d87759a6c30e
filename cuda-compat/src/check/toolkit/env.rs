//! `cuda-compat env`: a folder with the stand-ins, in the layout of a CUDA toolkit, and the variables that name it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::ValueEnum;

use super::tool::{self, RELEASE, Tool};

/// Put stand-ins for nvcc, ptxas and nvidia-smi on the path, for build scripts that call them
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(crate) struct Env {
    /// The folder for the stand-ins; by default one in the user's cache folder
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    /// The shell to print lines for; by default the one that SHELL names
    #[arg(long, value_enum)]
    shell: Option<Shell>,

    /// Make nvcc write objects without code for functions of the host in .cu files, which need ROCm's clang. Programs that
    /// call these functions do not link; kernels compile as before
    #[arg(long)]
    omit_host_code: bool,

    /// A program to run with the variables, instead of printing them
    #[arg(last = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

const AFTER: &str = "\
Makes a folder in the layout of a CUDA toolkit: bin/nvcc, bin/ptxas, bin/nvidia-smi, include/cuda.h, version.json. Then
prints lines for a shell that set CUDA_PATH, CUDA_HOME, NVCC and LIBRARY_PATH, and put its bin first on PATH; or runs a
program so. lib64 has an empty libcudart.a, for build scripts that link it.

nvcc compiles kernels by HIPRTC for the architectures in CUDA_COMPAT_ARCH, otherwise for this machine's GPUs, otherwise
for gfx90a. `cuda-compat nvcc --help` lists its options.

Examples:
  cuda-compat env -- cargo build
  cuda-compat env --omit-host-code -- cargo build          candle, without its quantized models
  eval \"$(cuda-compat env)\"
  cuda-compat env --shell fish | source
  CUDA_COMPAT_ARCH=gfx90a,gfx942 cuda-compat env -- cargo build --release";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Shell {
    /// sh, bash, zsh, dash
    Sh,
    /// fish
    Fish,
}

impl Env {
    pub(crate) fn run(&self) -> Result<ExitCode, String> {
        let folder = match &self.dir {
            Some(folder) => folder.clone(),
            None => cache().ok_or("no folder for the stand-ins: set XDG_CACHE_HOME or HOME, or give --dir")?,
        };
        let folder = std::path::absolute(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        make(&folder)?;
        let Some((program, arguments)) = self.program.split_first() else {
            tool::print(&self.lines(&folder)?)?;
            return Ok(ExitCode::SUCCESS);
        };
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(folder.join("bin")).chain(std::env::split_paths(&path));
        let path = std::env::join_paths(folders).map_err(|error| format!("PATH: {error}"))?;
        let mut command = Command::new(program);
        command.args(arguments).envs(self.variables(&folder)).env("PATH", path);
        let status =
            command.status().map_err(|error| format!("{} cannot be started: {error}", Path::new(program).display()))?;
        // What a shell returns for a program that a signal has ended.
        let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(128);
        Ok(ExitCode::from(code))
    }

    /// Returns the lines for a shell.
    fn lines(&self, folder: &Path) -> Result<String, String> {
        let fish = std::env::var_os("SHELL").is_some_and(|shell| Path::new(&shell).ends_with("fish"));
        let shell = self.shell.unwrap_or(if fish { Shell::Fish } else { Shell::Sh });
        let quoted = |path: &Path| match path.to_str() {
            Some(text) if shell == Shell::Fish => Ok(format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))),
            Some(text) => Ok(format!("'{}'", text.replace('\'', "'\\''"))),
            None => Err(format!("{}: not UTF-8", path.display())),
        };
        let mut lines = String::new();
        for (name, value) in self.variables(folder) {
            let value = quoted(&value)?;
            lines += &match shell {
                Shell::Sh => format!("export {name}={value}\n"),
                Shell::Fish => format!("set -gx {name} {value}\n"),
            };
        }
        let bin = quoted(&folder.join("bin"))?;
        lines += &match shell {
            Shell::Sh => format!(
                "case \":${{PATH-}}:\" in *:{bin}:*) ;; *) export PATH={bin}\"${{PATH:+:${{PATH}}}}\" ;; esac\n"
            ),
            Shell::Fish => format!("contains -- {bin} $PATH; or set -gx --path --prepend PATH {bin}\n"),
        };
        Ok(lines)
    }

    /// The variables by which build scripts, linkers and nvcc find what they need.
    fn variables(&self, folder: &Path) -> Vec<(&'static str, PathBuf)> {
        let mut variables = vec![
            ("CUDA_PATH", folder.to_owned()),
            ("CUDA_HOME", folder.to_owned()),
            ("NVCC", folder.join("bin/nvcc")),
            ("LIBRARY_PATH", first(&folder.join("lib64"), "LIBRARY_PATH")),
        ];
        if self.omit_host_code {
            variables.push((tool::HOST_CODE, tool::OMIT.into()));
        }
        variables
    }
}

/// Returns a variable's list of folders with this one first.
fn first(folder: &Path, variable: &str) -> PathBuf {
    let others = std::env::var_os(variable).unwrap_or_default();
    let others = std::env::split_paths(&others).filter(|other| other != folder && !other.as_os_str().is_empty());
    let all = std::iter::once(folder.to_owned()).chain(others);
    std::env::join_paths(all).map_or_else(|_| folder.to_owned(), PathBuf::from)
}

/// The folder for the stand-ins of this version.
fn cache() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")))?;
    Some(cache.join("cuda-compat").join(format!("toolkit-{}", env!("CARGO_PKG_VERSION"))))
}

/// Makes the folder, or brings it up to date.
fn make(folder: &Path) -> Result<(), String> {
    let failed = |path: &Path, error: std::io::Error| format!("cannot write {}: {error}", path.display());
    for name in ["bin", "include", "lib64"] {
        let path = folder.join(name);
        std::fs::create_dir_all(&path).map_err(|error| failed(&path, error))?;
    }
    let program = this_program()?;
    for tool in Tool::ALL {
        let path = folder.join("bin").join(tool.name());
        link(&program, &path).map_err(|error| failed(&path, error))?;
    }
    let number = RELEASE.replace('.', "0");
    let header = format!(
        "// Of cuda-compat: the version of CUDA, for build scripts that read it. Kernels get their headers from its nvcc.\n\
         #pragma once\n#define CUDA_VERSION {number}0\n"
    );
    let json =
        format!("{{\"cuda\": {{\"name\": \"stand-in of cuda-compat for AMD GPUs\", \"version\": \"{RELEASE}.0\"}}}}\n");
    let archive = "!<arch>\n".to_owned();
    for (name, text) in [("include/cuda.h", header), ("version.json", json), ("lib64/libcudart.a", archive)] {
        let path = folder.join(name);
        if std::fs::read(&path).is_ok_and(|old| old == text.as_bytes()) {
            continue; // Its time is part of what some build scripts compare.
        }
        tool::write(&path, text.as_bytes())?;
    }
    Ok(())
}

/// Returns the path of this program, also if a dynamic loader was started to run it.
fn this_program() -> Result<PathBuf, String> {
    let failed = |error: std::io::Error| format!("the path of this program is not known: {error}");
    let program = std::env::current_exe().map_err(failed)?;
    let is_loader = program.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ld-"));
    match std::env::args_os().next().filter(|_| is_loader) {
        Some(first) => std::path::absolute(PathBuf::from(first)).map_err(failed),
        None => Ok(program),
    }
}

/// Makes a link to the program, in one step: builds may use the old one.
#[cfg(unix)]
fn link(program: &Path, path: &Path) -> std::io::Result<()> {
    if std::fs::read_link(path).is_ok_and(|old| old == program) {
        return Ok(());
    }
    let new = path.with_extension(format!("{}.new", std::process::id()));
    std::os::unix::fs::symlink(program, &new)?;
    std::fs::rename(&new, path)
}

/// Copies the program: links need rights there.
#[cfg(not(unix))]
fn link(program: &Path, path: &Path) -> std::io::Result<()> {
    std::fs::copy(program, path.with_extension(std::env::consts::EXE_EXTENSION)).map(drop)
}
