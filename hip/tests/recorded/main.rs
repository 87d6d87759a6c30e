//! Arguments of runtime calls that have no other visible effect: a recording runtime is put before the real one.

#[path = "../gpu/common.rs"]
#[allow(dead_code, reason = "of the tests in tests/gpu too")]
mod common;
mod recorder;

use std::time::Duration;

use common::{image_kernel, kernels, skipped, supported};
use hip::device::CachePreference;
use hip::memory::array::{Array, ArrayShape};
use hip::memory::pool::{MemoryPool, PoolOptions};
use hip::module::LoadOptions;
use hip::sys::{hipFuncCachePreferEqual, hipFuncCachePreferL1, hipFuncCachePreferNone, hipFuncCachePreferShared};
use hip::texture::{Texture, TextureOptions};
use hip::{Backend, Device, DeviceBuffer, Graph, LaunchConfig, Module, Stream};
use recorder::{Recorder, calls, destroyed, is_there, made, set_cache_config};

/// The device of a recording runtime.
fn device() -> Option<Device> {
    if !is_there() {
        skipped(&"there is no GPU, and no software GPU in this build");
        return None;
    }
    hip::select_backend(Backend::Rocm).unwrap();
    hip::sys::set_provider(&Recorder).unwrap();
    match Device::get(0) {
        Ok(device) => Some(device),
        Err(error @ hip::Error::Version { .. }) => {
            skipped(&error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_pool_is_made_with_its_options() {
    let Some(device) = device() else { return };
    let most = if cfg!(feature = "rocm-6-2") { "65536" } else { "?" };
    let none = if cfg!(feature = "rocm-6-2") { "0" } else { "?" };
    for (options, handles, most) in [
        (PoolOptions::new().max_bytes(65536), "hipMemHandleTypeNone", most),
        (PoolOptions::new().shareable(true), "hipMemHandleTypePosixFileDescriptor", none),
    ] {
        // The runtime need not support pools.
        let (_, told) = calls(|| MemoryPool::new(&device, options));
        assert_eq!(told, [format!("hipMemPoolCreate device 0 handles {handles} most {most}")]);
    }
}

#[test]
fn a_module_is_loaded_with_its_options() {
    let Some(device) = device() else { return };
    let load = |options: LoadOptions| calls(|| Module::load_with(&device, kernels(&device), &options)).1.join("\n");
    let logs = "hipModuleLoadDataEx hipJitOptionInfoLogBufferSizeBytes=8192 hipJitOptionErrorLogBufferSizeBytes=8192";
    assert_eq!(load(LoadOptions::default()), format!("{logs} hipJitOptionLogVerbose=0"));
    let all = LoadOptions { max_registers: Some(64), optimization_level: Some(3), verbose: true };
    assert_eq!(
        load(all),
        format!("{logs} hipJitOptionLogVerbose=1 hipJitOptionMaxRegisters=64 hipJitOptionOptimizationLevel=3")
    );
}

#[test]
fn memory_of_graphs_is_trimmed() {
    let Some(device) = device() else { return };
    assert_eq!(calls(|| device.trim_graph_memory()).1, ["hipDeviceGraphMemTrim 0"]);
}

#[test]
fn what_caches_are_for_is_asked_and_said() {
    let Some(device) = device() else { return };
    for (raw, preference) in [
        (hipFuncCachePreferNone, CachePreference::None),
        (hipFuncCachePreferShared, CachePreference::Shared),
        (hipFuncCachePreferL1, CachePreference::L1),
        (hipFuncCachePreferEqual, CachePreference::Equal),
    ] {
        set_cache_config(raw);
        assert_eq!(device.cache_preference().unwrap(), preference);
        let (_, told) = calls(|| device.set_cache_preference(preference));
        assert_eq!(told, [format!("hipDeviceSetCacheConfig {raw:?}")]);
    }
}

#[cfg(feature = "rocm-7-0")]
#[test]
fn a_launch_has_its_attributes() {
    use hip::module::LaunchAttributes;

    let Some(device) = device() else { return };
    if hip::runtime_version().unwrap().0 < 7 {
        skipped(&"hipDrvLaunchKernelEx came with HIP 7.0");
        return;
    }
    let add = Module::load(&device, kernels(&device)).unwrap().kernel("add_in_place").unwrap();
    let stream = Stream::new(&device).unwrap();
    let mut data = DeviceBuffer::<i32>::zeroed(&device, 64).unwrap();
    let mut launch = |attributes| {
        // The runtime need not support attributes.
        // SAFETY: 64 threads, 64 elements.
        let launch =
            || unsafe { add.launch_with(&stream, LaunchConfig::new(1, 64), attributes, (&mut data, 1i32, 64u32)) };
        calls(launch).1.join("\n")
    };
    let none = LaunchAttributes::new();
    assert_eq!(launch(none), "hipDrvLaunchKernelEx");
    assert_eq!(launch(none.priority(-1)), "hipDrvLaunchKernelEx hipLaunchAttributePriority=-1");
    assert_eq!(
        launch(none.cooperative(true).priority(1)),
        "hipDrvLaunchKernelEx hipLaunchAttributeCooperative=1 hipLaunchAttributePriority=1"
    );
}

#[test]
fn time_is_counted_in_milliseconds() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    let (start, end) = (stream.record().unwrap(), stream.record().unwrap());
    assert_eq!(end.elapsed_since(&start).unwrap(), Duration::from_millis(1500));
}

/// Memory that a graph has freed is not freed again with the graph.
#[test]
fn memory_of_a_graph_is_freed_once() {
    let Some(device) = device() else { return };
    if hip::runtime_version().unwrap().0 < 6 {
        skipped(&"HIP 5.7 keeps the memory");
        return;
    }
    let stream = Stream::new(&device).unwrap();
    for frees in [true, false] {
        let Some(mut graph) = supported(Graph::new(&device)) else { return };
        let Some((alloc, pointer)) = supported(graph.add_alloc::<u8>(&[], 1 << 20)) else { return };
        if frees {
            // SAFETY: the memory is not in use.
            unsafe { graph.add_free(&[alloc], pointer) }.unwrap();
        }
        let exec = graph.instantiate().unwrap();
        exec.launch(&stream).unwrap();
        stream.synchronize().unwrap();
        let (_, told) = calls(|| drop(exec));
        assert_eq!(told, if frees { vec![] } else { vec![format!("hipFree {pointer:?}")] });
    }
}

#[test]
fn an_array_for_surfaces_says_so() {
    let Some(device) = device() else { return };
    if !device.has_images().unwrap() {
        skipped(&format_args!("{device} has no images"));
        return;
    }
    let plane = ArrayShape::D2(5, 3);
    assert_eq!(calls(|| Array::<u32>::new(&device, plane)).1, ["hipMalloc3DArray 5 x 3 x 0 flags 0"]);
    // hipArraySurfaceLoadStore
    assert_eq!(calls(|| Array::<u32>::for_surfaces(&device, plane)).1, ["hipMalloc3DArray 5 x 3 x 0 flags 2"]);
}

/// The host may know that the array is unused before the thread that destroys the texture has checked.
#[test]
fn a_texture_is_destroyed_before_its_array() {
    let Some(device) = device() else { return };
    let Some(kernel) = image_kernel(&device, "sample_2d") else { return };
    let stream = Stream::new(&device).unwrap();
    let centres = DeviceBuffer::from_slice(&device, &[0.5_f32; 64]).unwrap();
    let mut out = DeviceBuffer::<f32>::zeroed(&device, 64).unwrap();
    for _ in 0..50 {
        let mut array = Array::<f32>::zeroed(&device, ArrayShape::D2(8, 8)).unwrap();
        let texture = Texture::from_array(&array, TextureOptions::new()).unwrap();
        let (first, second) = (texture.as_raw(), array.as_raw());
        made(first);
        made(second);
        // SAFETY: 64 threads, 64 elements.
        let launched = unsafe {
            kernel.launch(&stream, LaunchConfig::new(1, 64), (&texture, &centres, &centres, &mut out, 64u32))
        };
        launched.unwrap();
        drop(texture);
        array.as_slice_mut().copy_from_slice(&[0.0; 64]).unwrap();
        drop(array);
        // Both are destroyed in the end.
        while destroyed(first).and(destroyed(second)).is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(destroyed(first) < destroyed(second));
    }
}
