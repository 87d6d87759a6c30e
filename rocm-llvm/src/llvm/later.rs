//! LLVM's C functions that not every LLVM has. They are looked up when they are needed.

use std::ffi::{CStr, c_char, c_uint, c_void};
use std::ptr::NonNull;

use super::error::{Error, Result};
use super::library::Library;
use super::raw::{BINDING, LLVMBool, LLVMBuilderRef, LLVMContextRef, LLVMDIBuilderRef, LLVMMetadataRef, LLVMValueRef};

macro_rules! later {
    ($($(#[$attribute:meta])* $since:literal fn $name:ident($($parameter:ty),* $(,)?) $(-> $result:ty)?;)*) => {$(
        $(#[$attribute])*
        #[allow(non_snake_case)]
        pub(super) fn $name() -> Result<unsafe extern "C" fn($($parameter),*) $(-> $result)?> {
            let name = concat!(stringify!($name), "\0");
            let name = CStr::from_bytes_with_nul(name.as_bytes()).unwrap_or_default();
            let address = BINDING.symbol(name).ok_or_else(|| missing(stringify!($name), Some($since)))?;
            // SAFETY: the function of this name has this signature in every LLVM that has it.
            Ok(unsafe { std::mem::transmute::<NonNull<c_void>, unsafe extern "C" fn($($parameter),*) $(-> $result)?>(address) })
        }
    )*};
}

later! {
    18 fn LLVMSetFastMathFlags(LLVMValueRef, c_uint);
    18 fn LLVMGetFastMathFlags(LLVMValueRef) -> c_uint;
    18 fn LLVMCanValueUseFastMathFlags(LLVMValueRef) -> LLVMBool;
    20 fn LLVMGetSyncScopeID(LLVMContextRef, *const c_char, usize) -> c_uint;
    20 fn LLVMSetAtomicSyncScopeID(LLVMValueRef, c_uint);
    20 fn LLVMBuildAtomicRMWSyncScope(
        LLVMBuilderRef, c_uint, LLVMValueRef, LLVMValueRef, c_uint, c_uint,
    ) -> LLVMValueRef;
    20 fn LLVMBuildFenceSyncScope(LLVMBuilderRef, c_uint, c_uint, *const c_char) -> LLVMValueRef;
    /// The type of the language differs between releases. The numbers of the languages in this crate do not.
    17 fn LLVMDIBuilderCreateCompileUnit(
        LLVMDIBuilderRef, c_uint, LLVMMetadataRef, *const c_char, usize, LLVMBool, *const c_char, usize, c_uint,
        *const c_char, usize, c_uint, c_uint, LLVMBool, LLVMBool, *const c_char, usize, *const c_char, usize,
    ) -> LLVMMetadataRef;
}

/// Returns the error for a function that the library in use lacks.
pub(super) fn missing(function: &str, since: Option<u32>) -> Error {
    match Library::load() {
        Ok(library) => Error::MissingFunction {
            function: function.to_owned(),
            library: library.path(),
            found: library.version(),
            since,
        },
        Err(error) => error,
    }
}

/// The functions that record where a variable is. LLVM 19 gave them other names.
#[derive(Debug, Clone, Copy)]
pub(super) enum Insert {
    DeclareAtEnd,
    DeclareBefore,
    ValueAtEnd,
    ValueBefore,
}

/// A function of [`Insert`], with the place: a block or an instruction. The result differs, and is not used.
type InsertAt<P> = unsafe extern "C" fn(
    LLVMDIBuilderRef,
    LLVMValueRef,
    LLVMMetadataRef,
    LLVMMetadataRef,
    LLVMMetadataRef,
    P,
) -> *mut c_void;

impl Insert {
    fn address(self) -> Result<NonNull<c_void>> {
        let (name, before_19) = match self {
            Self::DeclareAtEnd => (c"LLVMDIBuilderInsertDeclareRecordAtEnd", c"LLVMDIBuilderInsertDeclareAtEnd"),
            Self::DeclareBefore => (c"LLVMDIBuilderInsertDeclareRecordBefore", c"LLVMDIBuilderInsertDeclareBefore"),
            Self::ValueAtEnd => (c"LLVMDIBuilderInsertDbgValueRecordAtEnd", c"LLVMDIBuilderInsertDbgValueAtEnd"),
            Self::ValueBefore => (c"LLVMDIBuilderInsertDbgValueRecordBefore", c"LLVMDIBuilderInsertDbgValueBefore"),
        };
        let found = BINDING.symbol(name).or_else(|| BINDING.symbol(before_19));
        found.ok_or_else(|| missing(&name.to_string_lossy(), Some(17)))
    }

    /// For [`DeclareAtEnd`](Self::DeclareAtEnd) and [`ValueAtEnd`](Self::ValueAtEnd).
    pub(super) fn at_end(self) -> Result<InsertAt<super::raw::LLVMBasicBlockRef>> {
        // SAFETY: the functions have this signature, but for the type of the pointer that they return.
        Ok(unsafe { std::mem::transmute::<NonNull<c_void>, InsertAt<super::raw::LLVMBasicBlockRef>>(self.address()?) })
    }

    /// For [`DeclareBefore`](Self::DeclareBefore) and [`ValueBefore`](Self::ValueBefore).
    pub(super) fn before(self) -> Result<InsertAt<LLVMValueRef>> {
        // SAFETY: as above.
        Ok(unsafe { std::mem::transmute::<NonNull<c_void>, InsertAt<LLVMValueRef>>(self.address()?) })
    }
}

/// Fails if a module of LLVM 19 or 20 has intrinsics for variables instead of records. LLVM could convert it, and would
/// free the intrinsics' calls.
pub(super) fn check_records(operation: &'static str, module: super::raw::LLVMModuleRef) -> Result<()> {
    type Is = unsafe extern "C" fn(super::raw::LLVMModuleRef) -> LLVMBool;
    let Some(address) = BINDING.symbol(c"LLVMIsNewDbgInfoFormat") else { return Ok(()) };
    // SAFETY: the function has this signature, and the module is live.
    match unsafe { std::mem::transmute::<NonNull<c_void>, Is>(address)(module) } {
        0 => Err(Error::invalid(operation, "the module has intrinsics for variables: LLVM 19 and newer use records")),
        _ => Ok(()),
    }
}
