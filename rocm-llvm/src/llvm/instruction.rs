//! Reads instructions: operations, operands, uses, places.

use super::builder::{FloatPredicate, IntPredicate, Ordering, RmwOperation};
use super::error::{Error, Result};
use super::function::{BasicBlock, Function};
use super::module::Module;
use super::opcode::Opcode;
use super::raw;
use super::types::{FunctionType, Type, TypeKind};
use super::value::{FastMath, Owner, Value};

/// An operand of an instruction or a constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operand<'m> {
    /// A value.
    Value(Value<'m>),
    /// A block: the target of a branch.
    Block(BasicBlock<'m>),
    /// A value as metadata: an argument of a debug intrinsic.
    Metadata,
}

impl<'m> Operand<'m> {
    /// Returns the value, if it is one.
    pub fn value(self) -> Option<Value<'m>> {
        match self {
            Self::Value(value) => Some(value),
            Self::Block(_) | Self::Metadata => None,
        }
    }
}

const INT_PREDICATES: [IntPredicate; 10] = {
    use IntPredicate::*;
    [Eq, Ne, Ugt, Uge, Ult, Ule, Sgt, Sge, Slt, Sle]
};

const FLOAT_PREDICATES: [FloatPredicate; 14] = {
    use FloatPredicate::*;
    [Oeq, Ogt, Oge, Olt, Ole, One, Ord, Uno, Ueq, Ugt, Uge, Ult, Ule, Une]
};

/// Returns whether it is an instruction that was erased, so that no block has it.
pub(super) fn is_erased(raw: raw::LLVMValueRef) -> bool {
    // SAFETY: the value is live: erased instructions are freed with their module.
    unsafe { !raw::LLVMIsAInstruction(raw).is_null() && raw::LLVMGetInstructionParent(raw).is_null() }
}

/// Wraps a value of the module, or a constant.
pub(super) fn wrap<'m>(raw: raw::LLVMValueRef, module: &'m Module<'m>) -> Value<'m> {
    // SAFETY: the value is live, and each function is called for its class.
    let function = unsafe {
        if !raw::LLVMIsAInstruction(raw).is_null() {
            let block = raw::LLVMGetInstructionParent(raw);
            if block.is_null() { std::ptr::null_mut() } else { raw::LLVMGetBasicBlockParent(block) }
        } else if !raw::LLVMIsAArgument(raw).is_null() {
            raw::LLVMGetParamParent(raw)
        } else {
            std::ptr::null_mut()
        }
    };
    let owner = if function.is_null() { Owner::Module(module) } else { Owner::Function(module, function) };
    Value::new(raw, owner, module.context())
}

impl<'m> Value<'m> {
    pub(super) fn module(self) -> Option<&'m Module<'m>> {
        match self.owner() {
            Owner::Context => None,
            Owner::Module(module) | Owner::Function(module, _) => Some(module),
        }
    }

    /// Returns the opcode's number and the block, of an instruction that is in one.
    fn placed(self) -> Option<(Opcode, raw::LLVMBasicBlockRef)> {
        // SAFETY: the value is live, and the functions are called for an instruction.
        unsafe {
            if raw::LLVMIsAInstruction(self.raw()).is_null() {
                return None;
            }
            let block = raw::LLVMGetInstructionParent(self.raw());
            (!block.is_null()).then(|| (Opcode::from_raw(raw::LLVMGetInstructionOpcode(self.raw()).0), block))
        }
    }

    /// Returns whether it is an instruction with one of these operations.
    fn does(self, opcodes: &[Opcode]) -> bool {
        self.placed().is_some_and(|(opcode, _)| opcodes.contains(&opcode))
    }

    /// Returns whether it is an instruction that is in a block.
    pub fn is_instruction(self) -> bool {
        self.placed().is_some()
    }

    /// Returns the operation of an instruction or of a constant expression; `None` for other values, and for erased
    /// instructions.
    ///
    /// ```
    /// use rocm_llvm::llvm::{Context, Opcode};
    ///
    /// # fn main() -> Result<(), rocm_llvm::llvm::Error> {
    /// # if rocm_llvm::llvm::Library::load().is_err() { return Ok(()) }
    /// let context = Context::new()?;
    /// let text = "define i32 @f(i32 %a) {\n %b = add nsw i32 %a, 1\n ret i32 %b\n}\n";
    /// let module = context.parse_ir("f.ll", text)?;
    /// let add = module.function("f")?.expect("it is there").blocks()[0].instructions()[0];
    /// assert_eq!(add.opcode(), Some(Opcode::Add));
    /// assert_eq!(add.operands().len(), 2);
    /// assert_eq!(add.users()[0].opcode(), Some(Opcode::Ret));
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias("LLVMGetInstructionOpcode", "LLVMGetConstOpcode"))]
    pub fn opcode(self) -> Option<Opcode> {
        if let Some((opcode, _)) = self.placed() {
            return Some(opcode);
        }
        // SAFETY: the value is live, and the second function is called for a constant expression.
        unsafe {
            let is_expression = !raw::LLVMIsAConstantExpr(self.raw()).is_null();
            is_expression.then(|| Opcode::from_raw(raw::LLVMGetConstOpcode(self.raw()).0))
        }
    }

    /// Returns the block of an instruction; `None` for other values, and for erased instructions.
    #[doc(alias = "LLVMGetInstructionParent")]
    pub fn block(self) -> Option<BasicBlock<'m>> {
        let (_, block) = self.placed()?;
        Some(BasicBlock::new(block, self.function()?))
    }

    /// Returns the function of an instruction or a parameter; or the function whose address it is.
    #[doc(alias("LLVMGetBasicBlockParent", "LLVMGetParamParent"))]
    pub fn function(self) -> Option<Function<'m>> {
        let raw = match self.owner() {
            Owner::Function(_, function) => function,
            // SAFETY: the value is live.
            _ => unsafe { raw::LLVMIsAFunction(self.raw()) },
        };
        let module = self.module().filter(|_| !raw.is_null())?;
        Some(Function::new(Value::new(raw, Owner::Module(module), self.context()), module))
    }

    /// Returns the instruction after it in its block.
    #[doc(alias = "LLVMGetNextInstruction")]
    pub fn next_instruction(self) -> Option<Value<'m>> {
        self.placed()?;
        // SAFETY: an instruction in a block.
        let raw = unsafe { raw::LLVMGetNextInstruction(self.raw()) };
        (!raw.is_null()).then(|| Value::new(raw, self.owner(), self.context()))
    }

    /// Returns the instruction before it in its block.
    #[doc(alias = "LLVMGetPreviousInstruction")]
    pub fn previous_instruction(self) -> Option<Value<'m>> {
        self.placed()?;
        // SAFETY: an instruction in a block.
        let raw = unsafe { raw::LLVMGetPreviousInstruction(self.raw()) };
        (!raw.is_null()).then(|| Value::new(raw, self.owner(), self.context()))
    }

    /// Returns its operands: those of an instruction in a block, or of a constant of a module. For a call, the callee
    /// is the last one.
    #[doc(alias("LLVMGetNumOperands", "LLVMGetOperand"))]
    pub fn operands(self) -> Vec<Operand<'m>> {
        let Some(module) = self.module() else { return Vec::new() };
        // SAFETY: the value is live; only users have operands, and the indices are below their number.
        let raws: Vec<_> = unsafe {
            if raw::LLVMIsAUser(self.raw()).is_null() || is_erased(self.raw()) {
                return Vec::new();
            }
            (0..raw::LLVMGetNumOperands(self.raw()))
                .map(|at| raw::LLVMGetOperand(self.raw(), at.unsigned_abs()))
                .collect()
        };
        raws.into_iter().filter(|raw| !raw.is_null()).map(|raw| operand(raw, module)).collect()
    }

    /// Returns the instructions, constants and globals that use an instruction, a parameter, a function or a global,
    /// once for each use. Other constants are shared by the modules of a context: none for them.
    #[doc(alias("LLVMGetFirstUse", "LLVMGetNextUse", "LLVMGetUser"))]
    pub fn users(self) -> Vec<Value<'m>> {
        let Some(module) = self.module().filter(|_| self.is_of_module()) else { return Vec::new() };
        users_of(self.raw()).into_iter().map(|raw| wrap(raw, module)).collect()
    }

    /// Returns whether it exists in one module only: an instruction, a parameter, a function, a global.
    pub(super) fn is_of_module(self) -> bool {
        // SAFETY: the value is live.
        unsafe {
            !raw::LLVMIsAInstruction(self.raw()).is_null()
                || !raw::LLVMIsAArgument(self.raw()).is_null()
                || !raw::LLVMIsAGlobalValue(self.raw()).is_null()
        }
    }

    fn is_call(self) -> bool {
        self.does(&[Opcode::Call, Opcode::Invoke, Opcode::CallBr])
    }

    /// Returns the called function or pointer of a call. [`function`](Self::function) of it names the function.
    #[doc(alias = "LLVMGetCalledValue")]
    pub fn callee(self) -> Option<Value<'m>> {
        let module = self.module().filter(|_| self.is_call())?;
        // SAFETY: a call, which is live.
        Some(wrap(unsafe { raw::LLVMGetCalledValue(self.raw()) }, module))
    }

    /// Returns the type of the function that a call calls.
    #[doc(alias = "LLVMGetCalledFunctionType")]
    pub fn callee_type(self) -> Option<FunctionType<'m>> {
        // SAFETY: a call, which is live.
        self.is_call()
            .then(|| unsafe { FunctionType::from_raw(raw::LLVMGetCalledFunctionType(self.raw()), self.context()) })
    }

    /// Returns the arguments of a call; none for other values.
    #[doc(alias = "LLVMGetNumArgOperands")]
    pub fn arguments(self) -> Vec<Operand<'m>> {
        let Some(module) = self.module().filter(|_| self.is_call()) else { return Vec::new() };
        // SAFETY: a call, which is live, whose first operands are the arguments.
        unsafe {
            (0..raw::LLVMGetNumArgOperands(self.raw()))
                .map(|at| operand(raw::LLVMGetOperand(self.raw(), at), module))
                .collect()
        }
    }

    /// Returns the predicate of a comparison of integers or pointers.
    #[doc(alias = "LLVMGetICmpPredicate")]
    pub fn int_predicate(self) -> Option<IntPredicate> {
        // SAFETY: a comparison of integers, which is live.
        let number = self.does(&[Opcode::ICmp]).then(|| unsafe { raw::LLVMGetICmpPredicate(self.raw()) })?;
        INT_PREDICATES.get(number.0.checked_sub(32)? as usize).copied()
    }

    /// Returns the predicate of a comparison of floating-point numbers; `None` for one that is always true or false.
    #[doc(alias = "LLVMGetFCmpPredicate")]
    pub fn float_predicate(self) -> Option<FloatPredicate> {
        // SAFETY: a comparison of floating-point numbers, which is live.
        let number = self.does(&[Opcode::FCmp]).then(|| unsafe { raw::LLVMGetFCmpPredicate(self.raw()) })?;
        FLOAT_PREDICATES.get(number.0.checked_sub(1)? as usize).copied()
    }

    /// Returns the type that an `alloca` allocates.
    #[doc(alias = "LLVMGetAllocatedType")]
    pub fn allocated_type(self) -> Option<Type<'m>> {
        // SAFETY: an allocation, which is live.
        self.does(&[Opcode::Alloca])
            .then(|| unsafe { Type::from_raw(raw::LLVMGetAllocatedType(self.raw()), self.context()) })
    }

    /// Returns the type that the indices of a `getelementptr` select from.
    #[doc(alias = "LLVMGetGEPSourceElementType")]
    pub fn source_type(self) -> Option<Type<'m>> {
        // SAFETY: such an instruction or expression, which is live.
        (self.opcode() == Some(Opcode::GetElementPtr))
            .then(|| unsafe { Type::from_raw(raw::LLVMGetGEPSourceElementType(self.raw()), self.context()) })
    }

    /// Returns whether a `getelementptr` stays within the pointer's memory.
    #[doc(alias = "LLVMIsInBounds")]
    pub fn is_inbounds(self) -> bool {
        // SAFETY: such an instruction or expression, which is live.
        self.opcode() == Some(Opcode::GetElementPtr) && unsafe { raw::LLVMIsInBounds(self.raw()) != 0 }
    }

    /// Returns the indices of an `extractvalue` or `insertvalue`; none for other values.
    #[doc(alias("LLVMGetNumIndices", "LLVMGetIndices"))]
    pub fn indices(self) -> Vec<u32> {
        if !self.does(&[Opcode::ExtractValue, Opcode::InsertValue]) {
            return Vec::new();
        }
        // SAFETY: such an instruction, which is live, and has that many indices.
        unsafe {
            let count = raw::LLVMGetNumIndices(self.raw()) as usize;
            std::slice::from_raw_parts(raw::LLVMGetIndices(self.raw()), count).to_vec()
        }
    }

    /// Returns the mask of a `shufflevector`, `None` for an undefined element; empty for other values.
    #[doc(alias("LLVMGetNumMaskElements", "LLVMGetMaskValue"))]
    pub fn shuffle_mask(self) -> Vec<Option<u32>> {
        if !self.does(&[Opcode::ShuffleVector]) {
            return Vec::new();
        }
        // SAFETY: such an instruction, which is live; the indices are below the count.
        unsafe {
            (0..raw::LLVMGetNumMaskElements(self.raw()))
                .map(|at| u32::try_from(raw::LLVMGetMaskValue(self.raw(), at)).ok())
                .collect()
        }
    }

    /// Returns the blocks where a terminator can continue; none for other values.
    #[doc(alias("LLVMGetNumSuccessors", "LLVMGetSuccessor"))]
    pub fn successors(self) -> Vec<BasicBlock<'m>> {
        // SAFETY: the value is live.
        let is_terminator = self.is_instruction() && unsafe { !raw::LLVMIsATerminatorInst(self.raw()).is_null() };
        let Some(function) = self.function().filter(|_| is_terminator) else { return Vec::new() };
        // SAFETY: a terminator, which is live; the indices are below the count.
        unsafe {
            (0..raw::LLVMGetNumSuccessors(self.raw()))
                .map(|at| BasicBlock::new(raw::LLVMGetSuccessor(self.raw(), at), function))
                .collect()
        }
    }

    /// Returns the condition of a branch that has one.
    #[doc(alias("LLVMIsConditional", "LLVMGetCondition"))]
    pub fn condition(self) -> Option<Value<'m>> {
        let module = self.module().filter(|_| self.does(&[Opcode::Br]))?;
        // SAFETY: a branch, which is live; the second function is called for one with a condition.
        unsafe { (raw::LLVMIsConditional(self.raw()) != 0).then(|| wrap(raw::LLVMGetCondition(self.raw()), module)) }
    }

    /// Returns the values of a phi node with the blocks that they come from; none for other values.
    #[doc(alias("LLVMCountIncoming", "LLVMGetIncomingValue", "LLVMGetIncomingBlock"))]
    pub fn incoming(self) -> Vec<(Value<'m>, BasicBlock<'m>)> {
        let (true, Some(module), Some(function)) = (self.does(&[Opcode::Phi]), self.module(), self.function()) else {
            return Vec::new();
        };
        // SAFETY: a phi node, which is live; the indices are below the count.
        unsafe {
            (0..raw::LLVMCountIncoming(self.raw()))
                .map(|at| {
                    let block = BasicBlock::new(raw::LLVMGetIncomingBlock(self.raw(), at), function);
                    (wrap(raw::LLVMGetIncomingValue(self.raw(), at), module), block)
                })
                .collect()
        }
    }

    /// Returns the alignment in bytes of an allocation, an access, or a global; 0 if none is set. `None` for other
    /// values.
    #[doc(alias = "LLVMGetAlignment")]
    pub fn alignment(self) -> Option<u32> {
        use Opcode::*;
        // SAFETY: the value is live.
        let is_global =
            unsafe { !raw::LLVMIsAGlobalVariable(self.raw()).is_null() || !raw::LLVMIsAFunction(self.raw()).is_null() };
        // SAFETY: the value is live, and has an alignment.
        (is_global || self.does(&[Alloca, Load, Store, AtomicRmw, AtomicCmpXchg]))
            .then(|| unsafe { raw::LLVMGetAlignment(self.raw()) })
    }

    /// Returns whether it is a volatile access.
    #[doc(alias = "LLVMGetVolatile")]
    pub fn is_volatile(self) -> bool {
        use Opcode::*;
        // SAFETY: an access, which is live.
        self.does(&[Load, Store, AtomicRmw, AtomicCmpXchg]) && unsafe { raw::LLVMGetVolatile(self.raw()) != 0 }
    }

    /// Returns the ordering of an atomic load, store or read-modify-write, or of a fence; that of a `cmpxchg` which
    /// writes. `None` for others.
    #[doc(alias("LLVMGetOrdering", "LLVMGetCmpXchgSuccessOrdering"))]
    pub fn ordering(self) -> Option<Ordering> {
        use Opcode::*;
        // SAFETY: the value is live, and has an ordering.
        let number = unsafe {
            match self.placed()?.0 {
                Load | Store | AtomicRmw | Fence => raw::LLVMGetOrdering(self.raw()),
                AtomicCmpXchg => raw::LLVMGetCmpXchgSuccessOrdering(self.raw()),
                _ => return None,
            }
        };
        Ordering::from_raw(number)
    }

    /// Returns the ordering of a `cmpxchg` that does not write.
    #[doc(alias = "LLVMGetCmpXchgFailureOrdering")]
    pub fn failure_ordering(self) -> Option<Ordering> {
        // SAFETY: such an instruction, which is live.
        let number =
            self.does(&[Opcode::AtomicCmpXchg]).then(|| unsafe { raw::LLVMGetCmpXchgFailureOrdering(self.raw()) })?;
        Ordering::from_raw(number)
    }

    /// Returns whether a `cmpxchg` may fail though the memory has the expected value.
    #[doc(alias = "LLVMGetWeak")]
    pub fn is_weak(self) -> bool {
        // SAFETY: such an instruction, which is live.
        self.does(&[Opcode::AtomicCmpXchg]) && unsafe { raw::LLVMGetWeak(self.raw()) != 0 }
    }

    /// Lets a `cmpxchg` fail though the memory has the expected value, or not.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the value is not one.
    #[doc(alias = "LLVMSetWeak")]
    pub fn set_weak(self, weak: bool) -> Result<()> {
        if !self.does(&[Opcode::AtomicCmpXchg]) {
            return Err(Error::invalid("set_weak", format!("`{self}` is not a cmpxchg")));
        }
        // SAFETY: such an instruction, which is live.
        unsafe { raw::LLVMSetWeak(self.raw(), raw::flag(weak)) };
        Ok(())
    }

    /// Marks a division or right shift as one without a remainder, or not: a remainder is then undefined behaviour.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the value is neither.
    #[doc(alias = "LLVMSetExact")]
    pub fn set_exact(self, exact: bool) -> Result<()> {
        use Opcode::*;
        if !self.does(&[UDiv, SDiv, LShr, AShr]) {
            return Err(Error::invalid("set_exact", format!("`{self}` is neither a division nor a right shift")));
        }
        // SAFETY: such an operation, which is live.
        unsafe { raw::LLVMSetExact(self.raw(), raw::flag(exact)) };
        Ok(())
    }

    /// Returns whether an atomic operation is ordered for its own thread only.
    #[doc(alias = "LLVMIsAtomicSingleThread")]
    pub fn is_single_thread(self) -> bool {
        use Opcode::*;
        let atomic = self.does(&[AtomicRmw, AtomicCmpXchg]);
        // SAFETY: such an instruction, which is live.
        atomic && unsafe { raw::LLVMIsAtomicSingleThread(self.raw()) != 0 }
    }

    /// Returns the computation of an `atomicrmw`; `None` for others, and for one that this crate does not know.
    #[doc(alias = "LLVMGetAtomicRMWBinOp")]
    pub fn rmw_operation(self) -> Option<RmwOperation> {
        // SAFETY: such an instruction, which is live.
        let number = self.does(&[Opcode::AtomicRmw]).then(|| unsafe { raw::LLVMGetAtomicRMWBinOp(self.raw()) })?;
        RmwOperation::from_raw(number)
    }

    /// Returns whether an operation does not overflow: unsigned (`nuw`) and signed (`nsw`).
    #[doc(alias("LLVMGetNUW", "LLVMGetNSW"))]
    pub fn overflow_flags(self) -> Option<(bool, bool)> {
        use Opcode::*;
        // SAFETY: such an operation, which is live.
        self.does(&[Add, Sub, Mul, Shl])
            .then(|| unsafe { (raw::LLVMGetNUW(self.raw()) != 0, raw::LLVMGetNSW(self.raw()) != 0) })
    }

    /// Returns whether a division or right shift has no remainder (`exact`).
    #[doc(alias = "LLVMGetExact")]
    pub fn is_exact(self) -> bool {
        use Opcode::*;
        // SAFETY: such an operation, which is live.
        self.does(&[UDiv, SDiv, LShr, AShr]) && unsafe { raw::LLVMGetExact(self.raw()) != 0 }
    }

    /// Returns the relaxations of a floating-point operation; `None` for other values, and before LLVM 18.
    #[doc(alias = "LLVMGetFastMathFlags")]
    pub fn fast_math(self) -> Option<FastMath> {
        let (can, get) =
            (super::later::LLVMCanValueUseFastMathFlags().ok()?, super::later::LLVMGetFastMathFlags().ok()?);
        // SAFETY: the value is live, and the functions are called for an instruction.
        unsafe { (self.is_instruction() && can(self.raw()) != 0).then(|| FastMath::from_raw(get(self.raw()))) }
    }

    /// Returns the initial bits of a constant floating-point number, as a number; the conversion may round.
    #[doc(alias = "LLVMConstRealGetDouble")]
    pub fn as_float(self) -> Option<f64> {
        let mut inexact = 0;
        // SAFETY: the value is live, the second function is called for its class, and the place valid for the write.
        unsafe {
            (!raw::LLVMIsAConstantFP(self.raw()).is_null())
                .then(|| raw::LLVMConstRealGetDouble(self.raw(), &mut inexact))
        }
    }

    /// Returns whether it is a null pointer, 0, or another value with no bit set.
    #[doc(alias = "LLVMIsNull")]
    pub fn is_null(self) -> bool {
        // SAFETY: the value is live.
        unsafe { raw::LLVMIsNull(self.raw()) != 0 }
    }

    /// Returns whether it is undefined or poison.
    #[doc(alias = "LLVMIsUndef")]
    pub fn is_undef(self) -> bool {
        // SAFETY: the value is live.
        unsafe { raw::LLVMIsUndef(self.raw()) != 0 }
    }

    /// Returns whether it is poison.
    #[doc(alias = "LLVMIsPoison")]
    pub fn is_poison(self) -> bool {
        // SAFETY: the value is live.
        unsafe { raw::LLVMIsPoison(self.raw()) != 0 }
    }

    /// Returns the bytes of a constant array of `i8`.
    #[doc(alias("LLVMGetAsString", "LLVMIsConstantString"))]
    pub fn as_bytes(self) -> Option<Vec<u8>> {
        let mut length = 0;
        // SAFETY: the value is live; the functions are called for their classes, and the string has the returned length.
        unsafe {
            if raw::LLVMIsAConstantDataSequential(self.raw()).is_null() || raw::LLVMIsConstantString(self.raw()) == 0 {
                return None;
            }
            let text = raw::LLVMGetAsString(self.raw(), &mut length);
            Some(std::slice::from_raw_parts(text.cast::<u8>(), length).to_vec())
        }
    }
}

/// Returns the users in blocks, and the constants and globals.
pub(super) fn users_of(raw: raw::LLVMValueRef) -> Vec<raw::LLVMValueRef> {
    let mut all = Vec::new();
    // SAFETY: the value is live, and so are its uses and users.
    unsafe {
        let mut at = raw::LLVMGetFirstUse(raw);
        while !at.is_null() {
            all.push(raw::LLVMGetUser(at));
            at = raw::LLVMGetNextUse(at);
        }
    }
    all.retain(|user| !is_erased(*user));
    all
}

fn operand<'m>(raw: raw::LLVMValueRef, module: &'m Module<'m>) -> Operand<'m> {
    // SAFETY: the value is live, and each function is called for its class.
    unsafe {
        if raw::LLVMValueIsBasicBlock(raw) == 0 {
            let value = wrap(raw, module);
            let is_metadata = value.ty().kind() == TypeKind::Metadata;
            // LLVM frees the metadata of a value when the value is replaced.
            let is_kept = !is_metadata || value.is_kept_metadata();
            return if is_kept { Operand::Value(value) } else { Operand::Metadata };
        }
        let block = raw::LLVMValueAsBasicBlock(raw);
        let function = Value::new(raw::LLVMGetBasicBlockParent(block), Owner::Module(module), module.context());
        Operand::Block(BasicBlock::new(block, Function::new(function, module)))
    }
}
