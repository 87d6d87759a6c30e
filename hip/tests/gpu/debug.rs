//! `Debug` never calls the runtime, which may be busy, broken or slow: ROCm's own log of calls says so.

use std::fmt::Debug;
use std::process::Command;

use hip::dlpack::Tensor;
use hip::{
    Device, DeviceBuffer, Event, Graph, GraphFill, LaunchConfig, ManagedBuffer, MemoryPool, Module, PinnedBuffer,
    PinnedOptions, PitchedBuffer, PoolOptions, RegisterOptions, RegisteredBuffer, Signal, Stream, StreamOptions,
};

use crate::{device, is_child, kernels, skipped};

/// This test again, in a process whose runtime logs its calls: the same command line, another loader's words included.
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

/// What is made and can be shown. Things that the runtime cannot make are left out.
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
        Box::new(stream.finished().unwrap()),
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

#[test]
fn debug_calls_nothing() {
    const TEST: &str = "debug::debug_calls_nothing";
    let Some(device) = device() else { return };
    if is_child() {
        let things = things(&device);
        eprintln!("\n-- shown");
        let text: String = things.iter().map(|thing| format!("{thing:?} {thing:#?}\n")).collect();
        eprintln!("\n-- called");
        device.memory_info().unwrap();
        eprintln!("\n-- end");
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
