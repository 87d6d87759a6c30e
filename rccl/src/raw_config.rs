//! C's form of a configuration.

use std::ffi::{c_char, c_int};
use std::ptr;

/// `ncclConfig_t` of the newest version. Older versions are prefixes of it; `size` states how much of it is used.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct RawConfig {
    pub(crate) size: usize,
    pub(crate) magic: u32,
    pub(crate) version: u32,
    pub(crate) blocking: c_int,
    pub(crate) cga_cluster_size: c_int,
    pub(crate) min_ctas: c_int,
    pub(crate) max_ctas: c_int,
    pub(crate) net_name: *const c_char,
    pub(crate) split_share: c_int,
    pub(crate) traffic_class: c_int,
    pub(crate) comm_name: *const c_char,
    pub(crate) collnet_enable: c_int,
    pub(crate) cta_policy: c_int,
    pub(crate) shrink_share: c_int,
    pub(crate) nvls_ctas: c_int,
    pub(crate) channels_per_net_peer: c_int,
    pub(crate) nvlink_centric_sched: c_int,
    pub(crate) graph_usage_mode: c_int,
    pub(crate) num_rma_ctx: c_int,
    pub(crate) max_p2p_peers: c_int,
    pub(crate) graph_stream_ordering: c_int,
    pub(crate) launch_order_implicit: c_int,
    pub(crate) num_rma_sig: c_int,
    pub(crate) rma_eager_init: c_int,
    pub(crate) host_cft_mode: c_int,
    pub(crate) nvls_host_mode: c_int,
    /// Padding in C. A library newer than the version that it is told reads it as its next field.
    pub(crate) padding: c_int,
}

/// The newest version whose fields are known. A newer library is told this version, and uses the defaults for later
/// fields.
pub(crate) const NEWEST: u32 = 23203;

/// `NCCL_CONFIG_UNDEF_INT`
pub(crate) const UNDEFINED: c_int = c_int::MIN;

impl RawConfig {
    /// Returns `NCCL_CONFIG_INITIALIZER` of a version.
    pub(crate) fn new(version: u32) -> Self {
        let version = version.min(NEWEST);
        let size = match version {
            ..22600 => std::mem::offset_of!(Self, traffic_class),
            22600..22700 => std::mem::offset_of!(Self, comm_name),
            22700..22800 => std::mem::offset_of!(Self, channels_per_net_peer),
            22800..22900 => std::mem::offset_of!(Self, graph_usage_mode),
            22900..23000 => std::mem::offset_of!(Self, max_p2p_peers),
            23000..23100 => std::mem::offset_of!(Self, launch_order_implicit),
            23100.. => size_of::<Self>(),
        };
        Self {
            // The struct's alignment is 8.
            size: size.next_multiple_of(align_of::<Self>()),
            magic: 0xcafe_beef,
            version,
            blocking: UNDEFINED,
            cga_cluster_size: UNDEFINED,
            min_ctas: UNDEFINED,
            max_ctas: UNDEFINED,
            net_name: ptr::null(),
            split_share: UNDEFINED,
            traffic_class: UNDEFINED,
            comm_name: ptr::null(),
            collnet_enable: UNDEFINED,
            cta_policy: UNDEFINED,
            shrink_share: UNDEFINED,
            nvls_ctas: UNDEFINED,
            channels_per_net_peer: UNDEFINED,
            nvlink_centric_sched: UNDEFINED,
            graph_usage_mode: UNDEFINED,
            num_rma_ctx: UNDEFINED,
            max_p2p_peers: UNDEFINED,
            graph_stream_ordering: UNDEFINED,
            launch_order_implicit: UNDEFINED,
            num_rma_sig: UNDEFINED,
            rma_eager_init: UNDEFINED,
            host_cft_mode: UNDEFINED,
            nvls_host_mode: UNDEFINED,
            padding: UNDEFINED,
        }
    }
}
