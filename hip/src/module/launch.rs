//! Other kinds of launches: cooperative, timed, with attributes.

use std::ffi::{c_uint, c_void};
use std::mem::transmute;
use std::ptr;

use hip_sys::{hipError_t, hipEvent_t, hipFunction_t, hipStream_t};

use super::{Kernel, KernelArgs, LaunchConfig};
use crate::core::call::check;
use crate::core::error::{Error, Result};
use crate::core::releases::one_at_a_time;
use crate::stream::Stream;
use crate::stream::event::Event;
use crate::stream::recorded::Recorded;
use crate::stream::usage::Accesses;

/// `hipExtModuleLaunchKernel`, which only `hip_ext.h` declares. Its grid counts threads, unlike that of other launches,
/// which counts blocks.
type ExtLaunch = unsafe extern "C" fn(
    hipFunction_t,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    usize,
    hipStream_t,
    *mut *mut c_void,
    *mut *mut c_void,
    hipEvent_t,
    hipEvent_t,
    u32,
) -> hipError_t;

impl Kernel {
    /// Queues a cooperative launch (`hipModuleLaunchCooperativeKernel`): all blocks run concurrently, so that they can
    /// wait for each other (`cooperative_groups::this_grid().sync()`).
    ///
    /// # Errors
    /// Those of [`launch`](Self::launch); [`Error::Unsupported`] if the device does not support cooperative launches;
    /// [`Error::Geometry`] for more blocks than the device can run concurrently
    /// ([`active_blocks_per_compute_unit`](Self::active_blocks_per_compute_unit) on each of its compute units).
    ///
    /// # Safety
    /// That of [`launch`](Self::launch).
    #[doc(alias("hipModuleLaunchCooperativeKernel", "cuLaunchCooperativeKernel"))]
    #[doc(alias("hipLaunchCooperativeKernel", "cudaLaunchCooperativeKernel"))]
    pub unsafe fn launch_cooperative<A: KernelArgs>(
        &self,
        stream: &Stream,
        config: LaunchConfig,
        args: A,
    ) -> Result<()> {
        self.device().expect(stream.device(), "the stream")?;
        let mut arguments = self.arguments(config, &args)?;
        let mut pointers = arguments.pointers();
        // SAFETY: `arguments` has checked the arguments and laid them out. The caller ensures that the kernel is sound.
        unsafe { self.queue_cooperative(stream, config, &mut pointers, arguments.accesses()) }
    }

    /// Queues a cooperative launch whose arguments have been checked, after checking its size.
    ///
    /// # Safety
    /// That of `queue`.
    pub(super) unsafe fn queue_cooperative<'a>(
        &self,
        stream: &Stream,
        config: LaunchConfig,
        pointers: &mut [*mut c_void],
        accesses: impl Accesses<'a>,
    ) -> Result<()> {
        self.check_size(&config)?;
        self.check_cooperative(config)?;
        let LaunchConfig { grid, block, shared_bytes } = config;
        let queued = stream.inner.submit_checked(
            accesses,
            Some(self.named(&config)),
            || Ok(()),
            |raw| {
                let _one = one_at_a_time();
                // SAFETY: as in `queue`.
                let status = unsafe {
                    hip_sys::hipModuleLaunchCooperativeKernel(
                        self.as_raw(),
                        grid.x,
                        grid.y,
                        grid.z,
                        block.x,
                        block.y,
                        block.z,
                        shared_bytes as c_uint,
                        raw,
                        pointers.as_mut_ptr(),
                    )
                };
                check(status, "hipModuleLaunchCooperativeKernel", || self.describe(config))
            },
        );
        queued.map(drop)
    }

    /// Returns the maximum number of blocks of this size that [`launch_cooperative`](Self::launch_cooperative) accepts.
    ///
    /// # Errors
    /// [`Error::Geometry`] for a block that cannot be launched.
    pub fn max_cooperative_blocks(&self, block: u32, shared_bytes: u32) -> Result<u32> {
        let units = self.device().properties()?.compute_units;
        Ok(self.active_blocks_per_compute_unit(block, shared_bytes)?.saturating_mul(units))
    }

    pub(super) fn check_cooperative(&self, config: LaunchConfig) -> Result<()> {
        if !self.device().properties()?.cooperative_launch {
            return Err(Error::Unsupported {
                what: "a cooperative launch",
                reason: format!("device {} says that it cannot", self.device().index()),
            });
        }
        // The block has passed the check of its geometry, so its number of threads fits.
        let threads = u32::try_from(config.block.count()).unwrap_or(u32::MAX);
        let most = self.max_cooperative_blocks(threads, config.shared_bytes)?;
        if config.grid.count() > u128::from(most) {
            return Err(Error::Geometry {
                kernel: self.name().to_owned(),
                reason: format!(
                    "a cooperative grid of {} blocks of {} threads: the device runs {most} of them at a time",
                    config.grid, config.block
                ),
            });
        }
        Ok(())
    }

    /// Like [`launch`](Self::launch), and records `start` when the kernel starts and `stop` when it ends
    /// (`hipExtModuleLaunchKernel`): the time between them is that of the kernel alone, without gaps in the stream.
    ///
    /// # Errors
    /// Those of [`launch`](Self::launch); [`Error::WrongDevice`] for an event of another device;
    /// [`Error::InvalidValue`] if both are the same event, and for events of another process or other code;
    /// [`Error::Capture`] while the stream is captured.
    ///
    /// # Safety
    /// That of [`launch`](Self::launch).
    pub unsafe fn launch_timed<A: KernelArgs>(
        &self,
        stream: &Stream,
        config: LaunchConfig,
        args: A,
        start: &Event,
        stop: &Event,
    ) -> Result<()> {
        let device = self.device();
        device.expect(stream.device(), "the stream")?;
        device.expect(start.device(), "the start event")?;
        device.expect(stop.device(), "the stop event")?;
        start.refuse_shared("the start event")?;
        stop.refuse_shared("the stop event")?;
        stream.inner.refuse_captured("a launch with events")?;
        if ptr::eq(start, stop) {
            return Err(Error::InvalidValue {
                what: "the events of a launch",
                value: "one for both".to_owned(),
                allowed: "two".to_owned(),
            });
        }
        let mut arguments = self.arguments(config, &args)?;
        let mut pointers = arguments.pointers();
        let Some(function) = hip_sys::BINDING.symbol(c"hipExtModuleLaunchKernel") else {
            return Err(Error::Unsupported {
                what: "a launch with events",
                reason: "the HIP runtime has no hipExtModuleLaunchKernel".to_owned(),
            });
        };
        // SAFETY: the symbol has this type in every HIP release, and the library stays loaded.
        let launch = unsafe { transmute::<ptr::NonNull<c_void>, ExtLaunch>(function) };
        let LaunchConfig { grid, block, shared_bytes } = config;
        // All threads lock two events in the order of their addresses.
        let (first, second) =
            if ptr::from_ref(start).addr() < ptr::from_ref(stop).addr() { (start, stop) } else { (stop, start) };
        let (mut first_record, mut second_record) = (first.lock_record()?, second.lock_record()?);
        let ticket = stream.inner.submit_numbered(arguments.accesses(), Some(self.named(&config)), |raw| {
            let _one = one_at_a_time();
            // SAFETY: as in `launch`; blocks times threads fit 32 bits, which the check of the geometry has ensured; the events are alive.
            let status = unsafe {
                launch(
                    self.as_raw(),
                    grid.x * block.x,
                    grid.y * block.y,
                    grid.z * block.z,
                    block.x,
                    block.y,
                    block.z,
                    shared_bytes as usize,
                    raw,
                    pointers.as_mut_ptr(),
                    ptr::null_mut(),
                    start.raw(),
                    stop.raw(),
                    0,
                )
            };
            check(status, "hipExtModuleLaunchKernel", || self.describe(config))
        })?;
        // The start is reached when the earlier work is done.
        let tickets = if ptr::eq(first, start) { (ticket - 1, ticket) } else { (ticket, ticket - 1) };
        *first_record = Some(Recorded::moved(first_record.as_ref(), &stream.inner, tickets.0));
        *second_record = Some(Recorded::moved(second_record.as_ref(), &stream.inner, tickets.1));
        Ok(())
    }

    /// Like [`launch`](Self::launch), with attributes (`hipDrvLaunchKernelEx`).
    ///
    /// # Errors
    /// Those of [`launch`](Self::launch), and of [`launch_cooperative`](Self::launch_cooperative) if it is cooperative.
    ///
    /// # Safety
    /// That of [`launch`](Self::launch).
    #[doc(alias("hipDrvLaunchKernelEx", "cuLaunchKernelEx"))]
    #[cfg(feature = "rocm-7-0")]
    #[doc(alias = "hipLaunchKernelExC")]
    #[doc(alias = "cudaLaunchKernelExC")]
    #[doc(alias = "cudaLaunchKernelEx")]
    pub unsafe fn launch_with<A: KernelArgs>(
        &self,
        stream: &Stream,
        config: LaunchConfig,
        attributes: LaunchAttributes,
        args: A,
    ) -> Result<()> {
        self.device().expect(stream.device(), "the stream")?;
        let mut arguments = self.arguments(config, &args)?;
        if attributes.cooperative {
            self.check_cooperative(config)?;
        }
        let mut pointers = arguments.pointers();
        let mut list = attributes.raw();
        let LaunchConfig { grid, block, shared_bytes } = config;
        stream.inner.submit(arguments.accesses(), Some(self.named(&config)), |raw| {
            let launch = hip_sys::HIP_LAUNCH_CONFIG {
                gridDimX: grid.x,
                gridDimY: grid.y,
                gridDimZ: grid.z,
                blockDimX: block.x,
                blockDimY: block.y,
                blockDimZ: block.z,
                sharedMemBytes: shared_bytes,
                hStream: raw,
                attrs: if list.is_empty() { ptr::null_mut() } else { list.as_mut_ptr() },
                numAttrs: list.len() as c_uint,
            };
            let _one = one_at_a_time();
            // SAFETY: as in `launch`; the attributes are alive during the call.
            let status = unsafe {
                hip_sys::hipDrvLaunchKernelEx(&launch, self.as_raw(), pointers.as_mut_ptr(), ptr::null_mut())
            };
            check(status, "hipDrvLaunchKernelEx", || self.describe(config))
        })
    }
}

/// Attributes of a launch ([`Kernel::launch_with`]).
#[cfg(feature = "rocm-7-0")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchAttributes {
    cooperative: bool,
    priority: Option<i32>,
}

#[cfg(feature = "rocm-7-0")]
impl LaunchAttributes {
    /// Creates a set without attributes.
    #[must_use]
    pub const fn new() -> Self {
        Self { cooperative: false, priority: None }
    }

    /// Sets whether the launch is cooperative (`hipLaunchAttributeCooperative`).
    #[must_use]
    pub const fn cooperative(mut self, cooperative: bool) -> Self {
        self.cooperative = cooperative;
        self
    }

    /// Sets the priority of the launch (`hipLaunchAttributePriority`), as for streams.
    #[must_use]
    pub const fn priority(mut self, priority: i32) -> Self {
        self.priority = Some(priority);
        self
    }

    fn raw(self) -> smallvec::SmallVec<[hip_sys::hipLaunchAttribute; 2]> {
        let attribute = |id, value: i32| {
            let mut attribute = hip_sys::hipLaunchAttribute { id, ..Default::default() };
            attribute.anon_1.val = hip_sys::rocm_7_0::hipLaunchAttributeValue::default();
            // Both attributes are an `int` at the start of the union.
            attribute.anon_1.val.priority = value;
            attribute
        };
        let mut list = smallvec::SmallVec::new();
        if self.cooperative {
            list.push(attribute(hip_sys::hipLaunchAttributeCooperative, 1));
        }
        if let Some(priority) = self.priority {
            list.push(attribute(hip_sys::hipLaunchAttributePriority, priority));
        }
        list
    }
}
