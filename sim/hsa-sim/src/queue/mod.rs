//! AQL queues. Each has a thread that executes its packets one after the other, whatever their barrier bits. HSA lets
//! packets without the barrier bit overlap, but does not guarantee progress to one that waits for a later packet of the
//! same queue. So a kernel that does so waits for ever here (`HIP_SIM_BUDGET` ends it); with two queues, both run.

mod packet;
mod places;
mod processor;
mod units;

use std::collections::HashMap;
use std::ffi::c_void;
use std::mem::offset_of;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;

use amdgpu_sim::{AllocKind, Cancel, PRIVATE_APERTURE, Request, SHARED_APERTURE};

use crate::abi::{
    HSA_QUEUE_FEATURE_KERNEL_DISPATCH, HSA_QUEUE_TYPE_COOPERATIVE, HSA_STATUS_ERROR_INVALID_ARGUMENT,
    HSA_STATUS_ERROR_INVALID_QUEUE, HSA_STATUS_ERROR_OUT_OF_RESOURCES, amd_queue_v2_t, hsa_queue_t, hsa_status_t,
};
use crate::agent::{AgentId, Agents};
use crate::memory::pointer;
use crate::result::Result;
use crate::signal::{Signal, Signals};
pub(crate) use places::Indices;
use places::Places;
pub(crate) use processor::create;
pub(crate) use units::{Masks, Units};

/// The maximum size of a queue in packets.
pub(crate) const MAX_SIZE: u32 = 1 << 17;
/// The minimum size of a queue in packets.
pub(crate) const MIN_SIZE: u32 = 64;
/// The maximum number of queues per agent.
pub(crate) const MAX_QUEUES: u32 = 128;
/// Bytes of a packet.
const PACKET: u64 = 64;
/// `AMD_QUEUE_PROPERTIES_IS_PTR64`.
const IS_PTR64: u32 = 2;
/// `AMD_QUEUE_PROPERTIES_ENABLE_PROFILING`.
const ENABLE_PROFILING: u32 = 8;

/// The program's error callback for a queue.
pub(crate) type Callback = unsafe extern "C" fn(hsa_status_t, *mut hsa_queue_t, *mut c_void);

/// A queue. Memory that the program can write (the `amd_queue_t` and the packet ring) is never trusted: sizes and
/// addresses are stored here.
pub(crate) struct Queue {
    agents: &'static Agents,
    pub(crate) agent: AgentId,
    pub(crate) id: u64,
    /// Address of the `amd_queue_t`.
    pub(crate) address: u64,
    indices: Indices,
    /// Address of the first packet.
    ring: u64,
    /// The size in packets.
    pub(crate) size: u32,
    pub(crate) doorbell: Signal,
    callback: Option<(Callback, u64)>,
    /// Cancels the running dispatch.
    cancel: Cancel,
    /// Set to end the thread.
    stop: AtomicBool,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// The compute units that the queue may use.
    pub(crate) units: Mutex<Units>,
}

/// All queues.
pub(crate) struct Queues {
    places: Places,
    /// Queues by the address of their `hsa_queue_t`.
    all: RwLock<HashMap<u64, Arc<Queue>>>,
    next_id: AtomicU64,
}

/// The parameters of a new queue.
pub(crate) struct Wanted {
    pub(crate) agent: AgentId,
    pub(crate) size: u32,
    pub(crate) kind: u32,
    pub(crate) callback: Option<(Callback, u64)>,
}

impl Queues {
    /// No queues. `None` if the host has no address space.
    pub(crate) fn new() -> Option<Self> {
        Some(Self { places: Places::new()?, all: RwLock::default(), next_id: AtomicU64::new(0) })
    }

    /// The address and size of the queues' memory, to be made accessible to kernels.
    pub(crate) fn range(&self) -> (*mut u8, u64) {
        self.places.range()
    }

    /// A new queue without a thread.
    fn add(
        &self,
        agents: &'static Agents,
        signals: &'static Signals,
        masks: &Mutex<Masks>,
        wanted: &Wanted,
    ) -> Result<Arc<Queue>> {
        let size = wanted.size;
        if !size.is_power_of_two() || wanted.kind > HSA_QUEUE_TYPE_COOPERATIVE {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        if !(MIN_SIZE..=MAX_SIZE).contains(&size) {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let no_more = HSA_STATUS_ERROR_OUT_OF_RESOURCES;
        let of_agent = |queue: &&Arc<Queue>| queue.agent == wanted.agent;
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        if all.values().filter(of_agent).count() >= MAX_QUEUES as usize {
            return Err(no_more);
        }
        drop(all);
        let space = agents.space();
        let bytes = u64::from(size) * PACKET;
        let request = Request { align: 4096, ..Request::new(bytes, AllocKind::Host, None) };
        let ring = space.allocate(&request).map_err(|_| no_more)?;
        let doorbell = signals.create(-1);
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let placed = doorbell.and_then(|doorbell| {
            let public = hsa_queue_t {
                r#type: wanted.kind,
                features: HSA_QUEUE_FEATURE_KERNEL_DISPATCH,
                base_address: pointer(ring),
                doorbell_signal: doorbell.handle(),
                size,
                reserved1: 0,
                id,
            };
            let address = self.places.take(|raw| lay_out(raw, public));
            if address.is_none() {
                doorbell.destroy();
            }
            let address = address?;
            Some((doorbell, address, self.places.find(pointer(address).cast())?))
        });
        let Some((doorbell, address, indices)) = placed else {
            // Cannot fail: just allocated.
            let _ = space.free(ring);
            return Err(no_more);
        };
        let masks = masks.lock().unwrap_or_else(PoisonError::into_inner);
        let units = masks.at_first(wanted.agent.index() - 1, agents.chip.compute_units);
        drop(masks);
        let queue = Arc::new(Queue {
            agents,
            agent: wanted.agent,
            id,
            address,
            indices,
            ring,
            size,
            doorbell,
            callback: wanted.callback,
            cancel: Cancel::default(),
            stop: AtomicBool::new(false),
            thread: Mutex::default(),
            units: Mutex::new(units),
        });
        for packet in 0..u64::from(size) {
            queue.header(packet).store(packet::INVALID, Ordering::Relaxed);
        }
        self.all.write().unwrap_or_else(PoisonError::into_inner).insert(address, Arc::clone(&queue));
        Ok(queue)
    }

    /// The indices of the queue behind a program's pointer. Takes no lock.
    pub(crate) fn indices(&self, queue: *const hsa_queue_t) -> Result<Indices> {
        self.places.find(queue).ok_or(HSA_STATUS_ERROR_INVALID_QUEUE)
    }

    /// The queue behind a program's pointer.
    pub(crate) fn get(&self, queue: *const hsa_queue_t) -> Result<Arc<Queue>> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        all.get(&(queue as u64)).cloned().ok_or(HSA_STATUS_ERROR_INVALID_QUEUE)
    }

    /// Destroys a queue: stops the running packet and discards waiting ones.
    pub(crate) fn destroy(&self, queue: &Queue) {
        queue.inactivate();
        let thread = queue.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // The queue's own callback may destroy it. Its thread then ends on its own.
            if thread.thread().id() != std::thread::current().id() {
                // A panic of the thread has been reported already.
                let _ = thread.join();
            }
        }
        self.forget(queue);
    }

    fn forget(&self, queue: &Queue) {
        if self.all.write().unwrap_or_else(PoisonError::into_inner).remove(&queue.address).is_some() {
            queue.doorbell.destroy();
            self.places.give_back(queue.address);
        }
    }

    /// Destroys all queues.
    pub(crate) fn clear(&self) {
        let all: Vec<_> = self.all.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        // All at once, since one may wait for another.
        all.iter().for_each(|queue| queue.inactivate());
        all.iter().for_each(|queue| self.destroy(queue));
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // It was allocated when the queue was made, and nobody looks at it any more.
        let _ = self.agents.space().free(self.ring);
    }
}

/// Initialises the `amd_queue_t` of a queue that is not visible to the program yet.
fn lay_out(raw: &mut amd_queue_v2_t, public: hsa_queue_t) {
    raw.hsa_queue = public;
    raw.group_segment_aperture_base_hi = (SHARED_APERTURE >> 32) as u32;
    raw.private_segment_aperture_base_hi = (PRIVATE_APERTURE >> 32) as u32;
    raw.read_dispatch_id_field_base_byte_offset = offset_of!(amd_queue_v2_t, read_dispatch_id) as u32;
    raw.queue_properties = IS_PTR64 | ENABLE_PROFILING;
}

impl Queue {
    /// The number of packets that have been taken.
    fn read_index(&self) -> &AtomicU64 {
        self.indices.read_index()
    }

    /// The address of the slot of packet `index`.
    fn place(&self, index: u64) -> u64 {
        self.ring + (index & u64::from(self.size - 1)) * PACKET
    }

    /// Header and setup of a packet: the word that its producer writes last.
    fn header(&self, index: u64) -> &AtomicU32 {
        // SAFETY: an aligned word inside the ring, which lives as long as the queue. The program writes it by atomics too.
        unsafe { AtomicU32::from_ptr(pointer(self.place(index)).cast()) }
    }

    /// Stops the running packet and takes no more.
    pub(crate) fn inactivate(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.cancel.cancel();
        self.doorbell.notify();
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// The pointer by which the program refers to the queue.
    pub(crate) fn pointer(&self) -> *mut hsa_queue_t {
        pointer(self.address).cast()
    }
}
