//! Initialisation and shutdown, system information, extensions.

use std::ffi::{c_char, c_void};

use super::function::{functions, put, put_bytes};
use crate::abi::*;
use crate::events;
use crate::life;
use crate::result::Result;
use crate::runtime::runtime;

/// Version of the HSA specification.
const VERSION: (u16, u16) = (1, 1);
/// Version of AMD's extensions of the interface, as in the headers of ROCm 7.2.
const AMD_VERSION: (u16, u16) = (1, 15);

/// Name and version of a supported extension.
fn extension(number: u16) -> Option<(&'static std::ffi::CStr, u16, u16)> {
    match u32::from(number) {
        HSA_EXTENSION_AMD_LOADER => Some((c"HSA_EXTENSION_AMD_LOADER", 1, 3)),
        HSA_EXTENSION_IMAGES => Some((c"HSA_EXTENSION_IMAGES", 1, 0)),
        _ => None,
    }
}

/// Checks that a number is that of an extension, which need not be there.
fn is_extension(number: u16) -> Result<()> {
    match u32::from(number) {
        HSA_EXTENSION_FINALIZER..=HSA_EXTENSION_PROFILING_EVENTS
        | HSA_EXTENSION_AMD_PROFILER..=HSA_EXTENSION_AMD_PC_SAMPLING => Ok(()),
        _ => Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
    }
}

/// Writes the first `len` bytes of an extension's table.
unsafe fn table(number: u16, major: u16, len: usize, place: *mut c_void) -> Result<()> {
    is_extension(number)?;
    let Some((_, version, _)) = extension(number) else { return Err(HSA_STATUS_ERROR) };
    if version != major {
        return Err(HSA_STATUS_ERROR);
    }
    if len == 0 {
        return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
    }
    let (images, loader) = (super::image::TABLE, super::loader::TABLE);
    let (bytes, size) = match u32::from(number) {
        HSA_EXTENSION_IMAGES => ((&raw const images).cast::<u8>(), size_of_val(&images)),
        _ => ((&raw const loader).cast::<u8>(), size_of_val(&loader)),
    };
    // SAFETY: the table is a struct of pointers without padding, and at most its size is read.
    let bytes = unsafe { std::slice::from_raw_parts(bytes, len.min(size)) };
    // SAFETY: the caller vouches for the place.
    unsafe { put_bytes(place, bytes) }
}

functions! {
    /// Initialises the runtime, or adds a user.
    fn hsa_init() {
        life::init()
    }

    /// Removes a user. The last one destroys queues, executables, signals and memory.
    fn hsa_shut_down() {
        life::shut_down()
    }

    /// The text for a status.
    fn hsa_status_string(status: hsa_status_t, text: *mut *const c_char) {
        let known = status_text(status).ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        // SAFETY: the caller vouches for it.
        unsafe { put(text, known.as_ptr()) }
    }

    /// Returns a system attribute.
    fn hsa_system_get_info(attribute: u32, value: *mut c_void) {
        runtime()?;
        // SAFETY: the caller vouches that `value` has room for the attribute.
        unsafe {
            match attribute {
                HSA_SYSTEM_INFO_VERSION_MAJOR => put(value, VERSION.0),
                HSA_SYSTEM_INFO_VERSION_MINOR => put(value, VERSION.1),
                HSA_SYSTEM_INFO_TIMESTAMP => put(value, events::now()),
                HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY => put(value, events::FREQUENCY),
                HSA_SYSTEM_INFO_SIGNAL_MAX_WAIT => put(value, u64::MAX),
                HSA_SYSTEM_INFO_ENDIANNESS => put(value, HSA_ENDIANNESS_LITTLE),
                HSA_SYSTEM_INFO_MACHINE_MODEL => put(value, HSA_MACHINE_MODEL_LARGE),
                HSA_SYSTEM_INFO_EXTENSIONS => {
                    let mut bits = [0_u8; 128];
                    for extension in [HSA_EXTENSION_IMAGES, HSA_EXTENSION_AMD_LOADER] {
                        bits[extension as usize / 8] |= 1 << (extension % 8);
                    }
                    put(value, bits)
                }
                HSA_AMD_SYSTEM_INFO_BUILD_VERSION => {
                    let version = concat!("hsa-sim ", env!("CARGO_PKG_VERSION"), "\0").as_ptr();
                    put(value, version)
                }
                HSA_AMD_SYSTEM_INFO_SVM_SUPPORTED => put(value, true),
                HSA_AMD_SYSTEM_INFO_SVM_ACCESSIBLE_BY_DEFAULT => put(value, false),
                HSA_AMD_SYSTEM_INFO_MWAITX_ENABLED => put(value, false),
                HSA_AMD_SYSTEM_INFO_DMABUF_SUPPORTED => put(value, true),
                HSA_AMD_SYSTEM_INFO_VIRTUAL_MEM_API_SUPPORTED => put(value, true),
                HSA_AMD_SYSTEM_INFO_XNACK_ENABLED => put(value, false),
                HSA_AMD_SYSTEM_INFO_EXT_VERSION_MAJOR => put(value, AMD_VERSION.0),
                HSA_AMD_SYSTEM_INFO_EXT_VERSION_MINOR => put(value, AMD_VERSION.1),
                _ => Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
            }
        }
    }

    /// The name of an extension.
    fn hsa_extension_get_name(number: u16, name: *mut *const c_char) {
        let (text, ..) = extension(number).ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        // SAFETY: the caller vouches for it.
        unsafe { put(name, text.as_ptr()) }
    }

    /// Returns whether a version of an extension is supported.
    fn hsa_system_extension_supported(number: u16, major: u16, minor: u16, result: *mut bool) {
        runtime()?;
        is_extension(number)?;
        let there = extension(number).is_some_and(|(_, has, minor_has)| has == major && minor <= minor_has);
        // SAFETY: the caller vouches for it.
        unsafe { put(result, there) }
    }

    /// Returns whether a major version of an extension is supported, and its minor version.
    fn hsa_system_major_extension_supported(number: u16, major: u16, minor: *mut u16, result: *mut bool) {
        runtime()?;
        is_extension(number)?;
        let there = extension(number).filter(|(_, has, _)| *has == major);
        // SAFETY: the caller vouches for both.
        unsafe {
            if let Some((.., has)) = there {
                put(minor, has)?;
            }
            put(result, there.is_some())
        }
    }

    /// Returns the function table of an extension.
    fn hsa_system_get_extension_table(number: u16, major: u16, minor: u16, place: *mut c_void) {
        runtime()?;
        is_extension(number)?;
        // The number of functions in each minor version.
        let functions: &[usize] = if u32::from(number) == HSA_EXTENSION_IMAGES { &[10] } else { &[3, 5, 6, 7] };
        let functions = functions.get(usize::from(minor)).copied().ok_or(HSA_STATUS_ERROR)?;
        // SAFETY: the caller vouches for the place.
        unsafe { table(number, major, functions * size_of::<usize>(), place) }
    }

    /// Returns the function table of an extension, as much as fits.
    fn hsa_system_get_major_extension_table(number: u16, major: u16, len: usize, place: *mut c_void) {
        runtime()?;
        // SAFETY: the caller vouches for the place.
        unsafe { table(number, major, len, place) }
    }

    /// Registers a system event handler.
    fn hsa_amd_register_system_event_handler(callback: hsa_amd_system_event_callback_t, data: *mut c_void) {
        let runtime = runtime()?;
        let callback = callback.ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        runtime.events.add(callback, data as u64);
        Ok(())
    }

    /// Returns whether a version of an extension is supported on an agent.
    fn hsa_agent_extension_supported(number: u16, agent: hsa_agent_t, major: u16, minor: u16, result: *mut bool) {
        runtime()?.agents.get(agent)?;
        is_extension(number)?;
        let there = extension(number).is_some_and(|(_, has, minor_has)| has == major && minor <= minor_has);
        // SAFETY: the caller vouches for it.
        unsafe { put(result, there) }
    }

    /// Returns whether a major version of an extension is supported on an agent, and its minor version.
    fn hsa_agent_major_extension_supported(
        number: u16,
        agent: hsa_agent_t,
        major: u16,
        minor: *mut u16,
        result: *mut bool,
    ) {
        runtime()?.agents.get(agent)?;
        is_extension(number)?;
        let there = extension(number).filter(|(_, has, _)| *has == major);
        // SAFETY: the caller vouches for both.
        unsafe {
            if let Some((.., has)) = there {
                put(minor, has)?;
            }
            put(result, there.is_some())
        }
    }

    /// Enables logging. No effect: there is no such log.
    fn hsa_amd_enable_logging(_flags: *mut u8, _file: *mut c_void) {
        runtime().map(drop)
    }
}
