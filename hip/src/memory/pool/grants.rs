//! Access of devices to memory that is on another device.

use super::options::MemoryAccess;
use crate::core::device::Device;
use crate::core::lock::RwLock;
use crate::stream::usage::AccessKind;

/// Other devices that may use memory.
#[derive(Default)]
pub(crate) struct Grants(RwLock<Vec<(Device, MemoryAccess)>>);

impl Grants {
    pub(crate) fn set(&self, device: Device, access: MemoryAccess) {
        let mut grants = self.0.write();
        grants.retain(|(other, _)| *other != device);
        grants.push((device, access));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.read().is_empty()
    }

    pub(crate) fn admits(&self, device: Device, kind: AccessKind) -> bool {
        let needed = match kind {
            AccessKind::Read => MemoryAccess::Read,
            AccessKind::Write => MemoryAccess::ReadWrite,
        };
        let grants = self.0.read();
        grants.iter().any(|(other, access)| *other == device && *access >= needed)
    }
}
