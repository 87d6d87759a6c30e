//! Shared virtual memory.

use std::ffi::c_void;

use super::function::{functions, list, put};
use crate::abi::*;
use crate::agent::{AgentId, Agents};
use crate::memory::{Access, Attributes, Pages, pages};
use crate::result::Result;
use crate::runtime::{Runtime, runtime};
use crate::signal::{Pending, Signal};

/// A change of attributes.
enum Change {
    Coarse(bool),
    ReadOnly(bool),
    HiveLocal(bool),
    ReadMostly(bool),
    Executable(bool),
    Granularity(u64),
    Preferred(Option<AgentId>),
    Access(AgentId, Access),
}

impl Change {
    /// Decodes a pair of a list.
    fn read(
        agents: &Agents,
        hsa_amd_svm_attribute_pair_t { attribute, value }: hsa_amd_svm_attribute_pair_t,
    ) -> Result<Self> {
        let invalid = HSA_STATUS_ERROR_INVALID_ARGUMENT;
        let agent = || agents.get(hsa_agent_t { handle: value });
        let (yes, number) = (value != 0, u32::try_from(value));
        Ok(match u32::try_from(attribute).map_err(|_| invalid)? {
            HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG => match number {
                Ok(HSA_AMD_SVM_GLOBAL_FLAG_FINE_GRAINED) => Self::Coarse(false),
                Ok(HSA_AMD_SVM_GLOBAL_FLAG_COARSE_GRAINED) => Self::Coarse(true),
                _ => return Err(invalid),
            },
            HSA_AMD_SVM_ATTRIB_READ_ONLY => Self::ReadOnly(yes),
            HSA_AMD_SVM_ATTRIB_HIVE_LOCAL => Self::HiveLocal(yes),
            HSA_AMD_SVM_ATTRIB_MIGRATION_GRANULARITY => Self::Granularity(value),
            HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION => Self::Preferred(if yes { Some(agent()?) } else { None }),
            HSA_AMD_SVM_ATTRIB_READ_MOSTLY => Self::ReadMostly(yes),
            HSA_AMD_SVM_ATTRIB_GPU_EXEC => Self::Executable(yes),
            HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE => Self::Access(agent()?, Access::Accessible),
            HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE_IN_PLACE => Self::Access(agent()?, Access::InPlace),
            HSA_AMD_SVM_ATTRIB_AGENT_NO_ACCESS => Self::Access(agent()?, Access::None),
            _ => return Err(invalid),
        })
    }

    /// Returns whether both change the same attribute, or the same agent's access.
    fn is_of_the_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Access(agent, _), Self::Access(other, _)) => agent == other,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }

    fn apply(&self, attributes: &mut Attributes) {
        match *self {
            Self::Coarse(coarse) => attributes.coarse = coarse,
            Self::ReadOnly(yes) => attributes.read_only = yes,
            Self::HiveLocal(yes) => attributes.hive_local = yes,
            Self::ReadMostly(yes) => attributes.read_mostly = yes,
            Self::Executable(yes) => attributes.executable = yes,
            Self::Granularity(power) => attributes.set_granularity(power),
            Self::Preferred(agent) => attributes.preferred = agent,
            Self::Access(agent, access) => attributes.set_access(agent, access),
        }
    }
}

/// The value that all have in common; `None` if they differ or the list is empty.
fn common<T: Copy + PartialEq>(of: impl Fn(&Attributes) -> T, all: &[Attributes]) -> Option<T> {
    let first = of(all.first()?);
    all.iter().all(|one| of(one) == first).then_some(first)
}

/// Fills in a pair of a list for pages with these attributes.
fn answer(agents: &Agents, pair: &mut hsa_amd_svm_attribute_pair_t, all: &[Attributes]) -> Result<()> {
    let every = |of: fn(&Attributes) -> bool| u64::from(all.iter().all(of));
    let agent = |of: fn(&Attributes) -> Option<AgentId>| common(of, all).flatten().map_or(0, |id| id.handle().handle);
    let attribute = u32::try_from(pair.attribute).map_err(|_| HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
    pair.value = match attribute {
        HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG => u64::from(match common(|one| one.coarse, all) {
            Some(false) => HSA_AMD_SVM_GLOBAL_FLAG_FINE_GRAINED,
            Some(true) => HSA_AMD_SVM_GLOBAL_FLAG_COARSE_GRAINED,
            None => HSA_AMD_SVM_GLOBAL_FLAG_INDETERMINATE,
        }),
        HSA_AMD_SVM_ATTRIB_READ_ONLY => every(|one| one.read_only),
        HSA_AMD_SVM_ATTRIB_HIVE_LOCAL => every(|one| one.hive_local),
        HSA_AMD_SVM_ATTRIB_READ_MOSTLY => every(|one| one.read_mostly),
        HSA_AMD_SVM_ATTRIB_GPU_EXEC => every(|one| one.executable),
        HSA_AMD_SVM_ATTRIB_MIGRATION_GRANULARITY => all.iter().map(Attributes::granularity).min().unwrap_or(0),
        HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION => agent(|one| one.preferred),
        HSA_AMD_SVM_ATTRIB_PREFETCH_LOCATION => agent(|one| one.prefetched),
        HSA_AMD_SVM_ATTRIB_ACCESS_QUERY => {
            let id = agents.get(hsa_agent_t { handle: pair.value })?;
            // If the access differs between pages, the result is the access that all of them allow.
            let nowhere_none = all.iter().all(|one| one.access(id) != Access::None);
            let access = common(|one| one.access(id), all);
            pair.attribute =
                u64::from(match access.unwrap_or(if nowhere_none { Access::Accessible } else { Access::None }) {
                    Access::Accessible => HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE,
                    Access::InPlace => HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE_IN_PLACE,
                    Access::None => HSA_AMD_SVM_ATTRIB_AGENT_NO_ACCESS,
                });
            pair.value
        }
        _ => return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
    };
    Ok(())
}

/// A prefetch that waits for signals. No memory moves: host and GPUs use the same bytes.
struct Prefetch {
    runtime: &'static Runtime,
    pages: Pages,
    after: Vec<Signal>,
    done: Option<Signal>,
}

impl Pending for Prefetch {
    fn ready(&self) -> bool {
        use std::sync::atomic::Ordering::SeqCst;
        self.after.iter().all(|signal| signal.value().load(SeqCst) == 0 || !signal.is_live())
    }

    fn run(&mut self) -> bool {
        let now = crate::events::now();
        let there = self.runtime.memory.svm().is_there(self.pages);
        if !there {
            eprintln!("hsa-sim: a prefetch of {:#x}..{:#x}, where no memory is, failed", self.pages.0, self.pages.1);
        }
        if let Some(done) = self.done {
            done.set_times(now, crate::events::now());
            // In HSA, a negative value marks a failed prefetch.
            if there { done.decrement() } else { done.store(-1) }
        }
        false
    }
}

functions! {
    /// Sets attributes of the pages that a range overlaps.
    fn hsa_amd_svm_attributes_set(
        address: *mut c_void,
        size: usize,
        attributes: *mut hsa_amd_svm_attribute_pair_t,
        count: usize,
    ) {
        let runtime = runtime()?;
        let pages = pages(address as u64, size as u64)?;
        // SAFETY: the caller vouches for the list.
        let pairs = unsafe { list(attributes.cast_const(), count) }?;
        let changes: Vec<_> = pairs.into_iter().map(|pair| Change::read(&runtime.agents, pair)).collect::<Result<_>>()?;
        if (1..changes.len()).any(|n| changes[..n].iter().any(|other| changes[n].is_of_the_same(other))) {
            return Err(HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS);
        }
        runtime.memory.lose_locks(&runtime.agents, pages);
        let change = |attributes: &mut Attributes| changes.iter().for_each(|change| change.apply(attributes));
        runtime.memory.svm().change(runtime.agents.space(), pages, change)
    }

    /// Returns the attributes of the pages that a range overlaps.
    fn hsa_amd_svm_attributes_get(
        address: *mut c_void,
        size: usize,
        attributes: *mut hsa_amd_svm_attribute_pair_t,
        count: usize,
    ) {
        let runtime = runtime()?;
        let pages = pages(address as u64, size as u64)?;
        // SAFETY: the caller vouches for the list.
        let mut pairs = unsafe { list(attributes.cast_const(), count) }?;
        if pairs.is_empty() {
            return Ok(());
        }
        let all = runtime.memory.svm().attributes(runtime.agents.space(), pages)?;
        pairs.iter_mut().try_for_each(|pair| answer(&runtime.agents, pair, &all))?;
        for (n, pair) in pairs.into_iter().enumerate() {
            // SAFETY: as for the list.
            unsafe { put(attributes.add(n), pair) }?;
        }
        Ok(())
    }

    /// Prefetches the pages that a range overlaps to an agent, when all signals are 0.
    fn hsa_amd_svm_prefetch_async(
        address: *mut c_void,
        size: usize,
        agent: hsa_agent_t,
        count: u32,
        after: *const hsa_signal_t,
        done: hsa_signal_t,
    ) {
        let runtime = runtime()?;
        let pages = pages(address as u64, size as u64)?;
        let agent = runtime.agents.get(agent)?;
        // SAFETY: the caller vouches for the list.
        let after = unsafe { list(after, count as usize) }?;
        let after = after.into_iter().map(|signal| runtime.signal(signal)).collect::<Result<_>>()?;
        let mut prefetch = Prefetch { runtime, pages, after, done: runtime.maybe_signal(done)? };
        // Takes effect at once. Other GPU memory does not move and has no attributes.
        let _ = runtime.memory.svm().change(runtime.agents.space(), pages, |pages| pages.prefetched = Some(agent));
        if prefetch.ready() {
            prefetch.run();
            return Ok(());
        }
        match runtime.copies.add(&runtime.signals, Box::new(prefetch)) {
            true => Ok(()),
            false => Err(HSA_STATUS_ERROR_OUT_OF_RESOURCES),
        }
    }
}
