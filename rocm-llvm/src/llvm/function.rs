//! Functions, their attributes and their blocks.

use std::fmt;

use super::attribute::{Attribute, Place};
use super::context::Context;
use super::error::{Error, Mixed, Result};
use super::linkage::Linkage;
use super::module::Module;
use super::raw;
use super::types::{FunctionType, Type};
use super::value::{Owner, Value};

/// A function of a [`Module`].
///
/// ```
/// use rocm_llvm::llvm::{Context, Linkage};
///
/// # fn main() -> Result<(), rocm_llvm::llvm::Error> {
/// # if rocm_llvm::llvm::Library::load().is_err() { return Ok(()) }
/// let context = Context::new()?;
/// let module = context.module("example")?;
/// let ty = context.i32();
/// let twice = module.add_function("twice", ty.function(&[ty], false)?)?;
/// twice.set_linkage(Linkage::Internal);
/// let x = twice.parameter(0)?;
/// x.set_name("x")?;
/// let b = twice.append_block("entry")?.builder();
/// b.ret(Some(b.add(x, x, "sum")?))?;
/// assert!(twice.to_string().contains("define internal i32 @twice(i32 %x)"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct Function<'m> {
    value: Value<'m>,
    module: &'m Module<'m>,
}

/// The calling convention of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallingConvention {
    /// That of C functions: the default, and that of device functions.
    C,
    /// LLVM's fast convention: for functions that only code of the same compiler calls.
    Fast,
    /// By the host: a kernel.
    AmdgpuKernel,
    /// Unknown to this crate, by LLVM's number.
    Other(u32),
}

/// The visibility of a function to the dynamic linker. Clang makes kernels protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Visibility {
    /// Visible, and the dynamic linker may replace it.
    Default,
    /// Not visible.
    Hidden,
    /// Visible, and the dynamic linker does not replace it.
    Protected,
}

impl<'m> Function<'m> {
    pub(super) fn new(value: Value<'m>, module: &'m Module<'m>) -> Self {
        Self { value, module }
    }

    pub(super) fn raw(self) -> raw::LLVMValueRef {
        self.value.raw()
    }

    pub(super) fn module(self) -> &'m Module<'m> {
        self.module
    }

    fn context(self) -> &'m Context {
        self.value.context()
    }

    /// Fails if the value cannot be used in this function.
    pub(super) fn check_operand(self, operation: &'static str, value: Value<'m>) -> Result<raw::LLVMValueRef> {
        self.context().same(operation, value.context())?;
        value.owner().join(operation, Owner::Function(self.module, self.raw()))?;
        if value.is_erased() {
            return Err(Error::invalid(operation, format!("`{value}` was erased")));
        }
        if value.is_inline_assembly() {
            return Err(Error::invalid(operation, "inline assembly is only called: see Builder::call_assembly"));
        }
        Ok(value.raw())
    }

    /// Returns its address as a value.
    pub fn value(self) -> Value<'m> {
        self.value
    }

    /// Returns its name.
    pub fn name(self) -> String {
        self.value.name()
    }

    /// Returns its type.
    #[doc(alias = "LLVMGlobalGetValueType")]
    pub fn function_type(self) -> FunctionType<'m> {
        // SAFETY: the function is live with its module, and its value type is a function type.
        FunctionType::from_raw(unsafe { raw::LLVMGlobalGetValueType(self.raw()) }, self.context())
    }

    /// Returns the parameter at `index`, from 0.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it has fewer.
    #[doc(alias = "LLVMGetParam")]
    pub fn parameter(self, index: usize) -> Result<Value<'m>> {
        // SAFETY: the function is live with its module.
        let count = unsafe { raw::LLVMCountParams(self.raw()) };
        match u32::try_from(index) {
            Ok(index) if index < count => {
                // SAFETY: as above, and the index is below the count.
                let raw = unsafe { raw::LLVMGetParam(self.raw(), index) };
                Ok(self.own(raw))
            }
            _ => Err(Error::invalid(
                "parameter",
                format!("{index}, and the number of parameters of {} is {count}", self.name()),
            )),
        }
    }

    /// Returns all parameters.
    #[doc(alias = "LLVMCountParams")]
    pub fn parameters(self) -> Vec<Value<'m>> {
        // SAFETY: the function is live with its module, and the indices are below the count.
        unsafe { (0..raw::LLVMCountParams(self.raw())).map(|at| self.own(raw::LLVMGetParam(self.raw(), at))).collect() }
    }

    /// Wraps a value that belongs to this function.
    fn own(self, raw: raw::LLVMValueRef) -> Value<'m> {
        Value::new(raw, Owner::Function(self.module, self.raw()), self.context())
    }

    /// Returns whether it has no body.
    #[doc(alias = "LLVMIsDeclaration")]
    pub fn is_declaration(self) -> bool {
        // SAFETY: the function is live with its module.
        unsafe { raw::LLVMIsDeclaration(self.raw()) != 0 }
    }

    /// Returns its calling convention.
    #[doc(alias = "LLVMGetFunctionCallConv")]
    pub fn calling_convention(self) -> CallingConvention {
        // SAFETY: the function is live with its module.
        match unsafe { raw::LLVMGetFunctionCallConv(self.raw()) } {
            0 => CallingConvention::C,
            8 => CallingConvention::Fast,
            91 => CallingConvention::AmdgpuKernel,
            other => CallingConvention::Other(other),
        }
    }

    /// Sets its calling convention. Numbers above 1023, which LLVM does not have, become LLVM's largest number.
    #[doc(alias = "LLVMSetFunctionCallConv")]
    pub fn set_calling_convention(self, convention: CallingConvention) {
        let number = match convention {
            CallingConvention::C => 0,
            CallingConvention::Fast => 8,
            CallingConvention::AmdgpuKernel => 91,
            CallingConvention::Other(number) => number.min(1023),
        };
        // SAFETY: the function is live with its module, and the number fits.
        unsafe { raw::LLVMSetFunctionCallConv(self.raw(), number) };
    }

    /// Sets its linkage.
    #[doc(alias = "LLVMSetLinkage")]
    pub fn set_linkage(self, linkage: Linkage) {
        // SAFETY: the function is live with its module.
        unsafe { raw::LLVMSetLinkage(self.raw(), linkage.raw()) };
    }

    /// Sets its visibility to the dynamic linker. For [`Linkage::Internal`] and [`Linkage::Private`], only
    /// [`Visibility::Default`] is valid.
    #[doc(alias = "LLVMSetVisibility")]
    pub fn set_visibility(self, visibility: Visibility) {
        use rocm_llvm_sys::llvm::*;
        // SAFETY: the function is live with its module.
        let linkage = unsafe { raw::LLVMGetLinkage(self.raw()) };
        let local = linkage == LLVMInternalLinkage || linkage == LLVMPrivateLinkage;
        let visibility = match visibility {
            Visibility::Hidden if !local => LLVMHiddenVisibility,
            Visibility::Protected if !local => LLVMProtectedVisibility,
            _ => LLVMDefaultVisibility,
        };
        // SAFETY: as above.
        unsafe { raw::LLVMSetVisibility(self.raw(), visibility) };
    }

    /// Adds an attribute to the function, its result, or a parameter.
    ///
    /// # Errors
    /// [`Error::Invalid`] if LLVM does not know the attribute, its number is not possible, or there is no such
    /// parameter; [`Error::Mixed`]. [`Module::verify`] reports an attribute that does not fit its place.
    #[doc(alias = "LLVMAddAttributeAtIndex")]
    pub fn add_attribute(self, place: Place, attribute: Attribute<'m>) -> Result<()> {
        let parameters = self.function_type().parameters().len();
        let index = place.index(parameters)?;
        let attribute = attribute.to_raw(self.context())?;
        // SAFETY: the function and the attribute are live, of one context, and the place exists.
        unsafe { raw::LLVMAddAttributeAtIndex(self.raw(), index, attribute) };
        Ok(())
    }

    /// Adds a block at the end. The function starts in the first block.
    ///
    /// # Errors
    /// [`Error::Null`]; [`Error::Invalid`] for an intrinsic, which has no body.
    #[doc(alias = "LLVMAppendBasicBlockInContext")]
    pub fn append_block(self, name: &str) -> Result<BasicBlock<'m>> {
        let text = raw::c_text("a block's name", name)?;
        if self.name().starts_with("llvm.") {
            return Err(Error::invalid("append_block", format!("{} is an intrinsic", self.name())));
        }
        // SAFETY: the context and the function are live, and the name copied.
        let raw = unsafe { raw::LLVMAppendBasicBlockInContext(self.context().raw(), self.raw(), text.as_ptr()) };
        Ok(BasicBlock { raw, function: self })
    }

    /// Returns its blocks.
    #[doc(alias = "LLVMGetBasicBlocks")]
    pub fn blocks(self) -> Vec<BasicBlock<'m>> {
        // SAFETY: the function is live, and the buffer has room for the blocks that LLVM writes.
        let raws = unsafe {
            let mut raws = vec![std::ptr::null_mut(); raw::LLVMCountBasicBlocks(self.raw()) as usize];
            raw::LLVMGetBasicBlocks(self.raw(), raws.as_mut_ptr());
            raws
        };
        raws.into_iter().map(|raw| BasicBlock { raw, function: self }).collect()
    }
}

impl PartialEq for Function<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl Eq for Function<'_> {}

/// Prints it in LLVM's text form.
impl fmt::Display for Function<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl fmt::Debug for Function<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({})", self.name())
    }
}

/// A block of a [`Function`]: a sequence of instructions, the last of which determines where to continue.
#[derive(Clone, Copy)]
pub struct BasicBlock<'m> {
    raw: raw::LLVMBasicBlockRef,
    function: Function<'m>,
}

impl<'m> BasicBlock<'m> {
    pub(super) fn new(raw: raw::LLVMBasicBlockRef, function: Function<'m>) -> Self {
        Self { raw, function }
    }

    pub(super) fn raw(self) -> raw::LLVMBasicBlockRef {
        self.raw
    }

    /// Returns its function.
    pub fn function(self) -> Function<'m> {
        self.function
    }

    /// Returns its name.
    #[doc(alias = "LLVMGetBasicBlockName")]
    pub fn name(self) -> String {
        // SAFETY: the block is live with its module, and its name a C string.
        unsafe { std::ffi::CStr::from_ptr(raw::LLVMGetBasicBlockName(self.raw)) }.to_string_lossy().into_owned()
    }

    /// Returns its instructions.
    #[doc(alias = "LLVMGetFirstInstruction")]
    pub fn instructions(self) -> Vec<Value<'m>> {
        // SAFETY: the block is live with its module.
        let mut raw = unsafe { raw::LLVMGetFirstInstruction(self.raw) };
        let mut all = Vec::new();
        while !raw.is_null() {
            all.push(self.function.own(raw));
            // SAFETY: an instruction of the block.
            raw = unsafe { raw::LLVMGetNextInstruction(raw) };
        }
        all
    }

    /// Returns its last instruction if that is a terminator: a branch, a return or such.
    #[doc(alias = "LLVMGetBasicBlockTerminator")]
    pub fn terminator(self) -> Option<Value<'m>> {
        // SAFETY: the block is live with its module.
        let raw = unsafe { raw::LLVMGetBasicBlockTerminator(self.raw) };
        (!raw.is_null()).then(|| self.function.own(raw))
    }

    /// Fails if a branch of `function` cannot target this block.
    pub(super) fn check_in(self, operation: &'static str, function: Function<'m>) -> Result<raw::LLVMBasicBlockRef> {
        function.context().same(operation, self.function.context())?;
        match (std::ptr::eq(function.module, self.function.module), function == self.function) {
            (_, true) => self.check_placed(operation).map(|()| self.raw),
            (true, false) => Err(Error::Mixed { operation, other: Mixed::Function }),
            (false, false) => Err(Error::Mixed { operation, other: Mixed::Module }),
        }
    }

    pub(super) fn own(self, raw: raw::LLVMValueRef) -> Value<'m> {
        self.function.own(raw)
    }
}

impl PartialEq for BasicBlock<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}

impl Eq for BasicBlock<'_> {}

impl fmt::Debug for BasicBlock<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BasicBlock({} of {})", self.name(), self.function.name())
    }
}

impl<'m> Type<'m> {
    /// Returns whether a function without a result has this result type.
    pub(super) fn is_void(self) -> bool {
        self.kind() == super::TypeKind::Void
    }
}
