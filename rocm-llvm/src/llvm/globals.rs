//! Global variables.

use super::error::{Error, Result};
use super::linkage::Linkage;
use super::module::Module;
use super::raw;
use super::types::{AddressSpace, Type};
use super::value::{Owner, Value};

impl<'c> Module<'c> {
    /// Adds a global variable, such as an array in [`AddressSpace::Local`] (LDS). Without an initial value it is a
    /// declaration.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the module already has the name, or it is reserved (`llvm.*`) or empty; [`Error::Type`] if
    /// the type has no size; [`Error::Mixed`].
    #[doc(alias = "LLVMAddGlobalInAddressSpace")]
    pub fn add_global(&self, name: &str, ty: Type<'c>, space: AddressSpace) -> Result<Global<'_>> {
        self.context().same("add_global", ty.context())?;
        ty.check_element("add_global")?;
        let text = self.free_name("add_global", name)?;
        // SAFETY: the module and the type are live, of one context, and the name copied.
        let raw = unsafe { raw::LLVMAddGlobalInAddressSpace(self.raw(), ty.raw(), text.as_ptr(), space.number()) };
        Ok(self.global_of(raw))
    }

    fn global_of(&self, raw: raw::LLVMValueRef) -> Global<'_> {
        Global { value: Value::new(raw, Owner::Module(self), self.context()) }
    }

    /// Returns the global variable of this name.
    ///
    /// # Errors
    /// [`Error::Null`] if the name contains a NUL byte.
    #[doc(alias = "LLVMGetNamedGlobal")]
    pub fn global(&self, name: &str) -> Result<Option<Global<'_>>> {
        let text = raw::c_text("a global variable's name", name)?;
        // SAFETY: the module is live, and the name a C string.
        let raw = unsafe { raw::LLVMGetNamedGlobal(self.raw(), text.as_ptr()) };
        Ok((!raw.is_null()).then(|| self.global_of(raw)))
    }

    /// Returns all global variables, in the module's order.
    #[doc(alias = "LLVMGetFirstGlobal")]
    pub fn globals(&self) -> Vec<Global<'_>> {
        // SAFETY: the module is live.
        let mut raw = unsafe { raw::LLVMGetFirstGlobal(self.raw()) };
        let mut all = Vec::new();
        while !raw.is_null() {
            all.push(self.global_of(raw));
            // SAFETY: a global variable of the module.
            raw = unsafe { raw::LLVMGetNextGlobal(raw) };
        }
        all
    }
}

/// A global variable of a [`Module`].
///
/// ```
/// use rocm_llvm::llvm::{AddressSpace, Context};
///
/// # fn main() -> Result<(), rocm_llvm::llvm::Error> {
/// # if rocm_llvm::llvm::Library::load().is_err() { return Ok(()) }
/// let context = Context::new()?;
/// let module = context.module("example")?;
/// let tile = module.add_global("tile", context.f32().array(64)?, AddressSpace::Local)?; // in LDS
/// tile.set_initial_value(tile.content_type().undef()?)?;
/// tile.set_alignment(16)?;
/// assert!(module.to_string().contains("@tile = addrspace(3) global [64 x float] undef, align 16"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Global<'m> {
    value: Value<'m>,
}

impl<'m> Global<'m> {
    pub(super) fn raw(self) -> raw::LLVMValueRef {
        self.value.raw()
    }

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
