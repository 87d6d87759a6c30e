//! Contexts, and the diagnostics that LLVM reports to them.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::c_void;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use super::error::{Diagnostic, Error, Mixed, Result, Severity};
use super::extent::Extent;
use super::guard;
use super::library::Library;
use super::raw;

/// Owns types, constants and metadata. Everything that is created in a context borrows it.
///
/// Values of two contexts cannot be mixed: an operation with both is an [`Error::Mixed`]. A context and everything in
/// it can be used by one thread at a time; other threads can use other contexts.
///
/// LLVM ends the process on an error without a handler. Every context has a handler, which turns errors into the
/// [`Error`] of the operation that reports them. Warnings are kept until [`take_diagnostics`](Self::take_diagnostics).
///
/// ```
/// use rocm_llvm::llvm::{Context, Error};
///
/// # fn main() -> Result<(), rocm_llvm::llvm::Error> {
/// # if rocm_llvm::llvm::Library::load().is_err() { return Ok(()) }
/// let (context, other) = (Context::new()?, Context::new()?);
/// let module = context.module("example")?;
/// module.add_function("f", context.void().function(&[context.i32()], false)?)?;
/// let mixed = context.void().function(&[other.i32()], false);
/// assert!(matches!(mixed, Err(Error::Mixed { .. })));
/// # Ok(())
/// # }
/// ```
pub struct Context {
    raw: raw::LLVMContextRef,
    /// The handler's buffer. LLVM has its address, so it is freed after the context, or never.
    reports: *mut Reports,
    /// The work of a thread that was parked after a fatal error is still in the context: it is never freed.
    leaked: Cell<bool>,
    /// Sizes of the types created here.
    pub(super) extents: RefCell<HashMap<usize, Extent>>,
    /// The names of kinds of metadata, by number: LLVM's C interface returns a number for a name only.
    pub(super) kinds: RefCell<HashMap<u32, String>>,
}

#[derive(Default)]
struct Reports(Mutex<Vec<Diagnostic>>);

// SAFETY: LLVM's contexts are not bound to a thread. Everything that borrows the context cannot be sent (`Context` is not `Sync`), so it
// moves only if nothing else uses it.
unsafe impl Send for Context {}

unsafe extern "C" fn on_diagnostic(diagnostic: raw::LLVMDiagnosticInfoRef, reports: *mut c_void) {
    // SAFETY: LLVM passes a live diagnostic.
    let severity = match unsafe { raw::LLVMGetDiagInfoSeverity(diagnostic) }.0 {
        0 => Severity::Error,
        1 => Severity::Warning,
        2 => Severity::Remark,
        _ => Severity::Note,
    };
    // SAFETY: as above, and the string is given away.
    let message = unsafe { raw::take_message(raw::LLVMGetDiagInfoDescription(diagnostic)) };
    // SAFETY: the pointer that the handler was installed with; its target lives as long as the context.
    let reports = unsafe { &*reports.cast::<Reports>() };
    reports.0.lock().unwrap_or_else(PoisonError::into_inner).push(Diagnostic { severity, message });
}

impl Context {
    /// Creates a context. The first one of a process chooses the LLVM, see [`Library`].
    ///
    /// # Errors
    /// Those of [`Library::load`].
    #[doc(alias = "LLVMContextCreate")]
    #[doc(alias = "LLVMContextSetDiagnosticHandler")]
    pub fn new() -> Result<Self> {
        Library::load()?;
        let reports = Box::into_raw(Box::<Reports>::default());
        // SAFETY: the handler has the right signature, and its argument lives as long as the context.
        let raw = unsafe {
            let raw = raw::LLVMContextCreate();
            raw::LLVMContextSetDiagnosticHandler(raw, Some(on_diagnostic), reports.cast());
            raw
        };
        Ok(Self { raw, reports, leaked: Cell::new(false), extents: RefCell::default(), kinds: RefCell::default() })
    }

    /// Returns the diagnostics since the last call that did not fail an operation: warnings and notes.
    #[doc(alias = "LLVMGetDiagInfoDescription")]
    #[doc(alias = "LLVMGetDiagInfoSeverity")]
    pub fn take_diagnostics(&self) -> Vec<Diagnostic> {
        std::mem::take(&mut *self.reports().lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Removes and returns the errors, and leaves the rest.
    pub(super) fn take_errors(&self) -> Vec<Diagnostic> {
        let mut reports = self.reports().lock().unwrap_or_else(PoisonError::into_inner);
        let (errors, others) = reports.drain(..).partition(|d| d.severity == Severity::Error);
        *reports = others;
        errors
    }

    fn reports(&self) -> &Mutex<Vec<Diagnostic>> {
        // SAFETY: it is only freed after the context.
        unsafe { &(*self.reports).0 }
    }

    /// Runs work on objects of this context, see [`guard::run`].
    pub(super) fn guarded<R: 'static>(&self, operation: &'static str, work: impl FnOnce() -> R + 'static) -> Result<R> {
        self.take_errors();
        let result = guard::run(operation, work);
        if matches!(result, Err(Error::Fatal { .. })) {
            self.leaked.set(true);
        }
        result
    }

    pub(super) fn raw(&self) -> raw::LLVMContextRef {
        self.raw
    }

    /// Fails if `other` is another context.
    pub(super) fn same(&self, operation: &'static str, other: &Context) -> Result<()> {
        match std::ptr::eq(self, other) {
            true => Ok(()),
            false => Err(Error::Mixed { operation, other: Mixed::Context }),
        }
    }
}

impl Drop for Context {
    #[doc(alias = "LLVMContextDispose")]
    fn drop(&mut self) {
        if self.leaked.get() {
            return;
        }
        // SAFETY: everything created in it borrowed it, and has been dropped or leaked. The handler's buffer is freed after its last call.
        unsafe {
            raw::LLVMContextDispose(self.raw);
            drop(Box::from_raw(self.reports));
        }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").finish_non_exhaustive()
    }
}
