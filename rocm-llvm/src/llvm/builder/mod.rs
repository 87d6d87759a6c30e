//! The builder, which appends instructions.

mod arithmetic;
mod calls;
mod control;
mod memory;
mod vectors;

use std::cell::Cell;
use std::ffi::CString;
use std::fmt;

pub use arithmetic::{Cast, FloatPredicate, IntPredicate};
pub use control::Phi;
pub use memory::{Ordering, RmwOperation, Scope};

use super::debug_info::Location;
use super::error::{Error, Result};
use super::function::{BasicBlock, Function};
use super::raw;
use super::types::Type;
use super::value::{Owner, Value};

/// Appends instructions to a block of a function.
///
/// LLVM's own functions assume matching operands: types that do not match are undefined behaviour there. Each method
/// checks its operands first, and returns an error: [`Error::Type`] for a type that does not match, [`Error::Mixed`]
/// for a value of another function, module or context, [`Error::Invalid`] for anything else, such as a block that
/// already has a terminator. Errors that no single instruction shows, such as a value that is used before it is
/// computed, are found by [`Module::verify`](super::Module::verify).
///
/// The last parameter of most methods is the name of the result in the printed IR. It may be empty. If all operands are
/// constants, LLVM returns a constant instead of an instruction.
///
/// ```
/// use rocm_llvm::llvm::{Context, IntPredicate};
///
/// # fn main() -> Result<(), rocm_llvm::llvm::Error> {
/// # if rocm_llvm::llvm::Library::load().is_err() { return Ok(()) }
/// let context = Context::new()?;
/// let module = context.module("example")?;
/// let ty = context.i32();
/// // 0 + 1 + ... + (n - 1), for an n that is not 0.
/// let sum = module.add_function("sum", ty.function(&[ty], false)?)?;
/// let (entry, body, end) = (sum.append_block("entry")?, sum.append_block("body")?, sum.append_block("end")?);
/// let (zero, one) = (ty.const_int(0)?, ty.const_int(1)?);
/// let b = entry.builder();
/// b.br(body)?;
/// b.position_at_end(body)?;
/// let (i, total) = (b.phi(ty, "i")?, b.phi(ty, "total")?);
/// let added = b.add(total.value(), i.value(), "added")?;
/// let next = b.add(i.value(), one, "next")?;
/// i.add_incoming(zero, entry)?;
/// i.add_incoming(next, body)?;
/// total.add_incoming(zero, entry)?;
/// total.add_incoming(added, body)?;
/// b.cond_br(b.icmp(IntPredicate::Ult, next, sum.parameter(0)?, "more")?, body, end)?;
/// b.position_at_end(end)?;
/// b.ret(Some(added))?;
/// module.verify()?;
/// # Ok(())
/// # }
/// ```
pub struct Builder<'m> {
    raw: raw::LLVMBuilderRef,
    block: Cell<BasicBlock<'m>>,
    /// The instruction that it inserts before.
    before: Cell<Option<Value<'m>>>,
}

impl<'m> BasicBlock<'m> {
    /// Returns a builder that appends to this block.
    #[doc(alias = "LLVMCreateBuilderInContext")]
    pub fn builder(self) -> Builder<'m> {
        // SAFETY: the context is live.
        let raw = unsafe { raw::LLVMCreateBuilderInContext(self.function().module().context().raw()) };
        let builder = Builder { raw, block: Cell::new(self), before: Cell::new(None) };
        // SAFETY: both are live, and of one context.
        unsafe { raw::LLVMPositionBuilderAtEnd(builder.raw, self.raw()) };
        builder
    }
}

impl<'m> Builder<'m> {
    pub(super) fn raw(&self) -> raw::LLVMBuilderRef {
        self.raw
    }

    /// Continues at the end of another block of the same function.
    ///
    /// # Errors
    /// [`Error::Mixed`] if the block belongs to another function.
    #[doc(alias = "LLVMPositionBuilderAtEnd")]
    pub fn position_at_end(&self, block: BasicBlock<'m>) -> Result<()> {
        let raw = block.check_in("position_at_end", self.function())?;
        // SAFETY: both are live, and of one context.
        unsafe { raw::LLVMPositionBuilderAtEnd(self.raw, raw) };
        self.block.set(block);
        self.before.set(None);
        Ok(())
    }

    /// Continues before the terminator of a block of the same function.
    ///
    /// # Errors
    /// [`Error::Mixed`] if the block belongs to another function; [`Error::Invalid`] if it has no terminator.
    pub fn position_before_terminator(&self, block: BasicBlock<'m>) -> Result<()> {
        let operation = "position_before_terminator";
        block.check_in(operation, self.function())?;
        let Some(terminator) = block.terminator() else {
            return Err(Error::invalid(operation, format!("block {} has not ended", block.name())));
        };
        self.position_before(terminator)
    }

    /// Continues before an instruction of the same function.
    ///
    /// # Errors
    /// [`Error::Mixed`] if it belongs to another function; [`Error::Invalid`] if it is not an instruction in a block.
    #[doc(alias = "LLVMPositionBuilderBefore")]
    pub fn position_before(&self, instruction: Value<'m>) -> Result<()> {
        let operation = "position_before";
        let raw = self.operand(operation, instruction)?;
        let Some(block) = instruction.block() else {
            return Err(Error::invalid(operation, format!("`{instruction}` is not an instruction in a block")));
        };
        // SAFETY: both are live, and the instruction is in a block.
        unsafe { raw::LLVMPositionBuilderBefore(self.raw, raw) };
        self.block.set(block);
        self.before.set(Some(instruction));
        Ok(())
    }

    /// Returns the block that it appends to.
    pub fn block(&self) -> BasicBlock<'m> {
        self.block.get()
    }

    /// Returns the function of its block.
    pub fn function(&self) -> Function<'m> {
        self.block.get().function()
    }

    /// Sets the source location of the following instructions; `None` for none.
    ///
    /// # Errors
    /// [`Error::Mixed`] if the location belongs to another module.
    #[doc(alias = "LLVMSetCurrentDebugLocation2")]
    pub fn set_location(&self, location: Option<Location<'m>>) -> Result<()> {
        let raw = match location {
            Some(location) => location.check_in("set_location", self.function().module())?,
            None => std::ptr::null_mut(),
        };
        // SAFETY: the builder is live, and the location is null or live, and of the same context.
        unsafe { raw::LLVMSetCurrentDebugLocation2(self.raw, raw) };
        Ok(())
    }

    fn invalid<T>(&self, operation: &'static str, why: impl Into<String>) -> Result<T> {
        Err(Error::invalid(operation, why))
    }

    /// Checks that an instruction can be added here, and prepares its name.
    fn begin(&self, operation: &'static str, name: &str) -> Result<CString> {
        let block = self.block.get();
        block.check_placed(operation)?;
        let before = self.before.get();
        if before.is_some_and(|before| before.block() != Some(block)) {
            return self.invalid(operation, "the instruction to insert before was erased: position the builder again");
        }
        if before.is_none() && block.terminator().is_some() {
            return self.invalid(operation, format!("block {} has ended", block.name()));
        }
        raw::c_text("a value's name", name)
    }

    /// The same for an instruction that ends the block.
    fn begin_terminator(&self, operation: &'static str) -> Result<()> {
        match self.before.get().is_some() {
            true => self.invalid(operation, format!("block {} has ended", self.block.get().name())),
            false => self.begin(operation, "").map(|_| ()),
        }
    }

    fn operand(&self, operation: &'static str, value: Value<'m>) -> Result<raw::LLVMValueRef> {
        self.function().check_operand(operation, value)
    }

    /// Checks two operands of one type.
    fn pair(
        &self,
        operation: &'static str,
        left: Value<'m>,
        right: Value<'m>,
    ) -> Result<(raw::LLVMValueRef, raw::LLVMValueRef, Type<'m>)> {
        let raws = (self.operand(operation, left)?, self.operand(operation, right)?);
        let ty = left.ty();
        match ty == right.ty() {
            true => Ok((raws.0, raws.1, ty)),
            false => Err(Error::of_type(operation, ty, right.ty())),
        }
    }

    fn check_type(&self, operation: &'static str, ty: Type<'m>) -> Result<()> {
        self.function().module().context().same(operation, ty.context())
    }

    /// Wraps the result, which belongs to this function, or is a constant if LLVM made one.
    fn result(&self, raw: raw::LLVMValueRef) -> Value<'m> {
        let value = self.block.get().own(raw);
        match value.is_constant() {
            true => Value::new(raw, Owner::Module(self.function().module()), value.context()),
            false => value,
        }
    }
}

impl fmt::Debug for Builder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("block", &self.block.get()).finish_non_exhaustive()
    }
}

impl Drop for Builder<'_> {
    #[doc(alias = "LLVMDisposeBuilder")]
    fn drop(&mut self) {
        // SAFETY: its context is live, and the builder is not used afterwards.
        unsafe { raw::LLVMDisposeBuilder(self.raw) };
    }
}
