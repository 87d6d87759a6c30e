//! Calls of other libraries: a C library of this test, which makes raw calls of HIP.

use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hip::interop::{Tracked, Uses, call_on_streams};
use hip::memory::array::{Array, ArrayShape};
use hip::sys::{self, hipStream_t};
use hip::{Device, DeviceBuffer, Error, IntoSliceMut, ManagedBuffer, PinnedBuffer, Status, Stream};

use crate::{device, eventually, supported};

/// Fills `n` numbers at `x`.
unsafe extern "C" fn lib_set(stream: hipStream_t, n: usize, value: c_int, x: *mut c_int) -> u32 {
    if n == 0 {
        return 0; // like real libraries, which queue nothing then
    }
    // SAFETY: the caller's stream and memory.
    unsafe { sys::hipMemsetD32Async(x.cast(), value, n, stream).0 }
}

/// Copies `n` numbers.
unsafe extern "C" fn lib_copy(stream: hipStream_t, n: usize, from: *const c_int, to: *mut c_int) -> u32 {
    // SAFETY: the caller's stream and memory.
    unsafe { sys::hipMemcpyAsync(to.cast(), from.cast::<c_void>(), n * 4, sys::hipMemcpyDefault, stream).0 }
}

mod lib_sys {
    //! The contents of a -sys crate.
    #![allow(non_camel_case_types, non_upper_case_globals)]
    use std::ffi::CStr;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) struct libStatus_t(pub(super) u32);
    pub(super) const libSuccess: libStatus_t = libStatus_t(0);
    pub(super) const libNotInitialized: libStatus_t = libStatus_t(1);
    pub(super) const libNotSupported: libStatus_t = libStatus_t(2);
    pub(super) fn load_error() -> Option<String> {
        Some("tried nothing".to_owned())
    }
    pub(super) fn symbol_error(function: &CStr) -> Option<String> {
        (function != c"libOld").then(|| format!("{} is of release 7", function.to_string_lossy()))
    }
}

mod lib {
    use super::lib_sys;

    hip::library_error! {
        library: "lib",
        status: lib_sys::libStatus_t,
        success: lib_sys::libSuccess,
        no_library: lib_sys::libNotInitialized,
        no_symbol: lib_sys::libNotSupported,
        load_error: lib_sys::load_error,
        symbol_error: lib_sys::symbol_error,
    }
}

/// The safe wrapper of a handle of the library.
struct Handle {
    tracked: Option<Tracked>,
    destroyed: Arc<AtomicU32>,
}

impl Handle {
    fn new(destroyed: &Arc<AtomicU32>) -> Self {
        Self { tracked: Some(Tracked::new()), destroyed: Arc::clone(destroyed) }
    }

    fn tracked(&self) -> &Tracked {
        self.tracked.as_ref().unwrap()
    }

    fn set<'a>(&'a self, stream: &'a Stream, value: i32, x: impl IntoSliceMut<'a, i32>) -> lib::Result<()> {
        let x = x.into();
        let n = x.len();
        let mut uses = Uses::on(stream);
        let x = uses.write("x", x)?;
        uses.tracked(self.tracked());
        // SAFETY: the function queues one fill of these numbers.
        unsafe {
            uses.call(|raw| {
                let status = lib_sys::libStatus_t(lib_set(raw, n, value, x));
                lib::check(status, "lib_set", || format!("{n} numbers"))
            })
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let destroyed = Arc::clone(&self.destroyed);
        self.tracked.take().unwrap().release(move || _ = destroyed.fetch_add(1, Ordering::SeqCst));
    }
}

fn handle() -> (Handle, Arc<AtomicU32>) {
    let destroyed = Arc::default();
    (Handle::new(&destroyed), destroyed)
}

/// With a raw stream and pointer, 15 of 50 rounds read old values.
#[test]
fn what_a_library_writes_is_read_after_it() {
    let Some(device) = device() else { return };
    let (stream, other) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let (handle, _) = handle();
    for round in 1..=50 {
        let mut x = DeviceBuffer::<i32>::zeroed(&device, 1 << 14).unwrap();
        handle.set(if round % 2 == 0 { &stream } else { &other }, round, &mut x).unwrap();
        assert!(x.to_vec().unwrap().iter().all(|&found| found == round), "{round}");
    }
}

#[test]
fn memory_goes_back_after_a_library_s_work() {
    let Some(device) = device() else { return };
    let (stream, other) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let (handle, _) = handle();
    for round in 1..=50 {
        let Some(mut x) = supported(DeviceBuffer::<i32>::uninit_async(&stream, 1 << 14)) else { return };
        handle.set(&other, round, &mut x).unwrap();
        drop(x);
        let mut next = DeviceBuffer::<i32>::uninit_async(&stream, 1 << 14).unwrap();
        handle.set(&stream, -1, &mut next).unwrap();
        assert!(next.to_vec().unwrap().iter().all(|&found| found == -1), "{round}: the next owner's memory");
    }
}

#[test]
fn a_graph_keeps_what_a_library_s_calls_use() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    let (handle, destroyed) = handle();
    let mut y = DeviceBuffer::<i32>::zeroed(&device, 100).unwrap();
    let mut out = DeviceBuffer::<i32>::zeroed(&device, 100).unwrap();
    let captured = stream.capture(|stream| {
        handle.set(stream, 42, &mut y).expect("captured");
        // A call that queues nothing is not an error.
        handle.set(stream, 7, y.slice_mut(..0)?).expect("captured");
        out.copy_from_device_async(stream, &y)
    });
    let Some(graph) = supported(captured) else { return };
    let exec = graph.instantiate().unwrap();
    drop((handle, y, graph));
    assert_eq!(destroyed.load(Ordering::SeqCst), 0, "the graph uses it");
    for _ in 0..3 {
        exec.launch(&stream).unwrap();
    }
    assert_eq!(out.to_vec().unwrap(), [42; 100]);
    drop(exec);
    eventually("destroyed after the graph", || destroyed.load(Ordering::SeqCst) == 1);
}

#[test]
fn a_tracked_thing_goes_after_its_last_use() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    let (handle, destroyed) = handle();
    let mut x = DeviceBuffer::<i32>::zeroed(&device, 64).unwrap();
    let (go, held) = std::sync::mpsc::channel::<()>();
    stream.launch_host_function(move || held.recv().unwrap()).unwrap();
    handle.set(&stream, 1, &mut x).unwrap();
    drop(handle);
    assert_eq!(destroyed.load(Ordering::SeqCst), 0, "queued work uses it");
    go.send(()).unwrap();
    eventually("destroyed after the work", || destroyed.load(Ordering::SeqCst) == 1);
    // An unused resource is destroyed at once.
    drop(Handle::new(&destroyed));
    assert_eq!(destroyed.load(Ordering::SeqCst), 2);
    // An abort does not wait.
    let (go, held) = std::sync::mpsc::channel::<()>();
    stream.launch_host_function(move || held.recv().unwrap()).unwrap();
    let tracked = Tracked::new();
    let mut uses = Uses::on(&stream);
    uses.tracked(&tracked);
    // SAFETY: it queues nothing.
    unsafe { uses.call(|_| Ok::<_, Error>(())) }.unwrap();
    // SAFETY: no work uses it.
    assert_eq!(unsafe { tracked.abort(|| 5) }, 5);
    go.send(()).unwrap();
    stream.synchronize().unwrap();
}

#[test]
fn a_call_that_waits_keeps_others_off_its_memory_and_is_refused_in_a_capture() {
    let Some(device) = device() else { return };
    let (stream, other) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let mut x = DeviceBuffer::<i32>::zeroed(&device, 1000).unwrap();
    x.fill_async(&other, 5).unwrap();
    let mut found = vec![0; 1000];
    let mut uses = Uses::on(&stream);
    let from = uses.read("x", &x).unwrap();
    let to: *mut c_int = found.as_mut_ptr();
    // SAFETY: a copy of as many numbers, waited for.
    let copied = unsafe {
        uses.call_blocking(|raw| {
            let statuses = [lib_copy(raw, 1000, from, to), sys::hipStreamSynchronize(raw).0];
            Status(statuses.into_iter().max().unwrap()).check("lib_copy", || "1000 numbers".to_owned())
        })
    };
    copied.unwrap();
    assert_eq!(found, [5; 1000], "after the fill on the other stream");
    let captured = stream.capture(|stream| {
        let mut uses = Uses::on(stream);
        uses.read("x", &x)?;
        // SAFETY: rejected.
        let refused = unsafe { uses.call_blocking(|_| -> hip::Result<()> { panic!("called") }) };
        assert!(matches!(refused, Err(Error::Capture { .. })), "{refused:?}");
        Ok(())
    });
    supported(captured);
}

#[test]
fn a_guard_covers_the_calls_until_it_is_dropped() {
    let Some(device) = device() else { return };
    let (stream, other) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    for round in 0..20 {
        let mut x = DeviceBuffer::<i32>::zeroed(&device, 1 << 12).unwrap();
        x.fill_async(&other, -1).unwrap();
        let mut uses = Uses::on(&stream);
        let pointer = uses.write("x", &mut x).unwrap();
        // SAFETY: two fills of parts of it, and the guard is dropped.
        unsafe {
            let guard = uses.guard().unwrap();
            assert_eq!(lib_set(guard.as_raw(), 1 << 11, round, pointer), 0);
            assert_eq!(lib_set(guard.as_raw(), 1 << 11, round + 1, pointer.add(1 << 11)), 0);
        }
        let found = x.to_vec().unwrap();
        assert!(found[..1 << 11].iter().all(|&n| n == round) && found[1 << 11..].iter().all(|&n| n == round + 1));
    }
}

#[test]
fn one_call_queues_work_on_several_streams() {
    let Some(device) = device() else { return };
    let streams = [0; 3].map(|_| Stream::new(&device).unwrap());
    let before = Stream::new(&device).unwrap();
    let mut buffers = [0; 3].map(|_| DeviceBuffer::<i32>::zeroed(&device, 1 << 12).unwrap());
    for round in 1..20 {
        for buffer in &mut buffers {
            buffer.fill_async(&before, -1).unwrap();
        }
        let mut uses = Vec::new();
        let mut pointers = Vec::new();
        for (stream, buffer) in streams.iter().zip(&mut buffers) {
            let mut one = Uses::on(stream);
            pointers.push(one.write("buffer", buffer).unwrap());
            uses.push(one);
        }
        // SAFETY: a fill of each buffer on its stream.
        let called = unsafe {
            call_on_streams(&uses, || {
                for (stream, pointer) in streams.iter().zip(pointers) {
                    Status(lib_set(stream.as_raw(), 1 << 12, round, pointer)).check("lib_set", String::new)?;
                }
                Ok::<_, Error>(7)
            })
        };
        assert_eq!(called.unwrap(), 7);
        drop(uses);
        for buffer in &buffers {
            assert!(buffer.to_vec().unwrap().iter().all(|&found| found == round), "{round}");
        }
    }
    // If one is captured, nothing is called.
    let captured = streams[0].capture(|_| {
        let uses: Vec<Uses<'_>> = streams.iter().map(Uses::on).collect();
        // SAFETY: rejected.
        let refused = unsafe { call_on_streams(&uses, || -> hip::Result<()> { panic!("called") }) };
        assert!(matches!(refused, Err(Error::Capture { .. })), "{refused:?}");
        Ok(())
    });
    supported(captured);
}

#[test]
fn memory_of_every_kind_is_named() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    let source = PinnedBuffer::from_slice(&device, &[3; 100]).unwrap();
    let mut x = DeviceBuffer::<i32>::zeroed(&device, 100).unwrap();
    let mut back = PinnedBuffer::<i32>::zeroed(&device, 60).unwrap();
    let mut uses = Uses::on(&stream);
    let (from, to) = (uses.read_pinned("source", &source).unwrap(), uses.write("x", &mut x).unwrap());
    // SAFETY: both have 100 numbers.
    let status = unsafe { uses.call(|raw| Ok::<_, Error>(lib_copy(raw, 100, from, to))) };
    assert_eq!(status.unwrap(), 0);
    let mut uses = Uses::on(&stream);
    let from = uses.read("x", x.slice(40..).unwrap()).unwrap();
    let to = uses.write_pinned("back", &mut back).unwrap();
    // SAFETY: both have 60 numbers.
    let status = unsafe { uses.call(|raw| Ok::<_, Error>(lib_copy(raw, 60, from, to))) };
    assert_eq!((status.unwrap(), back.as_slice().unwrap()), (0, &[3; 60][..]));
    let Some(mut managed) = supported(ManagedBuffer::<i32>::zeroed(&device, 10)) else { return };
    let mut uses = Uses::on(&stream);
    let to = uses.write("managed", &mut managed).unwrap();
    // SAFETY: it has 10 numbers.
    let status = unsafe { uses.call(|raw| Ok::<_, Error>(lib_set(raw, 10, 8, to))) };
    assert_eq!((status.unwrap(), managed.as_slice().unwrap()), (0, &[8; 10][..]));
}

#[test]
fn an_operand_of_another_device_is_an_error_that_names_it() {
    let Some((first, second)) = crate::peer::two("interop::an_operand_of_another_device_is_an_error_that_names_it")
    else {
        return;
    };
    let stream = Stream::new(&first).unwrap();
    let (handle, _) = handle();
    let mut far = DeviceBuffer::<i32>::zeroed(&second, 10).unwrap();
    let error = handle.set(&stream, 1, &mut far).unwrap_err();
    assert!(matches!(&error, lib::Error::Hip(Error::WrongDevice { what, .. }) if what == "x"), "{error}");
    assert_eq!(far.to_vec().unwrap(), [0; 10]);
}

#[test]
fn an_error_of_the_library_carries_what_was_asked() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    let mut x = DeviceBuffer::<i32>::zeroed(&device, 10).unwrap();
    let mut uses = Uses::on(&stream);
    uses.write("x", &mut x).unwrap();
    let call = |_| lib::check(lib_sys::libStatus_t(9), "libSolve", || "10 numbers".to_owned());
    // SAFETY: it queues nothing.
    let error = unsafe { uses.call(call) }.unwrap_err();
    assert_eq!(error.to_string(), "libSolve failed (10 numbers): libStatus_t(9) (9) of lib");
    assert_eq!(error.status(), Some(lib_sys::libStatus_t(9)));
    assert!(std::error::Error::source(&error).is_some());
    let missing = lib::check(lib_sys::libNotInitialized, "libNew", String::new).unwrap_err();
    assert_eq!(missing.to_string(), "lib could not be loaded: tried nothing");
    let old = lib::check(lib_sys::libNotSupported, "libNew", String::new).unwrap_err();
    assert_eq!(old.to_string(), "libNew is not in the lib that was loaded: libNew is of release 7");
    let own = lib::check(lib_sys::libNotSupported, "libOld", || "x".to_owned()).unwrap_err();
    assert!(matches!(own, lib::Error::Library(_)), "the library's own word: {own}");
    let hip: lib::Error = Error::NoDevice.into();
    assert_eq!(hip.status(), None);
}

#[test]
fn a_stream_waits_for_another_and_a_device_is_current_for_a_while() {
    let Some(device) = device() else { return };
    let (first, second) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let x = DeviceBuffer::<i32>::zeroed(&device, 1 << 16).unwrap();
    for round in 1..20 {
        let pointer: *mut c_int = x.as_device_ptr().address() as *mut c_int;
        // Not through the buffer, so this crate's tracking does not order it.
        // SAFETY: as many numbers, which are waited for below.
        assert_eq!(unsafe { lib_set(first.as_raw(), 1 << 16, round, pointer) }, 0);
        second.wait_for(&first).unwrap();
        second.wait_for(&second.clone()).unwrap();
        // SAFETY: the second half.
        assert_eq!(unsafe { lib_set(second.as_raw(), 1 << 15, -round, pointer.wrapping_add(1 << 15)) }, 0);
        second.synchronize().unwrap();
        let found = x.to_vec().unwrap();
        assert_eq!((found[0], found[1 << 15], found[(1 << 16) - 1]), (round, -round, -round));
    }
    assert_eq!(device.with_current(|| Device::current().unwrap()).unwrap(), device);
    use std::collections::HashSet;
    #[allow(clippy::mutable_key_type, reason = "a stream is hashed by its number, which does not change")]
    let set: HashSet<Stream> = [first.clone(), second, first].into_iter().collect();
    assert_eq!(set.len(), 2);
}

/// A part of other code's memory, whose uses are those of a tracked resource.
#[test]
fn memory_of_a_tracked_thing_is_taken_back_after_its_uses() {
    let (Some(device), Some(slow)) = (device(), crate::kernel("slow_store")) else { return };
    let (stream, other) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let theirs = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let tracked = Tracked::without_graphs();
    // SAFETY: 16 elements without another use until the tracked resource was waited for.
    let view = || unsafe { DeviceBuffer::from_raw_parts_tracked(&device, theirs.as_device_ptr(), 16, &tracked) };
    let mut first = view().unwrap();
    assert_eq!((first.len(), first.device()), (16, device));
    // SAFETY: 16 threads, 16 elements.
    unsafe { slow.launch(&stream, hip::LaunchConfig::new(1, 16), (&mut first, 200_000_u32, 7_u32)) }.unwrap();
    drop(first); // neither waits nor frees
    tracked.synchronize().unwrap();
    assert_eq!(theirs.slice(..16).unwrap().to_vec().unwrap(), [7; 16]);

    // Uses of the views run one after the other, on any streams, and so do calls that name the tracked resource.
    let mut second = view().unwrap();
    // SAFETY: 16 threads, 16 elements.
    unsafe { slow.launch(&stream, hip::LaunchConfig::new(1, 16), (&mut second, 200_000_u32, 8_u32)) }.unwrap();
    view().unwrap().fill_async(&other, 9).unwrap();
    let mut uses = Uses::on(&stream);
    uses.tracked(&tracked);
    let pointer = theirs.as_device_ptr().address() as *mut c_int;
    // SAFETY: 4 of the elements of the tracked resource.
    let status = unsafe { uses.call(|raw| Ok::<_, Error>(lib_set(raw, 4, 10, pointer))) };
    assert_eq!(status.unwrap(), 0);
    assert_eq!(second.to_vec().unwrap(), [&[10_u32; 4][..], &[9; 12]].concat());
}

#[test]
fn graphs_do_not_keep_what_its_owner_takes_back() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    let theirs = DeviceBuffer::<u32>::zeroed(&device, 4).unwrap();
    for (tracked, kept) in [(Tracked::new(), true), (Tracked::without_graphs(), false)] {
        // SAFETY: 4 elements, which outlive the graph.
        let view = unsafe { DeviceBuffer::from_raw_parts_tracked(&device, theirs.as_device_ptr(), 4, &tracked) };
        let mut view = view.unwrap();
        let by_view = stream.capture(|stream| view.fill_async(stream, 1));
        let by_name = stream.capture(|stream| {
            let mut uses = Uses::on(stream);
            uses.tracked(&tracked);
            // SAFETY: queues nothing.
            unsafe { uses.call(|_| Ok::<_, Error>(())) }
        });
        for graph in [by_view, by_name] {
            match graph {
                Err(Error::Graph { reason }) if !kept => assert!(reason.contains("only borrowed"), "{reason}"),
                other => assert!(supported(other).is_none() || kept, "a graph keeps it"),
            }
        }
    }
}

#[test]
fn memory_that_cannot_be_a_tracked_thing_s_is_refused() {
    let Some(device) = device() else { return };
    let tracked = Tracked::new();
    let theirs = DeviceBuffer::<u32>::zeroed(&device, 4).unwrap();
    let (null, odd) = (hip::DevicePtr::<u32>::from_address(0), theirs.as_device_ptr().address() + 1);
    for pointer in [null, hip::DevicePtr::from_address(odd)] {
        // SAFETY: rejected.
        let refused = unsafe { DeviceBuffer::<u32>::from_raw_parts_tracked(&device, pointer, 1, &tracked) };
        assert!(matches!(refused, Err(Error::InvalidValue { .. })), "{refused:?}");
    }
}

#[test]
fn an_array_of_other_code_is_used_and_stays_its_owners() {
    let Some(device) = crate::images() else { return };
    let stream = Stream::new(&device).unwrap();
    let shape = ArrayShape::D2(5, 3);
    let theirs = Array::<[f32; 2]>::zeroed(&device, shape).unwrap();
    let tracked = Tracked::without_graphs();
    // SAFETY: the array outlives the view, and has no other use meanwhile.
    let mut view = unsafe { Array::<[f32; 2]>::from_raw_tracked(&device, theirs.as_raw(), shape, &tracked) }.unwrap();
    assert_eq!((view.shape(), view.device(), view.as_raw()), (shape, device, theirs.as_raw()));
    let texels: Vec<[f32; 2]> = (0..15_u8).map(|n| [f32::from(n), 1.0]).collect();
    let source = DeviceBuffer::from_slice(&device, &texels).unwrap();
    view.as_slice_mut().copy_from_device_async(&stream, &source).unwrap();
    drop(view);
    tracked.synchronize().unwrap();
    assert_eq!(theirs.to_vec().unwrap(), texels);

    // SAFETY: rejected.
    let refused = unsafe { Array::<f32>::from_raw_tracked(&device, theirs.as_raw(), shape, &tracked) }.unwrap_err();
    assert!(refused.to_string().contains("2 x float 32") && refused.to_string().contains("1 x float 32"), "{refused}");
    // SAFETY: rejected.
    let refused = unsafe { Array::<f32>::from_raw_tracked(&device, std::ptr::null_mut(), shape, &tracked) };
    assert!(matches!(refused, Err(Error::InvalidValue { .. })), "{refused:?}");
}

/// A destructor waits for the device in the runtime, while a host function of the device waits for this program.
#[test]
fn a_destructor_that_waits_for_the_device_comes_after_a_host_function() {
    let Some(device) = device() else { return };
    let (stream, destroyed) = (Stream::new(&device).unwrap(), Arc::new(AtomicU32::new(0)));
    device.make_current().unwrap();
    let mut workspace = std::ptr::null_mut();
    // SAFETY: `workspace` is valid for a write.
    let status = unsafe { sys::hipMalloc(&mut workspace, 1 << 20) };
    Status::from(status).check("hipMalloc", || "a workspace".to_owned()).unwrap();
    let workspace = workspace.expose_provenance();
    let (go, wait) = std::sync::mpsc::channel::<()>();
    stream.launch_host_function(move || _ = wait.recv()).unwrap();
    let count = Arc::clone(&destroyed);
    let other = std::thread::spawn(move || {
        // It must not be destroyed before. The pause makes it likelier to detect a destructor that does not wait.
        std::thread::sleep(std::time::Duration::from_millis(100));
        assert_eq!(count.load(Ordering::SeqCst), 0, "the host function runs");
        go.send(()).unwrap();
    });
    let count = Arc::clone(&destroyed);
    Tracked::new().release_when_idle(&device, move || {
        device.make_current().unwrap();
        // SAFETY: from hipMalloc, and not freed yet.
        let _ = unsafe { sys::hipFree(std::ptr::with_exposed_provenance_mut(workspace)) };
        count.fetch_add(1, Ordering::SeqCst);
    });
    other.join().unwrap();
    stream.synchronize().unwrap();
    eventually("it is destroyed", || destroyed.load(Ordering::SeqCst) == 1);
}
