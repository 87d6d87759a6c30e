//! Launches and occupancy.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::{Mutex, PoisonError};

use hip_sys::rocm_7_2::{HIP_LAUNCH_CONFIG, hipErrorInvalidValue, hipFunction_t, hipFunctionLaunchParams, hipStream_t};

use crate::context;
use crate::driver::driver_functions;
use crate::status::{Outcome, ensure};
use crate::table::{get, hip_functions};

driver_functions! {
    /// Launches a kernel.
    fn cuLaunchKernel(
        f: hipFunction_t, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint,
        shared: c_uint, stream: hipStream_t, parameters: *mut *mut c_void, extra: *mut *mut c_void,
    );
    /// Launches a kernel with attributes.
    fn cuLaunchKernelEx(config: *const HIP_LAUNCH_CONFIG, f: hipFunction_t, parameters: *mut *mut c_void, extra: *mut *mut c_void);
    /// Launches a kernel whose blocks can wait for each other.
    fn cuLaunchCooperativeKernel(
        f: hipFunction_t, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint,
        shared: c_uint, stream: hipStream_t, parameters: *mut *mut c_void,
    );
    /// Launches a kernel on several devices, whose blocks can all wait for each other.
    fn cuLaunchCooperativeKernelMultiDevice(list: *mut hipFunctionLaunchParams, count: c_uint, flags: c_uint);
    /// Writes an attribute of a kernel.
    fn cuFuncGetAttribute(value: *mut c_int, attribute: c_uint, f: hipFunction_t);
    /// Sets an attribute of a kernel.
    fn cuFuncSetAttribute(f: hipFunction_t, attribute: c_uint, value: c_int);
    /// Returns the block size with the most threads in flight.
    fn cuOccupancyMaxPotentialBlockSize(
        grid: *mut c_int, block: *mut c_int, f: hipFunction_t, shared_of_block: *const c_void, shared: usize, limit: c_int,
    );
}

/// The dynamic shared memory that a kernel may use without asking for more, in bytes.
const PLAIN_SHARED: c_uint = 48 << 10;

/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
const MAX_DYNAMIC_SHARED: c_uint = 8;

/// Lets a kernel use as much dynamic shared memory as a launch gives it. CUDA demands this above 48 KiB, HIP does not.
pub(super) fn allow_shared(f: hipFunction_t, shared: c_uint) -> Outcome {
    /// Held from reading to setting: a thread must not lower what another has set for its launch.
    static SETTING: Mutex<()> = Mutex::new(());

    if shared <= PLAIN_SHARED {
        return Ok(());
    }
    let shared = c_int::try_from(shared).map_err(|_| hipErrorInvalidValue)?;
    let _setting = SETTING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut allowed = 0;
    // SAFETY: `allowed` is valid for a write, and the kernel is alive, as the caller of HIP vouches.
    unsafe {
        cuFuncGetAttribute(&raw mut allowed, MAX_DYNAMIC_SHARED, f)?;
        if allowed >= shared { Ok(()) } else { cuFuncSetAttribute(f, MAX_DYNAMIC_SHARED, shared) }
    }
}

/// The elements of HIP's `extra`, whose end mark has another value than CUDA's: kind, value, kind, value, end.
pub(super) struct Extra([*mut c_void; 5]);

impl Extra {
    /// Translates HIP's list: the buffer of the arguments, and a pointer to its size, in any order.
    ///
    /// # Safety
    /// `extra` must be null or end with `HIP_LAUNCH_PARAM_END`.
    pub(super) unsafe fn new(extra: *mut *mut c_void) -> Outcome<Option<Self>> {
        const END: usize = 3;
        if extra.is_null() {
            return Ok(None);
        }
        let mut to = [std::ptr::null_mut(); 5];
        for pair in 0..=2 {
            // SAFETY: the list has not ended yet.
            let key = unsafe { *extra.add(2 * pair) };
            match key.addr() {
                END => return Ok(Some(Self(to))),
                1 | 2 if pair < 2 => {
                    // SAFETY: a value follows a key.
                    (to[2 * pair], to[2 * pair + 1]) = (key, unsafe { *extra.add(2 * pair + 1) });
                }
                _ => break,
            }
        }
        Err(hipErrorInvalidValue.into())
    }

    pub(super) fn as_mut_ptr(extra: &mut Option<Self>) -> *mut *mut c_void {
        extra.as_mut().map_or(std::ptr::null_mut(), |extra| extra.0.as_mut_ptr())
    }
}

hip_functions! {
    translated fn hipModuleLaunchKernel(
        f: hipFunction_t, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint,
        shared: c_uint, stream: hipStream_t, parameters: *mut *mut c_void, extra: *mut *mut c_void,
    ) {
        context::enter()?;
        allow_shared(f, shared)?;
        let mut extra = Extra::new(extra)?;
        let extra = Extra::as_mut_ptr(&mut extra);
        cuLaunchKernel(f, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, parameters, extra)
    }

    translated fn hipModuleLaunchCooperativeKernel(
        f: hipFunction_t, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint,
        shared: c_uint, stream: hipStream_t, parameters: *mut *mut c_void,
    ) {
        context::enter()?;
        allow_shared(f, shared)?;
        cuLaunchCooperativeKernel(f, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, parameters)
    }

    translated fn hipModuleLaunchCooperativeKernelMultiDevice(
        list: *mut hipFunctionLaunchParams, count: c_uint, flags: c_uint,
    ) {
        context::enter()?;
        ensure(!list.is_null(), hipErrorInvalidValue)?;
        for index in 0..count as usize {
            let launch = &*list.add(index);
            allow_shared(launch.function, launch.sharedMemBytes)?;
        }
        cuLaunchCooperativeKernelMultiDevice(list, count, flags)
    }

    translated fn hipModuleOccupancyMaxPotentialBlockSize(
        grid: *mut c_int, block: *mut c_int, f: hipFunction_t, shared: usize, limit: c_int,
    ) {
        context::enter()?;
        ensure(!grid.is_null() && !block.is_null(), hipErrorInvalidValue)?;
        cuOccupancyMaxPotentialBlockSize(grid, block, f, std::ptr::null(), shared, limit)
    }

    translated fn hipDrvLaunchKernelEx(
        config: *const HIP_LAUNCH_CONFIG, f: hipFunction_t, parameters: *mut *mut c_void, extra: *mut *mut c_void,
    ) {
        context::enter()?;
        allow_shared(f, get(config)?.sharedMemBytes)?;
        let mut extra = Extra::new(extra)?;
        cuLaunchKernelEx(config, f, parameters, Extra::as_mut_ptr(&mut extra))
    }
}
