//! What is installed, and using it.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::command::find;
use super::debian::{Contents, Tree};
use super::error::{Error, Result, While as _};
use super::installer::Installer;
use super::progress::Silent;
use crate::installs::{self, ROOT, STAMP};
use crate::search::runs_set_uid;
use crate::text_file;

/// An installation, complete and found by searches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    release: String,
    tree: Tree,
    contents: Contents,
    version: Option<String>,
}

impl Installed {
    /// The release that was asked for, `7.2`; also the name of its folder.
    pub fn release(&self) -> &str {
        &self.release
    }

    /// Its version, `7.2.4`.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// Its folder, with all of it.
    pub fn folder(&self) -> &Path {
        self.tree.folder()
    }

    /// The root of the installation, as `ROCM_PATH` would name it: it holds `lib`, `include` and `bin`.
    pub fn root(&self) -> PathBuf {
        self.folder().join(ROOT)
    }

    /// Its packages.
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// The libraries that were asked for, beside HIP.
    pub fn libraries(&self) -> impl Iterator<Item = &str> {
        self.contents.sets.iter().map(String::as_str).filter(|set| *set != super::installer::BASE)
    }

    /// The installation of `release` in `folder`.
    ///
    /// # Errors
    /// [`Error::NotInstalled`], [`Error::Damaged`], [`Error::Io`].
    pub(super) fn find(folder: &Path, release: &str) -> Result<Self> {
        let tree = Tree::new(folder.join(release));
        if !is_name(release) || !tree.folder().join(STAMP).is_file() {
            check_readable(folder)?;
            return Err(Error::NotInstalled {
                release: release.to_owned(),
                folder: folder.to_owned(),
                installed: names(folder),
            });
        }
        let contents = tree.contents()?;
        let version = text_file::read(&tree.folder().join(ROOT).join(".info/version")).ok();
        let version = version.map(|text| text.trim().to_owned());
        Ok(Self { release: release.to_owned(), tree, contents, version })
    }

    /// As [`find`](Self::find), also where what it says of itself cannot be read, and where it was cut off.
    pub(super) fn find_in_any_state(folder: &Path, release: &str) -> Result<Self> {
        let tree = Tree::new(folder.join(release));
        let cut_off = || is_name(release) && !tree.folder().exists() && tree.has_leftovers();
        let begun = |release: &str| super::release(release).is_ok() && folder.join(super::installer::STATE).exists();
        match Self::find(folder, release) {
            Err(Error::Damaged { .. }) => {}
            Err(Error::NotInstalled { .. }) if cut_off() || (begun(release) && names(folder).is_empty()) => {}
            other => return other,
        }
        Ok(Self { release: release.to_owned(), tree, contents: Contents::default(), version: None })
    }

    /// Runs a program on this installation's libraries, through the loader and the C library that go with them, and with `ROCM_PATH` set to it: the
    /// packages need a newer C library than most machines have. `program` is looked for in `PATH` where it is no path.
    ///
    /// # Errors
    /// [`Error::Program`] if it is missing, or no program that a loader can start.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Result<Command> {
        let program = program.as_ref();
        let path = program_path(program)?;
        let loader = self.tree.loader();
        if !loader.is_file() {
            return Err(Error::Program {
                program: program.to_string_lossy().into_owned(),
                why: format!("{} is missing; install ROCm {} again", loader.display(), self.release),
            });
        }
        let mut command = Command::new(loader);
        command.arg("--library-path").arg(self.tree.libraries()).arg("--argv0").arg(program).arg(path);
        command.env("ROCM_PATH", self.root());
        Ok(command)
    }
}

/// Whether something can be the name of a release's folder, and is no path.
fn is_name(release: &str) -> bool {
    Path::new(release).file_name() == Some(OsStr::new(release)) && !release.starts_with('.')
}

fn program_path(program: &OsStr) -> Result<PathBuf> {
    let trouble = |why: String| Error::Program { program: program.to_string_lossy().into_owned(), why };
    let path = Path::new(program);
    let path = if path.components().count() > 1 {
        path.to_owned()
    } else {
        program.to_str().and_then(find).ok_or_else(|| trouble("it is not on PATH".to_owned()))?
    };
    let mut head = [0; 4];
    let read = fs::File::open(&path).and_then(|mut file| file.read_exact(&mut head));
    match read {
        Ok(()) if head == *b"\x7fELF" => Ok(path),
        Err(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => Err(trouble(error.to_string())),
        _ if head.starts_with(b"#!") => {
            Err(trouble("it is a script; give its interpreter, and then the script".to_owned()))
        }
        _ => Err(trouble("it is not an ELF program".to_owned())),
    }
}

/// The folder of the installations: `ROCM_SDK_INSTALL_DIR`, else `rocm-sdk` in `XDG_DATA_HOME`, else in `~/.local/share`.
///
/// # Errors
/// [`Error::Setting`] if the environment names none, or the program runs set-uid: then it is another user's.
pub fn directory() -> Result<PathBuf> {
    if runs_set_uid() {
        return Err(Error::setting(
            "the directory of installations",
            "this program runs set-uid, so it ignores environment variables",
        ));
    }
    installs::directory(|name| std::env::var_os(name)).filter(|path| path.is_absolute()).ok_or_else(|| {
        let why = format!("set {} to an absolute path, or HOME", installs::VARIABLE);
        Error::setting("the directory of installations", why)
    })
}

/// The complete installations in the user's folder of them ([`directory`]), newest release first; those in another are
/// [`Installer::installed`].
///
/// # Errors
/// [`Error::Setting`] without such a folder; [`Error::Damaged`]; [`Error::Io`].
pub fn installed() -> Result<Vec<Installed>> {
    installed_in(&directory()?)
}

pub(super) fn installed_in(folder: &Path) -> Result<Vec<Installed>> {
    check_readable(folder)?;
    names(folder).iter().map(|name| Installed::find(folder, name)).collect()
}

/// A folder that is there and cannot be read is not one without installations.
fn check_readable(folder: &Path) -> Result<()> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).while_(|| format!("reading {}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// Removes an installation of the user's folder of them.
///
/// # Errors
/// As [`Installer::remove`].
pub fn remove(release: &str) -> Result<Installed> {
    Installer::standard()?.remove(release, &mut Silent)
}

/// Replaces this process by a program that runs on an installation of the user's folder of them ([`Installed::command`]).
///
/// # Errors
/// [`Error::NotInstalled`]; [`Error::Program`]; [`Error::Io`].
pub fn run<S: AsRef<OsStr>>(release: &str, command: impl IntoIterator<Item = S>) -> Result<Infallible> {
    let mut words = command.into_iter().map(|word| word.as_ref().to_owned());
    let installed = Installed::find(&directory()?, release)?;
    let program: OsString = words.next().unwrap_or_default();
    exec(installed.command(&program)?.args(words), &program)
}

#[cfg(unix)]
fn exec(command: &mut Command, program: &OsStr) -> Result<Infallible> {
    use std::os::unix::process::CommandExt as _;
    Err(command.exec()).while_(|| format!("starting {}", program.to_string_lossy()))
}

#[cfg(not(unix))]
fn exec(_: &mut Command, program: &OsStr) -> Result<Infallible> {
    Err(Error::Program { program: program.to_string_lossy().into_owned(), why: "not on this system".to_owned() })
}

/// Names of the complete installations, newest first.
pub(super) fn names(folder: &Path) -> Vec<String> {
    let complete = installs::releases(folder).into_iter().filter(|(_, path)| path.join(STAMP).is_file());
    complete.map(|(name, _)| name).collect()
}
