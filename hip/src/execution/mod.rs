//! Execution contexts of ROCm 10.0: parts of a device with streams of their own.

mod resource;
mod stream;

use std::fmt;
use std::ptr;
use std::sync::{Arc, OnceLock};

use hip_sys::{hipDevResource_st, hipExecutionCtx_t};

pub use resource::{ComputeUnits, UnitGroup, UnitSplit, WorkQueues};

use crate::core::call::{check, failed};
use crate::core::context;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::core::later;
use crate::core::per_device::PerDevice;
use crate::stream::ContextInner;
use crate::stream::event::Event;
use crate::stream::recorded::Recorded;

/// The contexts of whole devices, once they were requested.
static OF_DEVICES: PerDevice<OnceLock<Arc<ContextInner>>> = PerDevice::new();

/// A set of compute units of a device, with streams whose kernels run only on these units (`hipExecutionCtx_t`; CUDA's
/// green context).
///
/// Urgent work can get units of its own, so that it need not wait until other work frees some. Streams are created with
/// [`Stream::in_context`](crate::Stream::in_context), and behave like any others. A clone is another handle of the same
/// context, and each stream keeps it: it is destroyed (`hipExecutionCtxDestroy`) after the last of all these.
///
/// ```
/// # fn main() -> hip::Result<()> {
/// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
/// use hip::{Device, DeviceBuffer, Stream, StreamOptions};
/// use hip::execution::{ComputeUnits, ExecutionContext, UnitGroup};
///
/// let device = Device::get(0)?;
/// let all = match ComputeUnits::for_device(&device) {
///     // A runtime older than 10.0.
///     Err(error) if error.status() == Some(hip::Status::SYMBOL_NOT_FOUND) => return Ok(()),
///     units => units?,
/// };
/// let split = all.split(&[UnitGroup::new(all.alignment())])?;
/// println!("{:?} of {all:?}", split.groups[0]);
/// let context = ExecutionContext::new(&split.groups)?;
///
/// let stream = Stream::in_context(&context, StreamOptions::new())?;
/// let mut data = DeviceBuffer::<u32>::uninit(&device, 1000)?;
/// data.fill_async(&stream, 7)?;
/// context.synchronize()?; // waits for all of its streams
/// assert_eq!(stream.compute_units()?.count(), all.alignment());
/// # Ok(()) }
/// ```
#[doc(alias("hipExecutionCtxDestroy", "cudaExecutionCtxDestroy"))]
#[derive(Clone)]
pub struct ExecutionContext {
    inner: Arc<ContextInner>,
}

impl ExecutionContext {
    /// Creates a context of some compute units (`hipDevResourceGenerateDesc`, `hipGreenCtxCreate`): one group of a
    /// split, or several groups of one split. Contexts may share units.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for no units, and for several groups that come from different splits or have different
    /// alignments; [`Error::NoSymbol`] from a runtime before 10.0.
    #[doc(alias("hipDevResourceGenerateDesc", "cuDevResourceGenerateDesc", "cudaDevResourceGenerateDesc"))]
    #[doc(alias("hipGreenCtxCreate", "cuGreenCtxCreate", "cudaGreenCtxCreate"))]
    pub fn new(units: &[ComputeUnits]) -> Result<Self> {
        Self::create(units, None)
    }

    /// Like [`new`](Self::new), with a hint how many of its streams will run concurrently
    /// (`hipDevWorkqueueConfigResource`): the runtime may give them hardware queues of their own.
    ///
    /// # Errors
    /// Those of [`new`](Self::new); [`Error::WrongDevice`] for queues of another device; the runtime's status if it
    /// does not support work queues.
    pub fn with_work_queues(units: &[ComputeUnits], queues: WorkQueues) -> Result<Self> {
        Self::create(units, Some(queues))
    }

    fn create(units: &[ComputeUnits], queues: Option<WorkQueues>) -> Result<Self> {
        let device = ComputeUnits::expect_mergeable(units)?;
        let mut resources: Vec<hipDevResource_st> = units.iter().map(ComputeUnits::to_raw).collect();
        if let Some(queues) = queues {
            device.expect(queues.device(), "the work queues")?;
            resources.push(queues.to_raw());
        }
        let asked = || format!("{units:?} of device {}", device.index());
        device.activate()?;
        let mut description = ptr::null_mut();
        let count = u32::try_from(resources.len()).unwrap_or(u32::MAX);
        // SAFETY: `description` is valid for a write, and there are `count` resources, each returned by the runtime or a valid
        // configuration.
        let status = unsafe { hip_sys::hipDevResourceGenerateDesc(&mut description, resources.as_mut_ptr(), count) };
        check(status, "hipDevResourceGenerateDesc", asked)?;
        let mut raw: hipExecutionCtx_t = ptr::null_mut();
        // SAFETY: `raw` is valid for a write. The description is new, and the context takes it over; 0 is the only flag that HIP defines.
        let status = unsafe { hip_sys::hipGreenCtxCreate(&mut raw, description, device.raw(), 0) };
        check(status, "hipGreenCtxCreate", asked)?;
        Ok(Self { inner: ContextInner::new(raw, device, false, units.len()) })
    }

    /// Returns the context of a whole device (`hipDeviceGetExecutionCtx`). Waiting for it waits for the whole device.
    /// Its other functions apply to the streams that were created [in it](crate::Stream::in_context).
    ///
    /// # Errors
    /// [`Error::NoSymbol`] from a runtime before 10.0.
    #[doc(alias("hipDeviceGetExecutionCtx", "cudaDeviceGetExecutionCtx"))]
    pub fn for_device(device: &Device) -> Result<Self> {
        let known = OF_DEVICES.of(*device);
        if let Some(inner) = known.get() {
            return Ok(Self { inner: Arc::clone(inner) });
        }
        device.activate()?;
        let mut raw: hipExecutionCtx_t = ptr::null_mut();
        // SAFETY: `raw` is valid for a write.
        let status = unsafe { hip_sys::hipDeviceGetExecutionCtx(&mut raw, device.raw()) };
        check(status, "hipDeviceGetExecutionCtx", || format!("device {}", device.index()))?;
        let inner = known.get_or_init(|| ContextInner::new(raw, *device, true, 1));
        Ok(Self { inner: Arc::clone(inner) })
    }

    pub(crate) fn from_inner(inner: Arc<ContextInner>) -> Self {
        Self { inner }
    }

    pub(crate) fn inner(&self) -> &Arc<ContextInner> {
        &self.inner
    }

    /// Returns the device.
    #[must_use]
    pub fn device(&self) -> Device {
        self.inner.device
    }

    /// Returns whether this is the context of the whole device; see [`for_device`](Self::for_device).
    #[must_use]
    pub fn is_device_context(&self) -> bool {
        self.inner.is_primary
    }

    /// Returns the runtime's number of the context, unique in the program (`hipExecutionCtxGetId`).
    #[doc(alias("hipExecutionCtxGetId", "cudaExecutionCtxGetId"))]
    pub fn id(&self) -> Result<u64> {
        context::check_caller()?;
        let mut id = 0;
        // SAFETY: the context is alive; `id` is valid for a write.
        let status = unsafe { hip_sys::hipExecutionCtxGetId(self.inner.raw, &mut id) };
        check(status, "hipExecutionCtxGetId", || self.inner.describe())?;
        Ok(id)
    }

    /// Returns its compute units (`hipExecutionCtxGetDevResource`): the groups that it was made of, which some runtimes
    /// report as one. They can be [split](ComputeUnits::split) further.
    #[doc(alias("hipExecutionCtxGetDevResource", "cudaExecutionCtxGetDevResource"))]
    pub fn compute_units(&self) -> Result<Vec<ComputeUnits>> {
        // One more than the runtime can return; all have the invalid type.
        let mut raw = vec![hipDevResource_st::default(); self.inner.groups + 1];
        self.resources(&mut raw, hip_sys::hipDevResourceTypeSm)?;
        Ok(raw.into_iter().filter_map(|raw| ComputeUnits::from_raw(raw, self.inner.device, 0)).collect())
    }

    /// Returns the [work queues](WorkQueues) that it was created with, or those of the device
    /// (`hipExecutionCtxGetDevResource`).
    ///
    /// # Errors
    /// The runtime's status if it was created without, or if the runtime does not report them
    /// (`hipErrorInvalidResourceType`).
    #[doc(alias("hipExecutionCtxGetDevResource", "cudaExecutionCtxGetDevResource"))]
    pub fn work_queues(&self) -> Result<WorkQueues> {
        let mut raw = [hipDevResource_st::default(); 2];
        self.resources(&mut raw, hip_sys::hipDevResourceTypeWorkqueueConfig)?;
        Ok(WorkQueues::from_raw(&raw[0], self.inner.device))
    }

    /// Fills `raw` with the resources of a type. `raw` must be long enough.
    fn resources(&self, raw: &mut [hipDevResource_st], kind: hip_sys::hipDevResourceType) -> Result<()> {
        context::check_caller()?;
        // SAFETY: the context is alive. The runtime writes as many resources as the context was made of, and `raw` has room for more.
        let status = unsafe { hip_sys::hipExecutionCtxGetDevResource(self.inner.raw, raw.as_mut_ptr(), kind) };
        check(status, "hipExecutionCtxGetDevResource", || format!("{kind:?} of {}", self.inner.describe()))
    }

    /// Blocks until all work queued so far on its streams is done (`hipExecutionCtxSynchronize`). On the context [of
    /// the device](Self::for_device), it waits for all streams of the device.
    ///
    /// # Errors
    /// Errors of that work, as far as the runtime reports them for more than one stream; the others are returned by the
    /// [stream](crate::Stream::synchronize) itself. [`Error::Capture`] while one of its streams is captured.
    #[doc(alias("hipExecutionCtxSynchronize", "cudaExecutionCtxSynchronize"))]
    pub fn synchronize(&self) -> Result<()> {
        let streams = self.inner.free_streams("waiting for its execution context")?;
        self.inner.device.activate()?;
        // Read before the call, so that the call covers these tickets.
        let (over, tickets): (Vec<_>, Vec<_>) =
            streams.iter().map(|stream| (stream.known_over(), stream.issued())).unzip();
        // SAFETY: the context is alive.
        let status = unsafe { hip_sys::hipExecutionCtxSynchronize(self.inner.raw) };
        if status.0 != 0 {
            let asked = || {
                let streams = streams.iter().zip(over).map(|(stream, over)| stream.describe_with_launches("", over));
                let streams: Vec<String> = streams.collect();
                format!("{}: {}", self.inner.describe(), streams.join("; "))
            };
            return Err(failed(status, "hipExecutionCtxSynchronize", asked));
        }
        later::catch_up();
        // Credit every stream, even if another one has an error.
        let credited = streams.iter().zip(tickets).map(|(stream, ticket)| stream.credit(ticket));
        credited.fold(Ok(()), Result::and)
    }

    /// Records an event after all work queued on its streams so far (`hipExecutionCtxRecordEvent`).
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the context has no stream, where HIP would record nothing and return success, and for
    /// an event of another process or other code; [`Error::WrongDevice`]; [`Error::Capture`] while one of its streams
    /// is captured.
    #[doc(alias("hipExecutionCtxRecordEvent", "cudaExecutionCtxRecordEvent"))]
    pub fn record(&self, event: &Event) -> Result<()> {
        self.inner.device.expect(event.device(), "the event")?;
        event.refuse_shared("the event of an execution context")?;
        let streams = self.inner.free_streams("recording an event on its execution context")?;
        if streams.is_empty() {
            return Err(Error::InvalidValue {
                what: "the execution context to record an event on",
                value: "one without streams".to_owned(),
                allowed: "one with a stream".to_owned(),
            });
        }
        self.inner.device.activate()?;
        let mut recorded = event.lock_record()?;
        // Read before the call, so that the event comes after these tickets.
        let tickets = streams.into_iter().map(|stream| {
            let ticket = stream.issued();
            (stream, ticket)
        });
        let moved = Recorded::moved_behind(recorded.as_ref(), tickets.collect());
        // SAFETY: the context and the event are alive, and of one device.
        let status = unsafe { hip_sys::hipExecutionCtxRecordEvent(self.inner.raw, event.raw()) };
        check(status, "hipExecutionCtxRecordEvent", || self.inner.describe())?;
        *recorded = moved;
        Ok(())
    }

    /// Makes all later work on its streams wait for the work that `event` was recorded after
    /// (`hipExecutionCtxWaitEvent`). The host does not wait. The event may be of another device.
    ///
    /// # Errors
    /// [`Error::EventNotRecorded`]; [`Error::Capture`] while one of its streams is captured, and for an event of a
    /// capture.
    #[doc(alias("hipExecutionCtxWaitEvent", "cudaExecutionCtxWaitEvent"))]
    pub fn wait_event(&self, event: &Event) -> Result<()> {
        let recorded = event.recorded_for_host()?;
        let streams = self.inner.free_streams("making its execution context wait")?;
        self.inner.device.activate()?;
        for event in event.told_by(recorded.as_ref()) {
            // SAFETY: the context and the event are alive.
            let status = unsafe { hip_sys::hipExecutionCtxWaitEvent(self.inner.raw, event) };
            check(status, "hipExecutionCtxWaitEvent", || self.inner.describe())?;
        }
        if let Some(recorded) = recorded.filter(|recorded| event.still(recorded)) {
            streams.iter().for_each(|stream| recorded.awaited_by(stream));
        }
        Ok(())
    }

    /// Returns the C handle, for calls of [`hip_sys`] that this crate does not make. The context keeps ownership.
    #[must_use]
    pub fn as_raw(&self) -> hipExecutionCtx_t {
        self.inner.raw
    }
}

impl PartialEq for ExecutionContext {
    /// Returns whether both are handles of one context.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for ExecutionContext {}

impl fmt::Debug for ExecutionContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecutionContext")
            .field("device", &self.inner.device.index())
            .field("raw", &self.inner.raw)
            .finish()
    }
}
