//! The crate's reports to `tracing`, as a subscriber gets them.

#[path = "gpu/common.rs"]
#[allow(dead_code, reason = "of the tests in tests/gpu too")]
mod common;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use common::{Watchdog, device, kernel};
use hip::{DeviceBuffer, LaunchConfig, PinnedBuffer, Stream};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Name and fields of an event, or of a span when it is entered.
type Told = (String, BTreeMap<String, String>);

#[derive(Clone, Default)]
struct Recorder {
    told: Arc<Mutex<Vec<Told>>>,
    spans: Arc<Mutex<BTreeMap<u64, Told>>>,
    next: Arc<AtomicU64>,
}

#[derive(Default)]
struct Fields(BTreeMap<String, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "hip"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields::default();
        span.record(&mut fields);
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let level = if span.metadata().name() == "module_load" { Level::DEBUG } else { Level::TRACE };
        assert_eq!(*span.metadata().level(), level);
        self.spans.lock().unwrap().insert(id, (span.metadata().name().to_owned(), fields.0));
        Id::from_u64(id)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        assert_eq!(*event.metadata().level(), Level::TRACE);
        self.told.lock().unwrap().push((event.metadata().name().to_owned(), fields.0));
    }

    fn enter(&self, span: &Id) {
        let told = self.spans.lock().unwrap()[&span.into_u64()].clone();
        self.told.lock().unwrap().push(told);
    }

    fn exit(&self, _: &Id) {}
}

/// Serializes the tests: `tracing` caches the interests of subscribers across threads.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn launches_copies_memory_waits_and_modules_are_told() {
    let _alone = alone();
    let Some(device) = device() else { return };
    let recorder = Recorder::default();
    tracing::subscriber::with_default(recorder.clone(), || {
        let Some(store) = kernel("store_index") else { return };
        let stream = Stream::new(&device).unwrap();
        let mut buffer = DeviceBuffer::<i32>::uninit(&device, 256).unwrap();
        buffer.copy_from_slice(&[7; 256]).unwrap();
        // SAFETY: a thread for each element.
        unsafe { store.launch(&stream, LaunchConfig::new(4, 64).with_shared_bytes(32), (&mut buffer,)).unwrap() };
        let mut pinned = PinnedBuffer::<i32>::zeroed(&device, 256).unwrap();
        buffer.copy_to_pinned_async(&stream, &mut pinned).unwrap();
        stream.synchronize().unwrap();
        buffer.to_vec().unwrap();
        buffer.slice_mut(..10).unwrap().fill_async(&stream, 3).unwrap();
        buffer.slice_mut(10..).unwrap().fill_bytes_async(&stream, 1).unwrap();
        // A value that needs copies to repeat is reported as one fill.
        let mut rows = buffer.as_slice_mut().into_rows(64).unwrap();
        rows.fill_async(&stream, 0x0102_0304).unwrap();
        drop(buffer);
    });
    let told = recorder.told.lock().unwrap();
    if told.is_empty() {
        return; // the kernel is for other devices, and was skipped
    }
    let all = |name: &str| -> Vec<&BTreeMap<String, String>> {
        told.iter().filter(|(told, _)| told == name).map(|(_, fields)| fields).collect()
    };
    let field = |fields: &BTreeMap<String, String>, name: &str| fields.get(name).cloned().unwrap_or_default();
    let index = device.index().to_string();
    for (_, fields) in told.iter() {
        assert_eq!(field(fields, "device"), index, "{told:?}");
    }
    assert_eq!(all("module_load").len(), 1);
    let launches = all("launch");
    assert_eq!(launches.len(), 1);
    let names = ["kernel", "grid", "block", "shared_bytes"].map(|name| field(launches[0], name));
    assert_eq!(names, ["store_index", "(4, 1, 1)", "(64, 1, 1)", "32"]);
    let copies: Vec<_> = all("copy").iter().map(|copy| (field(copy, "kind"), field(copy, "bytes"))).collect();
    let expected = ["host to device", "device to pinned", "device to host"];
    assert_eq!(copies, expected.map(|kind| (kind.to_owned(), "1024".to_owned())));
    assert_eq!(field(all("copy")[1], "stream"), field(launches[0], "stream"));
    let fills: Vec<_> = all("fill").iter().map(|fill| field(fill, "bytes")).collect();
    assert_eq!(fills, ["40", "984", "1024"]);
    assert!(all("fill").iter().all(|fill| field(fill, "stream") == field(launches[0], "stream")));
    let memory: Vec<_> = all("allocation").iter().map(|made| (field(made, "kind"), field(made, "bytes"))).collect();
    assert_eq!(memory, ["device", "pinned"].map(|kind| (kind.to_owned(), "1024".to_owned())));
    assert_eq!(field(all("free")[0], "address"), field(all("allocation")[0], "address"));
    assert_eq!(field(all("free")[1], "address"), field(all("allocation")[1], "address"));
    assert!(all("wait").iter().any(|wait| field(wait, "stream") == field(launches[0], "stream")));
}

/// A subscriber that uses `hip` for every report that it gets.
#[derive(Clone)]
struct Busy(Arc<BusyInner>);

struct BusyInner {
    device: hip::Device,
    told: std::sync::atomic::AtomicU32,
    stream: hip::Stream,
    data: Mutex<DeviceBuffer<u32>>,
    graph: Option<hip::GraphExec>,
}

impl Busy {
    fn new(device: hip::Device) -> Self {
        let stream = Stream::new(&device).unwrap();
        let data = Mutex::new(DeviceBuffer::zeroed(&device, 16).unwrap());
        let graph = hip::Graph::new(&device).and_then(|graph| graph.instantiate()).ok();
        Self(Arc::new(BusyInner { device, told: 0.into(), stream, data, graph }))
    }

    fn use_hip(&self) {
        thread_local! {
            static INSIDE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
        }
        if INSIDE.replace(true) {
            return;
        }
        let BusyInner { device, told, stream, data, graph } = &*self.0;
        let n = told.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let mut data = data.lock().unwrap();
        data.fill_async(stream, n).unwrap();
        if let Some(graph) = graph {
            graph.launch(stream).unwrap();
        }
        stream.launch_host_function(|| ()).unwrap();
        assert_eq!(data.to_vec().unwrap(), [n; 16]);
        drop(DeviceBuffer::<u32>::zeroed(device, 16).unwrap());
        stream.capture(|stream| data.fill_async(stream, 0)).map(drop).ok();
        drop(stream.record().unwrap());
        drop(Stream::new(device).unwrap());
        stream.synchronize().unwrap();
        device.synchronize().unwrap();
        INSIDE.set(false);
    }
}

impl Subscriber for Busy {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "hip"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        self.use_hip();
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        self.use_hip();
    }

    fn enter(&self, _: &Id) {
        self.use_hip();
    }

    fn exit(&self, _: &Id) {
        self.use_hip();
    }
}

/// The subscriber is called without a lock: it may use `hip`, even the same stream and graph.
#[test]
fn a_subscriber_may_use_hip() {
    let _alone = alone();
    let Some(device) = device() else { return };
    let _watchdog = Watchdog::new("a subscriber that uses hip");
    let busy = Busy::new(device);
    let own = busy.0.stream.clone();
    tracing::subscriber::with_default(busy.clone(), || {
        std::thread::scope(|scope| {
            for _ in 0..2 {
                let busy = busy.clone();
                let own = &own;
                scope.spawn(move || {
                    tracing::subscriber::with_default(busy.clone(), || uses_all(own, busy.0.graph.as_ref()))
                });
            }
        });
        uses_all(&own, busy.0.graph.as_ref());
    });
    assert!(busy.0.told.load(std::sync::atomic::Ordering::SeqCst) > 50);
}

/// Makes calls that are reported, on the stream that the subscriber uses too.
fn uses_all(stream: &Stream, graph: Option<&hip::GraphExec>) {
    let device = stream.device();
    let store = kernel("store_index");
    for _ in 0..3 {
        let mut buffer = DeviceBuffer::<i32>::zeroed(&device, 64).unwrap();
        if let Some(store) = &store {
            // SAFETY: a thread for each element. Another thread may capture the stream now.
            if let Err(error) = unsafe { store.launch(stream, LaunchConfig::new(1, 64), (&mut buffer,)) } {
                assert!(matches!(error, hip::Error::Capture { .. }), "{error}");
            }
        }
        let of_captures = |result: hip::Result<()>| match result {
            Err(error @ hip::Error::Capture { .. }) => drop(error),
            other => other.unwrap(),
        };
        of_captures(graph.map_or(Ok(()), |graph| graph.launch(stream)));
        let mut pinned = PinnedBuffer::<i32>::zeroed(&device, 64).unwrap();
        of_captures(buffer.copy_to_pinned_async(stream, &mut pinned));
        of_captures(DeviceBuffer::<i32>::uninit_async(stream, 64).and_then(|mut buffer| buffer.fill_async(stream, 3)));
        buffer.fill(4).unwrap();
        of_captures(stream.synchronize());
        buffer.to_vec().unwrap();
    }
}
