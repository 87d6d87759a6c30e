//! A kernel faults, and a destructor finds the error before any wait: the error is reported by the next call that waits
//! for or reads memory that the work has touched, or else on stderr. On the embedded software GPU, which continues
//! after a fault.

use std::process::Command;
use std::sync::OnceLock;

use hip::memory::array::{Array, ArrayShape};
use hip::memory::pool::{MemoryPool, PoolOptions};
use hip::memory::{RegisterOptions, Registered, RegisteredBuffer};
use hip::stream::Signal;
use hip::texture::{Texture, TextureOptions};
use hip::{
    Device, DeviceBuffer, Event, Graph, Kernel, LaunchConfig, ManagedBuffer, Module, PinnedBuffer, Result, Stream,
};

use crate::{Watchdog, device, image_module, in_child, is_child, kernels, skipped};

const BIG: u32 = 1 << 20;

/// A launch that reads far past the end of the 64 elements.
fn config() -> LaunchConfig {
    LaunchConfig::for_elements(BIG as usize, 256)
}

/// The objects of a case.
struct Scene {
    device: Device,
    stream: Stream,
    /// The destination of the work, which is read after it.
    data: DeviceBuffer<f32>,
    source: DeviceBuffer<f32>,
    module: Module,
}

impl Scene {
    fn new(device: Device) -> Self {
        Self {
            device,
            stream: Stream::new(&device).unwrap(),
            data: DeviceBuffer::zeroed(&device, 64).unwrap(),
            source: DeviceBuffer::zeroed(&device, 64).unwrap(),
            module: Module::load(&device, kernels(&device)).unwrap(),
        }
    }

    fn add(&self) -> Kernel {
        self.module.kernel("vector_add").unwrap()
    }

    /// Queues a kernel that faults.
    fn fault(&mut self) {
        let (add, Self { stream, data, source, .. }) = (self.add(), self);
        // SAFETY: not safe at all on a GPU; the software GPU checks every access, which is the point. So below.
        unsafe { add.launch(stream, config(), (&*source, &*source, data, BIG)) }.unwrap();
    }
}

type Case = fn(&mut Scene);

/// Each case queues a fault on `stream` that writes to `data`, and drops an object that the kernel used.
const CASES: &[(&str, Case)] = &[
    ("a buffer", |scene| {
        let gone = DeviceBuffer::<f32>::zeroed(&scene.device, 64).unwrap();
        let Scene { stream, data, .. } = scene;
        let add = scene.module.kernel("vector_add").unwrap();
        // SAFETY: as above.
        unsafe { add.launch(stream, config(), (&gone, &gone, data, BIG)) }.unwrap();
    }),
    ("a module and its kernel", |scene| {
        let module = Module::load(&scene.device, kernels(&scene.device)).unwrap();
        let add = module.kernel("vector_add").unwrap();
        let Scene { stream, data, source, .. } = scene;
        // SAFETY: as above.
        unsafe { add.launch(stream, config(), (&*source, &*source, data, BIG)) }.unwrap();
        drop(add);
        drop(module);
    }),
    ("stream-ordered memory", |scene| {
        let Scene { stream, data, .. } = scene;
        let gone = DeviceBuffer::<f32>::zeroed_async(stream, 64).unwrap();
        let add = scene.module.kernel("vector_add").unwrap();
        // SAFETY: as above.
        unsafe { add.launch(stream, config(), (&gone, &gone, data, BIG)) }.unwrap();
    }),
    ("memory of a pool of its own", |scene| {
        let Scene { stream, data, .. } = scene;
        let pool = MemoryPool::new(&scene.device, PoolOptions::new()).unwrap();
        let gone = pool.zeroed_async::<f32>(stream, 64).unwrap();
        let add = scene.module.kernel("vector_add").unwrap();
        // SAFETY: as above.
        unsafe { add.launch(stream, config(), (&gone, &gone, data, BIG)) }.unwrap();
    }),
    ("a graph", |scene| {
        let Scene { stream, data, source, .. } = scene;
        let add = scene.module.kernel("vector_add").unwrap();
        let mut graph = Graph::new(&scene.device).unwrap();
        // SAFETY: as above.
        unsafe { graph.add_kernel(&[], &add, config(), (&*source, &*source, data, BIG)) }.unwrap();
        let exec = graph.instantiate().unwrap();
        exec.launch(stream).unwrap();
    }),
    ("an event", |scene| {
        scene.fault();
        drop(scene.stream.record().unwrap());
        drop(Event::without_timing(&scene.device).unwrap());
    }),
    ("another handle of the stream", |scene| {
        scene.fault();
        drop(scene.stream.clone());
    }),
    ("a stream that waits for it", |scene| {
        scene.fault();
        let other = Stream::new(&scene.device).unwrap();
        other.wait_event(&scene.stream.record().unwrap()).unwrap();
    }),
    ("pinned memory", |scene| {
        let mut gone = PinnedBuffer::<f32>::zeroed(&scene.device, 64).unwrap();
        scene.fault();
        scene.data.copy_to_pinned_async(&scene.stream, &mut gone).unwrap();
    }),
    ("managed memory", |scene| {
        let Scene { stream, data, .. } = scene;
        let gone = ManagedBuffer::<f32>::zeroed(&scene.device, 64).unwrap();
        let add = scene.module.kernel("vector_add").unwrap();
        // SAFETY: as above.
        unsafe { add.launch(stream, config(), (&gone, &gone, data, BIG)) }.unwrap();
    }),
    ("an array", |scene| {
        let mut gone = Array::<f32>::new(&scene.device, ArrayShape::D1(64)).unwrap();
        scene.fault();
        gone.as_slice_mut().copy_from_device_async(&scene.stream, &scene.data).unwrap();
    }),
    ("a texture and its array", |scene| {
        let Some(images) = image_module(&scene.device) else { return scene.fault() };
        let sample = images.kernel("sample_1d").unwrap();
        let array = Array::<f32>::new(&scene.device, ArrayShape::D1(64)).unwrap();
        let texture = Texture::from_array(&array, TextureOptions::new()).unwrap();
        let Scene { stream, data, source, .. } = scene;
        // SAFETY: as above.
        unsafe { sample.launch(stream, config(), (&texture, &*source, data, BIG)) }.unwrap();
    }),
    ("registered memory that is owned", |scene| {
        let mut gone = RegisteredBuffer::new(&scene.device, vec![0.0f32; 64], RegisterOptions::new()).unwrap();
        scene.fault();
        scene.data.copy_to_pinned_async(&scene.stream, &mut gone).unwrap();
    }),
    ("a scope of registered memory", |scene| {
        let mut mine = vec![0.0f32; 64];
        scene.fault();
        Registered::scope(&scene.device, &mut mine, RegisterOptions::new(), |mut gone| {
            scene.data.copy_to_pinned_async(&scene.stream, &mut gone).unwrap();
        })
        .unwrap();
    }),
    ("a signal", |scene| {
        let Ok(gone) = Signal::new(&scene.device, 1) else { return scene.fault() };
        scene.fault();
        scene.stream.write_signal(&gone, 2).unwrap();
    }),
    ("a future", |scene| {
        scene.fault();
        drop(scene.stream.completion().unwrap());
    }),
    ("a buffer in a host function", |scene| {
        let gone = DeviceBuffer::<f32>::zeroed(&scene.device, 64).unwrap();
        let Scene { stream, data, .. } = scene;
        let add = scene.module.kernel("vector_add").unwrap();
        // SAFETY: as above.
        unsafe { add.launch(stream, config(), (&gone, &gone, data, BIG)) }.unwrap();
        stream.launch_host_function(move || drop(gone)).unwrap();
    }),
];

type Wait = fn(&mut Scene) -> Result<()>;

/// The calls that report the error.
const WAITS: &[(&str, Wait)] = &[
    ("Stream::synchronize", |scene| scene.stream.synchronize()),
    ("Device::synchronize", |scene| scene.device.synchronize()),
    ("a read", |scene| scene.data.to_vec().map(drop)),
    ("a read on the stream", |scene| scene.data.copy_to_slice_on(&scene.stream, &mut [0.0; 64])),
    ("a write", |scene| scene.data.copy_from_slice(&[0.0; 64])),
    ("DeviceBuffer::synchronize", |scene| scene.data.synchronize()),
    ("is_idle", |scene| {
        while !scene.stream.is_idle()? {
            std::thread::yield_now();
        }
        Ok(())
    }),
    ("an event behind it", |scene| scene.stream.record()?.synchronize()),
    ("the stream's last handle dropped, then a read", |scene| {
        scene.stream = Stream::new(&scene.device)?;
        scene.data.to_vec().map(drop)
    }),
];

/// Returns the device if it is the embedded software GPU.
fn simulated() -> Option<Device> {
    let device = device()?;
    if device.is_simulated() {
        return Some(device);
    }
    skipped(&"a fault ends the process on ROCm");
    None
}

#[test]
fn a_destructor_that_comes_first_leaves_the_error_to_who_waits() {
    if !is_child() {
        in_child("faults::a_destructor_that_comes_first_leaves_the_error_to_who_waits", &[]);
        return;
    }
    let device = Device::get(0).unwrap();
    let elsewhere = Stream::new(&device).unwrap();
    for (what, case) in CASES {
        let _watchdog = Watchdog::new("faults");
        for (who, wait) in WAITS {
            // The reaper has found the fault before, or has not.
            for later in [false, true] {
                let mut scene = Scene::new(device);
                case(&mut scene);
                elsewhere.synchronize().unwrap_or_else(|error| panic!("{what}, {who}: {error}, of another stream"));
                if later {
                    std::thread::sleep(std::time::Duration::from_millis(2));
                }
                let error = wait(&mut scene).expect_err(&format!("{what}, {who}, later {later}: the error is lost"));
                let text = error.to_string();
                assert!(text.contains("fault") || text.contains("illegal"), "{what}, {who}: {text}");
                // Reported once, and later work succeeds.
                if let Err(again) = scene.stream.synchronize() {
                    panic!("{what}, {who}: told again: {again}");
                }
                scene.data.copy_from_slice(&[1.0; 64]).unwrap_or_else(|error| panic!("{what}, {who}: {error}"));
                assert_eq!(scene.data.to_vec().unwrap(), [1.0; 64], "{what}, {who}");
            }
        }
    }
}

/// Returns the stderr of a child process that runs `test` to its end.
fn stderr_of(test: &str, variables: &[(&str, &str)]) -> Option<String> {
    simulated()?;
    let program = std::env::current_exe().unwrap();
    let output = Command::new(program)
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env("HIP_TEST_CHILD", "1")
        .env("HIP_RS_BACKEND", "sim")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{test}: {text}");
    Some(text)
}

const NOBODY: &str = "HIP_TEST_NOBODY";

#[test]
fn an_error_that_nobody_hears_of_is_on_stderr() {
    const TEST: &str = "faults::an_error_that_nobody_hears_of_is_on_stderr";
    if !is_child() {
        for (what, _) in CASES {
            for how in ["all is dropped", "all is dropped long before the end", "the stream stays"] {
                let Some(text) = stderr_of(TEST, &[(NOBODY, &format!("{what}/{how}"))]) else { return };
                let told = text.matches("hip: work that nobody waited for has failed").count();
                assert_eq!(told, 1, "{what}, {how}: {text}");
            }
        }
        // Nothing is written if a call reported it.
        let text = stderr_of(TEST, &[(NOBODY, "a buffer/somebody waits")]);
        assert!(!text.unwrap().contains("hip:"));
        return;
    }
    static STREAM: OnceLock<Stream> = OnceLock::new();
    let asked = std::env::var(NOBODY).unwrap();
    let (what, how) = asked.split_once('/').unwrap();
    let mut scene = Scene::new(Device::get(0).unwrap());
    CASES.iter().find(|(name, _)| *name == what).unwrap().1(&mut scene);
    match how {
        "the stream stays" => STREAM.set(scene.stream.clone()).unwrap(),
        "somebody waits" => _ = scene.stream.synchronize().unwrap_err(),
        _ => {}
    }
    drop(scene);
    if how.contains("long before") {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}
