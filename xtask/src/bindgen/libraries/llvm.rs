//! ROCm's LLVM: Comgr, LLVM's C interface and libclang.

use super::super::library::{Binary, Headers, Library, Names, Status};

pub(super) const AMD_COMGR: Library = Library {
    name: "amd_comgr",
    package: "rocm-llvm-sys",
    module: Some("comgr"),
    headers: &[
        Headers::new((5, 7), "5.7", "Comgr of ROCm 6.0, which Debian ships with ROCm 5.7"),
        Headers::new((7, 0), "6.4", "ROCm 7.0.2"),
        Headers::new((7, 2), "7.2", "ROCm 7.2.4"),
    ],
    includes: &["amd_comgr/amd_comgr.h"],
    folders: &["amd_comgr"],
    allow: "amd_comgr.*|AMD_COMGR.*|code_object_info_s",
    statuses: &[Status::new("amd_comgr_status_s", "AMD_COMGR_STATUS_ERROR", "AMD_COMGR_STATUS_ERROR")],
    binaries: &[
        Binary::new((5, 7), "5.7", "libamd_comgr.so.2"),
        Binary::new((7, 0), "6.4", "libamd_comgr.so.3"),
        Binary::new((7, 2), "7.2", "libamd_comgr.so.3"),
    ],
    ..Library::NEW
};

const TARGET: &str = "declared by a macro of the header for each target; ROCm's LLVM has these two targets";
const INLINE: &str = "static in the header, where it calls the function of each target; it has no symbol";

pub(super) const LLVM_C: Library = Library {
    name: "llvm_c",
    package: "rocm-llvm-sys",
    module: Some("llvm"),
    headers: &[
        Headers::new((5, 7), "5.7", "LLVM 17").below("usr/lib/llvm-17/include"),
        Headers::new((6, 4), "6.4", "LLVM 19").below("usr/lib/llvm-19/include").reference(),
        Headers::new((7, 2), "7.2", "LLVM 22").below("usr/lib/llvm-22/include").reference(),
        Headers::new((10, 0), "7.2", "LLVM 23").below("usr/lib/llvm-23/include").reference(),
    ],
    includes: &[
        "llvm-c/Analysis.h",
        "llvm-c/BitReader.h",
        "llvm-c/BitWriter.h",
        "llvm-c/blake3.h",
        "llvm-c/Comdat.h",
        "llvm-c/Core.h",
        "llvm-c/DebugInfo.h",
        "llvm-c/Disassembler.h",
        "llvm-c/Error.h",
        "llvm-c/ErrorHandling.h",
        "llvm-c/ExecutionEngine.h",
        "llvm-c/IRReader.h",
        "llvm-c/Linker.h",
        "llvm-c/LLJIT.h",
        "llvm-c/LLJITUtils.h",
        "llvm-c/lto.h",
        "llvm-c/Object.h",
        "llvm-c/Orc.h",
        "llvm-c/OrcEE.h",
        "llvm-c/Remarks.h",
        "llvm-c/Support.h",
        "llvm-c/Target.h",
        "llvm-c/TargetMachine.h",
        "llvm-c/Transforms/PassBuilder.h",
    ],
    folders: &["llvm-c"],
    names: Names::All,
    absent: &[
        ("LLVMInitializeAllAsmParsers", INLINE),
        ("LLVMInitializeAllAsmPrinters", INLINE),
        ("LLVMInitializeAllDisassemblers", INLINE),
        ("LLVMInitializeAllTargetInfos", INLINE),
        ("LLVMInitializeAllTargetMCs", INLINE),
        ("LLVMInitializeAllTargets", INLINE),
        ("LLVMInitializeNativeAsmParser", INLINE),
        ("LLVMInitializeNativeAsmPrinter", INLINE),
        ("LLVMInitializeNativeDisassembler", INLINE),
        ("LLVMInitializeNativeTarget", INLINE),
    ],
    beyond_facts: &[
        ("LLVMInitializeAMDGPUAsmParser", TARGET),
        ("LLVMInitializeAMDGPUAsmPrinter", TARGET),
        ("LLVMInitializeAMDGPUDisassembler", TARGET),
        ("LLVMInitializeAMDGPUTarget", TARGET),
        ("LLVMInitializeAMDGPUTargetInfo", TARGET),
        ("LLVMInitializeAMDGPUTargetMC", TARGET),
        ("LLVMInitializeX86AsmParser", TARGET),
        ("LLVMInitializeX86AsmPrinter", TARGET),
        ("LLVMInitializeX86Disassembler", TARGET),
        ("LLVMInitializeX86Target", TARGET),
        ("LLVMInitializeX86TargetInfo", TARGET),
        ("LLVMInitializeX86TargetMC", TARGET),
    ],
    allow: "LLVM.*|lto_.*|thinlto_.*|llvm_.*|LTO.*|THINLTO.*",
    binaries: &[
        Binary::new((5, 7), "5.7", "libLLVM-17.so.1"),
        Binary::new((6, 4), "6.4", "libLLVM.so.19.1"),
        Binary::new((7, 2), "7.2", "libLLVM.so.22.1"),
    ],
    ..Library::NEW
};

pub(super) const CLANG_C: Library = Library {
    name: "clang_c",
    package: "rocm-llvm-sys",
    module: Some("clang"),
    headers: &[
        Headers::new((5, 7), "5.7", "libclang 17").below("usr/lib/llvm-17/include"),
        Headers::new((6, 4), "6.4", "libclang 19").below("usr/lib/llvm-19/include"),
        Headers::new((7, 2), "7.2", "libclang 22").below("usr/lib/llvm-22/include"),
        Headers::new((10, 0), "7.2", "libclang 23").below("usr/lib/llvm-23/include"),
    ],
    includes: &[
        "clang-c/BuildSystem.h",
        "clang-c/CXCompilationDatabase.h",
        "clang-c/CXDiagnostic.h",
        "clang-c/CXErrorCode.h",
        "clang-c/CXFile.h",
        "clang-c/CXSourceLocation.h",
        "clang-c/CXString.h",
        "clang-c/Documentation.h",
        "clang-c/FatalErrorHandler.h",
        "clang-c/Index.h",
        "clang-c/Rewrite.h",
    ],
    folders: &["clang-c"],
    names: Names::Some,
    allow: "clang_.*|CX.*|CINDEX.*",
    binaries: &[
        Binary::new((5, 7), "5.7", "libclang-17.so.1"),
        Binary::new((6, 4), "6.4", "libclang-19.so.1"),
        Binary::new((7, 2), "7.2", "libclang-22.so.1"),
    ],
    ..Library::NEW
};
