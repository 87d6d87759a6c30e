//! The driver's structures that HIP does not have, or has with another layout. A test compares them with the layouts in
//! CUDA's header.

use std::ffi::{c_uchar, c_uint, c_ushort, c_void};

use hip_sys::rocm_7_2::{hipArray_t, hipFunction_t, hipMemLocation};

/// `CUmemorytype`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct MemoryType(pub(crate) c_uint);

impl MemoryType {
    pub(crate) const HOST: Self = Self(1);
    pub(crate) const DEVICE: Self = Self(2);
    pub(crate) const ARRAY: Self = Self(3);
}

/// `CUDA_MEMCPY2D`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Copy2D {
    pub(crate) src_x: usize,
    pub(crate) src_y: usize,
    pub(crate) src_type: MemoryType,
    pub(crate) src_host: *const c_void,
    pub(crate) src_device: *const c_void,
    pub(crate) src_array: hipArray_t,
    pub(crate) src_pitch: usize,
    pub(crate) dst_x: usize,
    pub(crate) dst_y: usize,
    pub(crate) dst_type: MemoryType,
    pub(crate) dst_host: *mut c_void,
    pub(crate) dst_device: *mut c_void,
    pub(crate) dst_array: hipArray_t,
    pub(crate) dst_pitch: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// `CUDA_MEMCPY3D`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Copy3D {
    pub(crate) src_x: usize,
    pub(crate) src_y: usize,
    pub(crate) src_z: usize,
    pub(crate) src_level: usize,
    pub(crate) src_type: MemoryType,
    pub(crate) src_host: *const c_void,
    pub(crate) src_device: *const c_void,
    pub(crate) src_array: hipArray_t,
    pub(crate) reserved_0: *mut c_void,
    pub(crate) src_pitch: usize,
    pub(crate) src_height: usize,
    pub(crate) dst_x: usize,
    pub(crate) dst_y: usize,
    pub(crate) dst_z: usize,
    pub(crate) dst_level: usize,
    pub(crate) dst_type: MemoryType,
    pub(crate) dst_host: *mut c_void,
    pub(crate) dst_device: *mut c_void,
    pub(crate) dst_array: hipArray_t,
    pub(crate) reserved_1: *mut c_void,
    pub(crate) dst_pitch: usize,
    pub(crate) dst_height: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) depth: usize,
}

/// `CUDA_KERNEL_NODE_PARAMS_v1`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct KernelNode {
    pub(crate) function: hipFunction_t,
    pub(crate) grid: [c_uint; 3],
    pub(crate) block: [c_uint; 3],
    pub(crate) shared: c_uint,
    pub(crate) parameters: *mut *mut c_void,
    pub(crate) extra: *mut *mut c_void,
}

/// `CUDA_MEMSET_NODE_PARAMS_v1`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct MemsetNode {
    pub(crate) dst: *mut c_void,
    pub(crate) pitch: usize,
    pub(crate) value: c_uint,
    pub(crate) element: c_uint,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// `CUmemAllocationProp`, with `allocFlags` field by field.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct AllocationProperties {
    pub(crate) kind: c_uint,
    pub(crate) handles: c_uint,
    pub(crate) location: hipMemLocation,
    pub(crate) metadata: *mut c_void,
    pub(crate) compression: c_uchar,
    pub(crate) is_for_rdma: c_uchar,
    pub(crate) usage: c_ushort,
    pub(crate) reserved: [c_uchar; 4],
}

macro_rules! zeroed {
    ($($name:ident),*) => {$(
        impl Default for $name {
            fn default() -> Self {
                // SAFETY: integers and raw pointers: all zero is a value of each.
                unsafe { std::mem::zeroed() }
            }
        }
    )*};
}
zeroed!(Copy2D, Copy3D, KernelNode, MemsetNode);
