//! Memory pools: the statistics, and destroyed, foreign and invented pools.

mod common;

use std::ffi::c_void;
use std::ptr::{null_mut, without_provenance_mut};

use common::*;
use hip_sys::rocm_7_2::*;

fn pool() -> hipMemPool_t {
    start();
    let mut properties = hipMemPoolProps { allocType: hipMemAllocationTypePinned, ..Default::default() };
    properties.location.type_ = hipMemLocationTypeDevice;
    let mut pool = null_mut();
    // SAFETY: a place for the result, and properties that are all set.
    ok(unsafe { hipMemPoolCreate(&mut pool, &properties) });
    pool
}

fn attribute(pool: hipMemPool_t, attribute: hipMemPoolAttr) -> Result<u64, hipError_t> {
    let mut value = 0_u64;
    // SAFETY: room for either kind of value.
    match unsafe { hipMemPoolGetAttribute(pool, attribute, (&raw mut value).cast()) } {
        status if status == hipSuccess => Ok(value),
        status => Err(status),
    }
}

#[test]
fn a_handle_that_is_no_pool_is_told_of() {
    let (gone, stream) = (pool(), stream(0));
    // SAFETY: a pool of ours, and then bad ones, which the simulator finds.
    unsafe {
        ok(hipMemPoolDestroy(gone));
        for bad in [null_mut(), gone, stream.cast(), without_provenance_mut(0xdead_beef)] {
            let mut ptr = null_mut();
            let mut number = 0_u64;
            let mut flags = hipMemAccessFlagsProtNone;
            let mut place = hipMemLocation { type_: hipMemLocationTypeDevice, id: 0 };
            let access = hipMemAccessDesc { location: place, flags: hipMemAccessFlagsProtReadWrite };
            assert_eq!(hipMemPoolDestroy(bad), hipErrorInvalidValue);
            assert_eq!(hipMallocFromPoolAsync(&mut ptr, 4, bad, stream), hipErrorInvalidValue);
            assert_eq!(hipMemPoolTrimTo(bad, 0), hipErrorInvalidValue);
            assert_eq!(attribute(bad, hipMemPoolAttrUsedMemCurrent), Err(hipErrorInvalidValue));
            let value = (&raw mut number).cast::<c_void>();
            assert_eq!(hipMemPoolSetAttribute(bad, hipMemPoolAttrReleaseThreshold, value), hipErrorInvalidValue);
            assert_eq!(hipMemPoolGetAccess(&mut flags, bad, &mut place), hipErrorInvalidValue);
            assert_eq!(hipMemPoolSetAccess(bad, &access, 1), hipErrorInvalidValue);
            assert_eq!(hipDeviceSetMemPool(0, bad), hipErrorInvalidValue);
        }
        let of = pool();
        assert_eq!(hipMallocFromPoolAsync(null_mut(), 4, of, stream), hipErrorInvalidValue);
        assert_eq!(hipMemPoolCreate(null_mut(), &hipMemPoolProps::default()), hipErrorInvalidValue);
        ok(hipStreamDestroy(stream));
        let mut ptr = null_mut();
        assert_eq!(hipMallocFromPoolAsync(&mut ptr, 4, of, stream), hipErrorInvalidHandle);
        ok(hipMemPoolDestroy(of));
    }
}

#[test]
fn memory_outlives_its_pool_and_is_counted_until_it_is_freed() {
    let (of, stream) = (pool(), stream(0));
    let (mut a, mut b) = (null_mut(), null_mut());
    // SAFETY: sizes are those of the allocations.
    unsafe {
        ok(hipMallocFromPoolAsync(&mut a, 1000, of, stream));
        ok(hipMallocFromPoolAsync(&mut b, 24, of, stream));
        assert_eq!(attribute(of, hipMemPoolAttrUsedMemCurrent), Ok(1024));
        ok(hipFreeAsync(b, stream));
        assert_eq!(attribute(of, hipMemPoolAttrUsedMemCurrent), Ok(1000), "freed when the call returns");
        ok(hipMemPoolDestroy(of));
        ok(hipMemsetAsync(a, 3, 1000, stream));
        assert_eq!(download::<u8>(a, 1000), [3; 1000]);
        assert_eq!(hipMemset(a, 0, 1001), hipErrorInvalidValue);
        ok(hipFree(a));
        assert_eq!(hipFreeAsync(a, stream), hipErrorInvalidValue);
        ok(hipFreeAsync(null_mut(), stream));
        ok(hipStreamDestroy(stream));
    }
}

#[test]
fn what_a_pool_keeps_is_not_free_until_it_is_settled() {
    const BYTES: usize = 48 << 20;
    let (of, stream) = (pool(), stream(0));
    let (mut ptr, mut threshold) = (null_mut(), u64::MAX);
    let keep = (&raw mut threshold).cast::<c_void>();
    // SAFETY: places for results.
    unsafe {
        ok(hipMemPoolSetAttribute(of, hipMemPoolAttrReleaseThreshold, keep));
        ok(hipMallocFromPoolAsync(&mut ptr, BYTES, of, stream));
        ok(hipFreeAsync(ptr, stream));
        ok(hipStreamSynchronize(stream));
        assert_eq!(attribute(of, hipMemPoolAttrReservedMemCurrent), Ok(BYTES as u64));
        ok(hipMemPoolTrimTo(of, BYTES));
        assert_eq!(attribute(of, hipMemPoolAttrReservedMemCurrent), Ok(BYTES as u64));
        threshold = 0;
        ok(hipMemPoolSetAttribute(of, hipMemPoolAttrReleaseThreshold, (&raw mut threshold).cast()));
        ok(hipStreamSynchronize(stream));
        assert_eq!(attribute(of, hipMemPoolAttrReservedMemCurrent), Ok(0));
        assert_eq!(attribute(of, hipMemPoolAttrReservedMemHigh), Ok(BYTES as u64));
        ok(hipMemPoolDestroy(of));
        ok(hipStreamDestroy(stream));
    }
}
