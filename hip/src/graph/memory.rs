//! Memory that graphs allocate.

use std::ptr;

use crate::call::check;
use crate::device::Device;
use crate::error::{Result, Status};

/// The memory that graphs have allocated on a device, in bytes ([`Device::graph_memory`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphMemoryInfo {
    /// Allocated now.
    pub used: u64,
    /// Most that was ever allocated at a time.
    pub used_high: u64,
    /// Taken from the device now.
    pub reserved: u64,
    /// Most that was ever taken.
    pub reserved_high: u64,
}

impl Device {
    /// The memory that nodes of graphs have allocated (`hipDeviceGetGraphMemAttribute`).
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

    /// Begins to count the highest amounts of [`graph_memory`](Self::graph_memory) anew (`hipDeviceSetGraphMemAttribute`).
    ///
    /// ROCm 6.4 refuses it for `reserved_high`, which then stays as it is.
    pub fn reset_graph_memory_highs(&self) -> Result<()> {
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

    /// Gives memory back that graphs have reserved and do not use (`hipDeviceGraphMemTrim`).
    pub fn trim_graph_memory(&self) -> Result<()> {
        self.activate()?;
        // SAFETY: takes an index.
        let status = unsafe { hip_sys::hipDeviceGraphMemTrim(self.raw()) };
        check(status, "hipDeviceGraphMemTrim", || format!("device {}", self.index()))
    }
}
