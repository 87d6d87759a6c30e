//! Functions that the software GPU does not support. Each returns an error for any arguments.

use super::function::{Export, export};
use crate::abi::{HSA_STATUS_ERROR_NOT_SUPPORTED, hsa_status_t};

/// Defines functions that return `HSA_STATUS_ERROR_NOT_SUPPORTED`. They declare no parameters: the caller of a C
/// function removes its arguments, so a function may ignore them.
macro_rules! unsupported {
    ($($name:ident)*) => {
        $(
            /// Not supported: always `HSA_STATUS_ERROR_NOT_SUPPORTED`.
            #[unsafe(no_mangle)]
            pub(crate) extern "C" fn $name() -> hsa_status_t {
                crate::log::call(stringify!($name), HSA_STATUS_ERROR_NOT_SUPPORTED);
                HSA_STATUS_ERROR_NOT_SUPPORTED
            }
        )*
        pub(super) const FUNCTIONS: &[Export] = &[$(export!($name)),*];
    };
}

unsupported! {
    hsa_amd_ais_file_read
    hsa_amd_ais_file_write
    hsa_amd_memory_migrate
    hsa_amd_spm_acquire
    hsa_amd_spm_release
    hsa_amd_spm_set_dest_buffer
    hsa_code_object_deserialize
    hsa_code_object_destroy
    hsa_code_object_get_info
    hsa_code_object_get_symbol
    hsa_code_object_get_symbol_from_name
    hsa_code_object_iterate_symbols
    hsa_code_object_serialize
    hsa_code_symbol_get_info
    hsa_executable_load_code_object
    hsa_executable_load_program_code_object
    hsa_ext_program_add_module
    hsa_ext_program_create
    hsa_ext_program_destroy
    hsa_ext_program_finalize
    hsa_ext_program_get_info
    hsa_ext_program_iterate_modules
    hsa_signal_group_create
    hsa_signal_group_destroy
    hsa_signal_group_wait_any_relaxed
    hsa_signal_group_wait_any_scacquire
    hsa_soft_queue_create
    hsa_ven_amd_pcs_create
    hsa_ven_amd_pcs_create_from_id
    hsa_ven_amd_pcs_destroy
    hsa_ven_amd_pcs_flush
    hsa_ven_amd_pcs_iterate_configuration
    hsa_ven_amd_pcs_start
    hsa_ven_amd_pcs_stop
}
