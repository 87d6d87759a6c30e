//! What lies in folders, by name and version, and the folders that have libraries.

use std::cmp::Reverse;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use semver::Version;

use crate::text_file;
use crate::version::parse_release;

/// The folders of an installation that may contain its libraries.
#[cfg(windows)]
pub(crate) const LIBRARY_DIRS: &[&str] = &["bin"];
#[cfg(all(not(windows), target_arch = "x86_64"))]
pub(crate) const LIBRARY_DIRS: &[&str] = &["lib", "lib64", "lib/x86_64-linux-gnu", "core/lib"];
#[cfg(all(not(windows), target_arch = "aarch64"))]
pub(crate) const LIBRARY_DIRS: &[&str] = &["lib", "lib64", "lib/aarch64-linux-gnu", "core/lib"];
#[cfg(all(not(windows), not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub(crate) const LIBRARY_DIRS: &[&str] = &["lib", "lib64", "core/lib"];

/// Returns ROCm's wheels in a `site-packages`, the core before the libraries. A build may add a suffix to their names.
pub fn wheels_beside(site: &Path) -> Vec<PathBuf> {
    let of = |prefix: &str| {
        let mut names = names_in(site, |name| name.starts_with(prefix));
        names.sort();
        names
    };
    let names = of("_rocm_sdk_core").into_iter().chain(of("_rocm_sdk_libraries"));
    names.map(|name| site.join(name)).filter(|wheel| wheel.is_dir()).collect()
}

/// Returns the entries `PREFIXVERSION` of a directory, newest version first; entries without a valid version come last.
pub fn versioned(directory: &Path, prefix: &str) -> Vec<PathBuf> {
    let mut names = names_in(directory, |name| name.starts_with(prefix));
    let version = |name: &str| -> Option<Version> { parse_release(&name[prefix.len()..]) };
    names.sort_by_cached_key(|name| (Reverse(version(name)), name.clone()));
    names.into_iter().map(|name| directory.join(name)).collect()
}

/// Returns the system's own library directories: those in `ld.so.conf`, then the loader's built-in ones; on Windows,
/// the system directory.
pub(crate) fn system_library_dirs(root: &Path, windows: Option<OsString>) -> Vec<PathBuf> {
    if cfg!(windows) {
        return windows.map(|root| PathBuf::from(root).join("System32")).into_iter().collect();
    }
    let mut dirs = Vec::new();
    read_loader_configuration(root, &root.join("etc/ld.so.conf"), 0, &mut dirs);
    let built_in = LIBRARY_DIRS.iter().filter(|dir| !dir.starts_with("core")).flat_map(|dir| [*dir, *dir]);
    for (n, dir) in built_in.enumerate() {
        dirs.push(if n % 2 == 0 { root.join(dir) } else { root.join("usr").join(dir) });
    }
    let mut once: Vec<PathBuf> = Vec::with_capacity(dirs.len());
    for dir in dirs {
        if !once.contains(&dir) && dir.is_dir() {
            once.push(dir);
        }
    }
    once
}

/// Reads `ld.so.conf`: one directory per line, `include` with a pattern in the last part of its path, `#` comments.
fn read_loader_configuration(root: &Path, file: &Path, depth: u32, dirs: &mut Vec<PathBuf>) {
    const DEEPEST: u32 = 4;
    let Ok(text) = text_file::read(file) else { return };
    for line in text.lines().map(|line| line.split('#').next().unwrap_or("").trim()) {
        let under_root = |path: &str| Some(root.join(path.strip_prefix('/')?));
        if let Some(pattern) = line.strip_prefix("include ").map(str::trim).filter(|_| depth < DEEPEST) {
            let pattern = under_root(pattern).or_else(|| Some(file.parent()?.join(pattern)));
            let Some((folder, name)) = pattern.as_deref().and_then(|p| Some((p.parent()?, p.file_name()?.to_str()?)))
            else {
                continue;
            };
            let mut names = names_in(folder, |candidate| matches_wildcards(name, candidate));
            names.sort();
            for name in names {
                read_loader_configuration(root, &folder.join(name), depth + 1, dirs);
            }
        } else if let Some(dir) = under_root(line) {
            dirs.push(dir);
        }
    }
}

/// Returns whether `text` matches `pattern`, in which `*` stands for any number of characters.
pub fn matches_wildcards(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

/// Returns the Unicode names in a directory that `wanted` accepts, in no particular order; none if it cannot be read.
pub fn names_in(directory: &Path, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    all_names(directory, &wanted)
}

fn all_names(directory: &Path, wanted: &dyn Fn(&str) -> bool) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| wanted(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards() {
        for (pattern, text) in [
            ("7.2.4", "7.2.4"),
            ("7.*", "7.2.4"),
            ("*", ""),
            ("7.*.4*", "7.2.4rc1"),
            ("*.conf", "a.conf"),
            ("a*a", "aa"),
        ] {
            assert!(matches_wildcards(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in
            [("7.2.4", "7.2.40"), ("7.2", "7.2.4"), ("7.*", "17.2"), ("*.conf", "a.conf~"), ("a*a", "a"), ("", "a")]
        {
            assert!(!matches_wildcards(pattern, text), "{pattern} {text}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn the_loaders_configuration() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            "etc/ld.so.conf",
            "# first\ninclude /etc/ld.so.conf.d/*.conf\ninclude more.conf\n/srv/last # its own\nrelative\n",
        );
        write("etc/ld.so.conf.d/20-b.conf", "/srv/b\n/no/such/folder\ninclude /etc/deeper.conf\n");
        write("etc/deeper.conf", "/srv/deeper\n");
        write("etc/ld.so.conf.d/10-a.conf", "/srv/a\n");
        write("etc/ld.so.conf.d/30-c.conf.old", "/srv/c\n");
        write("etc/more.conf", "include more.conf\n/srv/more\n");
        for dir in ["srv/a", "srv/b", "srv/c", "srv/more", "srv/last", "srv/deeper", "usr/lib", "usr/lib64", "lib"] {
            fs::create_dir_all(root.path().join(dir)).unwrap();
        }
        let dirs = system_library_dirs(root.path(), None);
        let names: Vec<&str> = dirs.iter().map(|d| d.strip_prefix(root.path()).unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["srv/a", "srv/b", "srv/deeper", "srv/more", "srv/last", "lib", "usr/lib", "usr/lib64"]);
    }
}
