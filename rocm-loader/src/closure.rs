//! The dependencies of a ROCm library, opened before it and from its own installation.
//!
//! The dynamic loader looks for a dependency by its name: among the loaded libraries, then in `LD_LIBRARY_PATH`. If
//! that variable names another ROCm, the process gets parts of both: two copies of LLVM abort it, two HIP runtimes
//! corrupt it. So each dependency is opened first, by its absolute path; the dynamic loader then finds it by its name.

use std::fs;
use std::path::{Path, PathBuf};

use crate::elf::Dynamic;
use crate::folders::{names_in, system_library_dirs};
use crate::look::look_at;
use crate::mapped::{self, same_file};
use crate::report::Reason;

use crate::tree::{Tree, clash, find_in, is_home, is_llvm, is_rocm, system_dirs};

/// Returns the libraries that `library` opens by name (`dlopen`), by the parts of their names before `.so`.
fn opened_by_name(library: &str) -> &'static [&'static str] {
    match library.split_once(".so").map_or(library, |(stem, _)| stem) {
        // HIP before 6.0 contains HIPRTC.
        "libamdhip64" => &["libamd_comgr", "libhiprtc-builtins", "librocprofiler-register", "libamdhip64"],
        // HIPRTC's linker asks the runtime for the device.
        "libhiprtc" => &["libamd_comgr", "libhiprtc-builtins", "libamdhip64"],
        "libhsa-runtime64" => &["librocprofiler-register"],
        "libhipblas" => &["librocblas", "librocsolver"],
        "librocblas" => &["libhipblaslt", "libroctx64"],
        "libhipsolver" | "librocsolver" => &["librocsparse"],
        "librocsparse" | "librocfft" | "librocrand" => &["libroctx64"],
        "librccl" => &["libhsa-runtime64", "librocm_smi64", "libroctx64"],
        _ => &[],
    }
}

/// The runtime under HIP. A library in a directory of its own may replace it: a software GPU, or a developer's build.
const REPLACEABLE: &str = "libhsa-runtime64.so";

/// The longest file that is searched for names: device code makes some libraries much longer.
const MOST_BYTES_SEARCHED: u64 = 64 << 20;

/// The dependencies of one library.
pub(crate) struct Closure<'a> {
    tree: &'a Tree,
    /// The libraries that the process has loaded.
    loaded: Vec<PathBuf>,
    /// Directories that the user or the loader's configuration gives to the dynamic loader.
    given: Vec<PathBuf>,
    /// The system's library directories.
    system: Vec<PathBuf>,
    seen: Vec<String>,
    /// The libraries to open, in this order.
    files: Vec<Dependency>,
}

/// A library that must be opened before another.
#[derive(Debug)]
pub(crate) struct Dependency {
    pub(crate) file: PathBuf,
    /// Whether the other library cannot be opened without it.
    pub(crate) needed: bool,
    /// The name under which the other library opens it, if it is not its own, and the error if the alias cannot be
    /// added.
    pub(crate) alias: Option<(String, Reason)>,
}

impl<'a> Closure<'a> {
    pub(crate) fn new(tree: &'a Tree) -> Self {
        let system = system_dirs();
        let mut given = mapped::loader_directories();
        given.extend(system_library_dirs(Path::new("/"), None));
        given.retain(|dir| !system.contains(dir));
        Self { tree, loaded: mapped::libraries(), given, system, seen: Vec::new(), files: Vec::new() }
    }

    /// Returns the dependencies of the library `path`, each after its own dependencies, and the file to open as `path`,
    /// which differs from `path` if another file replaces it.
    ///
    /// # Errors
    /// [`Reason::OtherInstallation`] if one of them, or the library itself, is of another installation.
    pub(crate) fn of(mut self, path: &Path, dynamic: &Dynamic) -> Result<(Vec<Dependency>, PathBuf), Reason> {
        let own = file_name(path);
        let name = dynamic.soname.clone().unwrap_or_else(|| own.clone());
        self.seen.push(name.clone());
        let path = match self.conflict(&name, Some(path))? {
            // A library that may replace it.
            Some(other) => other,
            None => path.to_owned(),
        };
        self.visit(&path, dynamic, true)?;
        Ok((self.files, path))
    }

    /// Adds the dependencies of a library, recursively. `needed` says whether the library itself is a required one.
    fn visit(&mut self, path: &Path, dynamic: &Dynamic, needed: bool) -> Result<(), Reason> {
        for name in dynamic.needed.iter().filter(|name| is_rocm(name)) {
            self.add(name, dynamic, path, (true, needed))?;
        }
        for stem in opened_by_name(&file_name(path)) {
            for name in self.names_opened(stem, path, dynamic) {
                self.add(&name, dynamic, path, (false, false))?;
            }
        }
        Ok(())
    }

    /// Returns the names with this stem that the library opens, if the dynamic loader would not find those of the
    /// installation.
    fn names_opened(&self, stem: &str, by: &Path, dynamic: &Dynamic) -> Vec<String> {
        let versioned = |name: &str| name.strip_prefix(stem).is_some_and(|rest| rest.starts_with(".so."));
        let sonames = |names: Vec<String>| -> Vec<String> {
            let files = names.iter().filter_map(|name| self.tree.find(name));
            let mut names: Vec<String> = files.filter_map(|file| look_at(&file).ok()?.soname).collect();
            names.sort();
            names.dedup();
            names
        };
        let mut own = sonames(self.tree.names(versioned));
        own.retain(|name| {
            let found = self.loader_finds(name, by, dynamic);
            !matches!((self.tree.find(name), found), (Some(own), Some(found)) if same_file(&own, &found))
        });
        // An unversioned name does not match a library that is loaded under another name.
        let plain = format!("{stem}.so");
        let plain_elsewhere =
            self.loader_finds(&plain, by, dynamic).is_some_and(|found| !self.tree.holds(&found) && is_home_of(&found));
        let foreign: Vec<String> = match self.tree.names(versioned).is_empty() {
            true => self.foreign_homes().flat_map(|dir| names_in(dir, versioned)).collect(),
            false => Vec::new(),
        };
        let sure = own.len() < 2 && foreign.is_empty() && !plain_elsewhere;
        let mut names: Vec<String> = own.into_iter().chain(foreign).collect();
        names.extend(plain_elsewhere.then_some(plain));
        names.retain(|name| !self.seen.contains(name));
        if sure || names.is_empty() {
            return names;
        }
        // Only names that occur in the file.
        let short = fs::metadata(by).is_ok_and(|file| file.len() <= MOST_BYTES_SEARCHED);
        let bytes = if short { fs::read(by).unwrap_or_default() } else { Vec::new() };
        names.retain(|name| contains(&bytes, name));
        names
    }

    /// Returns the directories of other installations that the dynamic loader searches.
    fn foreign_homes(&self) -> impl Iterator<Item = &PathBuf> {
        self.given.iter().filter(|dir| is_home(dir) && !self.tree.holds(&dir.join("x")))
    }

    fn add(&mut self, name: &str, above: &Dynamic, by: &Path, (linked, needed): (bool, bool)) -> Result<(), Reason> {
        if self.seen.iter().any(|seen| seen == name) {
            return Ok(());
        }
        self.seen.push(name.to_owned());
        // If another package's directory has the library that names it, the name belongs to that directory.
        let beside = || if self.tree.holds(by) { None } else { Tree::of_file(by).find(name) };
        let own = self.tree.find(name).or_else(|| find_in(&run_path(above, by), name)).or_else(beside);
        // The unversioned name, which only development packages have.
        let own = own.or_else(|| name.ends_with(".so").then(|| self.numbered(name)).flatten());
        let file = match self.conflict(name, own.as_deref())? {
            Some(other) => other,
            None => match own {
                Some(own) => own,
                None => return self.judge_absent(name, by, above, linked),
            },
        };
        // The dynamic loader reports any fault of this file, for the library that needs it.
        let Ok(dynamic) = look_at(&file) else { return Ok(()) };
        // Open or not, the dynamic loader looks for it again if it is named other than by its soname.
        let alias = match self.loader_finds(name, by, above) {
            Some(found)
                if !linked
                    && dynamic.soname.as_deref() != Some(name)
                    && !same_file(&found, &file)
                    && !self.tree.holds(&found) =>
            {
                Some((name.to_owned(), self.mixed(name, &found, false)))
            }
            _ => None,
        };
        self.visit(&file, &dynamic, needed)?;
        self.files.push(Dependency { file, needed, alias });
        Ok(())
    }

    /// Returns the file of the installation with this name and a version number.
    fn numbered(&self, name: &str) -> Option<PathBuf> {
        let number = |other: &str| other.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
        self.tree.names(number).first().and_then(|name| self.tree.find(name))
    }

    /// Returns the library of another directory that may serve as `name`.
    fn conflict(&self, name: &str, own: Option<&Path>) -> Result<Option<PathBuf>, Reason> {
        let replaceable = name.starts_with(REPLACEABLE);
        let clashes = |file: &&PathBuf| {
            [file_name(file), fs::canonicalize(file).map_or_else(|_| String::new(), |file| file_name(&file))]
                .iter()
                .any(|other| clash(name, other))
        };
        for other in self.loaded.iter().filter(clashes) {
            if own.is_some_and(|own| same_file(own, other)) {
                continue;
            }
            if self.tree.holds(other) || replaceable && !is_home_of(other) {
                return Ok(Some(other.clone()));
            }
            return Err(self.mixed(name, other, true));
        }
        if !replaceable {
            return Ok(None);
        }
        let files = self.given.iter().map(|dir| dir.join(name)).filter(|file| file.is_file());
        Ok(files.into_iter().find(|file| !is_home_of(file) && !self.tree.holds(file)))
    }

    /// Judges a library that the installation lacks. One of another installation is an error; a missing one is left to
    /// the dynamic loader to report.
    fn judge_absent(&self, name: &str, by: &Path, above: &Dynamic, linked: bool) -> Result<(), Reason> {
        let Some(found) = self.loader_finds(name, by, above) else { return Ok(()) };
        let of_system = found.parent().is_some_and(|dir| self.system.iter().any(|system| system == dir));
        let other = match linked {
            true => !is_llvm(name) || is_home_of(&found) && !of_system,
            false => is_home_of(&found) && !of_system,
        };
        if other && !self.tree.holds(&found) { Err(self.mixed(name, &found, false)) } else { Ok(()) }
    }

    /// Returns the file that the dynamic loader uses if the library `by` asks for `name`.
    fn loader_finds(&self, name: &str, by: &Path, dynamic: &Dynamic) -> Option<PathBuf> {
        let listed = |list: &Option<String>| list.as_deref().map_or_else(Vec::new, |list| expand(list, by));
        let rpath = if dynamic.runpath.is_none() { listed(&dynamic.rpath) } else { Vec::new() };
        find_in(&rpath, name)
            .or_else(|| find_in(&self.given, name))
            .or_else(|| find_in(&listed(&dynamic.runpath), name))
            .or_else(|| find_in(&self.system, name))
    }

    fn mixed(&self, library: &str, found: &Path, loaded: bool) -> Reason {
        Reason::OtherInstallation {
            library: library.into(),
            found: found.display().to_string().into(),
            loaded,
            wanted: self.tree.name().into(),
        }
    }
}

/// Checks the libraries that were loaded since `before`: a second copy of one means that the dynamic loader did not act
/// as foreseen.
pub(crate) fn check_loaded(before: &[PathBuf], tree: &Tree) -> Result<(), Reason> {
    let now = mapped::libraries();
    for new in now.iter().filter(|file| !before.contains(file)) {
        let name = file_name(new);
        let twice = |other: &&PathBuf| *other != new && clash(&name, &file_name(other)) && !same_file(other, new);
        if !is_rocm(&name) {
            continue;
        }
        if let Some(other) = now.iter().find(twice) {
            let foreign = if tree.holds(new) { other } else { new };
            return Err(Reason::OtherInstallation {
                library: name.into(),
                found: foreign.display().to_string().into(),
                loaded: true,
                wanted: tree.name().into(),
            });
        }
    }
    Ok(())
}

fn is_home_of(file: &Path) -> bool {
    file.parent().is_some_and(is_home)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the directories in which a library wants its dependencies to be searched.
fn run_path(dynamic: &Dynamic, library: &Path) -> Vec<PathBuf> {
    let list = dynamic.runpath.as_deref().or(dynamic.rpath.as_deref());
    list.map_or_else(Vec::new, |list| expand(list, library))
}

/// Returns the absolute directories of a run path.
fn expand(list: &str, library: &Path) -> Vec<PathBuf> {
    let origin = library.parent().unwrap_or(Path::new("/")).to_string_lossy();
    let dirs = list.split(':').map(|dir| dir.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin));
    dirs.map(PathBuf::from).filter(|dir| dir.is_absolute()).collect()
}

/// Returns whether the bytes contain the name with its terminating NUL.
fn contains(bytes: &[u8], name: &str) -> bool {
    let whole = [name.as_bytes(), b"\0"].concat();
    // SAFETY: both slices have these lengths.
    !unsafe { crate::c::memmem(bytes.as_ptr().cast(), bytes.len(), whole.as_ptr().cast(), whole.len()) }.is_null()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_bytes_end() {
        let bytes = b"xlibamd_comgr.so.3\0liby.so";
        assert!(contains(bytes, "libamd_comgr.so.3"));
        assert!(!contains(bytes, "libamd_comgr.so") && !contains(bytes, "liby.so") && !contains(b"", "liby.so"));
    }

    #[test]
    fn run_paths() {
        let dirs = expand("$ORIGIN/../lib:${ORIGIN}:relative::/x", Path::new("/a/lib/libx.so"));
        assert_eq!(dirs, ["/a/lib/../lib", "/a/lib", "/x"].map(PathBuf::from));
    }
}
