//! Memory that processes share.
//!
//! A shared allocation lies in an anonymous file of its process (`memfd`), which another process of the same user opens as
//! `/proc/PID/fd/N`. So nothing is left behind when a process ends, in whatever way, and nobody serves requests. A handle says which
//! file of which process that is, and enough besides to find out one that is stale, or none at all.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::fs::MetadataExt as _;
use std::sync::{Arc, Mutex, PoisonError};

use amdgpu_sim::{AllocKind, MemoryError, Physical};

use super::{GRANULE, Memories, Pool, PoolKind, Record, status_of};
use crate::abi::{
    HSA_EXT_POINTER_TYPE_HSA, HSA_EXT_POINTER_TYPE_IPC, HSA_STATUS_ERROR_INVALID_ARGUMENT,
    HSA_STATUS_ERROR_OUT_OF_RESOURCES, hsa_status_t,
};
use crate::agent::{AgentId, AgentSet, Agents};
use crate::runtime::Result;

/// A handle as programs pass it on: `hsa_amd_ipc_memory_t`.
pub(crate) type RawHandle = [u32; 8];

/// What a handle begins with.
const MAGIC: u32 = 0x4750_4953;

/// What a handle says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Handle {
    process: u32,
    /// When the process was started: numbers of processes are used again.
    started: u32,
    descriptor: u32,
    /// The file's own number: so are those of descriptors.
    file: u64,
    pool: Pool,
}

impl Handle {
    fn write(&self) -> RawHandle {
        let kind = match self.pool.kind {
            PoolKind::DeviceFine => 1,
            _ => 0,
        };
        let pool = u32::from(self.pool.agent.0) << 8 | kind;
        let (low, high) = (self.file as u32, (self.file >> 32) as u32);
        let mut raw = [MAGIC, self.process, self.started, self.descriptor, low, high, pool, 0];
        raw[7] = check(&raw);
        raw
    }

    /// The handle, if these are the words of one.
    fn read(raw: &RawHandle) -> Option<Self> {
        let [magic, process, started, descriptor, low, high, pool, sum] = *raw;
        if magic != MAGIC || sum != check(raw) {
            return None;
        }
        let kind = if pool & 0xff == 1 { PoolKind::DeviceFine } else { PoolKind::DeviceCoarse };
        let pool = Pool { agent: AgentId(u8::try_from(pool >> 8).ok()?), kind };
        Some(Self { process, started, descriptor, file: u64::from(high) << 32 | u64::from(low), pool })
    }

    /// Opens the file; `None` if process or file are gone, or not for this user.
    fn open(&self) -> Option<File> {
        let path = format!("/proc/{}/fd/{}", self.process, self.descriptor);
        let started = started(self.process)?;
        let file = OpenOptions::new().read(true).write(true).open(path).ok()?;
        // Afterwards: what was opened is of the process that was looked at, as that one is still there.
        let same = started == self.started && file.metadata().ok()?.ino() == self.file;
        same.then_some(file)
    }
}

/// A number that changes with any of the first words of a handle.
fn check(raw: &RawHandle) -> u32 {
    let mut hasher = DefaultHasher::new();
    raw[..7].hash(&mut hasher);
    hasher.finish() as u32
}

/// When a process was started, in the kernel's ticks.
fn started(process: u32) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, in brackets, may hold anything; the time is the 20th field after it.
    let fields = text.rsplit_once(')')?.1;
    Some(fields.split_ascii_whitespace().nth(19)?.parse::<u64>().ok()? as u32)
}

/// What this process shares, by address.
#[derive(Default)]
pub(super) struct Shared(Mutex<BTreeMap<u64, Arc<Physical>>>);

impl Shared {
    fn insert(&self, base: u64, physical: Arc<Physical>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(base, physical);
    }

    /// Forgets an allocation that is freed: handles of it are stale from now on, while what has been opened stays.
    pub(super) fn remove(&self, base: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&base);
    }

    pub(super) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// The status for memory that can't be shared or mapped.
fn refused(error: &MemoryError) -> hsa_status_t {
    match error {
        MemoryError::NoPages { .. } => HSA_STATUS_ERROR_OUT_OF_RESOURCES,
        other => status_of(other),
    }
}

impl Memories {
    /// A handle by which another process can have the `size` bytes at `address`: a whole allocation of a GPU's memory.
    pub(crate) fn share(&self, agents: &Agents, address: u64, size: u64) -> Result<RawHandle> {
        let invalid = HSA_STATUS_ERROR_INVALID_ARGUMENT;
        let record = self.find(address).filter(|record| record.base == address).ok_or(invalid)?;
        let whole = record.size.next_multiple_of(GRANULE);
        let all = size > 0 && size.checked_next_multiple_of(GRANULE) == Some(whole);
        if record.kind != HSA_EXT_POINTER_TYPE_HSA || record.pool.agent.is_cpu() || !all {
            return Err(invalid);
        }
        let physical = agents.space().share(address).map_err(|error| refused(&error))?;
        let process = std::process::id();
        let duplicate = physical.as_fd().try_clone_to_owned().map_err(|_| HSA_STATUS_ERROR_OUT_OF_RESOURCES)?;
        let metadata = File::from(duplicate).metadata().map_err(|_| HSA_STATUS_ERROR_OUT_OF_RESOURCES)?;
        let handle = Handle {
            process,
            started: started(process).ok_or(HSA_STATUS_ERROR_OUT_OF_RESOURCES)?,
            descriptor: physical.as_fd().as_raw_fd() as u32,
            file: metadata.ino(),
            pool: record.pool,
        };
        self.shared.insert(address, physical);
        Ok(handle.write())
    }

    /// Maps the memory of a handle, `size` bytes, for these agents; the address.
    pub(crate) fn attach(&self, agents: &Agents, raw: &RawHandle, size: u64, access: AgentSet) -> Result<u64> {
        let invalid = HSA_STATUS_ERROR_INVALID_ARGUMENT;
        let handle = Handle::read(raw).ok_or(invalid)?;
        let owner = handle.pool.agent.gpu().ok_or(invalid)?;
        agents.gpu(handle.pool.agent).map_err(|_| invalid)?;
        let file = handle.open().ok_or(invalid)?;
        let space = agents.space();
        let physical = space.import_physical(file.into(), Some(owner)).map_err(|_| invalid)?;
        if size == 0 || size.checked_next_multiple_of(GRANULE) != Some(physical.size()) {
            return Err(invalid);
        }
        let access = access.with(handle.pool.agent);
        self.svm.forget_unmapped(space);
        let attached = space.attach(&physical, AllocKind::Device, access.rights());
        let base = attached.map_err(|error| refused(&error))?;
        let kind = HSA_EXT_POINTER_TYPE_IPC;
        self.record(Record { base, size, pool: handle.pool, kind, access, user_data: 0, callbacks: Vec::new() });
        Ok(base)
    }

    /// Undoes [`attach`](Self::attach).
    pub(crate) fn detach(&self, agents: &Agents, address: u64) -> Result<()> {
        self.take_out(address, HSA_EXT_POINTER_TYPE_IPC).ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        agents.space().free(address).map_err(|error| status_of(&error))
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;

    use super::*;

    fn handle(file: &File) -> Handle {
        let process = std::process::id();
        Handle {
            process,
            started: started(process).unwrap(),
            descriptor: file.as_raw_fd() as u32,
            file: file.metadata().unwrap().ino(),
            pool: Pool { agent: AgentId(3), kind: PoolKind::DeviceFine },
        }
    }

    #[test]
    fn a_handle_survives_being_written_and_nothing_else_is_one() {
        let file = tempfile::tempfile().unwrap();
        let good = handle(&file);
        let raw = good.write();
        assert_eq!(Handle::read(&raw), Some(good));
        for bit in 0..256 {
            let mut bad = raw;
            bad[bit / 32] ^= 1 << (bit % 32);
            assert_eq!(Handle::read(&bad), None, "bit {bit}");
        }
        assert_eq!(Handle::read(&[0; 8]), None);
        assert_eq!(Handle::read(&[u32::MAX; 8]), None);
    }

    #[test]
    fn what_is_gone_is_not_opened() {
        let file = tempfile::tempfile().unwrap();
        let good = handle(&file);
        assert!(good.open().is_some());
        assert!(Handle { started: good.started ^ 1, ..good }.open().is_none(), "another process of that number");
        assert!(Handle { file: good.file ^ 1, ..good }.open().is_none(), "another file of that number");
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        assert!(Handle { process: child.id(), ..good }.open().is_none(), "a process that has ended");
        drop(OwnedFd::from(file));
        assert!(good.open().is_none(), "a file that was closed");
    }
}
