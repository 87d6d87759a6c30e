//! Images and samplers (`hsa_ext_image.h`).

use std::ffi::c_void;

use super::{hsa_agent_t, hsa_dim3_t, hsa_ext_image_t, hsa_ext_sampler_t, hsa_status_t};

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct hsa_ext_image_format_t {
    pub channel_type: u32,
    pub channel_order: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct hsa_ext_image_descriptor_t {
    pub geometry: u32,
    pub width: usize,
    pub height: usize,
    pub depth: usize,
    pub array_size: usize,
    pub format: hsa_ext_image_format_t,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct hsa_amd_image_descriptor_t {
    pub version: u32,
    pub deviceID: u32,
    /// The first word; the version defines how many there are.
    pub data: [u32; 1],
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct hsa_ext_image_data_info_t {
    pub size: usize,
    pub alignment: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct hsa_ext_image_region_t {
    pub offset: hsa_dim3_t,
    pub range: hsa_dim3_t,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct hsa_ext_sampler_descriptor_t {
    pub coordinate_mode: u32,
    pub filter_mode: u32,
    pub address_mode: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct hsa_ext_sampler_descriptor_v2_t {
    pub coordinate_mode: u32,
    pub filter_mode: u32,
    pub address_modes: [u32; 3],
}

type Agent = hsa_agent_t;
type Image = hsa_ext_image_t;
type Descriptor = *const hsa_ext_image_descriptor_t;
type Format = *const hsa_ext_image_format_t;
type Region = *const hsa_ext_image_region_t;
type Info = *mut hsa_ext_image_data_info_t;
type Status = hsa_status_t;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hsa_ext_images_1_pfn_t {
    pub hsa_ext_image_get_capability: unsafe extern "C" fn(Agent, u32, Format, *mut u32) -> Status,
    pub hsa_ext_image_data_get_info: unsafe extern "C" fn(Agent, Descriptor, u32, Info) -> Status,
    pub hsa_ext_image_create: unsafe extern "C" fn(Agent, Descriptor, *const c_void, u32, *mut Image) -> Status,
    pub hsa_ext_image_destroy: unsafe extern "C" fn(Agent, Image) -> Status,
    pub hsa_ext_image_copy:
        unsafe extern "C" fn(Agent, Image, *const hsa_dim3_t, Image, *const hsa_dim3_t, *const hsa_dim3_t) -> Status,
    pub hsa_ext_image_import: unsafe extern "C" fn(Agent, *const c_void, usize, usize, Image, Region) -> Status,
    pub hsa_ext_image_export: unsafe extern "C" fn(Agent, Image, *mut c_void, usize, usize, Region) -> Status,
    pub hsa_ext_image_clear: unsafe extern "C" fn(Agent, Image, *const c_void, Region) -> Status,
    pub hsa_ext_sampler_create:
        unsafe extern "C" fn(Agent, *const hsa_ext_sampler_descriptor_t, *mut hsa_ext_sampler_t) -> Status,
    pub hsa_ext_sampler_destroy: unsafe extern "C" fn(Agent, hsa_ext_sampler_t) -> Status,
    pub hsa_ext_image_get_capability_with_layout: unsafe extern "C" fn(Agent, u32, Format, u32, *mut u32) -> Status,
    pub hsa_ext_image_data_get_info_with_layout:
        unsafe extern "C" fn(Agent, Descriptor, u32, u32, usize, usize, Info) -> Status,
    pub hsa_ext_image_create_with_layout:
        unsafe extern "C" fn(Agent, Descriptor, *const c_void, u32, u32, usize, usize, *mut Image) -> Status,
    pub hsa_ext_sampler_create_v2:
        unsafe extern "C" fn(Agent, *const hsa_ext_sampler_descriptor_v2_t, *mut hsa_ext_sampler_t) -> Status,
}
