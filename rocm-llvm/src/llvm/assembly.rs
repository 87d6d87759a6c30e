//! Assembly within functions.

use super::builder::Builder;
use super::error::{Error, Result};
use super::raw;
use super::types::FunctionType;
use super::value::Value;

/// The syntax of [`InlineAssembly`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Dialect {
    /// AT&T's, and that of targets with one syntax, such as AMD GPUs.
    #[default]
    Att,
    /// Intel's, of x86.
    Intel,
}

/// Assembly that is called like a function, see [`FunctionType::inline_assembly`].
#[derive(Debug, Clone, Copy)]
pub struct InlineAssembly<'c> {
    raw: raw::LLVMValueRef,
    ty: FunctionType<'c>,
}

impl InlineAssembly<'_> {
    pub(super) fn raw(self) -> raw::LLVMValueRef {
        self.raw
    }
}

impl<'c> FunctionType<'c> {
    /// Returns assembly with this type: its operands are the arguments, its outputs the result. The constraints are
    /// LLVM's: `=v,v` for a vector register made of another one. `side_effects` keeps it though the result is not used.
    ///
    /// ```
    /// use rocm_llvm::llvm::{Context, Dialect};
    ///
    /// # fn main() -> Result<(), rocm_llvm::llvm::Error> {
    /// # if rocm_llvm::llvm::Library::load().is_err() { return Ok(()) }
    /// let context = Context::new()?;
    /// let i32 = context.i32();
    /// let ty = i32.function(&[i32], false)?;
    /// let not = ty.inline_assembly("v_not_b32 $0, $1", "=v,v", false, Dialect::Att)?;
    /// assert!(ty.inline_assembly("nop", "=v,v,v", false, Dialect::Att).is_err()); // one operand too many
    ///
    /// let module = context.module("asm")?;
    /// let function = module.add_function("f", ty)?;
    /// let builder = function.append_block("entry")?.builder();
    /// builder.ret(Some(builder.call_assembly(not, &[function.parameter(0)?], "")?))?;
    /// module.verify()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if the constraints are not valid, or do not fit the type; named structures are not supported.
    #[doc(alias = "LLVMGetInlineAsm")]
    pub fn inline_assembly(
        self,
        text: &str,
        constraints: &str,
        side_effects: bool,
        dialect: Dialect,
    ) -> Result<InlineAssembly<'c>> {
        let operation = "inline_assembly";
        if self.is_variadic() {
            return Err(Error::of_type(operation, "a type without variadic arguments", self));
        }
        let is_plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\');
        if !constraints.chars().all(is_plain) {
            return Err(Error::invalid(operation, format!("`{constraints}` are not constraints")));
        }
        // LLVM's own constructor does not report constraints that are wrong. The parser of IR checks them.
        let parameters: Vec<_> =
            self.parameters().iter().enumerate().map(|(at, parameter)| format!("{parameter} %a{at}")).collect();
        let parameters = parameters.join(", ");
        let result = self.result();
        let probe = format!(
            "define void @f({parameters}) {{\n call {result} asm \"\", \"{constraints}\"({parameters})\n ret void\n}}\n"
        );
        self.context()
            .parse_ir("constraints", &probe)
            .map_err(|error| Error::invalid(operation, format!("`{constraints}` for {self}: {error}")))?;
        let dialect = match dialect {
            Dialect::Att => rocm_llvm_sys::llvm::LLVMInlineAsmDialectATT,
            Dialect::Intel => rocm_llvm_sys::llvm::LLVMInlineAsmDialectIntel,
        };
        let (code, code_length) = (text.as_ptr().cast(), text.len());
        let (list, list_length) = (constraints.as_ptr().cast(), constraints.len());
        // SAFETY: the type is live, the constraints fit it, and both texts are valid for their lengths and copied.
        let raw = unsafe {
            raw::LLVMGetInlineAsm(
                self.raw(),
                code,
                code_length,
                list,
                list_length,
                raw::flag(side_effects),
                0,
                dialect,
                0,
            )
        };
        Ok(InlineAssembly { raw, ty: self })
    }
}

impl<'m> Builder<'m> {
    /// Calls assembly.
    ///
    /// # Errors
    /// Those of [`call_pointer`](Self::call_pointer).
    pub fn call_assembly(
        &self,
        assembly: InlineAssembly<'m>,
        arguments: &[Value<'m>],
        name: &str,
    ) -> Result<Value<'m>> {
        self.call_as(assembly.ty, assembly.raw, arguments, name)
    }
}
