//! The libclang of this process.

use std::ffi::{CStr, c_void};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::{Mutex, OnceLock, PoisonError};

use rocm_loader::{Provider, Scope, libraries};

use super::error::{Error, Result};
use super::raw;

/// The libclang that this process uses. There is one per process, chosen on the first use of this module: the file that
/// the program names with [`open`](Self::open), otherwise the one that the variable `LIBCLANG_PATH` names (a file, or
/// its folder), otherwise ROCm's, otherwise the system's. Rust's toolchain does not have one.
///
/// ```
/// match rocm_llvm::clang::Library::load() {
///     Ok(clang) => println!("{} at {}", clang.version(), clang.path()),
///     Err(error) => println!("{error}"), // names the package to install
/// }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Library {
    chosen: &'static Chosen,
}

#[derive(Debug)]
struct Chosen {
    library: &'static rocm_loader::Library,
    name: String,
}

impl Provider for Chosen {
    fn name(&self) -> &str {
        &self.name
    }

    fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        self.library.symbol(name)
    }
}

static CHOSEN: OnceLock<Chosen> = OnceLock::new();
static CHOOSING: Mutex<()> = Mutex::new(());

impl Library {
    /// Returns the libclang of this process, and searches for one if none is in use yet.
    ///
    /// # Errors
    /// [`Error::NotFound`] with every path tried; [`Error::Open`] if the file that `LIBCLANG_PATH` names cannot be
    /// loaded; [`Error::MissingFunction`] if the library is too old.
    pub fn load() -> Result<Self> {
        let _choosing = CHOOSING.lock().unwrap_or_else(PoisonError::into_inner);
        match (CHOSEN.get(), raw::BINDING.opened()) {
            (Some(chosen), _) => Ok(Self { chosen }),
            (None, Some(library)) => Self::adopt(library),
            (None, None) => match in_variable() {
                Some(path) => Self::choose(rocm_loader::Library::open(&libraries::LIBCLANG, &path, Scope::Local)?),
                None => Self::choose(search()?),
            },
        }
    }

    /// Makes the file `path` the libclang of this process. Call it before anything else of this module.
    ///
    /// # Errors
    /// [`Error::Open`] if the path is not absolute, or the file cannot be loaded; [`Error::MissingFunction`] if it is
    /// too old, or another library; [`Error::InUse`] if another libclang is in use.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let _choosing = CHOOSING.lock().unwrap_or_else(PoisonError::into_inner);
        let current = match (CHOSEN.get(), raw::BINDING.opened()) {
            (Some(chosen), _) => chosen.library,
            (None, Some(library)) => library,
            (None, None) => return Self::choose(rocm_loader::Library::open(&libraries::LIBCLANG, path, Scope::Local)?),
        };
        let same = current
            .path()
            .zip(path.canonicalize().ok())
            .is_some_and(|(current, path)| current.canonicalize().is_ok_and(|current| current == path));
        match (same, CHOSEN.get()) {
            (true, Some(chosen)) => Ok(Self { chosen }),
            (true, None) => Self::adopt(current),
            (false, _) => Err(Error::InUse { wanted: path.display().to_string(), current: describe(current) }),
        }
    }

    /// Returns its version string, such as `Debian clang version 19.1.7 (3+b1)`.
    #[doc(alias = "clang_getClangVersion")]
    pub fn version(self) -> String {
        // SAFETY: it takes nothing, and the text is given away.
        unsafe { raw::take(raw::clang_getClangVersion()) }.unwrap_or_default()
    }

    /// Returns the file, or the soname if the system's loader found it and does not report the file.
    pub fn path(self) -> String {
        self.chosen.name.clone()
    }

    fn choose(library: rocm_loader::Library) -> Result<Self> {
        check(&library)?;
        let library: &'static rocm_loader::Library = Box::leak(Box::new(library));
        let chosen = CHOSEN.get_or_init(|| Chosen { library, name: describe(library) });
        raw::BINDING.set_provider(chosen)?;
        Ok(Self { chosen })
    }

    /// Uses the library that `rocm-llvm-sys` has opened.
    fn adopt(library: &'static rocm_loader::Library) -> Result<Self> {
        check(library)?;
        Ok(Self { chosen: CHOSEN.get_or_init(|| Chosen { library, name: describe(library) }) })
    }
}

/// Returns the file that `LIBCLANG_PATH` names, or the one in the folder that it names. A set-uid program ignores it.
fn in_variable() -> Option<PathBuf> {
    let path = PathBuf::from(std::env::var_os("LIBCLANG_PATH").filter(|path| !path.is_empty())?);
    if rocm_loader::process_search().is_set_uid() {
        return None;
    }
    if !path.is_dir() {
        return Some(path);
    }
    let first = path.join("libclang.so");
    if first.exists() {
        return Some(first);
    }
    let is_library = |file: &PathBuf| {
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let numbered =
            name.strip_prefix("libclang-").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        numbered || name.starts_with("libclang.so.")
    };
    let files = std::fs::read_dir(&path).ok()?.flatten().map(|entry| entry.path()).filter(is_library);
    Some(files.max().unwrap_or(first))
}

fn search() -> Result<rocm_loader::Library> {
    rocm_loader::process_search().open(&libraries::LIBCLANG).map_err(|error| match error {
        rocm_loader::Error::NotFound { .. } => Error::NotFound { report: error.to_string() },
        other => other.into(),
    })
}

fn describe(library: &rocm_loader::Library) -> String {
    library.path().map_or_else(|| library.opened_as().to_owned(), |path| path.display().to_string())
}

fn check(library: &rocm_loader::Library) -> Result<()> {
    match raw::REQUIRED.iter().find(|(_, name)| library.symbol(name).is_none()) {
        None => Ok(()),
        Some((function, _)) => Err(Error::MissingFunction { function, library: describe(library) }),
    }
}
