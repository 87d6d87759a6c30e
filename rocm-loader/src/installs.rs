//! The user's own installations: made by `rocm-sdk install`, or by another program with the same layout.
//!
//! `DIR/REL/usr` is the root of release REL, and `DIR/REL/.packages`, written last, marks it as complete.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::folders::versioned;
use crate::version::parse_release;

/// The variable that names the folder of the installations, instead of the one in the user's data folder.
pub const VARIABLE: &str = "ROCM_SDK_INSTALL_DIR";
/// The file in the folder of a release that marks it as complete and lists its packages.
pub const STAMP: &str = ".packages";
/// The dynamic loader that belongs to an installation's C library and lies next to it.
pub(crate) const LOADER: &str = "ld-linux-x86-64.so.2";
/// The root of a release in its folder.
pub const ROOT: &str = "usr";

/// Returns the folder of the installations: [`VARIABLE`], otherwise `rocm-sdk` in `XDG_DATA_HOME`, otherwise in
/// `~/.local/share`.
///
/// The value of [`VARIABLE`] is taken unchanged. The other two are ignored unless they are absolute paths.
pub fn directory(get: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let variable = |name: &str| get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable(VARIABLE).or_else(|| {
        let data = variable("XDG_DATA_HOME").filter(|path| path.is_absolute());
        let home = || variable("HOME").filter(|path| path.is_absolute()).map(|home| home.join(".local/share"));
        data.or_else(home).map(|data| data.join("rocm-sdk"))
    })
}

/// Returns the folders of releases in `directory`, complete or not, with their names, newest first. Other entries are
/// skipped.
pub fn releases(directory: &Path) -> Vec<(String, PathBuf)> {
    let named = |path: PathBuf| Some((path.file_name()?.to_str()?.to_owned(), path));
    let releases = versioned(directory, "").into_iter().filter_map(named);
    releases.filter(|(name, path)| parse_release(name).is_some() && path.is_dir()).collect()
}

/// Returns the dynamic loader beside the library `path`, and their folder, if the library's installation has a C library of its own.
pub fn loader_beside(path: &Path) -> Option<(PathBuf, &Path)> {
    let directory = path.parent()?;
    let loader = directory.join(LOADER);
    loader.is_file().then_some((loader, directory))
}

/// Returns how to run a program on the libraries of the installation that the file `path` belongs to, if it has a C
/// library of its own. `ours` says whether it is one of the user's installations.
pub fn how_to_run(path: &Path, ours: bool) -> Option<String> {
    let (loader, directory) = loader_beside(path)?;
    let release = || path.ancestors().find(|folder| folder.ends_with(ROOT))?.parent()?.file_name()?.to_str();
    Some(match release().filter(|_| ours) {
        Some(release) => format!("rocm-sdk run {release} -- PROGRAM"),
        None => format!("{} --library-path {} PROGRAM", loader.display(), directory.display()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_installations() {
        let with = |variables: &[(&str, &str)]| {
            let found = directory(|name| variables.iter().find(|v| v.0 == name).map(|v| v.1.into()));
            found.map(|path| path.display().to_string())
        };
        assert_eq!(with(&[]), None);
        assert_eq!(with(&[("HOME", "/home/me")]).as_deref(), Some("/home/me/.local/share/rocm-sdk"));
        let both = [("HOME", "/home/me"), ("XDG_DATA_HOME", "/data")];
        assert_eq!(with(&both).as_deref(), Some("/data/rocm-sdk"));
        assert_eq!(with(&[("HOME", "/h"), ("XDG_DATA_HOME", "data")]).as_deref(), Some("/h/.local/share/rocm-sdk"));
        assert_eq!(with(&[("HOME", "home")]), None);
        assert_eq!(with(&[("HOME", "/h"), (VARIABLE, "/mine")]).as_deref(), Some("/mine"));
        assert_eq!(with(&[("HOME", "/h"), (VARIABLE, "mine")]).as_deref(), Some("mine"));
        assert_eq!(with(&[("HOME", "/h"), (VARIABLE, "")]).as_deref(), Some("/h/.local/share/rocm-sdk"));
    }
}
