//! The NVIDIA properties that a program sees on an AMD GPU: one compute capability, and one size of warps.
//!
//! Device attributes, `cudaDeviceProp`, `cuDeviceComputeCapability` and [`nvrtc`](crate::nvrtc) all use these, so that
//! a program that compiles kernels for the device that it queried gets what it expects.

use std::sync::atomic::{AtomicU8, Ordering};

use hip_sys::{
    hipDeviceAttribute_t, hipDeviceAttributeComputeCapabilityMajor, hipDeviceAttributeComputeCapabilityMinor,
    hipDeviceAttributeWarpSize, hipError_t, hipSuccess,
};

/// The compute capability of every GPU, major and minor: that of an A100.
///
/// Programs compare it with NVIDIA's numbers. 8.0 is the highest whose features in CUDA C++ are all here, except for
/// tensor cores: `__nv_bfloat16`, `__reduce_add_sync`, asynchronous copies to shared memory, and cooperative groups.
/// 9.0 would promise clusters of blocks, TMA and wgmma. HIP's own numbers say the architecture instead (9.0 for
/// gfx90a): [`hip_sys::hipDeviceComputeCapability`] returns them.
pub const COMPUTE_CAPABILITY: (i32, i32) = (8, 0);

/// The size of warps, for device attributes and for kernels that [`nvrtc`](crate::nvrtc) compiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WarpSize {
    /// 32 lanes. A wave of 64 is two warps.
    #[default]
    ThirtyTwo,
    /// The lanes of a wave: 64 on MI GPUs. For kernels in HIP C++, and for kernels that were compiled by hipcc.
    Native,
}

// Values of `SIZE`. While it is unset, the environment decides.
const UNSET: u8 = 0;
const THIRTY_TWO: u8 = 1;
const NATIVE: u8 = 2;

static SIZE: AtomicU8 = AtomicU8::new(UNSET);

/// Returns the size of warps in this process.
///
/// It is 32 unless [`set_warp_size`] was called, or the environment variable `CUDA_COMPAT_WARP_SIZE` is `native`.
pub fn warp_size() -> WarpSize {
    match SIZE.load(Ordering::Relaxed) {
        THIRTY_TWO => WarpSize::ThirtyTwo,
        NATIVE => WarpSize::Native,
        _ => match std::env::var_os("CUDA_COMPAT_WARP_SIZE") {
            Some(value) if value == "native" => WarpSize::Native,
            _ => WarpSize::ThirtyTwo,
        },
    }
}

/// Sets the size of warps in this process: what attributes say from now on, and the default of later compilations.
///
/// The option `--warp-size` of [`nvrtcCompileProgram`](crate::nvrtc::nvrtcCompileProgram) overrides it for one program.
pub fn set_warp_size(size: WarpSize) {
    let size = match size {
        WarpSize::ThirtyTwo => THIRTY_TWO,
        WarpSize::Native => NATIVE,
    };
    SIZE.store(size, Ordering::Relaxed);
}

/// Writes an attribute of a device.
///
/// # Safety
/// `value` must be valid for the write, or null, which is an error.
pub(crate) unsafe fn get_attribute(value: *mut i32, of: hipDeviceAttribute_t, device: i32) -> hipError_t {
    // SAFETY: the caller's contract.
    let status = unsafe { hip_sys::hipDeviceGetAttribute(value, of, device) };
    if let Some(ours) = attribute(of).filter(|_| status == hipSuccess) {
        // SAFETY: the call has written it.
        unsafe { value.write(ours) };
    }
    status
}

/// Returns the value of an attribute that differs from HIP's.
fn attribute(attribute: hipDeviceAttribute_t) -> Option<i32> {
    if attribute == hipDeviceAttributeComputeCapabilityMajor {
        Some(COMPUTE_CAPABILITY.0)
    } else if attribute == hipDeviceAttributeComputeCapabilityMinor {
        Some(COMPUTE_CAPABILITY.1)
    } else if attribute == hipDeviceAttributeWarpSize {
        lanes()
    } else {
        None
    }
}

/// Returns the number of lanes of a warp, unless it is HIP's.
pub(crate) fn lanes() -> Option<i32> {
    (warp_size() == WarpSize::ThirtyTwo).then_some(32)
}

/// Returns the value of `__CUDA_ARCH__` for [`COMPUTE_CAPABILITY`].
pub(crate) const fn arch() -> u32 {
    (COMPUTE_CAPABILITY.0 * 100 + COMPUTE_CAPABILITY.1 * 10) as u32
}
