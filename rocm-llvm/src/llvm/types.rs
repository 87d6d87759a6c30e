//! Types.

use std::fmt;

use super::context::Context;
use super::error::{Error, Result};
use super::extent::Extent;
use super::raw;

/// A type, which belongs to a [`Context`]. Equal types of one context compare equal, except for named structures.
///
/// ```
/// use rocm_llvm::llvm::{AddressSpace, Context, TypeKind};
///
/// # fn main() -> Result<(), rocm_llvm::llvm::Error> {
/// # if rocm_llvm::llvm::Library::load().is_err() { return Ok(()) }
/// let context = Context::new()?;
/// let ty = context.structure(&[context.i8(), context.f32().vector(4)?, context.pointer(AddressSpace::Global)], false)?;
/// assert_eq!(ty.to_string(), "{ i8, <4 x float>, ptr addrspace(1) }");
/// let fields = ty.fields().unwrap_or_default();
/// assert_eq!(fields.iter().map(|field| field.kind()).collect::<Vec<_>>(), [
///     TypeKind::Int(8),
///     TypeKind::Vector(4),
///     TypeKind::Pointer(1),
/// ]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct Type<'c> {
    raw: raw::LLVMTypeRef,
    context: &'c Context,
}

/// The kind of a [`Type`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TypeKind {
    /// No value.
    Void,
    /// IEEE half precision.
    F16,
    /// Brain floating point.
    Bf16,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
    /// An integer of this many bits.
    Int(u32),
    /// A pointer into the address space of this number.
    Pointer(u32),
    /// An array.
    Array,
    /// A vector of this many elements.
    Vector(u32),
    /// A structure.
    Struct,
    /// A function: see [`FunctionType`].
    Function,
    /// Metadata as an argument of an intrinsic.
    Metadata,
    /// A type that this crate does not create.
    Other,
}

/// An address space of AMD GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AddressSpace {
    /// Any of global, local and private memory.
    Generic,
    /// Global memory: buffers of the host.
    Global,
    /// The global data share.
    Region,
    /// Local memory of a workgroup: LDS, `__shared__`.
    Local,
    /// Global memory that does not change during a kernel: kernel arguments.
    Constant,
    /// Private memory of a work item: the stack. `alloca` allocates here.
    Private,
    /// Buffers with a descriptor and an offset.
    BufferFat,
    /// Descriptors of buffers.
    BufferResource,
}

impl AddressSpace {
    /// Returns its number in LLVM.
    pub fn number(self) -> u32 {
        match self {
            Self::Generic => 0,
            Self::Global => 1,
            Self::Region => 2,
            Self::Local => 3,
            Self::Constant => 4,
            Self::Private => 5,
            Self::BufferFat => 7,
            Self::BufferResource => 8,
        }
    }
}

/// LLVM's largest integer.
const WIDEST: u32 = 1 << 23;

impl Context {
    fn wrap(&self, raw: raw::LLVMTypeRef) -> Type<'_> {
        Type { raw, context: self }
    }

    /// Returns the type without values.
    #[doc(alias = "LLVMVoidTypeInContext")]
    pub fn void(&self) -> Type<'_> {
        // SAFETY: the context is live.
        self.wrap(unsafe { raw::LLVMVoidTypeInContext(self.raw()) })
    }

    fn int_of(&self, bits: u32) -> Type<'_> {
        // SAFETY: the context is live, and LLVM supports the width.
        self.wrap(unsafe { raw::LLVMIntTypeInContext(self.raw(), bits) })
    }

    /// Returns the integer of one bit: `bool`.
    #[doc(alias = "LLVMIntTypeInContext")]
    pub fn i1(&self) -> Type<'_> {
        self.int_of(1)
    }

    /// Returns the integer of 8 bits.
    pub fn i8(&self) -> Type<'_> {
        self.int_of(8)
    }

    /// Returns the integer of 16 bits.
    pub fn i16(&self) -> Type<'_> {
        self.int_of(16)
    }

    /// Returns the integer of 32 bits.
    pub fn i32(&self) -> Type<'_> {
        self.int_of(32)
    }

    /// Returns the integer of 64 bits.
    pub fn i64(&self) -> Type<'_> {
        self.int_of(64)
    }

    /// Returns the integer of `bits` bits.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `bits` is 0 or more than 2²³.
    pub fn int(&self, bits: u32) -> Result<Type<'_>> {
        match bits {
            1..=WIDEST => Ok(self.int_of(bits)),
            _ => Err(Error::invalid("integer type", format!("{bits} bits; LLVM has 1 to {WIDEST}"))),
        }
    }

    /// Returns the floating-point type of 16 bits.
    #[doc(alias = "LLVMHalfTypeInContext")]
    pub fn f16(&self) -> Type<'_> {
        // SAFETY: the context is live.
        self.wrap(unsafe { raw::LLVMHalfTypeInContext(self.raw()) })
    }

    /// Returns the brain floating-point type.
    #[doc(alias = "LLVMBFloatTypeInContext")]
    pub fn bf16(&self) -> Type<'_> {
        // SAFETY: the context is live.
        self.wrap(unsafe { raw::LLVMBFloatTypeInContext(self.raw()) })
    }

    /// Returns the floating-point type of 32 bits.
    #[doc(alias = "LLVMFloatTypeInContext")]
    pub fn f32(&self) -> Type<'_> {
        // SAFETY: the context is live.
        self.wrap(unsafe { raw::LLVMFloatTypeInContext(self.raw()) })
    }

    /// Returns the floating-point type of 64 bits.
    #[doc(alias = "LLVMDoubleTypeInContext")]
    pub fn f64(&self) -> Type<'_> {
        // SAFETY: the context is live.
        self.wrap(unsafe { raw::LLVMDoubleTypeInContext(self.raw()) })
    }

    /// Returns the pointer into an address space. Pointers have no pointee type.
    #[doc(alias = "LLVMPointerTypeInContext")]
    pub fn pointer(&self, space: AddressSpace) -> Type<'_> {
        // SAFETY: the context is live, and LLVM has this number.
        self.wrap(unsafe { raw::LLVMPointerTypeInContext(self.raw(), space.number()) })
    }

    /// Returns the structure with these fields. A packed one has no padding.
    ///
    /// # Errors
    /// [`Error::Type`] if a type cannot be a field; [`Error::Invalid`] if the structure is too large; [`Error::Mixed`].
    #[doc(alias = "LLVMStructTypeInContext")]
    pub fn structure<'c>(&'c self, fields: &[Type<'c>], packed: bool) -> Result<Type<'c>> {
        let operation = "structure type";
        let count = count(operation, fields.len())?;
        let mut extent = Extent { bytes: 0, depth: 0 };
        for field in fields {
            self.same(operation, field.context)?;
            field.check_element(operation)?;
            let of = field.extent();
            extent = Extent { bytes: extent.bytes + of.bytes + 16, depth: extent.depth.max(of.depth + 1) };
        }
        extent.check(operation)?;
        let mut raws: Vec<_> = fields.iter().map(|field| field.raw).collect();
        // SAFETY: the context is live, and all types belong to it; the count is that of the vector.
        let raw = unsafe { raw::LLVMStructTypeInContext(self.raw(), raws.as_mut_ptr(), count, raw::flag(packed)) };
        Ok(self.sized(raw, extent))
    }

    fn sized(&self, raw: raw::LLVMTypeRef, extent: Extent) -> Type<'_> {
        self.extents.borrow_mut().insert(raw.addr(), extent);
        self.wrap(raw)
    }
}

pub(super) fn count(operation: &'static str, length: usize) -> Result<u32> {
    // A longer list would not fit into LLVM's own fields.
    match u32::try_from(length) {
        Ok(count) if count < 1 << 24 => Ok(count),
        _ => Err(Error::invalid(operation, format!("{length} parts; at most {} are supported", (1 << 24) - 1))),
    }
}

impl<'c> Type<'c> {
    pub(super) fn from_raw(raw: raw::LLVMTypeRef, context: &'c Context) -> Self {
        Self { raw, context }
    }

    pub(super) fn raw(self) -> raw::LLVMTypeRef {
        self.raw
    }

    pub(super) fn context(self) -> &'c Context {
        self.context
    }

    /// Returns its kind.
    #[doc(alias = "LLVMGetTypeKind")]
    #[doc(alias = "LLVMGetIntTypeWidth")]
    #[doc(alias = "LLVMGetPointerAddressSpace")]
    #[doc(alias = "LLVMGetVectorSize")]
    pub fn kind(self) -> TypeKind {
        // SAFETY: the type is live with its context.
        match unsafe { raw::LLVMGetTypeKind(self.raw) }.0 {
            0 => TypeKind::Void,
            1 => TypeKind::F16,
            2 => TypeKind::F32,
            3 => TypeKind::F64,
            // SAFETY: as above, and it is an integer.
            8 => TypeKind::Int(unsafe { raw::LLVMGetIntTypeWidth(self.raw) }),
            9 => TypeKind::Function,
            10 => TypeKind::Struct,
            11 => TypeKind::Array,
            // SAFETY: as above, and it is a pointer.
            12 => TypeKind::Pointer(unsafe { raw::LLVMGetPointerAddressSpace(self.raw) }),
            // SAFETY: as above, and it is a vector.
            13 => TypeKind::Vector(unsafe { raw::LLVMGetVectorSize(self.raw) }),
            14 => TypeKind::Metadata,
            18 => TypeKind::Bf16,
            _ => TypeKind::Other,
        }
    }

    /// Returns the array of `length` elements of this type.
    ///
    /// # Errors
    /// [`Error::Type`] if this cannot be an element type; [`Error::Invalid`] if the array is too large.
    #[doc(alias = "LLVMArrayType2")]
    pub fn array(self, length: u64) -> Result<Type<'c>> {
        self.check_element("array type")?;
        let of = self.extent();
        let extent = Extent { bytes: of.bytes.saturating_mul(u128::from(length)), depth: of.depth + 1 };
        extent.check("array type")?;
        // SAFETY: the type is live, and can be an element type.
        Ok(self.context.sized(unsafe { raw::LLVMArrayType2(self.raw, length) }, extent))
    }

    /// Returns the vector of `length` elements of this type: an integer, floating-point number or pointer.
    ///
    /// # Errors
    /// [`Error::Type`] if this is not such a type; [`Error::Invalid`] if the length is 0 or more than 65536.
    #[doc(alias = "LLVMVectorType")]
    pub fn vector(self, length: u32) -> Result<Type<'c>> {
        if !(self.is_int() || self.is_float() || self.is_pointer()) || self.is_vector() {
            return Err(Error::of_type("vector type", "an integer, a floating-point number or a pointer", self));
        }
        if !(1..=65536).contains(&length) {
            return Err(Error::invalid("vector type", format!("{length} elements; 1 to 65536 are supported")));
        }
        let of = self.extent();
        let extent = Extent { bytes: of.bytes * u128::from(length), depth: of.depth + 1 };
        // SAFETY: the type is live, can be an element type, and the length is not zero.
        Ok(self.context.sized(unsafe { raw::LLVMVectorType(self.raw, length) }, extent))
    }

    /// Returns the function type with this result and these parameters. A variadic function takes further arguments.
    ///
    /// # Errors
    /// [`Error::Type`] if a type cannot be returned or passed; [`Error::Mixed`].
    #[doc(alias = "LLVMFunctionType")]
    pub fn function(self, parameters: &[Type<'c>], variadic: bool) -> Result<FunctionType<'c>> {
        let operation = "function type";
        if !matches!(self.kind(), TypeKind::Void) {
            self.check_element(operation)?;
        }
        let count = count(operation, parameters.len())?;
        for parameter in parameters {
            self.context.same(operation, parameter.context)?;
            if parameter.kind() != TypeKind::Metadata {
                parameter.check_element(operation)?;
            }
        }
        let mut raws: Vec<_> = parameters.iter().map(|parameter| parameter.raw).collect();
        // SAFETY: the types are live, of one context, and valid as parameters; the count is that of the vector.
        let raw = unsafe { raw::LLVMFunctionType(self.raw, raws.as_mut_ptr(), count, raw::flag(variadic)) };
        Ok(FunctionType { of: Type { raw, context: self.context } })
    }

    /// Returns the type of the elements of an array or a vector.
    #[doc(alias = "LLVMGetElementType")]
    pub fn element(self) -> Option<Type<'c>> {
        match self.kind() {
            TypeKind::Array | TypeKind::Vector(_) => {
                // SAFETY: the type is live, and has elements.
                let element = unsafe { raw::LLVMGetElementType(self.raw) };
                Some(self.context.wrap_of(element))
            }
            _ => None,
        }
    }

    /// Returns the length of an array or a vector.
    #[doc(alias = "LLVMGetArrayLength2")]
    pub fn length(self) -> Option<u64> {
        match self.kind() {
            // SAFETY: the type is live, and an array.
            TypeKind::Array => Some(unsafe { raw::LLVMGetArrayLength2(self.raw) }),
            TypeKind::Vector(length) => Some(u64::from(length)),
            _ => None,
        }
    }

    /// Returns the types of a structure's fields; `None` for other types and structures without a body.
    #[doc(alias = "LLVMGetStructElementTypes")]
    pub fn fields(self) -> Option<Vec<Type<'c>>> {
        // SAFETY: the type is live, and the second function is only called for structures.
        if self.kind() != TypeKind::Struct || unsafe { raw::LLVMIsOpaqueStruct(self.raw) } != 0 {
            return None;
        }
        // SAFETY: a structure, which is live.
        let count = unsafe { raw::LLVMCountStructElementTypes(self.raw) };
        let mut raws = vec![std::ptr::null_mut(); count as usize];
        // SAFETY: the buffer has room for the types that LLVM writes.
        unsafe { raw::LLVMGetStructElementTypes(self.raw, raws.as_mut_ptr()) };
        Some(raws.into_iter().map(|raw| self.context.wrap_of(raw)).collect())
    }

    /// Returns whether it is an integer, or a vector of integers.
    pub fn is_int(self) -> bool {
        matches!(self.scalar().kind(), TypeKind::Int(_))
    }

    /// Returns whether it is a floating-point number, or a vector of them.
    pub fn is_float(self) -> bool {
        matches!(self.scalar().kind(), TypeKind::F16 | TypeKind::Bf16 | TypeKind::F32 | TypeKind::F64)
    }

    /// Returns whether it is a pointer, or a vector of pointers.
    pub fn is_pointer(self) -> bool {
        matches!(self.scalar().kind(), TypeKind::Pointer(_))
    }

    pub(super) fn is_vector(self) -> bool {
        matches!(self.kind(), TypeKind::Vector(_))
    }

    /// Returns the element type of a vector, otherwise the type itself.
    pub(super) fn scalar(self) -> Type<'c> {
        match self.kind() {
            // SAFETY: the type is live, and a vector.
            TypeKind::Vector(_) => self.context.wrap_of(unsafe { raw::LLVMGetElementType(self.raw) }),
            _ => self,
        }
    }

    /// Returns the number of elements of a vector; `None` for other types.
    pub(super) fn lanes(self) -> Option<u32> {
        match self.kind() {
            TypeKind::Vector(lanes) => Some(lanes),
            _ => None,
        }
    }

    /// Returns the bits of an integer or a floating-point number, or of a vector's elements.
    pub(super) fn scalar_bits(self) -> u32 {
        match self.scalar().kind() {
            TypeKind::Int(bits) => bits,
            TypeKind::F16 | TypeKind::Bf16 => 16,
            TypeKind::F32 => 32,
            TypeKind::F64 => 64,
            _ => 0,
        }
    }

    /// Returns whether its values have a size: they can be loaded, stored and allocated.
    #[doc(alias = "LLVMTypeIsSized")]
    pub fn is_sized(self) -> bool {
        match self.kind() {
            TypeKind::Void | TypeKind::Function | TypeKind::Metadata | TypeKind::Other => false,
            // SAFETY: the type is live.
            _ => unsafe { raw::LLVMTypeIsSized(self.raw) != 0 },
        }
    }

    pub(super) fn check_element(self, operation: &'static str) -> Result<()> {
        match self.is_sized() {
            true => Ok(()),
            false => Err(Error::of_type(operation, "a type with a size", self)),
        }
    }

    pub(super) fn extent(self) -> Extent {
        if let Some(extent) = self.context.extents.borrow().get(&self.raw.addr()) {
            return *extent;
        }
        // A type of a parsed module: computed from its parts, once.
        let extent = match (self.kind(), self.element(), self.fields()) {
            (_, Some(element), _) => {
                let of = element.extent();
                let bytes = of.bytes.saturating_mul(u128::from(self.length().unwrap_or(1)));
                Extent { bytes, depth: of.depth + 1 }
            }
            (_, _, Some(fields)) => fields.iter().fold(Extent { bytes: 0, depth: 0 }, |sum, field| {
                let of = field.extent();
                Extent { bytes: sum.bytes.saturating_add(of.bytes + 16), depth: sum.depth.max(of.depth + 1) }
            }),
            (TypeKind::Int(bits), ..) => Extent { bytes: u128::from(bits.div_ceil(8)), depth: 0 },
            _ => Extent { bytes: 16, depth: 0 },
        };
        self.context.extents.borrow_mut().insert(self.raw.addr(), extent);
        extent
    }
}

impl Context {
    /// Like [`wrap`](Self::wrap), with the lifetime of the types.
    fn wrap_of(&self, raw: raw::LLVMTypeRef) -> Type<'_> {
        Type { raw, context: self }
    }
}

impl PartialEq for Type<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}

impl Eq for Type<'_> {}

/// Prints it as LLVM does: `{ i32, <4 x float> }`.
impl fmt::Display for Type<'_> {
    #[doc(alias = "LLVMPrintTypeToString")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the type is live, and the text given away.
        f.write_str(&unsafe { raw::take_message(raw::LLVMPrintTypeToString(self.raw)) })
    }
}

impl fmt::Debug for Type<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Type({self})")
    }
}

/// The type of a function, see [`Type::function`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FunctionType<'c> {
    of: Type<'c>,
}

impl<'c> FunctionType<'c> {
    /// `raw` must be a function type of the context.
    pub(super) fn from_raw(raw: raw::LLVMTypeRef, context: &'c Context) -> Self {
        Self { of: Type { raw, context } }
    }

    pub(super) fn raw(self) -> raw::LLVMTypeRef {
        self.of.raw
    }

    pub(super) fn context(self) -> &'c Context {
        self.of.context
    }

    /// Returns the type of the result.
    #[doc(alias = "LLVMGetReturnType")]
    pub fn result(self) -> Type<'c> {
        // SAFETY: a function type, which is live.
        self.of.context.wrap_of(unsafe { raw::LLVMGetReturnType(self.of.raw) })
    }

    /// Returns the types of the parameters.
    #[doc(alias = "LLVMGetParamTypes")]
    pub fn parameters(self) -> Vec<Type<'c>> {
        // SAFETY: a function type, which is live; the buffer has room for the types that LLVM writes.
        let raws = unsafe {
            let mut raws = vec![std::ptr::null_mut(); raw::LLVMCountParamTypes(self.of.raw) as usize];
            raw::LLVMGetParamTypes(self.of.raw, raws.as_mut_ptr());
            raws
        };
        raws.into_iter().map(|raw| self.of.context.wrap_of(raw)).collect()
    }

    /// Returns whether it takes more arguments than it has parameters.
    #[doc(alias = "LLVMIsFunctionVarArg")]
    pub fn is_variadic(self) -> bool {
        // SAFETY: a function type, which is live.
        unsafe { raw::LLVMIsFunctionVarArg(self.of.raw) != 0 }
    }
}

impl fmt::Display for FunctionType<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.of.fmt(f)
    }
}

impl fmt::Debug for FunctionType<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FunctionType({self})")
    }
}
