//! Descriptors for NVIDIA's tensor memory accelerator, which AMD GPUs lack: programs that ask the compute capability before they use
//! them compile, and the functions return `CUDA_ERROR_NOT_SUPPORTED`.

#![allow(non_snake_case, non_camel_case_types, reason = "names are C's")]
#![allow(clippy::too_many_arguments, reason = "functions are C's")]

use core::ffi::{c_int, c_void};

use hip_sys::{hipError_t, hipErrorNotSupported};

use super::sys::{
    CUtensorMapDataType, CUtensorMapFloatOOBfill, CUtensorMapIm2ColWideMode, CUtensorMapInterleave,
    CUtensorMapL2promotion, CUtensorMapSwizzle,
};

/// A descriptor of a tensor, which no function fills.
#[repr(C, align(128))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CUtensorMap {
    /// NVIDIA's own.
    pub opaque: [u64; 16],
}

/// [`CUtensorMap`].
pub use CUtensorMap as CUtensorMap_st;

macro_rules! unsupported {
    ($($name:ident($($parameter:ident: $ty:ty),+);)+) => {$(
        /// Returns `CUDA_ERROR_NOT_SUPPORTED`, and writes nothing. Load tiles by ordinary loads.
        ///
        /// # Safety
        /// Always safe to call; it is `unsafe` as all functions here are.
        pub unsafe extern "C" fn $name($($parameter: $ty),+) -> hipError_t {
            let _ = ($($parameter),+);
            hipErrorNotSupported
        }
    )+};
}

unsupported! {
    cuTensorMapEncodeTiled(
        tensorMap: *mut CUtensorMap, tensorDataType: CUtensorMapDataType, tensorRank: u32, globalAddress: *mut c_void,
        globalDim: *const u64, globalStrides: *const u64, boxDim: *const u32, elementStrides: *const u32,
        interleave: CUtensorMapInterleave, swizzle: CUtensorMapSwizzle, l2Promotion: CUtensorMapL2promotion,
        oobFill: CUtensorMapFloatOOBfill
    );
    cuTensorMapEncodeIm2col(
        tensorMap: *mut CUtensorMap, tensorDataType: CUtensorMapDataType, tensorRank: u32, globalAddress: *mut c_void,
        globalDim: *const u64, globalStrides: *const u64, pixelBoxLowerCorner: *const c_int,
        pixelBoxUpperCorner: *const c_int, channelsPerPixel: u32, pixelsPerColumn: u32, elementStrides: *const u32,
        interleave: CUtensorMapInterleave, swizzle: CUtensorMapSwizzle, l2Promotion: CUtensorMapL2promotion,
        oobFill: CUtensorMapFloatOOBfill
    );
    cuTensorMapEncodeIm2colWide(
        tensorMap: *mut CUtensorMap, tensorDataType: CUtensorMapDataType, tensorRank: u32, globalAddress: *mut c_void,
        globalDim: *const u64, globalStrides: *const u64, pixelBoxLowerCornerWidth: c_int,
        pixelBoxUpperCornerWidth: c_int, channelsPerPixel: u32, pixelsPerColumn: u32, elementStrides: *const u32,
        interleave: CUtensorMapInterleave, mode: CUtensorMapIm2ColWideMode, swizzle: CUtensorMapSwizzle,
        l2Promotion: CUtensorMapL2promotion, oobFill: CUtensorMapFloatOOBfill
    );
    cuTensorMapReplaceAddress(tensorMap: *mut CUtensorMap, globalAddress: *mut c_void);
}
