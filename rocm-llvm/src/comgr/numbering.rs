//! The numbers of actions and languages, which AMD changed in Comgr 3.
//!
//! All calls that take such a number are in this module.

use rocm_llvm_sys::comgr::{
    self as sys, amd_comgr_action_info_t, amd_comgr_data_set_t, amd_comgr_status_t, rocm_6_2 as two, rocm_7_0 as three,
};

use crate::comgr::error::Result;
use crate::comgr::kind::{Action, Language};
use crate::comgr::library::{Library, library, not_supported};
use crate::comgr::version::Numbering;

/// Returns the number of an action, or the versions of Comgr that have it.
fn number(action: Action, library: &Library) -> Result<u32, &'static str> {
    /// Comgr 2's minor version in ROCm 6.2.
    const OF_6_2: usize = 8;
    const TWO: &str = "Comgr 2 (ROCm 5.7 to 6.3)";
    const THREE: &str = "Comgr 3 (ROCm 6.4 and newer)";
    let of_two = match action {
        Action::Preprocess => Ok(two::AMD_COMGR_ACTION_SOURCE_TO_PREPROCESSOR),
        Action::CompileToBitcode => Ok(two::AMD_COMGR_ACTION_COMPILE_SOURCE_TO_BC),
        Action::AddDeviceLibraries => Ok(two::AMD_COMGR_ACTION_ADD_DEVICE_LIBRARIES),
        Action::LinkBitcode => Ok(two::AMD_COMGR_ACTION_LINK_BC_TO_BC),
        Action::OptimizeBitcode => Ok(two::AMD_COMGR_ACTION_OPTIMIZE_BC_TO_BC),
        Action::BitcodeToObject => Ok(two::AMD_COMGR_ACTION_CODEGEN_BC_TO_RELOCATABLE),
        Action::BitcodeToAssembly => Ok(two::AMD_COMGR_ACTION_CODEGEN_BC_TO_ASSEMBLY),
        Action::LinkToObject => Ok(two::AMD_COMGR_ACTION_LINK_RELOCATABLE_TO_RELOCATABLE),
        Action::LinkToCodeObject => Ok(two::AMD_COMGR_ACTION_LINK_RELOCATABLE_TO_EXECUTABLE),
        Action::Assemble => Ok(two::AMD_COMGR_ACTION_ASSEMBLE_SOURCE_TO_RELOCATABLE),
        Action::DisassembleObject => Ok(two::AMD_COMGR_ACTION_DISASSEMBLE_RELOCATABLE_TO_SOURCE),
        Action::DisassembleCodeObject => Ok(two::AMD_COMGR_ACTION_DISASSEMBLE_EXECUTABLE_TO_SOURCE),
        Action::DisassembleBytes => Ok(two::AMD_COMGR_ACTION_DISASSEMBLE_BYTES_TO_SOURCE),
        Action::CompileToBundle => Ok(two::AMD_COMGR_ACTION_COMPILE_SOURCE_TO_FATBIN),
        Action::CompileToBitcodeWithDeviceLibraries => Ok(two::AMD_COMGR_ACTION_COMPILE_SOURCE_WITH_DEVICE_LIBS_TO_BC),
        Action::CompileToObject => Ok(two::AMD_COMGR_ACTION_COMPILE_SOURCE_TO_RELOCATABLE),
        Action::CompileToCodeObject if library.version.minor >= OF_6_2 => {
            Ok(two::AMD_COMGR_ACTION_COMPILE_SOURCE_TO_EXECUTABLE)
        }
        Action::Unbundle if library.version.minor >= OF_6_2 => Ok(two::AMD_COMGR_ACTION_UNBUNDLE),
        Action::CompileToCodeObject | Action::Unbundle => Err("Comgr 2.8 (ROCm 6.2)"),
        Action::SpirvToBitcode | Action::SpirvToObject => Err(THREE),
    };
    let of_three = match action {
        Action::Preprocess => Ok(three::AMD_COMGR_ACTION_SOURCE_TO_PREPROCESSOR),
        Action::CompileToBitcode => Ok(three::AMD_COMGR_ACTION_COMPILE_SOURCE_TO_BC),
        Action::LinkBitcode => Ok(three::AMD_COMGR_ACTION_LINK_BC_TO_BC),
        Action::BitcodeToObject => Ok(three::AMD_COMGR_ACTION_CODEGEN_BC_TO_RELOCATABLE),
        Action::BitcodeToAssembly => Ok(three::AMD_COMGR_ACTION_CODEGEN_BC_TO_ASSEMBLY),
        Action::LinkToObject => Ok(three::AMD_COMGR_ACTION_LINK_RELOCATABLE_TO_RELOCATABLE),
        Action::LinkToCodeObject => Ok(three::AMD_COMGR_ACTION_LINK_RELOCATABLE_TO_EXECUTABLE),
        Action::Assemble => Ok(three::AMD_COMGR_ACTION_ASSEMBLE_SOURCE_TO_RELOCATABLE),
        Action::DisassembleObject => Ok(three::AMD_COMGR_ACTION_DISASSEMBLE_RELOCATABLE_TO_SOURCE),
        Action::DisassembleCodeObject => Ok(three::AMD_COMGR_ACTION_DISASSEMBLE_EXECUTABLE_TO_SOURCE),
        Action::DisassembleBytes => Ok(three::AMD_COMGR_ACTION_DISASSEMBLE_BYTES_TO_SOURCE),
        Action::CompileToBitcodeWithDeviceLibraries => {
            Ok(three::AMD_COMGR_ACTION_COMPILE_SOURCE_WITH_DEVICE_LIBS_TO_BC)
        }
        Action::CompileToObject => Ok(three::AMD_COMGR_ACTION_COMPILE_SOURCE_TO_RELOCATABLE),
        Action::CompileToCodeObject => Ok(three::AMD_COMGR_ACTION_COMPILE_SOURCE_TO_EXECUTABLE),
        Action::Unbundle => Ok(three::AMD_COMGR_ACTION_UNBUNDLE),
        Action::SpirvToBitcode => Ok(three::AMD_COMGR_ACTION_TRANSLATE_SPIRV_TO_BC),
        Action::SpirvToObject => Ok(three::AMD_COMGR_ACTION_COMPILE_SPIRV_TO_RELOCATABLE),
        Action::AddDeviceLibraries | Action::OptimizeBitcode | Action::CompileToBundle => Err(TWO),
    };
    match library.numbering {
        Numbering::Two => of_two.map(|kind| kind.0),
        Numbering::Three => of_three.map(|kind| kind.0),
    }
}

/// Returns the number of a language, or the versions of Comgr that have it.
fn language_number(language: Language, library: &Library) -> Result<u32, &'static str> {
    const OF_6_2: usize = 8;
    match (library.numbering, language) {
        (Numbering::Two, Language::None) => Ok(two::AMD_COMGR_LANGUAGE_NONE.0),
        (Numbering::Two, Language::OpenCl12) => Ok(two::AMD_COMGR_LANGUAGE_OPENCL_1_2.0),
        (Numbering::Two, Language::OpenCl20) => Ok(two::AMD_COMGR_LANGUAGE_OPENCL_2_0.0),
        (Numbering::Two, Language::Hip) => Ok(two::AMD_COMGR_LANGUAGE_HIP.0),
        (Numbering::Two, Language::LlvmIr) if library.version.minor >= OF_6_2 => Ok(two::AMD_COMGR_LANGUAGE_LLVM_IR.0),
        (Numbering::Two, Language::LlvmIr) => Err("Comgr 2.8 (ROCm 6.2)"),
        (Numbering::Three, Language::None) => Ok(three::AMD_COMGR_LANGUAGE_NONE.0),
        (Numbering::Three, Language::OpenCl12) => Ok(three::AMD_COMGR_LANGUAGE_OPENCL_1_2.0),
        (Numbering::Three, Language::OpenCl20) => Ok(three::AMD_COMGR_LANGUAGE_OPENCL_2_0.0),
        (Numbering::Three, Language::Hip) => Ok(three::AMD_COMGR_LANGUAGE_HIP.0),
        (Numbering::Three, Language::LlvmIr) => Ok(three::AMD_COMGR_LANGUAGE_LLVM_IR.0),
    }
}

/// Returns whether the loaded Comgr has an action.
pub(crate) fn has_action(action: Action) -> Result<()> {
    number(action, library()?).map(drop).map_err(|wanted| not_supported(format!("the action {action:?}"), wanted))
}

/// Calls `amd_comgr_action_info_set_language`, with the language's number in the loaded Comgr.
pub(crate) fn set_language(info: amd_comgr_action_info_t, language: Language) -> Result<amd_comgr_status_t> {
    let library = library()?;
    let number = language_number(language, library)
        .map_err(|wanted| not_supported(format!("the language {language:?}"), wanted))?;
    Ok(match library.numbering {
        // SAFETY: a live action info.
        Numbering::Two => unsafe { two::amd_comgr_action_info_set_language(info, two::amd_comgr_language_s(number)) },
        // SAFETY: likewise.
        Numbering::Three => unsafe {
            three::amd_comgr_action_info_set_language(info, three::amd_comgr_language_s(number))
        },
    })
}

/// Calls `amd_comgr_do_action`, with the action's number in the loaded Comgr.
pub(crate) fn do_action(
    action: Action,
    info: amd_comgr_action_info_t,
    input: amd_comgr_data_set_t,
    result: amd_comgr_data_set_t,
) -> Result<amd_comgr_status_t> {
    let library = library()?;
    let number = number(action, library).map_err(|wanted| not_supported(format!("the action {action:?}"), wanted))?;
    Ok(match library.numbering {
        // SAFETY: a live action info and live data sets, of this thread.
        Numbering::Two => unsafe {
            two::amd_comgr_do_action(two::amd_comgr_action_kind_s(number), info, input, result)
        },
        // SAFETY: likewise.
        Numbering::Three => unsafe {
            three::amd_comgr_do_action(three::amd_comgr_action_kind_s(number), info, input, result)
        },
    })
}

/// Calls `amd_comgr_action_info_set_device_lib_linking`, which Comgr 3 has.
pub(crate) fn set_device_libraries(info: amd_comgr_action_info_t, link: bool) -> Result<amd_comgr_status_t> {
    if !sys::has(c"amd_comgr_action_info_set_device_lib_linking") {
        return Err(not_supported("linking of device libraries to bitcode", "Comgr 3 (ROCm 6.4 and newer)"));
    }
    // SAFETY: a live action info.
    Ok(unsafe { sys::amd_comgr_action_info_set_device_lib_linking(info, link) })
}

/// Calls `amd_comgr_action_info_set_vfs`, which Comgr has since ROCm 7.0, and in Debian's 6.4.
pub(crate) fn set_vfs(info: amd_comgr_action_info_t, use_it: bool) -> Result<amd_comgr_status_t> {
    if !sys::has(c"amd_comgr_action_info_set_vfs") {
        return Err(not_supported("files in memory", "Comgr of ROCm 7.0"));
    }
    // SAFETY: a live action info.
    Ok(unsafe { sys::amd_comgr_action_info_set_vfs(info, use_it) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comgr::version::Version;

    #[test]
    fn numbers_are_those_of_the_release() {
        let library = |major, minor, numbering| Library { version: Version { major, minor }, numbering };
        let (old, middle, new) =
            (library(2, 6, Numbering::Two), library(2, 8, Numbering::Two), library(3, 0, Numbering::Three));
        for (action, numbers) in [
            (Action::Preprocess, [Some(0), Some(0), Some(0)]),
            (Action::AddDeviceLibraries, [Some(3), Some(3), None]),
            (Action::LinkBitcode, [Some(4), Some(4), Some(3)]),
            (Action::BitcodeToObject, [Some(6), Some(6), Some(4)]),
            (Action::LinkToCodeObject, [Some(9), Some(9), Some(7)]),
            (Action::CompileToCodeObject, [None, Some(17), Some(14)]),
            (Action::Unbundle, [None, Some(18), Some(15)]),
            (Action::SpirvToBitcode, [None, None, Some(19)]),
        ] {
            assert_eq!([&old, &middle, &new].map(|library| number(action, library).ok()), numbers, "{action:?}");
        }
        let languages = |language| [&old, &middle, &new].map(|library| language_number(language, library).ok());
        assert_eq!(languages(Language::Hip), [Some(4), Some(4), Some(3)]);
        assert_eq!(languages(Language::LlvmIr), [None, Some(5), Some(4)]);
    }
}
