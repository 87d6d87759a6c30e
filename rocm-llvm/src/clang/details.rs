//! Properties of declarations: bit-fields, storage, access, names of symbols, arguments of templates.

use super::cursor::{Cursor, CursorKind};
use super::kinds::kinds;
use super::raw;
use super::types::Type;

kinds! {
    /// The storage class of a variable or function.
    StorageClass, "Another, by libclang's number.":
    /// Not a variable or function.
    Invalid = 0,
    /// None is written.
    None = 1,
    /// `extern`.
    Extern = 2,
    /// `static`.
    Static = 3,
    /// `__private_extern__`.
    PrivateExtern = 4,
    /// OpenCL's local memory of a workgroup.
    OpenClWorkGroupLocal = 5,
    /// `auto` of C.
    Auto = 6,
    /// `register`.
    Register = 7,
}

kinds! {
    /// Who can use a member of a class.
    Access, "Another, by libclang's number.":
    /// Not a member.
    Invalid = 0,
    /// All.
    Public = 1,
    /// The class and those derived from it.
    Protected = 2,
    /// The class.
    Private = 3,
}

kinds! {
    /// The linkage of a declaration.
    Linkage, "Another, by libclang's number.":
    /// Not a declaration with a linkage.
    Invalid = 0,
    /// A local variable or such.
    None = 1,
    /// `static`.
    Internal = 2,
    /// In an anonymous namespace.
    UniqueExternal = 3,
    /// Visible to other units.
    External = 4,
}

kinds! {
    /// Whether a declaration can be used.
    Availability, "Another, by libclang's number.":
    /// Yes.
    Available = 0,
    /// Yes, with a warning.
    Deprecated = 1,
    /// No.
    NotAvailable = 2,
    /// Not from here.
    NotAccessible = 3,
}

/// An argument of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TemplateArgument<'u> {
    /// A type.
    Type(Type<'u>),
    /// An integer.
    Int(i64),
    /// Another, by libclang's number: a pointer, a template, an expression, a pack.
    Other(u32),
}

macro_rules! questions {
    ($($(#[$doc:meta])* $name:ident = $function:ident;)*) => {
        impl Cursor<'_> {
            $(
                $(#[$doc])*
                pub fn $name(self) -> bool {
                    // SAFETY: the unit is live; the answer for other cursors is no.
                    unsafe { raw::$function(self.raw) != 0 }
                }
            )*
        }
    };
}

questions! {
    /// Returns whether a field has a width in bits.
    #[doc(alias = "clang_Cursor_isBitField")]
    is_bit_field = clang_Cursor_isBitField;
    /// Returns whether it has no name.
    #[doc(alias = "clang_Cursor_isAnonymous")]
    is_anonymous = clang_Cursor_isAnonymous;
    /// Returns whether a function is declared `inline`.
    #[doc(alias = "clang_Cursor_isFunctionInlined")]
    is_inline = clang_Cursor_isFunctionInlined;
    /// Returns whether a function takes more arguments than it has parameters.
    #[doc(alias = "clang_Cursor_isVariadic")]
    is_variadic = clang_Cursor_isVariadic;
    /// Returns whether it has attributes.
    #[doc(alias = "clang_Cursor_hasAttrs")]
    has_attributes = clang_Cursor_hasAttrs;
    /// Returns whether it is `enum class`.
    #[doc(alias = "clang_EnumDecl_isScoped")]
    is_scoped_enum = clang_EnumDecl_isScoped;
    /// Returns whether a method is `const`.
    #[doc(alias = "clang_CXXMethod_isConst")]
    is_const_method = clang_CXXMethod_isConst;
    /// Returns whether a method is `static`.
    #[doc(alias = "clang_CXXMethod_isStatic")]
    is_static_method = clang_CXXMethod_isStatic;
    /// Returns whether a method is virtual.
    #[doc(alias = "clang_CXXMethod_isVirtual")]
    is_virtual_method = clang_CXXMethod_isVirtual;
    /// Returns whether a method is virtual without a body.
    #[doc(alias = "clang_CXXMethod_isPureVirtual")]
    is_pure_virtual_method = clang_CXXMethod_isPureVirtual;
    /// Returns whether a method is defaulted.
    #[doc(alias = "clang_CXXMethod_isDefaulted")]
    is_defaulted_method = clang_CXXMethod_isDefaulted;
    /// Returns whether a class has pure virtual methods.
    #[doc(alias = "clang_CXXRecord_isAbstract")]
    is_abstract = clang_CXXRecord_isAbstract;
    /// Returns whether a constructor is that without arguments.
    #[doc(alias = "clang_CXXConstructor_isDefaultConstructor")]
    is_default_constructor = clang_CXXConstructor_isDefaultConstructor;
    /// Returns whether a constructor copies.
    #[doc(alias = "clang_CXXConstructor_isCopyConstructor")]
    is_copy_constructor = clang_CXXConstructor_isCopyConstructor;
    /// Returns whether a constructor moves.
    #[doc(alias = "clang_CXXConstructor_isMoveConstructor")]
    is_move_constructor = clang_CXXConstructor_isMoveConstructor;
}

impl<'u> Cursor<'u> {
    /// Returns the width of a bit-field in bits.
    #[doc(alias = "clang_getFieldDeclBitWidth")]
    pub fn bit_width(self) -> Option<u32> {
        if !self.is_bit_field() {
            return None;
        }
        // SAFETY: the unit is live. The result is -1 for a width that depends on a template's parameters.
        u32::try_from(unsafe { raw::clang_getFieldDeclBitWidth(self.raw) }).ok()
    }

    /// Returns its storage class.
    #[doc(alias = "clang_Cursor_getStorageClass")]
    pub fn storage_class(self) -> StorageClass {
        // SAFETY: the unit is live.
        StorageClass::from_raw(unsafe { raw::clang_Cursor_getStorageClass(self.raw) }.0)
    }

    /// Returns who can use a member.
    #[doc(alias = "clang_getCXXAccessSpecifier")]
    pub fn access(self) -> Access {
        // SAFETY: the unit is live.
        Access::from_raw(unsafe { raw::clang_getCXXAccessSpecifier(self.raw) }.0)
    }

    /// Returns its linkage.
    #[doc(alias = "clang_getCursorLinkage")]
    pub fn linkage(self) -> Linkage {
        // SAFETY: the unit is live.
        Linkage::from_raw(unsafe { raw::clang_getCursorLinkage(self.raw) }.0)
    }

    /// Returns whether it can be used, or is deprecated.
    #[doc(alias = "clang_getCursorAvailability")]
    pub fn availability(self) -> Availability {
        // SAFETY: the unit is live.
        Availability::from_raw(unsafe { raw::clang_getCursorAvailability(self.raw) }.0)
    }

    /// Returns the name of its symbol: `_Z3addii`. `None` for what has none, as templates and types.
    #[doc(alias = "clang_Cursor_getMangling")]
    pub fn mangling(self) -> Option<String> {
        use CursorKind::*;
        // libclang mangles a template, too, and reads memory that is not there.
        let has_symbol = matches!(self.kind(), Function | Variable | Method | Constructor | Destructor);
        if !has_symbol || self.depends_on_template() {
            return None;
        }
        // SAFETY: the unit is live, and the text given away.
        unsafe { raw::take(raw::clang_Cursor_getMangling(self.raw)) }.filter(|text| !text.is_empty())
    }

    /// Returns whether it is within a template.
    fn depends_on_template(self) -> bool {
        // Function templates, class templates and partial specialisations.
        let is_template = |cursor: &Cursor<'u>| (30..=32).contains(&cursor.raw.kind.0);
        std::iter::successors(Some(self), |cursor| cursor.parent()).any(|cursor| is_template(&cursor))
    }

    /// Returns the arguments of a function template's specialisation; none for others.
    #[doc(alias("clang_Cursor_getNumTemplateArguments", "clang_Cursor_getTemplateArgumentKind"))]
    #[doc(alias("clang_Cursor_getTemplateArgumentType", "clang_Cursor_getTemplateArgumentValue"))]
    pub fn template_arguments(self) -> Vec<TemplateArgument<'u>> {
        // SAFETY: the unit is live. The count is negative for others. The indices are below it, and the functions are called for the
        // kinds of arguments that they return.
        unsafe {
            let count = raw::clang_Cursor_getNumTemplateArguments(self.raw);
            let argument = |at: u32| match raw::clang_Cursor_getTemplateArgumentKind(self.raw, at).0 {
                1 => match Type::some(raw::clang_Cursor_getTemplateArgumentType(self.raw, at)) {
                    Some(ty) => TemplateArgument::Type(ty),
                    None => TemplateArgument::Other(1),
                },
                4 => TemplateArgument::Int(raw::clang_Cursor_getTemplateArgumentValue(self.raw, at)),
                other => TemplateArgument::Other(other),
            };
            (0..count).map(|at| argument(at.unsigned_abs())).collect()
        }
    }

    /// Returns the template that it is a specialisation of.
    #[doc(alias = "clang_getSpecializedCursorTemplate")]
    pub fn template(self) -> Option<Cursor<'u>> {
        // SAFETY: the unit is live.
        Self::some(unsafe { raw::clang_getSpecializedCursorTemplate(self.raw) })
    }

    /// Returns the parent in the text, which differs from [`parent`](Self::parent) for a method that is defined outside
    /// of its class.
    #[doc(alias = "clang_getCursorLexicalParent")]
    pub fn lexical_parent(self) -> Option<Cursor<'u>> {
        // SAFETY: the unit is live.
        Self::some(unsafe { raw::clang_getCursorLexicalParent(self.raw) })
    }

    /// Returns the first declaration of the same entity.
    #[doc(alias = "clang_getCanonicalCursor")]
    pub fn canonical(self) -> Cursor<'u> {
        // SAFETY: the unit is live.
        Self::some(unsafe { raw::clang_getCanonicalCursor(self.raw) }).unwrap_or(self)
    }

    /// Returns the file that an inclusion includes.
    #[doc(alias = "clang_getIncludedFile")]
    pub fn included_file(self) -> Option<std::path::PathBuf> {
        if self.kind() != CursorKind::Inclusion {
            return None;
        }
        // SAFETY: the unit is live, the cursor an inclusion, and the text given away.
        unsafe {
            let file = raw::clang_getIncludedFile(self.raw);
            if file.is_null() {
                return None;
            }
            raw::take(raw::clang_getFileName(file)).map(Into::into)
        }
    }
}

impl<'u> Type<'u> {
    /// Returns the types among the arguments of a class template's specialisation, `None` for an argument that is not a
    /// type; none for other types.
    #[doc(alias("clang_Type_getNumTemplateArguments", "clang_Type_getTemplateArgumentAsType"))]
    pub fn template_arguments(self) -> Vec<Option<Type<'u>>> {
        // SAFETY: the unit is live. The count is -1 for other types, and the indices are below it.
        unsafe {
            let count = raw::clang_Type_getNumTemplateArguments(self.raw);
            (0..count)
                .map(|at| Self::some(raw::clang_Type_getTemplateArgumentAsType(self.raw, at.unsigned_abs())))
                .collect()
        }
    }

    /// Returns the type with its name alone, without `struct` or a namespace before it.
    #[doc(alias = "clang_Type_getNamedType")]
    pub fn named(self) -> Option<Type<'u>> {
        // SAFETY: the unit is live.
        Self::some(unsafe { raw::clang_Type_getNamedType(self.raw) })
    }

    /// Returns the distance of a field from the start of a structure, in bits.
    #[doc(alias = "clang_Type_getOffsetOf")]
    pub fn offset_of(self, field: &str) -> Option<u64> {
        let field = raw::c_text("a field's name", field).ok()?;
        // SAFETY: the unit is live, and the text a C string. The result is negative for a field that is not there.
        u64::try_from(unsafe { raw::clang_Type_getOffsetOf(self.raw, field.as_ptr()) }).ok()
    }

    /// Returns the address space of a type: 0 is the usual one.
    #[doc(alias = "clang_getAddressSpace")]
    pub fn address_space(self) -> u32 {
        // SAFETY: the unit is live.
        unsafe { raw::clang_getAddressSpace(self.raw) }
    }

    /// Returns whether the type itself is `volatile`.
    #[doc(alias = "clang_isVolatileQualifiedType")]
    pub fn is_volatile(self) -> bool {
        // SAFETY: the unit is live.
        unsafe { raw::clang_isVolatileQualifiedType(self.raw) != 0 }
    }

    /// Returns whether a pointer is `restrict`.
    #[doc(alias = "clang_isRestrictQualifiedType")]
    pub fn is_restrict(self) -> bool {
        // SAFETY: the unit is live.
        unsafe { raw::clang_isRestrictQualifiedType(self.raw) != 0 }
    }

    /// Returns whether it is plain old data, as C's structures.
    #[doc(alias = "clang_isPODType")]
    pub fn is_plain(self) -> bool {
        // SAFETY: the unit is live.
        unsafe { raw::clang_isPODType(self.raw) != 0 }
    }
}
