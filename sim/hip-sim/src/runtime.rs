//! The process-wide runtime: its devices, queues, handles and memory.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use amdgpu_sim::{Gpu, Memory};
use hip_sys::rocm_7_2::{
    hipArray_const_t, hipErrorContextIsDestroyed, hipErrorInitializationError, hipErrorInvalidDevice,
    hipErrorInvalidHandle, hipStream_t,
};

use crate::array::{Array, MipmappedArray};
use crate::capture::Captures;
use crate::config;
use crate::device::Device;
use crate::event::Event;
use crate::execution::{Context, Descriptor, STREAM_DETACHED};
#[cfg(target_os = "linux")]
use crate::external_memory::ExternalMemory;
use crate::graph::{Exec, Graphs, MemoryUse, UserObject};
use crate::handles::{Handles, Kind};
use crate::images::Objects;
use crate::library::{Library, LibraryKernel};
use crate::linker::Linker;
use crate::loss;
use crate::memory::AddressMap;
use crate::module::{Function, Module};
use crate::observe::request_profile;
use crate::peers::Peers;
use crate::placement::Placements;
use crate::pool::Pool;
use crate::queue::{Order, Priority, QueueKey, Scheduler, Scope};
#[cfg(target_os = "linux")]
use crate::semaphore::Semaphore;
use crate::status::{Outcome, Refusal, ensure, watch_fork};
use crate::stream::Stream;
use crate::target::Target;
use crate::virtual_memory::VirtualMemory;

/// All state of the process.
pub(crate) struct Runtime {
    pub(crate) devices: Vec<Device>,
    pub(crate) scheduler: Arc<Scheduler>,
    pub(crate) streams: Handles<Stream>,
    pub(crate) events: Handles<Event>,
    pub(crate) modules: Handles<Module>,
    pub(crate) functions: Handles<Function>,
    pub(crate) pools: Handles<Pool>,
    pub(crate) graphs: Graphs,
    pub(crate) execs: Handles<Exec>,
    pub(crate) objects: Arc<Handles<UserObject>>,
    pub(crate) graph_memory: Arc<MemoryUse>,
    pub(crate) captures: Captures,
    pub(crate) peers: Peers,
    pub(crate) libraries: Handles<Library>,
    pub(crate) library_kernels: Handles<LibraryKernel>,
    pub(crate) contexts: Handles<Context>,
    pub(crate) descriptors: Handles<Descriptor>,
    /// The handles of the devices' primary contexts, as pairs of numbers.
    pub(crate) primary_contexts: Mutex<Vec<(usize, usize)>>,
    pub(crate) blocks: Arc<AddressMap>,
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
}

/// The runtime, made on first use from the environment.
pub(crate) fn runtime() -> Result<&'static Runtime, Refusal> {
    static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();
    RUNTIME
        .get_or_init(|| {
            let settings = config::from_environment()?;
            watch_fork();
            let scheduler = Arc::new(Scheduler::new(settings.delay));
            let gpus = Gpu::group(&vec![settings.gpu.clone(); settings.devices]);
            let gpus: Vec<Arc<Gpu>> = gpus.into_iter().map(Arc::new).collect();
            if let Some(path) = settings.profile {
                request_profile(path, gpus.clone());
            }
            let blocks = Arc::new(AddressMap::default());
            let graph_memory = MemoryUse::new(Arc::clone(&gpus[0]), Arc::clone(&blocks));
            let pools = Handles::new(Kind::Pool);
            let devices = gpus
                .into_iter()
                .enumerate()
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
                graphs: Graphs::new(),
                execs: Handles::new(Kind::Exec),
                objects: Arc::new(Handles::new(Kind::UserObject)),
                graph_memory: Arc::new(graph_memory),
                captures: Captures::default(),
                peers: Peers::default(),
                libraries: Handles::new(Kind::Library),
                library_kernels: Handles::new(Kind::LibraryKernel),
                contexts: Handles::new(Kind::ExecutionContext),
                descriptors: Handles::new(Kind::ResourceDescriptor),
                primary_contexts: Mutex::default(),
                blocks,
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
                runtime.captures.abandon(&runtime.graphs, queue);
                runtime.scheduler.close(queue);
            }
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

    /// The array behind a handle.
    pub(crate) fn array(&self, handle: hipArray_const_t) -> Result<Arc<Array>, Refusal> {
        self.arrays.get(handle.cast()).ok_or_else(|| hipErrorInvalidHandle.into())
    }

    /// The calling thread's current device, unless it is lost.
    pub(crate) fn live_current(&self) -> Result<&Device, Refusal> {
        let device = self.current();
        device.alive()?;
        Ok(device)
    }

    /// The stream that `stream` names, unless its device is lost.
    pub(crate) fn live_target(&self, stream: hipStream_t) -> Result<Target, Refusal> {
        let target = self.target(stream)?;
        self.devices[target.device].alive()?;
        Ok(target)
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
                self.captures.abandon(&self.graphs, old);
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

    /// Refuses with the device's loss, if the scope's device is lost. Called after the scope's own failures were
    /// reported.
    fn loss(&self, scope: Scope) -> Outcome {
        if !loss::any() {
            return Ok(());
        }
        match self.scheduler.device_of(scope).and_then(|device| self.devices.get(device)) {
            Some(device) => device.alive(),
            None => Ok(()),
        }
    }
}
