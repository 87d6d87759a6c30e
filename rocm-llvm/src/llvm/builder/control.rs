//! Control flow: branches, returns, phi nodes.

use std::fmt;

use super::{Builder, Error, Result, Type, Value, raw};
use crate::llvm::function::BasicBlock;
use crate::llvm::types::TypeKind;

impl<'m> Builder<'m> {
    fn target(&self, operation: &'static str, block: BasicBlock<'m>) -> Result<raw::LLVMBasicBlockRef> {
        block.check_in(operation, self.function())
    }

    /// Continues in another block.
    ///
    /// # Errors
    /// [`Error::Mixed`] if the block belongs to another function; see [`Builder`].
    #[doc(alias = "LLVMBuildBr")]
    pub fn br(&self, to: BasicBlock<'m>) -> Result<Value<'m>> {
        self.begin_terminator("br")?;
        let to = self.target("br", to)?;
        // SAFETY: both are live, and of one function.
        Ok(self.result(unsafe { raw::LLVMBuildBr(self.raw, to) }))
    }

    /// Continues in one of two blocks.
    ///
    /// # Errors
    /// [`Error::Type`] if the condition is not an `i1`; [`Error::Mixed`] if a block belongs to another function; see
    /// [`Builder`].
    #[doc(alias = "LLVMBuildCondBr")]
    pub fn cond_br(&self, condition: Value<'m>, yes: BasicBlock<'m>, no: BasicBlock<'m>) -> Result<Value<'m>> {
        self.begin_terminator("cond_br")?;
        let raw = self.operand("cond_br", condition)?;
        if condition.ty().kind() != TypeKind::Int(1) {
            return Err(Error::of_type("cond_br", "an i1", condition.ty()));
        }
        let (yes, no) = (self.target("cond_br", yes)?, self.target("cond_br", no)?);
        // SAFETY: all are live and of one function, and the condition is an i1.
        Ok(self.result(unsafe { raw::LLVMBuildCondBr(self.raw, raw, yes, no) }))
    }

    /// Continues in the block of the case that `value` equals, otherwise in `otherwise`.
    ///
    /// # Errors
    /// [`Error::Type`] if `value` is not an integer, or a case not of its type; [`Error::Invalid`] if a case is not a
    /// constant, or occurs twice; [`Error::Mixed`] if a block belongs to another function; see [`Builder`].
    #[doc(alias = "LLVMBuildSwitch")]
    #[doc(alias = "LLVMAddCase")]
    pub fn switch(
        &self,
        value: Value<'m>,
        otherwise: BasicBlock<'m>,
        cases: &[(Value<'m>, BasicBlock<'m>)],
    ) -> Result<Value<'m>> {
        let operation = "switch";
        self.begin_terminator(operation)?;
        let raw = self.operand(operation, value)?;
        let TypeKind::Int(_) = value.ty().kind() else {
            return Err(Error::of_type(operation, "an integer", value.ty()));
        };
        let otherwise = self.target(operation, otherwise)?;
        let mut raws = Vec::with_capacity(cases.len());
        let mut seen = std::collections::HashSet::new();
        for (case, block) in cases {
            let case_raw = self.operand(operation, *case)?;
            if case.ty() != value.ty() {
                return Err(Error::of_type(operation, value.ty(), case.ty()));
            }
            // SAFETY: the value is live. Equal constants of one context are the same value.
            if unsafe { raw::LLVMIsAConstantInt(case_raw).is_null() } || !seen.insert(case_raw.addr()) {
                return self.invalid(operation, format!("`{case}` is not a constant integer, or there twice"));
            }
            raws.push((case_raw, self.target(operation, *block)?));
        }
        // SAFETY: all are live and of one function; the cases are distinct constants of the value's type.
        let switch = unsafe {
            let switch = raw::LLVMBuildSwitch(self.raw, raw, otherwise, raws.len() as u32);
            raws.iter().for_each(|(case, block)| raw::LLVMAddCase(switch, *case, *block));
            switch
        };
        Ok(self.result(switch))
    }

    /// Returns a value from the function; `None` from one without a result.
    ///
    /// # Errors
    /// [`Error::Type`] if it is not of the function's result type; see [`Builder`].
    #[doc(alias = "LLVMBuildRet")]
    #[doc(alias = "LLVMBuildRetVoid")]
    pub fn ret(&self, value: Option<Value<'m>>) -> Result<Value<'m>> {
        self.begin_terminator("ret")?;
        let expected = self.function().function_type().result();
        let operand = value.map(|value| self.operand("ret", value)).transpose()?;
        let raw = match value.zip(operand) {
            None if expected.is_void() => {
                // SAFETY: the builder is live.
                unsafe { raw::LLVMBuildRetVoid(self.raw) }
            }
            None => return Err(Error::of_type("ret", expected, "no value")),
            Some((value, _)) if expected.is_void() || value.ty() != expected => {
                return Err(Error::of_type("ret", expected, value.ty()));
            }
            Some((_, value)) => {
                // SAFETY: both are live, and the value is of the function's result type.
                unsafe { raw::LLVMBuildRet(self.raw, value) }
            }
        };
        Ok(self.result(raw))
    }

    /// Marks this point as unreachable: reaching it is undefined behaviour of the program.
    ///
    /// # Errors
    /// See [`Builder`].
    #[doc(alias = "LLVMBuildUnreachable")]
    pub fn unreachable(&self) -> Result<Value<'m>> {
        self.begin_terminator("unreachable")?;
        // SAFETY: the builder is live.
        Ok(self.result(unsafe { raw::LLVMBuildUnreachable(self.raw) }))
    }

    /// Starts a phi node: a value that depends on the predecessor block. It must precede all other instructions of its
    /// block, and needs one value for each predecessor: [`Phi::add_incoming`].
    ///
    /// # Errors
    /// [`Error::Type`] if the type has no size; [`Error::Invalid`] if other instructions precede it; see [`Builder`].
    #[doc(alias = "LLVMBuildPhi")]
    pub fn phi(&self, ty: Type<'m>, name: &str) -> Result<Phi<'m>> {
        let name = self.begin("phi", name)?;
        self.check_type("phi", ty)?;
        ty.check_element("phi")?;
        // SAFETY: the values are live.
        let is_phi = |value: &Value<'m>| unsafe { !raw::LLVMIsAPHINode(value.raw()).is_null() };
        let block = self.block();
        let before = self.before.get();
        if !block.instructions().iter().take_while(|value| Some(**value) != before).all(is_phi) {
            return self.invalid("phi", format!("other instructions precede in block {}", block.name()));
        }
        // SAFETY: all are live, of one context, and the type is one that values can have.
        let raw = unsafe { raw::LLVMBuildPhi(self.raw, ty.raw(), name.as_ptr()) };
        Ok(Phi { value: self.result(raw), block })
    }
}

/// A phi node, see [`Builder::phi`].
#[derive(Clone, Copy)]
pub struct Phi<'m> {
    value: Value<'m>,
    block: BasicBlock<'m>,
}

impl<'m> Phi<'m> {
    /// Returns its value.
    pub fn value(self) -> Value<'m> {
        self.value
    }

    /// Sets its value for the predecessor `from`.
    ///
    /// # Errors
    /// [`Error::Type`] if the value is not of the node's type; [`Error::Mixed`] if it or the block belongs to another
    /// function.
    #[doc(alias = "LLVMAddIncoming")]
    pub fn add_incoming(self, value: Value<'m>, from: BasicBlock<'m>) -> Result<()> {
        let operation = "add_incoming";
        let function = self.block.function();
        function.check_operand(operation, self.value)?;
        let mut raw = function.check_operand(operation, value)?;
        let mut block = from.check_in(operation, function)?;
        if value.ty() != self.value.ty() {
            return Err(Error::of_type(operation, self.value.ty(), value.ty()));
        }
        // SAFETY: all are live and of one function, and the value is of the node's type.
        unsafe { raw::LLVMAddIncoming(self.value.raw(), &mut raw, &mut block, 1) };
        Ok(())
    }
}

impl fmt::Debug for Phi<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Phi({})", self.value)
    }
}
