//! libclang's C functions. All functions that this module calls are listed here: the library is checked for them when
//! it is chosen.

use std::ffi::{CStr, CString};

pub(super) use rocm_llvm_sys::clang::{
    BINDING, CXChildVisit_Continue, CXChildVisitResult, CXClientData, CXCompilationDatabase, CXCompileCommands,
    CXCursor, CXDiagnostic, CXFieldVisitor, CXFile, CXIndex, CXSourceLocation, CXSourceRange, CXString, CXToken,
    CXTranslationUnit, CXType, CXUnsavedFile, CXVisit_Continue, CXVisitorResult,
};

use super::error::{Error, Result};

macro_rules! required {
    ($($name:ident)*) => {
        pub(super) use rocm_llvm_sys::clang::{$($name),*};
        pub(super) const REQUIRED: &[(&str, &CStr)] = &[$((
            stringify!($name),
            match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            },
        )),*];
    };
}

required! {
    clang_Cursor_getArgument clang_Cursor_getBriefCommentText clang_Cursor_getNumArguments
    clang_Cursor_getOffsetOfField clang_Cursor_getRawCommentText clang_Cursor_isNull clang_Location_isFromMainFile
    clang_Location_isInSystemHeader clang_Type_getAlignOf clang_Type_getSizeOf clang_Type_visitFields
    clang_createIndex clang_disposeDiagnostic clang_disposeIndex clang_disposeString clang_disposeTranslationUnit
    clang_equalCursors clang_equalTypes clang_formatDiagnostic clang_getArgType clang_getArraySize
    clang_getCString clang_getCanonicalType clang_getClangVersion clang_getCursorDefinition clang_getCursorDisplayName
    clang_getCursorKind clang_getCursorKindSpelling clang_getCursorLocation clang_getCursorReferenced
    clang_getCursorResultType clang_getCursorSemanticParent clang_getCursorSpelling clang_getCursorType
    clang_getCursorUSR clang_getDiagnostic clang_getDiagnosticLocation clang_getDiagnosticSeverity
    clang_getDiagnosticSpelling clang_getElementType clang_getEnumConstantDeclUnsignedValue clang_getEnumConstantDeclValue clang_getEnumDeclIntegerType
    clang_getExpansionLocation clang_getFileName clang_getNumArgTypes clang_getNumDiagnostics clang_getPointeeType
    clang_getResultType clang_getTranslationUnitCursor clang_getTypeDeclaration clang_getTypeKindSpelling
    clang_getTypeSpelling clang_getTypedefDeclUnderlyingType clang_isConstQualifiedType clang_isCursorDefinition
    clang_isFunctionTypeVariadic clang_parseTranslationUnit2 clang_visitChildren
    clang_CXXConstructor_isCopyConstructor clang_CXXConstructor_isDefaultConstructor
    clang_CXXConstructor_isMoveConstructor clang_CXXMethod_isConst clang_CXXMethod_isDefaulted
    clang_CXXMethod_isPureVirtual clang_CXXMethod_isStatic clang_CXXMethod_isVirtual clang_CXXRecord_isAbstract
    clang_CompilationDatabase_dispose clang_CompilationDatabase_fromDirectory
    clang_CompilationDatabase_getAllCompileCommands clang_CompilationDatabase_getCompileCommands
    clang_CompileCommand_getArg clang_CompileCommand_getDirectory clang_CompileCommand_getFilename
    clang_CompileCommand_getNumArgs clang_CompileCommands_dispose clang_CompileCommands_getCommand
    clang_CompileCommands_getSize clang_Cursor_getMangling clang_Cursor_getNumTemplateArguments
    clang_Cursor_getStorageClass clang_Cursor_getTemplateArgumentKind clang_Cursor_getTemplateArgumentType
    clang_Cursor_getTemplateArgumentValue clang_Cursor_getTranslationUnit clang_Cursor_hasAttrs
    clang_Cursor_isAnonymous clang_Cursor_isBitField clang_Cursor_isFunctionInlined clang_Cursor_isMacroBuiltin
    clang_Cursor_isMacroFunctionLike clang_Cursor_isVariadic clang_EnumDecl_isScoped clang_Type_getNamedType
    clang_Type_getNumTemplateArguments clang_Type_getOffsetOf clang_Type_getTemplateArgumentAsType
    clang_createTranslationUnit2 clang_disposeTokens clang_getAddressSpace clang_getCXXAccessSpecifier
    clang_getCanonicalCursor clang_getCursorAvailability clang_getCursorExtent clang_getCursorLexicalParent
    clang_getCursorLinkage clang_getDiagnosticCategoryText clang_getDiagnosticFixIt clang_getDiagnosticNumFixIts
    clang_getDiagnosticOption clang_getFieldDeclBitWidth clang_getIncludedFile clang_getInclusions clang_getRangeEnd
    clang_getRangeStart clang_getSpecializedCursorTemplate clang_getTokenKind clang_getTokenLocation
    clang_getTokenSpelling clang_isPODType clang_isRestrictQualifiedType clang_isVolatileQualifiedType
    clang_reparseTranslationUnit clang_saveTranslationUnit clang_tokenize clang_Cursor_Evaluate clang_EvalResult_dispose
    clang_EvalResult_getAsDouble clang_EvalResult_getAsLongLong clang_EvalResult_getAsStr clang_EvalResult_getAsUnsigned
    clang_EvalResult_getKind clang_EvalResult_isUnsignedInt clang_isInvalidDeclaration
}

pub(super) fn c_text(what: &'static str, text: &str) -> Result<CString> {
    CString::new(text).map_err(|error| Error::Null { what, at: error.nul_position() })
}

/// Copies a string of libclang, and frees it.
///
/// # Safety
/// `string` must be one whose ownership libclang passed to the caller, or zero, and must not be used afterwards.
pub(super) unsafe fn take(string: CXString) -> Option<String> {
    // SAFETY: by the contract.
    let text = unsafe { clang_getCString(string) };
    // SAFETY: null, or a C string that lives until the string is disposed of.
    let copy = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned());
    // SAFETY: by the contract.
    unsafe { clang_disposeString(string) };
    copy
}
