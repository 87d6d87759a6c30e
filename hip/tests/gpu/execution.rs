//! Execution contexts and compute units.

use std::sync::mpsc;
use std::thread;

use hip::execution::{ComputeUnits, ExecutionContext, UnitGroup, WorkQueues};
use hip::{Device, DeviceBuffer, Error, Event, LaunchConfig, Status, Stream, StreamOptions};

use super::peer::two;
use super::{device, in_child, is_child, kernel, skipped, supported};

/// Returns a device's units, if the runtime supports execution contexts.
fn all() -> Option<(Device, ComputeUnits)> {
    let device = device()?;
    let units = supported(ComputeUnits::for_device(&device))?;
    Some((device, units))
}

/// Returns a context with the minimum number of units, and its device.
fn context() -> Option<(Device, ExecutionContext)> {
    let (device, all) = all()?;
    let split = all.split(&[UnitGroup::new(all.min_part().max(all.alignment()))]).unwrap();
    Some((device, ExecutionContext::new(&split.groups).unwrap()))
}

fn stream(context: &ExecutionContext) -> Stream {
    Stream::in_context(context, StreamOptions::new()).unwrap()
}

/// Runs a test in a process whose device has 8 compute units.
fn with_eight_units(test: &str) -> bool {
    if !is_child() {
        in_child(&format!("execution::{test}"), &[("HIP_SIM_THREADS", "8")]);
    }
    is_child()
}

/// Mask of the units of a stream.
fn mask(stream: &Stream) -> u64 {
    stream.cu_mask().unwrap().iter().enumerate().map(|(n, word)| u64::from(*word) << (32 * n)).sum()
}

#[test]
fn a_device_tells_its_units_as_its_properties_do() {
    let Some((device, all)) = all() else { return };
    assert_eq!(all.device(), device);
    assert!(all.count() <= device.properties().unwrap().compute_units);
    assert!(all.count() >= all.min_part() && all.min_part() >= 1 && all.alignment() >= 1);
    // A stream without a context has all units.
    let plain = Stream::new(&device).unwrap();
    assert_eq!(plain.compute_units().unwrap().count(), all.count());
    assert_eq!(device.default_stream().compute_units().unwrap().count(), all.count());
    assert!(plain.execution_context().is_none());
}

#[test]
fn splits_are_disjoint_whole_and_as_asked() {
    if !with_eight_units("splits_are_disjoint_whole_and_as_asked") {
        return;
    }
    let Some((device, all)) = all() else { return };
    assert_eq!(all.count(), 8);
    let split = all.split(&[UnitGroup::new(2), UnitGroup::new(4)]).unwrap();
    let counts: Vec<u32> = split.groups.iter().map(ComputeUnits::count).collect();
    assert_eq!((counts, split.remainder.as_ref().map(ComputeUnits::count)), (vec![2, 4], Some(2)));
    let mut used = 0;
    for (units, bits) in split.groups.iter().chain(&split.remainder).zip([2, 4, 2]) {
        let context = ExecutionContext::new(std::slice::from_ref(units)).unwrap();
        let stream = stream(&context);
        let mask = mask(&stream);
        assert_eq!((mask.count_ones(), mask & used), (bits, 0), "{units:?}: {mask:#x}");
        assert_eq!(stream.compute_units().unwrap().count(), bits);
        used |= mask;
    }
    assert_eq!(used, 0xff);

    assert_eq!(all.max_groups(3).unwrap(), 2);
    let even = all.split_evenly(5, 3).unwrap();
    assert_eq!((even.groups.len(), even.groups[0].count()), (2, 3));
    assert_eq!(even.remainder.unwrap().count(), 2);
    assert!(all.split_evenly(u32::MAX, 1).unwrap().remainder.is_none());
    let rest = all.split(&[UnitGroup::new(3).backfill(true), UnitGroup::remaining()]).unwrap();
    assert_eq!((rest.groups[1].count(), rest.remainder.is_none()), (5, true));

    // Several groups of one split together, and their units split again.
    let pieces = all.split_evenly(4, 2).unwrap().groups;
    let context = ExecutionContext::new(&[pieces[0].clone(), pieces[3].clone()]).unwrap();
    let units = context.compute_units().unwrap();
    assert_eq!(units.iter().map(ComputeUnits::count).sum::<u32>(), 4);
    assert_eq!(mask(&stream(&context)), 0b1100_0011);
    let again = units[0].split(&[UnitGroup::new(1)]).unwrap();
    assert_eq!(mask(&stream(&ExecutionContext::new(&again.groups).unwrap())), 1);
    assert_eq!(device, context.device());
}

#[test]
fn splits_that_cannot_be_are_refused_before_the_call() {
    let Some((_, all)) = all() else { return };
    let count = all.count();
    let refused = |result: hip::Result<hip::execution::UnitSplit>| {
        let error = result.unwrap_err();
        assert!(matches!(error, Error::InvalidValue { .. }), "{error}");
    };
    refused(all.split(&[]));
    refused(all.split(&[UnitGroup::new(0)]));
    refused(all.split(&[UnitGroup::new(count + all.alignment())]));
    refused(all.split(&[UnitGroup::new(u32::MAX).backfill(true)]));
    refused(all.split(&[UnitGroup::new(count).backfill(true), UnitGroup::new(1).backfill(true)]));
    refused(all.split(&[UnitGroup::new(1).coscheduled(2)]));
    refused(all.split_evenly(0, 1));
    refused(all.split_evenly(1, 0));
    refused(all.split_evenly(1, count + 1));
    assert!(matches!(all.max_groups(count + 1), Err(Error::InvalidValue { .. })));
    let parts = all.split_evenly(1, 1).unwrap().groups;
    refused(parts[0].split(&[UnitGroup::remaining()]));
    refused(parts[0].split_evenly(1, 1));

    let of = |units: &[ComputeUnits]| ExecutionContext::new(units).unwrap_err();
    assert!(matches!(of(&[]), Error::InvalidValue { .. }));
    let others = all.split_evenly(1, 1).unwrap().groups;
    assert!(matches!(of(&[parts[0].clone(), others[0].clone()]), Error::InvalidValue { .. }), "of two splits");
    assert!(matches!(of(&[all.clone(), all.clone()]), Error::InvalidValue { .. }), "of no split");
    // Only the runtime can detect that no units are left.
    let nothing = all.split(&[UnitGroup::remaining(), UnitGroup::remaining()]).unwrap_err();
    assert_eq!(nothing.status(), Some(Status(hip::sys::hipErrorInvalidResourceConfiguration.0)), "{nothing}");
}

#[test]
fn a_context_has_a_number_its_units_and_streams_that_keep_it() {
    let Some((device, context)) = context() else { return };
    let Some((_, other)) = self::context() else { return };
    assert_ne!(context.id().unwrap(), other.id().unwrap());
    assert_eq!(context.id().unwrap(), context.clone().id().unwrap());
    let count = context.compute_units().unwrap()[0].count();
    let stream = stream(&context);
    assert_eq!(stream.execution_context(), Some(context.clone()));
    assert!(!stream.is_blocking().unwrap());
    drop((context, other));
    // Only the stream keeps the context.
    let mut data = DeviceBuffer::<u32>::zeroed(&device, 100).unwrap();
    data.fill_async(&stream, 3).unwrap();
    assert_eq!(stream.compute_units().unwrap().count(), count);
    assert_eq!(stream.execution_context().unwrap().compute_units().unwrap()[0].count(), count);
    drop(stream);
    assert_eq!(data.to_vec().unwrap(), [3; 100]);
}

#[test]
fn kernels_run_on_the_streams_of_contexts_as_on_any_and_buffers_are_put_in_order() {
    let Some((device, context)) = context() else { return };
    let Some(add) = kernel("add_in_place") else { return };
    let (first, second) = (stream(&context), Stream::new(&device).unwrap());
    let mut data = DeviceBuffer::from_slice(&device, &[1i32; 512]).unwrap();
    for round in 0..10 {
        let stream = if round % 2 == 0 { &first } else { &second };
        // SAFETY: adds to 512 elements.
        unsafe { add.launch(stream, LaunchConfig::for_elements(512, 64), (&mut data, round, 512u32)).unwrap() };
    }
    assert_eq!(data.to_vec().unwrap(), [46; 512]);
}

/// Blocks a stream until the sender sends or is dropped.
fn hold(stream: &Stream) -> mpsc::Sender<()> {
    let (go, wait) = mpsc::channel::<()>();
    stream
        .launch_host_function(move || {
            let _ = wait.recv();
        })
        .unwrap();
    go
}

#[test]
fn an_event_of_a_context_stands_behind_all_of_its_streams() {
    let Some((device, context)) = context() else { return };
    let event = Event::new(&device).unwrap();
    let none = context.record(&event).unwrap_err();
    assert!(matches!(none, Error::InvalidValue { .. }), "no stream yet: {none}");
    assert!(matches!(context.wait_event(&event), Err(Error::EventNotRecorded)));

    let (first, second) = (stream(&context), stream(&context));
    let (go_first, go_second) = (hold(&first), hold(&second));
    context.record(&event).unwrap();
    assert!(!event.is_complete().unwrap());
    drop(go_first);
    first.synchronize().unwrap();
    assert!(!event.is_complete().unwrap(), "the second is still held up");
    drop(go_second);
    event.synchronize().unwrap();
    assert!(second.is_idle().unwrap());
}

#[test]
fn a_context_waits_for_an_event_with_all_of_its_streams() {
    let Some((device, context)) = context() else { return };
    let (first, second, outside) = (stream(&context), stream(&context), Stream::new(&device).unwrap());
    let go = hold(&outside);
    let event = outside.record().unwrap();
    context.wait_event(&event).unwrap();
    let after = [first.record().unwrap(), second.record().unwrap()];
    // On hip-sim, later streams wait too, as CUDA documents.
    let late = device.is_simulated().then(|| stream(&context).record().unwrap());
    // None is over while the other stream is blocked, at any time. The pause makes it likelier to detect one that does not wait.
    thread::sleep(std::time::Duration::from_millis(20));
    let early: Vec<bool> = after.iter().chain(&late).map(|event| event.is_complete().unwrap()).collect();
    drop(go);
    assert!(!early.contains(&true), "{early:?}");
    context.synchronize().unwrap();
    assert!(after.iter().all(|event| event.is_complete().unwrap()) && event.is_complete().unwrap());
}

#[test]
fn waiting_for_a_context_waits_for_its_streams_and_no_others() {
    let Some((device, context)) = context() else { return };
    let (own, outside) = (stream(&context), Stream::new(&device).unwrap());
    let held = hold(&outside);
    let mut data = DeviceBuffer::<u32>::zeroed(&device, 1 << 16).unwrap();
    data.fill_async(&own, 9).unwrap();
    context.synchronize().unwrap();
    let idle = (own.is_idle().unwrap(), outside.is_idle().unwrap());
    drop(held);
    assert_eq!(idle, (true, false));

    let primary = ExecutionContext::for_device(&device).unwrap();
    assert_eq!(primary, ExecutionContext::for_device(&device).unwrap());
    assert!(primary.is_device_context() && !context.is_device_context());
    assert_eq!(primary.compute_units().unwrap()[0].count(), ComputeUnits::for_device(&device).unwrap().count());
    let stream = stream(&primary);
    let event = Event::new(&device).unwrap();
    primary.record(&event).unwrap();
    primary.wait_event(&event).unwrap();
    primary.synchronize().unwrap();
    // The stream itself may be waiting again: other tests share the device's context.
    assert!(outside.is_idle().unwrap() && event.is_complete().unwrap());
    drop(stream);
}

#[test]
fn what_went_wrong_on_a_stream_comes_back_from_its_context() {
    let Some((_, context)) = context() else { return };
    let (bad, good) = (stream(&context), stream(&context));
    bad.launch_host_function(|| panic!("as the test asks")).unwrap();
    good.launch_host_function(|| {}).unwrap();
    let error = context.synchronize().unwrap_err();
    assert!(matches!(&error, Error::HostFunctionPanicked { message } if message == "as the test asks"), "{error}");
    context.synchronize().unwrap();
    good.synchronize().unwrap();
}

#[test]
fn options_that_contexts_do_not_have_are_refused() {
    let Some((device, context)) = context() else { return };
    let blocking = Stream::in_context(&context, StreamOptions::new().blocking(true)).unwrap_err();
    assert!(matches!(blocking, Error::InvalidValue { .. }), "{blocking}");
    let priorities = device.stream_priority_range().unwrap();
    let beyond = Stream::in_context(&context, StreamOptions::new().priority(priorities.end() + 1)).unwrap_err();
    assert!(matches!(beyond, Error::InvalidValue { .. }), "{beyond}");
    let high = Stream::in_context(&context, StreamOptions::new().priority(*priorities.start())).unwrap();
    assert_eq!(high.priority().unwrap(), *priorities.start());

    let stream = stream(&context);
    let event = Event::new(&device).unwrap();
    let captured = stream.capture(|_| {
        let results = [context.synchronize(), context.record(&event), context.wait_event(&high.record()?)];
        assert!(results.iter().all(|result| matches!(result, Err(Error::Capture { .. }))), "{results:?}");
        Ok(())
    });
    supported(captured);
}

#[test]
fn an_event_of_another_device_is_refused() {
    let Some((_, second)) = two("execution::an_event_of_another_device_is_refused") else { return };
    let Some((_, context)) = context() else { return };
    let elsewhere = Event::new(&second).unwrap();
    assert!(matches!(context.record(&elsewhere), Err(Error::WrongDevice { .. })));
}

#[test]
fn work_queues_are_a_hint_that_a_context_tells_again() {
    let Some((device, all)) = all() else { return };
    let queues = WorkQueues::new(device, 3).balanced(true);
    let part = all.split_evenly(1, 1).unwrap().groups;
    let context = match ExecutionContext::with_work_queues(&part, queues) {
        // In ROCm 10.0's first releases, only the header has them.
        Err(error) if error.status() == Some(Status(hip::sys::hipErrorInvalidResourceType.0)) => {
            return skipped(&error);
        }
        context => context.unwrap(),
    };
    assert_eq!(context.work_queues().unwrap(), queues);
    assert!(WorkQueues::for_device(&device).unwrap().concurrency() > 0);
    let without = ExecutionContext::new(&part).unwrap();
    assert!(without.work_queues().is_err());
}

#[test]
fn a_destroyed_context_is_an_error_and_so_are_its_streams() {
    use hip::sys::*;
    let Some((device, all)) = all() else { return };
    if !device.is_simulated() {
        return skipped(&"handles that are gone are followed by the real runtime");
    }
    let _ = all;
    let (mut resource, mut description) = (hipDevResource::default(), std::ptr::null_mut());
    let (mut context, mut again, mut stream) = (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: all are valid for a write; hip-sim looks handles up, and dereferences none.
    unsafe {
        assert_eq!(hipDeviceGetDevResource(0, &mut resource, hipDevResourceTypeSm), hipSuccess);
        assert_eq!(hipDeviceGetDevResource(0, &mut resource, hipDevResourceTypeWorkqueue), hipErrorInvalidResourceType);
        assert_eq!(hipDeviceGetDevResource(99, &mut resource, hipDevResourceTypeSm), hipErrorInvalidDevice);
        assert_eq!(hipDevResourceGenerateDesc(&mut description, &mut resource, 1), hipSuccess);
        assert_eq!(hipGreenCtxCreate(&mut context, description, 0, 1), hipErrorInvalidValue, "flags");
        assert_eq!(hipGreenCtxCreate(&mut context, description, -1, 0), hipErrorInvalidDevice);
        assert_eq!(hipGreenCtxCreate(&mut context, description, 0, 0), hipSuccess);
        assert_eq!(hipGreenCtxCreate(&mut again, description, 0, 0), hipErrorInvalidValue, "used up");
        assert_eq!(hipExecutionCtxStreamCreate(&mut stream, context, 77, 0), hipErrorInvalidValue);
        assert_eq!(hipExecutionCtxStreamCreate(&mut stream, context, hipStreamDefault, 0), hipSuccess);
        assert_eq!(hipExecutionCtxDestroy(context), hipSuccess);
        assert_eq!(hipExecutionCtxDestroy(context), hipErrorContextIsDestroyed);
        assert_eq!(hipExecutionCtxSynchronize(context), hipErrorContextIsDestroyed);
        assert_eq!(hipExecutionCtxStreamCreate(&mut stream, context, 0, 0), hipErrorContextIsDestroyed);
        assert_eq!(hipExecutionCtxSynchronize(std::ptr::null_mut()), hipErrorInvalidValue);
        assert_eq!(hipStreamSynchronize(stream), hipErrorStreamDetached);
        assert_eq!(hipStreamDestroy(stream), hipSuccess);
        assert_eq!(hipDeviceGetExecutionCtx(&mut context, 0), hipSuccess);
        assert_eq!(hipExecutionCtxDestroy(context), hipErrorInvalidValue, "the device's own");
        // Forged resources.
        let mut forged = resource;
        forged.anon_1.sm.smCount += 1;
        assert_eq!(hipDevResourceGenerateDesc(&mut description, &mut forged, 1), hipErrorInvalidResourceConfiguration);
        let mut none = hipDevResource::default();
        assert_eq!(hipDevResourceGenerateDesc(&mut description, &mut none, 1), hipErrorInvalidResourceType);
    }
    hip::runtime::take_last_error();
}

#[test]
fn threads_share_a_context_and_its_streams_go_in_any_order() {
    let Some((device, context)) = context() else { return };
    let primary = ExecutionContext::for_device(&device).unwrap();
    let work = |seed: u32| {
        let event = Event::new(&device).unwrap();
        for round in 0..20 {
            let (own, there) = (stream(&context), stream(&primary));
            let mut data = DeviceBuffer::<u32>::zeroed(&device, 300).unwrap();
            data.fill_async(&own, seed).unwrap();
            context.record(&event).unwrap();
            primary.wait_event(&event).unwrap();
            data.as_slice_mut().slice_mut(100..).unwrap().fill_async(&there, round).unwrap();
            match round % 4 {
                0 => context.synchronize().unwrap(),
                1 => primary.synchronize().unwrap(),
                2 => event.synchronize().unwrap(),
                _ => drop((own, there)),
            }
            let found = data.to_vec().unwrap();
            assert_eq!((&found[..100], &found[100..]), (&[seed; 100][..], &[round; 200][..]));
        }
    };
    let work = &work;
    thread::scope(|scope| (0..6).for_each(|seed| drop(scope.spawn(move || work(seed)))));
}

#[test]
fn a_context_that_ends_in_a_host_function_goes_after_it() {
    let Some((device, context)) = context() else { return };
    let (stream, outside) = (stream(&context), Stream::new(&device).unwrap());
    let mut data = DeviceBuffer::<u32>::zeroed(&device, 10).unwrap();
    data.fill_async(&stream, 1).unwrap();
    let last = (context, stream);
    outside.launch_host_function(move || drop(last)).unwrap();
    outside.synchronize().unwrap();
    assert_eq!(data.to_vec().unwrap(), [1; 10]);
    // Deferred jobs were done by the next wait at the latest: no resource is left unusable.
    outside.synchronize().unwrap();
    assert_eq!(hip::runtime::take_last_error(), Status::SUCCESS);
}
