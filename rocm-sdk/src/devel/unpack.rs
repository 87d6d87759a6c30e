//! Writes the archive's entries below a separate directory.
//!
//! Files are written first, and links after the last file, so that a link of the archive cannot redirect another entry.

use std::cell::Cell;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, UNIX_EPOCH};

use super::archive::{self, Kind};
use super::error::Error;
use super::names::{self, Names, Node, Place};
use super::{Progress, Step};

/// Compiler drivers find clang, and clang its headers, by the directory that a link to them points to. Through a hard
/// link in `bin` they would search `bin` and find nothing.
const DRIVERS: [&str; 7] = ["amdclang", "amdclang++", "amdclang-cl", "amdclang-cpp", "amdflang", "amdlld", "amdllvm"];

/// The result of unpacking.
#[derive(Default)]
pub(super) struct Unpacked {
    /// The package's name.
    pub(super) package: String,
    /// Files and links, relative to site-packages, in the archive's order.
    pub(super) rows: Vec<String>,
    pub(super) files: usize,
    pub(super) hard_links: usize,
    pub(super) symlinks: usize,
    /// Links whose target is missing, relative to site-packages.
    pub(super) dangling: Vec<PathBuf>,
}

/// Unpacks the content of the archive's package to `into`, an empty directory next to the package's future location.
pub(super) fn unpack(
    archive: &Path,
    site_packages: &Path,
    into: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Unpacked, Error> {
    let total = fs::metadata(archive).map_err(Error::io("read", archive))?.len();
    let read = Rc::new(Cell::new(0));
    let mut names = Names::default();
    let mut links = Vec::new();
    let mut unpacked = Unpacked::default();
    let mut buffer = vec![0; 1 << 18];
    archive::for_each(archive, &read, |name, kind, modified, content, size| {
        let refused = |why: String| Error::refused(archive, name, why);
        let node = match &kind {
            Kind::Directory => Node::Directory,
            Kind::File { .. } => Node::File,
            Kind::Link(target) => Node::Link(names::target(target).map_err(refused)?),
            // Looked up before its own name is added, or it could be a link to itself.
            Kind::HardLink(target) => {
                names.hard_link_target(target).map_err(refused)?;
                Node::File
            }
        };
        let (path, new) = names.add(name, node).map_err(refused)?;
        for directory in &new {
            if directory != names.package() {
                let directory = into.join(below(directory, &names));
                fs::create_dir(&directory).map_err(Error::io("create", &directory))?;
            }
        }
        let place = into.join(below(&path, &names));
        match kind {
            Kind::Directory => return Ok(()),
            Kind::File { executable } => {
                let mut file = create(&place, executable)?;
                let mut left = size;
                while left > 0 {
                    let n = content.read(&mut buffer).map_err(|e| damaged(archive, &e))?;
                    if n == 0 {
                        return Err(damaged(archive, &io::ErrorKind::UnexpectedEof.into()));
                    }
                    file.write_all(&buffer[..n]).map_err(Error::io("write", &place))?;
                    left = left.saturating_sub(n as u64);
                    progress(Progress { step: Step::Unpacking, done: read.get().min(total), total });
                }
                if let Some(time) = modified.and_then(|s| UNIX_EPOCH.checked_add(Duration::from_secs(s))) {
                    // The archive's time, if the file system supports it; build tools compare it.
                    let _ = file.set_modified(time);
                }
                unpacked.files += 1;
            }
            Kind::HardLink(target) => {
                let target = into.join(below(&names.hard_link_target(&target).map_err(refused)?, &names));
                fs::hard_link(&target, &place).map_err(Error::io("link", &place))?;
                unpacked.hard_links += 1;
            }
            Kind::Link(_) => links.push(path.clone()),
        }
        unpacked.rows.push(path);
        progress(Progress { step: Step::Unpacking, done: read.get().min(total), total });
        Ok(())
    })?;
    unpacked.package = names.package().to_owned();
    let total = links.len() as u64;
    for (done, link) in (1..).zip(&links) {
        place_link(archive, site_packages, into, &names, link, &mut unpacked)?;
        progress(Progress { step: Step::Linking, done, total });
    }
    Ok(unpacked)
}

/// Returns the path without the package.
fn below<'a>(path: &'a str, names: &Names) -> &'a str {
    path[names.package().len()..].trim_start_matches('/')
}

fn damaged(archive: &Path, error: &io::Error) -> Error {
    Error::Damaged { archive: archive.to_owned(), why: archive::explain(error) }
}

/// Creates a file with the permissions that the user's umask gives it: no set-uid bit, and no group or world write
/// permission from the archive.
fn create(path: &Path, executable: bool) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, if executable { 0o777 } else { 0o666 });
    #[cfg(not(unix))]
    let _ = executable;
    options.open(path).map_err(Error::io("create", path))
}

fn place_link(
    archive: &Path,
    site_packages: &Path,
    into: &Path,
    names: &Names,
    path: &str,
    unpacked: &mut Unpacked,
) -> Result<(), Error> {
    let refused = |why: String| Error::refused(archive, path.as_bytes(), why);
    let place = into.join(below(path, names));
    let Some(Node::Link(target)) = names.get(path) else { return Ok(()) };
    let (source, directory) = match names.resolve(path).map_err(refused)? {
        Place::File(file) => (Some(into.join(below(&file, names))), false),
        Place::Directory => (None, true),
        Place::Sibling(sibling) => match inside_sibling(site_packages, &sibling).map_err(refused)? {
            Some(found) if found.is_dir() => (None, true),
            Some(found) => (Some(found), false),
            None => {
                unpacked.dangling.push(PathBuf::from(path));
                (None, false)
            }
        },
        Place::Nowhere => {
            unpacked.dangling.push(PathBuf::from(path));
            (None, false)
        }
    };
    let driver = !cfg!(windows) && below(path, names).strip_prefix("bin/").is_some_and(|n| DRIVERS.contains(&n));
    match source.filter(|_| !driver) {
        Some(source) if hard_link(&source, &place)? => unpacked.hard_links += 1,
        _ => {
            symlink(target, &place, directory).map_err(Error::io("link", &place))?;
            unpacked.symlinks += 1;
        }
    }
    Ok(())
}

/// Returns the file or directory at `path` below site-packages, if it exists; an error if it is not inside the package
/// that `path` names.
pub(super) fn inside_sibling(site_packages: &Path, path: &str) -> Result<Option<PathBuf>, String> {
    let package = site_packages.join(path.split('/').next().unwrap_or(path));
    let (Ok(package), Ok(found)) = (package.canonicalize(), site_packages.join(path).canonicalize()) else {
        return Ok(None);
    };
    if !found.starts_with(&package) {
        return Err(format!("it leads out of {} by a link there", package.display()));
    }
    if !found.is_file() && !found.is_dir() {
        return Err(format!("{} is neither a file nor a directory", found.display()));
    }
    Ok(Some(found))
}

/// Makes a hard link, and returns whether the file system supports it.
pub(super) fn hard_link(source: &Path, place: &Path) -> Result<bool, Error> {
    use io::ErrorKind::{CrossesDevices, PermissionDenied, TooManyLinks, Unsupported};
    match fs::hard_link(source, place) {
        Ok(()) => Ok(true),
        // Another file system, one without hard links, or a file of another user: a symbolic link works for all programs except those that
        // search their own directory for files.
        Err(e) if matches!(e.kind(), CrossesDevices | PermissionDenied | TooManyLinks | Unsupported) => Ok(false),
        Err(e) => Err(Error::io("link", place)(e)),
    }
}

pub(super) fn symlink(target: &str, place: &Path, directory: bool) -> io::Result<()> {
    #[cfg(unix)]
    {
        let _ = directory;
        std::os::unix::fs::symlink(target, place)
    }
    #[cfg(windows)]
    {
        use std::os::windows::fs::{symlink_dir, symlink_file};
        let target = target.replace('/', "\\");
        if directory { symlink_dir(target, place) } else { symlink_file(target, place) }
    }
    #[cfg(not(any(unix, windows)))]
    {
        let _ = (target, place, directory);
        Err(io::ErrorKind::Unsupported.into())
    }
}
