//! The functions of modules.

use std::ffi::CString;

use super::error::{Error, Result};
use super::function::{CallingConvention, Function};
use super::library::Library;
use super::module::Module;
use super::raw;
use super::types::{FunctionType, Type, TypeKind};
use super::value::{Owner, Value};

impl<'c> Module<'c> {
    /// Adds a function without a body: [`Function::append_block`] starts one.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the module already has the name, or it is reserved (`llvm.*`) or empty; [`Error::Mixed`].
    #[doc(alias = "LLVMAddFunction")]
    pub fn add_function(&self, name: &str, ty: FunctionType<'c>) -> Result<Function<'_>> {
        self.context().same("add_function", ty.context())?;
        let text = self.free_name("add_function", name)?;
        if ty.parameters().iter().any(|parameter| parameter.kind() == TypeKind::Metadata) {
            return Err(Error::of_type("add_function", "no parameter of type metadata", ty));
        }
        // SAFETY: the module and the type are live, of one context, and the name copied.
        let raw = unsafe { raw::LLVMAddFunction(self.raw(), text.as_ptr(), ty.raw()) };
        Ok(self.function_of(raw))
    }

    /// Adds a kernel: a function without a result that the host launches.
    ///
    /// # Errors
    /// Those of [`add_function`](Self::add_function).
    pub fn add_kernel(&self, name: &str, parameters: &[Type<'c>]) -> Result<Function<'_>> {
        let function = self.add_function(name, self.context().void().function(parameters, false)?)?;
        function.set_calling_convention(CallingConvention::AmdgpuKernel);
        Ok(function)
    }

    /// Returns the intrinsic of this name, such as `llvm.amdgcn.workitem.id.x`, and declares it if necessary. Only for
    /// intrinsics with one signature; see [`intrinsic_of`](Self::intrinsic_of).
    ///
    /// # Errors
    /// [`Error::UnknownIntrinsic`]; [`Error::Invalid`] if the intrinsic exists for several types.
    #[doc(alias = "LLVMLookupIntrinsicID")]
    #[doc(alias = "LLVMIntrinsicIsOverloaded")]
    #[doc(alias = "LLVMGetIntrinsicDeclaration")]
    pub fn intrinsic(&self, name: &str) -> Result<Function<'_>> {
        let id = intrinsic_id(name)?;
        // SAFETY: the number is that of an intrinsic.
        if unsafe { raw::LLVMIntrinsicIsOverloaded(id) } != 0 {
            let why = format!("{name} exists for several types: use intrinsic_of with the full name and the type");
            return Err(Error::invalid("intrinsic", why));
        }
        self.check_intrinsic("intrinsic", name)?;
        // SAFETY: the module is live, and an intrinsic that is not overloaded takes no types.
        let raw = unsafe { raw::LLVMGetIntrinsicDeclaration(self.raw(), id, std::ptr::null_mut(), 0) };
        Ok(self.function_of(raw))
    }

    /// Returns the intrinsic of this full name and type, such as `llvm.fma.f32` of `float (float, float, float)`, and
    /// declares it if necessary. [`verify`](Self::verify) reports a wrong type.
    ///
    /// # Errors
    /// [`Error::UnknownIntrinsic`]; [`Error::Type`] if the module has it with another type; [`Error::Mixed`].
    pub fn intrinsic_of(&self, name: &str, ty: FunctionType<'c>) -> Result<Function<'_>> {
        let operation = "intrinsic_of";
        self.context().same(operation, ty.context())?;
        intrinsic_id(name)?;
        if let Some(function) = self.function(name)? {
            return match function.function_type() == ty {
                true => Ok(function),
                false => Err(Error::of_type(operation, function.function_type(), ty)),
            };
        }
        let text = self.check_intrinsic(operation, name)?;
        // SAFETY: the module and the type are live, of one context, and the name copied.
        Ok(self.function_of(unsafe { raw::LLVMAddFunction(self.raw(), text.as_ptr(), ty.raw()) }))
    }

    /// Returns the function of this name.
    ///
    /// # Errors
    /// [`Error::Null`] if the name contains a NUL byte.
    #[doc(alias = "LLVMGetNamedFunction")]
    pub fn function(&self, name: &str) -> Result<Option<Function<'_>>> {
        let text = raw::c_text("a function's name", name)?;
        // SAFETY: the module is live, and the name a C string.
        let raw = unsafe { raw::LLVMGetNamedFunction(self.raw(), text.as_ptr()) };
        Ok((!raw.is_null()).then(|| self.function_of(raw)))
    }

    /// Returns all functions, in the module's order.
    #[doc(alias = "LLVMGetFirstFunction")]
    pub fn functions(&self) -> Vec<Function<'_>> {
        // SAFETY: the module is live.
        let mut raw = unsafe { raw::LLVMGetFirstFunction(self.raw()) };
        let mut all = Vec::new();
        while !raw.is_null() {
            all.push(self.function_of(raw));
            // SAFETY: a function of the module.
            raw = unsafe { raw::LLVMGetNextFunction(raw) };
        }
        all
    }

    fn function_of(&self, raw: raw::LLVMValueRef) -> Function<'_> {
        Function::new(Value::new(raw, Owner::Module(self), self.context()), self)
    }

    /// Fails if this module uses an intrinsic's name for something else: LLVM would treat it as a function.
    fn check_intrinsic(&self, operation: &'static str, name: &str) -> Result<CString> {
        let text = raw::c_text("an intrinsic's name", name)?;
        match self.has_other(&text) {
            false => Ok(text),
            true => Err(Error::invalid(operation, format!("{name} is not a function in this module"))),
        }
    }
}

fn intrinsic_id(name: &str) -> Result<u32> {
    let unknown = || {
        let library = Library::load()?;
        Err(Error::UnknownIntrinsic { name: name.to_owned(), library: library.path(), version: library.version() })
    };
    if !name.starts_with("llvm.") {
        return unknown();
    }
    // SAFETY: the text is valid for its length.
    match unsafe { raw::LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len()) } {
        0 => unknown(),
        id => Ok(id),
    }
}
