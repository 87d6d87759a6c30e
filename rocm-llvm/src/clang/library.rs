//! The libclang of this process.

use std::ffi::{CStr, c_void};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::{Mutex, OnceLock, PoisonError};

use rocm_loader::{Provider, Scope, libraries};

use super::error::{Error, Result};
use super::raw;

/// The libclang that this process uses. There is one per process, chosen on the first use of this module: the file that
/// the program names with [`open`](Self::open), otherwise ROCm's, otherwise the system's. Rust's toolchain does not
/// have one.
///
/// ```
/// match rocm_llvm::clang::Library::load() {
///     Ok(clang) => println!("{} at {}", clang.version(), clang.path()),
///     Err(error) => println!("{error}"), // lists every path tried
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
    /// [`Error::Open`] with every path tried; [`Error::MissingFunction`] if the library is too old.
    pub fn load() -> Result<Self> {
        let _choosing = CHOOSING.lock().unwrap_or_else(PoisonError::into_inner);
        match (CHOSEN.get(), raw::BINDING.opened()) {
            (Some(chosen), _) => Ok(Self { chosen }),
            (None, Some(library)) => Self::adopt(library),
            (None, None) => Self::choose(rocm_loader::process_search().open(&libraries::LIBCLANG)?),
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

fn describe(library: &rocm_loader::Library) -> String {
    library.path().map_or_else(|| library.opened_as().to_owned(), |path| path.display().to_string())
}

fn check(library: &rocm_loader::Library) -> Result<()> {
    match raw::REQUIRED.iter().find(|(_, name)| library.symbol(name).is_none()) {
        None => Ok(()),
        Some((function, _)) => Err(Error::MissingFunction { function, library: describe(library) }),
    }
}
