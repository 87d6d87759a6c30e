//! The shared libraries of an installation.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::subject::{Package, Subject};
use crate::layout::LayoutKind;
use crate::libraries;

/// The files found below a package's root.
#[derive(Default)]
pub(super) struct Files {
    /// Shared libraries, each once: if a file has several names in one directory, the alphabetically first that is not
    /// a link.
    pub(super) libraries: Vec<PathBuf>,
    /// Dangling links with names of libraries.
    pub(super) dangling: Vec<PathBuf>,
    /// Directories that cannot be read, with the reasons.
    pub(super) unreadable: Vec<(PathBuf, io::Error)>,
}

/// Finds the libraries of a package. If an installation shares its directories with other software, as in `/usr`, only
/// libraries of this crate's table count as ROCm's.
pub(super) fn find(subject: &Subject, package: &Package) -> Files {
    let mut found = Files::default();
    if is_shared(subject) {
        visit(subject.layout.lib(), false, &is_rocms, &mut found);
    } else {
        visit(&package.root, true, &|_| true, &mut found);
    }
    found.libraries.sort();
    found.dangling.sort();
    once(&mut found.libraries);
    found
}

/// Returns whether other software has libraries in the same directory.
pub(super) fn is_shared(subject: &Subject) -> bool {
    let root = subject.layout.root();
    subject.layout.kind() == LayoutKind::Multiarch
        || ["/", "/usr", "/usr/local"].iter().any(|shared| root == Path::new(shared))
        || subject.layout.lib().join("libc.so.6").exists()
}

fn is_rocms(name: &str) -> bool {
    libraries::ALL
        .iter()
        .any(|spec| name.strip_prefix(spec.unversioned()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
}

/// Returns whether the name is that of a library: `libx.so`, `libx.so.1.2`.
fn is_library(name: &str) -> bool {
    let version = name.rfind(".so").map(|at| &name[at + ".so".len()..]);
    version.is_some_and(|v| v.is_empty() || (v.starts_with('.') && v.chars().all(|c| c == '.' || c.is_ascii_digit())))
}

fn visit(directory: &Path, deep: bool, wanted: &impl Fn(&str) -> bool, found: &mut Files) {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) => return found.unreadable.push((directory.to_owned(), error)),
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            if deep {
                visit(&path, deep, wanted, found);
            }
            continue;
        }
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !is_library(&name) || !wanted(&name) {
            continue;
        }
        match fs::metadata(&path) {
            Ok(target) if target.is_file() => found.libraries.push(path),
            Ok(_) => {}
            Err(_) if kind.is_symlink() => found.dangling.push(path),
            Err(error) => found.unreadable.push((path, error)),
        }
    }
}

/// Removes links to other files of the list, and further names in the same directory. A link in another directory
/// stays: there, the loader searches other places for the dependencies.
fn once(libraries: &mut Vec<PathBuf>) {
    let is_link = |path: &Path| fs::symlink_metadata(path).is_ok_and(|m| m.is_symlink());
    let place = |path: &Path| {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let inode = fs::metadata(path).map(|m| (m.dev(), m.ino())).ok();
        (real.parent().map(Path::to_owned), inode)
    };
    let mut seen = HashSet::new();
    let (links, files): (Vec<_>, Vec<_>) = libraries.drain(..).partition(|path| is_link(path));
    libraries.extend(files.into_iter().chain(links).filter(|path| seen.insert(place(path))));
    libraries.sort();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_told_by_their_names() {
        for name in ["libx.so", "libx.so.1", "libx.so.1.2.3", "plugin.so", "lib.so.x.so.2"] {
            assert!(is_library(name), "{name}");
        }
        for name in ["libx.a", "libx.so.debug", "libx.sob", "libx.so-gdb.py", "libx.so.1.hmac", "so", "libx.dll"] {
            assert!(!is_library(name), "{name}");
        }
        assert!(is_rocms("librocblas.so.5.0") && is_rocms("libamdhip64.so"));
        assert!(!is_rocms("libamdhip64x.so") && !is_rocms("libcrypt.so.1"));
    }
}
