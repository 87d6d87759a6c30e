//! What the stand-ins share: their names and versions, their output, the start on a release of ROCm.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The release of CUDA whose options and language the stand-ins have: that of `__CUDACC_VER_MAJOR__` in kernels.
pub(super) const RELEASE: &str = "12.8";

/// A command of CUDA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    Nvcc,
    Ptxas,
    NvidiaSmi,
}

impl Tool {
    pub(super) const ALL: [Self; 3] = [Self::Nvcc, Self::Ptxas, Self::NvidiaSmi];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Nvcc => "nvcc",
            Self::Ptxas => "ptxas",
            Self::NvidiaSmi => "nvidia-smi",
        }
    }

    /// Returns the command that a program was called as, and its arguments: `nvcc …`, or `cuda-compat nvcc …`.
    pub(crate) fn of_command(mut command: impl Iterator<Item = OsString>) -> Option<(Self, Vec<OsString>)> {
        let named = |name: &OsStr| Self::ALL.into_iter().find(|tool| name == tool.name());
        let program = PathBuf::from(command.next()?);
        if let Some(tool) = program.file_stem().and_then(named) {
            return Some((tool, command.collect()));
        }
        Some((named(&command.next()?)?, command.collect()))
    }

    /// Returns what `--version` prints. Build scripts look for `release 12.8,` in it.
    pub(super) fn version(self) -> String {
        format!(
            "{} of cuda-compat {}: a stand-in that compiles for AMD GPUs, and not NVIDIA's compiler\n\
             Cuda compilation tools, release {RELEASE}, V{RELEASE}.0\n",
            self.name(),
            env!("CARGO_PKG_VERSION")
        )
    }
}

/// The variable that says what to do with functions of the host, and its value to leave them out.
pub(super) const HOST_CODE: &str = "CUDA_COMPAT_HOST_CODE";
pub(super) const OMIT: &str = "omit";

/// Set in a process that was started again on a release's C library.
#[cfg(target_os = "linux")]
const RESTARTED: &str = "CUDA_COMPAT_TOOL_RESTARTED";

/// Returns the reason why HIPRTC is not available, if so. Starts this program again on the C library of an installed ROCm whose
/// HIPRTC, and HIP, need that.
pub(super) fn available(tool: Tool, arguments: &[String]) -> Result<(), String> {
    let Err(error) = hiprtc::available() else { return Ok(()) };
    #[cfg(target_os = "linux")]
    {
        let again = std::iter::once(tool.name()).chain(arguments.iter().map(String::as_str)).map(OsString::from);
        if let Some(reason) = hiprtc::build::restart(&error, RESTARTED, again) {
            return Err(format!("{error}: {reason}"));
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (tool, arguments);
    Err(error.to_string())
}

/// Writes to stdout. The reader may close the pipe early, as `head` does.
pub(super) fn print(text: &str) -> Result<(), String> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("writing to stdout: {error}")),
        _ => Ok(()),
    }
}

/// Writes a file in one step, so that another process never reads a part of it.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let failed = |error: io::Error| format!("cannot write {}: {error}", path.display());
    let name = path.file_name().ok_or_else(|| format!("{}: not the name of a file", path.display()))?;
    let mut new = name.to_owned();
    new.push(format!(".{}.new", std::process::id()));
    let new = path.with_file_name(new);
    let written = std::fs::write(&new, bytes).and_then(|()| std::fs::rename(&new, path));
    written.map_err(|error| {
        let _ = std::fs::remove_file(&new);
        failed(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_known_by_their_names() {
        let of = |words: &[&str]| Tool::of_command(words.iter().map(OsString::from));
        assert_eq!(of(&["/opt/cuda/bin/nvcc", "-V"]), Some((Tool::Nvcc, vec!["-V".into()])));
        assert_eq!(of(&["cuda-compat", "nvidia-smi", "-L"]), Some((Tool::NvidiaSmi, vec!["-L".into()])));
        assert_eq!(of(&["ptxas.exe"]), Some((Tool::Ptxas, vec![])));
        assert_eq!(of(&["cuda-compat", "check", "nvcc"]), None);
        assert_eq!(of(&[]), None);
    }
}
