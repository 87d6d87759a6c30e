//! Where HIP must not be called, no call of the crate reaches it: in functions that the runtime calls, in threads that
//! are ending, and in the children of a fork (`fork.rs`).

use std::cell::RefCell;
use std::sync::{Arc, mpsc};

use hip::device::{CachePreference, DeviceAttribute, Limit, LinkType, WaitPolicy};
use hip::graph::GraphFill;
use hip::memory::pool::{MemoryPool, PoolOptions};
use hip::memory::{MemoryAdvice, MemoryLocation};
use hip::module::FunctionAttribute;
use hip::stream::Signal;
use hip::{
    Device, DeviceBuffer, Error, Event, EventOptions, Graph, GraphExec, Kernel, LaunchConfig, ManagedBuffer, Module,
    PinnedBuffer, Stream,
};

use crate::{kernels, module};

/// One object of each type, created where HIP may be called.
pub(crate) struct Things {
    device: Device,
    stream: Stream,
    event: Event,
    shared: Option<Event>,
    buffer: DeviceBuffer<u32>,
    pinned: PinnedBuffer<u32>,
    managed: Option<ManagedBuffer<u32>>,
    module: Module,
    kernel: Kernel,
    graph: Option<(Graph, Graph, GraphExec, hip::graph::Node)>,
    pool: Option<MemoryPool>,
    signal: Option<Signal>,
}

impl Things {
    /// Returns `None` without a device.
    pub(crate) fn new() -> Option<Self> {
        let module = module()?;
        let device = module.device();
        let stream = Stream::new(&device).unwrap();
        let mut buffer = DeviceBuffer::zeroed(&device, 64).unwrap();
        buffer.fill_async(&stream, 3).unwrap();
        let graph = Graph::new(&device).ok().map(|mut graph| {
            let node = graph.add_fill(&[], GraphFill::new(&mut buffer, 1)).unwrap();
            (graph.try_clone().unwrap(), Graph::new(&device).unwrap(), graph.instantiate().unwrap(), node)
        });
        Some(Self {
            device,
            event: stream.record().unwrap(),
            shared: Event::with_options(&device, EventOptions::new().interprocess(true)).ok(),
            pinned: PinnedBuffer::zeroed(&device, 64).unwrap(),
            managed: ManagedBuffer::zeroed(&device, 64).ok(),
            kernel: module.kernel("add_in_place").unwrap(),
            pool: MemoryPool::new(&device, PoolOptions::new()).ok(),
            signal: Signal::new(&device, 1).ok(),
            stream,
            buffer,
            module,
            graph,
        })
    }

    /// Makes calls of HIP, and returns their names and results.
    pub(crate) fn call(&mut self) -> Vec<(&'static str, hip::Result<()>)> {
        fn done<T>(result: hip::Result<T>) -> hip::Result<()> {
            result.map(drop)
        }
        let Self { device, stream, event, buffer, pinned, module, kernel, .. } = self;
        let device = *device;
        let config = LaunchConfig::new(1, 64);
        let slice_on = buffer.copy_from_slice_on(stream, &[1; 64]);
        // SAFETY: either rejected, or a live event; the handle is dropped before the event is.
        let borrowed = unsafe { Event::borrow_raw(&device, event.as_raw(), event.options()) };
        // SAFETY: either rejected, or a live stream.
        let stream_of = unsafe { Stream::borrow_raw(&device, stream.as_raw()) };
        let mut results = vec![
            ("DeviceBuffer::copy_from_slice_on", slice_on),
            ("DeviceBuffer::copy_to_slice_on", buffer.copy_to_slice_on(stream, &mut [1; 64])),
            ("DeviceBuffer::from_slice_on", done(DeviceBuffer::from_slice_on(stream, &[1u32]))),
            ("Event::borrow_raw", done(borrowed)),
            ("Stream::borrow_raw", done(stream_of)),
            ("Device::current", done(Device::current())),
            ("Device::make_current", device.make_current()),
            ("Device::attribute", done(device.attribute(DeviceAttribute::WARP_SIZE))),
            ("Device::memory_info", done(device.memory_info())),
            ("Device::synchronize", device.synchronize()),
            ("Device::stream_priority_range", done(device.stream_priority_range())),
            ("Device::uuid", done(device.uuid())),
            ("Device::by_uuid", Device::all().and_then(|all| all.iter().try_for_each(|other| done(other.uuid())))),
            ("Device::pci_bus_id", done(device.pci_bus_id())),
            ("Device::by_pci", device.properties().and_then(|properties| done(Device::by_pci(properties.pci)))),
            ("Device::limit", done(device.limit(Limit::StackSize))),
            ("Device::set_limit", device.set_limit(Limit::StackSize, 1024)),
            ("Device::cache_preference", done(device.cache_preference())),
            ("Device::set_cache_preference", device.set_cache_preference(CachePreference::None)),
            ("Device::shared_bank_bytes", done(device.shared_bank_bytes())),
            ("Device::wait_policy", done(device.wait_policy())),
            ("Device::set_wait_policy", device.set_wait_policy(WaitPolicy::Auto)),
            ("Device::is_active", done(device.is_active())),
            ("Device::can_access_peer", done(device.can_access_peer(&device))),
            ("Device::memory_pool", done(device.memory_pool())),
            ("Device::graph_memory", done(device.graph_memory())),
            ("Device::trim_graph_memory", device.trim_graph_memory()),
            ("driver_version", done(hip::runtime::driver_version())),
            ("profiler_start", hip::runtime::profiler_start()),
            ("profiler_stop", hip::runtime::profiler_stop()),
            ("Stream::new", done(Stream::new(&device))),
            ("Stream::with_cu_mask", done(Stream::with_cu_mask(&device, &[1]))),
            ("Stream::priority", done(stream.priority())),
            ("Stream::is_blocking", done(stream.is_blocking())),
            ("Stream::cu_mask", done(stream.cu_mask())),
            ("Stream::synchronize", stream.synchronize()),
            ("Stream::is_idle", done(stream.is_idle())),
            ("Stream::capture", done(stream.capture(|_| Ok(())))),
            ("Stream::wait_event", stream.wait_event(event)),
            ("Stream::record", done(stream.record())),
            ("Stream::completion", done(stream.completion())),
            ("Stream::launch_host_function", stream.launch_host_function(|| {})),
            ("Event::new", done(Event::new(&device))),
            ("Event::record", event.record(stream)),
            ("Event::synchronize", event.synchronize()),
            ("Event::is_complete", done(event.is_complete())),
            ("Stream::wait_for", stream.wait_for(&device.default_stream())),
            ("Event::elapsed_since", done(event.elapsed_since(event))),
            ("DeviceBuffer::uninit", done(DeviceBuffer::<u8>::uninit(&device, 1))),
            ("DeviceBuffer::uninit_async", done(DeviceBuffer::<u8>::uninit_async(stream, 1))),
            ("DeviceBuffer::fill", buffer.fill(1)),
            ("DeviceBuffer::fill_async", buffer.fill_async(stream, 1)),
            ("DeviceBuffer::copy_from_slice", buffer.copy_from_slice(&[0; 64])),
            ("DeviceBuffer::to_vec", done(buffer.to_vec())),
            ("DeviceBuffer::copy_from_pinned_async", buffer.copy_from_pinned_async(stream, &*pinned)),
            ("DeviceBuffer::ipc_handle", done(buffer.ipc_handle())),
            ("DevicePtr::attributes", done(buffer.as_device_ptr().attributes())),
            ("PinnedBuffer::zeroed", done(PinnedBuffer::<u8>::zeroed(&device, 1))),
            ("ManagedBuffer::zeroed", done(ManagedBuffer::<u8>::zeroed(&device, 1))),
            ("Module::load", done(Module::load(&device, kernels(&device)))),
            ("Module::kernel", done(module.kernel("vector_add"))),
            ("Module::global", done(module.global::<u32>("counters"))),
            ("Kernel::attribute", done(kernel.attribute(FunctionAttribute::REGISTERS))),
            ("Kernel::max_potential_block_size", done(kernel.max_potential_block_size(0))),
            ("Kernel::active_blocks_per_compute_unit", done(kernel.active_blocks_per_compute_unit(64, 0))),
            // SAFETY: 64 elements, which the kernel checks against.
            ("Kernel::launch", unsafe { kernel.launch(stream, config, (&mut *buffer, 1, 64u32)) }),
            ("Graph::new", done(Graph::new(&device))),
            ("MemoryPool::new", done(MemoryPool::new(&device, PoolOptions::new()))),
            ("Signal::new", done(Signal::new(&device, 0))),
        ];
        #[cfg(feature = "rocm-6-2")]
        results.push(("proc_address", done(hip::runtime::proc_address(c"hipInit"))));
        if let Some(shared) = &self.shared {
            results.push(("Event::ipc_handle", done(shared.ipc_handle())));
        }
        if let Some(managed) = &mut self.managed {
            results.extend([
                ("ManagedBuffer::advise", managed.advise(MemoryAdvice::ReadMostly(true))),
                ("ManagedBuffer::prefetch_async", managed.prefetch_async(stream, MemoryLocation::Host)),
                ("ManagedBuffer::is_read_mostly", done(managed.is_read_mostly())),
                ("ManagedBuffer::preferred_location", done(managed.preferred_location())),
                ("ManagedBuffer::accessed_by", done(managed.accessed_by())),
            ]);
        }
        if let Some((clone, other, exec, node)) = &mut self.graph {
            let dot = std::env::temp_dir().join(format!("hip-rs-is-not-written-{}.dot", std::process::id()));
            let event = Arc::new(Event::new(&device));
            results.extend([
                ("Event::new for a graph", done(event.as_ref().as_ref().map_err(Clone::clone))),
                ("Graph::try_clone", done(other.try_clone())),
                ("Graph::nodes", done(other.nodes())),
                ("Graph::edges", done(other.edges())),
                ("Graph::add_empty", done(other.add_empty(&[]))),
                ("Graph::instantiate", done(clone.instantiate())),
                ("Graph::write_dot", clone.write_dot(dot, false)),
                ("GraphExec::launch", exec.launch(stream)),
                ("GraphExec::upload", exec.upload(stream)),
                ("GraphExec::set_enabled", exec.set_enabled(*node, true)),
                ("GraphExec::is_enabled", done(exec.is_enabled(*node))),
                ("GraphExec::update", exec.update(clone)),
            ]);
        }
        if let Some(pool) = &self.pool {
            results.extend([
                ("MemoryPool::trim", pool.trim(0)),
                ("MemoryPool::usage", done(pool.usage())),
                ("MemoryPool::set_release_threshold", pool.set_release_threshold(0)),
                ("MemoryPool::uninit_async", done(pool.uninit_async::<u8>(stream, 1))),
                ("Device::set_memory_pool", device.set_memory_pool(pool)),
            ]);
        }
        if let Some(signal) = &self.signal {
            results.push(("Stream::write_signal", stream.write_signal(signal, 2)));
        }
        if let Some(other) = Device::all().unwrap_or_default().iter().find(|other| **other != device) {
            let link = device.link_to(other).map(|link| link.kind == LinkType::Pcie);
            results.extend([
                ("Device::link_to", done(link)),
                ("Device::enable_peer_access", device.enable_peer_access(other)),
                ("Device::disable_peer_access", device.disable_peer_access(other)),
            ]);
        }
        results
    }
}

fn assert_refused(results: Vec<(&'static str, hip::Result<()>)>, why: impl Fn(&Error) -> bool) {
    assert!(results.len() > 60);
    for (call, result) in results {
        assert!(result.as_ref().is_err_and(&why), "{call}: {result:?}");
    }
}

#[test]
fn a_host_function_calls_nothing_and_what_it_drops_goes_later() {
    let Some(mut things) = Things::new() else { return };
    let stream = Stream::new(&things.device).unwrap();
    let (sender, receiver) = mpsc::channel();
    stream
        .launch_host_function(move || {
            let results = things.call();
            drop(things);
            sender.send((results, hip::runtime::peek_last_error(), hip::runtime::take_last_error())).unwrap();
        })
        .unwrap();
    let (results, peeked, taken) = receiver.recv().unwrap();
    assert_refused(results, |error| matches!(error, Error::InHostFunction));
    assert_eq!((peeked, taken), (hip::Status::SUCCESS, hip::Status::SUCCESS));
    stream.synchronize().unwrap();
}

#[test]
fn a_thread_that_ends_calls_nothing_and_what_it_drops_goes_later() {
    struct Last(Option<Things>, mpsc::Sender<Vec<(&'static str, hip::Result<()>)>>);
    impl Drop for Last {
        fn drop(&mut self) {
            self.1.send(self.0.take().unwrap().call()).unwrap();
        }
    }
    thread_local!(static LAST: RefCell<Option<Last>> = const { RefCell::new(None) });
    let Some(things) = Things::new() else { return };
    let device = things.device;
    let (sender, receiver) = mpsc::channel();
    let end = move || {
        // Created before HIP's data of the thread, and so dropped after it.
        LAST.with_borrow_mut(|last| *last = Some(Last(Some(things), sender)));
        device.memory_info().unwrap();
    };
    std::thread::spawn(end).join().unwrap();
    assert_refused(receiver.recv().unwrap(), |error| matches!(error, Error::ThreadEnding));
    device.synchronize().unwrap();
}
