//! The kinds of the linker's inputs.

/// The kind of an input of the [`Linker`](crate::Linker).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LinkInput {
    /// LLVM bitcode for one architecture: what [`Program::compile_bitcode`](crate::Program::compile_bitcode) returns.
    #[doc(alias("HIPRTC_JIT_INPUT_LLVM_BITCODE", "hipJitInputLLVMBitcode", "CU_JIT_INPUT_NVVM"))]
    Bitcode,
    /// LLVM IR as text. It must be for the LLVM of the installed ROCm, or older.
    Ir,
    /// An offload bundle of bitcode: the output of `clang -c -emit-llvm -fgpu-rdc` for several architectures. The entry
    /// that fits the device is linked. Compressed ones need the feature `compressed`.
    #[doc(alias("HIPRTC_JIT_INPUT_LLVM_BUNDLED_BITCODE", "hipJitInputLLVMBundledBitcode", "CU_JIT_INPUT_FATBINARY"))]
    BitcodeBundle,
    /// An archive (`ar`) whose members are bitcode or bundles of it.
    #[doc(alias(
        "HIPRTC_JIT_INPUT_LLVM_ARCHIVES_OF_BUNDLED_BITCODE",
        "hipJitInputLLVMArchivesOfBundledBitcode",
        "CU_JIT_INPUT_LIBRARY"
    ))]
    BitcodeArchive,
}
