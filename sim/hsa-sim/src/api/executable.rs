//! Code objects, executables, symbols.

use std::ffi::{c_char, c_int, c_void};
use std::fs::File;
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd as _;

use super::function::{each, functions, name, put, put_bytes};
use crate::abi::*;
use crate::agent::AgentId;
use crate::loader::{Source, Symbol, What};
use crate::result::Result;
use crate::runtime::runtime;

/// Called for each symbol.
type SymbolCallback =
    Option<unsafe extern "C" fn(hsa_executable_t, hsa_executable_symbol_t, *mut c_void) -> hsa_status_t>;
/// Called for each symbol of an agent.
type AgentSymbolCallback =
    Option<unsafe extern "C" fn(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t, *mut c_void) -> hsa_status_t>;

/// The maximum size of a code object.
const MAX_CODE: u64 = 4 << 30;
/// The number of bytes that are copied at a time from a code object in memory.
const PIECE: usize = 64 << 20;

/// Reserves room for more of a code object, which may exceed the host's memory.
fn grow(bytes: &mut Vec<u8>, more: usize) -> Result<()> {
    bytes.try_reserve_exact(more).map_err(|_| HSA_STATUS_ERROR_OUT_OF_RESOURCES)?;
    bytes.resize(bytes.len() + more, 0);
    Ok(())
}

/// Reads part of a file that the program has open. Restores its position.
pub(super) fn read_file(file: c_int, from: u64, size: Option<u64>) -> Result<Source> {
    if file < 0 {
        return Err(HSA_STATUS_ERROR_INVALID_FILE);
    }
    // SAFETY: the descriptor is the program's and is not closed here; if it is not open, reading fails.
    let file = ManuallyDrop::new(unsafe { File::from_raw_fd(file) });
    let invalid = |_| HSA_STATUS_ERROR_INVALID_FILE;
    let len = file.metadata().map_err(invalid)?.len();
    let left = len.checked_sub(from).ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
    let size = size.unwrap_or(left);
    if size > left || size > MAX_CODE {
        return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
    }
    let mut bytes = Vec::new();
    grow(&mut bytes, size as usize)?;
    std::os::unix::fs::FileExt::read_exact_at(&*file, &mut bytes, from).map_err(invalid)?;
    Ok(Source { bytes, address: 0 })
}

unsafe fn create(profile: u32, rounding: u32, executable: *mut hsa_executable_t) -> Result<()> {
    let runtime = runtime()?;
    let known = profile <= HSA_PROFILE_FULL && rounding <= HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR;
    if !known || executable.is_null() {
        return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
    }
    let new = runtime.loader.create(profile, rounding)?;
    // SAFETY: the caller vouches for it.
    unsafe { put(executable, new) }
}

unsafe fn define(
    executable: hsa_executable_t,
    agents: &[AgentId],
    variable: *const c_char,
    address: *mut c_void,
) -> Result<()> {
    let runtime = runtime()?;
    // SAFETY: the caller vouches for it.
    let variable = unsafe { name(variable) }?;
    agents.iter().try_for_each(|agent| runtime.loader.define(executable, *agent, variable.clone(), address as u64))
}

unsafe fn symbol_info(symbol: &Symbol, attribute: u32, value: *mut c_void) -> Result<()> {
    let invalid = HSA_STATUS_ERROR_INVALID_ARGUMENT;
    // SAFETY: the caller vouches that `value` has room for the attribute.
    unsafe {
        match attribute {
            HSA_EXECUTABLE_SYMBOL_INFO_TYPE => put(
                value,
                match symbol.what {
                    What::Kernel(_) => HSA_SYMBOL_KIND_KERNEL,
                    What::Variable(..) => HSA_SYMBOL_KIND_VARIABLE,
                },
            ),
            HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH => put(value, symbol.name.len() as u32),
            HSA_EXECUTABLE_SYMBOL_INFO_NAME => put_bytes(value, symbol.name.as_bytes()),
            HSA_EXECUTABLE_SYMBOL_INFO_MODULE_NAME_LENGTH => put(value, 0_u32),
            HSA_EXECUTABLE_SYMBOL_INFO_MODULE_NAME => Ok(()),
            HSA_EXECUTABLE_SYMBOL_INFO_AGENT => put(value, symbol.agent.handle()),
            HSA_EXECUTABLE_SYMBOL_INFO_LINKAGE => put(value, HSA_SYMBOL_LINKAGE_PROGRAM),
            HSA_EXECUTABLE_SYMBOL_INFO_IS_DEFINITION => put(value, true),
            _ => match &symbol.what {
                What::Kernel(kernel) => {
                    let info = kernel.info();
                    match attribute {
                        HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT => put(value, kernel.descriptor_address()),
                        HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE => put(value, info.kernarg_size),
                        HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT => {
                            put(value, info.kernarg_align.max(16))
                        }
                        HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE => put(value, info.lds_size),
                        HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE => put(value, info.private_size),
                        HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_DYNAMIC_CALLSTACK => put(value, info.dynamic_stack),
                        HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_CALL_CONVENTION => put(value, 0_u32),
                        _ => Err(invalid),
                    }
                }
                What::Variable(address, size) => match attribute {
                    HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS => put(value, *address),
                    HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALLOCATION => put(value, HSA_VARIABLE_ALLOCATION_AGENT),
                    HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SEGMENT => put(value, HSA_VARIABLE_SEGMENT_GLOBAL),
                    HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALIGNMENT => {
                        put(value, 1_u32 << address.trailing_zeros().min(12))
                    }
                    HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE => put(value, u32::try_from(*size).unwrap_or(u32::MAX)),
                    HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_IS_CONST => put(value, false),
                    _ => Err(invalid),
                },
            },
        }
    }
}

functions! {
    /// Creates a reader for a code object in memory.
    fn hsa_code_object_reader_create_from_memory(
        code: *const c_void,
        size: usize,
        reader: *mut hsa_code_object_reader_t,
    ) {
        let runtime = runtime()?;
        if code.is_null() || size == 0 || size as u64 > MAX_CODE || reader.is_null() {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let mut bytes = Vec::new();
        while bytes.len() < size {
            // Copied by a system call, which detects unmapped addresses. Memory is allocated only as copying succeeds.
            let (done, more) = (bytes.len(), (size - bytes.len()).min(PIECE));
            grow(&mut bytes, more)?;
            let to = bytes[done..].as_mut_ptr().expose_provenance() as u64;
            let from = (code as u64).checked_add(done as u64).ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
            crate::memory::copy_bytes(runtime.agents.space(), to, from, more as u64)?;
        }
        let source = Source { bytes, address: code as u64 };
        // SAFETY: the caller vouches for it.
        unsafe { put(reader, runtime.loader.reader(source)?) }
    }

    /// Creates a reader for a code object in a file.
    fn hsa_code_object_reader_create_from_file(file: c_int, reader: *mut hsa_code_object_reader_t) {
        let runtime = runtime()?;
        if reader.is_null() {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the caller vouches for it.
        unsafe { put(reader, runtime.loader.reader(read_file(file, 0, None)?)?) }
    }

    /// Destroys a code object reader.
    fn hsa_code_object_reader_destroy(reader: hsa_code_object_reader_t) {
        runtime()?.loader.destroy_reader(reader)
    }

    /// Creates an executable.
    fn hsa_executable_create_alt(
        profile: u32,
        rounding: u32,
        _options: *const c_char,
        executable: *mut hsa_executable_t,
    ) {
        // SAFETY: the caller vouches for it.
        unsafe { create(profile, rounding, executable) }
    }

    /// Creates an executable, which may be frozen from the start.
    fn hsa_executable_create(
        profile: u32,
        state: u32,
        _options: *const c_char,
        executable: *mut hsa_executable_t,
    ) {
        runtime()?;
        if state > HSA_EXECUTABLE_STATE_FROZEN {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the caller vouches for it.
        unsafe { create(profile, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, executable) }?;
        if state == HSA_EXECUTABLE_STATE_FROZEN {
            // SAFETY: it was written just above.
            runtime()?.loader.freeze(unsafe { executable.read_unaligned() })?;
        }
        Ok(())
    }

    /// Destroys an executable.
    fn hsa_executable_destroy(executable: hsa_executable_t) {
        runtime()?.loader.destroy(executable)
    }

    /// Loads a code object to an agent.
    fn hsa_executable_load_agent_code_object(
        executable: hsa_executable_t,
        agent: hsa_agent_t,
        reader: hsa_code_object_reader_t,
        _options: *const c_char,
        loaded: *mut hsa_loaded_code_object_t,
    ) {
        let runtime = runtime()?;
        let agent = runtime.agents.get(agent)?;
        let new = runtime.loader.load(&runtime.agents, executable, agent, reader)?;
        if loaded.is_null() {
            return Ok(());
        }
        // SAFETY: the caller vouches for it.
        unsafe { put(loaded, new) }
    }

    /// Freezes an executable.
    fn hsa_executable_freeze(executable: hsa_executable_t, _options: *const c_char) {
        runtime()?.loader.freeze(executable)
    }

    /// Returns an attribute of an executable.
    fn hsa_executable_get_info(executable: hsa_executable_t, attribute: u32, value: *mut c_void) {
        let executable = runtime()?.loader.executable(executable)?;
        // SAFETY: the caller vouches for `value`.
        unsafe {
            match attribute {
                HSA_EXECUTABLE_INFO_PROFILE => put(value, executable.profile),
                HSA_EXECUTABLE_INFO_STATE => put(value, u32::from(executable.is_frozen())),
                HSA_EXECUTABLE_INFO_DEFAULT_FLOAT_ROUNDING_MODE => put(value, executable.rounding),
                _ => Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
            }
        }
    }

    /// Defines the address of a variable for all agents.
    fn hsa_executable_global_variable_define(
        executable: hsa_executable_t,
        variable: *const c_char,
        address: *mut c_void,
    ) {
        let agents: Vec<_> = runtime()?.agents.gpu_ids().collect();
        // SAFETY: the caller vouches for it.
        unsafe { define(executable, &agents, variable, address) }
    }

    /// Defines the address of a variable for an agent.
    fn hsa_executable_agent_global_variable_define(
        executable: hsa_executable_t,
        agent: hsa_agent_t,
        variable: *const c_char,
        address: *mut c_void,
    ) {
        let agent = runtime()?.agents.get(agent)?;
        // SAFETY: the caller vouches for it.
        unsafe { define(executable, &[agent], variable, address) }
    }

    /// Defines the address of a constant for an agent.
    fn hsa_executable_readonly_variable_define(
        executable: hsa_executable_t,
        agent: hsa_agent_t,
        variable: *const c_char,
        address: *mut c_void,
    ) {
        let agent = runtime()?.agents.get(agent)?;
        // SAFETY: the caller vouches for it.
        unsafe { define(executable, &[agent], variable, address) }
    }

    /// Validates an executable. Always succeeds: code objects are checked when they are loaded.
    fn hsa_executable_validate(executable: hsa_executable_t, result: *mut u32) {
        runtime()?.loader.executable(executable)?;
        // SAFETY: the caller vouches for it.
        unsafe { put(result, 0_u32) }
    }

    /// Validates an executable. Always succeeds: code objects are checked when they are loaded.
    fn hsa_executable_validate_alt(executable: hsa_executable_t, _options: *const c_char, result: *mut u32) {
        runtime()?.loader.executable(executable)?;
        // SAFETY: the caller vouches for it.
        unsafe { put(result, 0_u32) }
    }

    /// Finds a symbol by name: of an agent, or the first of any agent.
    fn hsa_executable_get_symbol_by_name(
        executable: hsa_executable_t,
        text: *const c_char,
        agent: *const hsa_agent_t,
        symbol: *mut hsa_executable_symbol_t,
    ) {
        let runtime = runtime()?;
        // SAFETY: the caller vouches for it.
        let text = unsafe { name(text) }?;
        // SAFETY: not null, so the caller vouches for it.
        let agent = (!agent.is_null()).then(|| runtime.agents.get(unsafe { agent.read_unaligned() })).transpose()?;
        if symbol.is_null() {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let found = runtime.loader.find(executable, agent, &text)?;
        // SAFETY: the caller vouches for it.
        unsafe { put(symbol, found) }
    }

    /// Finds a symbol of an agent by name. The module name must be empty.
    fn hsa_executable_get_symbol(
        executable: hsa_executable_t,
        module: *const c_char,
        text: *const c_char,
        agent: hsa_agent_t,
        _call_convention: i32,
        symbol: *mut hsa_executable_symbol_t,
    ) {
        let runtime = runtime()?;
        // SAFETY: the caller vouches for both.
        let (module, text) = unsafe { (if module.is_null() { String::new() } else { name(module)? }, name(text)?) };
        if !module.is_empty() {
            return Err(HSA_STATUS_ERROR_INVALID_SYMBOL_NAME);
        }
        let found = runtime.loader.find(executable, Some(runtime.agents.get(agent)?), &text)?;
        // SAFETY: the caller vouches for it.
        unsafe { put(symbol, found) }
    }

    /// Returns an attribute of a symbol.
    fn hsa_executable_symbol_get_info(symbol: hsa_executable_symbol_t, attribute: u32, value: *mut c_void) {
        // SAFETY: the caller vouches for `value`.
        runtime()?.loader.with_symbol(symbol, |symbol| unsafe { symbol_info(symbol, attribute, value) })?
    }

    /// Calls a function for each symbol.
    fn hsa_executable_iterate_symbols(executable: hsa_executable_t, callback: SymbolCallback, data: *mut c_void) {
        let symbols = runtime()?.loader.symbols(executable)?;
        let callback = callback.ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        // SAFETY: the caller vouches for the function.
        each(symbols.iter(), |(_, symbol)| unsafe { callback(executable, *symbol, data) })
    }

    /// Calls a function for each symbol of an agent.
    fn hsa_executable_iterate_agent_symbols(
        executable: hsa_executable_t,
        agent: hsa_agent_t,
        callback: AgentSymbolCallback,
        data: *mut c_void,
    ) {
        let runtime = runtime()?;
        let id = runtime.agents.get(agent)?;
        let symbols = runtime.loader.symbols(executable)?;
        let callback = callback.ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        let symbols = symbols.iter().filter(|(of, _)| *of == id);
        // SAFETY: the caller vouches for the function.
        each(symbols, |(_, symbol)| unsafe { callback(executable, agent, *symbol, data) })
    }

    /// Calls a function for each program symbol. There are none.
    fn hsa_executable_iterate_program_symbols(
        executable: hsa_executable_t,
        callback: SymbolCallback,
        _data: *mut c_void,
    ) {
        runtime()?.loader.executable(executable)?;
        callback.map(drop).ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)
    }
}
