//! Values: constants, parameters, results of instructions, globals.

use std::fmt;

use super::context::Context;
use super::error::{Error, Mixed, Result};
use super::module::Module;
use super::types::{Type, TypeKind};
use super::{later, raw};

/// A value. It borrows its owner: a constant its context; a parameter, the result of an instruction or a global its
/// module. Operations that could free values need exclusive access to the module (`&mut`), so no remaining value refers
/// to freed memory.
#[derive(Clone, Copy)]
pub struct Value<'m> {
    raw: raw::LLVMValueRef,
    owner: Owner<'m>,
    context: &'m Context,
}

/// The owner of a value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Owner<'m> {
    Context,
    Module(&'m Module<'m>),
    Function(&'m Module<'m>, raw::LLVMValueRef),
}

impl<'m> Owner<'m> {
    /// Returns the owner of values that combine both.
    pub(super) fn join(self, operation: &'static str, other: Owner<'m>) -> Result<Owner<'m>> {
        match (self, other) {
            (Owner::Context, any) | (any, Owner::Context) => Ok(any),
            (Owner::Module(a), Owner::Module(b)) if a.raw() == b.raw() => Ok(self),
            (Owner::Module(a), Owner::Function(b, _)) if a.raw() == b.raw() => Ok(other),
            (Owner::Function(a, _), Owner::Module(b)) if a.raw() == b.raw() => Ok(self),
            (Owner::Function(a, f), Owner::Function(b, g)) if a.raw() == b.raw() => match f == g {
                true => Ok(self),
                false => Err(Error::Mixed { operation, other: Mixed::Function }),
            },
            _ => Err(Error::Mixed { operation, other: Mixed::Module }),
        }
    }
}

impl<'m> Value<'m> {
    pub(super) fn new(raw: raw::LLVMValueRef, owner: Owner<'m>, context: &'m Context) -> Self {
        Self { raw, owner, context }
    }

    pub(super) fn raw(self) -> raw::LLVMValueRef {
        self.raw
    }

    pub(super) fn owner(self) -> Owner<'m> {
        self.owner
    }

    pub(super) fn context(self) -> &'m Context {
        self.context
    }

    pub(super) fn is_inline_assembly(self) -> bool {
        // SAFETY: the value is live.
        unsafe { !raw::LLVMIsAInlineAsm(self.raw).is_null() }
    }

    /// Returns its type.
    #[doc(alias = "LLVMTypeOf")]
    pub fn ty(self) -> Type<'m> {
        // SAFETY: the value is live.
        Type::from_raw(unsafe { raw::LLVMTypeOf(self.raw) }, self.context)
    }

    /// Returns whether it is a constant. Functions and globals are, since their addresses are.
    #[doc(alias = "LLVMIsConstant")]
    pub fn is_constant(self) -> bool {
        // SAFETY: the value is live.
        unsafe { raw::LLVMIsConstant(self.raw) != 0 }
    }

    /// Returns the value of a constant integer of at most 64 bits, sign-extended.
    #[doc(alias = "LLVMConstIntGetSExtValue")]
    pub fn as_int(self) -> Option<i64> {
        // SAFETY: the value is live, and the second function is only called for constant integers that fit.
        unsafe { self.is_small_int().then(|| raw::LLVMConstIntGetSExtValue(self.raw)) }
    }

    /// Returns the value of a constant integer of at most 64 bits, zero-extended.
    #[doc(alias = "LLVMConstIntGetZExtValue")]
    pub fn as_uint(self) -> Option<u64> {
        // SAFETY: as in `as_int`.
        unsafe { self.is_small_int().then(|| raw::LLVMConstIntGetZExtValue(self.raw)) }
    }

    fn is_small_int(self) -> bool {
        // SAFETY: the value is live.
        let is_int = unsafe { !raw::LLVMIsAConstantInt(self.raw).is_null() };
        is_int && matches!(self.ty().kind(), TypeKind::Int(..=64))
    }

    /// Returns its name, which may be empty.
    #[doc(alias = "LLVMGetValueName2")]
    pub fn name(self) -> String {
        let mut length = 0;
        // SAFETY: the value is live, the pointer is valid for the write, and the string has the returned length.
        unsafe {
            let text = raw::LLVMGetValueName2(self.raw, &mut length);
            raw::copy_text(text, length)
        }
    }

    /// Sets the name of a parameter or of an instruction's result. LLVM adds a number if the function already has the
    /// name.
    ///
    /// # Errors
    /// [`Error::Null`]; [`Error::Invalid`] for a constant, a global, or an instruction without a result.
    #[doc(alias = "LLVMSetValueName2")]
    pub fn set_name(self, name: &str) -> Result<()> {
        let text = raw::c_text("a value's name", name)?;
        if !matches!(self.owner, Owner::Function(..)) || self.is_constant() || self.ty().kind() == TypeKind::Void {
            return Err(Error::invalid("set_name", "only parameters and results of instructions are renamed"));
        }
        // SAFETY: the value is live and not a constant, and the text copied.
        unsafe { raw::LLVMSetValueName2(self.raw, text.as_ptr(), name.len()) };
        Ok(())
    }

    /// Sets the alignment, in bytes, that a load, store, allocation, atomic operation or global variable assumes.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `bytes` is not a power of two up to 2³¹, or if the value is none of these.
    #[doc(alias = "LLVMSetAlignment")]
    pub fn set_alignment(self, bytes: u32) -> Result<()> {
        if !bytes.is_power_of_two() {
            return Err(Error::invalid("set_alignment", format!("{bytes} is not a power of two")));
        }
        // SAFETY: the value is live.
        let possible = unsafe {
            [
                raw::LLVMIsALoadInst(self.raw),
                raw::LLVMIsAStoreInst(self.raw),
                raw::LLVMIsAAllocaInst(self.raw),
                raw::LLVMIsAAtomicRMWInst(self.raw),
                raw::LLVMIsAAtomicCmpXchgInst(self.raw),
                raw::LLVMIsAGlobalVariable(self.raw),
                raw::LLVMIsAFunction(self.raw),
            ]
        };
        if possible.iter().all(|cast| cast.is_null()) {
            return Err(Error::invalid("set_alignment", format!("`{self}` has no alignment")));
        }
        // SAFETY: the value is live and of a kind that has an alignment, which is a power of two.
        unsafe { raw::LLVMSetAlignment(self.raw, bytes) };
        Ok(())
    }

    /// Makes a load, store or atomic operation volatile, or not.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the value is none of these.
    #[doc(alias = "LLVMSetVolatile")]
    pub fn set_volatile(self, volatile: bool) -> Result<()> {
        // SAFETY: the value is live.
        let possible = unsafe {
            [
                raw::LLVMIsALoadInst(self.raw),
                raw::LLVMIsAStoreInst(self.raw),
                raw::LLVMIsAAtomicRMWInst(self.raw),
                raw::LLVMIsAAtomicCmpXchgInst(self.raw),
            ]
        };
        if possible.iter().all(|cast| cast.is_null()) {
            return Err(Error::invalid("set_volatile", format!("`{self}` does not access memory")));
        }
        // SAFETY: the value is live, and an access.
        unsafe { raw::LLVMSetVolatile(self.raw, raw::flag(volatile)) };
        Ok(())
    }

    /// Allows optimisations of a floating-point operation that strict IEEE arithmetic forbids.
    ///
    /// # Errors
    /// [`Error::MissingFunction`] before LLVM 18; [`Error::Invalid`] if the value is not a floating-point operation.
    #[doc(alias = "LLVMSetFastMathFlags")]
    #[doc(alias = "LLVMCanValueUseFastMathFlags")]
    pub fn set_fast_math(self, flags: FastMath) -> Result<()> {
        let (can, set) = (later::LLVMCanValueUseFastMathFlags()?, later::LLVMSetFastMathFlags()?);
        // SAFETY: the value is live, and the second function is only called for instructions.
        let possible = unsafe { !raw::LLVMIsAInstruction(self.raw).is_null() && can(self.raw) != 0 };
        if !possible {
            return Err(Error::invalid("set_fast_math", format!("`{self}` is not a floating-point operation")));
        }
        // SAFETY: the value is live and supports flags, and these are flags of LLVM.
        unsafe { set(self.raw, flags.0) };
        Ok(())
    }
}

impl PartialEq for Value<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}

impl Eq for Value<'_> {}

/// Prints it as LLVM does: `%sum = add i32 %a, %b`.
impl fmt::Display for Value<'_> {
    #[doc(alias = "LLVMPrintValueToString")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the value is live, and the text given away.
        f.write_str(unsafe { raw::take_message(raw::LLVMPrintValueToString(self.raw)) }.trim_start())
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Value({self})")
    }
}

/// The relaxations of a floating-point operation: see LLVM's fast-math flags.
///
/// ```
/// use rocm_llvm::llvm::{Context, FastMath};
///
/// # fn main() -> Result<(), rocm_llvm::llvm::Error> {
/// # if rocm_llvm::llvm::Library::load().is_err() { return Ok(()) }
/// let context = Context::new()?;
/// let module = context.module("example")?;
/// let ty = context.f32();
/// let f = module.add_function("f", ty.function(&[ty], false)?)?;
/// let b = f.append_block("entry")?.builder();
/// let sum = b.fadd(f.parameter(0)?, f.parameter(0)?, "sum")?;
/// sum.set_fast_math(FastMath::REASSOCIATE.and(FastMath::CONTRACT))?;
/// assert!(sum.to_string().contains("fadd reassoc contract float"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FastMath(u32);

impl FastMath {
    /// None: strict IEEE arithmetic.
    pub const NONE: Self = Self(0);
    /// Operations may be reordered (`reassoc`).
    pub const REASSOCIATE: Self = Self(1);
    /// Operands and results are not NaN (`nnan`).
    pub const NO_NANS: Self = Self(1 << 1);
    /// Operands and results are not infinite (`ninf`).
    pub const NO_INFINITIES: Self = Self(1 << 2);
    /// The sign of a zero does not matter (`nsz`).
    pub const NO_SIGNED_ZEROS: Self = Self(1 << 3);
    /// A division may become a multiplication by the reciprocal (`arcp`).
    pub const RECIPROCAL: Self = Self(1 << 4);
    /// A multiplication and an addition may become one operation (`contract`).
    pub const CONTRACT: Self = Self(1 << 5);
    /// Functions may be approximated (`afn`).
    pub const APPROXIMATE: Self = Self(1 << 6);
    /// All of these (`fast`).
    pub const FAST: Self = Self(0x7f);

    pub(super) fn from_raw(flags: u32) -> Self {
        Self(flags & Self::FAST.0)
    }

    /// Returns whether all flags of `other` are among these.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the flags of both.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl<'m> Type<'m> {
    fn constant(self, raw: raw::LLVMValueRef, owner: Owner<'m>) -> Value<'m> {
        Value::new(raw, owner, self.context())
    }

    /// Returns a constant integer of this type: the lowest bits of `value`, sign-extended if the type has more than 64.
    ///
    /// # Errors
    /// [`Error::Type`] if this is not an integer type; [`Error::Invalid`] if the value does not fit, signed or
    /// unsigned.
    #[doc(alias = "LLVMConstInt")]
    pub fn const_int(self, value: i128) -> Result<Value<'m>> {
        let TypeKind::Int(bits) = self.kind() else { return Err(Error::of_type("const_int", "an integer type", self)) };
        let fits = match bits {
            ..=64 => (-(1_i128 << (bits - 1))..(1_i128 << bits)).contains(&value),
            _ => i64::try_from(value).is_ok(),
        };
        if !fits {
            return Err(Error::invalid("const_int", format!("{value} does not fit into {self}")));
        }
        // The lowest 64 bits; LLVM takes as many as the type has.
        let low = (value & i128::from(u64::MAX)) as u64;
        // SAFETY: the type is live, and an integer.
        Ok(self
            .constant(unsafe { raw::LLVMConstInt(self.raw(), low & mask(bits), raw::flag(bits > 64)) }, Owner::Context))
    }

    /// Returns a constant floating-point number of this type, rounded.
    ///
    /// # Errors
    /// [`Error::Type`] if this is not a floating-point type.
    #[doc(alias = "LLVMConstReal")]
    pub fn const_float(self, value: f64) -> Result<Value<'m>> {
        if !self.is_float() || self.is_vector() {
            return Err(Error::of_type("const_float", "a floating-point type", self));
        }
        // SAFETY: the type is live, and of floating-point numbers.
        Ok(self.constant(unsafe { raw::LLVMConstReal(self.raw(), value) }, Owner::Context))
    }

    /// Returns the value whose bits are all zero: 0, null, an aggregate of these.
    ///
    /// # Errors
    /// [`Error::Type`] if this type has no values.
    #[doc(alias = "LLVMConstNull")]
    pub fn null(self) -> Result<Value<'m>> {
        self.check_element("null")?;
        // SAFETY: the type is live, and has values.
        Ok(self.constant(unsafe { raw::LLVMConstNull(self.raw()) }, Owner::Context))
    }

    /// Returns the undefined value, which may differ at each use.
    ///
    /// # Errors
    /// [`Error::Type`] if this type has no values.
    #[doc(alias = "LLVMGetUndef")]
    pub fn undef(self) -> Result<Value<'m>> {
        self.check_element("undef")?;
        // SAFETY: the type is live, and has values.
        Ok(self.constant(unsafe { raw::LLVMGetUndef(self.raw()) }, Owner::Context))
    }

    /// Returns the poison value, which must not be used: a start for building an aggregate or a vector.
    ///
    /// # Errors
    /// [`Error::Type`] if this type has no values.
    #[doc(alias = "LLVMGetPoison")]
    pub fn poison(self) -> Result<Value<'m>> {
        self.check_element("poison")?;
        // SAFETY: the type is live, and has values.
        Ok(self.constant(unsafe { raw::LLVMGetPoison(self.raw()) }, Owner::Context))
    }

    /// Returns a constant array of elements of this type.
    ///
    /// # Errors
    /// [`Error::Type`] if an element is not a constant of this type; [`Error::Mixed`].
    #[doc(alias = "LLVMConstArray2")]
    pub fn const_array(self, elements: &[Value<'m>]) -> Result<Value<'m>> {
        let operation = "const_array";
        self.array(elements.len() as u64)?;
        let (mut raws, owner) = constants(operation, self.context(), elements, |_| Some(self))?;
        // SAFETY: the type is live, and all constants have it; the count is that of the vector.
        let raw = unsafe { raw::LLVMConstArray2(self.raw(), raws.as_mut_ptr(), raws.len() as u64) };
        Ok(self.constant(raw, owner))
    }

    /// Returns a constant vector of elements of this type.
    ///
    /// # Errors
    /// [`Error::Type`] if an element is not a constant of this type; [`Error::Invalid`] if there is none;
    /// [`Error::Mixed`].
    #[doc(alias = "LLVMConstVector")]
    pub fn const_vector(self, elements: &[Value<'m>]) -> Result<Value<'m>> {
        let operation = "const_vector";
        let count = u32::try_from(elements.len()).unwrap_or(u32::MAX);
        self.vector(count)?;
        let (mut raws, owner) = constants(operation, self.context(), elements, |_| Some(self))?;
        // SAFETY: all constants have one type that vectors can have; the count is that of the vector, and at least one.
        Ok(self.constant(unsafe { raw::LLVMConstVector(raws.as_mut_ptr(), count) }, owner))
    }
}

fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

pub(super) fn constants<'m>(
    operation: &'static str,
    context: &Context,
    elements: &[Value<'m>],
    ty: impl Fn(usize) -> Option<Type<'m>>,
) -> Result<(Vec<raw::LLVMValueRef>, Owner<'m>)> {
    let mut owner = Owner::Context;
    let mut raws = Vec::with_capacity(elements.len());
    for (at, element) in elements.iter().enumerate() {
        context.same(operation, element.context)?;
        if !element.is_constant() {
            return Err(Error::invalid(operation, format!("`{element}` is not a constant")));
        }
        if let Some(ty) = ty(at).filter(|ty| *ty != element.ty()) {
            return Err(Error::of_type(operation, ty, element.ty()));
        }
        owner = owner.join(operation, element.owner)?;
        raws.push(element.raw);
    }
    Ok((raws, owner))
}

impl Context {
    /// Returns a constant structure of these fields. A packed one has no padding.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a field is not a constant; [`Error::Mixed`].
    #[doc(alias = "LLVMConstStructInContext")]
    pub fn const_structure<'m>(&'m self, fields: &[Value<'m>], packed: bool) -> Result<Value<'m>> {
        let operation = "const_structure";
        let types: Vec<_> = fields.iter().map(|field| field.ty()).collect();
        let (mut raws, owner) = constants(operation, self, fields, |_| None)?;
        self.structure(&types, packed)?;
        // SAFETY: the context is live, and all constants belong to it; the count is bounded by the check of the type.
        let raw = unsafe {
            raw::LLVMConstStructInContext(self.raw(), raws.as_mut_ptr(), raws.len() as u32, raw::flag(packed))
        };
        Ok(Value::new(raw, owner, self))
    }

    /// Returns a constant array of bytes.
    ///
    /// # Errors
    /// [`Error::Invalid`] for more than 2³¹ bytes.
    #[doc(alias = "LLVMConstStringInContext")]
    pub fn const_bytes(&self, bytes: &[u8]) -> Result<Value<'_>> {
        let length = i32::try_from(bytes.len()).map_err(|_| Error::invalid("const_bytes", "too many bytes"))?;
        // SAFETY: the context is live, and the bytes are valid for the length and copied.
        let raw = unsafe { raw::LLVMConstStringInContext(self.raw(), bytes.as_ptr().cast(), length.unsigned_abs(), 1) };
        Ok(Value::new(raw, Owner::Context, self))
    }
}
