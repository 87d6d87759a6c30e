//! One piece of memory that devices reach: where it is, who may use it, what still does, and how it is given back.

use std::any::Any;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use super::pool::PoolInner;
use crate::call::check;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::stream::StreamInner;
use crate::usage::{Access, AccessKind, Usage};

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
    Host,
    /// `hipHostRegister`; with the memory itself, where it is ours.
    Registered(Box<dyn Any + Send + Sync>),
    /// `hipMallocAsync` (no pool named) or `hipMallocFromPoolAsync`: freed in the order of the stream.
    Queue(Arc<StreamInner>, Option<Arc<PoolInner>>),
    /// Something that gives the memory back when it is dropped, and says which other devices may use it.
    Keeper(Box<dyn Keeper>),
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
        Self { pointer, host, bytes, device: *device, usage: Usage::default(), owner }
    }

    /// No bytes.
    pub(crate) fn empty(device: &Device) -> Self {
        Self::from_parts(device, ptr::null_mut(), ptr::null_mut(), 0, Owner::Nobody)
    }

    /// `bytes` of device memory (`hipMalloc`).
    pub(crate) fn malloc(device: &Device, bytes: usize) -> Result<Self> {
        if bytes == 0 {
            return Ok(Self::empty(device));
        }
        let mut pointer = ptr::null_mut();
        device.activate()?;
        // SAFETY: `pointer` is valid for a write.
        let status = unsafe { hip_sys::hipMalloc(&mut pointer, bytes) };
        check(status, "hipMalloc", || format!("{bytes} bytes on device {}", device.index()))?;
        Ok(Self::from_parts(device, pointer, ptr::null_mut(), bytes, Owner::Malloc))
    }

    /// Takes over memory that was allocated meanwhile.
    pub(crate) fn adopt(&mut self, pointer: *mut c_void, bytes: usize, owner: Owner) {
        (self.pointer, self.bytes, self.owner) = (pointer, bytes, owner);
    }

    /// How the memory is owned.
    pub(crate) fn owner(&self) -> &Owner {
        &self.owner
    }

    /// `Ok` if work on `device` may do an access of `kind`.
    #[inline]
    pub(crate) fn admit(&self, device: Device, kind: AccessKind, what: &'static str) -> Result<()> {
        if device == self.device || self.bytes == 0 || self.admits_other(device, kind) {
            return Ok(());
        }
        Err(Error::WrongDevice { what, expected: device.index(), found: self.device.index() })
    }

    #[cold]
    fn admits_other(&self, device: Device, kind: AccessKind) -> bool {
        match &self.owner {
            Owner::Nobody | Owner::Managed | Owner::Host | Owner::Registered(_) => true,
            Owner::Malloc => device.has_peer_access(self.device),
            Owner::Queue(_, Some(pool)) => pool.admits(device, kind),
            Owner::Queue(_, None) => self.device.default_pool_admits(device, kind),
            Owner::Keeper(keeper) => keeper.admits(device, kind),
        }
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if self.pointer.is_null() && self.host.is_null() {
            return;
        }
        if let Owner::Queue(stream, _) = &self.owner {
            match free_in_order(stream, &self.usage, self.pointer) {
                Freed::Queued => return,
                // Whether it came to pass is unknown, and a second free might hit who has the address by now.
                Freed::Refused => return,
                Freed::NotTried => {}
            }
        }
        // If the device cannot say that it is done with the memory, the memory is lost rather than given to others.
        let owner = std::mem::replace(&mut self.owner, Owner::Nobody);
        if !self.usage.finish() || self.device.activate().is_err() {
            std::mem::forget(owner);
            return;
        }
        match owner {
            Owner::Nobody => {}
            Owner::Malloc | Owner::Managed | Owner::Queue(..) => {
                // SAFETY: from hipMalloc or one of its kin, not freed yet, and no work that was queued uses it any more.
                let _ = unsafe { hip_sys::hipFree(self.pointer) };
            }
            Owner::Host => {
                // SAFETY: from hipHostMalloc, not freed yet, and no work that was queued uses it any more.
                let _ = unsafe { hip_sys::hipHostFree(self.host) };
            }
            Owner::Registered(memory) => {
                // SAFETY: from hipHostRegister, not unregistered yet, and no work that was queued uses it any more.
                let status = unsafe { hip_sys::hipHostUnregister(self.host) };
                if status.0 == 0 {
                    drop(memory);
                } else {
                    std::mem::forget(memory); // devices can still reach it
                }
            }
            Owner::Keeper(keeper) => drop(keeper),
        }
    }
}

enum Freed {
    Queued,
    Refused,
    NotTried,
}

/// Queues the free on the stream that the memory belongs to, behind its uses on all streams. No wait of the host.
fn free_in_order(stream: &Arc<StreamInner>, usage: &Usage, pointer: *mut c_void) -> Freed {
    let mut tried = false;
    let freed = stream.submit(&[Access::write(usage)], None, |raw| {
        tried = true;
        // SAFETY: from hipMallocAsync or hipMallocFromPoolAsync, not freed yet; the stream has been made to wait for all
        // other streams that use it, and nobody can queue more.
        let status = unsafe { hip_sys::hipFreeAsync(pointer, raw) };
        check(status, "hipFreeAsync", || format!("{pointer:p}"))
    });
    match (freed, tried) {
        (Ok(()), _) => Freed::Queued,
        (Err(_), true) => Freed::Refused,
        (Err(_), false) => Freed::NotTried,
    }
}
