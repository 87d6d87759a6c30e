//! Arithmetic, comparisons, conversions.

use rocm_llvm_sys::llvm as sys;

use super::{Builder, Error, Result, Type, Value, raw};
use crate::llvm::types::TypeKind;

/// A comparison of integers or pointers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IntPredicate {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Unsigned: greater.
    Ugt,
    /// Unsigned: greater or equal.
    Uge,
    /// Unsigned: less.
    Ult,
    /// Unsigned: less or equal.
    Ule,
    /// Signed: greater.
    Sgt,
    /// Signed: greater or equal.
    Sge,
    /// Signed: less.
    Slt,
    /// Signed: less or equal.
    Sle,
}

/// A comparison of floating-point numbers. The ordered ones (`O`) are false if an operand is NaN, the unordered ones
/// (`U`) true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FloatPredicate {
    /// Equal.
    Oeq,
    /// Greater.
    Ogt,
    /// Greater or equal.
    Oge,
    /// Less.
    Olt,
    /// Less or equal.
    Ole,
    /// Not equal.
    One,
    /// No operand is NaN.
    Ord,
    /// An operand is NaN.
    Uno,
    /// Equal, or NaN.
    Ueq,
    /// Greater, or NaN.
    Ugt,
    /// Greater or equal, or NaN.
    Uge,
    /// Less, or NaN.
    Ult,
    /// Less or equal, or NaN.
    Ule,
    /// Not equal, or NaN.
    Une,
}

/// A conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cast {
    /// To an integer of fewer bits.
    Truncate,
    /// To an unsigned integer of more bits.
    ZeroExtend,
    /// To a signed integer of more bits.
    SignExtend,
    /// To a floating-point number of fewer bits.
    FloatTruncate,
    /// To a floating-point number of more bits.
    FloatExtend,
    /// From floating point to an unsigned integer.
    FloatToUnsigned,
    /// From floating point to a signed integer.
    FloatToSigned,
    /// From an unsigned integer to floating point.
    UnsignedToFloat,
    /// From a signed integer to floating point.
    SignedToFloat,
    /// From a pointer to an integer.
    PointerToInt,
    /// From an integer to a pointer.
    IntToPointer,
    /// The same bits as another type of the same size.
    Bitcast,
    /// To a pointer into another address space.
    AddressSpace,
}

impl Cast {
    fn opcode(self) -> sys::LLVMOpcode {
        match self {
            Self::Truncate => sys::LLVMTrunc,
            Self::ZeroExtend => sys::LLVMZExt,
            Self::SignExtend => sys::LLVMSExt,
            Self::FloatTruncate => sys::LLVMFPTrunc,
            Self::FloatExtend => sys::LLVMFPExt,
            Self::FloatToUnsigned => sys::LLVMFPToUI,
            Self::FloatToSigned => sys::LLVMFPToSI,
            Self::UnsignedToFloat => sys::LLVMUIToFP,
            Self::SignedToFloat => sys::LLVMSIToFP,
            Self::PointerToInt => sys::LLVMPtrToInt,
            Self::IntToPointer => sys::LLVMIntToPtr,
            Self::Bitcast => sys::LLVMBitCast,
            Self::AddressSpace => sys::LLVMAddrSpaceCast,
        }
    }

    fn is_possible(self, from: Type<'_>, to: Type<'_>) -> bool {
        let same_lanes = from.lanes() == to.lanes();
        let (a, b) = (from.scalar_bits(), to.scalar_bits());
        let space = |ty: Type<'_>| match ty.scalar().kind() {
            TypeKind::Pointer(space) => Some(space),
            _ => None,
        };
        match self {
            Self::Truncate => same_lanes && from.is_int() && to.is_int() && a > b,
            Self::ZeroExtend | Self::SignExtend => same_lanes && from.is_int() && to.is_int() && a < b,
            Self::FloatTruncate => same_lanes && from.is_float() && to.is_float() && a > b,
            Self::FloatExtend => same_lanes && from.is_float() && to.is_float() && a < b,
            Self::FloatToUnsigned | Self::FloatToSigned => same_lanes && from.is_float() && to.is_int(),
            Self::UnsignedToFloat | Self::SignedToFloat => same_lanes && from.is_int() && to.is_float(),
            Self::PointerToInt => same_lanes && from.is_pointer() && to.is_int(),
            Self::IntToPointer => same_lanes && from.is_int() && to.is_pointer(),
            Self::Bitcast if from.is_pointer() || to.is_pointer() => same_lanes && space(from) == space(to),
            Self::Bitcast => {
                let bits = |ty: Type<'_>| u64::from(ty.scalar_bits()) * u64::from(ty.lanes().unwrap_or(1));
                bits(from) != 0 && bits(from) == bits(to)
            }
            Self::AddressSpace => {
                same_lanes && space(from).is_some() && space(to).is_some() && space(from) != space(to)
            }
        }
    }
}

macro_rules! binary {
    ($($(#[$doc:meta])* $method:ident $opcode:ident $alias:literal $is:ident $what:literal;)*) => {
        impl<'m> Builder<'m> {$(
            $(#[$doc])*
            ///
            /// # Errors
            #[doc = concat!("[`Error::Type`] if the operands are not ", $what, " of one type, or vectors of such; see [`Builder`].")]
            #[doc(alias = $alias)]
            pub fn $method(&self, left: Value<'m>, right: Value<'m>, name: &str) -> Result<Value<'m>> {
                let operation = stringify!($method);
                let name = self.begin(operation, name)?;
                let (left, right, ty) = self.pair(operation, left, right)?;
                if !ty.$is() {
                    return Err(Error::of_type(operation, $what, ty));
                }
                // SAFETY: all are live and of one context; the operands have one type, which the operation takes.
                Ok(self.result(unsafe { raw::LLVMBuildBinOp(self.raw, sys::$opcode, left, right, name.as_ptr()) }))
            }
        )*}
    };
}

binary! {
    /// Adds integers, modulo 2ⁿ.
    add LLVMAdd "LLVMBuildAdd" is_int "integers";
    /// Subtracts integers, modulo 2ⁿ.
    sub LLVMSub "LLVMBuildSub" is_int "integers";
    /// Multiplies integers, modulo 2ⁿ.
    mul LLVMMul "LLVMBuildMul" is_int "integers";
    /// Divides unsigned integers. A division by zero is undefined behaviour of the program.
    udiv LLVMUDiv "LLVMBuildUDiv" is_int "integers";
    /// Divides signed integers. A division by zero is undefined behaviour of the program.
    sdiv LLVMSDiv "LLVMBuildSDiv" is_int "integers";
    /// The remainder of unsigned integers.
    urem LLVMURem "LLVMBuildURem" is_int "integers";
    /// The remainder of signed integers.
    srem LLVMSRem "LLVMBuildSRem" is_int "integers";
    /// Shifts left. The result is poison if the distance is as large as the number of bits.
    shl LLVMShl "LLVMBuildShl" is_int "integers";
    /// Shifts right, with zeros.
    lshr LLVMLShr "LLVMBuildLShr" is_int "integers";
    /// Shifts right, with the sign.
    ashr LLVMAShr "LLVMBuildAShr" is_int "integers";
    /// Bitwise and.
    and LLVMAnd "LLVMBuildAnd" is_int "integers";
    /// Bitwise or.
    or LLVMOr "LLVMBuildOr" is_int "integers";
    /// Bitwise exclusive or.
    xor LLVMXor "LLVMBuildXor" is_int "integers";
    /// Adds floating-point numbers.
    fadd LLVMFAdd "LLVMBuildFAdd" is_float "floating-point numbers";
    /// Subtracts floating-point numbers.
    fsub LLVMFSub "LLVMBuildFSub" is_float "floating-point numbers";
    /// Multiplies floating-point numbers.
    fmul LLVMFMul "LLVMBuildFMul" is_float "floating-point numbers";
    /// Divides floating-point numbers.
    fdiv LLVMFDiv "LLVMBuildFDiv" is_float "floating-point numbers";
    /// The remainder of floating-point numbers, with the sign of the dividend.
    frem LLVMFRem "LLVMBuildFRem" is_float "floating-point numbers";
}

impl<'m> Builder<'m> {
    /// Marks an addition, subtraction, multiplication or left shift of integers as not overflowing: an overflow is then
    /// undefined behaviour. A constant, which LLVM computed, stays unchanged.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `value` is not the result of such an operation; [`Error::Mixed`].
    #[doc(alias = "LLVMSetNSW")]
    #[doc(alias = "LLVMSetNUW")]
    pub fn no_overflow(&self, value: Value<'m>, unsigned: bool, signed: bool) -> Result<()> {
        let operation = "no_overflow";
        let raw = self.operand(operation, value)?;
        if value.is_constant() {
            return Ok(());
        }
        // SAFETY: the value is live.
        let is_instruction = unsafe { !raw::LLVMIsAInstruction(raw).is_null() };
        // SAFETY: as above, and the value is an instruction.
        let opcode = is_instruction.then(|| unsafe { raw::LLVMGetInstructionOpcode(raw) });
        if !matches!(opcode, Some(sys::LLVMAdd | sys::LLVMSub | sys::LLVMMul | sys::LLVMShl)) {
            return self.invalid(operation, format!("`{value}` does not overflow"));
        }
        // SAFETY: the operation supports both flags.
        unsafe {
            raw::LLVMSetNUW(raw, raw::flag(unsigned));
            raw::LLVMSetNSW(raw, raw::flag(signed));
        }
        Ok(())
    }

    /// Negates an integer, modulo 2ⁿ.
    ///
    /// # Errors
    /// [`Error::Type`] if it is not an integer; see [`Builder`].
    #[doc(alias = "LLVMBuildNeg")]
    pub fn neg(&self, value: Value<'m>, name: &str) -> Result<Value<'m>> {
        let name = self.begin("neg", name)?;
        let raw = self.operand("neg", value)?;
        if !value.ty().is_int() {
            return Err(Error::of_type("neg", "an integer", value.ty()));
        }
        // SAFETY: all are live, and the value an integer.
        Ok(self.result(unsafe { raw::LLVMBuildNeg(self.raw, raw, name.as_ptr()) }))
    }

    /// Inverts all bits of an integer.
    ///
    /// # Errors
    /// [`Error::Type`] if it is not an integer; see [`Builder`].
    #[doc(alias = "LLVMBuildNot")]
    pub fn not(&self, value: Value<'m>, name: &str) -> Result<Value<'m>> {
        let name = self.begin("not", name)?;
        let raw = self.operand("not", value)?;
        if !value.ty().is_int() {
            return Err(Error::of_type("not", "an integer", value.ty()));
        }
        // SAFETY: all are live, and the value an integer.
        Ok(self.result(unsafe { raw::LLVMBuildNot(self.raw, raw, name.as_ptr()) }))
    }

    /// Negates a floating-point number.
    ///
    /// # Errors
    /// [`Error::Type`] if it is not one; see [`Builder`].
    #[doc(alias = "LLVMBuildFNeg")]
    pub fn fneg(&self, value: Value<'m>, name: &str) -> Result<Value<'m>> {
        let name = self.begin("fneg", name)?;
        let raw = self.operand("fneg", value)?;
        if !value.ty().is_float() {
            return Err(Error::of_type("fneg", "a floating-point number", value.ty()));
        }
        // SAFETY: all are live, and the value a floating-point number.
        Ok(self.result(unsafe { raw::LLVMBuildFNeg(self.raw, raw, name.as_ptr()) }))
    }

    /// Converts a value that may be undefined or poison to one that is not.
    ///
    /// # Errors
    /// [`Error::Type`] if it has no size; see [`Builder`].
    #[doc(alias = "LLVMBuildFreeze")]
    pub fn freeze(&self, value: Value<'m>, name: &str) -> Result<Value<'m>> {
        let name = self.begin("freeze", name)?;
        let raw = self.operand("freeze", value)?;
        value.ty().check_element("freeze")?;
        // SAFETY: all are live, and the value's type is one that values can have.
        Ok(self.result(unsafe { raw::LLVMBuildFreeze(self.raw, raw, name.as_ptr()) }))
    }

    /// Compares integers or pointers. The result is an `i1`, or a vector of `i1`.
    ///
    /// # Errors
    /// [`Error::Type`] if the operands are not integers or pointers of one type; see [`Builder`].
    #[doc(alias = "LLVMBuildICmp")]
    pub fn icmp(&self, how: IntPredicate, left: Value<'m>, right: Value<'m>, name: &str) -> Result<Value<'m>> {
        let name = self.begin("icmp", name)?;
        let (left, right, ty) = self.pair("icmp", left, right)?;
        if !ty.is_int() && !ty.is_pointer() {
            return Err(Error::of_type("icmp", "integers or pointers", ty));
        }
        let how = match how {
            IntPredicate::Eq => sys::LLVMIntEQ,
            IntPredicate::Ne => sys::LLVMIntNE,
            IntPredicate::Ugt => sys::LLVMIntUGT,
            IntPredicate::Uge => sys::LLVMIntUGE,
            IntPredicate::Ult => sys::LLVMIntULT,
            IntPredicate::Ule => sys::LLVMIntULE,
            IntPredicate::Sgt => sys::LLVMIntSGT,
            IntPredicate::Sge => sys::LLVMIntSGE,
            IntPredicate::Slt => sys::LLVMIntSLT,
            IntPredicate::Sle => sys::LLVMIntSLE,
        };
        // SAFETY: all are live, and the operands integers or pointers of one type.
        Ok(self.result(unsafe { raw::LLVMBuildICmp(self.raw, how, left, right, name.as_ptr()) }))
    }

    /// Compares floating-point numbers. The result is an `i1`, or a vector of `i1`.
    ///
    /// # Errors
    /// [`Error::Type`] if the operands are not floating-point numbers of one type; see [`Builder`].
    #[doc(alias = "LLVMBuildFCmp")]
    pub fn fcmp(&self, how: FloatPredicate, left: Value<'m>, right: Value<'m>, name: &str) -> Result<Value<'m>> {
        let name = self.begin("fcmp", name)?;
        let (left, right, ty) = self.pair("fcmp", left, right)?;
        if !ty.is_float() {
            return Err(Error::of_type("fcmp", "floating-point numbers", ty));
        }
        let how = match how {
            FloatPredicate::Oeq => sys::LLVMRealOEQ,
            FloatPredicate::Ogt => sys::LLVMRealOGT,
            FloatPredicate::Oge => sys::LLVMRealOGE,
            FloatPredicate::Olt => sys::LLVMRealOLT,
            FloatPredicate::Ole => sys::LLVMRealOLE,
            FloatPredicate::One => sys::LLVMRealONE,
            FloatPredicate::Ord => sys::LLVMRealORD,
            FloatPredicate::Uno => sys::LLVMRealUNO,
            FloatPredicate::Ueq => sys::LLVMRealUEQ,
            FloatPredicate::Ugt => sys::LLVMRealUGT,
            FloatPredicate::Uge => sys::LLVMRealUGE,
            FloatPredicate::Ult => sys::LLVMRealULT,
            FloatPredicate::Ule => sys::LLVMRealULE,
            FloatPredicate::Une => sys::LLVMRealUNE,
        };
        // SAFETY: all are live, and the operands floating-point numbers of one type.
        Ok(self.result(unsafe { raw::LLVMBuildFCmp(self.raw, how, left, right, name.as_ptr()) }))
    }

    /// Returns `yes` if the condition is 1, otherwise `no`; lane by lane if it is a vector.
    ///
    /// # Errors
    /// [`Error::Type`] if the condition is not an `i1` (or a vector of `i1` with the length of the others), or the
    /// others are not of one type; see [`Builder`].
    #[doc(alias = "LLVMBuildSelect")]
    pub fn select(&self, condition: Value<'m>, yes: Value<'m>, no: Value<'m>, name: &str) -> Result<Value<'m>> {
        let name = self.begin("select", name)?;
        let raw = self.operand("select", condition)?;
        let (yes, no, ty) = self.pair("select", yes, no)?;
        ty.check_element("select")?;
        let of = condition.ty();
        let is_bool = of.scalar().kind() == TypeKind::Int(1);
        if !is_bool || (of.is_vector() && of.lanes() != ty.lanes()) {
            return Err(Error::of_type("select", "an i1, or a vector of i1 as long as the others", of));
        }
        // SAFETY: all are live, and the types checked.
        Ok(self.result(unsafe { raw::LLVMBuildSelect(self.raw, raw, yes, no, name.as_ptr()) }))
    }

    /// Converts a value to another type.
    ///
    /// # Errors
    /// [`Error::Type`] if the conversion does not exist between these types; see [`Builder`].
    #[doc(alias = "LLVMBuildCast")]
    #[doc(alias = "LLVMBuildBitCast")]
    #[doc(alias = "LLVMBuildAddrSpaceCast")]
    pub fn cast(&self, how: Cast, value: Value<'m>, to: Type<'m>, name: &str) -> Result<Value<'m>> {
        let name = self.begin("cast", name)?;
        let raw = self.operand("cast", value)?;
        self.check_type("cast", to)?;
        if !how.is_possible(value.ty(), to) {
            return Err(Error::of_type(
                "cast",
                format!("types that {how:?} converts between"),
                format!("{} and {to}", value.ty()),
            ));
        }
        // SAFETY: all are live and of one context, and the conversion exists.
        Ok(self.result(unsafe { raw::LLVMBuildCast(self.raw, how.opcode(), raw, to.raw(), name.as_ptr()) }))
    }
}
