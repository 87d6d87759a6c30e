//! AMD's loader extension: the loaded code in a program's address space.

use std::ffi::{c_int, c_void};

use super::executable::read_file;
use super::function::{Export, each, guard, put, put_bytes};
use crate::abi::*;
use crate::loader::Loaded;
use crate::memory::pointer;
use crate::result::Result;
use crate::runtime::runtime;

/// No function is exported by name: programs get them from the extension's table.
pub(super) const FUNCTIONS: &[Export] = &[];

/// The extension's functions.
pub(super) const TABLE: hsa_ven_amd_loader_1_03_pfn_t = hsa_ven_amd_loader_1_03_pfn_t {
    hsa_ven_amd_loader_query_host_address: query_host_address,
    hsa_ven_amd_loader_query_segment_descriptors: query_segment_descriptors,
    hsa_ven_amd_loader_query_executable: query_executable,
    hsa_ven_amd_loader_executable_iterate_loaded_code_objects: iterate_loaded_code_objects,
    hsa_ven_amd_loader_loaded_code_object_get_info: loaded_code_object_get_info,
    hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size: reader_of_part_of_a_file,
    hsa_ven_amd_loader_iterate_executables: iterate_executables,
};

fn around(address: u64) -> Result<std::sync::Arc<Loaded>> {
    let found = runtime()?.loader.all_loaded().into_iter().find(|loaded| {
        let base = loaded.module.base();
        address >= base && address - base < loaded.module.span()
    });
    found.ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)
}

/// Returns the host address of loaded code, which equals the device address.
unsafe extern "C" fn query_host_address(address: *const c_void, host: *mut *const c_void) -> hsa_status_t {
    guard("loader extension: query_host_address", || {
        around(address as u64)?;
        // SAFETY: the caller vouches for it.
        unsafe { put(host, address) }
    })
}

/// Returns the loaded segments, at most as many as fit; without a buffer, returns their number.
unsafe extern "C" fn query_segment_descriptors(
    descriptors: *mut hsa_ven_amd_loader_segment_descriptor_t,
    count: *mut usize,
) -> hsa_status_t {
    guard("loader extension: query_segment_descriptors", || {
        let all = runtime()?.loader.all_loaded();
        if count.is_null() {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        if descriptors.is_null() {
            // SAFETY: the caller vouches for it.
            return unsafe { put(count, all.len()) };
        }
        // SAFETY: the caller vouches for it.
        let room = unsafe { count.read_unaligned() };
        if room != all.len() {
            return Err(HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS);
        }
        for (n, loaded) in all.iter().enumerate() {
            let descriptor = hsa_ven_amd_loader_segment_descriptor_t {
                agent: loaded.agent.handle(),
                executable: loaded.executable,
                code_object_storage_type: HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY,
                code_object_storage_base: loaded.source.bytes.as_ptr().cast(),
                code_object_storage_size: loaded.source.bytes.len(),
                code_object_storage_offset: 0,
                segment_base: pointer(loaded.module.base()),
                segment_size: loaded.module.span() as usize,
            };
            // SAFETY: the caller vouches for `room` entries.
            unsafe { put(descriptors.add(n), descriptor) }?;
        }
        Ok(())
    })
}

/// Returns the executable that contains an address.
unsafe extern "C" fn query_executable(address: *const c_void, executable: *mut hsa_executable_t) -> hsa_status_t {
    guard("loader extension: query_executable", || {
        let loaded = around(address as u64)?;
        // SAFETY: the caller vouches for it.
        unsafe { put(executable, loaded.executable) }
    })
}

/// Calls a function for each code object of an executable.
unsafe extern "C" fn iterate_loaded_code_objects(
    executable: hsa_executable_t,
    callback: LoadedCallback,
    data: *mut c_void,
) -> hsa_status_t {
    guard("loader extension: iterate_loaded_code_objects", || {
        let loaded = runtime()?.loader.executable(executable)?.loaded();
        let callback = callback.ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        // SAFETY: the caller vouches for the function.
        each(loaded, |loaded| unsafe { callback(executable, loaded, data) })
    })
}

/// Returns an attribute of a loaded code object.
unsafe extern "C" fn loaded_code_object_get_info(
    loaded: hsa_loaded_code_object_t,
    attribute: u32,
    value: *mut c_void,
) -> hsa_status_t {
    guard("loader extension: loaded_code_object_get_info", || {
        let loaded = runtime()?.loader.loaded(loaded)?;
        let bytes = &loaded.source.bytes;
        let address = if loaded.source.address == 0 { bytes.as_ptr() as u64 } else { loaded.source.address };
        // SAFETY: `getpid` has no preconditions.
        let process = unsafe { libc::getpid() };
        let uri = format!("memory://{process}#offset={address:#x}&size={}", bytes.len());
        let base = loaded.module.base();
        // SAFETY: the caller vouches that `value` has room for the attribute.
        unsafe {
            match attribute {
                HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_EXECUTABLE => put(value, loaded.executable),
                HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_KIND => {
                    put(value, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_KIND_AGENT)
                }
                HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT => put(value, loaded.agent.handle()),
                HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_TYPE => {
                    put(value, HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY)
                }
                HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE => put(value, address),
                HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_SIZE => {
                    put(value, bytes.len() as u64)
                }
                // Addresses in the code object start at 0.
                HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA
                | HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE => put(value, base),
                HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE => put(value, loaded.module.span()),
                HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI_LENGTH => put(value, uri.len() as u32),
                HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI => put_bytes(value, uri.as_bytes()),
                _ => Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
            }
        }
    })
}

/// Creates a reader for a code object in part of a file.
unsafe extern "C" fn reader_of_part_of_a_file(
    file: c_int,
    offset: usize,
    size: usize,
    reader: *mut hsa_code_object_reader_t,
) -> hsa_status_t {
    guard("loader extension: reader_of_part_of_a_file", || {
        let runtime = runtime()?;
        if size == 0 || reader.is_null() {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let source = read_file(file, offset as u64, Some(size as u64))?;
        // SAFETY: the caller vouches for it.
        unsafe { put(reader, runtime.loader.reader(source)?) }
    })
}

/// Calls a function for each executable.
unsafe extern "C" fn iterate_executables(callback: ExecutableCallback, data: *mut c_void) -> hsa_status_t {
    guard("loader extension: iterate_executables", || {
        let executables = runtime()?.loader.executables();
        let callback = callback.ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        // SAFETY: the caller vouches for the function.
        each(executables, |executable| unsafe { callback(executable, data) })
    })
}
