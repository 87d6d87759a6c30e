//! Modules.

use std::cell::{Cell, RefCell};
use std::ffi::CStr;
use std::fmt;

use super::context::Context;
use super::erased::Erased;
use super::error::{Error, Mixed, Result};
use super::raw::{self, Buffer};

/// A module: functions and global variables. It borrows its [`Context`].
///
/// Functions, blocks and values borrow the module. Operations that may free some of them
/// ([`run_passes`](Self::run_passes), [`link`](Self::link)) take the module by `&mut`: look up functions and values
/// again afterwards.
///
/// ```
/// use rocm_llvm::llvm::Context;
///
/// # fn main() -> Result<(), rocm_llvm::llvm::Error> {
/// # if rocm_llvm::llvm::Library::load().is_err() { return Ok(()) }
/// let context = Context::new()?;
/// let text = "define i32 @triple(i32 %x) {\n  %y = mul i32 %x, 3\n  ret i32 %y\n}\n";
/// let mut module = context.parse_ir("triple.ll", text)?;
/// for function in module.functions() {
///     for instruction in function.blocks().into_iter().flat_map(|block| block.instructions()) {
///         println!("{}: {instruction}", function.name());
///     }
/// }
/// module.link(context.parse_ir("other.ll", "declare i32 @triple(i32)\n@x = global i32 1\n")?)?;
/// assert_eq!((module.functions().len(), module.globals().len()), (1, 1));
/// # Ok(())
/// # }
/// ```
pub struct Module<'c> {
    raw: raw::LLVMModuleRef,
    context: &'c Context,
    /// Number of builders of debug information that have not been finished.
    pub(super) unfinished: Cell<usize>,
    /// Instructions and blocks that were erased and are not freed yet.
    pub(super) erased: RefCell<Erased>,
}

impl Context {
    /// Creates an empty module.
    ///
    /// # Errors
    /// [`Error::Null`] if the name contains a NUL byte.
    #[doc(alias = "LLVMModuleCreateWithNameInContext")]
    pub fn module(&self, name: &str) -> Result<Module<'_>> {
        let name = raw::c_text("a module's name", name)?;
        // SAFETY: the context is live, and the name copied.
        Ok(Module::from_raw(unsafe { raw::LLVMModuleCreateWithNameInContext(name.as_ptr(), self.raw()) }, self))
    }
}

impl<'c> Module<'c> {
    pub(super) fn from_raw(raw: raw::LLVMModuleRef, context: &'c Context) -> Self {
        Self { raw, context, unfinished: Cell::new(0), erased: RefCell::default() }
    }

    pub(super) fn raw(&self) -> raw::LLVMModuleRef {
        self.raw
    }

    /// Returns its context.
    pub fn context(&self) -> &'c Context {
        self.context
    }

    /// Returns its name.
    #[doc(alias = "LLVMGetModuleIdentifier")]
    pub fn name(&self) -> String {
        let mut length = 0;
        // SAFETY: the module is live, the pointer is valid for the write, and the string has the returned length.
        unsafe {
            let text = raw::LLVMGetModuleIdentifier(self.raw, &mut length);
            raw::copy_text(text, length)
        }
    }

    /// Returns the target, such as `amdgcn-amd-amdhsa`; empty if none is set.
    #[doc(alias = "LLVMGetTarget")]
    pub fn triple(&self) -> String {
        // SAFETY: the module is live, and the string is a C string that it owns.
        unsafe { CStr::from_ptr(raw::LLVMGetTarget(self.raw)) }.to_string_lossy().into_owned()
    }

    /// Returns the layout of data in memory; empty if none is set. [`TargetMachine::prepare`] sets it.
    ///
    /// [`TargetMachine::prepare`]: super::TargetMachine::prepare
    #[doc(alias = "LLVMGetDataLayoutStr")]
    pub fn data_layout(&self) -> String {
        // SAFETY: the module is live, and the string is a C string that it owns.
        unsafe { CStr::from_ptr(raw::LLVMGetDataLayoutStr(self.raw)) }.to_string_lossy().into_owned()
    }

    /// Sets assembly that becomes part of the module's code.
    #[doc(alias = "LLVMSetModuleInlineAsm2")]
    pub fn set_inline_assembly(&self, text: &str) {
        // SAFETY: the module is live, and the text valid for its length and copied.
        unsafe { raw::LLVMSetModuleInlineAsm2(self.raw, text.as_ptr().cast(), text.len()) };
    }

    pub(super) fn free_name(&self, operation: &'static str, name: &str) -> Result<std::ffi::CString> {
        let text = raw::c_text("the name of a function or variable", name)?;
        if name.is_empty() {
            return Err(Error::invalid(operation, "the name is empty"));
        }
        if name.starts_with("llvm.") {
            return Err(Error::invalid(operation, format!("{name}: such names are LLVM's: see Module::intrinsic")));
        }
        if self.has(&text) {
            return Err(Error::invalid(operation, format!("the module has {name} already")));
        }
        Ok(text)
    }

    fn has(&self, name: &CStr) -> bool {
        // SAFETY: the module is live, and the name a C string.
        let is_function = unsafe { !raw::LLVMGetNamedFunction(self.raw, name.as_ptr()).is_null() };
        is_function || self.has_other(name)
    }

    /// Returns whether the name is that of a variable, an alias or an indirect function, which a parsed module may
    /// have.
    pub(super) fn has_other(&self, name: &CStr) -> bool {
        let (name, length) = (name.as_ptr(), name.count_bytes());
        // SAFETY: the module is live, and the name a C string of this length.
        unsafe {
            !raw::LLVMGetNamedGlobal(self.raw, name).is_null()
                || !raw::LLVMGetNamedGlobalAlias(self.raw, name, length).is_null()
                || !raw::LLVMGetNamedGlobalIFunc(self.raw, name, length).is_null()
        }
    }

    /// Checks that the module is valid IR. [`run_passes`](Self::run_passes), [`link`](Self::link) and
    /// [`TargetMachine`](super::TargetMachine) call this first.
    ///
    /// # Errors
    /// [`Error::Verify`] with all problems; [`Error::Invalid`] if debug information is not finished.
    #[doc(alias = "LLVMVerifyModule")]
    pub fn verify(&self) -> Result<()> {
        self.check_finished("verify")?;
        let action = rocm_llvm_sys::llvm::LLVMReturnStatusAction;
        let mut message = std::ptr::null_mut();
        // SAFETY: the module is live, the place valid for the write, and the text given away.
        let (failed, message) = unsafe {
            let failed = raw::LLVMVerifyModule(self.raw, action, &mut message) != 0;
            (failed, raw::take_message(message))
        };
        match failed {
            true => Err(Error::Verify { module: self.name(), message }),
            false => Ok(()),
        }
    }

    /// Returns a verified copy, for operations that may leave a module half done.
    pub(super) fn verified_copy(&self) -> Result<raw::LLVMModuleRef> {
        self.verify()?;
        // SAFETY: the module is live, and valid.
        Ok(unsafe { raw::LLVMCloneModule(self.raw) })
    }

    /// Replaces the module by its processed copy.
    pub(super) fn replace(&mut self, raw: raw::LLVMModuleRef) {
        self.erased.take().free();
        let old = std::mem::replace(&mut self.raw, raw);
        // SAFETY: nothing borrows the old module, because this method has exclusive access.
        unsafe { raw::LLVMDisposeModule(old) };
    }

    /// Copies the module.
    ///
    /// # Errors
    /// [`Error::Verify`] if it is not valid.
    #[doc(alias = "LLVMCloneModule")]
    pub fn try_clone(&self) -> Result<Module<'c>> {
        Ok(Self::from_raw(self.verified_copy()?, self.context))
    }

    /// Links `other` into this module: each module's declarations are resolved by the other's definitions. If it fails,
    /// this module is unchanged. `other` is consumed in any case.
    ///
    /// # Errors
    /// [`Error::LinkModules`] if both define a symbol or their flags differ; [`Error::Mixed`] if `other` belongs to
    /// another context; [`Error::Verify`].
    #[doc(alias = "LLVMLinkModules2")]
    pub fn link(&mut self, other: Module<'_>) -> Result<()> {
        if !std::ptr::eq(self.context, other.context) {
            return Err(Error::Mixed { operation: "link", other: Mixed::Context });
        }
        other.verify()?;
        let copy = self.verified_copy()?;
        let (name, source) = (other.name(), other.raw);
        other.erased.take().free();
        std::mem::forget(other);
        let linked = self.context.guarded("link", move || {
            // SAFETY: both are live, of one context, and not used by other code while the caller waits. The source is consumed.
            unsafe { raw::LLVMLinkModules2(copy, source) == 0 }
        })?;
        if linked {
            self.replace(copy);
            return self.verify();
        }
        // SAFETY: only this function uses the copy.
        unsafe { raw::LLVMDisposeModule(copy) };
        let messages: Vec<_> = self.context.take_errors().into_iter().map(|error| error.message).collect();
        Err(Error::LinkModules { module: name, into: self.name(), message: messages.join("\n") })
    }

    /// Returns the module as bitcode.
    ///
    /// # Errors
    /// [`Error::Verify`] if it is not valid.
    #[doc(alias = "LLVMWriteBitcodeToMemoryBuffer")]
    pub fn to_bitcode(&self) -> Result<Vec<u8>> {
        self.verify()?;
        // SAFETY: the module is live, and valid.
        let buffer = Buffer(unsafe { raw::LLVMWriteBitcodeToMemoryBuffer(self.raw) });
        Ok(buffer.bytes().to_vec())
    }
}

/// Prints it in LLVM's text form.
impl fmt::Display for Module<'_> {
    #[doc(alias = "LLVMPrintModuleToString")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the module is live, and the text given away.
        writeln!(f, "{}", unsafe { raw::take_message(raw::LLVMPrintModuleToString(self.raw)) })
    }
}

impl fmt::Debug for Module<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl Drop for Module<'_> {
    #[doc(alias = "LLVMDisposeModule")]
    fn drop(&mut self) {
        self.erased.take().free();
        // SAFETY: its context is live, and nothing borrows it.
        unsafe { raw::LLVMDisposeModule(self.raw) };
    }
}
