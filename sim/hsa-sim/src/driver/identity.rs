//! The numbers by which a GPU is known.

use crate::agent::AgentId;

/// The PCI domain of the GPUs: one that no device of the machine has, so that their addresses are not those of real ones.
pub(crate) const PCI_DOMAIN: u32 = 0x5349;
/// AMD, as PCI knows it.
pub(crate) const VENDOR: u32 = 0x1002;

/// Where a GPU is on the PCI bus, as the kernel packs it: bus, device, function. A bus of its own each.
pub(crate) fn location(gpu: AgentId) -> u32 {
    u32::from(gpu.0) << 8
}

/// A number that no other GPU of the machine has.
pub(crate) fn unique_id(gpu: AgentId) -> u64 {
    u64::from(gpu.0)
}

/// The number by which the compute driver knows a GPU, which is not 0.
pub(super) fn gpu_id(gpu: AgentId) -> u32 {
    0x1000 + u32::from(gpu.0)
}

/// The number of a GPU's device for rendering.
pub(super) fn render_minor(gpu: AgentId) -> u32 {
    127 + u32::from(gpu.0)
}
