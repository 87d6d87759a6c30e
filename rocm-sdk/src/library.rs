//! An open shared library.

use std::ffi::{CStr, c_void};
use std::fmt;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::Arc;

use crate::report::{Origin, Report};
use crate::spec::LibrarySpec;

/// A shared library of ROCm, open until the process ends: they start threads and keep state that closing does not undo.
pub struct Library {
    spec: &'static LibrarySpec,
    handle: ManuallyDrop<libloading::Library>,
    origin: Origin,
    opened_as: String,
    path: Option<PathBuf>,
    report: Arc<Report>,
}

impl Library {
    pub(crate) fn from_parts(
        spec: &'static LibrarySpec,
        handle: libloading::Library,
        origin: Origin,
        opened_as: String,
        path: Option<PathBuf>,
        report: Arc<Report>,
    ) -> Self {
        Self { spec, handle: ManuallyDrop::new(handle), origin, opened_as, path, report }
    }

    /// Its names.
    pub fn spec(&self) -> &'static LibrarySpec {
        self.spec
    }

    /// Which step of the search found it.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The path or soname that the loader was given.
    pub fn opened_as(&self) -> &str {
        &self.opened_as
    }

    /// The file, where the loader tells.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// How it was found.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The address of the symbol `name`.
    pub fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: only the address is taken, nothing is called or read through it.
        let symbol = unsafe { self.handle.get::<*mut c_void>(name.to_bytes_with_nul()) }.ok()?;
        NonNull::new(*symbol)
    }

    pub(crate) fn describe(&self) -> String {
        self.path.as_ref().map_or_else(|| self.opened_as.clone(), |p| p.display().to_string())
    }

    pub(crate) fn release_note(&self) -> Option<String> {
        None
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library").field("name", &self.spec.name()).field("path", &self.describe()).finish_non_exhaustive()
    }
}
