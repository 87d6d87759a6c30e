//! Queues.

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use super::function::{Export, export, functions, guard_or, list, put};
use crate::abi::*;
use crate::events;
use crate::queue::{Units, Wanted};
use crate::runtime::runtime;

/// The index that is returned for an invalid queue.
const NONE: u64 = 0;

functions! {
    /// Creates a queue. The scratch sizes are ignored: kernels get scratch memory as they need it.
    fn hsa_queue_create(
        agent: hsa_agent_t,
        size: u32,
        kind: u32,
        callback: hsa_queue_callback_t,
        data: *mut c_void,
        _private_segment_size: u32,
        _group_segment_size: u32,
        result: *mut *mut hsa_queue_t,
    ) {
        let runtime = runtime()?;
        let agent = runtime.agents.get(agent)?;
        if result.is_null() {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        if agent.is_cpu() {
            return Err(HSA_STATUS_ERROR_INVALID_QUEUE_CREATION);
        }
        runtime.agents.alive(agent)?;
        let callback = callback.map(|function| (function, data as u64));
        let queue = crate::queue::create(runtime, &Wanted { agent, size, kind, callback })?;
        // SAFETY: the caller vouches for it.
        unsafe { put(result, queue.pointer()) }
    }

    /// Destroys a queue, and stops its running packet.
    fn hsa_queue_destroy(queue: *mut hsa_queue_t) {
        let runtime = runtime()?;
        if queue.is_null() {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let queue = runtime.queues.get(queue)?;
        crate::leaving::take_down();
        runtime.queues.destroy(&queue);
        Ok(())
    }

    /// Stops a queue.
    fn hsa_queue_inactivate(queue: *mut hsa_queue_t) {
        let runtime = runtime()?;
        if queue.is_null() {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        runtime.queues.get(queue)?.inactivate();
        Ok(())
    }

    /// Restricts a queue to some compute units, within those that `HSA_CU_MASK` allows. Its kernels do not run slower
    /// on fewer units, but they see these unit numbers.
    fn hsa_amd_queue_cu_set_mask(queue: *const hsa_queue_t, bits: u32, mask: *const u32) {
        let runtime = runtime()?;
        let queue = runtime.queues.get(queue)?;
        if bits % 32 != 0 || (bits > 0) == mask.is_null() {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the caller vouches for the list.
        let mask = unsafe { list(mask, bits as usize / 32) }?;
        let masks = runtime.masks.lock().unwrap_or_else(PoisonError::into_inner);
        let units = runtime.agents.chip.compute_units;
        let (units, told) = Units::new(&mask, &masks, queue.agent.index() - 1, units)?;
        *queue.units.lock().unwrap_or_else(PoisonError::into_inner) = units;
        told
    }

    /// Returns the compute units that a queue may use.
    fn hsa_amd_queue_cu_get_mask(queue: *const hsa_queue_t, bits: u32, mask: *mut u32) {
        let queue = runtime()?.queues.get(queue)?;
        if bits == 0 || bits % 32 != 0 || mask.is_null() {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let units = queue.units.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for word in 0..bits as usize / 32 {
            // SAFETY: the caller vouches for that many words.
            unsafe { put(mask.add(word), units.word(word)) }?;
        }
        Ok(())
    }

    /// Sets the priority of a queue. No effect.
    fn hsa_amd_queue_set_priority(queue: *mut hsa_queue_t, priority: u32) {
        runtime()?.queues.get(queue)?;
        if priority <= HSA_AMD_QUEUE_PRIORITY_HIGH { Ok(()) } else { Err(HSA_STATUS_ERROR_INVALID_ARGUMENT) }
    }

    /// Returns an attribute of a queue.
    fn hsa_amd_queue_get_info(queue: *mut hsa_queue_t, attribute: u32, value: *mut c_void) {
        let queue = runtime()?.queues.get(queue)?;
        // SAFETY: the caller vouches for `value`.
        unsafe {
            match attribute {
                HSA_AMD_QUEUE_INFO_AGENT => put(value, queue.agent.handle()),
                HSA_AMD_QUEUE_INFO_DOORBELL_ID => put(value, queue.id),
                _ => Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
            }
        }
    }

    /// Enables dispatch times. No effect: they are always recorded.
    fn hsa_amd_profiling_set_profiler_enabled(queue: *mut hsa_queue_t, _enable: i32) {
        runtime()?.queues.get(queue).map(drop)
    }

    /// Enables copy times. No effect: they are always recorded.
    fn hsa_amd_profiling_async_copy_enable(_enable: bool) {
        runtime().map(drop)
    }

    /// Returns the start and end of the dispatch that a signal completed.
    fn hsa_amd_profiling_get_dispatch_time(
        agent: hsa_agent_t,
        signal: hsa_signal_t,
        time: *mut hsa_amd_profiling_dispatch_time_t,
    ) {
        let runtime = runtime()?;
        runtime.agents.gpu(runtime.agents.get(agent)?)?;
        let (start, end) = runtime.signal(signal)?.times();
        // SAFETY: the caller vouches for it.
        unsafe { put(time, hsa_amd_profiling_dispatch_time_t { start, end }) }
    }

    /// Returns the start and end of the copy that a signal completed.
    fn hsa_amd_profiling_get_async_copy_time(
        signal: hsa_signal_t,
        time: *mut hsa_amd_profiling_async_copy_time_t,
    ) {
        let (start, end) = runtime()?.signal(signal)?.times();
        // SAFETY: the caller vouches for it.
        unsafe { put(time, hsa_amd_profiling_async_copy_time_t { start, end }) }
    }

    /// Converts an agent's time to the system's. They are the same.
    fn hsa_amd_profiling_convert_tick_to_system_domain(agent: hsa_agent_t, tick: u64, result: *mut u64) {
        let runtime = runtime()?;
        runtime.agents.gpu(runtime.agents.get(agent)?)?;
        const { assert!(events::FREQUENCY == 1_000_000_000) };
        // SAFETY: the caller vouches for it.
        unsafe { put(result, tick) }
    }
}

/// How often in a row this thread has found another index than expected.
struct Tries(Cell<u32>);

impl Tries {
    /// A thread that retries repeatedly waits for another thread, which may need this core: yields for a moment.
    fn after(&self, succeeded: bool) {
        let tries = if succeeded { 0 } else { self.0.get() + 1 };
        self.0.set(tries % MOST_TRIES);
        if !succeeded && self.0.get() == 0 {
            std::thread::yield_now();
        }
    }
}

/// The number of tries after which a thread yields.
const MOST_TRIES: u32 = 32;

thread_local! {
    static TRIES: Tries = const { Tries(Cell::new(0)) };
}

/// Functions that read, write and change a queue's indices. Each name states the memory ordering.
macro_rules! indices {
    (
        load { $($load:ident: $load_field:ident, $load_order:ident;)* }
        store { $($store:ident: $store_field:ident, $store_order:ident;)* }
        add { $($add:ident: $add_order:ident;)* }
        cas { $($cas:ident: $cas_order:ident, $cas_fail:ident;)* }
    ) => {
        $(
            /// Returns an index of a queue; 0 for an invalid queue.
            ///
            /// # Safety
            /// Always safe: the pointer is looked up.
            #[unsafe(no_mangle)]
            pub(crate) unsafe extern "C" fn $load(queue: *const hsa_queue_t) -> u64 {
                guard_or(NONE, || Ok(runtime()?.queues.indices(queue)?.$load_field().load($load_order)))
            }
        )*
        $(
            /// Sets an index of a queue.
            ///
            /// # Safety
            /// Always safe: the pointer is looked up.
            #[unsafe(no_mangle)]
            pub(crate) unsafe extern "C" fn $store(queue: *const hsa_queue_t, value: u64) {
                guard_or((), || {
                    runtime()?.queues.indices(queue)?.$store_field().store(value, $store_order);
                    Ok(())
                });
            }
        )*
        $(
            /// Adds to the write index of a queue and returns the old value.
            ///
            /// # Safety
            /// Always safe: the pointer is looked up.
            #[unsafe(no_mangle)]
            pub(crate) unsafe extern "C" fn $add(queue: *const hsa_queue_t, value: u64) -> u64 {
                guard_or(NONE, || Ok(runtime()?.queues.indices(queue)?.write_index().fetch_add(value, $add_order)))
            }
        )*
        $(
            /// Sets the write index of a queue if it has the expected value. Returns the old value.
            ///
            /// # Safety
            /// Always safe: the pointer is looked up.
            #[unsafe(no_mangle)]
            pub(crate) unsafe extern "C" fn $cas(queue: *const hsa_queue_t, expected: u64, value: u64) -> u64 {
                guard_or(NONE, || {
                    let index = runtime()?.queues.indices(queue)?.write_index();
                    let result = index.compare_exchange(expected, value, $cas_order, $cas_fail);
                    let _ = TRIES.try_with(|tries| tries.after(result.is_ok()));
                    Ok(result.unwrap_or_else(|was| was))
                })
            }
        )*
        pub(super) const INDEX_FUNCTIONS: &[Export] =
            &[$(export!($load),)* $(export!($store),)* $(export!($add),)* $(export!($cas),)*];
    };
}

indices! {
    load {
        hsa_queue_load_read_index_acquire: read_index, Acquire;
        hsa_queue_load_read_index_scacquire: read_index, Acquire;
        hsa_queue_load_read_index_relaxed: read_index, Relaxed;
        hsa_queue_load_write_index_acquire: write_index, Acquire;
        hsa_queue_load_write_index_scacquire: write_index, Acquire;
        hsa_queue_load_write_index_relaxed: write_index, Relaxed;
    }
    store {
        hsa_queue_store_write_index_relaxed: write_index, Relaxed;
        hsa_queue_store_write_index_release: write_index, Release;
        hsa_queue_store_write_index_screlease: write_index, Release;
        hsa_queue_store_read_index_relaxed: read_index, Relaxed;
        hsa_queue_store_read_index_release: read_index, Release;
        hsa_queue_store_read_index_screlease: read_index, Release;
    }
    add {
        hsa_queue_add_write_index_acq_rel: AcqRel;
        hsa_queue_add_write_index_scacq_screl: AcqRel;
        hsa_queue_add_write_index_acquire: Acquire;
        hsa_queue_add_write_index_scacquire: Acquire;
        hsa_queue_add_write_index_relaxed: Relaxed;
        hsa_queue_add_write_index_release: Release;
        hsa_queue_add_write_index_screlease: Release;
    }
    cas {
        hsa_queue_cas_write_index_acq_rel: AcqRel, Acquire;
        hsa_queue_cas_write_index_scacq_screl: AcqRel, Acquire;
        hsa_queue_cas_write_index_acquire: Acquire, Acquire;
        hsa_queue_cas_write_index_scacquire: Acquire, Acquire;
        hsa_queue_cas_write_index_relaxed: Relaxed, Relaxed;
        hsa_queue_cas_write_index_release: Release, Relaxed;
        hsa_queue_cas_write_index_screlease: Release, Relaxed;
    }
}
