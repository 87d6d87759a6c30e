//! AQL packets.

use super::{hsa_signal_t, hsa_signal_value_t};

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hsa_kernel_dispatch_packet_t {
    pub header: u16,
    pub setup: u16,
    pub workgroup_size_x: u16,
    pub workgroup_size_y: u16,
    pub workgroup_size_z: u16,
    pub reserved0: u16,
    pub grid_size_x: u32,
    pub grid_size_y: u32,
    pub grid_size_z: u32,
    pub private_segment_size: u32,
    pub group_segment_size: u32,
    pub kernel_object: u64,
    pub kernarg_address: u64,
    pub reserved2: u64,
    pub completion_signal: hsa_signal_t,
}

/// Barrier-and and barrier-or packets have the same fields.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hsa_barrier_and_packet_t {
    pub header: u16,
    pub reserved0: u16,
    pub reserved1: u32,
    pub dep_signal: [hsa_signal_t; 5],
    pub reserved2: u64,
    pub completion_signal: hsa_signal_t,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hsa_amd_vendor_packet_header_t {
    pub header: u16,
    pub AmdFormat: u8,
    pub reserved: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hsa_amd_barrier_value_packet_t {
    pub header: hsa_amd_vendor_packet_header_t,
    pub reserved0: u32,
    pub signal: hsa_signal_t,
    pub value: hsa_signal_value_t,
    pub mask: hsa_signal_value_t,
    pub cond: u32,
    pub reserved1: u32,
    pub reserved2: u64,
    pub reserved3: u64,
    pub completion_signal: hsa_signal_t,
}
