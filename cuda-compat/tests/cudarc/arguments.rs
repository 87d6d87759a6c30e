//! Launches are checked against the kernel's parameters.

use cuda_compat::driver::sys::CUresult;
use cuda_compat::driver::{CudaFunction, DriverError, LaunchConfig, PushKernelArg};

use crate::{context, vector_add};

fn kernel() -> CudaFunction {
    let module = context().load_module(vector_add()).unwrap();
    module.load_function("vector_add").unwrap()
}

#[test]
fn a_launch_adds() {
    let (context, kernel) = (context(), kernel());
    let stream = context.default_stream();
    let a = stream.clone_htod(&[1.5_f32; 1000]).unwrap();
    let mut c = stream.alloc_zeros::<f32>(1000).unwrap();
    let mut launch = stream.launch_builder(&kernel);
    // CUDA allows a number that is larger than the parameter: its first bytes are used.
    launch.arg(&a).arg(&a).arg(&mut c).arg(&1000_usize);
    // SAFETY: the arguments are those of the kernel, which stays within.
    unsafe { launch.launch(LaunchConfig::for_num_elems(1000)) }.unwrap();
    assert_eq!(stream.clone_dtoh(&c).unwrap(), [3.0_f32; 1000]);
}

#[test]
fn arguments_that_the_kernel_would_read_beyond_are_refused() {
    let (context, kernel) = (context(), kernel());
    let stream = context.default_stream();
    let a = stream.clone_htod(&[1.5_f32; 10]).unwrap();
    let mut launch = stream.launch_builder(&kernel);
    launch.arg(&a).arg(&a).arg(&a);
    // SAFETY: the launch is rejected.
    let few = unsafe { launch.launch(LaunchConfig::for_num_elems(10)) }.unwrap_err();
    assert_eq!(few, DriverError(CUresult::CUDA_ERROR_INVALID_VALUE));
    assert!(few.to_string().contains("3 arguments for vector_add("), "{few}");
    launch.arg(&10_u16);
    // SAFETY: the launch is rejected.
    let small = unsafe { launch.launch(LaunchConfig::for_num_elems(10)) }.unwrap_err();
    assert_eq!(small, DriverError(CUresult::CUDA_ERROR_INVALID_VALUE));
    assert!(small.to_string().contains("argument 3 of vector_add("), "{small}");
    assert!(small.to_string().contains("has 2 bytes"), "{small}");
}

#[test]
fn occupancy_is_within_the_device() {
    let kernel = kernel();
    extern "C" fn shared(block: i32) -> usize {
        block as usize * 64
    }
    let (grid, block) = kernel.occupancy_max_potential_block_size(shared, 0, 0, None).unwrap();
    assert!(grid > 0 && block > 0 && block % 64 == 0, "{grid} {block}");
    assert!(shared(block as i32) <= 65536);
    let one = kernel.occupancy_available_dynamic_smem_per_block(1, 64).unwrap();
    let four = kernel.occupancy_available_dynamic_smem_per_block(4, 64).unwrap();
    assert_eq!((one, four), (65536, 16384));
    let none = kernel.occupancy_available_dynamic_smem_per_block(0, 64).unwrap_err();
    assert_eq!(none.0, CUresult::CUDA_ERROR_INVALID_VALUE);
}

#[test]
fn dynamic_shared_memory_has_the_limit_of_a_block() {
    type Attribute = cuda_compat::driver::sys::CUfunction_attribute;
    let kernel = kernel();
    let set = |bytes| kernel.set_attribute(Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes);
    set(65536).unwrap();
    assert_eq!(set(65537).unwrap_err().0, CUresult::CUDA_ERROR_INVALID_VALUE);
    let registers = kernel.set_attribute(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS, 1).unwrap_err();
    assert_eq!(registers.0, CUresult::CUDA_ERROR_NOT_SUPPORTED);
}
