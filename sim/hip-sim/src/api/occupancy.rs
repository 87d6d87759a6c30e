//! Queries of occupancy.

use std::ffi::{c_int, c_uint};

use hip_sys::rocm_7_2::*;

use super::{hip_functions, put};
use crate::occupancy::Occupancy;
use crate::properties::{MAX_THREADS, WAVE, compute_units};
use crate::runtime::runtime;
use crate::status::{Outcome, Refusal, ensure};

/// # Safety
/// `blocks` must be null or valid for a write.
unsafe fn active_blocks(blocks: *mut c_int, function: hipFunction_t, block_size: c_int, dynamic_lds: usize) -> Outcome {
    let runtime = runtime()?;
    ensure(!blocks.is_null() && !function.is_null() && block_size > 0, hipErrorInvalidValue)?;
    let function = runtime.functions.get(function.cast()).ok_or(hipErrorInvalidHandle)?;
    let count = match block_size as u32 {
        too_many if too_many > MAX_THREADS => 0,
        size => Occupancy::of(function.kernel.info(), dynamic_lds).blocks(size),
    };
    // SAFETY: not null, hence valid, as the caller vouches.
    unsafe { put(blocks, count as c_int) }
}

/// # Safety
/// `grid` and `block` must be null or valid for a write.
unsafe fn best_block(
    grid: *mut c_int,
    block: *mut c_int,
    function: hipFunction_t,
    dynamic_lds: usize,
    limit: c_int,
) -> Outcome {
    let runtime = runtime()?;
    ensure(!grid.is_null() && !block.is_null() && !function.is_null(), hipErrorInvalidValue)?;
    let function = runtime.functions.get(function.cast()).ok_or(hipErrorInvalidHandle)?;
    let info = function.kernel.info();
    let most = info.max_workgroup_size.clamp(1, MAX_THREADS);
    let wanted = u32::try_from(limit).ok().filter(|limit| (1..=most).contains(limit)).unwrap_or(most);
    let occupancy = Occupancy::of(info, dynamic_lds);
    let size = occupancy.threads.min(wanted.next_multiple_of(WAVE)).min(most);
    let blocks = occupancy.blocks(size).max(1);
    let units = compute_units(&runtime.devices[function.device]);
    // SAFETY: both are valid, as the caller vouches.
    unsafe {
        put(block, size as c_int)?;
        put(grid, c_int::try_from(u64::from(units) * u64::from(blocks)).unwrap_or(c_int::MAX))
    }
}

/// Accepts the default flag, and the one that disables caching on NVIDIA GPUs.
fn known_flags(flags: c_uint) -> Result<(), Refusal> {
    ensure(flags <= 1, hipErrorInvalidValue)
}

hip_functions! {
    fn hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int, function: hipFunction_t, block_size: c_int, dynamic_lds: usize,
    ) {
        active_blocks(blocks, function, block_size, dynamic_lds)
    }

    fn hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: *mut c_int, function: hipFunction_t, block_size: c_int, dynamic_lds: usize, flags: c_uint,
    ) {
        known_flags(flags)?;
        active_blocks(blocks, function, block_size, dynamic_lds)
    }

    fn hipModuleOccupancyMaxPotentialBlockSize(
        grid: *mut c_int, block: *mut c_int, function: hipFunction_t, dynamic_lds: usize, limit: c_int,
    ) {
        best_block(grid, block, function, dynamic_lds, limit)
    }

    fn hipModuleOccupancyMaxPotentialBlockSizeWithFlags(
        grid: *mut c_int, block: *mut c_int, function: hipFunction_t, dynamic_lds: usize, limit: c_int, flags: c_uint,
    ) {
        known_flags(flags)?;
        best_block(grid, block, function, dynamic_lds, limit)
    }
}
