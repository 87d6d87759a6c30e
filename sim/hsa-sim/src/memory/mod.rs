//! Memory: the allocations of each pool, with their access rights and purposes.
//!
//! A device address is the host address of the same byte. [`amdgpu_sim::Memory`] decides what kernels may access; the
//! records here hold what the program can query.

mod address;
mod copy;
mod interop;
mod ipc;
mod lock;
mod pool;
mod shared;
mod svm;
mod vmem;

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

use amdgpu_sim::{AllocKind, Request};

use crate::abi::{
    HSA_ACCESS_PERMISSION_RW, HSA_EXT_POINTER_TYPE_GRAPHICS, HSA_EXT_POINTER_TYPE_HSA, HSA_EXT_POINTER_TYPE_HSA_VMEM,
    HSA_EXT_POINTER_TYPE_IPC, HSA_EXT_POINTER_TYPE_LOCKED, HSA_EXT_POINTER_TYPE_RESERVED_ADDR,
    HSA_STATUS_ERROR_INVALID_ALLOCATION, HSA_STATUS_ERROR_INVALID_ARGUMENT, HSA_STATUS_ERROR_OUT_OF_RESOURCES,
};
use crate::agent::{AgentId, AgentSet, Agents};
use crate::result::Result;

pub(crate) use address::{pointer, reserve_for_good, status_of};
pub(crate) use copy::{Copy, Rect, copy_bytes, fill_words};
pub(crate) use ipc::{RawHandle, signal_handle, signal_name};
use lock::Locks;
pub(crate) use pool::{GRANULE, HUGE, Pool, PoolKind, host_memory};
pub(crate) use svm::{Access, Attributes, Pages, Svm, pages};
use vmem::Virtual;

/// The record of an allocation.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) base: u64,
    /// The requested size in bytes.
    pub(crate) size: u64,
    pub(crate) pool: Pool,
    /// One of `HSA_EXT_POINTER_TYPE_*`.
    pub(crate) kind: u32,
    /// The agents with access, in addition to the pool's own.
    pub(crate) access: AgentSet,
    /// The program's user data.
    pub(crate) user_data: u64,
    /// Deallocation callbacks: function, registered address and argument.
    callbacks: Vec<(Deallocated, u64, u64)>,
}

/// A function of the program that is called on deallocation.
pub(crate) type Deallocated = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// All memory.
#[derive(Default)]
pub(crate) struct Memories {
    records: RwLock<BTreeMap<u64, Record>>,
    locks: Mutex<Locks>,
    vmem: Virtual,
    svm: Svm,
    /// The memory shared with other processes.
    shared: ipc::Shared,
    /// The host memory in use, in bytes. The GPUs count theirs themselves.
    host_used: AtomicU64,
}

impl Memories {
    /// The bytes available in an agent's memory.
    pub(crate) fn available(&self, agents: &Agents, agent: AgentId) -> u64 {
        match agent.gpu() {
            Some(gpu) => agents.gpu_memory.saturating_sub(agents.space().used_of(gpu)),
            None => host_memory().saturating_sub(self.host_used.load(Ordering::Relaxed)),
        }
        .saturating_sub(self.vmem.used(agent))
    }

    /// Virtual memory.
    pub(crate) fn vmem(&self) -> &Virtual {
        &self.vmem
    }

    /// Shared virtual memory.
    pub(crate) fn svm(&self) -> &Svm {
        &self.svm
    }

    /// Accounts for `size` bytes of host memory. A GPU counts its own memory.
    fn take(&self, agent: AgentId, size: u64) -> Result<()> {
        let more = |used: u64| used.checked_add(size).filter(|used| *used <= host_memory());
        match agent.is_cpu() && self.host_used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_err() {
            true => Err(HSA_STATUS_ERROR_OUT_OF_RESOURCES),
            false => Ok(()),
        }
    }

    fn give_back(&self, agent: AgentId, size: u64) {
        if agent.is_cpu() {
            self.host_used.fetch_sub(size, Ordering::Relaxed);
        }
    }

    /// Allocates from a pool and returns the address.
    pub(crate) fn allocate(&self, agents: &Agents, pool: Pool, size: u64) -> Result<u64> {
        if size == 0 {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        if !pool.allocates() {
            return Err(HSA_STATUS_ERROR_INVALID_ALLOCATION);
        }
        if size > pool.size(agents) {
            return Err(HSA_STATUS_ERROR_INVALID_ALLOCATION);
        }
        agents.alive(pool.agent)?;
        let whole = size.checked_next_multiple_of(GRANULE).ok_or(HSA_STATUS_ERROR_OUT_OF_RESOURCES)?;
        self.take(pool.agent, whole)?;
        let kind = match pool.kind {
            PoolKind::HostKernarg => AllocKind::Kernarg,
            _ if pool.agent.is_cpu() => AllocKind::Host,
            _ => AllocKind::Device,
        };
        // All agents can access host memory, as with AMD's runtime.
        let access = if pool.agent.is_cpu() { agents.ids().collect() } else { AgentSet::of(pool.agent) };
        let (owner, rights) = (pool.agent.gpu(), access.rights());
        let align = if size < HUGE { GRANULE } else { HUGE };
        let request = Request { size, align, kind, owner, rights };
        let space = agents.space();
        // Any GPU allocation may later be shared with another process, if pages for that are available.
        let shareable = if owner.is_some() { space.allocate_shareable(&request).ok() } else { None };
        match shareable.map_or_else(|| space.allocate(&request), Ok) {
            Ok(base) => {
                self.record(Record {
                    base,
                    size,
                    pool,
                    kind: HSA_EXT_POINTER_TYPE_HSA,
                    access,
                    user_data: 0,
                    callbacks: Vec::new(),
                });
                Ok(base)
            }
            Err(error) => {
                self.give_back(pool.agent, whole);
                Err(status_of(&error))
            }
        }
    }

    fn record(&self, record: Record) {
        self.records.write().unwrap_or_else(PoisonError::into_inner).insert(record.base, record);
    }

    /// Frees memory of [`allocate`](Self::allocate).
    pub(crate) fn free(&self, agents: &Agents, address: u64) -> Result<()> {
        let record = self.take_out(address, HSA_EXT_POINTER_TYPE_HSA).ok_or(HSA_STATUS_ERROR_INVALID_ALLOCATION)?;
        for (function, named, argument) in &record.callbacks {
            // SAFETY: the program registered this function with this argument.
            unsafe { function(pointer(*named), pointer(*argument)) }
        }
        self.give_back(record.pool.agent, record.size.next_multiple_of(GRANULE));
        self.shared.remove(address);
        agents.space().free(address).map_err(|error| status_of(&error))
    }

    /// Removes the record of a memory of this kind that starts at an address.
    fn take_out(&self, address: u64, kind: u32) -> Option<Record> {
        let mut records = self.records.write().unwrap_or_else(PoisonError::into_inner);
        let is_it = records.get(&address).is_some_and(|record| record.kind == kind);
        is_it.then(|| records.remove(&address)).flatten()
    }

    /// The record of the memory that contains an address.
    pub(crate) fn find(&self, address: u64) -> Option<Record> {
        let records = self.records.read().unwrap_or_else(PoisonError::into_inner);
        let found = records.range(..=address).next_back();
        if let Some((_, record)) = found.filter(|(_, record)| address - record.base < record.size) {
            return Some(record.clone());
        }
        drop(records);
        let record = |base, size, pool, kind, access| Record {
            base,
            size,
            pool,
            kind,
            access,
            user_data: 0,
            callbacks: Vec::new(),
        };
        if let Some((base, size, pool, access)) = self.vmem.mapping(address) {
            return Some(record(base, size, pool, HSA_EXT_POINTER_TYPE_HSA_VMEM, access.into_iter().collect()));
        }
        let reserved = self.vmem.reservation(address).or_else(|| self.svm.reservation(address));
        let (base, size) = reserved?;
        let pool = Pool { agent: AgentId::CPU, kind: PoolKind::HostFine };
        Some(record(base, size, pool, HSA_EXT_POINTER_TYPE_RESERVED_ADDR, AgentSet::default()))
    }

    /// Changes the record of the memory that contains an address.
    pub(crate) fn change(&self, address: u64, change: impl FnOnce(&mut Record)) -> Result<()> {
        let mut records = self.records.write().unwrap_or_else(PoisonError::into_inner);
        let found = records.range_mut(..=address).next_back();
        match found.filter(|(_, record)| address - record.base < record.size) {
            Some((_, record)) => {
                change(record);
                Ok(())
            }
            None => Err(HSA_STATUS_ERROR_INVALID_ALLOCATION),
        }
    }

    /// Gives agents access to the memory that contains an address, and revokes that of all others except its own agent.
    /// It never revokes access to memory that is mapped to reserved addresses. That has functions of its own, but HIP
    /// 7.2 uses this one to grant access to its pools' memory.
    pub(crate) fn allow(&self, agents: &Agents, address: u64, allowed: AgentSet) -> Result<()> {
        if let Some((base, size, ..)) = self.vmem.mapping(address) {
            let full: Vec<_> = allowed.iter().map(|agent| (agent, HSA_ACCESS_PERMISSION_RW)).collect();
            return self.vmem.allow(agents.space(), base, size, &full);
        }
        let mut result = Ok(());
        self.change(address, |record| {
            record.access = allowed.with(record.pool.agent);
            result = agents.space().set_rights(record.base, record.access.rights());
        })?;
        result.map_err(|error| status_of(&error))
    }

    /// Adds a deallocation callback for the allocation at `address`.
    pub(crate) fn add_callback(&self, address: u64, function: Deallocated, argument: u64) -> Result<()> {
        self.change(address, |record| record.callbacks.push((function, address, argument)))
    }

    /// Removes a deallocation callback.
    pub(crate) fn remove_callback(&self, address: u64, function: Deallocated) -> Result<()> {
        let mut found = false;
        let known = self.change(address, |record| {
            let place = record.callbacks.iter().position(|(other, ..)| *other as usize == function as usize);
            found = place.map(|place| record.callbacks.remove(place)).is_some();
        });
        // Freed memory has no callbacks.
        if known.is_ok() && found { Ok(()) } else { Err(HSA_STATUS_ERROR_INVALID_ARGUMENT) }
    }

    /// Makes memory of the program accessible to agents.
    ///
    /// # Safety
    /// As of [`amdgpu_sim::Memory::register_host`].
    pub(crate) unsafe fn lock(&self, agents: &Agents, address: u64, size: u64, access: AgentSet) -> Result<()> {
        let pages = pages(address, size)?;
        let space = agents.space();
        // Freed GPU memory is not the program's: HIP locks memory that it does not know, to copy it.
        if space.is_device_range(address) || space.is_device_range(address + (size - 1)) {
            tell_of_freed(address, size);
            return Err(HSA_STATUS_ERROR_INVALID_ALLOCATION);
        }
        if !self.svm.is_there(pages) {
            return Err(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
        }
        self.svm.give_way(agents.space(), pages);
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: as the caller vouches.
        let (union, gone) = unsafe { locks.add(agents.space(), address, size) }?;
        let mut records = self.records.write().unwrap_or_else(PoisonError::into_inner);
        let mut access = access;
        for base in gone {
            if let Some(record) = records.remove(&base) {
                access = access.union(record.access);
            }
        }
        let pool = Pool { agent: AgentId::CPU, kind: PoolKind::HostFine };
        let access = access.with(AgentId::CPU);
        let (base, size) = union;
        let kind = HSA_EXT_POINTER_TYPE_LOCKED;
        records.insert(base, Record { base, size, pool, kind, access, user_data: 0, callbacks: Vec::new() });
        Ok(())
    }

    /// Forgets locks of pages that were replaced by other, untouched memory: the program has freed the locked memory.
    /// HIP unlocks the memory of a copy only some time after the copy.
    pub(crate) fn lose_locks(&self, agents: &Agents, pages: svm::Pages) {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        locks.lose(agents.space(), pages, |(from, to)| svm::is_untouched((from - from % GRANULE, to)));
    }

    /// Removes one [`lock`](Self::lock) of this address.
    pub(crate) fn unlock(&self, agents: &Agents, address: u64) -> Result<()> {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(base) = locks.remove(agents.space(), address)? {
            self.records.write().unwrap_or_else(PoisonError::into_inner).remove(&base);
        }
        Ok(())
    }

    /// Frees everything.
    pub(crate) fn clear(&self, agents: &Agents) {
        let records = std::mem::take(&mut *self.records.write().unwrap_or_else(PoisonError::into_inner));
        self.shared.clear();
        let ours = [HSA_EXT_POINTER_TYPE_HSA, HSA_EXT_POINTER_TYPE_IPC, HSA_EXT_POINTER_TYPE_GRAPHICS];
        for record in records.into_values().filter(|record| ours.contains(&record.kind)) {
            self.give_back(record.pool.agent, record.size.next_multiple_of(GRANULE));
            // Cannot fail: the record exists only while the memory is allocated.
            let _ = agents.space().free(record.base);
        }
        self.locks.lock().unwrap_or_else(PoisonError::into_inner).clear(agents.space());
        self.vmem.clear(agents.space());
        self.svm.clear(agents.space());
    }
}

/// Reports that a program uses memory that it has freed. Limited, as HIP calls once for each piece of a copy.
fn tell_of_freed(address: u64, size: u64) {
    static TOLD: AtomicU64 = AtomicU64::new(0);
    if TOLD.fetch_add(1, Ordering::Relaxed) < MOST_TOLD {
        eprintln!(
            "hsa-sim: use after free: {size} bytes at {address:#x} are to be used as the host's, but were a GPU's and have been freed"
        );
    }
}

/// The maximum number of reported uses of freed memory.
const MOST_TOLD: u64 = 20;
