//! Types.

use std::fmt;
use std::marker::PhantomData;

use super::kinds::kinds;
use super::raw;
use super::unit::TranslationUnit;

/// A type in a [`TranslationUnit`], which it borrows.
///
/// ```
/// use rocm_llvm::clang::{Index, Source};
///
/// # fn main() -> Result<(), rocm_llvm::clang::Error> {
/// # if rocm_llvm::clang::Library::load().is_err() { return Ok(()) }
/// let index = Index::new()?;
/// let unit = index.parse(&Source::text("s.h", "struct s { char a; double b[2]; };"))?;
/// let declaration = unit.cursor().children()[0];
/// if let Some(ty) = declaration.ty() {
///     for field in ty.fields() {
///         println!("{}: {:?}, bit {:?}", field.spelling(), field.ty(), field.field_offset());
///     }
///     assert_eq!((ty.size(), ty.alignment()), (Some(24), Some(8)));
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct Type<'u> {
    pub(super) raw: raw::CXType,
    _unit: PhantomData<(&'u TranslationUnit<'u>, *const ())>,
}

kinds! {
    /// The kind of a [`Type`].
    TypeKind, "Another, by libclang's number.":
    /// A type that a language extension or an error hides.
    Unexposed = 1,
    /// `void`.
    Void = 2,
    /// `bool`.
    Bool = 3,
    /// `char` of a target where it is unsigned.
    CharUnsigned = 4,
    /// `unsigned char`.
    UChar = 5,
    /// `unsigned short`.
    UShort = 8,
    /// `unsigned int`.
    UInt = 9,
    /// `unsigned long`.
    ULong = 10,
    /// `unsigned long long`.
    ULongLong = 11,
    /// `char` of a target where it is signed.
    CharSigned = 13,
    /// `signed char`.
    SChar = 14,
    /// `short`.
    Short = 16,
    /// `int`.
    Int = 17,
    /// `long`.
    Long = 18,
    /// `long long`.
    LongLong = 19,
    /// `float`.
    Float = 21,
    /// `double`.
    Double = 22,
    /// A pointer.
    Pointer = 101,
    /// A reference.
    Reference = 103,
    /// A reference to a temporary (`&&`).
    RvalueReference = 104,
    /// A structure, union or class.
    Record = 105,
    /// An enum.
    Enum = 106,
    /// A name for a type.
    Typedef = 107,
    /// A function of C without a prototype.
    FunctionWithoutPrototype = 110,
    /// A function.
    Function = 111,
    /// An array of a constant length.
    Array = 112,
    /// A vector.
    Vector = 113,
    /// An array without a length.
    IncompleteArray = 114,
    /// A type with `struct`, a namespace or such before its name.
    Elaborated = 119,
}

impl<'u> Type<'u> {
    /// Returns `None` for the invalid type; otherwise a type of a unit that lives as long as the result.
    pub(super) fn some(raw: raw::CXType) -> Option<Self> {
        (raw.kind.0 != 0).then_some(Self { raw, _unit: PhantomData })
    }

    /// Returns its kind.
    pub fn kind(self) -> TypeKind {
        TypeKind::from_raw(self.raw.kind.0)
    }

    /// Returns whether it is an unsigned integer type, with aliases resolved. libclang's kinds of these are
    /// consecutive.
    pub(super) fn is_unsigned(self) -> bool {
        const BOOL: u32 = 3;
        const UINT128: u32 = 12;
        (BOOL..=UINT128).contains(&self.canonical().raw.kind.0)
    }

    /// Returns libclang's name of its kind, such as `FunctionProto`.
    #[doc(alias = "clang_getTypeKindSpelling")]
    pub fn kind_name(self) -> String {
        // SAFETY: the kind is one of libclang's, and the text given away.
        unsafe { raw::take(raw::clang_getTypeKindSpelling(self.raw.kind)) }.unwrap_or_default()
    }

    /// Returns it as text, such as `hipError_t (void **, size_t)`.
    #[doc(alias = "clang_getTypeSpelling")]
    pub fn spelling(self) -> String {
        // SAFETY: the unit is live, and the text given away.
        unsafe { raw::take(raw::clang_getTypeSpelling(self.raw)) }.unwrap_or_default()
    }

    /// Returns the type with aliases resolved: `unsigned long` for `size_t`.
    #[doc(alias = "clang_getCanonicalType")]
    pub fn canonical(self) -> Type<'u> {
        // SAFETY: the unit is live. A valid type has a canonical one.
        Self::some(unsafe { raw::clang_getCanonicalType(self.raw) }).unwrap_or(self)
    }

    /// Returns the type that a pointer or a reference points to.
    #[doc(alias = "clang_getPointeeType")]
    pub fn pointee(self) -> Option<Type<'u>> {
        // SAFETY: the unit is live.
        Self::some(unsafe { raw::clang_getPointeeType(self.raw) })
    }

    /// Returns the type of the elements of an array or a vector.
    #[doc(alias = "clang_getElementType")]
    pub fn element(self) -> Option<Type<'u>> {
        // SAFETY: the unit is live.
        Self::some(unsafe { raw::clang_getElementType(self.raw) })
    }

    /// Returns the length of an array of a constant length.
    #[doc(alias = "clang_getArraySize")]
    pub fn length(self) -> Option<u64> {
        // SAFETY: the unit is live. The result is -1 for other types.
        u64::try_from(unsafe { raw::clang_getArraySize(self.raw) }).ok()
    }

    /// Returns its size in bytes; `None` if it is incomplete, or depends on a template's parameters.
    #[doc(alias = "clang_Type_getSizeOf")]
    pub fn size(self) -> Option<u64> {
        // SAFETY: the unit is live. The result is negative for a type without a size.
        u64::try_from(unsafe { raw::clang_Type_getSizeOf(self.raw) }).ok()
    }

    /// Returns its alignment in bytes; `None` if it is incomplete, or depends on a template's parameters.
    #[doc(alias = "clang_Type_getAlignOf")]
    pub fn alignment(self) -> Option<u64> {
        // SAFETY: the unit is live. The result is negative for a type without an alignment.
        u64::try_from(unsafe { raw::clang_Type_getAlignOf(self.raw) }).ok()
    }

    /// Returns the type of a function's result.
    #[doc(alias = "clang_getResultType")]
    pub fn result(self) -> Option<Type<'u>> {
        // SAFETY: the unit is live.
        Self::some(unsafe { raw::clang_getResultType(self.raw) })
    }

    /// Returns the types of a function's parameters; none for others.
    #[doc(alias = "clang_getNumArgTypes")]
    #[doc(alias = "clang_getArgType")]
    pub fn parameters(self) -> Vec<Type<'u>> {
        // SAFETY: the unit is live. The count is -1 for a type that is not a function.
        let count = unsafe { raw::clang_getNumArgTypes(self.raw) };
        // SAFETY: the unit is live, and the index is below the count.
        (0..count).filter_map(|at| Self::some(unsafe { raw::clang_getArgType(self.raw, at.unsigned_abs()) })).collect()
    }

    /// Returns whether a function takes more arguments than it has parameters.
    #[doc(alias = "clang_isFunctionTypeVariadic")]
    pub fn is_variadic(self) -> bool {
        // SAFETY: the unit is live.
        unsafe { raw::clang_isFunctionTypeVariadic(self.raw) != 0 }
    }

    /// Returns whether the type itself is `const`, not the type that it points to.
    #[doc(alias = "clang_isConstQualifiedType")]
    pub fn is_const(self) -> bool {
        // SAFETY: the unit is live.
        unsafe { raw::clang_isConstQualifiedType(self.raw) != 0 }
    }
}

impl PartialEq for Type<'_> {
    #[doc(alias = "clang_equalTypes")]
    fn eq(&self, other: &Self) -> bool {
        // SAFETY: both units are live.
        unsafe { raw::clang_equalTypes(self.raw, other.raw) != 0 }
    }
}

impl Eq for Type<'_> {}

impl fmt::Display for Type<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.spelling())
    }
}

impl fmt::Debug for Type<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind_name(), self.spelling())
    }
}
