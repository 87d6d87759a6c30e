//! An allocation that devices can access: its addresses, its owner, its uses, and how it is freed.

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::Arc;

use super::admission::Admission;
use super::heap_block::HeapBlock;
use super::pool::inner::PoolInner;
use crate::core::call::check;
use crate::core::context;
use crate::core::device::Device;
use crate::core::error::{Result, Status};
use crate::core::later::with_memory;
use crate::core::trace;
use crate::stream::StreamInner;
use crate::stream::usage::{Access, AccessKind, Usage};

/// An allocation. When it is dropped, it is freed after all work that uses it.
pub(crate) struct Allocation {
    /// The address for devices. Null if and only if the size is 0.
    pub(crate) pointer: *mut c_void,
    /// The address for the host; null if the host cannot access it.
    pub(crate) host: *mut c_void,
    pub(crate) bytes: usize,
    pub(crate) device: Device,
    pub(crate) usage: Usage,
    owner: Owner,
}

/// The owner of the memory, which determines how it is freed.
pub(crate) enum Owner {
    /// No owner: the size is 0.
    Nobody,
    /// `hipMalloc`.
    Malloc,
    /// `hipMallocManaged`: like `hipMalloc`, but accessible to every device.
    Managed,
    /// `hipHostMalloc`.
    Host { portable: bool },
    /// `hipHostRegister` of memory that this crate owns, unless it is empty.
    Registered(Option<HeapBlock>),
    /// `hipHostRegister` of borrowed memory, which goes back to its owner when the allocation is dropped.
    Borrowed,
    /// `hipMallocAsync` (no pool named) or `hipMallocFromPoolAsync`: freed in the order of the stream.
    Queue(Arc<StreamInner>, Option<Arc<PoolInner>>),
    /// An object that frees the memory when it is dropped, and knows which other devices may use it.
    Keeper(Box<dyn Keeper>),
    /// A part of an object that waits for its own uses. The usage is that of the whole.
    Part(Box<dyn Keeper>),
}

impl Owner {
    /// Reports a new allocation to `tracing`.
    #[inline]
    fn trace(&self, device: Device, bytes: usize, address: *mut c_void) {
        let kind = match self {
            Self::Nobody => return,
            Self::Malloc => "device",
            Self::Managed => "managed",
            Self::Host { .. } => "pinned",
            Self::Registered(_) | Self::Borrowed => "registered",
            Self::Queue(..) => "stream-ordered",
            Self::Keeper(_) | Self::Part(_) => "other",
        };
        trace::allocation(device, kind, bytes, address.addr());
    }
}

/// Keeps memory that another module, or other code, has allocated.
pub(crate) trait Keeper: Send + Sync {
    /// Returns whether `device`, which is not the memory's own, may perform an access of `kind`.
    fn admits(&self, device: Device, kind: AccessKind) -> bool {
        let _ = (device, kind);
        false
    }
}

// SAFETY: the pointers are addresses. `pointer` is for the HIP runtime and devices, which accept it from any thread; only the types that
// hold an `Allocation` dereference `host`, under their own borrows and bounds on elements. Work in flight is counted in `usage`, which is
// Sync; memory is freed only in Drop, when no other reference exists.
unsafe impl Send for Allocation {}
// SAFETY: as above.
unsafe impl Sync for Allocation {}

impl Allocation {
    pub(crate) fn from_parts(
        device: &Device,
        pointer: *mut c_void,
        host: *mut c_void,
        bytes: usize,
        owner: Owner,
    ) -> Self {
        owner.trace(*device, bytes, pointer);
        Self { pointer, host, bytes, device: *device, usage: Usage::default(), owner }
    }

    /// Creates an allocation of size 0.
    pub(crate) fn empty(device: &Device) -> Self {
        Self::from_parts(device, ptr::null_mut(), ptr::null_mut(), 0, Owner::Nobody)
    }

    /// Creates an allocation of `bytes` bytes at `pointer`, which is a part of an object. The object counts the uses of
    /// the whole in `usage`, and waits for them before it is destroyed.
    pub(crate) fn part(
        device: &Device,
        pointer: *mut c_void,
        bytes: usize,
        usage: Usage,
        whole: Box<dyn Keeper>,
    ) -> Self {
        let host = ptr::null_mut();
        Self { pointer, host, bytes, device: *device, usage, owner: Owner::Part(whole) }
    }

    /// Allocates `bytes` bytes of device memory (`hipMalloc`).
    pub(crate) fn malloc(device: &Device, bytes: usize) -> Result<Self> {
        if bytes == 0 {
            return Ok(Self::empty(device));
        }
        let mut pointer = ptr::null_mut();
        device.activate()?;
        // SAFETY: `pointer` is valid for a write.
        let status = with_memory(device, || unsafe { hip_sys::hipMalloc(&mut pointer, bytes) });
        check(status, "hipMalloc", || format!("{bytes} bytes on device {}", device.index()))?;
        Ok(Self::from_parts(device, pointer, ptr::null_mut(), bytes, Owner::Malloc))
    }

    /// Takes ownership of memory that was allocated for this.
    pub(crate) fn adopt(&mut self, pointer: *mut c_void, bytes: usize, owner: Owner) {
        owner.trace(self.device, bytes, pointer);
        (self.pointer, self.bytes, self.owner) = (pointer, bytes, owner);
    }

    /// Like [`adopt`](Self::adopt), for host memory.
    pub(crate) fn adopt_host(&mut self, host: *mut c_void, bytes: usize, owner: Owner) {
        owner.trace(self.device, bytes, host);
        (self.host, self.bytes, self.owner) = (host, bytes, owner);
    }

    /// Passes ownership of the memory to the caller, who has waited for its uses.
    pub(crate) fn disown(&mut self) -> Owner {
        (self.pointer, self.host, self.bytes) = (ptr::null_mut(), ptr::null_mut(), 0);
        std::mem::replace(&mut self.owner, Owner::Nobody)
    }

    /// Returns the owner of the memory.
    pub(crate) fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Returns `Ok` if work on `device` may perform an access of `kind`.
    #[inline]
    pub(crate) fn admit(&self, device: Device, kind: AccessKind, what: &'static str) -> Result<Admission> {
        if device == self.device || self.bytes == 0 {
            return Ok(Admission::OWN);
        }
        let admission = Admission::begin();
        if self.admits_other(device, kind) { Ok(admission) } else { Err(device.expected(self.device, what)) }
    }

    #[cold]
    fn admits_other(&self, device: Device, kind: AccessKind) -> bool {
        match &self.owner {
            Owner::Nobody | Owner::Managed | Owner::Registered(_) | Owner::Borrowed => true,
            Owner::Host { portable } => *portable,
            Owner::Malloc => device.has_peer_access(self.device),
            Owner::Queue(_, Some(pool)) => pool.admits(device, kind),
            Owner::Queue(_, None) => self.device.default_pool_admits(device, kind),
            Owner::Keeper(keeper) | Owner::Part(keeper) => keeper.admits(device, kind),
        }
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if self.pointer.is_null() && self.host.is_null() {
            return;
        }
        match &self.owner {
            // A graph that keeps the memory uses it again later, in an order that no stream knows. A captured stream would capture the
            // free.
            Owner::Queue(stream, _) if !self.usage.is_kept() && !stream.is_captured() => {
                match free_in_order(stream, &self.usage, self.pointer) {
                    Freed::Queued => return,
                    // It is unknown whether the memory was freed, and a second free might hit a new allocation at the same address.
                    Freed::Refused => return,
                    Freed::NotTried => {}
                }
            }
            // Its own destructor is sufficient: the whole is freed after its uses, which include those of its parts.
            Owner::Part(_) => return,
            Owner::Borrowed => return release_borrowed(&self.usage, self.device, self.host),
            _ => {}
        }
        if !context::is_forked() {
            let address = if self.host.is_null() { self.pointer } else { self.host };
            trace::free(self.device, address.addr());
        }
        let give_back = GiveBack {
            pointer: self.pointer.expose_provenance(),
            host: self.host.expose_provenance(),
            device: self.device,
            owner: ManuallyDrop::new(std::mem::replace(&mut self.owner, Owner::Nobody)),
        };
        if give_back.waits_for_the_device() {
            self.usage.release_when_idle(self.device, move || give_back.run());
        } else {
            self.usage.release(move || give_back.run());
        }
    }
}

/// Frees an allocation after its owner and all of its uses are gone. If it is dropped without that, the memory leaks.
struct GiveBack {
    pointer: usize,
    host: usize,
    device: Device,
    owner: ManuallyDrop<Owner>,
}

impl GiveBack {
    /// Returns whether the runtime waits for all work of the device when it frees the memory.
    fn waits_for_the_device(&self) -> bool {
        !matches!(*self.owner, Owner::Nobody | Owner::Keeper(_) | Owner::Part(_))
    }

    fn run(self) {
        let (pointer, host) =
            (ptr::with_exposed_provenance_mut(self.pointer), ptr::with_exposed_provenance_mut::<c_void>(self.host));
        if self.device.activate().is_err() {
            return;
        }
        match ManuallyDrop::into_inner(self.owner) {
            Owner::Nobody | Owner::Borrowed => {}
            Owner::Malloc | Owner::Managed | Owner::Queue(..) => {
                // SAFETY: from hipMalloc or a similar function, not freed yet, and no work uses it anymore.
                let status = unsafe { hip_sys::hipFree(pointer) };
                freed_by_others(status, "hipFree", pointer);
            }
            Owner::Host { .. } => {
                // SAFETY: from hipHostMalloc, not freed yet, and no work uses it anymore.
                let status = unsafe { hip_sys::hipHostFree(host) };
                freed_by_others(status, "hipHostFree", host);
            }
            Owner::Registered(memory) => {
                // SAFETY: from hipHostRegister, not unregistered yet, and no work uses it anymore.
                let status = unsafe { hip_sys::hipHostUnregister(host) };
                if status.0 == 0 {
                    drop(memory);
                } else {
                    std::mem::forget(memory); // devices can still access it
                }
            }
            Owner::Keeper(keeper) | Owner::Part(keeper) => drop(keeper),
        }
    }
}

/// Says on stderr that the runtime does not know memory that was to be freed. There is no caller to return an error to, and
/// other code that frees our memory may next free what the runtime puts there.
fn freed_by_others(status: hip_sys::hipError_t, function: &str, pointer: *mut c_void) {
    if Status(status.0) == Status::INVALID_VALUE {
        eprintln!(
            "hip: other code has freed the memory at {pointer:p}, which a buffer of this crate owns: {function} does not know it"
        );
    }
}

/// Waits for all work that uses borrowed memory, and unregisters it. The memory goes back to its owner when this
/// returns.
fn release_borrowed(usage: &Usage, device: Device, host: *mut c_void) {
    if context::is_forked() {
        return; // the parent's devices do not access a child's memory
    }
    trace::free(device, host.addr());
    if !usage.finish() {
        // The streams could not report the end of their work; the device as a whole may.
        let stopped = [Status::ILLEGAL_ADDRESS, Status::LAUNCH_TIMEOUT, Status::ASSERT, Status::LAUNCH_FAILURE];
        match device.synchronize() {
            Ok(()) => {}
            // After a fault, the runtime runs nothing on the device.
            Err(error) if error.status().is_some_and(|status| stopped.contains(&status)) => {}
            Err(error) => {
                eprintln!("hip: a device may still use borrowed memory at {host:p}, and cannot say: {error}");
                std::process::abort();
            }
        }
    }
    // SAFETY: from hipHostRegister, not unregistered yet, and no work uses it anymore.
    let _ = unsafe { hip_sys::hipHostUnregister(host) };
}

enum Freed {
    Queued,
    Refused,
    NotTried,
}

/// `hipErrorStreamCaptureUnsupported`.
const CAPTURE_UNSUPPORTED: Status = Status(900);

/// Queues the free on the memory's stream, after its uses on all streams. The host does not wait.
fn free_in_order(stream: &Arc<StreamInner>, usage: &Usage, pointer: *mut c_void) -> Freed {
    let mut tried = false;
    let queue = |raw| {
        tried = true;
        // SAFETY: from hipMallocAsync or hipMallocFromPoolAsync, not freed yet; the stream waits for all other streams that use it, and no
        // more uses can be queued.
        let status = unsafe { hip_sys::hipFreeAsync(pointer, raw) };
        check(status, "hipFreeAsync", || format!("{pointer:p}"))
    };
    let freed = context::ordered(|| stream.submit(&[Access::write(usage)], None, queue));
    if tried {
        trace::free(stream.device(), pointer.addr());
    }
    match (freed, tried) {
        (Ok(()), _) => Freed::Queued,
        // ROCm 7.2 rejects the call, without any effect, while any thread captures a blocking stream.
        (Err(error), true) if error.status() == Some(CAPTURE_UNSUPPORTED) => Freed::NotTried,
        (Err(_), true) => Freed::Refused,
        (Err(_), false) => Freed::NotTried,
    }
}
