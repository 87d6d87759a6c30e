//! Modules.

use std::cell::Cell;
use std::ffi::CStr;
use std::fmt;

use super::context::Context;
use super::error::{Error, Mixed, Result};
use super::linkage::Linkage;
use super::metadata::Metadata;
use super::raw::{self, Buffer};
use super::types::{AddressSpace, Type};
use super::value::{Owner, Value};

/// A module: functions and global variables. It borrows its [`Context`].
///
/// Functions, blocks and values borrow the module. Operations that may free some of them
/// ([`run_passes`](Self::run_passes), [`link`](Self::link)) take the module by `&mut`: look up functions and values
/// again afterwards.
pub struct Module<'c> {
    raw: raw::LLVMModuleRef,
    context: &'c Context,
    /// Number of builders of debug information that have not been finished.
    pub(super) unfinished: Cell<usize>,
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
        Self { raw, context, unfinished: Cell::new(0) }
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

    /// Adds a global variable, such as an array in [`AddressSpace::Local`] (LDS). Without an initial value it is a
    /// declaration.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the module already has the name, or it is reserved (`llvm.*`) or empty; [`Error::Type`] if
    /// the type has no size; [`Error::Mixed`].
    #[doc(alias = "LLVMAddGlobalInAddressSpace")]
    pub fn add_global(&self, name: &str, ty: Type<'c>, space: AddressSpace) -> Result<Global<'_>> {
        self.context.same("add_global", ty.context())?;
        ty.check_element("add_global")?;
        let text = self.free_name("add_global", name)?;
        // SAFETY: the module and the type are live, of one context, and the name copied.
        let raw = unsafe { raw::LLVMAddGlobalInAddressSpace(self.raw, ty.raw(), text.as_ptr(), space.number()) };
        Ok(self.global_of(raw))
    }

    fn global_of(&self, raw: raw::LLVMValueRef) -> Global<'_> {
        Global { value: Value::new(raw, Owner::Module(self.raw), self.context) }
    }

    /// Returns the global variable of this name.
    ///
    /// # Errors
    /// [`Error::Null`] if the name contains a NUL byte.
    #[doc(alias = "LLVMGetNamedGlobal")]
    pub fn global(&self, name: &str) -> Result<Option<Global<'_>>> {
        let text = raw::c_text("a global variable's name", name)?;
        // SAFETY: the module is live, and the name a C string.
        let raw = unsafe { raw::LLVMGetNamedGlobal(self.raw, text.as_ptr()) };
        Ok((!raw.is_null()).then(|| self.global_of(raw)))
    }

    /// Returns all global variables, in the module's order.
    #[doc(alias = "LLVMGetFirstGlobal")]
    pub fn globals(&self) -> Vec<Global<'_>> {
        // SAFETY: the module is live.
        let mut raw = unsafe { raw::LLVMGetFirstGlobal(self.raw) };
        let mut all = Vec::new();
        while !raw.is_null() {
            all.push(self.global_of(raw));
            // SAFETY: a global variable of the module.
            raw = unsafe { raw::LLVMGetNextGlobal(raw) };
        }
        all
    }

    /// Adds a flag, such as `amdhsa_code_object_version` with the value 500. Modules with different values for it
    /// cannot be linked.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the module has the flag already.
    #[doc(alias = "LLVMAddModuleFlag")]
    #[doc(alias = "LLVMGetModuleFlag")]
    pub fn add_flag(&self, name: &str, value: u32) -> Result<()> {
        // SAFETY: the module is live, and the text valid for its length.
        if name.is_empty() || unsafe { !raw::LLVMGetModuleFlag(self.raw, name.as_ptr().cast(), name.len()).is_null() } {
            return Err(Error::invalid(
                "add_flag",
                format!("the module has the flag `{name}` already, or it is empty"),
            ));
        }
        let value = self.context.i32().const_int(value.into())?.to_metadata()?;
        let error = rocm_llvm_sys::llvm::LLVMModuleFlagBehaviorError;
        // SAFETY: the module and the value are live, of one context; the text is valid for its length and copied.
        unsafe { raw::LLVMAddModuleFlag(self.raw, error, name.as_ptr().cast(), name.len(), value.raw()) };
        Ok(())
    }

    /// Adds a node to the named metadata, such as `opencl.ocl.version`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is not a node, or the name is empty or reserved; [`Error::Null`]; [`Error::Mixed`].
    #[doc(alias = "LLVMAddNamedMetadataOperand")]
    pub fn add_named_metadata<'m>(&'m self, name: &str, node: Metadata<'m>) -> Result<()> {
        let operation = "add_named_metadata";
        self.context.same(operation, node.context())?;
        node.owner().join(operation, Owner::Module(self.raw))?;
        let text = raw::c_text("a name of metadata", name)?;
        if !node.is_node() || name.is_empty() || name == "llvm.module.flags" || name.starts_with("llvm.dbg") {
            return Err(Error::invalid(
                operation,
                format!("`{name}`: a node and a name that is not LLVM's are needed"),
            ));
        }
        // SAFETY: the module and the node are live, of one context, and the name is a C string.
        unsafe { raw::LLVMAddNamedMetadataOperand(self.raw, text.as_ptr(), node.to_value().raw()) };
        Ok(())
    }

    /// Checks that the module is valid IR. [`run_passes`](Self::run_passes), [`link`](Self::link) and
    /// [`TargetMachine`](super::TargetMachine) call this first.
    ///
    /// # Errors
    /// [`Error::Verify`] with all problems; [`Error::Invalid`] if debug information is not finished.
    #[doc(alias = "LLVMVerifyModule")]
    pub fn verify(&self) -> Result<()> {
        if self.unfinished.get() > 0 {
            return Err(Error::invalid("verify", "debug information is not finished: drop the DebugInfo"));
        }
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
        // SAFETY: its context is live, and nothing borrows it.
        unsafe { raw::LLVMDisposeModule(self.raw) };
    }
}

/// A global variable of a [`Module`].
#[derive(Debug, Clone, Copy)]
pub struct Global<'m> {
    value: Value<'m>,
}

impl<'m> Global<'m> {
    /// Returns its address as a value, which is a pointer into its address space.
    pub fn value(self) -> Value<'m> {
        self.value
    }

    /// Returns its name.
    pub fn name(self) -> String {
        self.value.name()
    }

    /// Returns the type of its content.
    #[doc(alias = "LLVMGlobalGetValueType")]
    pub fn content_type(self) -> Type<'m> {
        // SAFETY: the variable is live with its module.
        Type::from_raw(unsafe { raw::LLVMGlobalGetValueType(self.value.raw()) }, self.value.context())
    }

    /// Sets the initial value. Variables in LDS take [`Type::undef`] or [`Type::poison`].
    ///
    /// # Errors
    /// [`Error::Type`] if it is not a constant of the content's type; [`Error::Mixed`].
    #[doc(alias = "LLVMSetInitializer")]
    pub fn set_initial_value(self, value: Value<'m>) -> Result<()> {
        let operation = "set_initial_value";
        self.value.context().same(operation, value.context())?;
        value.owner().join(operation, self.value.owner())?;
        if !value.is_constant() {
            return Err(Error::invalid(operation, format!("`{value}` is not a constant")));
        }
        if value.ty() != self.content_type() {
            return Err(Error::of_type(operation, self.content_type(), value.ty()));
        }
        // SAFETY: both are live, and the value is a constant of the right type.
        unsafe { raw::LLVMSetInitializer(self.value.raw(), value.raw()) };
        Ok(())
    }

    /// Sets whether it never changes.
    #[doc(alias = "LLVMSetGlobalConstant")]
    pub fn set_constant(self, constant: bool) {
        // SAFETY: the variable is live with its module.
        unsafe { raw::LLVMSetGlobalConstant(self.value.raw(), raw::flag(constant)) };
    }

    /// Sets its linkage.
    #[doc(alias = "LLVMSetLinkage")]
    pub fn set_linkage(self, linkage: Linkage) {
        // SAFETY: the variable is live with its module.
        unsafe { raw::LLVMSetLinkage(self.value.raw(), linkage.raw()) };
    }

    /// Sets its alignment in bytes.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `bytes` is not a power of two.
    pub fn set_alignment(self, bytes: u32) -> Result<()> {
        self.value.set_alignment(bytes)
    }
}
