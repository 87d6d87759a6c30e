//! Installations, and running programs on them.

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
use rocm_loader::installs::{self, ROOT, STAMP};
use rocm_loader::search::runs_set_uid;
use rocm_loader::text_file;

/// A complete installation, which searches find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    release: String,
    tree: Tree,
    contents: Contents,
    version: Option<String>,
}

impl Installed {
    /// Returns the requested release, such as `7.2`. It is also the name of the directory.
    pub fn release(&self) -> &str {
        &self.release
    }

    /// Returns its version, such as `7.2.4`.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// Returns its directory, which contains all of it.
    pub fn folder(&self) -> &Path {
        self.tree.folder()
    }

    /// Returns the root of the installation, for `ROCM_PATH`. It contains `lib`, `include` and `bin`.
    pub fn root(&self) -> PathBuf {
        self.folder().join(ROOT)
    }

    /// Returns its packages.
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// Returns the libraries that were requested in addition to HIP.
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

    /// Returns a command that runs a program on this installation's libraries, through their loader and C library, and
    /// with `ROCM_PATH` set to the installation. The packages need a newer C library than most machines have. If
    /// `program` is not a path, it is searched for in `PATH`.
    ///
    /// # Errors
    /// [`Error::Program`] if it does not exist, or is not a program that a loader can start.
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

/// Returns the directory of the installations: `ROCM_SDK_INSTALL_DIR`, otherwise `rocm-sdk` in `XDG_DATA_HOME`,
/// otherwise in `~/.local/share`.
///
/// # Errors
/// [`Error::Setting`] if the environment names none, or if the program runs set-uid, because the environment is then
/// another user's.
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

/// Returns the complete installations in the user's directory ([`directory`]), newest release first. For another
/// directory use [`Installer::installed`].
///
/// # Errors
/// [`Error::Setting`] if there is no such directory; [`Error::Damaged`]; [`Error::Io`].
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

/// Removes an installation from the user's directory.
///
/// # Errors
/// The same as [`Installer::remove`].
pub fn remove(release: &str) -> Result<Installed> {
    Installer::standard()?.remove(release, &mut Silent)
}

/// Replaces this process by a program that runs on an installation of the user's directory ([`Installed::command`]).
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
