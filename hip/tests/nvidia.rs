//! NVIDIA's GPUs, and the errors where there is none. `HIP_RS_BACKEND=cuda` asks for one.
#![cfg(feature = "nvidia")]

#[path = "gpu/common.rs"]
#[allow(dead_code)]
mod common;

use std::process::Command;

use common::{kernels, skipped};
use hip::module::ParameterKind;
use hip::stream::{Signal, WaitCondition};
use hip::{Backend, Device, DeviceBuffer, DevicePtr, Error, Graph, LaunchConfig, Module, PinnedBuffer, Status, Stream};

const CHILD: &str = "HIP_TEST_CHILD";

/// Returns whether this is the process for the test `name`, with that choice in the environment. If not, starts it and
/// waits.
fn in_child(name: &str, choice: Option<&str>) -> bool {
    if std::env::var_os(CHILD).is_some() {
        return true;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture"]).env(CHILD, "1").env_remove("HIP_RS_BACKEND");
    command.envs(choice.map(|choice| ("HIP_RS_BACKEND", choice)));
    let output = command.output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    if let Some((_, why)) = text.split_once("SKIPPED: ") {
        skipped(&why);
    }
    false
}

/// The GPU, if there is one.
fn device() -> Option<Device> {
    hip::select_backend(Backend::Cuda).unwrap();
    match Device::get(0) {
        Ok(device) => Some(device),
        Err(error) => {
            assert!(error.is_no_gpu(), "{error}");
            skipped(&error);
            None
        }
    }
}

fn module() -> Option<Module> {
    let device = device()?;
    Some(Module::load(&device, kernels(&device)).unwrap())
}

#[test]
fn the_variable_asks_for_it_and_errors_say_what_is_missing() {
    if !in_child("the_variable_asks_for_it_and_errors_say_what_is_missing", Some("cuda")) {
        return;
    }
    assert_eq!(hip::runtime::chosen_backend().unwrap(), Some(Backend::Cuda));
    assert_eq!(hip::backend().unwrap(), Backend::Cuda);
    assert!(matches!(hip::select_backend(Backend::Rocm), Err(Error::BackendInUse { .. })));
    match Device::get(0) {
        Ok(device) => {
            let properties = device.properties().unwrap();
            assert!(!device.is_simulated() && properties.arch.is_nvidia(), "{properties:?}");
            assert_eq!(properties.warp_size, 32);
            assert_eq!(hip::select_any_gpu().unwrap(), Backend::Cuda);
        }
        Err(error) => {
            let text = error.to_string();
            assert!(error.is_no_gpu(), "{text}");
            assert!(text.contains("NVIDIA's") && !text.contains("/dev/kfd") && !text.contains("libamdhip64"), "{text}");
            assert_eq!(hip::select_any_gpu().unwrap_err().to_string(), text);
        }
    }
}

#[test]
fn it_is_not_used_unasked() {
    if !in_child("it_is_not_used_unasked", None) {
        return;
    }
    assert_eq!(hip::runtime::chosen_backend().unwrap(), None);
    if let Ok(backend) = hip::sim_if_no_gpu() {
        assert_ne!(backend, Backend::Cuda);
        assert_eq!(hip::runtime::chosen_backend().unwrap(), Some(backend));
    }
}

#[test]
fn any_gpu_is_one_of_them_or_an_error_with_both_reasons() {
    if !in_child("any_gpu_is_one_of_them_or_an_error_with_both_reasons", None) {
        return;
    }
    match hip::select_any_gpu() {
        Ok(backend) => {
            assert_eq!(hip::backend().unwrap(), backend);
            assert_eq!(Device::get(0).unwrap().is_simulated(), backend == Backend::Sim);
        }
        Err(error) => {
            let text = error.to_string();
            assert!(cfg!(not(feature = "sim")) && matches!(error, Error::NoGpu { .. }) && error.is_no_gpu(), "{text}");
            assert!(text.contains("\nAMD: ") && text.contains("\nNVIDIA: ") && text.contains("sim"), "{text}");
        }
    }
}

#[test]
fn arguments_are_pointers_or_numbers_of_their_sizes() {
    let Some(module) = module() else { return };
    let device = module.device();
    let stream = Stream::new(&device).unwrap();
    let add = module.kernel("vector_add").unwrap();
    let kinds: Vec<_> = add.info().parameters.iter().map(|parameter| parameter.kind.clone()).collect();
    assert_eq!(kinds[..3], [const { ParameterKind::PointerOrValue }; 3]);
    let a = DeviceBuffer::from_slice(&device, &[1.0f32, 2.0, 3.0]).unwrap();
    let mut c = DeviceBuffer::<f32>::zeroed(&device, 3).unwrap();
    let config = LaunchConfig::for_elements(3, 64);
    let address = a.as_device_ptr().address();
    // SAFETY: three elements; an address as a number is the memory of `a`.
    unsafe { add.launch(&stream, config, (&a, address, &mut c, 3u32)) }.unwrap();
    assert_eq!(c.to_vec().unwrap(), [2.0, 4.0, 6.0]);
    // SAFETY: not launched.
    let short = unsafe { add.launch(&stream, config, (&a, 1u32, &mut c, 3u32)) }.unwrap_err();
    assert!(matches!(short, Error::Argument { index: 1, .. }), "{short}");
    // SAFETY: not launched.
    let wide = unsafe { add.launch(&stream, config, (&a, &a, &mut c, 3u64)) }.unwrap_err();
    assert!(matches!(wide, Error::Argument { index: 3, .. }), "{wide}");
}

#[test]
fn limits_are_the_devices() {
    let Some(module) = module() else { return };
    let device = module.device();
    let properties = device.properties().unwrap();
    let stream = Stream::new(&device).unwrap();
    let empty = module.kernel("empty").unwrap();
    // More than 2^32 threads in x, which AMD's devices cannot run.
    // SAFETY: it does nothing.
    unsafe { empty.launch(&stream, LaunchConfig::new(5_000_000_u32, 1024), ()) }.unwrap();
    stream.synchronize().unwrap();
    for config in [LaunchConfig::new(1, 2048), LaunchConfig::new((1, 65536), 1), LaunchConfig::new(1, (1, 1, 128))] {
        // SAFETY: as above.
        let error = unsafe { empty.launch(&stream, config, ()) }.unwrap_err();
        assert!(matches!(error, Error::Geometry { .. }), "{error}");
    }
    // Shared memory that the kernel has to ask for, in every kind of launch.
    let most = u32::try_from(properties.shared_memory_per_block_opt_in).unwrap();
    assert!(most > 48 << 10 && u64::from(most) > properties.shared_memory_per_block);
    for name in ["reverse_in_dynamic_lds", "reverse_in_lds"] {
        let reverse = module.kernel(name).unwrap();
        let dynamic = most - reverse.info().static_shared_bytes - u32::from(name == "reverse_in_lds") * 1024;
        let config = LaunchConfig::new(1, 256).with_shared_bytes(dynamic);
        assert_eq!(reverse.active_blocks_per_compute_unit(256, dynamic).unwrap(), 1, "{name}");
        let numbers: Vec<i32> = (0..256).collect();
        let mut data = DeviceBuffer::from_slice(&device, &numbers).unwrap();
        // SAFETY: 256 threads, elements and numbers in shared memory.
        unsafe { reverse.launch(&stream, config, (&mut data,)) }.unwrap();
        assert_eq!(data.to_vec().unwrap()[0], 255, "{name}");
        let mut graph = Graph::new(&device).unwrap();
        // SAFETY: as above.
        unsafe { graph.add_kernel(&[], &reverse, config, (&mut data,)) }.unwrap();
        graph.instantiate().unwrap().launch(&stream).unwrap();
        assert_eq!(data.to_vec().unwrap(), numbers, "{name}");
        // SAFETY: not launched.
        let more = unsafe { reverse.launch(&stream, config.with_shared_bytes(most + 1), (&mut data,)) }.unwrap_err();
        assert!(matches!(more, Error::Geometry { .. }), "{more}");
    }
}

/// The driver has no signal memory: a word of pinned memory is one.
#[test]
fn streams_and_the_host_share_signals() {
    let Some(device) = device() else { return };
    let signal = match Signal::new(&device, 0) {
        Ok(signal) => signal,
        Err(error @ Error::Unsupported { .. }) => return skipped(&error),
        Err(error) => panic!("{error}"),
    };
    let stream = Stream::new(&device).unwrap();
    assert_eq!(signal.load().unwrap(), 0);
    stream.wait_signal(&signal, WaitCondition::AtLeast(2)).unwrap();
    stream.write_signal(&signal, 7).unwrap();
    assert!(!stream.is_idle().unwrap());
    signal.store(2).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(signal.load().unwrap(), 7);
}

fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut std::task::Context::from_waker(&waker)) {
            std::task::Poll::Ready(output) => return output,
            std::task::Poll::Pending => std::thread::park(),
        }
    }
}

/// After a fault, CUDA's context is lost: calls return the error, and nothing hangs.
#[test]
fn a_fault_is_an_error_of_every_call_from_then_on() {
    if !in_child("a_fault_is_an_error_of_every_call_from_then_on", Some("cuda")) {
        return;
    }
    let Some(module) = module() else { return };
    let device = module.device();
    let (stream, other) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let (store, slow) = (module.kernel("store_index").unwrap(), module.kernel("slow_store").unwrap());
    let mut data = DeviceBuffer::<i32>::zeroed(&device, 64).unwrap();
    let mut out = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let mut pinned = PinnedBuffer::<i32>::zeroed(&device, 64).unwrap();
    // SAFETY: 64 threads, 64 elements.
    unsafe { slow.launch(&other, LaunchConfig::new(1, 64), (&mut out, 1 << 20, 1u32)) }.unwrap();
    // Work that is dropped while it is in flight, and is cleaned up later.
    drop(DeviceBuffer::<i32>::zeroed(&device, 1 << 20).unwrap());
    out.fill_async(&other, 1).unwrap();
    let nowhere = DevicePtr::<i32>::from_address(0x10);
    // SAFETY: none of the caller's memory is written: the address is that of no memory.
    unsafe { store.launch(&stream, LaunchConfig::new(1, 64), (nowhere,)) }.unwrap();
    // The driver does not call its host function any more.
    let awaited = stream.completion().and_then(block_on).unwrap_err();
    assert!(matches!(awaited, Error::DeviceLost(_)), "{awaited}");
    let error = stream.synchronize().unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::DeviceLost(_)), "{text}");
    assert_eq!(error.status(), Some(Status::ILLEGAL_ADDRESS), "{text}");
    assert!(text.contains("store_index<<<") && text.contains("restart the process"), "{text}");
    let results = [
        // SAFETY: 64 threads, 64 elements.
        ("launch", unsafe { store.launch(&other, LaunchConfig::new(1, 64), (&mut data,)) }),
        ("synchronize", stream.synchronize()),
        ("synchronize another stream", other.synchronize()),
        ("synchronize the device", device.synchronize()),
        ("copy to the host", data.to_vec().map(drop)),
        ("copy from the host", data.copy_from_slice(&[1; 64])),
        ("copy to pinned memory", data.copy_to_pinned_async(&other, &mut pinned)),
        ("allocate", DeviceBuffer::<i32>::zeroed(&device, 64).map(drop)),
        ("make a stream", Stream::new(&device).map(drop)),
        ("load", Module::load(&device, kernels(&device)).map(drop)),
        ("memory_info", device.memory_info().map(drop)),
    ];
    for (what, result) in results {
        let error = result.expect_err(what);
        assert!(matches!(error, Error::DeviceLost(_)), "{what}: {error}");
    }
    drop((data, out, pinned, stream, other, store, slow, module));
    assert!(device.synchronize().is_err());
}
