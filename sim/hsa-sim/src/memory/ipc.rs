//! Interprocess memory.
//!
//! A shared allocation has a name by which other processes open it. A handle consists of that name, the memory's pool,
//! and a checksum. A handle of a shared signal has the same form.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, PoisonError};

use amdgpu_sim::{Physical, SharedName};

use super::pool::{Pool, PoolKind};
use crate::agent::AgentId;

/// A handle in the form that programs pass on: `hsa_amd_ipc_memory_t`.
pub(crate) type RawHandle = [u32; 8];

/// The first word of a memory handle, and of a signal handle.
const MEMORY: u32 = 0x4750_4953;
const SIGNAL: u32 = 0x4753_4953;

/// The decoded contents of a memory handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handle {
    pub(super) name: SharedName,
    pub(super) pool: Pool,
}

impl Handle {
    pub(super) fn write(&self) -> RawHandle {
        let kind = match self.pool.kind {
            PoolKind::DeviceFine => 1,
            _ => 0,
        };
        seal(MEMORY, self.name, u32::from(self.pool.agent.0) << 8 | kind)
    }

    /// The handle, if these are the words of one.
    pub(super) fn read(raw: &RawHandle) -> Option<Self> {
        let (name, pool) = unseal(MEMORY, raw)?;
        let kind = if pool & 0xff == 1 { PoolKind::DeviceFine } else { PoolKind::DeviceCoarse };
        let pool = Pool { agent: AgentId(u8::try_from(pool >> 8).ok()?), kind };
        Some(Self { name, pool })
    }
}

/// The handle of a signal.
pub(crate) fn signal_handle(name: SharedName) -> RawHandle {
    seal(SIGNAL, name, 0)
}

/// The signal name in a handle; `None` if the handle is not of a signal.
pub(crate) fn signal_name(raw: &RawHandle) -> Option<SharedName> {
    unseal(SIGNAL, raw).map(|(name, _)| name)
}

/// Encodes a handle: its kind, its name, and one more word.
fn seal(magic: u32, name: SharedName, more: u32) -> RawHandle {
    let [process, started, descriptor, low, high] = name.words();
    let mut raw = [magic, process, started, descriptor, low, high, more, 0];
    raw[7] = check(&raw);
    raw
}

/// Decodes a handle into its name and word; `None` if it is not of this kind.
fn unseal(magic: u32, raw: &RawHandle) -> Option<(SharedName, u32)> {
    let [of, process, started, descriptor, low, high, more, sum] = *raw;
    let name = SharedName::from_words([process, started, descriptor, low, high]);
    (of == magic && sum == check(raw)).then_some((name, more))
}

/// A checksum over the words that precede it.
fn check(raw: &RawHandle) -> u32 {
    let mut hasher = DefaultHasher::new();
    raw[..7].hash(&mut hasher);
    hasher.finish() as u32
}

/// The memory that this process shares, by address.
#[derive(Default)]
pub(super) struct Shared(Mutex<BTreeMap<u64, Arc<Physical>>>);

impl Shared {
    pub(super) fn insert(&self, base: u64, physical: Arc<Physical>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(base, physical);
    }

    /// Removes a freed allocation: its handles become stale, while memory that others have opened stays.
    pub(super) fn remove(&self, base: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&base);
    }

    pub(super) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_survives_being_written_and_nothing_else_is_one() {
        let name = SharedName::from_words([1, 2, 3, 4, 5]);
        let good = Handle { name, pool: Pool { agent: AgentId(3), kind: PoolKind::DeviceFine } };
        let raw = good.write();
        assert_eq!(Handle::read(&raw), Some(good));
        for bit in 0..256 {
            let mut bad = raw;
            bad[bit / 32] ^= 1 << (bit % 32);
            assert_eq!(Handle::read(&bad), None, "bit {bit}");
        }
        assert_eq!(signal_name(&raw), None, "of another kind");
        let raw = signal_handle(name);
        assert_eq!((signal_name(&raw), Handle::read(&raw)), (Some(name), None));
        assert_eq!(Handle::read(&[0; 8]), None);
        assert_eq!(Handle::read(&[u32::MAX; 8]), None);
    }
}
