//! Functions with other arguments than HIP's, beyond addresses.

use std::ffi::c_void;
use std::ptr::null_mut;

use cuda_compat::driver::*;
use cuda_compat::runtime::*;

use crate::{ok, start, vector_add};

#[test]
fn the_best_size_of_a_block() {
    start();
    let (module, function) = vector_add();
    unsafe extern "C" fn none(_: std::ffi::c_int) -> usize {
        0
    }
    // SAFETY: places for the results, and a function that is alive.
    unsafe {
        let (mut grid, mut block) = (0, 0);
        ok(cuOccupancyMaxPotentialBlockSize(&mut grid, &mut block, function, None, 0, 0));
        assert!(grid > 0 && block >= 64, "{grid} {block}");
        let found = (grid, block);
        ok(cuOccupancyMaxPotentialBlockSizeWithFlags(&mut grid, &mut block, function, None, 0, 0, 0));
        assert_eq!((grid, block), found);
        // A size of shared memory by a function is not supported.
        let status = cuOccupancyMaxPotentialBlockSize(&mut grid, &mut block, function, Some(none), 0, 0);
        assert_eq!(status, CUDA_ERROR_NOT_SUPPORTED);
        let status = cuOccupancyMaxPotentialBlockSizeWithFlags(&mut grid, &mut block, function, Some(none), 0, 0, 0);
        assert_eq!(status, CUDA_ERROR_NOT_SUPPORTED);
        ok(cuModuleUnload(module));
    }
}

#[test]
fn a_variable_of_a_module_has_an_address() {
    start();
    let (module, _) = vector_add();
    for get in [cuModuleGetGlobal as unsafe extern "C" fn(_, _, _, _) -> _, cuModuleGetGlobal_v2] {
        let (mut pointer, mut size): (CUdeviceptr, usize) = (0, 0);
        // SAFETY: places for the results, and a C string.
        let status = unsafe { get(&mut pointer, &mut size, module, c"no_such_variable".as_ptr()) };
        assert_eq!(status, CUDA_ERROR_NOT_FOUND);
    }
    // SAFETY: nothing uses it.
    unsafe { ok(cuModuleUnload(module)) };
}

#[test]
fn sizes_beyond_hips_integers_are_refused() {
    start();
    let mut none: [*mut c_void; 1] = [null_mut()];
    let one = hip_sys::dim3 { x: 1, y: 1, z: 1 };
    let name = c"no function";
    // SAFETY: a launch that is rejected reads nothing.
    unsafe {
        let shared = 1 << 32; // 0 in HIP's 32 bits
        let status = cudaLaunchCooperativeKernel(name.as_ptr().cast(), one, one, none.as_mut_ptr(), shared, null_mut());
        assert_ne!(status, cudaSuccess);
        assert_ne!(cudaLaunchCooperativeKernelMultiDevice(null_mut(), u32::MAX, 0), cudaSuccess);
        assert_ne!(cuGraphicsMapResources(u32::MAX, null_mut(), null_mut()), CUDA_SUCCESS);
        assert_ne!(cuGraphicsUnmapResources(u32::MAX, null_mut(), null_mut()), CUDA_SUCCESS);
    }
}

#[test]
fn a_function_is_found_by_name() {
    start();
    let mut function = null_mut();
    // SAFETY: a C string and a place for the result.
    unsafe {
        ok(cuGetProcAddress(c"hipMalloc".as_ptr(), &mut function, 6040, 0));
        assert!(!function.is_null());
    }
}
