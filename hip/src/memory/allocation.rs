//! One piece of memory that devices reach: where it is, who may use it, what still does, and how it is given back.

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::Arc;

use super::Admission;
use super::pool::PoolInner;
use super::registered::HeapBlock;
use crate::core::call::check;
use crate::core::context;
use crate::core::device::Device;
use crate::core::error::{Result, Status};
use crate::core::later::with_memory;
use crate::core::trace;
use crate::stream::StreamInner;
use crate::stream::usage::{Access, AccessKind, Usage};

/// One allocation. Given back when dropped, after all work that uses it.
pub(crate) struct Allocation {
    /// As devices see it. Null if and only if there are no bytes.
    pub(crate) pointer: *mut c_void,
    /// As the host sees it; null if it does not.
    pub(crate) host: *mut c_void,
    pub(crate) bytes: usize,
    pub(crate) device: Device,
    pub(crate) usage: Usage,
    owner: Owner,
}

/// Who gives the memory back, and how.
pub(crate) enum Owner {
    /// Nobody: there are no bytes.
    Nobody,
    /// `hipMalloc`.
    Malloc,
    /// `hipMallocManaged`: as `hipMalloc`, but within the reach of every device.
    Managed,
    /// `hipHostMalloc`.
    Host { portable: bool },
    /// `hipHostRegister` of memory that is ours, unless it is empty.
    Registered(Option<HeapBlock>),
    /// `hipHostRegister` of memory that is somebody else's as soon as we are gone.
    Borrowed,
    /// `hipMallocAsync` (no pool named) or `hipMallocFromPoolAsync`: freed in the order of the stream.
    Queue(Arc<StreamInner>, Option<Arc<PoolInner>>),
    /// Something that gives the memory back when it is dropped, and says which other devices may use it.
    Keeper(Box<dyn Keeper>),
    /// A part of something that waits for its uses itself: the usage is the whole's.
    Part(Box<dyn Keeper>),
}

impl Owner {
    /// Tells of memory that has come.
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

/// What holds memory that other parts of the crate, or others, have made.
pub(crate) trait Keeper: Send + Sync {
    /// Whether `device`, which is not the memory's own, may do an access of `kind`.
    fn admits(&self, device: Device, kind: AccessKind) -> bool {
        let _ = (device, kind);
        false
    }
}

// SAFETY: the pointers are addresses; `pointer` is for the HIP runtime and devices, which take it from any thread, and
// `host` is followed only by the types that hold an `Allocation`, under their own borrows and bounds on elements. What is
// in flight is counted in `usage`, which is Sync; memory is given back only in Drop, with no other reference.
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

    /// No bytes.
    pub(crate) fn empty(device: &Device) -> Self {
        Self::from_parts(device, ptr::null_mut(), ptr::null_mut(), 0, Owner::Nobody)
    }

    /// `bytes` bytes at `pointer` of something that counts the uses of all of it in `usage`, and waits for them before it goes.
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

    /// `bytes` of device memory (`hipMalloc`).
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

    /// Takes over memory that was allocated meanwhile.
    pub(crate) fn adopt(&mut self, pointer: *mut c_void, bytes: usize, owner: Owner) {
        owner.trace(self.device, bytes, pointer);
        (self.pointer, self.bytes, self.owner) = (pointer, bytes, owner);
    }

    /// As [`adopt`](Self::adopt), for memory of the host.
    pub(crate) fn adopt_host(&mut self, host: *mut c_void, bytes: usize, owner: Owner) {
        owner.trace(self.device, bytes, host);
        (self.host, self.bytes, self.owner) = (host, bytes, owner);
    }

    /// Leaves the memory to the caller, who has waited for its uses.
    pub(crate) fn disown(&mut self) -> Owner {
        (self.pointer, self.host, self.bytes) = (ptr::null_mut(), ptr::null_mut(), 0);
        std::mem::replace(&mut self.owner, Owner::Nobody)
    }

    /// How the memory is owned.
    pub(crate) fn owner(&self) -> &Owner {
        &self.owner
    }

    /// `Ok` if work on `device` may do an access of `kind`.
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
            // A graph that keeps the memory uses it again later, in no order that a stream knows of.
            // A capture would take the free for a part of its graph.
            Owner::Queue(stream, _) if !self.usage.is_kept() && !stream.is_captured() => {
                match free_in_order(stream, &self.usage, self.pointer) {
                    Freed::Queued => return,
                    // Whether it came to pass is unknown, and a second free might hit who has the address by now.
                    Freed::Refused => return,
                    Freed::NotTried => {}
                }
            }
            // Its own destructor is all: the whole is given back after its uses, and those of a part are the whole's.
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

/// What is left to do when an allocation's owner and all of its uses are gone. Dropped without that, it loses the memory
/// rather than giving it to others.
struct GiveBack {
    pointer: usize,
    host: usize,
    device: Device,
    owner: ManuallyDrop<Owner>,
}

impl GiveBack {
    /// Whether the runtime waits for all work of the device to give the memory back.
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
                // SAFETY: from hipMalloc or one of its kin, not freed yet, and no work uses it any more.
                let _ = unsafe { hip_sys::hipFree(pointer) };
            }
            Owner::Host { .. } => {
                // SAFETY: from hipHostMalloc, not freed yet, and no work uses it any more.
                let _ = unsafe { hip_sys::hipHostFree(host) };
            }
            Owner::Registered(memory) => {
                // SAFETY: from hipHostRegister, not unregistered yet, and no work uses it any more.
                let status = unsafe { hip_sys::hipHostUnregister(host) };
                if status.0 == 0 {
                    drop(memory);
                } else {
                    std::mem::forget(memory); // devices can still reach it
                }
            }
            Owner::Keeper(keeper) | Owner::Part(keeper) => drop(keeper),
        }
    }
}

/// Waits for all work that uses borrowed memory, which goes back to its owner when this returns, and unregisters it.
fn release_borrowed(usage: &Usage, device: Device, host: *mut c_void) {
    if context::is_forked() {
        return; // the parent's devices know nothing of a child's memory
    }
    trace::free(device, host.addr());
    if !usage.finish() {
        // The streams could not say; the device as a whole may.
        let stopped = [Status::ILLEGAL_ADDRESS, Status::LAUNCH_TIMEOUT, Status::ASSERT, Status::LAUNCH_FAILURE];
        match device.synchronize() {
            Ok(()) => {}
            // After a fault the runtime runs nothing any more.
            Err(error) if error.status().is_some_and(|status| stopped.contains(&status)) => {}
            Err(error) => {
                eprintln!("hip: a device may still use borrowed memory at {host:p}, and cannot say: {error}");
                std::process::abort();
            }
        }
    }
    // SAFETY: from hipHostRegister, not unregistered yet, and no work uses it any more.
    let _ = unsafe { hip_sys::hipHostUnregister(host) };
}

enum Freed {
    Queued,
    Refused,
    NotTried,
}

/// `hipErrorStreamCaptureUnsupported`.
const CAPTURE_UNSUPPORTED: Status = Status(900);

/// Queues the free on the stream that the memory belongs to, behind its uses on all streams. No wait of the host.
fn free_in_order(stream: &Arc<StreamInner>, usage: &Usage, pointer: *mut c_void) -> Freed {
    let mut tried = false;
    let queue = |raw| {
        tried = true;
        // SAFETY: from hipMallocAsync or hipMallocFromPoolAsync, not freed yet; the stream has been made to wait for all
        // other streams that use it, and nobody can queue more.
        let status = unsafe { hip_sys::hipFreeAsync(pointer, raw) };
        check(status, "hipFreeAsync", || format!("{pointer:p}"))
    };
    let freed = context::ordered(|| stream.submit(&[Access::write(usage)], None, queue));
    if tried {
        trace::free(stream.device(), pointer.addr());
    }
    match (freed, tried) {
        (Ok(()), _) => Freed::Queued,
        // ROCm 7.2 refuses at once, with nothing done, while a blocking stream is captured by any thread.
        (Err(error), true) if error.status() == Some(CAPTURE_UNSUPPORTED) => Freed::NotTried,
        (Err(_), true) => Freed::Refused,
        (Err(_), false) => Freed::NotTried,
    }
}
