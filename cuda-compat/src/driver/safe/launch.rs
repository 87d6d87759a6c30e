//! Launches of kernels.

use std::ffi::c_void;

use super::function::Argument;
use super::usage::Usage;
use super::{CudaEvent, CudaFunction, CudaStream};
use crate::driver::result::{self, DriverError};
use crate::driver::sys;

/// The size of a launch: blocks, threads of each block, and dynamic shared memory.
#[derive(Clone, Copy, Debug)]
pub struct LaunchConfig {
    /// Blocks in x, y and z.
    pub grid_dim: (u32, u32, u32),
    /// Threads of a block in x, y and z.
    pub block_dim: (u32, u32, u32),
    /// Dynamic shared memory of a block, in bytes.
    pub shared_mem_bytes: u32,
}

impl LaunchConfig {
    /// Returns a size with at least `n` threads in x, 1024 in each block.
    #[must_use]
    pub fn for_num_elems(n: u32) -> Self {
        const THREADS: u32 = 1024;
        Self { grid_dim: (n.div_ceil(THREADS), 1, 1), block_dim: (THREADS, 1, 1), shared_mem_bytes: 0 }
    }
}

/// A launch to which arguments are added; see [`CudaStream::launch_builder`].
#[derive(Debug)]
pub struct LaunchArgs<'a> {
    pub(super) stream: &'a CudaStream,
    pub(super) function: &'a CudaFunction,
    pub(super) waits: Vec<&'a CudaEvent>,
    pub(super) records: Vec<&'a CudaEvent>,
    pub(super) arguments: Vec<Argument>,
    /// The memory that a graph keeps.
    pub(super) memory: Vec<&'a Usage>,
    /// An argument that the stream must not use.
    pub(super) error: Option<DriverError>,
    timing: Option<sys::CUevent_flags>,
}

/// A launch that accepts arguments of a type: numbers and structs by reference, slices and views.
///
/// # Safety
/// `arg` must add the address of bytes that live as long as the launch's lifetime, and the ordering that memory needs.
#[diagnostic::on_unimplemented(
    message = "`{T}` cannot be passed to a kernel",
    note = "numbers and structs are passed as `&value`, and their type implements `DeviceRepr`",
    note = "`half::f16` and `bf16` need the feature `f16` of `cuda-compat`, types of `float8` the feature `f8`, of `float4` the feature `f4`"
)]
pub unsafe trait PushKernelArg<T> {
    /// Adds an argument.
    fn arg(&mut self, arg: T) -> &mut Self;
}

impl CudaStream {
    /// Starts a launch: add the arguments in the order of the kernel's parameters, then call
    /// [`launch`](LaunchArgs::launch).
    pub fn launch_builder<'a>(&'a self, func: &'a CudaFunction) -> LaunchArgs<'a> {
        LaunchArgs {
            stream: self,
            function: func,
            waits: Vec::new(),
            records: Vec::new(),
            arguments: Vec::new(),
            memory: Vec::new(),
            error: None,
            timing: None,
        }
    }
}

/// The C function of a launch.
type Launch = unsafe fn(
    sys::CUfunction,
    (u32, u32, u32),
    (u32, u32, u32),
    u32,
    sys::CUstream,
    &mut [*mut c_void],
) -> Result<(), DriverError>;

impl LaunchArgs<'_> {
    /// Makes [`launch`](Self::launch) record an event before and after the kernel.
    pub fn record_kernel_launch(&mut self, flags: sys::CUevent_flags) -> &mut Self {
        self.timing = Some(flags);
        self
    }

    /// Queues the kernel. Returns the events before and after it, if
    /// [`record_kernel_launch`](Self::record_kernel_launch) was called.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if there are fewer arguments than parameters, or if one is smaller than its
    /// parameter, or for a size that the device cannot launch; a status of HIP.
    ///
    /// # Safety
    /// The arguments must have the types of the kernel's parameters. The kernel must be correct: it only accesses
    /// memory within its arguments, does not write memory that was passed by `&`, and has no races.
    #[doc(alias("cuLaunchKernel", "hipModuleLaunchKernel"))]
    pub unsafe fn launch(&mut self, cfg: LaunchConfig) -> Result<Option<(CudaEvent, CudaEvent)>, DriverError> {
        // SAFETY: the caller's contract.
        unsafe { self.queue(cfg, result::launch_kernel) }
    }

    /// As [`launch`](Self::launch), with all blocks running at the same time, so that they can wait for each other.
    ///
    /// # Errors
    /// The errors of [`launch`](Self::launch); `CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE` for more blocks than can run
    /// at the same time.
    ///
    /// # Safety
    /// The requirements of [`launch`](Self::launch).
    #[doc(alias("cuLaunchCooperativeKernel", "hipModuleLaunchCooperativeKernel"))]
    pub unsafe fn launch_cooperative(
        &mut self,
        cfg: LaunchConfig,
    ) -> Result<Option<(CudaEvent, CudaEvent)>, DriverError> {
        // SAFETY: the caller's contract.
        unsafe { self.queue(cfg, result::launch_cooperative_kernel) }
    }

    /// # Safety
    /// The requirements of [`launch`](Self::launch).
    unsafe fn queue(
        &mut self,
        cfg: LaunchConfig,
        launch: Launch,
    ) -> Result<Option<(CudaEvent, CudaEvent)>, DriverError> {
        // HIP 5.7 reads one address after the last, for an argument that it does not recognize as the compiler's.
        static HIDDEN: u64 = 0;
        let stream = self.stream;
        stream.context().bind_to_thread()?;
        self.function.check_arguments(&self.arguments)?;
        if let Some(error) = self.error {
            return Err(error);
        }
        let captured = stream.is_kept_by_capture(|| self.function.module().clone());
        if captured {
            self.memory.iter().for_each(|usage| _ = usage.is_kept_on(stream));
        } else {
            self.waits.iter().try_for_each(|event| stream.wait(event))?;
        }
        let mut parameters: Vec<*mut c_void> = self.arguments.iter().map(|argument| argument.bytes).collect();
        parameters.push((&raw const HIDDEN).cast_mut().cast());
        let event = || self.timing.map(|flags| stream.record_event(Some(flags))).transpose();
        let start = event()?;
        // SAFETY: each parameter has an argument of at least its size. The caller ensures the rest.
        unsafe {
            launch(
                self.function.cu_function(),
                cfg.grid_dim,
                cfg.block_dim,
                cfg.shared_mem_bytes,
                stream.cu_stream(),
                &mut parameters,
            )
        }?;
        let end = event();
        if !captured {
            // Records all events, even after an error: memory is freed after these events.
            let recorded = self.records.iter().map(|event| event.extend(stream));
            recorded.fold(Ok(()), Result::and)?;
        }
        Ok(start.zip(end?))
    }
}
