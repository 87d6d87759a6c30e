//! The process-wide runtime: its devices, queues, handles and memory.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::c_void;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use amdgpu_sim::{Gpu, Memory};
use hip_sys::rocm_7_2::{hipErrorContextIsDestroyed, hipErrorInitializationError, hipErrorInvalidDevice, hipStream_t};

#[cfg(target_os = "linux")]
use crate::api::external::ExternalMemory;
use crate::api::library::{Library, LibraryKernel};
use crate::api::limit::STACK;
use crate::api::link::Linker;
use crate::array::Array;
use crate::capture::{Captures, Mark};
use crate::config;
use crate::execution::{Context, Descriptor, STREAM_DETACHED};
use crate::graph::{Exec, Graph, MemoryUse, Node, UserObject};
use crate::handles::{Handles, Kind};
use crate::images::Objects;
use crate::loss::Loss;
use crate::memory::AddressMap;
use crate::mipmap::MipmappedArray;
use crate::observe::write_profile_at_exit;
use crate::peers::Peers;
use crate::placement::Placements;
use crate::pool::Pool;
use crate::queue::{Order, Point, Priority, QueueKey, Scheduler, Scope};
#[cfg(target_os = "linux")]
use crate::semaphore::Semaphore;
use crate::shared_event::SharedEvent;
use crate::status::{Outcome, Refusal, ensure, watch_fork};
use crate::units::UnitSet;
use crate::variables::ManagedVariables;
use crate::virtual_memory::VirtualMemory;

/// One software GPU.
pub(crate) struct Device {
    pub(crate) ordinal: usize,
    pub(crate) gpu: Gpu,
    pub(crate) loss: Loss,
    /// The queue of the legacy default stream.
    pub(crate) null: QueueKey,
    pub(crate) flags: AtomicU32,
    /// The limit on a thread's stack, in bytes.
    pub(crate) stack: AtomicUsize,
    /// Counts resets, which end the per-thread streams.
    pub(crate) resets: AtomicU64,
    /// The handle of the device's default pool, as a number.
    pub(crate) default_pool: usize,
    /// The pool that `hipMallocAsync` allocates from.
    pub(crate) pool: AtomicUsize,
    /// Held by a running cooperative launch: the device has one grid barrier.
    pub(crate) cooperative: Mutex<()>,
}

impl Device {
    fn new(ordinal: usize, gpu: Gpu, null: QueueKey, default_pool: usize) -> Self {
        Self {
            ordinal,
            gpu,
            loss: Loss::default(),
            null,
            flags: AtomicU32::new(0),
            stack: AtomicUsize::new(STACK),
            resets: AtomicU64::new(0),
            default_pool,
            pool: AtomicUsize::new(default_pool),
            cooperative: Mutex::default(),
        }
    }

    /// The bytes of device memory.
    pub(crate) fn total_bytes(&self) -> u64 {
        self.gpu.memory().total_of(self.gpu.agent()).unwrap_or(0)
    }

    /// The bytes of device memory that have no address.
    pub(crate) fn unused_bytes(&self) -> u64 {
        self.total_bytes().saturating_sub(self.gpu.memory().used_of(self.gpu.agent()))
    }
}

/// The stream behind a `hipStream_t`.
pub(crate) struct Stream {
    pub(crate) queue: QueueKey,
    pub(crate) device: usize,
    pub(crate) flags: u32,
    pub(crate) priority: i32,
    /// The compute units that the stream was restricted to, if any.
    pub(crate) units: Option<UnitSet>,
    /// The execution context that the stream was created in, if any.
    pub(crate) context: Option<Arc<Context>>,
}

/// The event behind a `hipEvent_t`.
pub(crate) struct Event {
    pub(crate) device: usize,
    pub(crate) flags: u32,
    pub(crate) record: Mutex<Option<Record>>,
    /// The shared state of an interprocess event.
    pub(crate) shared: Option<SharedEvent>,
    /// The position in a capture, if the event was last recorded on a captured stream.
    pub(crate) mark: Mutex<Option<Mark>>,
}

/// One recording of an event.
#[derive(Clone)]
pub(crate) struct Record {
    pub(crate) point: Point,
    pub(crate) time: Arc<OnceLock<Instant>>,
}

/// The module behind a `hipModule_t`.
pub(crate) struct Module {
    pub(crate) device: usize,
    pub(crate) code: Arc<amdgpu_sim::Module>,
    /// The handles created for its kernels, by name.
    pub(crate) functions: Mutex<Vec<(String, usize)>>,
    pub(crate) managed: Mutex<ManagedVariables>,
}

/// The kernel behind a `hipFunction_t`.
pub(crate) struct Function {
    pub(crate) device: usize,
    /// The module's handle, as a number. The function is destroyed with the module.
    pub(crate) module: usize,
    pub(crate) kernel: amdgpu_sim::Kernel,
}

/// All state of the process.
pub(crate) struct Runtime {
    pub(crate) devices: Vec<Device>,
    pub(crate) scheduler: Arc<Scheduler>,
    pub(crate) streams: Handles<Stream>,
    pub(crate) events: Handles<Event>,
    pub(crate) modules: Handles<Module>,
    pub(crate) functions: Handles<Function>,
    pub(crate) pools: Handles<Pool>,
    pub(crate) graphs: Handles<Graph>,
    pub(crate) nodes: Handles<Node>,
    pub(crate) execs: Handles<Exec>,
    pub(crate) objects: Handles<UserObject>,
    pub(crate) graph_memory: MemoryUse,
    pub(crate) captures: Captures,
    pub(crate) peers: Peers,
    pub(crate) libraries: Handles<Library>,
    pub(crate) library_kernels: Handles<LibraryKernel>,
    pub(crate) contexts: Handles<Context>,
    pub(crate) descriptors: Handles<Descriptor>,
    /// The handles of the devices' primary contexts, as pairs of numbers.
    pub(crate) primary_contexts: Mutex<Vec<(usize, usize)>>,
    pub(crate) memory: AddressMap,
    pub(crate) placements: Placements,
    pub(crate) virtual_memory: VirtualMemory,
    pub(crate) arrays: Handles<Array>,
    pub(crate) mipmaps: Handles<MipmappedArray>,
    pub(crate) images: Objects,
    #[cfg(target_os = "linux")]
    pub(crate) external_memory: Handles<ExternalMemory>,
    #[cfg(target_os = "linux")]
    pub(crate) semaphores: Handles<Semaphore>,
    pub(crate) linkers: Handles<Linker>,
    /// The synchronisation policies of streams that have been given one.
    policies: Mutex<HashMap<QueueKey, u32>>,
    /// The path of the profile.
    pub(crate) profile: Option<PathBuf>,
}

/// The runtime, made on first use from the environment.
pub(crate) fn runtime() -> Result<&'static Runtime, Refusal> {
    static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();
    RUNTIME
        .get_or_init(|| {
            let settings = config::from_environment()?;
            watch_fork();
            if settings.profile.is_some() {
                write_profile_at_exit();
            }
            let scheduler = Arc::new(Scheduler::new(settings.delay));
            let gpus = Gpu::group(&vec![settings.gpu.clone(); settings.devices]).into_iter().enumerate();
            let pools = Handles::new(Kind::Pool);
            let devices = gpus
                .map(|(ordinal, gpu)| {
                    let null = scheduler.open(ordinal, Order::Null, Priority::Normal);
                    let default_pool = pools.insert(Pool::of_device(ordinal)).ok_or("no place for a pool")?;
                    Ok(Device::new(ordinal, gpu, null, default_pool.addr()))
                })
                .collect::<Result<_, String>>()?;
            let virtual_memory = VirtualMemory::new(settings.devices);
            Ok(Runtime {
                devices,
                scheduler,
                streams: Handles::new(Kind::Stream),
                events: Handles::new(Kind::Event),
                modules: Handles::new(Kind::Module),
                functions: Handles::new(Kind::Function),
                pools,
                graphs: Handles::new(Kind::Graph),
                nodes: Handles::new(Kind::Node),
                execs: Handles::new(Kind::Exec),
                objects: Handles::new(Kind::UserObject),
                graph_memory: MemoryUse::default(),
                captures: Captures::default(),
                peers: Peers::default(),
                libraries: Handles::new(Kind::Library),
                library_kernels: Handles::new(Kind::LibraryKernel),
                contexts: Handles::new(Kind::ExecutionContext),
                descriptors: Handles::new(Kind::ResourceDescriptor),
                primary_contexts: Mutex::default(),
                memory: AddressMap::default(),
                placements: Placements::default(),
                virtual_memory,
                arrays: Handles::new(Kind::Array),
                mipmaps: Handles::new(Kind::MipmappedArray),
                images: Objects::default(),
                #[cfg(target_os = "linux")]
                external_memory: Handles::new(Kind::ExternalMemory),
                #[cfg(target_os = "linux")]
                semaphores: Handles::new(Kind::ExternalSemaphore),
                linkers: Handles::new(Kind::Linker),
                policies: Mutex::default(),
                profile: settings.profile,
            })
        })
        .as_ref()
        .map_err(|text| Refusal::new(hipErrorInitializationError, text.clone()))
}

thread_local! {
    static CURRENT: Cell<usize> = const { Cell::new(0) };
    static PER_THREAD: RefCell<PerThread> = const { RefCell::new(PerThread(Vec::new())) };
}

/// A thread's own default streams: (device, resets seen, queue).
struct PerThread(Vec<(usize, u64, QueueKey)>);

impl Drop for PerThread {
    fn drop(&mut self) {
        if let Ok(runtime) = runtime() {
            for (_, _, queue) in self.0.drain(..) {
                runtime.captures.abandon(runtime, queue);
                runtime.scheduler.close(queue);
            }
        }
    }
}

/// A stream as passed to a function.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) queue: QueueKey,
    pub(crate) device: usize,
    /// Whether it is the legacy default stream. Waiting for that one includes the blocking streams.
    pub(crate) is_null: bool,
    /// Whether the legacy default stream waits for it.
    pub(crate) is_blocking: bool,
}

impl Target {
    /// The scope of a synchronisation with the stream.
    pub(crate) fn scope(&self, runtime: &Runtime) -> Scope {
        match runtime.scheduler.last(self.queue) {
            _ if self.is_null => Scope::NullStream(self.device),
            Some(point) => Scope::Named(point),
            None => Scope::Named(Point { queue: self.queue, ticket: 0 }),
        }
    }
}

impl Runtime {
    /// The calling thread's current device.
    pub(crate) fn current(&self) -> &Device {
        // `set_current` accepts only existing devices.
        &self.devices[CURRENT.with(Cell::get)]
    }

    /// Changes the calling thread's current device.
    pub(crate) fn set_current(&self, ordinal: i32) -> Outcome {
        let device = self.device(ordinal)?;
        CURRENT.with(|current| current.set(device.ordinal));
        Ok(())
    }

    /// A device by its number.
    pub(crate) fn device(&self, ordinal: i32) -> Result<&Device, Refusal> {
        usize::try_from(ordinal)
            .ok()
            .and_then(|ordinal| self.devices.get(ordinal))
            .ok_or_else(|| hipErrorInvalidDevice.into())
    }

    /// The memory of all devices: they share one address space.
    pub(crate) fn memory(&self) -> &Memory {
        // There is at least one device.
        self.devices[0].gpu.memory()
    }

    /// The synchronisation policies of streams that have been given one.
    pub(crate) fn wait_policies(&self) -> MutexGuard<'_, HashMap<QueueKey, u32>> {
        self.policies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The pool whose handle is this number.
    pub(crate) fn pool(&self, handle: usize) -> Option<Arc<Pool>> {
        self.pools.get(std::ptr::without_provenance(handle))
    }

    /// The graph whose handle is this number.
    pub(crate) fn graph(&self, handle: usize) -> Option<Arc<Graph>> {
        self.graphs.get(std::ptr::without_provenance(handle))
    }

    /// The node of a graph whose handle is this number.
    pub(crate) fn node(&self, handle: usize) -> Option<Arc<Node>> {
        self.nodes.get(std::ptr::without_provenance(handle))
    }

    /// The stream that `handle` names: null and `hipStreamLegacy` (1) are the current device's default stream,
    /// `hipStreamPerThread` (2) the thread's own.
    pub(crate) fn target(&self, handle: hipStream_t) -> Result<Target, Refusal> {
        let handle: *const c_void = handle.cast();
        match handle.addr() {
            0 | 1 => {
                let device = self.current();
                Ok(Target { queue: device.null, device: device.ordinal, is_null: true, is_blocking: true })
            }
            2 => Ok(self.per_thread()),
            _ => {
                let stream = self.streams.get(handle).ok_or_else(|| Refusal::from(hipErrorContextIsDestroyed))?;
                ensure(stream.context.as_ref().is_none_or(|context| !context.is_destroyed()), STREAM_DETACHED)?;
                let is_blocking = stream.flags == 0;
                Ok(Target { queue: stream.queue, device: stream.device, is_null: false, is_blocking })
            }
        }
    }

    fn per_thread(&self) -> Target {
        let device = self.current();
        let resets = device.resets.load(Ordering::Acquire);
        let queue = PER_THREAD.with(|streams| {
            let streams = &mut streams.borrow_mut().0;
            if let Some(at) = streams.iter().position(|stream| stream.0 == device.ordinal) {
                if streams[at].1 == resets {
                    return streams[at].2;
                }
                let (_, _, old) = streams.swap_remove(at);
                self.captures.abandon(self, old);
                self.scheduler.close(old);
            }
            let queue = self.scheduler.open(device.ordinal, Order::Blocking, Priority::Normal);
            streams.push((device.ordinal, resets, queue));
            queue
        });
        Target { queue, device: device.ordinal, is_null: false, is_blocking: true }
    }

    /// Waits for everything in `scope` and returns the failure, if there is one to report.
    pub(crate) fn synchronize(&self, scope: Scope) -> Outcome {
        match scope {
            Scope::Named(point) => self.scheduler.wait(&[point]),
            Scope::Device(_) | Scope::NullStream(_) => self.scheduler.wait(&self.scheduler.points(scope)),
        }
        self.pools.each(Pool::settle);
        self.failure(scope)
    }

    /// Waits for a device's queues, or all queues, and leaves their failures for a later call to report.
    pub(crate) fn drain(&self, device: Option<usize>) {
        for ordinal in (0..self.devices.len()).filter(|ordinal| device.is_none_or(|d| d == *ordinal)) {
            self.scheduler.wait(&self.scheduler.points(Scope::Device(ordinal)));
        }
    }

    /// The bytes of a device's memory that neither allocations nor pools have taken.
    pub(crate) fn free_bytes(&self, device: &Device) -> u64 {
        let free = device.unused_bytes();
        let mut kept = self.virtual_memory.unmapped(device.ordinal);
        self.pools.each(|pool| {
            if pool.device == device.ordinal {
                kept += pool.idle();
            }
        });
        free.saturating_sub(kept)
    }

    /// The failure that a call over `scope` must report.
    pub(crate) fn failure(&self, scope: Scope) -> Outcome {
        match self.scheduler.take_failure(scope) {
            Some(failure) => Err(Refusal::from(&*failure)),
            None => self.loss(scope),
        }
    }
}
