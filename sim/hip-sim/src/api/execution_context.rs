//! Device resources and execution contexts of HIP 10.0.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError};

use hip_sys::rocm_7_2::*;

use super::stream::open_in_context;
use super::{hip_functions, put};
use crate::event::Event;
use crate::execution::{Context, Descriptor, units_of_device};
use crate::queue::Scope;
use crate::runtime::{Runtime, runtime};
use crate::status::{Outcome, Refusal, ensure};
use crate::units::{
    DevResource, GroupParams, INVALID_RESOURCE_CONFIGURATION, INVALID_RESOURCE_TYPE, Split, TYPE_UNITS,
    TYPE_WORK_QUEUES, Units, WorkQueues,
};

/// A `hipDevResourceDesc_t`, which the lowest API level lacks.
type DescriptorHandle = *mut c_void;
/// A `hipExecutionCtx_t`, likewise.
type ContextHandle = *mut c_void;

/// `hipDevSmResourceSplitIgnoreSmCoscheduling`.
const IGNORE_COSCHEDULING: c_uint = 1;
/// `hipDevSmResourceSplitMaxPotentialClusterSize`.
const LARGEST_CLUSTERS: c_uint = 2;

/// The default number of concurrently active streams: the maximum number of hardware queues that AMD's runtime uses.
const HARDWARE_QUEUES: u32 = 4;

/// A number that is unique to a split. A device's own resource has none.
fn new_family() -> u32 {
    static LAST: AtomicU32 = AtomicU32::new(0);
    LAST.fetch_add(1, Ordering::Relaxed).wrapping_add(1).max(1)
}

/// The units that `resource` describes. Refused if the device does not have them.
///
/// # Safety
/// `resource` must be null or valid for a read.
unsafe fn units(runtime: &Runtime, resource: *const DevResource) -> Result<Units, Refusal> {
    ensure(!resource.is_null(), hipErrorInvalidValue)?;
    // SAFETY: not null, hence valid, as the caller vouches; any bytes are a value.
    let units = Units::read(&unsafe { resource.read() })?;
    checked(runtime, units)
}

/// Returns `units` if its device has them.
fn checked(runtime: &Runtime, units: Units) -> Result<Units, Refusal> {
    let device = runtime.devices.get(units.device).ok_or(hipErrorInvalidDevice)?;
    let all = units_of_device(device).set;
    ensure(all.union(&units.set) == all, INVALID_RESOURCE_CONFIGURATION)?;
    Ok(units)
}

/// Writes the parts of a split for the caller.
///
/// # Safety
/// `result` must be valid for writes of one resource per group, `remainder` null or valid for a write.
unsafe fn put_split(split: &Split, result: *mut DevResource, remainder: *mut DevResource) {
    for (index, group) in split.groups.iter().enumerate() {
        // SAFETY: there is room for each group, as the caller vouches.
        unsafe { result.add(index).write(group.write()) };
    }
    let rest = split.remainder.as_ref().map_or(DevResource::none(), Units::write);
    // SAFETY: as the caller vouches.
    unsafe { super::put_if_wanted(remainder, rest) };
}

/// The resources of a context, from a program's list.
fn describe(runtime: &Runtime, resources: &[DevResource]) -> Result<Descriptor, Refusal> {
    let refused = |text: &str| Refusal::new(INVALID_RESOURCE_CONFIGURATION, text);
    let mut all: Option<Units> = None;
    let mut work_queues = None;
    for resource in resources {
        if resource.kind == TYPE_WORK_QUEUES {
            if work_queues.replace(WorkQueues::read(resource)?).is_some() {
                return Err(refused("more than one configuration of work queues"));
            }
            continue;
        }
        let units = checked(runtime, Units::read(resource)?)?;
        all = Some(match all {
            None => units,
            Some(all) if all.device != units.device => return Err(refused("resources of different devices")),
            Some(all) if all.family != units.family || all.alignment != units.alignment => {
                return Err(refused("compute units of different splits, or aligned differently"));
            }
            Some(all) => Units { set: all.set.union(&units.set), ..all },
        });
    }
    let units = all.ok_or_else(|| refused("no compute units"))?;
    if work_queues.is_some_and(|queues| usize::try_from(queues.device) != Ok(units.device)) {
        return Err(refused("work queues of another device than the compute units"));
    }
    Ok(Descriptor { units, work_queues })
}

/// The context behind `handle`.
fn context(runtime: &Runtime, handle: ContextHandle) -> Result<Arc<Context>, Refusal> {
    ensure(!handle.is_null(), hipErrorInvalidValue)?;
    runtime.contexts.get(handle).ok_or_else(|| hipErrorContextIsDestroyed.into())
}

fn event(runtime: &Runtime, handle: hipEvent_t) -> Result<Arc<Event>, Refusal> {
    runtime.events.get(handle.cast()).ok_or_else(|| hipErrorInvalidHandle.into())
}

/// The handle of the device's primary context, the same in every call.
fn primary(runtime: &Runtime, device: usize) -> Result<ContextHandle, Refusal> {
    let mut known = runtime.primary_contexts.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, handle)) = known.iter().find(|(other, _)| *other == device) {
        return Ok(std::ptr::without_provenance_mut(*handle));
    }
    let resources = Descriptor { units: units_of_device(&runtime.devices[device]), work_queues: None };
    let context = Context::new(&runtime.scheduler, device, true, &resources);
    let handle = runtime.contexts.insert(context).ok_or(hipErrorOutOfMemory)?;
    known.push((device, handle.addr()));
    Ok(handle)
}

/// A device's own resource.
fn resource_of_device(runtime: &Runtime, device: usize, kind: c_uint) -> Result<DevResource, Refusal> {
    match kind {
        TYPE_UNITS => Ok(units_of_device(&runtime.devices[device]).write()),
        TYPE_WORK_QUEUES => Ok(WorkQueues { device: device as c_int, limit: HARDWARE_QUEUES, scope: 0 }.write()),
        _ => Err(INVALID_RESOURCE_TYPE.into()),
    }
}

/// Destroys all contexts of a device, on its reset.
pub(crate) fn reset(runtime: &Runtime, device: usize) {
    runtime.primary_contexts.lock().unwrap_or_else(PoisonError::into_inner).retain(|(other, _)| *other != device);
    for context in runtime.contexts.remove_where(|context| context.device == device) {
        context.destroy(&runtime.scheduler);
    }
    runtime.descriptors.remove_where(|descriptor| descriptor.units.device == device);
}

/// Waits for all streams of a context. For a primary context, waits for the whole device.
fn synchronize(runtime: &Runtime, context: &Context) -> Outcome {
    runtime.captures.refuse_unsafe()?;
    context.refuse_captured(&runtime.captures)?;
    runtime.devices[context.device].alive()?;
    if context.is_primary {
        return runtime.synchronize(Scope::Device(context.device));
    }
    let points = context.points(&runtime.scheduler);
    runtime.scheduler.wait(&points);
    // Every stream is queried, so that each failure is reported. The first one is returned.
    let outcomes: Vec<Outcome> = points.into_iter().map(|point| runtime.failure(Scope::Named(point))).collect();
    outcomes.into_iter().collect()
}

/// Writes the mask of the units that a stream's kernels run on.
///
/// # Safety
/// `mask` must be valid for a write of `words` words.
unsafe fn put_mask(runtime: &Runtime, stream: hipStream_t, words: u32, mask: *mut u32) -> Outcome {
    let set = units_of_stream(runtime, stream)?.set;
    for index in 0..words as usize {
        // SAFETY: inside, as the caller vouches.
        unsafe { mask.add(index).write(set.word(index)) };
    }
    Ok(())
}

fn units_of_stream(runtime: &Runtime, stream: hipStream_t) -> Result<Units, Refusal> {
    let target = runtime.target(stream)?;
    let all = || units_of_device(&runtime.devices[target.device]);
    let Some(stream) = runtime.streams.get(stream.cast()) else { return Ok(all()) };
    Ok(match (&stream.context, stream.units) {
        (Some(context), _) => context.units.clone(),
        (None, Some(set)) => Units { set, ..all() },
        (None, None) => all(),
    })
}

hip_functions! {
    fn hipExtStreamCreateWithCUMask(to: *mut hipStream_t, words: u32, mask: *const u32) {
        let runtime = runtime()?;
        ensure(!to.is_null(), hipErrorInvalidHandle)?;
        ensure(words > 0 && !mask.is_null(), hipErrorInvalidValue)?;
        let all = units_of_device(runtime.live_current()?).set;
        let set = all.masked(std::slice::from_raw_parts(mask, words as usize));
        // A mask that selects no unit is ignored.
        super::stream::create(to, hipStreamDefault, 0, Some(set).filter(|set| set.count() > 0))
    }

    fn hipExtStreamGetCUMask(stream: hipStream_t, words: u32, mask: *mut u32) {
        let runtime = runtime()?;
        let needed = units_of_device(&runtime.devices[runtime.target(stream)?.device]).set.count().div_ceil(32);
        ensure(!mask.is_null() && words >= needed, hipErrorInvalidValue)?;
        put_mask(runtime, stream, words, mask)
    }

    since:

    fn hipDeviceGetDevResource(device: c_int, resource: *mut DevResource, kind: c_uint) {
        let runtime = runtime()?;
        ensure(!resource.is_null(), hipErrorInvalidValue)?;
        let device = runtime.device(device)?;
        put(resource, resource_of_device(runtime, device.ordinal, kind)?)
    }

    fn hipDevSmResourceSplitByCount(
        result: *mut DevResource, groups: *mut c_uint, input: *const DevResource, remainder: *mut DevResource,
        flags: c_uint, least: c_uint,
    ) {
        let runtime = runtime()?;
        ensure(!groups.is_null() && !input.is_null(), hipErrorInvalidValue)?;
        ensure(flags & !(IGNORE_COSCHEDULING | LARGEST_CLUSTERS) == 0, hipErrorInvalidValue)?;
        // As in AMD's runtime. There are no clusters, so the largest cluster size is 1.
        ensure(flags & IGNORE_COSCHEDULING == 0, hipErrorNotSupported)?;
        let input = units(runtime, input)?;
        if result.is_null() {
            return put(groups, input.even_groups(least));
        }
        let split = input.split_evenly(groups.read(), least, new_family());
        put(groups, split.groups.len() as c_uint)?;
        put_split(&split, result, remainder);
        Ok(())
    }

    fn hipDevSmResourceSplit(
        result: *mut DevResource, groups: c_uint, input: *const DevResource, remainder: *mut DevResource,
        flags: c_uint, params: *mut GroupParams,
    ) {
        let runtime = runtime()?;
        ensure(!input.is_null() && !params.is_null() && groups > 0, hipErrorInvalidValue)?;
        ensure(flags == 0, hipErrorInvalidValue)?;
        let input = units(runtime, input)?;
        let params = std::slice::from_raw_parts_mut(params, groups as usize);
        let split = input.split(params, result.is_null(), new_family())?;
        if !result.is_null() {
            put_split(&split, result, remainder);
        }
        Ok(())
    }

    fn hipDevResourceGenerateDesc(
        descriptor: *mut DescriptorHandle, resources: *mut DevResource, count: c_uint,
    ) {
        let runtime = runtime()?;
        ensure(!descriptor.is_null() && !resources.is_null() && count > 0, hipErrorInvalidValue)?;
        let resources = describe(runtime, std::slice::from_raw_parts(resources, count as usize))?;
        put(descriptor, runtime.descriptors.insert(resources).ok_or(hipErrorOutOfMemory)?)
    }

    fn hipGreenCtxCreate(to: *mut ContextHandle, descriptor: DescriptorHandle, device: c_int, flags: c_uint) {
        let runtime = runtime()?;
        ensure(!to.is_null() && !descriptor.is_null() && flags == 0, hipErrorInvalidValue)?;
        let device = runtime.device(device)?;
        let resources = runtime.descriptors.get(descriptor).ok_or(hipErrorInvalidValue)?;
        ensure(resources.units.device == device.ordinal, hipErrorInvalidDevice)?;
        // The context owns the descriptor from now on: AMD's runtime frees it with the context.
        let resources = runtime.descriptors.remove(descriptor).ok_or(hipErrorInvalidValue)?;
        let context = Context::new(&runtime.scheduler, device.ordinal, false, &resources);
        put(to, runtime.contexts.insert(context).ok_or(hipErrorOutOfMemory)?)
    }

    fn hipExecutionCtxDestroy(handle: ContextHandle) {
        let runtime = runtime()?;
        ensure(!context(runtime, handle)?.is_primary, hipErrorInvalidValue)?;
        runtime.contexts.remove(handle).ok_or(hipErrorContextIsDestroyed)?.destroy(&runtime.scheduler);
        Ok(())
    }

    fn hipDeviceGetExecutionCtx(to: *mut ContextHandle, device: c_int) {
        let runtime = runtime()?;
        ensure(!to.is_null(), hipErrorInvalidValue)?;
        let device = runtime.device(device)?;
        put(to, primary(runtime, device.ordinal)?)
    }

    fn hipExecutionCtxStreamCreate(to: *mut hipStream_t, handle: ContextHandle, flags: c_uint, priority: c_int) {
        let runtime = runtime()?;
        ensure(!to.is_null(), hipErrorInvalidValue)?;
        let context = context(runtime, handle)?;
        // Both create a non-blocking stream here.
        ensure(flags == hipStreamDefault || flags == hipStreamNonBlocking, hipErrorInvalidValue)?;
        put(to, open_in_context(runtime, &context, priority)?)
    }

    fn hipExecutionCtxGetDevResource(handle: ContextHandle, resource: *mut DevResource, kind: c_uint) {
        let runtime = runtime()?;
        ensure(!resource.is_null(), hipErrorInvalidValue)?;
        let context = context(runtime, handle)?;
        let found = match kind {
            TYPE_UNITS => Some(context.units.write()),
            TYPE_WORK_QUEUES if context.is_primary => Some(resource_of_device(runtime, context.device, kind)?),
            TYPE_WORK_QUEUES => context.work_queues.map(|queues| queues.write()),
            _ => None,
        };
        put(resource, found.ok_or(INVALID_RESOURCE_TYPE)?)
    }

    fn hipExecutionCtxGetDevice(device: *mut c_int, handle: ContextHandle) {
        ensure(!device.is_null(), hipErrorInvalidValue)?;
        put(device, context(runtime()?, handle)?.device as c_int)
    }

    fn hipExecutionCtxGetId(handle: ContextHandle, id: *mut c_ulonglong) {
        ensure(!id.is_null(), hipErrorInvalidValue)?;
        put(id, context(runtime()?, handle)?.id)
    }

    fn hipExecutionCtxSynchronize(handle: ContextHandle) {
        let runtime = runtime()?;
        synchronize(runtime, &*context(runtime, handle)?)
    }

    fn hipExecutionCtxRecordEvent(handle: ContextHandle, recorded: hipEvent_t) {
        let runtime = runtime()?;
        context(runtime, handle)?.record(&runtime.scheduler, &runtime.captures, &*event(runtime, recorded)?)
    }

    fn hipExecutionCtxWaitEvent(handle: ContextHandle, awaited: hipEvent_t) {
        let runtime = runtime()?;
        let context = context(runtime, handle)?;
        let event = event(runtime, awaited)?;
        ensure(event.mark.lock().unwrap_or_else(PoisonError::into_inner).is_none(), hipErrorCapturedEvent)?;
        let latest = event.latest();
        latest.map_or(Ok(()), |record| context.wait(&runtime.scheduler, &runtime.captures, record.point))
    }

    fn hipStreamGetDevResource(stream: hipStream_t, resource: *mut DevResource, kind: c_uint) {
        let runtime = runtime()?;
        ensure(!resource.is_null(), hipErrorInvalidValue)?;
        ensure(kind == TYPE_UNITS, INVALID_RESOURCE_TYPE)?;
        put(resource, units_of_stream(runtime, stream)?.write())
    }
}
