//! The variables that programs use to find an installation.

use std::ffi::OsString;
use std::path::Path;

/// Returns the variables to set for a program that uses the installation at `root`, with their values: `ROCM_PATH`;
/// `ROCM_HOME`, which clients such as `CuPy` read instead; `PATH` with the installation's programs and compilers at the
/// end; and, if it contains `hipcc`, `HIPCC_LINK_FLAGS_APPEND` unless that is set. With it, the machine's linker does
/// not search the machine's older C library for symbols that the installation's libraries need.
pub fn variables(root: &Path) -> Vec<(&'static str, OsString)> {
    let mut variables = with_path(root, std::env::var_os("PATH"));
    if root.join("bin/hipcc").is_file() && std::env::var_os(LINKER).is_none() {
        variables.push((LINKER, "-Wl,--allow-shlib-undefined".into()));
    }
    variables
}

/// Options that `hipcc` passes to the linker.
const LINKER: &str = "HIPCC_LINK_FLAGS_APPEND";

fn with_path(root: &Path, path: Option<OsString>) -> Vec<(&'static str, OsString)> {
    let mut variables = vec![("ROCM_PATH", root.into()), ("ROCM_HOME", root.into())];
    let before = path.unwrap_or_default();
    let mut folders: Vec<_> = std::env::split_paths(&before).filter(|_| !before.is_empty()).collect();
    let own = ["bin", "llvm/bin"].map(|name| root.join(name));
    let more: Vec<_> = own.into_iter().filter(|bin| bin.is_dir() && !folders.contains(bin)).collect();
    if !more.is_empty() {
        folders.extend(more);
        // A folder with a colon in its name cannot be in the path.
        variables.extend(std::env::join_paths(folders).ok().map(|path| ("PATH", path)));
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_come_last_and_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = |before: Option<OsString>| {
            with_path(folder.path(), before).into_iter().find(|(name, _)| *name == "PATH").map(|(_, value)| value)
        };
        assert_eq!(path(None), None, "there are no programs");
        let bin = folder.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        assert_eq!(path(None).as_ref(), Some(&bin.clone().into_os_string()));
        let both = std::env::join_paths(["/usr/bin".into(), bin]).unwrap();
        assert_eq!(path(Some("/usr/bin".into())).as_ref(), Some(&both));
        assert_eq!(path(Some(both.clone())), None);
        let compilers = folder.path().join("llvm/bin");
        std::fs::create_dir_all(&compilers).unwrap();
        let all = std::env::join_paths(std::env::split_paths(&both).chain([compilers])).unwrap();
        assert_eq!(path(Some(both)), Some(all));
        let variables = with_path(folder.path(), None);
        assert!(["ROCM_PATH", "ROCM_HOME"].iter().all(|name| variables.contains(&(name, folder.path().into()))));
    }
}
