//! Cursors: the nodes of the syntax tree.

use std::fmt;
use std::marker::PhantomData;

use super::diagnostic::Location;
use super::kinds::kinds;
use super::raw;
use super::types::Type;
use super::unit::TranslationUnit;

/// A node of the syntax tree of a [`TranslationUnit`], which it borrows.
///
/// ```
/// use rocm_llvm::clang::{CursorKind, Index, Source};
///
/// # fn main() -> Result<(), rocm_llvm::clang::Error> {
/// # if rocm_llvm::clang::Library::load().is_err() { return Ok(()) }
/// let index = Index::new()?;
/// let unit = index.parse(&Source::text("a.cpp", "int twice(int x) { return x + x; } int four = twice(2);"))?;
/// for cursor in unit.cursor().descendants().filter(|cursor| cursor.kind() == CursorKind::Call) {
///     let callee = cursor.referenced().map(|function| function.display_name());
///     assert_eq!(callee.as_deref(), Some("twice(int)"));
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct Cursor<'u> {
    pub(super) raw: raw::CXCursor,
    /// Only one thread at a time uses the cursors of a unit.
    _unit: PhantomData<(&'u TranslationUnit<'u>, *const ())>,
}

kinds! {
    /// The kind of a [`Cursor`].
    CursorKind, "Another, by libclang's number.":
    /// `struct`.
    Struct = 2,
    /// `union`.
    Union = 3,
    /// `class`.
    Class = 4,
    /// `enum`.
    Enum = 5,
    /// A field of a structure, union or class.
    Field = 6,
    /// A constant of an enum.
    EnumConstant = 7,
    /// A function.
    Function = 8,
    /// A variable.
    Variable = 9,
    /// A parameter of a function.
    Parameter = 10,
    /// `typedef`.
    Typedef = 20,
    /// A member function.
    Method = 21,
    /// A namespace.
    Namespace = 22,
    /// `extern "C" { ... }`.
    LinkageSpecification = 23,
    /// A constructor.
    Constructor = 24,
    /// A destructor.
    Destructor = 25,
    /// A template of functions.
    FunctionTemplate = 30,
    /// A template of classes or structures.
    ClassTemplate = 31,
    /// `using name = type`.
    TypeAlias = 36,
    /// A use of a type.
    TypeReference = 43,
    /// A use of a variable, function or such in an expression.
    DeclarationReference = 101,
    /// A call of a function.
    Call = 103,
    /// The whole unit.
    TranslationUnit = 350,
    /// The definition of a macro.
    MacroDefinition = 501,
    /// The use of a macro.
    MacroExpansion = 502,
    /// `#include`.
    Inclusion = 503,
}

impl<'u> Cursor<'u> {
    /// Makes a cursor of `raw`, which must belong to a unit that lives as long as the result.
    pub(super) fn from_raw(raw: raw::CXCursor) -> Self {
        Self { raw, _unit: PhantomData }
    }

    /// Returns `None` for the null cursor and for cursors that mean "nothing".
    pub(super) fn some(raw: raw::CXCursor) -> Option<Self> {
        // SAFETY: a cursor of a live unit, or null.
        let null = unsafe { raw::clang_Cursor_isNull(raw) != 0 };
        // 70 to 73: invalid file, no declaration found, not implemented, invalid code.
        (!null && !(70..=73).contains(&raw.kind.0)).then(|| Self::from_raw(raw))
    }

    /// Returns its kind.
    #[doc(alias = "clang_getCursorKind")]
    pub fn kind(self) -> CursorKind {
        // SAFETY: the unit is live.
        CursorKind::from_raw(unsafe { raw::clang_getCursorKind(self.raw) }.0)
    }

    /// Returns libclang's name of its kind, such as `FunctionDecl`.
    #[doc(alias = "clang_getCursorKindSpelling")]
    pub fn kind_name(self) -> String {
        // SAFETY: the kind is one of libclang's, and the text given away.
        unsafe { raw::take(raw::clang_getCursorKindSpelling(self.raw.kind)) }.unwrap_or_default()
    }

    /// Returns its name; empty if it has none.
    #[doc(alias = "clang_getCursorSpelling")]
    pub fn spelling(self) -> String {
        // SAFETY: the unit is live, and the text given away.
        unsafe { raw::take(raw::clang_getCursorSpelling(self.raw)) }.unwrap_or_default()
    }

    /// Returns its name with details, such as the parameters of a function: `hipFree(void *)`.
    #[doc(alias = "clang_getCursorDisplayName")]
    pub fn display_name(self) -> String {
        // SAFETY: the unit is live, and the text given away.
        unsafe { raw::take(raw::clang_getCursorDisplayName(self.raw)) }.unwrap_or_default()
    }

    /// Returns the string that identifies its declaration in all units (USR); empty if it has none.
    #[doc(alias = "clang_getCursorUSR")]
    pub fn usr(self) -> String {
        // SAFETY: the unit is live, and the text given away.
        unsafe { raw::take(raw::clang_getCursorUSR(self.raw)) }.unwrap_or_default()
    }

    /// Returns its type, if it has one.
    #[doc(alias = "clang_getCursorType")]
    pub fn ty(self) -> Option<Type<'u>> {
        // SAFETY: the unit is live.
        Type::some(unsafe { raw::clang_getCursorType(self.raw) })
    }

    /// Returns the type of a function's result.
    #[doc(alias = "clang_getCursorResultType")]
    pub fn result_type(self) -> Option<Type<'u>> {
        // SAFETY: the unit is live.
        Type::some(unsafe { raw::clang_getCursorResultType(self.raw) })
    }

    /// Returns the type that a `typedef` stands for.
    #[doc(alias = "clang_getTypedefDeclUnderlyingType")]
    pub fn underlying_type(self) -> Option<Type<'u>> {
        // SAFETY: the unit is live.
        Type::some(unsafe { raw::clang_getTypedefDeclUnderlyingType(self.raw) })
    }

    /// Returns the integer type of an enum.
    #[doc(alias = "clang_getEnumDeclIntegerType")]
    pub fn enum_type(self) -> Option<Type<'u>> {
        // SAFETY: the unit is live.
        Type::some(unsafe { raw::clang_getEnumDeclIntegerType(self.raw) })
    }

    /// Returns the value of an enum's constant, as the enum's integer type represents it: signed or unsigned.
    #[doc(alias("clang_getEnumConstantDeclValue", "clang_getEnumConstantDeclUnsignedValue"))]
    pub fn enum_value(self) -> Option<i128> {
        if self.kind() != CursorKind::EnumConstant {
            return None;
        }
        let integer = self.parent().and_then(Cursor::enum_type);
        Some(match integer.is_some_and(Type::is_unsigned) {
            // SAFETY: the unit is live, and the cursor is that of a constant.
            true => unsafe { raw::clang_getEnumConstantDeclUnsignedValue(self.raw) }.into(),
            // SAFETY: as above.
            false => unsafe { raw::clang_getEnumConstantDeclValue(self.raw) }.into(),
        })
    }

    /// Returns the offset of a field in bits, if the layout of its structure is known.
    #[doc(alias = "clang_Cursor_getOffsetOfField")]
    pub fn field_offset(self) -> Option<u64> {
        if self.kind() != CursorKind::Field {
            return None;
        }
        // SAFETY: the unit is live.
        u64::try_from(unsafe { raw::clang_Cursor_getOffsetOfField(self.raw) }).ok()
    }

    /// Returns its location in the source, if it is in a file.
    #[doc(alias = "clang_getCursorLocation")]
    pub fn location(self) -> Option<Location> {
        // SAFETY: the unit is live, and the location belongs to it.
        unsafe { Location::from_raw(raw::clang_getCursorLocation(self.raw)) }
    }

    /// Returns whether it is in the source itself, not in a file that it includes.
    #[doc(alias = "clang_Location_isFromMainFile")]
    pub fn is_in_main_file(self) -> bool {
        // SAFETY: the unit is live, and the location belongs to it.
        unsafe { raw::clang_Location_isFromMainFile(raw::clang_getCursorLocation(self.raw)) != 0 }
    }

    /// Returns whether it is in a system header.
    #[doc(alias = "clang_Location_isInSystemHeader")]
    pub fn is_in_system_header(self) -> bool {
        // SAFETY: the unit is live, and the location belongs to it.
        unsafe { raw::clang_Location_isInSystemHeader(raw::clang_getCursorLocation(self.raw)) != 0 }
    }

    /// Returns whether it is the definition, not only a declaration.
    #[doc(alias = "clang_isCursorDefinition")]
    pub fn is_definition(self) -> bool {
        // SAFETY: the unit is live.
        unsafe { raw::clang_isCursorDefinition(self.raw) != 0 }
    }

    /// Returns the definition of the entity that it declares or refers to, if it is in this unit.
    #[doc(alias = "clang_getCursorDefinition")]
    pub fn definition(self) -> Option<Cursor<'u>> {
        // SAFETY: the unit is live.
        Self::some(unsafe { raw::clang_getCursorDefinition(self.raw) })
    }

    /// Returns the declaration that it refers to, such as the function of a call.
    #[doc(alias = "clang_getCursorReferenced")]
    pub fn referenced(self) -> Option<Cursor<'u>> {
        // SAFETY: the unit is live.
        Self::some(unsafe { raw::clang_getCursorReferenced(self.raw) })
    }

    /// Returns its semantic parent: a namespace, a class, the unit.
    #[doc(alias = "clang_getCursorSemanticParent")]
    pub fn parent(self) -> Option<Cursor<'u>> {
        // SAFETY: the unit is live.
        Self::some(unsafe { raw::clang_getCursorSemanticParent(self.raw) })
    }

    /// Returns the comment before it, with the comment delimiters.
    #[doc(alias = "clang_Cursor_getRawCommentText")]
    pub fn comment(self) -> Option<String> {
        // SAFETY: the unit is live, and the text given away.
        unsafe { raw::take(raw::clang_Cursor_getRawCommentText(self.raw)) }
    }

    /// Returns the first paragraph of the comment before it, or the text of `\brief`.
    #[doc(alias = "clang_Cursor_getBriefCommentText")]
    pub fn brief_comment(self) -> Option<String> {
        // SAFETY: the unit is live, and the text given away.
        unsafe { raw::take(raw::clang_Cursor_getBriefCommentText(self.raw)) }
    }

    /// Returns the parameters of a function, or the arguments of a call; none for others.
    #[doc(alias = "clang_Cursor_getNumArguments")]
    #[doc(alias = "clang_Cursor_getArgument")]
    pub fn arguments(self) -> Vec<Cursor<'u>> {
        // SAFETY: the unit is live. The count is -1 for a cursor without arguments.
        let count = unsafe { raw::clang_Cursor_getNumArguments(self.raw) };
        // SAFETY: the unit is live, and the index is below the count.
        (0..count)
            .filter_map(|at| Self::some(unsafe { raw::clang_Cursor_getArgument(self.raw, at.unsigned_abs()) }))
            .collect()
    }

    /// Returns the nodes directly below it, in the order of the source.
    #[doc(alias = "clang_visitChildren")]
    pub fn children(self) -> Vec<Cursor<'u>> {
        let mut children: Vec<raw::CXCursor> = Vec::new();
        // SAFETY: the unit is live, and the visitor expects such a vector, which outlives the call.
        unsafe { raw::clang_visitChildren(self.raw, Some(push), (&raw mut children).cast()) };
        children.into_iter().map(Self::from_raw).collect()
    }

    /// Returns all nodes below it, each before its own children, in the order of the source.
    pub fn descendants(self) -> Descendants<'u> {
        let mut waiting = self.children();
        waiting.reverse();
        Descendants { waiting }
    }
}

unsafe extern "C" fn push(
    cursor: raw::CXCursor,
    _parent: raw::CXCursor,
    children: raw::CXClientData,
) -> raw::CXChildVisitResult {
    // SAFETY: `children` calls with a vector of cursors.
    unsafe { (*children.cast::<Vec<raw::CXCursor>>()).push(cursor) };
    raw::CXChildVisit_Continue
}

/// The nodes below a cursor, see [`Cursor::descendants`].
#[derive(Debug, Clone)]
pub struct Descendants<'u> {
    /// The cursors to visit, the next one last.
    waiting: Vec<Cursor<'u>>,
}

impl<'u> Iterator for Descendants<'u> {
    type Item = Cursor<'u>;

    fn next(&mut self) -> Option<Cursor<'u>> {
        let next = self.waiting.pop()?;
        let children = next.children();
        self.waiting.extend(children.into_iter().rev());
        Some(next)
    }
}

impl PartialEq for Cursor<'_> {
    #[doc(alias = "clang_equalCursors")]
    fn eq(&self, other: &Self) -> bool {
        // SAFETY: both units are live.
        unsafe { raw::clang_equalCursors(self.raw, other.raw) != 0 }
    }
}

impl Eq for Cursor<'_> {}

impl fmt::Debug for Cursor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind_name(), self.display_name())
    }
}

impl TranslationUnit<'_> {
    /// Returns the cursor of the whole unit, whose children are the declarations of the source and of everything that
    /// it includes.
    #[doc(alias = "clang_getTranslationUnitCursor")]
    pub fn cursor(&self) -> Cursor<'_> {
        // SAFETY: the unit is live.
        Cursor::from_raw(unsafe { raw::clang_getTranslationUnitCursor(self.raw) })
    }
}

impl fmt::Debug for TranslationUnit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TranslationUnit").field("name", &self.cursor().spelling()).finish_non_exhaustive()
    }
}

impl<'u> Type<'u> {
    /// Returns the fields of a structure, union or class; none for other types and for types that are only declared.
    #[doc(alias = "clang_Type_visitFields")]
    pub fn fields(self) -> Vec<Cursor<'u>> {
        unsafe extern "C" fn push(cursor: raw::CXCursor, fields: raw::CXClientData) -> raw::CXVisitorResult {
            // SAFETY: called with a vector of cursors, below.
            unsafe { (*fields.cast::<Vec<raw::CXCursor>>()).push(cursor) };
            raw::CXVisit_Continue
        }
        let mut fields: Vec<raw::CXCursor> = Vec::new();
        let visitor: raw::CXFieldVisitor = Some(push);
        // SAFETY: the unit is live, and the visitor expects such a vector, which outlives the call.
        unsafe { raw::clang_Type_visitFields(self.raw, visitor, (&raw mut fields).cast()) };
        fields.into_iter().map(Cursor::from_raw).collect()
    }

    /// Returns the declaration of a structure, enum, `typedef` or such.
    #[doc(alias = "clang_getTypeDeclaration")]
    pub fn declaration(self) -> Option<Cursor<'u>> {
        // SAFETY: the unit is live.
        Cursor::some(unsafe { raw::clang_getTypeDeclaration(self.raw) })
    }
}
