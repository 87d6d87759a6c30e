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
    18 fn LLVMCanValueUseFastMathFlags(LLVMValueRef) -> LLVMBool;
    20 fn LLVMGetSyncScopeID(LLVMContextRef, *const c_char, usize) -> c_uint;
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
