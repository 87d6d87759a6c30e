//! Finding and opening NVRTC.

use std::ffi::{CStr, OsString, c_int};
use std::path::{Path, PathBuf};

use hiprtc_sys::hiprtcResult;
use libloading::Library;
use rocm_loader::set_uid::runs_set_uid;

use crate::error::{Error, Result};
use crate::handle::{Functions, Names, Output};

/// The variable that names the library: an absolute path.
const VARIABLE: &str = "HIPRTC_NVRTC";

/// The names of the library, newest first.
#[cfg(not(windows))]
const NAMES: [&str; 2] = ["libnvrtc.so.13", "libnvrtc.so.12"];
#[cfg(windows)]
const NAMES: [&str; 2] = ["nvrtc64_130_0.dll", "nvrtc64_120_0.dll"];

/// The beginning of the name of the library's second part, which it opens by name. Without it, it compiles nothing.
const BUILTINS: &str = if cfg!(windows) { "nvrtc-builtins64_" } else { "libnvrtc-builtins.so." };

/// The library with its functions. It stays open until the process ends.
pub(super) struct Opened {
    pub(super) functions: Functions,
    pub(super) version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> hiprtcResult,
    pub(super) count_architectures: unsafe extern "C" fn(*mut c_int) -> hiprtcResult,
    pub(super) architectures: unsafe extern "C" fn(*mut c_int) -> hiprtcResult,
    /// `None` if the system's loader has found it.
    pub(super) path: Option<PathBuf>,
}

impl Opened {
    pub(super) fn described(&self) -> String {
        self.path.as_ref().map_or_else(|| "the system's NVRTC".to_owned(), |path| path.display().to_string())
    }
}

/// Opens the first library in the order of [`candidates`].
pub(super) fn open() -> Result<Opened> {
    let variable = |name: &str| if runs_set_uid() { None } else { std::env::var_os(name) };
    let mut tried = Vec::new();
    for candidate in candidates(variable) {
        let is_file = candidate.is_absolute();
        if is_file && !candidate.exists() {
            tried.push(format!("{}: not found", candidate.display()));
            continue;
        }
        if is_file {
            open_builtins(&candidate);
        }
        // SAFETY: NVIDIA's library, or the one that the user names; its initialisers are trusted.
        let library = unsafe { Library::new(&candidate) };
        match library.map_err(|error| error.to_string()).and_then(|library| functions(library, &candidate)) {
            Ok(opened) => return Ok(opened),
            Err(reason) => tried.push(format!("{}: {reason}", candidate.display())),
        }
    }
    Err(Error::NoNvrtc { report: tried.join("\n") })
}

/// Returns the files and names to try: the one that `HIPRTC_NVRTC` names, or else those of `CUDA_PATH` and `CUDA_HOME`,
/// of the Python environment, of the system's loader, and of `/usr/local/cuda`.
fn candidates(variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(named) = absolute(VARIABLE) {
        return vec![named];
    }
    let in_toolkit = |root: PathBuf| {
        let folders = if cfg!(windows) { ["bin/x64", "bin"] } else { ["lib64", "lib"] };
        folders.into_iter().flat_map(move |folder| NAMES.map(|name| root.join(folder).join(name)))
    };
    let in_wheels = |root: PathBuf| {
        let folders = [("nvidia/cu13", NAMES[0]), ("nvidia/cuda_nvrtc", NAMES[1])];
        let inside = if cfg!(windows) { "bin" } else { "lib" };
        packages(&root)
            .into_iter()
            .flat_map(move |site| folders.map(|(folder, name)| site.join(folder).join(inside).join(name)))
    };
    let toolkits = ["CUDA_PATH", "CUDA_HOME"].into_iter().filter_map(absolute).flat_map(in_toolkit);
    let wheels = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(absolute).flat_map(in_wheels);
    let usual = (!cfg!(windows)).then(|| in_toolkit("/usr/local/cuda".into())).into_iter().flatten();
    toolkits.chain(wheels).chain(NAMES.map(PathBuf::from)).chain(usual).collect()
}

/// Returns the folders for packages of a Python environment.
fn packages(root: &Path) -> Vec<PathBuf> {
    if cfg!(windows) {
        return vec![root.join("Lib/site-packages")];
    }
    let entries = std::fs::read_dir(root.join("lib")).into_iter().flatten().flatten();
    let mut pythons: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    pythons.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python")));
    pythons.sort();
    pythons.into_iter().rev().map(|python| python.join("site-packages")).collect()
}

/// Opens the library's second part from its folder. The loader then returns it to NVRTC, which opens it by name.
fn open_builtins(library: &Path) {
    let entries = library.parent().and_then(|folder| std::fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(BUILTINS)) {
        // SAFETY: as for the library. It stays open. If it cannot be opened, compilations return the error.
        if let Ok(builtins) = unsafe { Library::new(entry.path()) } {
            std::mem::forget(builtins);
        }
    }
}

/// Returns the folder of the toolkit's headers, which NVRTC does not contain.
pub(super) fn include(library: Option<&Path>) -> Option<PathBuf> {
    let beside = library.and_then(|path| Some(path.parent()?.parent()?.join("include")));
    let named = ["CUDA_PATH", "CUDA_HOME"].into_iter().filter(|_| !runs_set_uid()).filter_map(std::env::var_os);
    let named = named.map(|root| Path::new(&root).join("include")).filter(|path| path.is_absolute());
    let mut all = beside.into_iter().chain(named).chain(["/usr/local/cuda/include".into()]);
    all.find(|folder| folder.join("cuda_fp16.h").exists())
}

/// Returns the library's functions.
fn functions(library: Library, path: &Path) -> Result<Opened, String> {
    // SAFETY: the functions have these signatures in every release of NVRTC since CUDA 11.2. A status is an `int` enum
    // there, and a program a pointer.
    let opened = unsafe {
        Opened {
            functions: Functions {
                names: &Names {
                    create: "nvrtcCreateProgram",
                    add_name: "nvrtcAddNameExpression",
                    compile: "nvrtcCompileProgram",
                    lowered_name: "nvrtcGetLoweredName",
                },
                create: get(&library, c"nvrtcCreateProgram")?,
                destroy: get(&library, c"nvrtcDestroyProgram")?,
                add_name: get(&library, c"nvrtcAddNameExpression")?,
                compile: get(&library, c"nvrtcCompileProgram")?,
                log_size: get(&library, c"nvrtcGetProgramLogSize")?,
                log: get(&library, c"nvrtcGetProgramLog")?,
                lowered_name: get(&library, c"nvrtcGetLoweredName")?,
                code: Output {
                    names: ["nvrtcGetCUBINSize", "nvrtcGetCUBIN"],
                    size: get(&library, c"nvrtcGetCUBINSize")?,
                    get: get(&library, c"nvrtcGetCUBIN")?,
                },
                text: Output {
                    names: ["nvrtcGetPTXSize", "nvrtcGetPTX"],
                    size: get(&library, c"nvrtcGetPTXSize")?,
                    get: get(&library, c"nvrtcGetPTX")?,
                },
            },
            version: get(&library, c"nvrtcVersion")?,
            count_architectures: get(&library, c"nvrtcGetNumSupportedArchs")?,
            architectures: get(&library, c"nvrtcGetSupportedArchs")?,
            path: path.is_absolute().then(|| path.to_owned()),
        }
    };
    std::mem::forget(library);
    Ok(opened)
}

/// # Safety
/// The function must have the type `F`.
unsafe fn get<F: Copy>(library: &Library, name: &CStr) -> Result<F, String> {
    // SAFETY: the caller ensures the type.
    let symbol = unsafe { library.get::<F>(name.to_bytes_with_nul()) };
    symbol.map(|function| *function).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_file_is_the_only_one_and_relative_paths_do_not_count() {
        let of = |variables: &[(&str, &str)]| {
            let variable =
                |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
            candidates(variable).iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(of(&[("HIPRTC_NVRTC", "/x/libnvrtc.so"), ("CUDA_PATH", "/cuda")]), ["/x/libnvrtc.so"]);
        let usual = of(&[("HIPRTC_NVRTC", "x.so"), ("CUDA_PATH", "cuda"), ("VIRTUAL_ENV", "")]);
        assert_eq!(usual, of(&[]));
        assert_eq!(usual[..2], NAMES);
        let home = of(&[("CUDA_HOME", "/cuda")]);
        assert_eq!(home.len(), usual.len() + 4);
        assert!(home[0].starts_with("/cuda/") && home[0].ends_with(NAMES[0]), "{home:?}");
    }

    #[cfg(unix)]
    #[test]
    fn packages_of_python_are_searched() {
        let folder = tempfile::tempdir().unwrap();
        let site = folder.path().join("lib/python3.13/site-packages");
        std::fs::create_dir_all(&site).unwrap();
        std::fs::create_dir(folder.path().join("lib/other")).unwrap();
        let found = candidates(|name| (name == "VIRTUAL_ENV").then(|| folder.path().into()));
        assert_eq!(found[0], site.join("nvidia/cu13/lib/libnvrtc.so.13"));
        assert_eq!(found[1], site.join("nvidia/cuda_nvrtc/lib/libnvrtc.so.12"));
        assert_eq!(found[2..4], NAMES.map(PathBuf::from));
    }
}
