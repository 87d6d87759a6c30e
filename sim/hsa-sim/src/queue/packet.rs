//! Decoding packets from a private copy.

use crate::abi::{
    HSA_AMD_PACKET_TYPE_BARRIER_VALUE, HSA_PACKET_TYPE_BARRIER_AND, HSA_PACKET_TYPE_BARRIER_OR,
    HSA_PACKET_TYPE_INVALID, HSA_PACKET_TYPE_KERNEL_DISPATCH, HSA_PACKET_TYPE_VENDOR_SPECIFIC, hsa_signal_t,
};
use crate::signal::Condition;

/// The header of a slot without a packet.
pub(super) const INVALID: u32 = HSA_PACKET_TYPE_INVALID;

/// Returns whether a header is that of a packet.
pub(super) fn is_packet(header: u32) -> bool {
    header & 0xff != HSA_PACKET_TYPE_INVALID
}

/// The operation of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) enum Request {
    /// A kernel.
    Dispatch,
    /// Waits until all of these signals are 0.
    And([hsa_signal_t; 5]),
    /// Waits until one of them is 0.
    Or([hsa_signal_t; 5]),
    /// Waits until the masked value of a signal satisfies a comparison.
    Value { signal: hsa_signal_t, condition: Condition, value: i64, mask: i64 },
    /// An unknown packet.
    Unknown,
}

/// Decodes a packet into its operation and its completion signal (0 for none).
pub(super) fn read(bytes: &[u8; 64]) -> (Request, hsa_signal_t) {
    let u64_at = |at: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[at..at + 8]);
        u64::from_le_bytes(word)
    };
    let signal = |at: usize| hsa_signal_t { handle: u64_at(at) };
    let request = match u32::from(bytes[0]) {
        HSA_PACKET_TYPE_KERNEL_DISPATCH => Request::Dispatch,
        HSA_PACKET_TYPE_BARRIER_AND => Request::And(std::array::from_fn(|n| signal(8 + 8 * n))),
        HSA_PACKET_TYPE_BARRIER_OR => Request::Or(std::array::from_fn(|n| signal(8 + 8 * n))),
        HSA_PACKET_TYPE_VENDOR_SPECIFIC if u32::from(bytes[2]) == HSA_AMD_PACKET_TYPE_BARRIER_VALUE => {
            match Condition::new(u64_at(32) as u32) {
                Some(condition) => {
                    Request::Value { signal: signal(8), condition, value: u64_at(16) as i64, mask: u64_at(24) as i64 }
                }
                None => Request::Unknown,
            }
        }
        _ => Request::Unknown,
    };
    (request, signal(56))
}
