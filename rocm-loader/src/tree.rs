//! One ROCm installation as the dynamic loader sees it: its library directories, and which files in them belong to
//! ROCm.

use std::fs;
use std::path::{Path, PathBuf};

use crate::folders::{names_in, system_library_dirs, wheels_beside};
use crate::installation::Installation;
use crate::report::Origin;

/// The library directories of one installation. A process loads ROCm's libraries from one only.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    /// The existing directories, as they were named.
    dirs: Vec<PathBuf>,
    /// The same without symbolic links.
    real: Vec<PathBuf>,
}

/// Further library directories of an installation, besides [`Installation::library_dirs`]. Longer paths come first.
const MORE_DIRS: &[&str] = &["lib/rocm_sysdeps/lib", "lib/host-math/lib", "lib/llvm/lib", "llvm/lib", "hip/lib"];

/// Roots that an installation shares with other packages of the system.
const SYSTEM_ROOTS: &[&str] = &["/", "/usr", "/usr/local"];

impl Tree {
    /// Returns the installation at `root`. For a wheel it covers the whole Python environment.
    pub(crate) fn at(root: &Path) -> Self {
        let wheels = root.file_name().is_some_and(|name| name.to_string_lossy().starts_with("_rocm_sdk_"));
        let roots = match root.parent().filter(|_| wheels).map(wheels_beside) {
            Some(all) if !all.is_empty() => all,
            _ => vec![root.to_owned()],
        };
        let mut dirs = Vec::new();
        for root in roots {
            dirs.extend(Installation { root: root.clone(), origin: Origin::Explicit }.library_dirs());
            dirs.extend(MORE_DIRS.iter().map(|dir| root.join(dir)));
        }
        if SYSTEM_ROOTS.iter().any(|system| root == Path::new(system)) {
            dirs.extend(system_dirs());
        }
        Self::of(dirs)
    }

    /// Returns the installation that contains the library `file`.
    pub(crate) fn of_file(file: &Path) -> Self {
        let dir = file.parent().unwrap_or(Path::new("/"));
        if system_dirs().iter().any(|system| system == dir) {
            return Self::at(Path::new("/usr"));
        }
        let installation = Installation { root: PathBuf::new(), origin: Origin::Explicit };
        let mut suffixes: Vec<PathBuf> =
            MORE_DIRS.iter().map(PathBuf::from).chain(installation.library_dirs()).collect();
        suffixes.sort_by_key(|suffix| std::cmp::Reverse(suffix.components().count()));
        let root = suffixes
            .iter()
            .find(|suffix| dir.ends_with(suffix))
            .and_then(|suffix| dir.ancestors().nth(suffix.components().count()));
        match root {
            Some(root) => Self::at(root),
            None => Self::of(vec![dir.to_owned()]),
        }
    }

    fn of(dirs: Vec<PathBuf>) -> Self {
        let mut tree = Self { dirs: Vec::new(), real: Vec::new() };
        for dir in dirs {
            let Ok(real) = fs::canonicalize(&dir) else { continue };
            if !tree.real.contains(&real) {
                tree.dirs.push(dir);
                tree.real.push(real);
            }
        }
        tree
    }

    /// Returns whether a library is in one of its directories, directly or through a link.
    pub(crate) fn holds(&self, file: &Path) -> bool {
        let real = |path: &Path| fs::canonicalize(path).is_ok_and(|real| self.real.contains(&real));
        file.parent().is_some_and(real) || fs::canonicalize(file).is_ok_and(|file| file.parent().is_some_and(real))
    }

    pub(crate) fn is_at(&self, root: &Path) -> bool {
        Self::at(root).real.iter().any(|dir| self.real.contains(dir))
    }

    /// Returns its file of this name.
    pub(crate) fn find(&self, name: &str) -> Option<PathBuf> {
        find_in(&self.dirs, name)
    }

    /// Returns the names in it that `wanted` accepts, in no particular order.
    pub(crate) fn names(&self, wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let mut names: Vec<String> = self.dirs.iter().flat_map(|dir| names_in(dir, &wanted)).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Returns the directory that names it in messages: one with its HIP runtime, otherwise the first.
    pub(crate) fn name(&self) -> String {
        let dir = self.dirs.iter().find(|dir| is_home(dir)).or(self.dirs.first());
        dir.map_or_else(|| "another directory".to_owned(), |dir| dir.display().to_string())
    }
}

/// Returns whether two libraries belong to one installation, so that a process can use both. Debian spreads one
/// installation over several of the system's directories.
pub fn is_one_installation(one: &Path, other: &Path) -> bool {
    Tree::of_file(one).holds(other) || Tree::of_file(other).holds(one)
}

/// Returns whether the directory `dir` of the dynamic loader belongs to a ROCm installation other than that of the
/// library `file`.
pub fn is_of_another_installation(dir: &Path, file: &Path) -> bool {
    is_home(dir) && !is_one_installation(&dir.join("libamdhip64.so"), file)
}

/// Returns the directories that hold the system's packages. A directory of `/opt` that `ld.so.conf` names is not one of
/// them.
pub(crate) fn system_dirs() -> Vec<PathBuf> {
    let mut dirs = system_library_dirs(Path::new("/"), None);
    dirs.retain(|dir| ["/lib", "/lib64", "/usr"].iter().any(|of_system| dir.starts_with(of_system)));
    dirs
}

pub(crate) fn find_in(dirs: &[PathBuf], name: &str) -> Option<PathBuf> {
    dirs.iter().map(|dir| dir.join(name)).find(|file| file.is_file())
}

/// Returns whether a directory belongs to a ROCm installation: it has the HIP runtime or Comgr, and not only a
/// replacement of a single library.
pub(crate) fn is_home(dir: &Path) -> bool {
    let of_rocm = |name: &str| ["libamdhip64.so", "libamd_comgr.so"].iter().any(|library| name.starts_with(library));
    !names_in(dir, of_rocm).is_empty()
}

/// Returns whether a library of this file name belongs to ROCm or to ROCm's LLVM, and not to the system.
pub(crate) fn is_rocm(name: &str) -> bool {
    const OURS: &[&str] = &[
        "libamd_",
        "libamdhip64",
        "libamdocl",
        "libhip",
        "libhsa",
        "libroc",
        "librccl",
        "libMIOpen",
        "liborigami",
        "librpp",
    ];
    // RocksDB's name has the same prefix as ROCm's.
    is_llvm(name) || OURS.iter().any(|start| name.starts_with(start)) && !name.starts_with("librocks")
}

/// Returns whether it belongs to LLVM or Clang. Other software brings copies of other releases.
pub(crate) fn is_llvm(name: &str) -> bool {
    ["libLLVM", "libclang"].iter().any(|start| name.starts_with(start))
}

/// Returns whether libraries of these two file names cannot be in one process: any two HIP runtimes, or two releases of
/// LLVM.
pub(crate) fn clash(one: &str, other: &str) -> bool {
    let stem = |name: &str| name.split_once(".so").map_or(name, |(stem, _)| stem).to_owned();
    if is_llvm(one) || is_llvm(other) { one == other } else { stem(one) == stem(other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_rocm() {
        for ours in
            ["libamdhip64.so.7", "libLLVM.so.22.1", "librocblas.so.5", "libhsa-runtime64.so", "libamd_comgr.so.3"]
        {
            assert!(is_rocm(ours), "{ours}");
        }
        // SuiteSparse has an ordering called AMD, too.
        for other in ["libamd.so.3", "librocksdb.so.9", "libc.so.6", "libdrm_amdgpu.so.1", "libnuma.so.1", "libz.so.1"]
        {
            assert!(!is_rocm(other), "{other}");
        }
        assert!(clash("libamdhip64.so.6", "libamdhip64.so.7") && !clash("libhipblas.so.3", "libhipblaslt.so.1"));
        assert!(clash("libLLVM.so.22.1", "libLLVM.so.22.1") && !clash("libLLVM.so.19.1", "libLLVM.so.22.1"));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_installation_of_a_file() {
        let root = tempfile::tempdir().unwrap();
        for dir in ["lib/llvm/lib", "lib64", "other"] {
            fs::create_dir_all(root.path().join(dir)).unwrap();
        }
        for file in ["lib/libx.so", "lib64/libx.so", "lib/llvm/lib/libx.so"] {
            let tree = Tree::of_file(&root.path().join(file));
            assert!(
                ["lib", "lib64", "lib/llvm/lib"].iter().all(|dir| tree.holds(&root.path().join(dir).join("x"))),
                "{file}"
            );
            assert!(tree.is_at(root.path()) && !tree.holds(&root.path().join("other/x")));
        }
        let alone = Tree::of_file(&root.path().join("other/libx.so"));
        assert!(alone.holds(&root.path().join("other/y")) && !alone.holds(&root.path().join("lib/y")));
    }
}
