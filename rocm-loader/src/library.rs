//! An open shared library.

use std::ffi::{CStr, c_void};
use std::fmt;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

use crate::elf::Dynamic;
use crate::error::Error;
use crate::libraries::AMDHIP64;
use crate::releases::{Abi, NEWEST_RELEASE};
use crate::report::{Origin, Reason, Report};
use crate::scope::Scope;
use crate::spec::{LibrarySpec, Soname, soname_major};
use crate::sys;
use crate::version::{Release, release_of_file};

/// A shared library of ROCm. It stays open until the process ends, because ROCm's libraries start threads and keep
/// state that closing would not undo.
pub struct Library {
    spec: &'static LibrarySpec,
    handle: ManuallyDrop<libloading::Library>,
    origin: Origin,
    opened_as: String,
    path: Option<PathBuf>,
    soname: Option<String>,
    /// The name under which it depends on the HIP runtime.
    runtime: Option<String>,
    release: OnceLock<Option<Release>>,
    abi: OnceLock<Abi>,
    report: Arc<Report>,
}

impl Library {
    pub fn new(
        spec: &'static LibrarySpec,
        handle: libloading::Library,
        origin: Origin,
        opened_as: String,
        path: Option<PathBuf>,
        dynamic: Dynamic,
        report: Arc<Report>,
    ) -> Self {
        let handle = ManuallyDrop::new(handle);
        let Dynamic { soname, needed, .. } = dynamic;
        let runtime = needed.into_iter().find(|name| name.starts_with(AMDHIP64.unversioned()));
        let (release, abi) = (OnceLock::new(), OnceLock::new());
        Self { spec, handle, origin, opened_as, path, soname, runtime, release, abi, report }
    }

    /// Returns its names.
    pub fn spec(&self) -> &'static LibrarySpec {
        self.spec
    }

    /// Returns the step of the search that found it.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Returns the path or soname that was passed to the loader.
    pub fn opened_as(&self) -> &str {
        &self.opened_as
    }

    /// Returns the file, if the loader reports it.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the search that found it.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Returns its soname, such as `libamdhip64.so.7`.
    pub fn soname(&self) -> Option<&str> {
        self.soname.as_deref()
    }

    /// Returns the major number of its soname: 7 for `libamdhip64.so.7`. This is the ABI version, not ROCm's release:
    /// ROCm 10.0 still has `libamdhip64.so.7`, and Comgr has its own numbers.
    pub fn soname_major(&self) -> Option<u32> {
        let name = self.soname.as_deref()?;
        soname_major(&name[name.find(".so")? + ".so".len()..])
    }

    /// Returns whether this crate knows its soname. An unknown one is of a newer release, and is used too, function by
    /// function.
    pub fn is_known_release(&self) -> bool {
        self.soname.as_deref().is_some_and(|name| self.spec.knows(name))
    }

    /// Returns the release of its installation: from `.info/version`, otherwise from the number in its file name if
    /// that is HIP's version. It is read once. If this returns `None`, call `hipRuntimeGetVersion`: see
    /// [`hip_version`](crate::hip_version).
    pub fn release(&self) -> Option<&Release> {
        let read = || release_of_file(self.path.as_deref()?, self.spec.is_numbered_by_hip());
        self.release.get_or_init(read).as_ref()
    }

    /// Returns its release if it is newer than [`NEWEST_RELEASE`], as far as its installation
    /// states it. Its functions are called in their newest known form.
    pub fn newer_release(&self) -> Option<&Release> {
        let (major, minor) = NEWEST_RELEASE;
        self.release().filter(|release| release.rocm() > (u64::from(major), u64::from(minor)))
    }

    /// Returns the releases whose ABI it has: those that use its soname, restricted to its own release, which is taken
    /// from [`release`](Self::release) or from the HIP runtime next to it that it depends on. A release newer than any
    /// known counts as the newest. It is determined once.
    pub fn abi(&self) -> Abi {
        *self.abi.get_or_init(|| {
            let known = |name: &str| self.spec.sonames().iter().find(|soname| soname.file == name);
            let range = self.soname.as_deref().map(|name| known(name).map_or(Abi::NEWEST, Soname::abi));
            let release = match self.release() {
                Some(release) => Some(release.rocm()),
                None => self.release_of_runtime().map(|release| release.rocm()),
            };
            let number = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
            Abi::of(range, release.map(|(major, minor)| (number(major), number(minor))))
        })
    }

    /// Returns the release of the HIP runtime next to it that it depends on.
    fn release_of_runtime(&self) -> Option<Release> {
        let beside = self.path.as_deref()?.parent()?.join(self.runtime.as_deref()?);
        release_of_file(&beside, true).filter(|_| beside.exists())
    }

    /// Checks that it is of the ROCm release `level` (major, minor) or newer. An unknown release counts as new enough.
    ///
    /// # Errors
    /// [`Error::TooOld`] if it is older.
    pub fn check_level(&self, level: (u32, u32)) -> Result<(), Error> {
        match self.release() {
            Some(release) if !release.is_at_least(level) => {
                let found = format!("{release} at {}", self.describe());
                Err(Error::TooOld { library: self.spec.name(), found, needed: level })
            }
            _ => Ok(()),
        }
    }

    /// Returns the address of the symbol `name`, in this library or in one of its dependencies.
    pub fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: only the address is taken; nothing is called or read through it.
        let symbol = unsafe { self.handle.get::<*mut c_void>(name.to_bytes_with_nul()) }.ok()?;
        NonNull::new(*symbol)
    }

    /// Returns the function `name` as a function pointer of type `F`. `since` is the first ROCm release that has it,
    /// for the error.
    ///
    /// # Errors
    /// [`Error::SymbolMissing`] if the library lacks it.
    ///
    /// # Safety
    /// The caller must ensure that `F` is a function pointer type, `unsafe extern "C" fn(..) -> ..`, with the signature
    /// of that function.
    pub unsafe fn function<F: Copy>(&self, name: &CStr, since: &'static str) -> Result<F, Error> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>(), "F must be a function pointer") };
        match self.symbol(name) {
            Some(address) => {
                // SAFETY: `F` has the size of a pointer, asserted above; the caller guarantees the type.
                Ok(unsafe { std::mem::transmute_copy::<NonNull<c_void>, F>(&address) })
            }
            None => Err(self.missing(name, since)),
        }
    }

    /// Opens the same file again with a wider scope. The dynamic loader then widens the scope of the open library.
    pub fn widen(&self, scope: Scope) -> Result<(), Error> {
        let path = Path::new(&self.opened_as);
        let again =
            if path.is_absolute() { sys::open_path(path, scope) } else { sys::open_name(&self.opened_as, scope) };
        match again {
            Ok(handle) => {
                std::mem::forget(handle);
                Ok(())
            }
            Err(message) => Err(Error::Unusable {
                library: self.spec.name(),
                target: self.opened_as.clone(),
                reason: Reason::Loader { message },
                report: Arc::clone(&self.report),
            }),
        }
    }

    pub fn missing(&self, name: &CStr, since: &'static str) -> Error {
        Error::SymbolMissing {
            library: self.spec.name(),
            symbol: name.to_string_lossy().into_owned(),
            since,
            before: None,
            found_in: self.describe(),
            found: self.release().map(|release| release.to_string().into()),
        }
    }

    pub fn describe(&self) -> String {
        self.path.as_ref().map_or_else(|| self.opened_as.clone(), |p| p.display().to_string())
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library")
            .field("name", &self.spec.name())
            .field("path", &self.describe())
            .finish_non_exhaustive()
    }
}
