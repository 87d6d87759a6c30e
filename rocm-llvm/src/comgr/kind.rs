//! Kinds of data, actions and languages.

use std::fmt;

use rocm_llvm_sys::comgr::{self as sys, amd_comgr_data_kind_t};

/// The kind of a data object (`amd_comgr_data_kind_t`).
#[doc(alias = "amd_comgr_data_kind_t")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DataKind {
    /// Source text: HIP, OpenCL or assembly.
    Source,
    /// A header, which sources include by the data object's name.
    Include,
    /// A precompiled header.
    PrecompiledHeader,
    /// Diagnostics of the compiler.
    Diagnostic,
    /// The log of an action.
    Log,
    /// LLVM bitcode. Comgr accepts LLVM IR as text in its place.
    Bitcode,
    /// An object file for AMD GPUs, not linked (`RELOCATABLE`).
    Object,
    /// A linked code object (`EXECUTABLE`).
    CodeObject,
    /// Bytes, such as machine code without a file around it.
    Bytes,
    /// A bundle of code objects (`FATBIN`).
    Bundle,
    /// An archive.
    Archive,
    /// A bundle of bitcodes.
    BitcodeBundle,
    /// A bundle of archives.
    ArchiveBundle,
    /// A bundle of object files (since ROCm 6.2).
    ObjectBundle,
    /// SPIR-V (since ROCm 6.4).
    Spirv,
}

impl DataKind {
    /// All kinds, with Comgr's numbers. They are the same in every release.
    const ALL: [(Self, amd_comgr_data_kind_t); 15] = [
        (Self::Source, sys::AMD_COMGR_DATA_KIND_SOURCE),
        (Self::Include, sys::AMD_COMGR_DATA_KIND_INCLUDE),
        (Self::PrecompiledHeader, sys::AMD_COMGR_DATA_KIND_PRECOMPILED_HEADER),
        (Self::Diagnostic, sys::AMD_COMGR_DATA_KIND_DIAGNOSTIC),
        (Self::Log, sys::AMD_COMGR_DATA_KIND_LOG),
        (Self::Bitcode, sys::AMD_COMGR_DATA_KIND_BC),
        (Self::Object, sys::AMD_COMGR_DATA_KIND_RELOCATABLE),
        (Self::CodeObject, sys::AMD_COMGR_DATA_KIND_EXECUTABLE),
        (Self::Bytes, sys::AMD_COMGR_DATA_KIND_BYTES),
        (Self::Bundle, sys::AMD_COMGR_DATA_KIND_FATBIN),
        (Self::Archive, sys::AMD_COMGR_DATA_KIND_AR),
        (Self::BitcodeBundle, sys::AMD_COMGR_DATA_KIND_BC_BUNDLE),
        (Self::ArchiveBundle, sys::AMD_COMGR_DATA_KIND_AR_BUNDLE),
        (Self::ObjectBundle, sys::AMD_COMGR_DATA_KIND_OBJ_BUNDLE),
        (Self::Spirv, sys::AMD_COMGR_DATA_KIND_SPIRV),
    ];

    pub(crate) fn raw(self) -> amd_comgr_data_kind_t {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or(sys::AMD_COMGR_DATA_KIND_UNDEF, |(_, raw)| *raw)
    }

    pub(crate) fn from_raw(raw: amd_comgr_data_kind_t) -> Option<Self> {
        Self::ALL.iter().find(|(_, number)| *number == raw).map(|(kind, _)| *kind)
    }
}

/// The operations of Comgr (`amd_comgr_action_kind_t`). Each action reads the data objects of its kinds in the input,
/// ignores the others, and adds its results to the output.
#[doc(alias = "amd_comgr_action_kind_t")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Action {
    /// Runs the preprocessor over each source.
    Preprocess,
    /// Compiles each source to bitcode.
    CompileToBitcode,
    /// Compiles each source to bitcode, and links the functions of the device libraries that it uses.
    CompileToBitcodeWithDeviceLibraries,
    /// Adds the device libraries to the bitcodes. Comgr 2 only.
    AddDeviceLibraries,
    /// Links bitcodes to one.
    LinkBitcode,
    /// Optimises each bitcode. Comgr 2 only.
    OptimizeBitcode,
    /// Compiles each bitcode to an object file.
    BitcodeToObject,
    /// Compiles each bitcode to assembly.
    BitcodeToAssembly,
    /// Links object files to one object file.
    LinkToObject,
    /// Links object files to a code object.
    LinkToCodeObject,
    /// Assembles each source to an object file.
    Assemble,
    /// Disassembles each object file. Comgr of ROCm 7.2 rejects this and the next two; [`disassemble`] works with all.
    ///
    /// [`disassemble`]: crate::comgr::disassemble()
    DisassembleObject,
    /// Disassembles each code object.
    DisassembleCodeObject,
    /// Disassembles bytes of machine code.
    DisassembleBytes,
    /// Compiles each source to a bundle. Comgr 2 only.
    CompileToBundle,
    /// Compiles a source to an object file, with the device libraries. HIP only.
    CompileToObject,
    /// Compiles sources to one code object, with the device libraries. Since Comgr 2.8 (ROCm 6.2).
    CompileToCodeObject,
    /// Extracts the files from bundles: see [`ActionInfo::bundle_entry_ids`](super::ActionInfo::bundle_entry_ids).
    /// Since Comgr 2.8 (ROCm 6.2).
    Unbundle,
    /// Translates SPIR-V to bitcode. Since Comgr 3 (ROCm 6.4).
    SpirvToBitcode,
    /// Compiles SPIR-V to an object file. Since ROCm 7.0.
    SpirvToObject,
}

/// The action as a verb, as in "cannot compile a.hip".
impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Preprocess => "preprocess",
            Self::CompileToBitcode
            | Self::CompileToBitcodeWithDeviceLibraries
            | Self::BitcodeToObject
            | Self::BitcodeToAssembly
            | Self::CompileToBundle
            | Self::CompileToObject
            | Self::CompileToCodeObject
            | Self::SpirvToObject => "compile",
            Self::AddDeviceLibraries => "add the device libraries to",
            Self::LinkBitcode | Self::LinkToObject | Self::LinkToCodeObject => "link",
            Self::OptimizeBitcode => "optimise",
            Self::Assemble => "assemble",
            Self::DisassembleObject | Self::DisassembleCodeObject | Self::DisassembleBytes => "disassemble",
            Self::Unbundle => "unbundle",
            Self::SpirvToBitcode => "translate",
        })
    }
}

/// The language of sources (`amd_comgr_language_t`).
#[doc(alias = "amd_comgr_language_t")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Language {
    /// None: for actions on data other than sources.
    #[default]
    None,
    /// OpenCL C 1.2.
    OpenCl12,
    /// OpenCL C 2.0.
    OpenCl20,
    /// HIP.
    Hip,
    /// LLVM IR. Since Comgr 2.8 (ROCm 6.2).
    LlvmIr,
}
