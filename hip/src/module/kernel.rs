//! Kernels: attributes, occupancy, and launches.

use std::ffi::{c_int, c_void};
use std::fmt;
use std::ptr;
use std::sync::Arc;

use hip_sys::hipFunction_t;

use super::args::{Arguments, KernelArgs, Pointers};
use super::inner::ModuleInner;
use super::metadata::KernelInfo;
use crate::core::attribute::FunctionAttribute;
use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::core::geometry::LaunchConfig;
use crate::core::properties::DeviceProperties;
use crate::core::releases::one_at_a_time;
use crate::stream::usage::{Access, Accesses};
use crate::stream::{Launching, Stream};

/// A kernel of a [`Module`](super::Module) (`hipFunction_t`). Cheap to clone; it keeps the module loaded.
#[derive(Clone)]
pub struct Kernel {
    raw: hipFunction_t,
    info: Arc<KernelInfo>,
    name: Arc<str>,
    module: Arc<ModuleInner>,
}

// SAFETY: a hipFunction_t is a handle that the HIP runtime allows any thread to use; it lives as long as the module, which `module` keeps
// loaded.
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

/// The block size with the highest occupancy ([`Kernel::max_potential_block_size`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// Minimum number of blocks for full occupancy.
    pub min_grid: u32,
    /// Threads per block.
    pub block: u32,
}

impl Kernel {
    pub(crate) fn new(raw: hipFunction_t, info: Arc<KernelInfo>, module: Arc<ModuleInner>) -> Self {
        let name = Arc::from(info.name.as_str());
        Self { raw, info, name, module }
    }

    /// Queues a launch (`hipModuleLaunchKernel`) and returns at once. `args` is a tuple;
    /// [`KernelArg`](super::KernelArg) lists the types that it may contain. The arguments are copied. Buffers record
    /// that the stream uses them, and the stream first waits for conflicting work of other streams.
    ///
    /// A fault of the kernel is returned by the next call that waits for the stream, or by an earlier call that finds
    /// it.
    ///
    /// A code object contains sizes but no types. If the module was compiled from source at run time
    /// (`hiprtc::Code::load`, `hiprtc::Program::load`), arguments are compared with the source, too: `&x` for memory
    /// that the kernel may write, memory of `f64` for `float *` and `f32` for `unsigned` are errors that name the
    /// parameter. For other code, declare the kernel with [`kernel!`](crate::kernel).
    ///
    /// ```
    /// # fn main() -> hip::Result<()> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// use hip::{Device, DeviceBuffer, LaunchConfig, Module, Stream};
    ///
    /// let device = Device::get(0)?;
    /// # if device.properties()?.arch.name() != "gfx90a" { return Ok(()) }
    /// let stream = Stream::new(&device)?;
    /// // extern "C" __global__ void vector_add(const float *a, const float *b, float *c, unsigned n)
    /// # let code = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernels/kernels.gfx90a.co"));
    /// # let module = Module::load(&device, code)?;
    /// let vector_add = module.kernel("vector_add")?; // of a `Module`, or of what `hiprtc` has loaded
    ///
    /// let a = DeviceBuffer::from_slice(&device, &[1.0f32; 1000])?;
    /// let mut c = DeviceBuffer::<f32>::zeroed(&device, 1000)?;
    /// // SAFETY: the kernel reads a twice and writes c, each of 1000 elements, and checks its index against n.
    /// unsafe { vector_add.launch(&stream, LaunchConfig::for_elements(1000, 256), (&a, &a, &mut c, 1000u32))? };
    /// assert_eq!(c.to_vec()?, [2.0; 1000]); // waits for the launch
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Before anything is queued: [`Error::ArgumentCount`] and [`Error::Argument`] if the arguments do not match the
    /// parameters in the code object, or in the source if it is known; [`Error::Geometry`] if the device or the kernel
    /// does not allow the grid, block or shared memory; [`Error::WrongDevice`] if stream, kernel and buffers are not
    /// all on one device. [`Error::DeviceLost`] if the runtime has found a fault: of earlier work, or of this kernel,
    /// which may be over when this returns.
    ///
    /// # Safety
    /// A kernel can do anything. The caller must ensure that, with these arguments and this number of threads, it
    /// - reads and writes only inside of the buffers and slices that it is given, and writes only to those passed as
    ///   `&mut DeviceBuffer` or `DeviceSliceMut`, and to variables of its [`Module`](crate::Module::global);
    /// - has no data races, neither within itself nor with work of other streams that this crate does not track;
    /// - uses memory behind a [`DevicePtr`](crate::DevicePtr) (or an address in a structure) only while it is allocated
    ///   and not in conflicting use: a launch does not track such memory, so keep it until the stream is done;
    /// - leaves bytes in the buffers that are valid for their element types ([`Pod`](crate::Pod) types take any).
    #[doc(alias("hipModuleLaunchKernel", "cuLaunchKernel"))]
    #[doc(alias = "cudaLaunchKernel")]
    #[doc(alias = "hipLaunchKernel")]
    #[doc(alias = "hipLaunchKernelGGL")]
    pub unsafe fn launch<A: KernelArgs>(&self, stream: &Stream, config: LaunchConfig, args: A) -> Result<()> {
        let device = self.device();
        device.expect(stream.device(), "the stream")?;
        let mut arguments = Arguments::new(&self.info, device);
        self.bind(&args, &mut arguments)?;
        let mut pointers = Pointers::new();
        arguments.point_to(&mut pointers);
        // SAFETY: there is one pointer per parameter, to as many bytes as the code object specifies; the list of accesses has all buffers
        // and the module. The caller ensures that the kernel is sound.
        unsafe { self.queue(stream, config, &mut pointers, arguments.accesses()) }
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the code object's information: parameters, registers, shared memory, limits.
    #[must_use]
    pub fn info(&self) -> &KernelInfo {
        &self.info
    }

    /// Returns the device.
    #[must_use]
    #[inline]
    pub fn device(&self) -> Device {
        self.module.device()
    }

    /// Returns an attribute (`hipFuncGetAttribute`), as the runtime computes it for the device; [`info`](Self::info)
    /// returns the code object's information without a call.
    ///
    /// # Errors
    /// The runtime's status if it does not know the attribute.
    #[doc(alias("hipFuncGetAttribute", "cuFuncGetAttribute"))]
    #[doc(alias("hipFuncGetAttributes", "cudaFuncGetAttributes"))]
    pub fn attribute(&self, attribute: FunctionAttribute) -> Result<i32> {
        self.device().activate()?;
        let mut value: c_int = 0;
        // SAFETY: `value` is valid for a write; the function's module is loaded; for an attribute that the runtime does not know, it
        // returns an error.
        let status = unsafe { hip_sys::hipFuncGetAttribute(&mut value, attribute.raw(), self.raw) };
        check(status, "hipFuncGetAttribute", || format!("{attribute:?} of {}", self.name))?;
        Ok(value)
    }

    /// Returns the number of blocks of `block` threads, with `shared_bytes` of dynamic shared memory, that a compute
    /// unit can run concurrently (`hipModuleOccupancyMaxActiveBlocksPerMultiprocessor`).
    ///
    /// # Errors
    /// [`Error::Geometry`] for a block that cannot be launched.
    #[doc(alias("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", "cuOccupancyMaxActiveBlocksPerMultiprocessor"))]
    #[doc(alias("hipOccupancyMaxActiveBlocksPerMultiprocessor", "cudaOccupancyMaxActiveBlocksPerMultiprocessor"))]
    pub fn active_blocks_per_compute_unit(&self, block: u32, shared_bytes: u32) -> Result<u32> {
        self.check_size(&LaunchConfig::new(1, block).with_shared_bytes(shared_bytes))?;
        self.device().activate()?;
        let mut blocks: c_int = 0;
        // SAFETY: `blocks` is valid for a write; the function's module is loaded.
        let status = unsafe {
            hip_sys::hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                self.raw,
                block as c_int,
                shared_bytes as usize,
            )
        };
        check(status, "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", || {
            format!("{} in blocks of {block} threads with {shared_bytes} bytes of shared memory", self.name)
        })?;
        Ok(u32::try_from(blocks).unwrap_or(0))
    }

    /// Returns the block size with the highest occupancy, for `shared_bytes` of dynamic shared memory per block
    /// (`hipModuleOccupancyMaxPotentialBlockSize`).
    #[doc(alias("hipModuleOccupancyMaxPotentialBlockSize", "cuOccupancyMaxPotentialBlockSize"))]
    #[doc(alias("hipOccupancyMaxPotentialBlockSize", "cudaOccupancyMaxPotentialBlockSize"))]
    pub fn max_potential_block_size(&self, shared_bytes: u32) -> Result<Occupancy> {
        self.ask_for_shared(self.device().properties()?, shared_bytes)?;
        self.device().activate()?;
        let (mut grid, mut block): (c_int, c_int) = (0, 0);
        // SAFETY: both are valid for a write; the function's module is loaded; 0 means no limit on the block.
        let status = unsafe {
            hip_sys::hipModuleOccupancyMaxPotentialBlockSize(&mut grid, &mut block, self.raw, shared_bytes as usize, 0)
        };
        check(status, "hipModuleOccupancyMaxPotentialBlockSize", || {
            format!("{} with {shared_bytes} bytes of shared memory", self.name)
        })?;
        Ok(Occupancy { min_grid: u32::try_from(grid).unwrap_or(0), block: u32::try_from(block).unwrap_or(0) })
    }

    /// Like [`max_potential_block_size`](Self::max_potential_block_size), with at most `limit` threads per block.
    #[doc(alias = "cudaOccupancyMaxPotentialBlockSizeVariableSMem")]
    #[doc(alias = "cudaOccupancyMaxPotentialBlockSizeWithFlags")]
    pub fn max_potential_block_size_with_limit(&self, shared_bytes: u32, limit: u32) -> Result<Occupancy> {
        self.ask_for_shared(self.device().properties()?, shared_bytes)?;
        self.device().activate()?;
        let (mut grid, mut block): (c_int, c_int) = (0, 0);
        let limit = c_int::try_from(limit).unwrap_or(c_int::MAX);
        // SAFETY: both are valid for a write; the function's module is loaded.
        let status = unsafe {
            hip_sys::hipModuleOccupancyMaxPotentialBlockSize(
                &mut grid,
                &mut block,
                self.raw,
                shared_bytes as usize,
                limit,
            )
        };
        check(status, "hipModuleOccupancyMaxPotentialBlockSize", || {
            format!("{} with {shared_bytes} bytes of shared memory and at most {limit} threads", self.name)
        })?;
        Ok(Occupancy { min_grid: u32::try_from(grid).unwrap_or(0), block: u32::try_from(block).unwrap_or(0) })
    }

    /// Allows launches with this much dynamic shared memory (`hipFuncSetAttribute`,
    /// `hipFuncAttributeMaxDynamicSharedMemorySize`). AMD's devices do not need this, and some releases of ROCm reject
    /// the call for kernels of modules (`hipErrorInvalidDeviceFunction`). NVIDIA's need it for more than 48 KiB, and
    /// launches make the call by themselves.
    #[doc(alias("hipFuncSetAttribute", "cudaFuncSetAttribute"))]
    pub fn set_max_dynamic_shared(&self, bytes: u32) -> Result<()> {
        self.set_attribute(hip_sys::hipFuncAttributeMaxDynamicSharedMemorySize, bytes)
    }

    /// Sets the part of a compute unit's fast memory that should be shared memory rather than cache, in percent
    /// (`hipFuncSetAttribute`, `hipFuncAttributePreferredSharedMemoryCarveout`): a hint that AMD's devices ignore.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for more than 100; the runtime's status, as for
    /// [`set_max_dynamic_shared`](Self::set_max_dynamic_shared).
    #[doc(alias("hipFuncSetAttribute", "cudaFuncSetAttribute"))]
    pub fn set_shared_carveout(&self, percent: u32) -> Result<()> {
        if percent > 100 {
            return Err(Error::InvalidValue {
                what: "the part of shared memory",
                value: format!("{percent} %"),
                allowed: "up to 100 %".to_owned(),
            });
        }
        self.set_attribute(hip_sys::hipFuncAttributePreferredSharedMemoryCarveout, percent)
    }

    fn set_attribute(&self, attribute: hip_sys::hipFuncAttribute, value: u32) -> Result<()> {
        self.device().activate()?;
        let value = c_int::try_from(value).unwrap_or(c_int::MAX);
        // SAFETY: the runtime looks the handle up, and rejects it if it expects another kind.
        let status = unsafe { hip_sys::hipFuncSetAttribute(self.raw.cast_const().cast(), attribute, value) };
        check(status, "hipFuncSetAttribute", || format!("{attribute:?} = {value} for {}", self.name))
    }

    /// Checks a launch against the limits of kernel and device, and asks for its shared memory.
    #[inline]
    pub(super) fn check_size(&self, config: &LaunchConfig) -> Result<()> {
        let device = self.device().properties()?;
        config.check(&self.info, device)?;
        self.ask_for_shared(device, config.shared_bytes)
    }

    #[inline]
    fn ask_for_shared(&self, device: &DeviceProperties, dynamic: u32) -> Result<()> {
        let all = u64::from(dynamic) + u64::from(self.info.static_shared_bytes);
        if all <= device.shared_memory_per_block { Ok(()) } else { self.opt_in(device) }
    }

    /// Asks once for all dynamic shared memory that the device allows (`hipFuncSetAttribute`): NVIDIA's devices require
    /// it for more than 48 KiB. It is a limit, and not what launches use.
    #[cold]
    fn opt_in(&self, device: &DeviceProperties) -> Result<()> {
        let mut asked = self.module.large_shared.lock();
        if asked.contains(&self.raw.addr()) {
            return Ok(());
        }
        // The code does not always tell.
        let fixed = self.attribute(FunctionAttribute::SHARED_BYTES)?;
        let most = device.shared_memory_per_block_opt_in.saturating_sub(u64::try_from(fixed).unwrap_or(0));
        self.set_max_dynamic_shared(u32::try_from(most).unwrap_or(u32::MAX))?;
        asked.push(self.raw.addr());
        Ok(())
    }

    /// Queues a launch whose arguments have been checked, after checking its size.
    ///
    /// # Safety
    /// That of [`launch`](Self::launch); there must be one pointer per parameter, to as many bytes as the code object
    /// specifies, and `accesses` must list the buffers among them and the module.
    #[inline]
    pub(super) unsafe fn queue<'a>(
        &self,
        stream: &Stream,
        config: LaunchConfig,
        pointers: &mut [*mut c_void],
        accesses: impl Accesses<'a>,
    ) -> Result<()> {
        let parameters = if pointers.is_empty() { ptr::null_mut() } else { pointers.as_mut_ptr() };
        // Captured values are moved into the closures, so that the inlined one need not keep them in memory.
        let config = &config;
        let check_size = move || self.check_size(config);
        let queued = stream.inner.submit_checked(accesses, Some(self.named(config)), check_size, move |raw| {
            let _one = one_at_a_time();
            let LaunchConfig { grid, block, shared_bytes } = *config;
            // SAFETY: the function's module is loaded and records the launch; the arguments match the kernel's parameters, and are valid
            // during the call, which copies them; the buffers record their use. The caller ensures that the kernel is sound.
            let status = unsafe {
                hip_sys::hipModuleLaunchKernel(
                    self.raw,
                    grid.x,
                    grid.y,
                    grid.z,
                    block.x,
                    block.y,
                    block.z,
                    shared_bytes,
                    raw,
                    parameters,
                    ptr::null_mut(),
                )
            };
            check(status, "hipModuleLaunchKernel", || self.describe(*config))
        });
        queued.map(drop)
    }

    /// Returns the checked and laid out arguments of a launch, and their accesses.
    pub(crate) fn arguments<'a, A: KernelArgs>(&'a self, config: LaunchConfig, args: &'a A) -> Result<Arguments<'a>> {
        let device = self.device();
        self.check_size(&config)?;
        let mut arguments = Arguments::new(&self.info, device);
        self.bind(args, &mut arguments)?;
        Ok(arguments)
    }

    /// Adds `args`, which must be all arguments of the kernel, and the launch's use of the module.
    #[inline]
    fn bind<'a, A: KernelArgs>(&'a self, args: &'a A, arguments: &mut Arguments<'a>) -> Result<()> {
        arguments.expect_count(args.count())?;
        args.bind_all(arguments)?;
        arguments.finish()?;
        arguments.touch(self.access());
        Ok(())
    }

    /// Returns a launch's access to its module.
    #[inline]
    pub(crate) fn access(&self) -> Access<'_> {
        Access::launch(self.module.usage())
    }

    /// Describes the launch, for an error that it may cause later.
    #[inline]
    pub(crate) fn named<'a>(&'a self, config: &'a LaunchConfig) -> Launching<'a> {
        Launching { kernel: &self.name, config: Some(config) }
    }

    pub(crate) fn describe(&self, config: LaunchConfig) -> String {
        let LaunchConfig { grid, block, .. } = config;
        format!("{} in {grid} blocks of {block} threads on device {}", self.name, self.device().index())
    }

    /// Returns the C handle, for calls of [`hip_sys`] that this crate does not make. The kernel keeps ownership.
    #[must_use]
    pub fn as_raw(&self) -> hipFunction_t {
        self.raw
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel")
            .field("device", &self.device().index())
            .field("kernel", &format_args!("{}", self.info))
            .finish()
    }
}
