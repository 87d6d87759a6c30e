//! Facts about levels that no header at hand proves, and about how types behave.

#![allow(non_upper_case_globals, reason = "names are C's")]

use hip_sys::*;

#[test]
fn the_highest_feature_counts() {
    let expected = if cfg!(feature = "rocm-10-0") {
        "10.0"
    } else if cfg!(feature = "rocm-7-2") {
        "7.2"
    } else if cfg!(feature = "rocm-7-1") {
        "7.1"
    } else if cfg!(feature = "rocm-7-0") {
        "7.0"
    } else if cfg!(feature = "rocm-6-4") {
        "6.4"
    } else if cfg!(feature = "rocm-6-3") {
        "6.3"
    } else if cfg!(feature = "rocm-6-2") {
        "6.2"
    } else {
        "5.7"
    };
    assert_eq!(API_LEVEL_NAME, expected);
    assert_eq!(format!("{}.{}", API_LEVEL.0, API_LEVEL.1), expected);
    // HIP numbers itself after ROCm, until 10.0, where it is still 7.
    if API_LEVEL.0 < 10 {
        assert_eq!((HIP_VERSION_MAJOR, HIP_VERSION_MINOR), API_LEVEL);
    }
}

#[test]
#[cfg(feature = "rocm-6-2")]
fn launch_attribute_grew_with_7_0() {
    // The attribute of a kernel node; AMD's packages of 7.0 are the first with the padding to 64 bytes.
    let expected = if cfg!(feature = "rocm-7-0") { 64 } else { 32 };
    assert_eq!(size_of::<hipLaunchAttributeValue>(), expected);
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
    // Of two names for a value the older prints.
    assert_eq!(
        format!("{:?} {:?}", hipErrorInvalidDevicePointer, hipErrorOutOfMemory),
        "hipErrorInvalidDevicePointer hipErrorOutOfMemory"
    );
}

#[test]
fn structs_start_out_as_zeros() {
    let properties = hipDeviceProp_t::default();
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
