//! Installations, and running programs on them.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::command::find;
use super::debian::{Contents, Tree};
use super::error::{Error, Result, While as _};
use super::release::RELEASES;
use rocm_loader::installs::{self, ROOT, STAMP};
use rocm_loader::set_uid::runs_set_uid;
use rocm_loader::text_file;
use rocm_preload::Launcher;

/// The set that every installation contains.
pub(super) const BASE: &str = "hip";
/// Folder of apt's state during an installation, in the folder of the installations.
pub(super) const STATE: &str = ".apt";

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
        self.contents.sets.iter().map(String::as_str).filter(|set| *set != BASE)
    }

    /// Returns the installation of `release` in `folder`.
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
                known: RELEASES.iter().map(|known| known.name).collect(),
            });
        }
        let contents = tree.contents()?;
        let version = text_file::read(&tree.folder().join(ROOT).join(".info/version")).ok();
        let version = version.map(|text| text.trim().to_owned());
        Ok(Self { release: release.to_owned(), tree, contents, version })
    }

    /// Like [`find`](Self::find), but also finds a damaged or interrupted installation.
    pub(super) fn find_in_any_state(folder: &Path, release: &str) -> Result<Self> {
        let tree = Tree::new(folder.join(release));
        let cut_off = || is_name(release) && !tree.folder().exists() && tree.has_leftovers();
        let begun = |release: &str| super::release(release).is_ok() && folder.join(STATE).exists();
        match Self::find(folder, release) {
            Err(Error::Damaged { .. }) => {}
            Err(Error::NotInstalled { .. }) if cut_off() || (begun(release) && names(folder).is_empty()) => {}
            other => return other,
        }
        Ok(Self { release: release.to_owned(), tree, contents: Contents::default(), version: None })
    }

    /// Returns a command that runs a program on this installation's libraries, through their loader and C library, and
    /// with [`variables`](crate::variables) set. The packages need a newer C library than most machines have. If
    /// `program` is not a path, it is searched for in `PATH`, then among the installation's programs. A script is run
    /// by its interpreter.
    ///
    /// The programs that it starts run with the machine's C library again;
    /// [`command_with_children`](Self::command_with_children) covers them, too.
    ///
    /// # Errors
    /// [`Error::Program`] if it does not exist, or is neither a program nor a script.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Result<Command> {
        self.launched(program.as_ref(), None)
    }

    /// The same as [`command`](Self::command), and preloads `library`, the file `librocm-sdk-children` that is
    /// installed next to the command `rocm-sdk`: programs that the program starts then run on this installation, too,
    /// and `/proc/self/exe` is the program instead of the loader.
    ///
    /// # Errors
    /// The same as [`command`](Self::command).
    pub fn command_with_children(&self, program: impl AsRef<OsStr>, library: &Path) -> Result<Command> {
        self.launched(program.as_ref(), Some(library))
    }

    fn launched(&self, program: &OsStr, preload: Option<&Path>) -> Result<Command> {
        let trouble = |why: String| Error::Program { program: program.to_string_lossy().into_owned(), why };
        let loader = self.tree.loader();
        if !loader.is_file() {
            return Err(trouble(format!("{} is missing; install ROCm {} again", loader.display(), self.release)));
        }
        let launcher = Launcher::new(loader, self.tree.libraries());
        let launcher = preload.into_iter().fold(launcher, Launcher::preload);
        let path = self.program_path(program).ok_or_else(|| trouble("it is not on PATH".to_owned()))?;
        let mut command = launcher.command(&path, program).map_err(|error| trouble(error.to_string()))?;
        command.envs(crate::variables(&self.root()));
        Ok(command)
    }

    fn program_path(&self, program: &OsStr) -> Option<PathBuf> {
        if Path::new(program).components().count() > 1 {
            return Some(program.into());
        }
        let own = || Some(self.root().join("bin").join(program)).filter(|path| path.is_file());
        program.to_str().filter(|name| !name.is_empty()).and_then(|name| find(name).or_else(own))
    }
}

/// Returns whether a string can be the name of a release's folder, and not a path.
fn is_name(release: &str) -> bool {
    Path::new(release).file_name() == Some(OsStr::new(release)) && !release.starts_with('.')
}

/// Returns the directory of the installations: `ROCM_SDK_INSTALL_DIR`, otherwise `rocm-sdk` in `XDG_DATA_HOME`,
/// otherwise in `~/.local/share`.
///
/// # Errors
/// [`Error::Setting`] if the environment names none, or if the program runs set-uid, because another user then controls
/// the environment.
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
/// directory use [`Installer::installed`](super::Installer::installed).
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

/// Fails if a folder exists but cannot be read, which differs from a folder without installations.
fn check_readable(folder: &Path) -> Result<()> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).while_(|| format!("reading {}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// The library that covers a program's children, which is installed next to the command `rocm-sdk`.
const CHILDREN: &str = "librocm-sdk-children";

/// Replaces this process by a program that runs on an installation of the user's directory: by
/// [`Installed::command_with_children`] if the library is next to this program, otherwise by [`Installed::command`].
///
/// # Errors
/// [`Error::NotInstalled`]; [`Error::Program`]; [`Error::Io`].
pub fn run<S: AsRef<OsStr>>(release: &str, command: impl IntoIterator<Item = S>) -> Result<Infallible> {
    let mut words = command.into_iter().map(|word| word.as_ref().to_owned());
    let installed = Installed::find(&directory()?, release)?;
    let program: OsString = words.next().unwrap_or_default();
    let library = std::env::current_exe().ok().map(|own| own.with_file_name(CHILDREN)).filter(|file| file.is_file());
    let mut command = match library {
        Some(library) => installed.command_with_children(&program, &library)?,
        None => installed.command(&program)?,
    };
    exec(command.args(words), &program)
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

/// Returns the names of the complete installations, newest first.
pub(super) fn names(folder: &Path) -> Vec<String> {
    let complete = installs::releases(folder).into_iter().filter(|(_, path)| path.join(STAMP).is_file());
    complete.map(|(name, _)| name).collect()
}
