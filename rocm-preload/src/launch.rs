//! The command that starts a program through a loader.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::kind::{HEAD, Kind};

/// The maximum number of nested script interpreters, which is the kernel's limit.
pub(crate) const SCRIPTS: usize = 5;

/// Starts programs through a loader, with library directories that it searches first.
#[derive(Clone, Debug)]
pub struct Launcher {
    loader: PathBuf,
    libraries: OsString,
    preload: Option<PathBuf>,
}

/// Why a program cannot be started through a loader.
#[non_exhaustive]
pub enum NotStarted {
    /// The file cannot be read.
    Unreadable {
        /// The file: the program, or a script's interpreter.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The file is neither a program nor a script with `#!`.
    NotAProgram {
        /// The file.
        path: PathBuf,
    },
}

/// Same as [`Display`](fmt::Display), because `unwrap` and a `main` that returns the error print it with `Debug`.
impl fmt::Debug for NotStarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for NotStarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { path, error } => write!(f, "{} cannot be read: {error}", path.display()),
            Self::NotAProgram { path } => {
                write!(f, "{} is neither an ELF program nor a script that begins with #!", path.display())
            }
        }
    }
}

// The message already contains the system's error.
impl std::error::Error for NotStarted {}

impl Launcher {
    /// Creates a launcher from the loader's file and the list of directories, separated by colons, that it searches for
    /// libraries before the system's own.
    pub fn new(loader: impl Into<PathBuf>, libraries: impl Into<OsString>) -> Self {
        Self { loader: loader.into(), libraries: libraries.into(), preload: None }
    }

    /// Preloads a library into the program.
    pub fn preload(mut self, library: impl Into<PathBuf>) -> Self {
        self.preload = Some(library.into());
        self
    }

    /// Returns the command that starts the program `file`, with `name` as its own name. A script is started with its
    /// interpreter. A program that needs no loader (a static one) is started directly.
    ///
    /// # Errors
    /// [`NotStarted`] if the file or a script's interpreter cannot be read, or is not a program.
    pub fn command(&self, file: &Path, name: &OsStr) -> Result<Command, NotStarted> {
        let (mut file, mut name) = (file.to_owned(), name.to_owned());
        // Words before the arguments, for interpreters.
        let mut front: Vec<OsString> = Vec::new();
        for _ in 0..=SCRIPTS {
            let head = head(&file).map_err(|error| NotStarted::Unreadable { path: file.clone(), error })?;
            match Kind::of(&head) {
                Kind::Dynamic => {
                    let mut command = Command::new(&self.loader);
                    command.arg("--library-path").arg(&self.libraries);
                    if let Some(library) = &self.preload {
                        command.arg("--preload").arg(library);
                    }
                    // The loader searches a name without a slash among the libraries.
                    let file = if file.components().count() > 1 { file } else { Path::new(".").join(file) };
                    command.arg("--argv0").arg(name).arg(file).args(front);
                    return Ok(command);
                }
                Kind::Foreign => {
                    let mut command = Command::new(&file);
                    command.args(front);
                    return Ok(command);
                }
                Kind::Script { interpreter, argument } => {
                    let script = file.into_os_string();
                    file = word(interpreter).into();
                    front = argument.map(word).into_iter().chain([script]).chain(front).collect();
                    name = file.clone().into_os_string();
                }
                Kind::Other => break,
            }
        }
        Err(NotStarted::NotAProgram { path: file })
    }
}

/// The first bytes of a file.
fn head(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    File::open(path)?.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(head)
}

#[cfg(unix)]
fn word(bytes: &[u8]) -> OsString {
    <OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes).to_owned()
}

#[cfg(not(unix))]
fn word(bytes: &[u8]) -> OsString {
    String::from_utf8_lossy(bytes).into_owned().into()
}

#[cfg(all(test, target_os = "linux", target_arch = "x86_64"))]
mod tests {
    use super::*;

    fn words(file: &Path) -> Vec<String> {
        let launcher = Launcher::new("/tree/ld.so", "/a:/b").preload("/c.so");
        let command = launcher.command(file, OsStr::new("name")).unwrap();
        let words = [command.get_program()].into_iter().chain(command.get_args());
        words.map(|word| word.to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn a_program_is_started_by_the_loader() {
        let own = std::env::current_exe().unwrap();
        let start = ["/tree/ld.so", "--library-path", "/a:/b", "--preload", "/c.so", "--argv0"];
        assert_eq!(words(&own), [&start[..], &["name", own.to_str().unwrap()]].concat());

        // A script whose interpreter is a script: each adds its interpreter's argument and itself.
        let folder = tempfile::tempdir().unwrap();
        let [inner, outer] = ["inner", "outer"].map(|name| folder.path().join(name));
        std::fs::write(&inner, format!("#!{} -i x\n", own.display())).unwrap();
        std::fs::write(&outer, format!("#!{}\n", inner.display())).unwrap();
        let [own, inner, outer] = [own, inner, outer].map(|path| path.to_str().unwrap().to_owned());
        assert_eq!(words(outer.as_ref())[5..], ["--argv0", &own, &own, "-i x", &inner, &outer]);
    }

    #[test]
    fn what_is_no_program_is_an_error_with_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let launcher = Launcher::new("/tree/ld.so", "/a");
        let error = |text: &str| {
            let file = folder.path().join("file");
            std::fs::write(&file, text).unwrap();
            launcher.command(&file, OsStr::new("name")).unwrap_err().to_string()
        };
        assert!(error("hello").ends_with("file is neither an ELF program nor a script that begins with #!"));
        assert!(error("#!/nowhere/sh\n").starts_with("/nowhere/sh cannot be read: "));
        // A script that names itself as its interpreter.
        let itself = format!("#!{}\n", folder.path().join("file").display());
        assert!(error(&itself).contains("neither"));
    }
}
