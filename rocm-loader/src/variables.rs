//! Variables that should name a ROCm installation, but do not.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Once;

use crate::look::look_at_directory;
use crate::report::Reason;
use crate::search::Search;
use crate::tree::{Tree, is_llvm, is_rocm};

/// The variables whose value is the root of an installation.
const VARIABLES: [&str; 2] = ["ROCM_PATH", "HIP_PATH"];

/// Files that identify an installation without libraries.
const FILES: &[&str] =
    &[".info/version", ".info/version-dev", "include/hip/hip_version.h", "bin/hipconfig", "bin/hipcc", "bin/rocminfo"];

/// A variable that should name a ROCm installation, but does not. The search passes it over. `Display` says so in one
/// line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongVariable {
    name: &'static str,
    value: OsString,
    reason: Option<Reason>,
}

impl WrongVariable {
    /// Returns the name of the variable.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the reason why its value is not an installation; `None` if it is empty.
    pub fn reason(&self) -> Option<&Reason> {
        self.reason.as_ref()
    }
}

impl fmt::Display for WrongVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(reason) = &self.reason else {
            return write!(f, "{} is empty and is ignored: unset it, or set it to a ROCm installation", self.name);
        };
        let text = self.value.to_string_lossy();
        write!(f, "{}={text:?} is ignored: {reason}", self.name)?;
        let trimmed = text.trim();
        if *trimmed != *text && Path::new(trimmed).is_dir() {
            return write!(f, "; remove the white space: {trimmed:?} exists");
        }
        let parts: Vec<PathBuf> = std::env::split_paths(&self.value).collect();
        match parts.iter().find(|part| parts.len() > 1 && part.is_dir()) {
            Some(part) => write!(f, "; name one directory, such as {:?}", part.display().to_string()),
            None => write!(f, "; set it to the root of a ROCm installation, or unset it"),
        }
    }
}

impl Search {
    /// Returns which of `ROCM_PATH` and `HIP_PATH` name no ROCm installation: an empty or relative value, a path that
    /// does not exist or is a file, a directory that contains nothing of ROCm. The search passes them over, so a
    /// program that uses another installation than its user meant should say so. A search without environment
    /// variables, and that of a set-uid program, has none.
    ///
    /// ```
    /// use rocm_loader::Search;
    /// let search = Search::nowhere().environment(|name| (name == "ROCM_PATH").then(|| "/opt/rocm:/usr".into()));
    /// let [wrong] = &search.wrong_variables()[..] else { panic!() };
    /// assert!(wrong.to_string().starts_with(r#"ROCM_PATH="/opt/rocm:/usr" is ignored: not found"#));
    /// ```
    pub fn wrong_variables(&self) -> Vec<WrongVariable> {
        let wrong = |name| {
            let value = self.value(name)?;
            let reason = match judge(Path::new(&value)) {
                _ if value.is_empty() => None,
                Ok(()) => return None,
                Err(reason) => Some(reason),
            };
            Some(WrongVariable { name, value, reason })
        };
        VARIABLES.into_iter().filter_map(wrong).collect()
    }
}

fn judge(root: &Path) -> Result<(), Reason> {
    if !root.is_absolute() {
        return Err(Reason::RelativePath);
    }
    look_at_directory(root)?;
    let library = || !Tree::at(root).names(|name| is_rocm(name) && !is_llvm(name)).is_empty();
    match FILES.iter().any(|file| root.join(file).is_file()) || library() {
        true => Ok(()),
        false => Err(Reason::NotAnInstallation),
    }
}

/// Reports them on stderr, one line each, once per process: the user would otherwise not learn that the variable has no
/// effect.
pub(crate) fn warn_once(search: &Search) {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| {
        for wrong in search.wrong_variables() {
            // A closed stderr is ignored.
            let _ = writeln!(io::stderr(), "rocm-loader: warning: {wrong}");
        }
    });
}
