//! Changes code: erases and moves instructions and blocks, replaces values.
//!
//! Handles are `Copy`, so one to an erased instruction or block can remain. Erasing therefore only takes it out of its
//! block or function. The module keeps it, without operands, until nothing can refer to it: until the module is
//! dropped, or an operation takes it by `&mut`.

use super::error::{Error, Result};
use super::function::BasicBlock;
use super::instruction::{users_of, wrap};
use super::module::Module;
use super::opcode::{Class, Opcode};
use super::raw;
use super::types::{Type, TypeKind};
use super::value::{Owner, Value};

/// Takes an instruction out of its block. Nothing uses it.
fn unlink(module: &Module<'_>, raw: raw::LLVMValueRef) {
    let mut erased = module.erased.borrow_mut();
    // SAFETY: the instruction is live and in a block. Its operands are replaced by values of their types: uses by an instruction without
    // a block are not valid. Constant integers stay, since some operands must be ones.
    unsafe {
        let function = raw::LLVMGetBasicBlockParent(raw::LLVMGetInstructionParent(raw));
        raw::LLVMInstructionRemoveFromParent(raw);
        for at in 0..raw::LLVMGetNumOperands(raw).unsigned_abs() {
            let operand = raw::LLVMGetOperand(raw, at);
            if operand.is_null() {
                continue;
            }
            if raw::LLVMValueIsBasicBlock(operand) != 0 {
                let make = || raw::LLVMCreateBasicBlockInContext(module.context().raw(), c"".as_ptr());
                let (sink, _) = *erased.sink.get_or_insert_with(|| (make(), function));
                raw::LLVMSetOperand(raw, at, raw::LLVMBasicBlockAsValue(sink));
                continue;
            }
            let ty = raw::LLVMTypeOf(operand);
            let stays = !raw::LLVMIsAConstantInt(operand).is_null() || !raw::LLVMIsAInlineAsm(operand).is_null();
            if !stays && Type::from_raw(ty, module.context()).kind() != TypeKind::Metadata {
                raw::LLVMSetOperand(raw, at, raw::LLVMGetPoison(ty));
            }
        }
    }
    erased.instructions.push(raw);
}

/// Replaces what metadata says about a value that goes away.
fn forget(raw: raw::LLVMValueRef, module: &Module<'_>) {
    // SAFETY: the value is live, and poison of its type can replace it.
    unsafe {
        let ty = raw::LLVMTypeOf(raw);
        if Type::from_raw(ty, module.context()).is_sized() {
            raw::LLVMReplaceAllUsesWith(raw, raw::LLVMGetPoison(ty));
        }
    }
}

impl<'m> Value<'m> {
    /// Takes an instruction out of its function. Replace its uses first
    /// ([`replace_all_uses`](Self::replace_all_uses)).
    ///
    /// Handles to it stay valid and can be printed, but are rejected as operands. LLVM frees it with the module, or in
    /// the next operation that takes the module by `&mut`.
    ///
    /// ```
    /// use rocm_llvm::llvm::Context;
    ///
    /// # fn main() -> Result<(), rocm_llvm::llvm::Error> {
    /// # if rocm_llvm::llvm::Library::load().is_err() { return Ok(()) }
    /// let context = Context::new()?;
    /// let text = "define i32 @f(i32 %a) {\n %b = add i32 %a, 0\n ret i32 %b\n}\n";
    /// let module = context.parse_ir("f.ll", text)?;
    /// let function = module.function("f")?.expect("it is there");
    /// let add = function.blocks()[0].instructions()[0];
    /// assert!(add.erase().is_err()); // `ret` uses it
    /// add.replace_all_uses(function.parameter(0)?)?;
    /// add.erase()?;
    /// assert!(add.is_erased());
    /// assert!(module.to_string().contains("ret i32 %a"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is not an instruction in a block, or still used.
    #[doc(alias("LLVMInstructionEraseFromParent", "LLVMInstructionRemoveFromParent", "LLVMDeleteInstruction"))]
    pub fn erase(self) -> Result<()> {
        let operation = "erase";
        let Some(module) = self.module().filter(|_| self.is_instruction()) else {
            return Err(Error::invalid(operation, format!("`{self}` is not an instruction in a block")));
        };
        if let Some(user) = users_of(self.raw()).into_iter().find(|user| *user != self.raw()) {
            return Err(Error::invalid(operation, format!("`{}` uses `{self}`", wrap(user, module))));
        }
        forget(self.raw(), module);
        unlink(module, self.raw());
        Ok(())
    }

    /// Returns whether it is an instruction that was erased.
    pub fn is_erased(self) -> bool {
        super::instruction::is_erased(self.raw())
    }

    /// Makes all users of an instruction or a parameter use another value. For functions and global variables, see
    /// [`Module::replace_symbol`].
    ///
    /// # Errors
    /// [`Error::Invalid`] for other values, for those without a result, and if one was erased; [`Error::Type`] if the
    /// types differ; [`Error::Mixed`].
    #[doc(alias = "LLVMReplaceAllUsesWith")]
    pub fn replace_all_uses(self, with: Value<'m>) -> Result<()> {
        let operation = "replace_all_uses";
        let function = self.function().filter(|_| matches!(self.owner(), Owner::Function(..)) && self.is_of_module());
        let Some(function) = function.filter(|_| self.ty().is_sized() && !self.is_erased()) else {
            return Err(Error::invalid(
                operation,
                format!("`{self}` is not an instruction with a result, or a parameter"),
            ));
        };
        let raw = function.check_operand(operation, with)?;
        if self.ty() != with.ty() {
            return Err(Error::of_type(operation, self.ty(), with.ty()));
        }
        if self != with {
            // SAFETY: both are live, of one type and one function. Constants do not contain such a value.
            unsafe { raw::LLVMReplaceAllUsesWith(self.raw(), raw) };
        }
        Ok(())
    }

    /// Replaces one operand of an instruction by a value of the same type.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is not an instruction in a block, has no such operand, or it is a block or a case of a
    /// `switch`; [`Error::Type`]; [`Error::Mixed`].
    #[doc(alias = "LLVMSetOperand")]
    pub fn set_operand(self, index: usize, value: Value<'m>) -> Result<()> {
        let operation = "set_operand";
        let operands = if self.is_instruction() { self.operands() } else { Vec::new() };
        let old = operands.get(index).and_then(|operand| operand.value());
        let is_case = self.opcode() == Some(Opcode::Switch) && index > 0;
        let (Some(old), Some(function), false) = (old, self.function(), is_case) else {
            return Err(Error::invalid(operation, format!("`{self}` has no operand {index} that can be replaced")));
        };
        let raw = function.check_operand(operation, value)?;
        if old.ty() != value.ty() {
            return Err(Error::of_type(operation, old.ty(), value.ty()));
        }
        if !old.ty().is_sized() {
            return Err(Error::of_type(operation, "a type with a size", old.ty()));
        }
        // Fits: it is below the number of operands.
        // SAFETY: both are live, of one function, and the operand has the type of the old one.
        unsafe { raw::LLVMSetOperand(self.raw(), index as u32, raw) };
        Ok(())
    }
}

impl<'m> BasicBlock<'m> {
    /// Takes the block with all its instructions out of its function.
    ///
    /// As for [`Value::erase`], handles stay valid, and are rejected as targets and by builders.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a branch or phi node names the block, code outside of it uses its values, or it was erased
    /// before.
    #[doc(alias("LLVMRemoveBasicBlockFromParent", "LLVMDeleteBasicBlock"))]
    pub fn erase(self) -> Result<()> {
        let operation = "erase";
        self.check_placed(operation)?;
        let module = self.function().module();
        let instructions = self.instructions();
        let inside = |user: raw::LLVMValueRef| instructions.iter().any(|instruction| instruction.raw() == user);
        // SAFETY: the block is live.
        let as_value = unsafe { raw::LLVMBasicBlockAsValue(self.raw()) };
        let used = instructions.iter().map(|instruction| instruction.raw()).chain([as_value]);
        if let Some(user) = used.flat_map(users_of).find(|user| !inside(*user)) {
            return Err(Error::invalid(operation, format!("`{}` uses block {}", wrap(user, module), self.name())));
        }
        let others = self.function().blocks().into_iter().filter(|block| *block != self);
        for phi in others.flat_map(BasicBlock::instructions) {
            if phi.incoming().iter().any(|(_, from)| *from == self) {
                return Err(Error::invalid(operation, format!("`{phi}` names block {}", self.name())));
            }
        }
        for instruction in instructions.iter().rev() {
            forget(instruction.raw(), module);
            unlink(module, instruction.raw());
        }
        // SAFETY: the block is in its function, and nothing uses it.
        unsafe { raw::LLVMRemoveBasicBlockFromParent(self.raw()) };
        module.erased.borrow_mut().blocks.push((self.raw(), self.function().raw()));
        Ok(())
    }

    /// Returns whether it was erased.
    pub fn is_erased(self) -> bool {
        // SAFETY: the block is live: erased blocks are freed with their module.
        unsafe { raw::LLVMGetBasicBlockParent(self.raw()).is_null() }
    }

    pub(super) fn check_placed(self, operation: &'static str) -> Result<()> {
        match self.is_erased() {
            true => Err(Error::invalid(operation, format!("block {} was erased", self.name()))),
            false => Ok(()),
        }
    }

    /// Adds a block before this one.
    ///
    /// # Errors
    /// [`Error::Null`]; [`Error::Invalid`] if this block was erased.
    #[doc(alias = "LLVMInsertBasicBlockInContext")]
    pub fn insert_block_before(self, name: &str) -> Result<BasicBlock<'m>> {
        self.check_placed("insert_block_before")?;
        let text = raw::c_text("a block's name", name)?;
        let context = self.function().module().context().raw();
        // SAFETY: the context and the block are live, the block is in a function, and the name is copied.
        let raw = unsafe { raw::LLVMInsertBasicBlockInContext(context, self.raw(), text.as_ptr()) };
        Ok(BasicBlock::new(raw, self.function()))
    }

    /// Moves the block before another one of its function.
    ///
    /// # Errors
    /// [`Error::Mixed`]; [`Error::Invalid`] if one of them was erased.
    #[doc(alias = "LLVMMoveBasicBlockBefore")]
    pub fn move_before(self, other: BasicBlock<'m>) -> Result<()> {
        self.check_placed("move_before")?;
        let raw = other.check_in("move_before", self.function())?;
        if self != other {
            // SAFETY: both are live, and in one function.
            unsafe { raw::LLVMMoveBasicBlockBefore(self.raw(), raw) };
        }
        Ok(())
    }

    /// Moves the block after another one of its function.
    ///
    /// # Errors
    /// [`Error::Mixed`]; [`Error::Invalid`] if one of them was erased.
    #[doc(alias = "LLVMMoveBasicBlockAfter")]
    pub fn move_after(self, other: BasicBlock<'m>) -> Result<()> {
        self.check_placed("move_after")?;
        let raw = other.check_in("move_after", self.function())?;
        if self != other {
            // SAFETY: both are live, and in one function.
            unsafe { raw::LLVMMoveBasicBlockAfter(self.raw(), raw) };
        }
        Ok(())
    }
}

impl Module<'_> {
    /// Deletes a function. Takes the module by `&mut`, so no handle to it is left.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the module does not have it, or it is used; [`Error::Null`].
    #[doc(alias = "LLVMDeleteFunction")]
    pub fn erase_function(&mut self, name: &str) -> Result<()> {
        let found = self.function(name)?.map(|function| function.raw());
        let raw = self.unused("erase_function", name, found)?;
        // SAFETY: the function is live, and nothing uses it.
        unsafe { raw::LLVMDeleteFunction(raw) };
        Ok(())
    }

    /// Deletes a global variable. Takes the module by `&mut`, so no handle to it is left.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the module does not have it, or it is used; [`Error::Null`].
    #[doc(alias = "LLVMDeleteGlobal")]
    pub fn erase_global(&mut self, name: &str) -> Result<()> {
        let found = self.global(name)?.map(|global| global.value().raw());
        let raw = self.unused("erase_global", name, found)?;
        // SAFETY: the variable is live, and nothing uses it.
        unsafe { raw::LLVMDeleteGlobal(raw) };
        Ok(())
    }

    /// Makes all users of a function or global variable use another one. Takes the module by `&mut`, since constants
    /// that contain the old one are freed.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the module does not have one of them, or a constant of a kind that cannot change uses the
    /// old one; [`Error::Type`] if their address spaces differ; [`Error::Null`].
    pub fn replace_symbol(&mut self, old: &str, new: &str) -> Result<()> {
        let operation = "replace_symbol";
        let find = |name: &str| {
            let function = self.function(name)?.map(|function| function.value());
            let found = function.or(self.global(name)?.map(|global| global.value()));
            found.ok_or_else(|| Error::invalid(operation, format!("the module has no {name}")))
        };
        let (old, new) = (find(old)?, find(new)?);
        if old.ty() != new.ty() {
            return Err(Error::of_type(operation, old.ty(), new.ty()));
        }
        let changes = [
            Class::Instruction,
            Class::ConstantExpr,
            Class::ConstantArray,
            Class::ConstantStruct,
            Class::ConstantVector,
            Class::GlobalValue,
        ];
        if let Some(user) = old.users().into_iter().find(|user| !changes.iter().any(|class| user.is_a(*class))) {
            return Err(Error::invalid(operation, format!("`{user}` cannot change")));
        }
        if old != new {
            // SAFETY: both are live globals of this module, and of one type. No handle to a constant is left.
            unsafe { raw::LLVMReplaceAllUsesWith(old.raw(), new.raw()) };
        }
        Ok(())
    }

    fn unused(
        &self,
        operation: &'static str,
        name: &str,
        found: Option<raw::LLVMValueRef>,
    ) -> Result<raw::LLVMValueRef> {
        let raw = found.ok_or_else(|| Error::invalid(operation, format!("the module has no {name}")))?;
        self.erased.take().free();
        if let Some(user) = users_of(raw).first() {
            return Err(Error::invalid(operation, format!("`{}` uses {name}", wrap(*user, self))));
        }
        Ok(raw)
    }
}
