//! Kernels.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use super::{CudaModule, DriverError};
use crate::driver::result;
use crate::driver::sys::{self, CUfunction_attribute_enum as Attribute};

/// An argument: the address and number of its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Argument {
    pub(super) bytes: *mut c_void,
    pub(super) size: usize,
}

/// A kernel of a module.
#[derive(Clone, Debug)]
pub struct CudaFunction {
    kernel: Arc<hip::Kernel>,
    module: Arc<CudaModule>,
}

impl CudaModule {
    /// Returns a kernel. The name is mangled, unless the source declares it `extern "C"`.
    ///
    /// # Errors
    /// `CUDA_ERROR_NOT_FOUND` if the module has no such kernel; the message lists the kernels of the module.
    #[doc(alias("cuModuleGetFunction", "hipModuleGetFunction"))]
    pub fn load_function(self: &Arc<Self>, fn_name: &str) -> Result<CudaFunction, DriverError> {
        self.context().bind_to_thread()?;
        Ok(CudaFunction { kernel: Arc::new(self.kernel(fn_name)?), module: Arc::clone(self) })
    }
}

impl CudaFunction {
    pub(super) fn module(&self) -> &Arc<CudaModule> {
        &self.module
    }

    /// Returns the handle.
    pub fn cu_function(&self) -> sys::CUfunction {
        self.kernel.as_raw()
    }

    /// Checks that the kernel only reads arguments. A larger argument is allowed, as in CUDA: its first bytes are used.
    pub(super) fn check_arguments(&self, arguments: &[Argument]) -> Result<(), DriverError> {
        let info = self.kernel.info();
        let refuse = |text: String| Err(DriverError(sys::CUresult::CUDA_ERROR_INVALID_VALUE).explained(text));
        if arguments.len() < info.parameters.len() {
            return refuse(format!("{} arguments for {info}", arguments.len()));
        }
        for (index, (parameter, argument)) in info.parameters.iter().zip(arguments).enumerate() {
            if argument.size < parameter.size {
                return refuse(format!(
                    "argument {index} of {info} has {} bytes: the parameter is {parameter}",
                    argument.size
                ));
            }
        }
        Ok(())
    }

    /// Returns the dynamic shared memory that each of `num_blocks` blocks can have on one compute unit, in bytes.
    ///
    /// # Errors
    /// The errors of [`result::occupancy::available_dynamic_shared_mem_per_block`].
    #[doc(alias("cuOccupancyAvailableDynamicSMemPerBlock"))]
    pub fn occupancy_available_dynamic_smem_per_block(
        &self,
        num_blocks: u32,
        block_size: u32,
    ) -> Result<usize, DriverError> {
        self.module.context().bind_to_thread()?;
        let (blocks, size) = (int(num_blocks)?, int(block_size)?);
        // SAFETY: the kernel's module is loaded.
        unsafe { result::occupancy::available_dynamic_shared_mem_per_block(self.cu_function(), blocks, size) }
    }

    /// Returns the number of blocks that a compute unit runs at the same time.
    ///
    /// # Errors
    /// A status of HIP.
    #[doc(alias("cuOccupancyMaxActiveBlocksPerMultiprocessor"))]
    pub fn occupancy_max_active_blocks_per_multiprocessor(
        &self,
        block_size: u32,
        dynamic_smem_size: usize,
        flags: Option<sys::CUoccupancy_flags_enum>,
    ) -> Result<u32, DriverError> {
        self.module.context().bind_to_thread()?;
        let flags = flags.unwrap_or(sys::CUoccupancy_flags_enum::CU_OCCUPANCY_DEFAULT) as u32;
        let size = int(block_size)?;
        // SAFETY: the kernel's module is loaded.
        let blocks = unsafe {
            result::occupancy::max_active_block_per_multiprocessor_with_flags(
                self.cu_function(),
                size,
                dynamic_smem_size,
                flags,
            )
        }?;
        Ok(blocks.unsigned_abs())
    }

    /// Returns the sizes of grid and block that keep the device busiest. The function is called for each block size.
    ///
    /// # Errors
    /// The errors of [`result::occupancy::max_potential_block_size_with_flags`].
    #[doc(alias("cuOccupancyMaxPotentialBlockSizeWithFlags"))]
    pub fn occupancy_max_potential_block_size(
        &self,
        block_size_to_dynamic_smem_size: extern "C" fn(block_size: c_int) -> usize,
        dynamic_smem_size: usize,
        block_size_limit: u32,
        flags: Option<sys::CUoccupancy_flags_enum>,
    ) -> Result<(u32, u32), DriverError> {
        self.module.context().bind_to_thread()?;
        let flags = flags.unwrap_or(sys::CUoccupancy_flags_enum::CU_OCCUPANCY_DEFAULT) as u32;
        let limit = int(block_size_limit)?;
        // SAFETY: the kernel's module is loaded, and the function is safe to call.
        let (grid, block) = unsafe {
            result::occupancy::max_potential_block_size_with_flags(
                self.cu_function(),
                Some(block_size_to_dynamic_smem_size),
                dynamic_smem_size,
                limit,
                flags,
            )
        }?;
        Ok((grid.unsigned_abs(), block.unsigned_abs()))
    }

    /// Returns an attribute.
    ///
    /// # Errors
    /// A status of HIP.
    #[doc(alias("cuFuncGetAttribute", "hipFuncGetAttribute"))]
    pub fn get_attribute(&self, attribute: Attribute) -> Result<i32, DriverError> {
        self.module.context().bind_to_thread()?;
        // SAFETY: the kernel's module is loaded.
        unsafe { result::function::get_function_attribute(self.cu_function(), attribute) }
    }

    /// Returns the number of registers of a thread.
    ///
    /// # Errors
    /// A status of HIP.
    pub fn num_regs(&self) -> Result<i32, DriverError> {
        self.get_attribute(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)
    }

    /// Returns the static shared memory of a block, in bytes.
    ///
    /// # Errors
    /// A status of HIP.
    pub fn shared_size_bytes(&self) -> Result<i32, DriverError> {
        self.get_attribute(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)
    }

    /// Returns the constant memory, in bytes.
    ///
    /// # Errors
    /// A status of HIP.
    pub fn const_size_bytes(&self) -> Result<i32, DriverError> {
        self.get_attribute(Attribute::CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES)
    }

    /// Returns the private memory of a thread, in bytes.
    ///
    /// # Errors
    /// A status of HIP.
    pub fn local_size_bytes(&self) -> Result<i32, DriverError> {
        self.get_attribute(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)
    }

    /// Returns the largest number of threads of a block.
    ///
    /// # Errors
    /// A status of HIP.
    pub fn max_threads_per_block(&self) -> Result<i32, DriverError> {
        self.get_attribute(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
    }

    /// Returns the number that HIP reports as the PTX version. The module contains no PTX.
    ///
    /// # Errors
    /// A status of HIP.
    pub fn ptx_version(&self) -> Result<i32, DriverError> {
        self.get_attribute(Attribute::CU_FUNC_ATTRIBUTE_PTX_VERSION)
    }

    /// Returns the number that HIP reports for the code's architecture.
    ///
    /// # Errors
    /// A status of HIP.
    pub fn binary_version(&self) -> Result<i32, DriverError> {
        self.get_attribute(Attribute::CU_FUNC_ATTRIBUTE_BINARY_VERSION)
    }

    /// Checks a value for an attribute; see [`result::function::set_function_attribute`].
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for more dynamic shared memory than a block can have; `CUDA_ERROR_NOT_SUPPORTED` for
    /// attributes that cannot be set.
    #[doc(alias("cuFuncSetAttribute", "hipFuncSetAttribute"))]
    pub fn set_attribute(&self, attribute: Attribute, value: i32) -> Result<(), DriverError> {
        self.module.context().bind_to_thread()?;
        // SAFETY: the kernel's module is loaded.
        unsafe { result::function::set_function_attribute(self.cu_function(), attribute, value) }
    }

    /// Accepts a preference for caches or shared memory, which AMD GPUs ignore.
    ///
    /// # Errors
    /// None.
    #[doc(alias("cuFuncSetCacheConfig", "hipFuncSetCacheConfig"))]
    pub fn set_function_cache_config(&self, attribute: sys::CUfunc_cache_enum) -> Result<(), DriverError> {
        // SAFETY: the kernel's module is loaded.
        unsafe { result::function::set_function_cache_config(self.cu_function(), attribute) }
    }
}

/// Converts a number to a C `int`.
fn int(number: u32) -> Result<c_int, DriverError> {
    c_int::try_from(number).map_err(|_| DriverError(sys::CUresult::CUDA_ERROR_INVALID_VALUE))
}
