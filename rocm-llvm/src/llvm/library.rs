//! The LLVM of this process: which library, and which version.

use std::ffi::{CStr, OsString, c_uint, c_void};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr::NonNull;
use std::sync::{Mutex, OnceLock, PoisonError};

use rocm_loader::{Provider, Scope, libraries};

use super::error::{Error, OLDEST, Result};
use super::version::Version;
use super::{guard, raw};

/// The LLVM that this process uses. There is one per process, chosen on the first use of this module.
///
/// The first usable one of these is chosen:
/// 1. the file that the program names with [`open`](Self::open),
/// 2. that of the ROCm installation that [`rocm_loader::Search`] finds,
/// 3. the system's: `libLLVM.so.NN.N`, `libLLVM-NN.so`, the newest known one,
/// 4. that of the Rust toolchain ([`in_rust_toolchain`](Self::in_rust_toolchain)). Its `rustc` contains the code
///    generator for AMD GPUs.
///
/// ```
/// match rocm_llvm::llvm::Library::load() {
///     Ok(llvm) => println!("LLVM {} at {}", llvm.version(), llvm.path()),
///     Err(error) => println!("{error}"), // lists every place tried
/// }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Library {
    chosen: &'static Chosen,
}

/// The library in use.
#[derive(Debug)]
struct Chosen {
    library: &'static rocm_loader::Library,
    name: String,
    version: Version,
}

/// Binds the functions of `rocm_llvm_sys::llvm` to the chosen library.
impl Provider for Chosen {
    fn name(&self) -> &str {
        &self.name
    }

    fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        self.library.symbol(name)
    }

    fn release(&self) -> Option<(u32, u32)> {
        // The releases by which the declarations are sorted, each with its LLVM.
        Some(match self.version.major {
            ..=17 => (5, 7),
            18 => (6, 2),
            19 => (6, 4),
            20 => (7, 0),
            21 => (7, 1),
            22 => (7, 2),
            _ => return None,
        })
    }
}

static CHOSEN: OnceLock<Chosen> = OnceLock::new();
/// The lock is held while a library is chosen.
static CHOOSING: Mutex<()> = Mutex::new(());

impl Library {
    /// Returns the LLVM of this process, and chooses one if none is in use yet. A failure is not cached.
    ///
    /// # Errors
    /// [`Error::NotFound`] with every place tried.
    #[doc(alias = "LLVMGetVersion")]
    pub fn load() -> Result<Self> {
        if let Some(chosen) = CHOSEN.get() {
            return Ok(Self { chosen });
        }
        let _choosing = CHOOSING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(chosen) = CHOSEN.get() {
            return Ok(Self { chosen });
        }
        // Other code has already called functions of `rocm-llvm-sys`.
        if let Some(library) = raw::BINDING.opened() {
            return Self::adopt(library);
        }
        let mut tried = Vec::new();
        match rocm_loader::process_search().open(&libraries::LLVM) {
            Ok(library) => match Self::choose(library) {
                Ok(library) => return Ok(library),
                Err(error) => tried.push(error.to_string()),
            },
            Err(error) => tried.push(error.to_string()),
        }
        match Self::in_rust_toolchain().and_then(|path| Self::choose(open(&path)?)) {
            Ok(library) => return Ok(library),
            Err(Error::NotFound { tried: places }) => tried.extend(places),
            Err(error) => tried.push(error.to_string()),
        }
        Err(Error::NotFound { tried })
    }

    /// Makes the file `path` the LLVM of this process. Call it before anything else of this module. A second call with
    /// the same file returns the same library.
    ///
    /// # Errors
    /// [`Error::Open`] if the path is not absolute, or the file cannot be loaded; [`Error::TooOld`];
    /// [`Error::MissingFunction`] if it is another library; [`Error::InUse`] if another LLVM is in use.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let _choosing = CHOOSING.lock().unwrap_or_else(PoisonError::into_inner);
        let in_use = match CHOSEN.get() {
            Some(chosen) => Some(chosen.library),
            None => raw::BINDING.opened(),
        };
        let Some(current) = in_use else { return Self::choose(open(path)?) };
        let same = |a: &Path, b: &Path| match (fs::canonicalize(a), fs::canonicalize(b)) {
            (Ok(a), Ok(b)) => a == b,
            _ => a == b,
        };
        match (current.path().is_some_and(|file| same(file, path)), CHOSEN.get()) {
            (true, Some(chosen)) => Ok(Self { chosen }),
            (true, None) => Self::adopt(current),
            (false, _) => Err(Error::InUse { wanted: path.display().to_string(), current: describe(current) }),
        }
    }

    /// Returns the path of the LLVM in the Rust toolchain: `lib/libLLVM*` in the directory that `rustc --print sysroot`
    /// prints. `rustc` is the one that the variable `RUSTC` names, otherwise the one in `PATH`, otherwise the one in
    /// Cargo's home; rustup's `RUSTUP_TOOLCHAIN` applies. Loads nothing.
    ///
    /// A process with more rights than its user (set-uid) gets an error.
    ///
    /// # Errors
    /// [`Error::NotFound`] with every place tried.
    pub fn in_rust_toolchain() -> Result<PathBuf> {
        let mut tried = Vec::new();
        for sysroot in sysroots(&mut tried) {
            let folder = sysroot.join("lib");
            match library_in(&folder) {
                Some(path) => return Ok(path),
                None => tried.push(format!("{}: no libLLVM (this toolchain links it into rustc)", folder.display())),
            }
        }
        Err(Error::NotFound { tried })
    }

    /// Returns its version.
    pub fn version(self) -> Version {
        self.chosen.version
    }

    /// Returns the file, or the soname if the system's loader found it and does not report the file.
    pub fn path(self) -> String {
        self.chosen.name.clone()
    }

    /// Returns the open library, with the search that found it.
    pub fn library(self) -> &'static rocm_loader::Library {
        self.chosen.library
    }

    /// Returns whether the library has the function `name` of LLVM's C interface.
    pub fn has(self, name: &CStr) -> bool {
        raw::BINDING.has(name)
    }

    fn choose(library: rocm_loader::Library) -> Result<Self> {
        check(&library)?;
        let library: &'static rocm_loader::Library = Box::leak(Box::new(library));
        let chosen = Chosen { library, name: describe(library), version: version_of(library)? };
        let chosen = CHOSEN.get_or_init(|| chosen);
        raw::BINDING.set_provider(chosen)?;
        guard::install();
        Ok(Self { chosen })
    }

    /// Uses the library that `rocm-llvm-sys` has opened.
    fn adopt(library: &'static rocm_loader::Library) -> Result<Self> {
        check(library)?;
        let version = version_of(library)?;
        let chosen = CHOSEN.get_or_init(|| Chosen { library, name: describe(library), version });
        guard::install();
        Ok(Self { chosen })
    }
}

fn open(path: &Path) -> Result<rocm_loader::Library> {
    Ok(rocm_loader::Library::open(&libraries::LLVM, path, Scope::Local)?)
}

fn describe(library: &rocm_loader::Library) -> String {
    library.path().map_or_else(|| library.opened_as().to_owned(), |path| path.display().to_string())
}

/// Checks whether this crate can use the library.
fn check(library: &rocm_loader::Library) -> Result<()> {
    let version = version_of(library)?;
    if version.major < OLDEST {
        return Err(Error::TooOld { path: describe(library), found: Some(version) });
    }
    for name in raw::CORE.iter().chain(raw::READING) {
        let c_name = raw::c_text("a function's name", name)?;
        if library.symbol(&c_name).is_none() {
            let library = describe(library);
            return Err(Error::MissingFunction {
                function: (*name).to_owned(),
                library,
                found: version,
                since: Some(OLDEST),
            });
        }
    }
    Ok(())
}

fn version_of(library: &rocm_loader::Library) -> Result<Version> {
    type GetVersion = unsafe extern "C" fn(*mut c_uint, *mut c_uint, *mut c_uint);
    let Some(function) = library.symbol(c"LLVMGetVersion") else {
        // LLVM has this function since LLVM 16.
        return Err(match library.symbol(c"LLVMContextCreate") {
            Some(_) => Error::TooOld { path: describe(library), found: None },
            None => Error::Open(library.missing(c"LLVMGetVersion", "5.7")),
        });
    };
    // SAFETY: this is the signature of LLVM's function of this name.
    let function = unsafe { std::mem::transmute::<NonNull<c_void>, GetVersion>(function) };
    let mut version = Version { major: 0, minor: 0, patch: 0 };
    // SAFETY: all three are valid for the writes.
    unsafe { function(&mut version.major, &mut version.minor, &mut version.patch) };
    Ok(version)
}

/// Returns the directories of Rust toolchains, the preferred one first.
fn sysroots(tried: &mut Vec<String>) -> Vec<PathBuf> {
    if set_uid() {
        tried.push("rustc: not started by a process with more rights than its user".to_owned());
        return Vec::new();
    }
    let mut programs: Vec<OsString> = Vec::new();
    programs.extend(std::env::var_os("RUSTC").filter(|value| !value.is_empty()));
    programs.push("rustc".into());
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    programs.extend(home.map(|home| home.join("bin").join("rustc").into_os_string()));
    let mut found = Vec::new();
    for program in programs {
        let text = program.to_string_lossy().into_owned();
        match Command::new(&program).args(["--print", "sysroot"]).output() {
            Ok(output) if output.status.success() => {
                let sysroot = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
                if sysroot.is_absolute() && !found.contains(&sysroot) {
                    found.push(sysroot);
                }
            }
            Ok(output) => {
                tried.push(format!("{text}: {}", String::from_utf8_lossy(&output.stderr).trim()));
            }
            Err(error) => tried.push(format!("{text}: {error}")),
        }
    }
    found
}

/// Returns the sysroots of the Rust toolchains, for their linker.
pub(super) fn rust_sysroots() -> Vec<PathBuf> {
    sysroots(&mut Vec::new())
}

pub(super) fn set_uid() -> bool {
    rocm_loader::process_search().is_set_uid()
}

/// Returns the libLLVM in a folder: the file with a version in its name before links to it.
fn library_in(folder: &Path) -> Option<PathBuf> {
    let names = fs::read_dir(folder).ok()?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let is_llvm = |name: &String| {
        name.starts_with("libLLVM") && (name.contains(".so") || name.ends_with(".dylib") || name.ends_with(".dll"))
    };
    let mut names: Vec<String> = names.filter(is_llvm).collect();
    // `libLLVM-22-rust-1.95.0-stable.so` may be a linker script; `libLLVM.so.22.1-rust-1.95.0-stable` is the library.
    names.sort_by_key(|name| (!name.starts_with("libLLVM.so."), name.clone()));
    Some(folder.join(names.first()?))
}
