//! Blocking calls during the capture of a stream.

use hip::memory::array::{Array, ArrayShape};
use hip::memory::{Extent, PitchedBuffer, RegisterOptions, Registered};
use hip::{
    Device, DeviceBuffer, Error, Event, Graph, GraphExec, ManagedBuffer, Module, PinnedBuffer, Result, Status, Stream,
};

use crate::{Watchdog, kernels};

/// The objects for calls in a capture.
struct Scene {
    device: Device,
    other: Stream,
    busy: DeviceBuffer<u32>,
    gone: Vec<DeviceBuffer<u32>>,
    pooled: Vec<DeviceBuffer<u32>>,
    pinned: Option<PinnedBuffer<u32>>,
    module: Option<Module>,
    graph: Option<GraphExec>,
    event: Event,
}

impl Scene {
    fn new(device: Device) -> Result<Self> {
        let other = Stream::new(&device)?;
        let mut busy = DeviceBuffer::zeroed(&device, 1 << 14)?;
        let gone = (0..2).map(|_| DeviceBuffer::zeroed(&device, 16)).collect::<Result<_>>()?;
        let pooled = DeviceBuffer::uninit_async(&other, 16).into_iter().collect();
        let pinned = Some(PinnedBuffer::zeroed(&device, 16)?);
        let module = Module::load(&device, kernels(&device)).ok();
        let graph = Some(Graph::new(&device)?.instantiate()?);
        busy.fill_async(&other, 5)?;
        let event = other.record()?;
        busy.fill_async(&other, 6)?;
        Ok(Self { device, other, busy, gone, pooled, pinned, module, graph, event })
    }
}

type Call = fn(&mut Scene, &Stream) -> Result<()>;

/// Calls that are allowed in a capture although they are unrelated to it.
const CALLS: &[(&str, Call)] = &[
    ("to_vec", |scene, _| scene.busy.to_vec().map(|read| assert_eq!(read, vec![6; 1 << 14]))),
    ("copy_from_slice", |scene, _| scene.gone[0].copy_from_slice(&[3; 16])),
    ("a copy in the order of another stream", |scene, _| scene.busy.copy_from_slice_on(&scene.other, &[6; 1 << 14])),
    ("fill", |scene, _| scene.gone[0].fill(4)),
    ("try_clone", |scene, _| scene.busy.try_clone().map(drop)),
    ("Device::synchronize", |scene, _| scene.device.synchronize()),
    ("uninit", |scene, _| DeviceBuffer::<u32>::uninit(&scene.device, 1 << 12).map(drop)),
    ("zeroed", |scene, _| DeviceBuffer::<u32>::zeroed(&scene.device, 1 << 12).map(drop)),
    ("dropping a buffer", |scene, _| {
        scene.gone.clear();
        Ok(())
    }),
    ("dropping a buffer that is used", |scene, _| {
        scene.gone[1].fill_async(&scene.other, 1)?;
        scene.gone.clear();
        Ok(())
    }),
    ("pinned memory", |scene, _| {
        PinnedBuffer::<u32>::zeroed(&scene.device, 16)?.as_mut_slice()?[0] = 1;
        scene.pinned.take();
        Ok(())
    }),
    ("registered memory", |scene, _| {
        let mut mine = vec![0u32; 1 << 12];
        Registered::scope(&scene.device, &mut mine, RegisterOptions::new(), |_| ()).map(drop)
    }),
    ("managed memory", |scene, _| {
        let mut managed = ManagedBuffer::<u32>::zeroed(&scene.device, 16)?;
        managed.as_mut_slice()?[0] = 1;
        Ok(())
    }),
    ("pitched memory", |scene, _| {
        let pitched = PitchedBuffer::<u32>::zeroed(&scene.device, Extent::new_2d(10, 10))?;
        pitched.to_vec().map(|read| assert_eq!(read, vec![0; 100]))
    }),
    ("an array", |scene, _| {
        let mut array = Array::<f32>::new(&scene.device, ArrayShape::D2(8, 8))?;
        array.copy_from_slice(&[2.0; 64])?;
        array.to_vec().map(|read| assert_eq!(read, [2.0; 64]))
    }),
    ("loading a module", |scene, _| Module::load(&scene.device, kernels(&scene.device)).map(drop)),
    ("unloading a module", |scene, _| {
        scene.module.take();
        Ok(())
    }),
    ("a global", |scene, _| match scene.module.as_ref().map(|module| module.kernel("empty")) {
        Some(kernel) => kernel.map(drop),
        None => Ok(()),
    }),
    ("waiting for an event", |scene, _| scene.event.synchronize()),
    ("asking for an event", |scene, _| scene.event.is_complete().map(drop)),
    ("recording on another stream", |scene, _| scene.other.record()?.synchronize()),
    ("waiting for another stream", |scene, _| scene.other.synchronize()),
    ("asking for another stream", |scene, _| scene.other.is_idle().map(drop)),
    ("work on another stream", |scene, _| {
        scene.busy.fill_async(&scene.other, 6)?;
        scene.other.launch_host_function(|| ())?;
        scene.other.synchronize()
    }),
    ("making and dropping a stream", |scene, _| Stream::new(&scene.device)?.synchronize()),
    ("uninit_async", |scene, _| DeviceBuffer::<u32>::uninit_async(&scene.other, 16)?.fill_async(&scene.other, 1)),
    ("dropping memory of a pool", |scene, _| {
        scene.pooled.clear();
        Ok(())
    }),
    ("trimming a pool", |scene, _| scene.device.memory_pool()?.trim(0)),
    ("a launch of a graph", |scene, _| scene.graph.as_ref().unwrap().launch(&scene.other)),
    ("making and dropping a graph", |scene, _| {
        scene.graph.take();
        Graph::new(&scene.device)?.instantiate().map(drop)
    }),
    ("asking for memory", |scene, _| scene.device.memory_info().map(drop)),
    ("the default stream", |scene, _| {
        scene.gone[0].fill_async(&scene.device.default_stream(), 2)?;
        scene.device.default_stream().synchronize()
    }),
    ("waiting for itself", |_, stream| stream.synchronize()),
    ("asking for itself", |_, stream| stream.is_idle().map(drop)),
    ("a copy on itself", |scene, stream| scene.gone[0].copy_from_slice_on(stream, &[1; 16])),
    ("memory in its own order", |_, stream| DeviceBuffer::<u32>::uninit_async(stream, 16).map(drop)),
    ("an event recorded and waited for", |_, stream| stream.record()?.synchronize()),
    ("a capture of another stream", |scene, _| scene.other.capture(|_| Ok(())).map(drop)),
    ("a capture of itself", |_, stream| stream.capture(|_| Ok(())).map(drop)),
    ("an error of its own", |_, _| Err(Error::EventNotRecorded)),
];

/// Returns whether the documentation lists the error: at `Stream::capture`, or as not supported by the backend.
fn is_documented(error: &Error) -> bool {
    let of_captures = |status: Status| (900..=908).contains(&status.0) || status == Status::NOT_SUPPORTED;
    matches!(
        error,
        Error::Capture { .. } | Error::EventNotRecorded | Error::Unsupported { .. } | Error::NoSymbol { .. }
    ) || error.status().is_some_and(of_captures)
}

/// Makes each of the calls in a capture of a stream: it must succeed or fail as documented, and later work must
/// succeed. Returns the names and errors of those that fail.
pub(crate) fn each_call(device: Device, new: impl Fn() -> Stream) -> Vec<(&'static str, String)> {
    let mut failed = Vec::new();
    for &(what, call) in CALLS {
        let _watchdog = Watchdog::new(what);
        let stream = new();
        let mut scene = Scene::new(device).unwrap();
        let mut data = DeviceBuffer::<u32>::zeroed(&device, 16).unwrap();
        let captured = stream.capture(|stream| {
            data.fill_async(stream, 1)?;
            call(&mut scene, stream)
        });
        if let Err(error) = &captured {
            assert!(is_documented(error), "{what}: {error}");
            failed.push((what, error.to_string()));
        }
        data.fill_async(&stream, 3).unwrap_or_else(|error| panic!("{what}, then work: {error}"));
        assert_eq!(data.to_vec().unwrap_or_else(|error| panic!("{what}, then read: {error}")), [3; 16], "{what}");
        stream.synchronize().unwrap_or_else(|error| panic!("{what}, then waited: {error}"));
        let again = stream.capture(|stream| data.fill_async(stream, 4));
        let again = again.unwrap_or_else(|error| panic!("{what}, then captured: {error}"));
        for (graph, value) in [(captured.ok(), 1), (Some(again), 4)] {
            let Some(graph) = graph else { continue };
            let exec = graph.instantiate().unwrap_or_else(|error| panic!("{what}: {error}"));
            exec.launch(&stream).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(data.to_vec().unwrap(), [value; 16], "{what}");
        }
        assert_eq!(scene.busy.to_vec().unwrap(), vec![6; 1 << 14], "{what}");
        scene.other.synchronize().unwrap();
    }
    failed
}
