//! Facts about levels that no available header proves, and the behaviour of types.

#![allow(non_upper_case_globals, reason = "names are C's")]

use hip_sys::*;

/// Each level has its own version, and a feature removes nothing.
#[test]
fn a_level_has_its_version() {
    // HIP's major number is that of ROCm, except in 10.0, where it is still 7.
    macro_rules! levels {
        ($($feature:literal $level:ident;)*) => {$(
            #[cfg(feature = $feature)]
            assert_eq!((hip_sys::$level::HIP_VERSION_MAJOR, hip_sys::$level::HIP_VERSION_MINOR), hip_sys::$level::API_LEVEL);
        )*};
    }
    levels! {
        "rocm-5-7" rocm_5_7;
        "rocm-6-2" rocm_6_2;
        "rocm-6-3" rocm_6_3;
        "rocm-6-4" rocm_6_4;
        "rocm-7-0" rocm_7_0;
        "rocm-7-1" rocm_7_1;
        "rocm-7-2" rocm_7_2;
    }
    #[cfg(feature = "rocm-10-0")]
    assert_eq!((hip_sys::rocm_10_0::HIP_VERSION_MAJOR, hip_sys::rocm_10_0::HIP_VERSION_MINOR), (7, 15));
}

#[test]
#[cfg(feature = "rocm-7-0")]
fn launch_attribute_grew_with_7_0() {
    // The attribute of a kernel node. AMD's packages of 7.0 are the first with the padding to 64 bytes.
    assert_eq!(size_of::<hip_sys::rocm_6_4::hipLaunchAttributeValue>(), 32);
    assert_eq!(size_of::<hip_sys::rocm_7_0::hipLaunchAttributeValue>(), 64);
}

/// An item that is the same in several levels is one type or function, whichever module names it.
#[test]
#[cfg(feature = "rocm-6-4")]
fn levels_share_what_is_the_same() {
    let stream: hip_sys::rocm_6_4::hipStream_t = std::ptr::null_mut::<hip_sys::rocm_5_7::ihipStream_t>();
    let _: hip_sys::hipStream_t = stream;
    assert_eq!(hip_sys::hipMalloc as *const (), hip_sys::rocm_6_4::hipMalloc as *const ());
    assert_ne!(
        hip_sys::rocm_5_7::hipPointerGetAttributes as *const (),
        hip_sys::rocm_6_4::hipPointerGetAttributes as *const ()
    );
}

#[test]
#[cfg(feature = "rocm-10-0")]
fn structs_of_10_0_have_the_sizes_that_their_fields_say() {
    use std::mem::offset_of;

    assert_eq!(offset_of!(hipDevResource_st, anon_1), 96);
    assert_eq!(offset_of!(hipDevResource_st, nextResource), 136);
    assert_eq!(size_of::<hipDevResource_st>(), 144);
    assert_eq!(size_of::<hipExtDynDataPrefetchConfig>(), 72);
    assert_eq!(size_of::<hipMemFabricHandle_t>(), 64);
    assert_eq!(size_of::<hipDevSmResourceGroupParams>(), 64);
}

#[test]
fn enums_are_open() {
    assert_eq!(size_of::<hipError_t>(), 4);
    let unknown = hipError_t(u32::MAX);
    assert_eq!(format!("{unknown:?}"), "hipError_t(4294967295)");
    assert_ne!(unknown, hipErrorUnknown);
    assert!(matches!(hipError_t(0), hipSuccess));
    // If a value has two names, the older one is printed.
    assert_eq!(
        format!("{:?} {:?}", hipErrorInvalidDevicePointer, hipErrorOutOfMemory),
        "hipErrorInvalidDevicePointer hipErrorOutOfMemory"
    );
}

#[test]
#[cfg(feature = "rocm-6-2")]
fn structs_start_out_as_zeros() {
    let properties = hipDeviceProp_tR0600::default();
    assert_eq!((properties.name[0], properties.totalGlobalMem, properties.major), (0, 0, 0));
    assert_eq!(hipError_t::default(), hipSuccess);
}

#[test]
fn bit_fields_are_set_one_by_one() {
    let mut arch = hipDeviceArch_t::default();
    arch.set_hasDoubles(1);
    arch.set_hasDynamicParallelism(3);
    assert_eq!((arch.hasDoubles(), arch.hasDynamicParallelism(), arch.hasWarpVote()), (1, 1, 0));
    arch.set_hasDoubles(0);
    assert_eq!((arch.hasDoubles(), arch.bits.count_ones()), (0, 1));
}
