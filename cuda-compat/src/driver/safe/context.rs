//! Contexts: one for each device.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use super::waits::{apart_from_captures, wait_for_default_stream, wait_for_device};
use crate::driver::result::{self, DriverError};
use crate::driver::sys;

/// A device, and its settings in this program.
///
/// Methods make the device current in the thread that calls them. All types of this module hold an `Arc` of the
/// context.
#[derive(Debug)]
pub struct CudaContext {
    device: sys::CUdevice,
    raw: sys::CUcontext,
    ordinal: usize,
    has_async_alloc: bool,
    is_primary: bool,
    /// Number of streams other than the default ones.
    streams: AtomicUsize,
    event_tracking: AtomicBool,
    /// The status of an error that could not be returned.
    error: AtomicU32,
}

// SAFETY: a context of HIP is a handle to a device, which every thread can use.
unsafe impl Send for CudaContext {}
// SAFETY: as above; mutable state is atomic.
unsafe impl Sync for CudaContext {}

impl PartialEq for CudaContext {
    fn eq(&self, other: &Self) -> bool {
        (self.device, self.raw, self.ordinal) == (other.device, other.raw, other.ordinal)
    }
}

impl Eq for CudaContext {}

impl Drop for CudaContext {
    fn drop(&mut self) {
        // `drop` cannot return errors.
        let _ = self.bind_to_thread();
        let _ = match self.is_primary {
            // SAFETY: `new` has retained it.
            true => unsafe { result::primary_ctx::release(self.device) },
            // SAFETY: this value owns the context, and no type that holds it is left.
            false => unsafe { result::ctx::destroy(self.raw) },
        };
    }
}

impl CudaContext {
    /// Opens the device with this index, from 0, and makes it current.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_DEVICE` if there is no such device, `CUDA_ERROR_NO_DEVICE` if there is none at all,
    /// `CUDA_ERROR_SHARED_OBJECT_INIT_FAILED` if HIP is not installed; its message contains the paths that were tried.
    #[doc(alias("cuDevicePrimaryCtxRetain", "hipDevicePrimaryCtxRetain"))]
    pub fn new(ordinal: usize) -> Result<Arc<Self>, DriverError> {
        let device = Self::device(ordinal)?;
        // SAFETY: the device was just found.
        let raw = unsafe { result::primary_ctx::retain(device) }?;
        Self::with(ordinal, device, raw, true)
    }

    /// Opens the device with a separate handle. HIP has one context for each device, so memory and streams are those of
    /// [`new`](Self::new).
    ///
    /// # Errors
    /// The errors of [`new`](Self::new), and the status of `hipCtxCreate`.
    #[doc(alias("cuCtxCreate", "hipCtxCreate"))]
    pub fn new_non_primary(ordinal: usize, flags: u32) -> Result<Arc<Self>, DriverError> {
        let device = Self::device(ordinal)?;
        // SAFETY: the device was just found.
        let raw = unsafe { result::ctx::create_v3(flags, device) }?;
        Self::with(ordinal, device, raw, false)
    }

    /// Takes ownership of a context of other code.
    ///
    /// # Errors
    /// A status of HIP.
    ///
    /// # Safety
    /// `cu_ctx` must be a context of `cu_device`. It is destroyed with the last `Arc`.
    pub unsafe fn from_raw_context(
        ordinal: usize,
        cu_device: sys::CUdevice,
        cu_ctx: sys::CUcontext,
    ) -> Result<Arc<Self>, DriverError> {
        Self::with(ordinal, cu_device, cu_ctx, false)
    }

    fn device(ordinal: usize) -> Result<sys::CUdevice, DriverError> {
        result::init()?;
        let ordinal = i32::try_from(ordinal).map_err(|_| DriverError(sys::CUresult::CUDA_ERROR_INVALID_DEVICE))?;
        result::device::get(ordinal)
    }

    fn with(
        ordinal: usize,
        device: sys::CUdevice,
        raw: sys::CUcontext,
        is_primary: bool,
    ) -> Result<Arc<Self>, DriverError> {
        let pools = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED;
        let context = Arc::new(Self {
            device,
            raw,
            ordinal,
            // SAFETY: the caller's device.
            has_async_alloc: unsafe { result::device::get_attribute(device, pools) }? > 0,
            is_primary,
            streams: AtomicUsize::new(0),
            event_tracking: AtomicBool::new(true),
            error: AtomicU32::new(0),
        });
        context.bind_to_thread()?;
        Ok(context)
    }

    /// Returns whether it was opened by [`new`](Self::new).
    pub fn is_primary(&self) -> bool {
        self.is_primary
    }

    /// Returns whether the device supports stream-ordered allocation.
    pub fn has_async_alloc(&self) -> bool {
        self.has_async_alloc
    }

    /// Returns the number of devices.
    ///
    /// # Errors
    /// `CUDA_ERROR_NO_DEVICE` if there is none; `CUDA_ERROR_SHARED_OBJECT_INIT_FAILED` if HIP is not installed.
    pub fn device_count() -> Result<i32, DriverError> {
        result::init()?;
        result::device::get_count()
    }

    /// Returns the index of the device.
    pub fn ordinal(&self) -> usize {
        self.ordinal
    }

    /// Returns the name of the device.
    ///
    /// # Errors
    /// A status of HIP, or an earlier error ([`check_err`](Self::check_err)).
    pub fn name(&self) -> Result<String, DriverError> {
        self.check_err()?;
        result::device::get_name(self.device)
    }

    /// Returns the UUID of the device.
    ///
    /// # Errors
    /// A status of HIP, or an earlier error ([`check_err`](Self::check_err)).
    pub fn uuid(&self) -> Result<sys::CUuuid, DriverError> {
        self.check_err()?;
        result::device::get_uuid(self.device)
    }

    /// Returns the compute capability that programs see: [`COMPUTE_CAPABILITY`](crate::device::COMPUTE_CAPABILITY).
    ///
    /// # Errors
    /// A status of HIP, or an earlier error ([`check_err`](Self::check_err)).
    pub fn compute_capability(&self) -> Result<(i32, i32), DriverError> {
        Ok((
            self.attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            self.attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ))
    }

    /// Returns the size of the device's memory, in bytes.
    ///
    /// # Errors
    /// A status of HIP, or an earlier error ([`check_err`](Self::check_err)).
    pub fn total_mem(&self) -> Result<usize, DriverError> {
        self.check_err()?;
        // SAFETY: the device belongs to this context.
        unsafe { result::device::total_mem(self.device) }
    }

    /// Returns the free and the total memory of the device, in bytes.
    ///
    /// # Errors
    /// A status of HIP, or an earlier error ([`check_err`](Self::check_err)).
    pub fn mem_get_info(&self) -> Result<(usize, usize), DriverError> {
        self.bind_to_thread()?;
        result::mem_get_info()
    }

    /// Returns the handle of the device.
    pub fn cu_device(&self) -> sys::CUdevice {
        self.device
    }

    /// Returns the handle of the context.
    pub fn cu_ctx(&self) -> sys::CUcontext {
        self.raw
    }

    /// Makes the device current in this thread.
    ///
    /// # Errors
    /// A status of HIP, or an earlier error ([`check_err`](Self::check_err)).
    pub fn bind_to_thread(&self) -> Result<(), DriverError> {
        self.check_err()?;
        self.set_current()
    }

    /// Makes the device current in this thread. An earlier error is kept for [`check_err`](Self::check_err).
    pub(super) fn set_current(&self) -> Result<(), DriverError> {
        if result::ctx::get_current()? != Some(self.raw) {
            // SAFETY: the context is alive.
            unsafe { result::ctx::set_current(self.raw) }?;
        }
        Ok(())
    }

    /// Makes a call that waits or orders streams, and then returns an earlier error: memory is freed after such calls,
    /// so an error must not skip them.
    pub(super) fn in_any_case(&self, call: impl FnOnce() -> Result<(), DriverError>) -> Result<(), DriverError> {
        let earlier = self.check_err();
        let done = self.set_current().and_then(|()| call());
        if earlier.is_ok() {
            return done;
        }
        self.record_err(done);
        earlier
    }

    /// As [`set_current`](Self::set_current), for a call of a library with its own statuses.
    /// [`check_err`](Self::check_err) returns the reason of a failure.
    #[allow(dead_code, reason = "of the features for libraries")]
    pub(crate) fn make_current<E>(&self, failed: E) -> Result<(), E> {
        self.set_current().map_err(|reason| {
            self.record_err(Err::<(), _>(reason));
            failed
        })
    }

    /// Creates an object of a library on this device. Libraries wait for the device then, which ends captures: so this
    /// waits until no other thread captures a stream.
    ///
    /// # Errors
    /// The error of `create`; `failed` if the device cannot be made current: [`check_err`](Self::check_err) returns the
    /// reason.
    #[allow(dead_code, reason = "of the features for libraries")]
    pub(crate) fn create_apart<R, E>(&self, failed: E, create: impl FnOnce() -> Result<R, E>) -> Result<R, E> {
        self.make_current(failed)?;
        self.prepare_pools();
        apart_from_captures(create)
    }

    /// Called before memory is taken from the device's pool, by this crate or by a library: see
    /// [`prepare_pools`](hip::interop::prepare_pools).
    pub(super) fn prepare_pools(&self) {
        // If it fails, the allocation is made all the same, and returns the reason if that matters to it.
        let _ = hip::Device::get(self.ordinal).and_then(|device| hip::interop::prepare_pools(&device));
    }

    /// Returns an attribute of the device.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if HIP does not support it; an earlier error ([`check_err`](Self::check_err)).
    pub fn attribute(&self, attrib: sys::CUdevice_attribute) -> Result<i32, DriverError> {
        self.check_err()?;
        // SAFETY: the device belongs to this context.
        unsafe { result::device::get_attribute(self.device, attrib) }
    }

    /// Blocks until all work of the device is done.
    ///
    /// # Errors
    /// An error of that work, or an earlier one ([`check_err`](Self::check_err)); the work is done in either case.
    /// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED` if this thread captures a stream; captures of other threads are waited
    /// for.
    pub fn synchronize(&self) -> Result<(), DriverError> {
        self.in_any_case(wait_for_device)
    }

    /// Makes the host sleep while it waits for the device.
    ///
    /// # Errors
    /// A status of HIP, or an earlier error ([`check_err`](Self::check_err)).
    pub fn set_blocking_synchronize(&self) -> Result<(), DriverError> {
        self.set_flags(sys::CUctx_flags::CU_CTX_SCHED_BLOCKING_SYNC)
    }

    /// Sets how the host waits for the device.
    ///
    /// # Errors
    /// A status of HIP, or an earlier error ([`check_err`](Self::check_err)).
    pub fn set_flags(&self, flags: sys::CUctx_flags) -> Result<(), DriverError> {
        self.bind_to_thread()?;
        result::ctx::set_flags(flags)
    }

    /// Returns a limit.
    ///
    /// # Errors
    /// A status of HIP, or an earlier error ([`check_err`](Self::check_err)).
    pub fn get_limit(&self, limit: sys::CUlimit) -> Result<usize, DriverError> {
        self.bind_to_thread()?;
        result::ctx::get_limit(limit)
    }

    /// Sets a limit.
    ///
    /// # Errors
    /// A status of HIP, or an earlier error ([`check_err`](Self::check_err)).
    pub fn set_limit(&self, limit: sys::CUlimit, value: usize) -> Result<(), DriverError> {
        self.bind_to_thread()?;
        result::ctx::set_limit(limit, value)
    }

    /// Returns the preference for caches or shared memory.
    ///
    /// # Errors
    /// A status of HIP, or an earlier error ([`check_err`](Self::check_err)).
    pub fn get_cache_config(&self) -> Result<sys::CUfunc_cache, DriverError> {
        self.bind_to_thread()?;
        result::ctx::get_cache_config()
    }

    /// Sets the preference for caches or shared memory, which AMD GPUs ignore.
    ///
    /// # Errors
    /// A status of HIP, or an earlier error ([`check_err`](Self::check_err)).
    pub fn set_cache_config(&self, config: sys::CUfunc_cache) -> Result<(), DriverError> {
        self.bind_to_thread()?;
        result::ctx::set_cache_config(config)
    }

    /// Returns whether a stream other than the default ones exists.
    pub fn is_in_multi_stream_mode(&self) -> bool {
        self.streams.load(Ordering::Relaxed) > 0
    }

    /// Returns whether new slices have events for their uses.
    pub fn is_event_tracking(&self) -> bool {
        self.event_tracking.load(Ordering::Relaxed)
    }

    /// Returns whether work waits for work of other streams that uses the same slices.
    pub fn is_managing_stream_synchronization(&self) -> bool {
        self.is_in_multi_stream_mode() && self.is_event_tracking()
    }

    /// Gives new slices events for their uses again.
    ///
    /// # Safety
    /// Slices that were made before have no events: the caller must order their uses.
    pub unsafe fn enable_event_tracking(&self) {
        self.event_tracking.store(true, Ordering::Relaxed);
    }

    /// Disables the ordering between streams that use the same slices.
    ///
    /// # Safety
    /// The caller must order the uses of slices on several streams.
    pub unsafe fn disable_event_tracking(&self) {
        self.event_tracking.store(false, Ordering::Relaxed);
    }

    /// Returns and clears the last error that a method or a `Drop` could not return.
    ///
    /// # Errors
    /// That error.
    pub fn check_err(&self) -> Result<(), DriverError> {
        sys::CUresult(self.error.swap(0, Ordering::Relaxed)).result()
    }

    /// Keeps an error for [`check_err`](Self::check_err).
    pub fn record_err<T>(&self, result: Result<T, DriverError>) {
        if let Err(error) = result {
            self.error.store(error.0.0, Ordering::Relaxed);
        }
    }

    /// Counts a new stream. Before the first, this waits for the work of the default stream, so that its slices need no
    /// ordering.
    pub(super) fn add_stream(&self) -> Result<(), DriverError> {
        let is_first = self.streams.fetch_add(1, Ordering::Relaxed) == 0;
        match is_first && self.is_event_tracking() {
            true => self.in_any_case(|| wait_for_device().or_else(|_| wait_for_default_stream())),
            false => Ok(()),
        }
    }

    /// Counts a stream that is dropped.
    pub(super) fn remove_stream(&self) {
        self.streams.fetch_sub(1, Ordering::Relaxed);
    }
}
