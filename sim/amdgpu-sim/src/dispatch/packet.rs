//! Kernel dispatch packets of the Architected Queuing Language (AQL).

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use crate::units::ComputeUnits;

/// Bytes of an AQL packet.
pub const PACKET_BYTES: usize = 64;

/// A kernel dispatch as specified by an AQL packet, and the packet's address.
///
/// ```
/// use amdgpu_sim::{PACKET_BYTES, Packet};
///
/// let mut bytes = [0; PACKET_BYTES];
/// bytes[2] = 1; // one dimension
/// bytes[4] = 64; // workgroups of 64
/// bytes[12] = 128; // in a grid of 128
/// let packet = Packet { address: 0x1000, ..Packet::parse(&bytes) };
/// assert_eq!((packet.grid, packet.workgroup), ([128, 1, 1], [64, 1, 1]));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Work-items in each dimension.
    pub grid: [u32; 3],
    /// Work-items of a workgroup in each dimension.
    pub workgroup: [u32; 3],
    /// Scratch of a work-item in bytes.
    pub private_segment_size: u32,
    /// LDS of a workgroup in bytes: static and dynamic.
    pub group_segment_size: u32,
    /// Address of the kernel's descriptor ([`Kernel::descriptor_address`](crate::Kernel::descriptor_address)).
    pub kernel_object: u64,
    /// Address of the kernarg segment. The kernel's loads from it are checked like any other.
    pub kernarg: u64,
    /// Address of the packet, for kernels that read it.
    pub address: u64,
    /// Address of the queue's `amd_queue_t`, for kernels that read it. They need the high halves of
    /// [`SHARED_APERTURE`](crate::SHARED_APERTURE) and [`PRIVATE_APERTURE`](crate::PRIVATE_APERTURE) in it.
    pub queue: u64,
    /// The number of the packet in its queue.
    pub dispatch_id: u64,
    /// The compute units that the queue may use.
    pub units: ComputeUnits,
}

impl Packet {
    /// Parses an `hsa_kernel_dispatch_packet_t`. Sizes in dimensions that the packet does not use are 1; without any
    /// dimension, all are 0, which is refused later. [`address`](Self::address), [`queue`](Self::queue) and
    /// [`dispatch_id`](Self::dispatch_id) are zero.
    pub fn parse(bytes: &[u8; PACKET_BYTES]) -> Self {
        let u16_at = |at: usize| u32::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
        let u32_at = |at: usize| u16_at(at) | u16_at(at + 2) << 16;
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        let dimensions = (u16_at(2) & 3) as usize;
        let other = u32::from(dimensions > 0);
        let sizes = |of: &dyn Fn(usize) -> u32| std::array::from_fn(|d| if d < dimensions { of(d) } else { other });
        Self {
            grid: sizes(&|d| u32_at(12 + 4 * d)),
            workgroup: sizes(&|d| u16_at(4 + 2 * d)),
            private_segment_size: u32_at(24),
            group_segment_size: u32_at(28),
            kernel_object: u64_at(32),
            kernarg: u64_at(40),
            ..Self::default()
        }
    }
}

/// A token to stop dispatches from any thread. Clones are the same token.
///
/// A cancelled dispatch ends with [`FaultKind::Cancelled`](crate::FaultKind::Cancelled) within a few milliseconds,
/// wherever its waves are. Their writes remain.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Stops the dispatches that use this token, and those that are started with it later.
    pub fn cancel(&self) {
        self.0.store(true, Relaxed);
    }

    /// Whether [`cancel`](Self::cancel) has been called.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Relaxed)
    }
}
