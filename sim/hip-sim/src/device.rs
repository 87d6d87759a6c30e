//! The devices.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};

use amdgpu_sim::{Fault, Gpu};

use crate::fault::Failure;
use crate::loss::Loss;
use crate::queue::QueueKey;
use crate::status::{Outcome, Refusal};

/// The initial stack size of a thread in bytes, as in AMD's runtime.
pub(crate) const STACK: usize = 1024;

/// One software GPU.
pub(crate) struct Device {
    pub(crate) ordinal: usize,
    pub(crate) gpu: Arc<Gpu>,
    loss: Loss,
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
    pub(crate) fn new(ordinal: usize, gpu: Arc<Gpu>, null: QueueKey, default_pool: usize) -> Self {
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

    /// Records the loss that a launch found. Returns the failure of that launch and of all later work.
    pub(crate) fn lost(&self, fault: &Fault) -> Failure {
        self.loss.record(self.ordinal, fault)
    }

    /// Returns the loss as a failure if the device is lost.
    pub(crate) fn carries_on(&self) -> Result<(), Failure> {
        self.loss.carries_on()
    }

    /// Refuses a call on a device that is lost.
    pub(crate) fn alive(&self) -> Outcome {
        self.carries_on().map_err(|failure| Refusal::from(&failure))
    }
}
