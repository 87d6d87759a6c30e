//! Makes a code object from assembly or LLVM IR with Comgr, ROCm's own assembler, code generator and linker.
//!
//! `cargo run -p rocm-llvm-sys --example assemble -- kernel.s kernel.co gfx90a`
//!
//! Arguments that start with a dash are options for the linker, such as `-Wl,--unresolved-symbols=ignore-all`.

use std::ffi::{CString, c_char};
use std::path::Path;

use rocm_llvm_sys::comgr::rocm_6_4::*;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (options, arguments): (Vec<String>, Vec<String>) = arguments.into_iter().partition(|a| a.starts_with('-'));
    let [source, output, processor] = &arguments[..] else {
        return Err("usage: assemble SOURCE.s|SOURCE.ll CODE.co PROCESSOR [-LINKER_OPTION...]".into());
    };
    if let Some(why) = load_error() {
        return Err(format!("Comgr cannot be loaded: {why}").into());
    }
    let path = Path::new(source);
    let text = std::fs::read(path).map_err(|error| format!("cannot read {source}: {error}"))?;
    // The file's name without its folder: the output must not depend on where the file lies.
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let isa = format!("amdgcn-amd-amdhsa--{processor}");
    let relocatable = match path.extension().and_then(|extension| extension.to_str()) {
        Some("s") => {
            let set = set_of(AMD_COMGR_DATA_KIND_SOURCE, &name, &text)?;
            act(AMD_COMGR_ACTION_ASSEMBLE_SOURCE_TO_RELOCATABLE, AMD_COMGR_LANGUAGE_NONE, &isa, &[], set)?
        }
        Some("ll") => {
            // Comgr accepts IR as text instead of bitcode.
            let set = set_of(AMD_COMGR_DATA_KIND_BC, &name, &text)?;
            act(AMD_COMGR_ACTION_CODEGEN_BC_TO_RELOCATABLE, AMD_COMGR_LANGUAGE_LLVM_IR, &isa, &[], set)?
        }
        _ => return Err(format!("{source} ends neither in .s (assembly) nor in .ll (LLVM IR)").into()),
    };
    let link = AMD_COMGR_ACTION_LINK_RELOCATABLE_TO_EXECUTABLE;
    let linked = act(link, AMD_COMGR_LANGUAGE_NONE, &isa, &options, relocatable)?;
    let code = contents(linked, AMD_COMGR_DATA_KIND_EXECUTABLE)?;
    std::fs::write(output, &code).map_err(|error| format!("cannot write {output}: {error}"))?;
    println!("{output}: {} bytes of code for {processor}", code.len());
    Ok(())
}

fn check(what: &str, status: amd_comgr_status_t) -> Result<()> {
    if status == AMD_COMGR_STATUS_SUCCESS { Ok(()) } else { Err(format!("{what}: {status:?}").into()) }
}

/// Creates a data set with one data object. Sets and objects live as long as the program, which is short.
fn set_of(kind: amd_comgr_data_kind_t, name: &str, bytes: &[u8]) -> Result<amd_comgr_data_set_t> {
    let (mut set, mut data) = (amd_comgr_data_set_t::default(), amd_comgr_data_t::default());
    let name = CString::new(name)?;
    // SAFETY: pointers are valid for the writes, handles are alive, and the name and the bytes are copied.
    unsafe {
        check("amd_comgr_create_data_set", amd_comgr_create_data_set(&mut set))?;
        check("amd_comgr_create_data", amd_comgr_create_data(kind, &mut data))?;
        check("amd_comgr_set_data", amd_comgr_set_data(data, bytes.len(), bytes.as_ptr().cast()))?;
        check("amd_comgr_set_data_name", amd_comgr_set_data_name(data, name.as_ptr()))?;
        check("amd_comgr_data_set_add", amd_comgr_data_set_add(set, data))?;
    }
    Ok(set)
}

/// Runs an action on a data set, and returns the result.
fn act(
    action: amd_comgr_action_kind_t,
    language: amd_comgr_language_t,
    isa: &str,
    options: &[String],
    input: amd_comgr_data_set_t,
) -> Result<amd_comgr_data_set_t> {
    let (mut info, mut result) = (amd_comgr_action_info_t::default(), amd_comgr_data_set_t::default());
    let isa = CString::new(isa)?;
    let options =
        options.iter().map(|option| CString::new(option.as_str())).collect::<std::result::Result<Vec<_>, _>>()?;
    let mut pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
    // SAFETY: pointers are valid for the writes, handles are alive, strings and their count are those of the vector, and all are copied.
    unsafe {
        check("amd_comgr_create_data_set", amd_comgr_create_data_set(&mut result))?;
        check("amd_comgr_create_action_info", amd_comgr_create_action_info(&mut info))?;
        check("amd_comgr_action_info_set_language", amd_comgr_action_info_set_language(info, language))?;
        check("amd_comgr_action_info_set_isa_name", amd_comgr_action_info_set_isa_name(info, isa.as_ptr()))?;
        let status = amd_comgr_action_info_set_option_list(info, pointers.as_mut_ptr(), pointers.len());
        check("amd_comgr_action_info_set_option_list", status)?;
        check("amd_comgr_action_info_set_logging", amd_comgr_action_info_set_logging(info, true))?;
        let status = amd_comgr_do_action(action, info, input, result);
        check(&format!("{action:?}"), status).map_err(|error| {
            let log = contents(result, AMD_COMGR_DATA_KIND_LOG).unwrap_or_default();
            format!("{error}\n{}", String::from_utf8_lossy(&log))
        })?;
        check("amd_comgr_destroy_action_info", amd_comgr_destroy_action_info(info))?;
    }
    Ok(result)
}

/// Returns the content of the first data object of a kind in a set.
fn contents(set: amd_comgr_data_set_t, kind: amd_comgr_data_kind_t) -> Result<Vec<u8>> {
    let (mut data, mut size) = (amd_comgr_data_t::default(), 0);
    // SAFETY: the set is alive, pointers are valid for the writes, and the vector has the size that Comgr returned.
    unsafe {
        check("amd_comgr_action_data_get_data", amd_comgr_action_data_get_data(set, kind, 0, &mut data))?;
        check("amd_comgr_get_data", amd_comgr_get_data(data, &mut size, std::ptr::null_mut()))?;
        let mut bytes = vec![0_u8; size];
        check("amd_comgr_get_data", amd_comgr_get_data(data, &mut size, bytes.as_mut_ptr().cast()))?;
        Ok(bytes)
    }
}
