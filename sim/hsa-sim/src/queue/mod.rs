//! AQL queues. Each has a thread that carries out its packets, one after the other, whatever their barrier bits: HSA lets packets
//! without the bit overlap, but promises no progress to one that waits for a later one of its queue. So a kernel that does wait
//! for such a one waits for ever here (`HIP_SIM_BUDGET` ends it); on two queues both run.

mod packet;
mod processor;

use std::collections::HashMap;
use std::ffi::c_void;
use std::mem::offset_of;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;

use amdgpu_sim::{AllocKind, Cancel, PRIVATE_APERTURE, Request, SHARED_APERTURE};

use crate::abi::{
    HSA_QUEUE_FEATURE_KERNEL_DISPATCH, HSA_QUEUE_TYPE_COOPERATIVE, HSA_STATUS_ERROR_INVALID_ARGUMENT,
    HSA_STATUS_ERROR_INVALID_QUEUE, HSA_STATUS_ERROR_OUT_OF_RESOURCES, amd_queue_v2_t, hsa_queue_t, hsa_status_t,
};
use crate::agent::AgentId;
use crate::memory::pointer;
use crate::runtime::{Result, Runtime};
use crate::signal::Signal;

/// Packets that a queue may have room for at most.
pub(crate) const MAX_SIZE: u32 = 1 << 17;
/// Packets that it has room for at least.
pub(crate) const MIN_SIZE: u32 = 64;
/// Queues that an agent may have.
pub(crate) const MAX_QUEUES: u32 = 128;
/// Bytes of a packet.
const PACKET: u64 = 64;
/// `AMD_QUEUE_PROPERTIES_IS_PTR64`.
const IS_PTR64: u32 = 2;
/// `AMD_QUEUE_PROPERTIES_ENABLE_PROFILING`.
const ENABLE_PROFILING: u32 = 8;

/// A function of the program that hears of a queue's errors.
pub(crate) type Callback = unsafe extern "C" fn(hsa_status_t, *mut hsa_queue_t, *mut c_void);

/// A queue. What the program can write (the `amd_queue_t` and the ring of packets) is never trusted: sizes and addresses
/// are here.
pub(crate) struct Queue {
    runtime: &'static Runtime,
    pub(crate) agent: AgentId,
    pub(crate) id: u64,
    /// Address of the `amd_queue_t`, with the ring of packets behind it.
    pub(crate) address: u64,
    /// Address of the first packet.
    ring: u64,
    /// Packets that there is room for.
    pub(crate) size: u32,
    pub(crate) doorbell: Signal,
    callback: Option<(Callback, u64)>,
    /// Stops the dispatch that runs.
    cancel: Cancel,
    /// Set to end the thread.
    stop: AtomicBool,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// The compute units that it may use: a mask that is kept, as it has no effect here.
    pub(crate) cu_mask: Mutex<Vec<u32>>,
}

/// All queues by the addresses of their `hsa_queue_t`.
#[derive(Default)]
pub(crate) struct Queues {
    all: RwLock<HashMap<u64, Arc<Queue>>>,
    next_id: AtomicU64,
}

/// What to make a queue from.
pub(crate) struct Wanted {
    pub(crate) agent: AgentId,
    pub(crate) size: u32,
    pub(crate) kind: u32,
    pub(crate) callback: Option<(Callback, u64)>,
}

impl Queues {
    /// A new queue, its thread started.
    pub(crate) fn create(&self, runtime: &'static Runtime, wanted: &Wanted) -> Result<Arc<Queue>> {
        let size = wanted.size;
        if !size.is_power_of_two() || wanted.kind > HSA_QUEUE_TYPE_COOPERATIVE {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        if !(MIN_SIZE..=MAX_SIZE).contains(&size) {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        if self.all.read().unwrap_or_else(PoisonError::into_inner).len() >= MAX_QUEUES as usize {
            return Err(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
        }
        let space = runtime.agents.space();
        let header = (size_of::<amd_queue_v2_t>() as u64).next_multiple_of(4096);
        let bytes = header + u64::from(size) * PACKET;
        let request = Request { align: 4096, ..Request::new(bytes, AllocKind::Host, None) };
        let address = space.allocate(&request).map_err(|_| HSA_STATUS_ERROR_OUT_OF_RESOURCES)?;
        let Some(doorbell) = runtime.signals.create(-1) else {
            // It was allocated a moment ago.
            let _ = space.free(address);
            return Err(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
        };
        let queue = Arc::new(Queue {
            runtime,
            agent: wanted.agent,
            id: self.next_id.fetch_add(1, Ordering::Relaxed),
            address,
            ring: address + header,
            size,
            doorbell,
            callback: wanted.callback,
            cancel: Cancel::default(),
            stop: AtomicBool::new(false),
            thread: Mutex::default(),
            cu_mask: Mutex::default(),
        });
        queue.lay_out(wanted.kind);
        self.all.write().unwrap_or_else(PoisonError::into_inner).insert(address, Arc::clone(&queue));
        let worker = Arc::clone(&queue);
        let thread = std::thread::Builder::new()
            .name(format!("hsa-sim-queue-{}", queue.id))
            .spawn(move || processor::run(runtime, &worker));
        match thread {
            Ok(thread) => *queue.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread),
            Err(_) => {
                self.forget(&queue);
                return Err(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
            }
        }
        Ok(queue)
    }

    /// The queue that a pointer of the program points to.
    pub(crate) fn get(&self, queue: *const hsa_queue_t) -> Result<Arc<Queue>> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        all.get(&(queue as u64)).cloned().ok_or(HSA_STATUS_ERROR_INVALID_QUEUE)
    }

    /// Ends a queue: what runs is stopped, what waits is never done.
    pub(crate) fn destroy(&self, queue: &Queue) {
        queue.inactivate();
        let thread = queue.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // The queue's own callback may destroy it: its thread then ends by itself.
            if thread.thread().id() != std::thread::current().id() {
                // A panic in it has been said already.
                let _ = thread.join();
            }
        }
        self.forget(queue);
    }

    fn forget(&self, queue: &Queue) {
        if self.all.write().unwrap_or_else(PoisonError::into_inner).remove(&queue.address).is_some() {
            queue.doorbell.destroy();
        }
    }

    /// Ends all queues.
    pub(crate) fn clear(&self) {
        let all: Vec<_> = self.all.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        // All at once: one may wait for another.
        all.iter().for_each(|queue| queue.inactivate());
        all.iter().for_each(|queue| self.destroy(queue));
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // It was allocated when the queue was made, and nobody looks at it any more.
        let _ = self.runtime.agents.space().free(self.address);
    }
}

impl Queue {
    /// Writes the `amd_queue_t`, and a ring of packets that are none yet.
    fn lay_out(&self, kind: u32) {
        // SAFETY: the block has room for the struct at its start; it is zero, which is a value of each of its fields, and nobody
        // else knows it yet.
        let raw = unsafe { &mut *pointer(self.address).cast::<amd_queue_v2_t>() };
        raw.hsa_queue = hsa_queue_t {
            r#type: kind,
            features: HSA_QUEUE_FEATURE_KERNEL_DISPATCH,
            base_address: pointer(self.ring),
            doorbell_signal: self.doorbell.handle(),
            size: self.size,
            reserved1: 0,
            id: self.id,
        };
        raw.group_segment_aperture_base_hi = (SHARED_APERTURE >> 32) as u32;
        raw.private_segment_aperture_base_hi = (PRIVATE_APERTURE >> 32) as u32;
        raw.read_dispatch_id_field_base_byte_offset = offset_of!(amd_queue_v2_t, read_dispatch_id) as u32;
        raw.queue_properties = IS_PTR64 | ENABLE_PROFILING;
        for packet in 0..u64::from(self.size) {
            self.header(packet).store(packet::INVALID, Ordering::Relaxed);
        }
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: an aligned word inside the block, which lives as long as the queue is known. The program writes it by atomics too.
        unsafe { AtomicU64::from_ptr(pointer(self.address + offset as u64).cast()) }
    }

    /// How many packets have been handed out to be filled.
    pub(crate) fn write_index(&self) -> &AtomicU64 {
        self.word(offset_of!(amd_queue_v2_t, write_dispatch_id))
    }

    /// How many packets have been taken.
    pub(crate) fn read_index(&self) -> &AtomicU64 {
        self.word(offset_of!(amd_queue_v2_t, read_dispatch_id))
    }

    /// Address of the place of packet number `index`.
    fn place(&self, index: u64) -> u64 {
        self.ring + (index & u64::from(self.size - 1)) * PACKET
    }

    /// Header and setup of a packet: the word that its producer writes last.
    fn header(&self, index: u64) -> &std::sync::atomic::AtomicU32 {
        // SAFETY: an aligned word inside the ring, as of `word`.
        unsafe { std::sync::atomic::AtomicU32::from_ptr(pointer(self.place(index)).cast()) }
    }

    /// Stops the packet that runs and takes no more.
    pub(crate) fn inactivate(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.cancel.cancel();
        self.doorbell.notify();
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// The pointer that the program knows it by.
    pub(crate) fn pointer(&self) -> *mut hsa_queue_t {
        pointer(self.address).cast()
    }
}
