//! Random operations on several streams and threads, each compared with the same operations on a `Vec`.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hip::graph::GraphFill;
use hip::{
    Device, DeviceBuffer, Error, Event, Graph, GraphExec, Kernel, LaunchConfig, ManagedBuffer, Module, PinnedBuffer,
    Status, Stream, StreamOptions,
};

use crate::{eventually, kernels, module};

const LEN: usize = 256;
const STEPS: usize = 300;

/// The variable with the duration of the stress test with many threads in seconds; without it, the test takes some
/// hundred steps per thread.
const SECONDS: &str = "HIP_TEST_STRESS_SECONDS";

/// Data that all threads of a device share.
struct Shared {
    stream: Stream,
    buffer: Mutex<(DeviceBuffer<i32>, Vec<i32>)>,
}

impl Shared {
    fn new(device: &Device) -> Self {
        let buffer = (DeviceBuffer::zeroed(device, LEN).unwrap(), vec![0; LEN]);
        Self { stream: Stream::new(device).unwrap(), buffer: Mutex::new(buffer) }
    }
}

/// A small generator: the same operations in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }
}

struct Player {
    random: Random,
    device: Device,
    add: Kernel,
    streams: Vec<Stream>,
    buffers: Vec<(DeviceBuffer<i32>, Vec<i32>)>,
    pinned: Vec<(PinnedBuffer<i32>, Vec<i32>)>,
    shared: Arc<Shared>,
    /// The number of calls of host functions that were queued, and a counter that they increment.
    calls: (u32, Arc<AtomicU32>),
    /// A graph that was launched earlier, to be dropped while it may run.
    graph: Option<GraphExec>,
    /// Whether the process runs no other tests. Some streams are blocking then, and while such a stream is captured
    /// ROCm 7.2 refuses stream-ordered memory to every thread.
    alone: bool,
}

impl Player {
    fn new(seed: u64, device: Device, add: Kernel, shared: &Arc<Shared>) -> Self {
        let mut streams: Vec<Stream> = (0..3).map(|_| Stream::new(&device).unwrap()).collect();
        streams.push(shared.stream.clone());
        let zeros = vec![0; LEN];
        let buffers = (0..3).map(|_| (DeviceBuffer::zeroed(&device, LEN).unwrap(), zeros.clone())).collect();
        let pinned = (0..2).map(|_| (PinnedBuffer::zeroed(&device, LEN).unwrap(), zeros.clone())).collect();
        let (shared, calls) = (Arc::clone(shared), (0, Arc::default()));
        let alone = seconds().is_some();
        Self { random: Random(seed), device, add, streams, buffers, pinned, shared, calls, graph: None, alone }
    }

    /// Replaces one of its own streams.
    fn new_stream(&mut self) -> Stream {
        let blocking = self.alone && self.random.below(4) == 0;
        Stream::with_options(&self.device, StreamOptions::new().blocking(blocking)).unwrap()
    }

    /// Captures work of one stream, which another one joins, into a graph, with blocking calls in the capture.
    fn capture(&mut self, own: usize, b: usize, value: i32) {
        let (first, second) = (&self.streams[own], &self.streams[(own + 1) % (self.streams.len() - 1)]);
        let other = (b + 1) % self.buffers.len();
        let (mut one, mut two) = (None, None);
        for (index, buffer) in self.buffers.iter_mut().enumerate() {
            match index {
                _ if index == b => one = Some(buffer),
                _ if index == other => two = Some(buffer),
                _ => {}
            }
        }
        let ((data, model), (more, more_model)) = (one.unwrap(), two.unwrap());
        let how = self.random.below(6);
        let (add, device) = (&self.add, self.device);
        let config = LaunchConfig::for_elements(LEN, 64);
        let graph = first.capture(|first| {
            data.fill_async(first, value)?;
            match how {
                0 => assert_eq!(&more.to_vec()?, more_model),
                1 => drop(DeviceBuffer::<i32>::zeroed(&device, LEN)?),
                2 => device.synchronize()?,
                3 => drop(Module::load(&device, kernels(&device))?),
                4 => return Err(Error::EventNotRecorded),
                _ => {
                    let fork = Event::without_timing(&device)?;
                    fork.record(first)?;
                    second.wait_event(&fork)?;
                    more.fill_async(second, value)?;
                    let join = Event::without_timing(&device)?;
                    join.record(second)?;
                    first.wait_event(&join)?;
                }
            }
            // SAFETY: LEN elements, and the kernel checks against it.
            unsafe { add.launch(first, config, (&mut *data, 1i32, LEN as u32)) }
        });
        match graph {
            Err(Error::EventNotRecorded) if how == 4 => return,
            graph => {
                let exec = graph.unwrap().instantiate().unwrap();
                exec.launch(first).unwrap();
                self.graph = Some(exec);
            }
        }
        model.fill(value + 1);
        if how == 5 {
            more_model.fill(value);
        }
    }

    /// Allocates memory in the order of a stream, uses it and drops it.
    fn scratch(&mut self, which: usize, b: usize, value: i32) {
        let (stream, (buffer, model)) = (&self.streams[which], &mut self.buffers[b]);
        let mut scratch = match DeviceBuffer::<i32>::uninit_async(stream, LEN) {
            Err(error) if error.status() == Some(Status::NOT_SUPPORTED) => return,
            Err(error) if self.alone && error.status() == Some(Status(900)) => return,
            scratch => scratch.unwrap(),
        };
        scratch.fill_async(stream, value).unwrap();
        buffer.copy_from_device_async(stream, &scratch).unwrap();
        model.fill(value);
    }

    fn step(&mut self) {
        let r = &mut self.random;
        let which = r.below(self.streams.len());
        let (b, p) = (r.below(self.buffers.len()), r.below(self.pinned.len()));
        let value = r.below(1000) as i32;
        let start = r.below(LEN);
        let len = r.below(LEN - start + 1);
        let operation = r.below(26);
        let source = (b + 1) % self.buffers.len();
        // The last stream is the shared one.
        let own = which % (self.streams.len() - 1);
        match operation {
            17 | 18 => return self.capture(own, b, value),
            19 => return self.scratch(which, b, value),
            20 => {
                self.streams[own] = self.new_stream();
                return;
            }
            _ => {}
        }
        let stream = &self.streams[which];
        let (pinned, on_host) = &mut self.pinned[p];
        match operation {
            // Twice as likely as the rest.
            0 | 1 => {
                let (buffer, model) = &mut self.buffers[b];
                let mut slice = buffer.slice_mut(start..start + len).unwrap();
                if len == 0 {
                    return;
                }
                let config = LaunchConfig::for_elements(len, 64);
                // SAFETY: `len` elements, and the kernel checks against it.
                unsafe { self.add.launch(stream, config, (&mut slice, value, len as u32)) }.unwrap();
                model[start..start + len].iter_mut().for_each(|x| *x += value);
            }
            2 => {
                let (buffer, model) = &mut self.buffers[b];
                buffer.slice_mut(start..start + len).unwrap().fill_async(stream, value).unwrap();
                model[start..start + len].fill(value);
            }
            3 => {
                let (buffer, model) = &mut self.buffers[b];
                buffer.copy_from_pinned_async(stream, &*pinned).unwrap();
                model.copy_from_slice(on_host);
            }
            4 => {
                let (buffer, model) = &self.buffers[b];
                buffer.copy_to_pinned_async(stream, &mut *pinned).unwrap();
                on_host.copy_from_slice(model);
            }
            5 => {
                let (from, from_model) = self.buffers.swap_remove(source);
                let at = if b == self.buffers.len() { source } else { b };
                let (to, to_model) = &mut self.buffers[at];
                let part = from.slice(start..start + len).unwrap();
                to.slice_mut(..len).unwrap().copy_from_device_async(stream, part).unwrap();
                to_model[..len].copy_from_slice(&from_model[start..start + len]);
                self.buffers.push((from, from_model));
            }
            6 => assert_eq!(pinned.as_slice().unwrap(), on_host),
            7 => {
                pinned.as_mut_slice().unwrap()[start..start + len].fill(value);
                on_host[start..start + len].fill(value);
            }
            8 => {
                let (buffer, model) = &self.buffers[b];
                assert_eq!(&buffer.slice(start..start + len).unwrap().to_vec().unwrap(), &model[start..start + len]);
            }
            9 => {
                let (buffer, model) = &mut self.buffers[b];
                model.fill(value);
                buffer.copy_from_slice(model).unwrap();
            }
            10 => {
                // Replaced while it may be in use.
                self.buffers[b] = (DeviceBuffer::zeroed(&self.device, LEN).unwrap(), vec![0; LEN]);
            }
            11 => {
                let calls = Arc::clone(&self.calls.1);
                self.calls.0 += 1;
                stream
                    .launch_host_function(move || {
                        calls.fetch_add(1, Ordering::SeqCst);
                    })
                    .unwrap();
            }
            12 => {
                // Dropped on a thread of the runtime, with work queued that uses it.
                let (old, _) = std::mem::replace(
                    &mut self.buffers[b],
                    (DeviceBuffer::zeroed(&self.device, LEN).unwrap(), vec![0; LEN]),
                );
                stream.launch_host_function(move || drop(old)).unwrap();
            }
            13 => {
                let event = stream.record().unwrap();
                self.streams[(which + 1) % self.streams.len()].wait_event(&event).unwrap();
            }
            14 => {
                let Ok(mut graph) = Graph::new(&self.device) else { return };
                let (buffer, model) = &mut self.buffers[b];
                let fill = graph.add_fill(&[], GraphFill::new(&mut *buffer, value)).unwrap();
                model.fill(value);
                let config = LaunchConfig::for_elements(LEN, 64);
                // SAFETY: LEN elements, and the kernel checks against it.
                unsafe { graph.add_kernel(&[fill], &self.add, config, (&mut *buffer, 1i32, LEN as u32)) }.unwrap();
                let exec = graph.instantiate().unwrap();
                exec.launch(stream).unwrap();
                model.iter_mut().for_each(|x| *x += 1);
                // The previous one may still run, and its buffer may be gone.
                self.graph = Some(exec);
            }
            15 => {
                let mut all = self.shared.buffer.lock().unwrap();
                let (buffer, model) = &mut *all;
                let config = LaunchConfig::for_elements(LEN, 64);
                // SAFETY: LEN elements, and the kernel checks against it.
                unsafe { self.add.launch(stream, config, (&mut *buffer, value, LEN as u32)) }.unwrap();
                model.iter_mut().for_each(|x| *x = x.wrapping_add(value));
            }
            16 => stream.record().unwrap().synchronize().unwrap(),
            21 => self.device.synchronize().unwrap(),
            22 => {
                // Unloaded while it may run.
                let module = Module::load(&self.device, kernels(&self.device)).unwrap();
                let add = module.kernel("add_in_place").unwrap();
                let (buffer, model) = &mut self.buffers[b];
                let config = LaunchConfig::for_elements(LEN, 64);
                // SAFETY: LEN elements, and the kernel checks against it.
                unsafe { add.launch(stream, config, (&mut *buffer, value, LEN as u32)) }.unwrap();
                model.iter_mut().for_each(|x| *x = x.wrapping_add(value));
            }
            23 => {
                // Freed while it may be in use.
                let mut fresh = PinnedBuffer::<i32>::zeroed(&self.device, LEN).unwrap();
                fresh.as_mut_slice().unwrap().fill(value);
                let (buffer, model) = &mut self.buffers[b];
                buffer.copy_from_pinned_async(stream, &fresh).unwrap();
                model.fill(value);
            }
            24 => {
                let mut managed = ManagedBuffer::<i32>::zeroed(&self.device, LEN).unwrap();
                managed.as_mut_slice().unwrap().fill(value);
                let config = LaunchConfig::for_elements(LEN, 64);
                // SAFETY: LEN elements, and the kernel checks against it.
                unsafe { self.add.launch(stream, config, (&mut managed, 1i32, LEN as u32)) }.unwrap();
                if value % 2 == 0 {
                    assert_eq!(managed.as_slice().unwrap(), [value + 1; LEN]);
                }
            }
            _ => {
                let (buffer, model) = &mut self.buffers[b];
                buffer.copy_from_slice_on(stream, &[value; LEN]).unwrap();
                model.fill(value);
                let mut back = [0; LEN];
                buffer.copy_to_slice_on(stream, &mut back).unwrap();
                assert_eq!(&back[..], model);
            }
        }
    }

    fn check(&self) {
        self.streams.iter().for_each(|stream| stream.synchronize().unwrap());
        {
            let all = self.shared.buffer.lock().unwrap();
            assert_eq!(all.0.to_vec().unwrap(), all.1);
        }
        for (buffer, model) in &self.buffers {
            assert_eq!(&buffer.to_vec().unwrap(), model);
        }
        for (pinned, model) in &self.pinned {
            assert_eq!(pinned.as_slice().unwrap(), model);
        }
    }
}

/// `threads` threads, taking `steps` steps each, and on until `end`.
fn play(modules: &[Module], threads: u64, steps: usize, end: Instant) {
    let shared: Vec<Arc<Shared>> = modules.iter().map(|module| Arc::new(Shared::new(&module.device()))).collect();
    std::thread::scope(|scope| {
        for seed in 0..threads {
            let at = seed as usize % modules.len();
            let (module, shared) = (&modules[at], &shared[at]);
            scope.spawn(move || {
                let add = module.kernel("add_in_place").unwrap();
                let mut player = Player::new(seed, module.device(), add, shared);
                loop {
                    for _ in 0..steps {
                        player.step();
                    }
                    player.check();
                    if Instant::now() >= end {
                        break;
                    }
                }
                // Streams that were replaced may have work left.
                let (made, counted) = &player.calls;
                eventually("every host function is called", || counted.load(Ordering::SeqCst) == *made);
            });
        }
    });
}

#[test]
fn random_work_on_streams_that_share_buffers() {
    let Some(module) = module() else { return };
    play(&[module], 4, STEPS, Instant::now());
}

#[test]
fn random_work_on_two_devices() {
    if !crate::is_child() {
        crate::in_child("stress::random_work_on_two_devices", &[("HIP_SIM_DEVICES", "2")]);
        return;
    }
    crate::device().unwrap();
    let modules: Vec<Module> =
        Device::all().unwrap().iter().map(|device| Module::load(device, crate::kernels(device)).unwrap()).collect();
    assert_eq!(modules.len(), 2);
    play(&modules, 4, STEPS, Instant::now());
}

#[test]
fn random_work_of_many_threads() {
    let Some(module) = module() else { return };
    play(&[module], 32, 40, Instant::now() + Duration::from_secs(seconds().unwrap_or(0)));
}

/// Returns the duration of the stress test, if this process is for it.
fn seconds() -> Option<u64> {
    std::env::var(SECONDS).ok().and_then(|seconds| seconds.parse().ok())
}
