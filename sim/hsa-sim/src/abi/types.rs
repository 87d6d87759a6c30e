//! Handles and structs.

use std::ffi::{c_int, c_void};

use super::hsa_status_t;

macro_rules! handles {
    ($($name:ident)*) => {
        $(
            #[repr(C)]
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
            pub struct $name {
                pub handle: u64,
            }
        )*
    };
}

handles! {
    hsa_agent_t hsa_signal_t hsa_signal_group_t hsa_region_t hsa_isa_t hsa_cache_t hsa_wavefront_t
    hsa_code_object_reader_t hsa_executable_t hsa_loaded_code_object_t hsa_executable_symbol_t
    hsa_code_object_t hsa_code_symbol_t hsa_callback_data_t
    hsa_amd_memory_pool_t hsa_amd_vmem_alloc_handle_t hsa_ext_image_t hsa_ext_sampler_t hsa_ext_program_t
}

pub type hsa_signal_value_t = i64;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct hsa_dim3_t {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hsa_queue_t {
    pub r#type: u32,
    pub features: u32,
    pub base_address: *mut c_void,
    pub doorbell_signal: hsa_signal_t,
    pub size: u32,
    pub reserved1: u32,
    pub id: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct scratch_last_used_index_xcc_t {
    pub main: u64,
    pub alt: u64,
}

#[repr(C, align(64))]
#[derive(Clone, Copy, Debug)]
pub struct amd_queue_v2_t {
    pub hsa_queue: hsa_queue_t,
    pub caps: u32,
    pub reserved1: [u32; 3],
    pub write_dispatch_id: u64,
    pub group_segment_aperture_base_hi: u32,
    pub private_segment_aperture_base_hi: u32,
    pub max_cu_id: u32,
    pub max_wave_id: u32,
    pub max_legacy_doorbell_dispatch_id_plus_1: u64,
    pub legacy_doorbell_lock: u32,
    pub reserved2: [u32; 9],
    pub read_dispatch_id: u64,
    pub read_dispatch_id_field_base_byte_offset: u32,
    pub compute_tmpring_size: u32,
    pub scratch_resource_descriptor: [u32; 4],
    pub scratch_backing_memory_location: u64,
    pub scratch_backing_memory_byte_size: u64,
    pub scratch_wave64_lane_byte_size: u32,
    pub queue_properties: u32,
    pub scratch_max_use_index: u64,
    pub queue_inactive_signal: hsa_signal_t,
    pub alt_scratch_max_use_index: u64,
    pub alt_scratch_resource_descriptor: [u32; 4],
    pub alt_scratch_backing_memory_location: u64,
    pub alt_scratch_dispatch_limit_x: u32,
    pub alt_scratch_dispatch_limit_y: u32,
    pub alt_scratch_dispatch_limit_z: u32,
    pub alt_scratch_wave64_lane_byte_size: u32,
    pub alt_compute_tmpring_size: u32,
    pub reserved5: u32,
    pub scratch_last_used_index: [scratch_last_used_index_xcc_t; 128],
}

#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, Default)]
pub struct amd_signal_t {
    pub kind: i64,
    /// The value, or the doorbell's address.
    pub value: i64,
    pub event_mailbox_ptr: u64,
    pub event_id: u32,
    pub reserved1: u32,
    pub start_ts: u64,
    pub end_ts: u64,
    /// The queue of a doorbell.
    pub queue_ptr: u64,
    pub reserved3: [u32; 2],
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct hsa_amd_profiling_dispatch_time_t {
    pub start: u64,
    pub end: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct hsa_amd_profiling_async_copy_time_t {
    pub start: u64,
    pub end: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hsa_amd_hdp_flush_t {
    pub HDP_MEM_FLUSH_CNTL: *mut u32,
    pub HDP_REG_FLUSH_CNTL: *mut u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct hsa_amd_clock_counters_t {
    pub gpu_clock_counter: u64,
    pub cpu_clock_counter: u64,
    pub system_clock_counter: u64,
    pub system_clock_frequency: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hsa_pitched_ptr_t {
    pub base: *mut c_void,
    pub pitch: usize,
    pub slice: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct hsa_amd_memory_pool_link_info_t {
    pub min_latency: u32,
    pub max_latency: u32,
    pub min_bandwidth: u32,
    pub max_bandwidth: u32,
    pub atomic_support_32bit: bool,
    pub atomic_support_64bit: bool,
    pub coherent_support: bool,
    pub link_type: u32,
    pub numa_distance: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hsa_amd_pointer_info_t {
    pub size: u32,
    pub r#type: u32,
    pub agentBaseAddress: *mut c_void,
    pub hostBaseAddress: *mut c_void,
    pub sizeInBytes: usize,
    pub userData: *mut c_void,
    pub agentOwner: hsa_agent_t,
    pub global_flags: u32,
    pub registered: bool,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct hsa_amd_ipc_memory_t {
    pub handle: [u32; 8],
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hsa_amd_gpu_memory_fault_info_t {
    pub agent: hsa_agent_t,
    pub virtual_address: u64,
    pub fault_reason_mask: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hsa_amd_gpu_hw_exception_info_t {
    pub agent: hsa_agent_t,
    pub reset_type: u32,
    pub reset_cause: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub union hsa_amd_event_info_t {
    /// The largest of the variants.
    pub memory_fault: hsa_amd_gpu_memory_fault_info_t,
    pub hw_exception: hsa_amd_gpu_hw_exception_info_t,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hsa_amd_event_t {
    pub event_type: u32,
    pub info: hsa_amd_event_info_t,
}

pub type hsa_amd_system_event_callback_t =
    Option<unsafe extern "C" fn(event: *const hsa_amd_event_t, data: *mut c_void) -> hsa_status_t>;
pub type hsa_amd_signal_handler = Option<unsafe extern "C" fn(value: hsa_signal_value_t, arg: *mut c_void) -> bool>;
pub type hsa_amd_deallocation_callback_t = Option<unsafe extern "C" fn(ptr: *mut c_void, user_data: *mut c_void)>;
pub type hsa_queue_callback_t =
    Option<unsafe extern "C" fn(status: hsa_status_t, source: *mut hsa_queue_t, data: *mut c_void)>;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hsa_amd_svm_attribute_pair_t {
    pub attribute: u64,
    pub value: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hsa_amd_memory_access_desc_t {
    pub permissions: u32,
    pub agent_handle: hsa_agent_t,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hsa_ven_amd_loader_segment_descriptor_t {
    pub agent: hsa_agent_t,
    pub executable: hsa_executable_t,
    pub code_object_storage_type: u32,
    pub code_object_storage_base: *const c_void,
    pub code_object_storage_size: usize,
    pub code_object_storage_offset: usize,
    pub segment_base: *const c_void,
    pub segment_size: usize,
}

type Opaque = *const c_void;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hsa_ven_amd_loader_1_03_pfn_t {
    pub hsa_ven_amd_loader_query_host_address: unsafe extern "C" fn(Opaque, *mut Opaque) -> hsa_status_t,
    pub hsa_ven_amd_loader_query_segment_descriptors:
        unsafe extern "C" fn(*mut hsa_ven_amd_loader_segment_descriptor_t, *mut usize) -> hsa_status_t,
    pub hsa_ven_amd_loader_query_executable: unsafe extern "C" fn(Opaque, *mut hsa_executable_t) -> hsa_status_t,
    pub hsa_ven_amd_loader_executable_iterate_loaded_code_objects:
        unsafe extern "C" fn(hsa_executable_t, LoadedCallback, *mut c_void) -> hsa_status_t,
    pub hsa_ven_amd_loader_loaded_code_object_get_info:
        unsafe extern "C" fn(hsa_loaded_code_object_t, u32, *mut c_void) -> hsa_status_t,
    pub hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size:
        unsafe extern "C" fn(c_int, usize, usize, *mut hsa_code_object_reader_t) -> hsa_status_t,
    pub hsa_ven_amd_loader_iterate_executables: unsafe extern "C" fn(ExecutableCallback, *mut c_void) -> hsa_status_t,
}

/// Called for each loaded code object of an executable.
pub type LoadedCallback =
    Option<unsafe extern "C" fn(hsa_executable_t, hsa_loaded_code_object_t, *mut c_void) -> hsa_status_t>;
/// Called for each executable.
pub type ExecutableCallback = Option<unsafe extern "C" fn(hsa_executable_t, *mut c_void) -> hsa_status_t>;
