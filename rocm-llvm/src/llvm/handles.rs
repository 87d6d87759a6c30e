//! LLVM's handles of the objects, for the functions of `rocm_llvm::sys::llvm` that nothing here reaches.

use rocm_llvm_sys::llvm as sys;

macro_rules! handles {
    ($($owner:ty => $raw:ident;)*) => {$(
        impl $owner {
            /// Returns LLVM's handle, for functions of [`sys::llvm`](crate::sys::llvm). It is valid as long as this
            /// object. A caller must ensure that what it does with the handle keeps this module's guarantees.
            pub fn as_raw(&self) -> sys::$raw {
                self.raw()
            }
        }
    )*};
}

handles! {
    super::Context => LLVMContextRef;
    super::Module<'_> => LLVMModuleRef;
    super::Type<'_> => LLVMTypeRef;
    super::FunctionType<'_> => LLVMTypeRef;
    super::Value<'_> => LLVMValueRef;
    super::Function<'_> => LLVMValueRef;
    super::Global<'_> => LLVMValueRef;
    super::BasicBlock<'_> => LLVMBasicBlockRef;
    super::Builder<'_> => LLVMBuilderRef;
    super::Metadata<'_> => LLVMMetadataRef;
    super::Location<'_> => LLVMMetadataRef;
    super::FunctionScope<'_> => LLVMMetadataRef;
    super::DebugInfo<'_> => LLVMDIBuilderRef;
    super::TargetMachine => LLVMTargetMachineRef;
    super::Jit => LLVMOrcLLJITRef;
    super::InlineAssembly<'_> => LLVMValueRef;
}
