//! Checks with ROCm's own log of calls: `Debug` never calls the runtime, which may be busy, broken or slow, and options
//! are passed to the runtime, which has no other visible effect here.

use std::fmt::Debug;
use std::process::Command;

use hip::device::CachePreference;
use hip::dlpack::Tensor;
use hip::graph::GraphFill;
use hip::memory::pool::{MemoryPool, PoolOptions};
use hip::memory::{
    Coherence, MemoryAdvice, MemoryAttach, MemoryLocation, PinnedOptions, PitchedBuffer, RegisterOptions,
    RegisteredBuffer,
};
use hip::module::LoadOptions;
use hip::stream::Signal;
use hip::{
    Device, DeviceBuffer, Event, EventOptions, Graph, LaunchConfig, ManagedBuffer, Module, PinnedBuffer, Stream,
    StreamOptions,
};

use crate::{device, is_child, kernels, skipped};

/// Runs this test again, in a process whose runtime logs its calls, with the same command line, including the words of
/// another loader.
fn with_log(test: &str) -> Option<String> {
    let line = std::fs::read("/proc/self/cmdline").ok()?;
    let words: Vec<&str> = line.split(|&byte| byte == 0).filter_map(|word| std::str::from_utf8(word).ok()).collect();
    let program = words.iter().position(|word| word.contains("/deps/gpu-"))?;
    let output = Command::new(words[0])
        .args(&words[1..=program])
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .envs([("HIP_TEST_CHILD", "1"), ("AMD_LOG_LEVEL", "3")])
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    Some(text)
}

/// Objects that implement `Debug`. Those that the runtime cannot create are left out.
fn things(device: &Device) -> Vec<Box<dyn Debug>> {
    let stream = Stream::new(device).unwrap();
    let module = Module::load(device, kernels(device)).unwrap();
    let (mut buffer, other) = (DeviceBuffer::<u32>::zeroed(device, 64).unwrap(), vec![1u8, 2, 3]);
    let pinned = PinnedBuffer::<f32>::with_options(device, 16, PinnedOptions::new().mapped(true)).unwrap();
    let info = module.kernels().next().unwrap().clone();
    let shown: String = [
        format!("{:?}", buffer.as_slice_mut()),
        format!("{:?}", buffer.as_slice()),
        format!("{:?}", buffer.as_slice().chunks(3)),
        format!("{:?} {:?}", pinned.slice(..3), pinned.as_device_slice()),
    ]
    .concat();
    assert!(shown.contains("DeviceSlice"));
    let mut things: Vec<Box<dyn Debug>> = vec![
        Box::new(*device),
        Box::new(device.properties().unwrap()),
        Box::new(module.kernel("vector_add").unwrap()),
        Box::new(info),
        Box::new(module),
        Box::new(stream.record().unwrap()),
        Box::new(Event::new(device).unwrap()),
        Box::new(stream.completion().unwrap()),
        Box::new(StreamOptions::new()),
        Box::new(buffer.as_device_ptr()),
        Box::new(buffer.as_device_ptr().attributes().unwrap()),
        Box::new(Tensor::from_buffer(DeviceBuffer::from_slice(device, &other).unwrap(), &[3, 1]).unwrap()),
        Box::new(pinned),
        Box::new(PitchedBuffer::<u8>::zeroed(device, (5, 6)).unwrap()),
        Box::new(LaunchConfig::new(1, 64)),
        Box::new(device.default_stream()),
        Box::new(hip::Status::UNKNOWN),
    ];
    things.extend(Signal::new(device, 1).ok().map(|thing| Box::new(thing) as Box<dyn Debug>));
    things.extend(ManagedBuffer::<i8>::zeroed(device, 9).ok().map(|thing| Box::new(thing) as Box<dyn Debug>));
    things.extend(
        RegisteredBuffer::new(device, vec![0i8; 9], RegisterOptions::new())
            .ok()
            .map(|thing| Box::new(thing) as Box<dyn Debug>),
    );
    things.extend(MemoryPool::new(device, PoolOptions::new()).ok().map(|thing| Box::new(thing) as Box<dyn Debug>));
    if let Ok(mut graph) = Graph::new(device) {
        let node = graph.add_fill(&[], GraphFill::new(&mut buffer, 1)).unwrap();
        let exec = graph.instantiate().unwrap();
        things.extend([Box::new(node) as Box<dyn Debug>, Box::new(exec), Box::new(graph)]);
    }
    things.push(Box::new(DeviceBuffer::<u64>::uninit_async(&stream, 3).ok()));
    things.push(Box::new(buffer));
    things.push(Box::new(stream));
    things
}

/// Writes a line to stderr in a single write, because the runtime logs the calls of other threads meanwhile.
fn mark(what: &str) {
    use std::io::Write as _;
    std::io::stderr().write_all(format!("\n-- {what}\n").as_bytes()).unwrap();
}

#[test]
fn debug_calls_nothing() {
    const TEST: &str = "debug::debug_calls_nothing";
    let Some(device) = device() else { return };
    if is_child() {
        let things = things(&device);
        mark("shown");
        let text: String = things.iter().map(|thing| format!("{thing:?} {thing:#?}\n")).collect();
        mark("called");
        device.memory_info().unwrap();
        mark("end");
        assert!(text.lines().count() > 20);
        return;
    }
    if device.is_simulated() {
        skipped(&"the embedded runtime logs no calls");
        return;
    }
    let Some(text) = with_log(TEST) else {
        skipped(&"the command line of this process cannot be read");
        return;
    };
    let between = |from: &str, to: &str| {
        let start = text.find(from).unwrap_or_else(|| panic!("{text}"));
        &text[start..start + text[start..].find(to).unwrap()]
    };
    let calls = |text: &str| text.lines().filter(|line| line.contains(": hip") || line.contains(" hip")).count();
    assert!(calls(between("-- called", "-- end")) > 0, "the log tells of calls: {text}");
    let shown = between("-- shown", "-- called");
    assert_eq!(calls(shown), 0, "{shown}");
}

/// Calls with options: the call, the name of the C function, the index of the logged argument that shows the option,
/// and its expected value.
type Asked = (&'static str, &'static str, usize, &'static str);

const OPTIONS: &[Asked] = &[
    ("an event whose waiter sleeps", "hipEventCreateWithFlags", 1, "1"),
    ("coherent memory", "hipHostMalloc", 2, "1073741825"),
    ("memory that the host writes past its caches", "hipHostMalloc", 2, "5"),
    ("coarse-grained memory", "hipHostRegister", 2, "11"),
    ("memory for one stream", "hipStreamAttachMemAsync", 3, "4"),
    ("memory that a device uses", "hipMemAdvise", 2, "5"),
    ("memory that a device caches", "hipMemAdvise", 2, "100"),
    ("a block with shared memory", "hipModuleOccupancyMaxPotentialBlockSize", 1, "1024"),
    ("a larger cache", "hipDeviceSetCacheConfig", 0, "hipFuncCachePreferL1"),
    ("code with options", "hipModuleLoadDataEx", 0, ""),
    ("a graph that is ready", "hipGraphUpload", 0, ""),
];

/// Makes the call. The runtime need not support it.
fn ask(device: &Device, what: &str) {
    let pinned = |options| PinnedBuffer::<u8>::with_options(device, 64, options).map(drop);
    let managed = || ManagedBuffer::<u8>::zeroed(device, 64).unwrap();
    let advise = |advice| managed().advise(advice);
    let place = MemoryLocation::Device(*device);
    let _ = match what {
        "an event whose waiter sleeps" => {
            Event::with_options(device, EventOptions::new().blocking_sync(true)).map(drop)
        }
        "coherent memory" => pinned(PinnedOptions::new().coherence(Coherence::Coherent)),
        "memory that the host writes past its caches" => pinned(PinnedOptions::new().write_combined(true)),
        "coarse-grained memory" => {
            RegisteredBuffer::new(device, vec![0u8; 64], RegisterOptions::new().coarse_grained(true)).map(drop)
        }
        "memory for one stream" => managed().attach_async(&Stream::new(device).unwrap(), MemoryAttach::Single),
        "memory that a device uses" => advise(MemoryAdvice::AccessedBy(place, true)),
        "memory that a device caches" => advise(MemoryAdvice::CoarseGrained(true)),
        "a block with shared memory" => Module::load(device, kernels(device))
            .unwrap()
            .kernel("vector_add")
            .unwrap()
            .max_potential_block_size(1024)
            .map(drop),
        "a larger cache" => device.set_cache_preference(CachePreference::L1),
        "code with options" => {
            let options = LoadOptions { max_registers: Some(64), optimization_level: Some(3), verbose: true };
            Module::load_with(device, kernels(device), &options).map(drop)
        }
        "a graph that is ready" => {
            let mut graph = Graph::new(device).unwrap();
            graph.add_empty(&[]).unwrap();
            graph.instantiate().unwrap().upload(&Stream::new(device).unwrap())
        }
        _ => panic!("{what}"),
    };
}

#[test]
fn options_reach_the_runtime() {
    let Some(device) = device() else { return };
    if is_child() {
        for (what, ..) in OPTIONS {
            mark(what);
            ask(&device, what);
        }
        mark("end");
        return;
    }
    if device.is_simulated() {
        skipped(&"the embedded runtime logs no calls");
        return;
    }
    let Some(text) = with_log("debug::options_reach_the_runtime") else {
        skipped(&"the command line of this process cannot be read");
        return;
    };
    for (what, function, index, expected) in OPTIONS {
        let part = text.split("\n-- ").find(|part| part.starts_with(what)).unwrap_or_else(|| panic!("{what}: {text}"));
        let call = part.split(&format!(" {function} ( ")).nth(1).unwrap_or_else(|| panic!("{what}: {part}"));
        let argument =
            call.split(" )").next().unwrap().split(", ").nth(*index).unwrap_or_else(|| panic!("{what}: {part}"));
        // Without an expected value, only the call is checked.
        assert!(expected.is_empty() || argument == *expected, "{what}: {argument} in place of {expected}: {part}");
    }
}
