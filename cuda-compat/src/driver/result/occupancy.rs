//! The number of blocks of a kernel that run at the same time.

use std::ffi::{c_int, c_uint};

use super::calls::calls;
use super::{DriverError, device, function, sys, written};

/// The allocation unit of shared memory, in bytes: the coarsest of AMD's GPUs.
const SHARED_UNIT: usize = 1024;

calls! {
    /// Returns the number of blocks of this size that a compute unit runs at the same time.
    unsafe fn max_active_block_per_multiprocessor(f: sys::CUfunction, block_size: c_int, dynamic_smem_size: usize) -> i32 = |out| cuOccupancyMaxActiveBlocksPerMultiprocessor(out, f, block_size, dynamic_smem_size);

    /// As [`max_active_block_per_multiprocessor`], with flags.
    unsafe fn max_active_block_per_multiprocessor_with_flags(f: sys::CUfunction, block_size: c_int, dynamic_smem_size: usize, flags: c_uint) -> i32 = |out| cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(out, f, block_size, dynamic_smem_size, flags);
}

fn current_device() -> Result<sys::CUdevice, DriverError> {
    // SAFETY: `out` is valid for the write.
    written(|out| unsafe { sys::cuCtxGetDevice(out) })
}

/// Returns the dynamic shared memory that each of `num_blocks` blocks can have on one compute unit, in bytes. HIP has
/// no such function: this divides the unit's shared memory.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` if a number is not positive, or if this many blocks do not fit; a status of HIP.
///
/// # Safety
/// `f` must be a kernel of a loaded module.
#[doc(alias = "cuOccupancyAvailableDynamicSMemPerBlock")]
pub unsafe fn available_dynamic_shared_mem_per_block(
    f: sys::CUfunction,
    num_blocks: c_int,
    block_size: c_int,
) -> Result<usize, DriverError> {
    let invalid = DriverError(sys::CUresult::CUDA_ERROR_INVALID_VALUE);
    let blocks = usize::try_from(num_blocks).ok().filter(|blocks| *blocks > 0).ok_or(invalid)?;
    if block_size <= 0 {
        return Err(invalid);
    }
    let device = current_device()?;
    let attribute = |attribute| {
        // SAFETY: the current device.
        let value = unsafe { device::get_attribute(device, attribute) }?;
        Ok::<usize, DriverError>(usize::try_from(value).unwrap_or_default())
    };
    let unit = attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?;
    let most = attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?;
    let shared = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
    // SAFETY: the caller's contract.
    let fixed = unsafe { function::get_function_attribute(f, shared) }?;
    let share = (unit / blocks / SHARED_UNIT * SHARED_UNIT).min(most);
    let dynamic = share.checked_sub(usize::try_from(fixed).unwrap_or_default()).ok_or(invalid)?;
    // SAFETY: the caller's contract.
    let active = unsafe { max_active_block_per_multiprocessor(f, block_size, dynamic) }?;
    if active < num_blocks { Err(invalid) } else { Ok(dynamic) }
}

/// Returns the sizes of grid and block that keep the device busiest.
///
/// # Errors
/// The errors of [`max_potential_block_size_with_flags`].
///
/// # Safety
/// The requirements of [`max_potential_block_size_with_flags`].
#[doc(alias = "cuOccupancyMaxPotentialBlockSize")]
pub unsafe fn max_potential_block_size(
    f: sys::CUfunction,
    block_size_to_dynamic_smem_size: sys::CUoccupancyB2DSize,
    dynamic_smem_size: usize,
    block_size_limit: c_int,
) -> Result<(i32, i32), DriverError> {
    // SAFETY: the caller's contract.
    unsafe {
        max_potential_block_size_with_flags(f, block_size_to_dynamic_smem_size, dynamic_smem_size, block_size_limit, 0)
    }
}

/// As [`max_potential_block_size`], with flags. A function for the size of shared memory is called for each block size;
/// HIP only supports one size for all.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` if no block fits; a status of HIP.
///
/// # Safety
/// `f` must be a kernel of a loaded module, and the function safe to call with each block size.
#[doc(alias = "cuOccupancyMaxPotentialBlockSizeWithFlags")]
pub unsafe fn max_potential_block_size_with_flags(
    f: sys::CUfunction,
    block_size_to_dynamic_smem_size: sys::CUoccupancyB2DSize,
    dynamic_smem_size: usize,
    block_size_limit: c_int,
    flags: c_uint,
) -> Result<(i32, i32), DriverError> {
    let Some(shared_of) = block_size_to_dynamic_smem_size else {
        let (mut grid, mut block) = (0, 0);
        // SAFETY: the caller's contract, and room for two results.
        unsafe {
            sys::cuOccupancyMaxPotentialBlockSizeWithFlags(
                &mut grid,
                &mut block,
                f,
                None,
                dynamic_smem_size,
                block_size_limit,
                flags,
            )
        }
        .result()?;
        return Ok((grid, block));
    };
    let device = current_device()?;
    // SAFETY: the current device.
    let units =
        unsafe { device::get_attribute(device, sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) }?;
    let mut lanes = 0;
    // SAFETY: room for the result. The lanes of a wave count here, whatever the size of warps is.
    unsafe { hip_sys::hipDeviceGetAttribute(&mut lanes, hip_sys::hipDeviceAttributeWarpSize, device) }.result()?;
    let lanes = lanes.max(1);
    let most = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
    // SAFETY: the caller's contract.
    let most = unsafe { function::get_function_attribute(f, most) }?;
    let limit = if block_size_limit > 0 { block_size_limit.min(most) } else { most };
    let mut best: Option<(i32, i32, i32)> = None; // threads, blocks, block size
    let mut size = limit / lanes * lanes;
    while size > 0 {
        // SAFETY: the caller's contract.
        let shared = unsafe { shared_of(size) };
        // SAFETY: the caller's contract. HIP returns an error for a size that does not fit, and it is skipped.
        if let Ok(blocks) = unsafe { max_active_block_per_multiprocessor_with_flags(f, size, shared, flags) } {
            // Among equals, the largest block, as in HIP.
            if blocks > 0 && best.is_none_or(|(threads, ..)| blocks * size > threads) {
                best = Some((blocks * size, blocks, size));
            }
        }
        size -= lanes;
    }
    let (_, blocks, size) = best.ok_or(DriverError(sys::CUresult::CUDA_ERROR_INVALID_VALUE))?;
    Ok((blocks * units, size))
}
