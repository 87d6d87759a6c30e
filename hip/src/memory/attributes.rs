//! The runtime's information about an address.

use std::ptr;

use hip_sys::rocm_6_2::{hipMemoryType, hipPointerAttribute_t};

use super::DevicePtr;
use crate::core::backend::runtime;
use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::{Error, Result, Status};
use crate::core::forms;
use crate::core::releases::MEMORY_TYPES_HAVE_OLD_NUMBERS;

/// The kind of memory at an address ([`PointerAttributes`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PointerKind {
    /// Host memory, pinned or registered.
    Host,
    /// Device memory.
    Device,
    /// Managed memory, for the host and all devices.
    Managed,
    /// An array (`hipArray_t`).
    Array,
    /// Unified memory, in the terms of old releases.
    Unified,
}

/// The runtime's information about an address (`hipPointerGetAttributes`): the result of [`DevicePtr::attributes`].
#[doc(alias("hipPointerGetAttributes", "cudaPointerGetAttributes"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PointerAttributes {
    /// The kind of memory.
    pub kind: PointerKind,
    /// The device that the memory is on, or in whose context it was allocated.
    pub device: Device,
    /// The same location for devices; null if they cannot access it.
    pub device_address: u64,
    /// The same location for the host; null if it cannot access it.
    pub host_address: u64,
    /// Whether it is managed memory.
    pub is_managed: bool,
    /// The flags that it was allocated with (`hipHostMallocPortable`, ...).
    pub allocation_flags: u32,
}

/// Converts the number of a kind of memory, which ROCm 6.0 changed. `None` for memory that the runtime has not
/// allocated.
fn kind(raw: hipMemoryType, old: bool) -> Result<Option<PointerKind>> {
    let kind = match (raw.0, !old) {
        (0, true) => return Ok(None),
        (1, true) | (0, false) => PointerKind::Host,
        (2, true) | (1, false) => PointerKind::Device,
        (3, true) | (4, false) => PointerKind::Managed,
        (10, true) | (2, false) => PointerKind::Array,
        (11, true) | (3, false) => PointerKind::Unified,
        (number, _) => {
            return Err(Error::InvalidValue {
                what: "the kind of memory that the runtime found at an address",
                value: number.to_string(),
                allowed: "a number that AMD has documented".to_owned(),
            });
        }
    };
    Ok(Some(kind))
}

impl<T> DevicePtr<T> {
    /// Returns the runtime's information about the address (`hipPointerGetAttributes`); `None` if the runtime does not
    /// know it. Does not read the memory.
    ///
    /// ```
    /// # fn main() -> hip::Result<()> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// use hip::{Device, DeviceBuffer, DevicePtr};
    /// use hip::memory::PointerKind;
    ///
    /// let buffer = DeviceBuffer::<f32>::zeroed(&Device::get(0)?, 4)?;
    /// let found = buffer.as_device_ptr().attributes()?.expect("the runtime has made it");
    /// assert_eq!((found.kind, found.device), (PointerKind::Device, buffer.device()));
    /// assert_eq!(DevicePtr::<f32>::null().attributes()?, None);
    /// # Ok(()) }
    /// ```
    #[doc(alias("hipPointerGetAttributes", "cudaPointerGetAttributes"))]
    #[doc(alias("hipPointerGetAttribute", "cuPointerGetAttribute"))]
    #[doc(alias("hipDrvPointerGetAttributes", "cuPointerGetAttributes"))]
    pub fn attributes(self) -> Result<Option<PointerAttributes>> {
        runtime()?;
        if self.address() == 0 {
            return Ok(None);
        }
        // Loads the runtime, and rejects the call in host functions and forked children.
        Device::get(0)?.activate()?;
        let mut raw = hipPointerAttribute_t::default();
        let pointer = ptr::with_exposed_provenance(self.address() as usize);
        // SAFETY: `raw` is valid for a write; the runtime looks the address up, and does not dereference it.
        let status = unsafe { forms::hipPointerGetAttributes(&mut raw, pointer) };
        match check(status, "hipPointerGetAttributes", || format!("{self:?}")) {
            // Releases before 6.0 return this for an unknown address.
            Err(error) if error.status() == Some(Status::INVALID_VALUE) => return Ok(None),
            other => other?,
        }
        let Some(kind) = kind(raw.type_, MEMORY_TYPES_HAVE_OLD_NUMBERS.in_use())? else { return Ok(None) };
        Ok(Some(PointerAttributes {
            kind,
            device: Device::get(usize::try_from(raw.device).unwrap_or(usize::MAX))?,
            device_address: raw.devicePointer as u64,
            host_address: raw.hostPointer as u64,
            is_managed: raw.isManaged != 0,
            allocation_flags: raw.allocationFlags,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_release() {
        let new = |raw| kind(hipMemoryType(raw), false).unwrap();
        let old = |raw| kind(hipMemoryType(raw), true).unwrap();
        assert_eq!([new(0), new(1), new(2)], [None, Some(PointerKind::Host), Some(PointerKind::Device)]);
        assert_eq!(
            [old(0), old(1), old(4)].map(Option::unwrap),
            [PointerKind::Host, PointerKind::Device, PointerKind::Managed]
        );
        assert!(kind(hipMemoryType(99), false).is_err());
    }
}
