//! Calls.

use super::{Builder, Error, Result, Value, raw};
use crate::llvm::attribute::{Attribute, Place};
use crate::llvm::function::Function;
use crate::llvm::types::{FunctionType, TypeKind};

impl<'m> Builder<'m> {
    /// Calls a function or an intrinsic of the same module, with the function's calling convention. The returned value
    /// of a function without a result cannot be used.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the number of arguments differs, or the function is a kernel; [`Error::Type`] if the type
    /// of an argument differs; [`Error::Mixed`] if the function belongs to another module; see [`Builder`].
    #[doc(alias = "LLVMBuildCall2")]
    pub fn call(&self, function: Function<'m>, arguments: &[Value<'m>], name: &str) -> Result<Value<'m>> {
        use crate::llvm::CallingConvention;
        let convention = function.calling_convention();
        if convention == CallingConvention::AmdgpuKernel {
            return self.invalid("call", format!("{} is a kernel: the host launches it", function.name()));
        }
        let callee = self.operand("call", function.value())?;
        let call = self.call_as(function.function_type(), callee, arguments, name)?;
        if convention != CallingConvention::C {
            // SAFETY: both are live, the first is a call.
            unsafe {
                let number = raw::LLVMGetFunctionCallConv(function.raw());
                raw::LLVMSetInstructionCallConv(call.raw(), number);
            }
        }
        Ok(call)
    }

    /// Calls the function of this type that a pointer points to.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the number of arguments differs; [`Error::Type`] if `pointer` is not a pointer, or the
    /// type of an argument differs; see [`Builder`].
    pub fn call_pointer(
        &self,
        ty: FunctionType<'m>,
        pointer: Value<'m>,
        arguments: &[Value<'m>],
        name: &str,
    ) -> Result<Value<'m>> {
        let TypeKind::Pointer(_) = pointer.ty().kind() else {
            return Err(Error::of_type("call", "a pointer to a function", pointer.ty()));
        };
        let callee = self.operand("call", pointer)?;
        self.call_as(ty, callee, arguments, name)
    }

    /// Calls `callee`, which is of this module or of the context.
    pub(in crate::llvm) fn call_as(
        &self,
        ty: FunctionType<'m>,
        callee: raw::LLVMValueRef,
        arguments: &[Value<'m>],
        name: &str,
    ) -> Result<Value<'m>> {
        let operation = "call";
        let name = self.begin(operation, if ty.result().is_void() { "" } else { name })?;
        self.function().module().context().same(operation, ty.context())?;
        let parameters = ty.parameters();
        let (given, wanted) = (arguments.len(), parameters.len());
        if given < wanted || (given > wanted && !ty.is_variadic()) {
            return self.invalid(
                operation,
                format!("the number of arguments is {given}, that of the parameters of {ty} is {wanted}"),
            );
        }
        let mut raws = Vec::with_capacity(given);
        for (at, argument) in arguments.iter().enumerate() {
            raws.push(self.operand(operation, *argument)?);
            match parameters.get(at) {
                Some(parameter) if *parameter != argument.ty() => {
                    return Err(Error::of_type(operation, format!("{parameter} as argument {at}"), argument.ty()));
                }
                Some(_) => {}
                None => argument.ty().check_element(operation)?,
            }
        }
        // SAFETY: all are live and of one module, and the arguments match the type's parameters.
        let raw = unsafe {
            let count = raws.len() as u32;
            raw::LLVMBuildCall2(self.raw, ty.raw(), callee, raws.as_mut_ptr(), count, name.as_ptr())
        };
        Ok(self.result(raw))
    }

    /// Adds an attribute to a call, its result or an argument.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `call` is not a call, or the attribute is not possible; [`Error::Mixed`].
    #[doc(alias = "LLVMAddCallSiteAttribute")]
    pub fn add_call_attribute(&self, call: Value<'m>, place: Place, attribute: Attribute<'m>) -> Result<()> {
        let operation = "add_call_attribute";
        let raw = self.operand(operation, call)?;
        // SAFETY: the value is live.
        if unsafe { raw::LLVMIsACallInst(raw).is_null() } {
            return self.invalid(operation, format!("`{call}` is not a call"));
        }
        // SAFETY: a call, which is live.
        let arguments = unsafe { raw::LLVMGetNumArgOperands(raw) } as usize;
        let index = place.index(arguments)?;
        let attribute = attribute.to_raw(call.context())?;
        // SAFETY: both are live and of one context, and the place exists.
        unsafe { raw::LLVMAddCallSiteAttribute(raw, index, attribute) };
        Ok(())
    }
}
