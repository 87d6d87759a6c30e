//! ROCm's clang on the build machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use hip::Arch;

use crate::error::{Error, Result};

/// Compiles if the compiler and everything that it needs are installed.
const PROBE: &str = "#include <hip/hip_runtime.h>\nextern \"C\" __global__ void probe(float *x) { *x = sinf(*x); }\n";
/// Paths of compilers in an installation, in the order in which they are tried.
const PLACES: [&str; 5] =
    ["bin/amdclang++", "llvm/bin/amdclang++", "llvm/bin/clang++", "lib/llvm/bin/clang++", "bin/hipcc"];

/// A clang that compiles HIP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Clang {
    pub(super) path: PathBuf,
    /// The installation, if the compiler is in one.
    pub(super) root: Option<PathBuf>,
}

/// Finds ROCm's clang: in the installations that `variable` names (`ROCM_PATH`, `HIP_PATH`), then in `/opt`, then as
/// `amdclang++` on the path. Takes the first that compiles for `arch`; otherwise returns why there is none.
pub(super) fn find(
    variable: impl Fn(&str) -> Option<OsString>,
    arch: &Arch,
    folder: &Path,
) -> std::result::Result<Clang, String> {
    let mut why = Vec::new();
    for clang in candidates(variable) {
        match clang.compile_text(PROBE, arch, folder) {
            Ok(_) => return Ok(clang),
            Err(error) => why.push(first_lines(&error.to_string())),
        }
    }
    Err(if why.is_empty() { "no amdclang++ is installed".to_owned() } else { why.join("; ") })
}

fn candidates(variable: impl Fn(&str) -> Option<OsString>) -> Vec<Clang> {
    let exists = |path: &Path| path.is_file();
    let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let mut roots: Vec<PathBuf> = ["ROCM_PATH", "HIP_PATH"].iter().filter_map(|name| set(name)).collect();
    if cfg!(unix) {
        roots.push("/opt/rocm".into());
        let entries = std::fs::read_dir("/opt").into_iter().flatten().flatten().map(|entry| entry.path());
        let is_release = |path: &PathBuf| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().strip_prefix("rocm-").is_some_and(|r| !r.is_empty()))
        };
        let mut others: Vec<PathBuf> = entries.filter(is_release).collect();
        let number = |path: &PathBuf| {
            let name = path.to_string_lossy().into_owned();
            let parts = name.rsplit_once("rocm-").map_or("", |(_, release)| release).split('.');
            parts.map(|part| part.parse::<u32>().unwrap_or(0)).collect::<Vec<_>>()
        };
        others.sort_by_key(|path| std::cmp::Reverse(number(path)));
        roots.extend(others);
    }
    let mut found: Vec<Clang> = Vec::new();
    for root in roots {
        for place in PLACES {
            let path = root.join(place).with_extension(std::env::consts::EXE_EXTENSION);
            if exists(&path) && !found.iter().any(|known| known.path == path) {
                found.push(Clang { path, root: Some(root.clone()) });
            }
        }
    }
    let folders = set("PATH");
    for folder in folders.iter().flat_map(std::env::split_paths).filter(|folder| folder.is_absolute()) {
        let path = folder.join("amdclang++").with_extension(std::env::consts::EXE_EXTENSION);
        if exists(&path) && !found.iter().any(|known| known.path == path) {
            found.push(Clang { path, root: None });
        }
    }
    found
}

impl Clang {
    /// Compiles a file for one architecture, and returns the code object and warnings.
    pub(super) fn compile(
        &self,
        source: &Path,
        arch: &Arch,
        options: &[String],
        folder: &Path,
    ) -> Result<(Vec<u8>, String)> {
        let output = folder.join(format!("hiprtc-build-{}.co", arch.to_string().replace(':', "-")));
        let mut command = Command::new(&self.path);
        if let Some(root) = &self.root {
            command.arg(format!("--rocm-path={}", root.display()));
        }
        // HIPRTC declares the content of this header without an #include.
        command.args(["-x", "hip", "-include", "hip/hip_runtime.h", "--offload-device-only", "--no-gpu-bundle-output"]);
        command.arg(format!("--offload-arch={arch}")).arg("-O3").args(options).arg("-o").arg(&output).arg(source);
        let result = command.output().map_err(|reason| file_error(&self.path, reason))?;
        let log = String::from_utf8_lossy(&result.stderr).trim().to_owned();
        if !result.status.success() {
            let name = source.display().to_string();
            let log = if log.is_empty() { format!("{}: {}", self.path.display(), result.status) } else { log };
            return Err(Error::Compilation { name, arch: arch.clone(), options: options.into(), log });
        }
        let bytes = std::fs::read(&output).map_err(|reason| file_error(&output, reason));
        let _ = std::fs::remove_file(&output);
        let bytes = bytes?;
        if !bytes.starts_with(b"\x7fELF") {
            let name = format!("{} by {}", source.display(), self.path.display());
            return Err(Error::NotCode { name, options: options.to_vec(), size: bytes.len() });
        }
        Ok((bytes, log))
    }

    fn compile_text(&self, text: &str, arch: &Arch, folder: &Path) -> Result<()> {
        let source = folder.join("hiprtc-build-probe.hip");
        std::fs::write(&source, text).map_err(|reason| file_error(&source, reason))?;
        let result = self.compile(&source, arch, &[], folder);
        let _ = std::fs::remove_file(&source);
        result.map(drop).map_err(|error| match error {
            Error::Compilation { log, .. } => Error::Compilation {
                name: format!("a test program, by {},", self.path.display()),
                arch: arch.clone(),
                options: Box::default(),
                log,
            },
            other => other,
        })
    }
}

pub(super) fn file_error(path: &Path, reason: std::io::Error) -> Error {
    Error::File { path: path.to_owned(), reason: reason.into() }
}

/// Returns an error's first line, and the first line of messages after it.
fn first_lines(text: &str) -> String {
    text.lines().take(2).collect::<Vec<_>>().join(" ")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Writes a script that acts as a compiler: it writes its arguments and a code object, or fails.
    fn compiler(path: &Path, script: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = path.with_extension("text");
        std::fs::write(&text, format!("#!/bin/sh\n{script}\n")).unwrap();
        // Copied by another process: a file that this process has written may still be open in a child forked by another thread, and can
        // then not be executed.
        let copied = Command::new("install").args(["-m", "755"]).args([&text, path]).status().unwrap();
        assert!(copied.success());
    }

    const GOOD: &str = r#"echo "$@" >> "$(dirname "$0")/calls"
while [ "$1" != -o ]; do shift; done
echo a warning >&2
printf '\177ELF code' > "$2""#;

    #[test]
    fn the_first_that_compiles_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("rocm");
        let arch: Arch = "gfx90a:xnack-".parse().unwrap();
        let variable = |name: &str| (name == "ROCM_PATH").then(|| root.clone().into_os_string());
        let is_own = |result: &std::result::Result<Clang, String>| {
            result.as_ref().is_ok_and(|clang| clang.path.starts_with(folder.path()))
        };
        assert!(!is_own(&find(variable, &arch, folder.path())));
        compiler(&root.join("llvm/bin/clang++"), GOOD);
        compiler(&root.join("bin/amdclang++"), "echo 'error: no hip_runtime.h' >&2; exit 1");
        let found = find(variable, &arch, folder.path());
        assert!(is_own(&found), "{found:?}");
        let clang = found.unwrap();
        assert!(clang.path.ends_with("llvm/bin/clang++"));
        let code = clang.compile(Path::new("my kernel.hip"), &arch, &["-DA=1".to_owned()], folder.path()).unwrap();
        assert_eq!(code, (b"\x7fELF code".to_vec(), "a warning".to_owned()));
        let calls = std::fs::read_to_string(root.join("llvm/bin/calls")).unwrap();
        let last = calls.lines().last().unwrap();
        for part in [
            "--rocm-path=",
            "-x hip",
            "--offload-arch=gfx90a:xnack-",
            "--offload-device-only",
            "-DA=1",
            "my kernel.hip",
        ] {
            assert!(last.contains(part), "{part} in {last}");
        }
        assert!(!folder.path().join("hiprtc-build-probe.hip").exists());
    }

    #[test]
    fn what_fails_is_an_error_with_its_words() {
        let folder = tempfile::tempdir().unwrap();
        let arch: Arch = "gfx90a".parse().unwrap();
        let path = folder.path().join("clang++");
        let run = |script: &str| {
            compiler(&path, script);
            let clang = Clang { path: path.clone(), root: None };
            clang.compile(Path::new("a.hip"), &arch, &[], folder.path()).unwrap_err().to_string()
        };
        assert!(run("echo a.hip:1: error: wrong >&2; exit 1").contains("a.hip:1: error: wrong"));
        assert!(run("exit 3").contains("exit status: 3"));
        assert!(run("true").contains("hiprtc-build-gfx90a.co"));
        assert!(run("while [ \"$1\" != -o ]; do shift; done; echo junk > \"$2\"").contains("not a code object"));
        let none = Clang { path: "/no/such/clang++".into(), root: None };
        assert!(matches!(none.compile(Path::new("a.hip"), &arch, &[], folder.path()), Err(Error::File { .. })));
    }
}
