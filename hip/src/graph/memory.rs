//! Memory that graphs allocate.

use std::collections::BTreeSet;
use std::ptr;

use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::{Result, Status};
use crate::core::lock::{Mutex, MutexGuard};
use crate::core::releases::GRAPHS_KEEP_THEIR_MEMORY;

/// Memory that launches of graphs have allocated and no launch has freed since, by device and address.
static UNFREED: Mutex<BTreeSet<(usize, usize)>> = Mutex::new(BTreeSet::new());

fn unfreed() -> MutexGuard<'static, BTreeSet<(usize, usize)>> {
    UNFREED.lock()
}

/// The addresses that a graph's nodes allocate and free, those of child graphs included.
#[derive(Clone, Default)]
pub(super) struct GraphMemory {
    allocated: Vec<usize>,
    freed: Vec<usize>,
}

impl GraphMemory {
    pub(super) fn allocates(&mut self, address: u64) {
        self.allocated.push(address as usize);
    }

    pub(super) fn frees(&mut self, address: u64) {
        self.freed.push(address as usize);
    }

    pub(super) fn extend(&mut self, other: &Self) {
        self.allocated.extend_from_slice(&other.allocated);
        self.freed.extend_from_slice(&other.freed);
    }

    /// Records a launch.
    pub(super) fn launched(&self, device: Device) {
        if self.allocated.is_empty() && self.freed.is_empty() {
            return;
        }
        let place = |address: &usize| (device.index(), *address);
        let mut unfreed = unfreed();
        unfreed.extend(self.allocated.iter().map(place));
        unfreed.retain(|left| !self.freed.iter().map(place).any(|freed| freed == *left));
    }

    /// Frees the memory that the last launch has left, once no launch uses it. HIP 5.7 allocates when a node is created
    /// instead of at launch, so the memory is kept there. A launch of another graph with auto-free may have freed it
    /// already, and the runtime returns an error then: the address is not reused as long as the graph exists.
    pub(super) fn free_rest(&self, device: Device) {
        if self.allocated.is_empty() || GRAPHS_KEEP_THEIR_MEMORY.in_use() {
            return;
        }
        for address in &self.allocated {
            if unfreed().remove(&(device.index(), *address)) && device.activate().is_ok() {
                // SAFETY: an allocation of a launch that is over, or a former one, whose address is reserved by the graph, which is alive.
                // Code that uses it outside of the graph passes the address to a launch, and that launch's caller must ensure that the
                // memory is still allocated.
                let status = unsafe { hip_sys::hipFree(ptr::with_exposed_provenance_mut(*address)) };
                let _ = check(status, "hipFree", || "memory of a graph".to_owned());
            }
        }
    }
}

/// The memory that graphs have allocated on a device, in bytes ([`Device::graph_memory`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphMemoryInfo {
    /// Allocated now.
    pub used: u64,
    /// Highest amount allocated so far.
    pub used_high: u64,
    /// Reserved from the device now.
    pub reserved: u64,
    /// Highest amount reserved so far.
    pub reserved_high: u64,
}

impl Device {
    /// Returns the amounts of memory that graph nodes have allocated (`hipDeviceGetGraphMemAttribute`). ROCm 5.7 may
    /// return any number of reserved bytes after memory went back to the device.
    #[doc(alias("hipDeviceGetGraphMemAttribute", "cuDeviceGetGraphMemAttribute", "cudaDeviceGetGraphMemAttribute"))]
    pub fn graph_memory(&self) -> Result<GraphMemoryInfo> {
        let get = |attribute| {
            let mut value = 0u64;
            // SAFETY: every one of these attributes is a 64-bit number, for which `value` is valid.
            let status = unsafe {
                hip_sys::hipDeviceGetGraphMemAttribute(self.raw(), attribute, ptr::from_mut(&mut value).cast())
            };
            check(status, "hipDeviceGetGraphMemAttribute", || format!("{attribute:?} of device {}", self.index()))?;
            Ok(value)
        };
        self.activate()?;
        Ok(GraphMemoryInfo {
            used: get(hip_sys::hipGraphMemAttrUsedMemCurrent)?,
            used_high: get(hip_sys::hipGraphMemAttrUsedMemHigh)?,
            reserved: get(hip_sys::hipGraphMemAttrReservedMemCurrent)?,
            reserved_high: get(hip_sys::hipGraphMemAttrReservedMemHigh)?,
        })
    }

    /// Resets the highest amounts of [`graph_memory`](Self::graph_memory) (`hipDeviceSetGraphMemAttribute`).
    ///
    /// ROCm 6.4 rejects this for `reserved_high`, which then stays as it is.
    #[doc(alias("hipDeviceSetGraphMemAttribute", "cuDeviceSetGraphMemAttribute", "cudaDeviceSetGraphMemAttribute"))]
    pub fn reset_graph_memory_high_watermarks(&self) -> Result<()> {
        self.activate()?;
        let reset = |attribute| {
            let mut zero = 0u64;
            // SAFETY: both attributes are 64-bit numbers, for which `zero` is valid.
            let status = unsafe {
                hip_sys::hipDeviceSetGraphMemAttribute(self.raw(), attribute, ptr::from_mut(&mut zero).cast())
            };
            check(status, "hipDeviceSetGraphMemAttribute", || format!("{attribute:?} of device {}", self.index()))
        };
        reset(hip_sys::hipGraphMemAttrUsedMemHigh)?;
        match reset(hip_sys::hipGraphMemAttrReservedMemHigh) {
            Err(error) if error.status() == Some(Status::INVALID_VALUE) => Ok(()),
            done => done,
        }
    }

    /// Returns unused memory that graphs have reserved to the device (`hipDeviceGraphMemTrim`).
    #[doc(alias("hipDeviceGraphMemTrim", "cuDeviceGraphMemTrim", "cudaDeviceGraphMemTrim"))]
    pub fn trim_graph_memory(&self) -> Result<()> {
        self.activate()?;
        // SAFETY: takes an index.
        let status = unsafe { hip_sys::hipDeviceGraphMemTrim(self.raw()) };
        check(status, "hipDeviceGraphMemTrim", || format!("device {}", self.index()))
    }
}
