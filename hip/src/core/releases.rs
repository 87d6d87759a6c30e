//! Workarounds for particular releases of ROCm: each is an item with its releases, the symptom, and a test that shows
//! it.
//!
//! No other module of this crate branches on the runtime's version. Workarounds that are applied on every release have
//! no item; they are listed here:
//!
//! | releases | symptom | what is done | test |
//! |---|---|---|---|
//! | 5.7 | a pool that runs out returns success and a null pointer | `hipErrorOutOfMemory` instead, in `memory/pool/allocate.rs` | `gpu::memory_pool::memory_that_runs_out_can_be_had_again` |
//! | 5.7 | a launch reads past the end of the arguments, for hidden arguments that it does not know | pointers to zero, `point_to_hidden` in `module/args.rs` | `gpu::launch::code_objects_of_all_versions_run` |
//! | 5.7 | after memory of a pool went back to the system, the usage that the pool reports is computed from freed memory, and may be any number | documented at `MemoryPool::usage` and `Device::graph_memory` | `gpu::memory_pool::a_pool_counts_what_is_in_use` and `graph::graphs_allocate_memory`, on later releases |
//! | 5.7 to 7.2 | crash when one thread destroys a memory pool while others make, wait for or destroy streams | pools are kept for reuse, `PoolInner::drop` in `memory/pool/inner.rs` | `gpu::memory_pool::a_pool_that_is_had_again_is_as_new` |
//! | 5.7 to 7.2 | `hipFree` and similar functions wait for one stream after the other, and on 5.7 no other thread's call on that stream returns meanwhile, not even `hipStreamQuery`: a stream that the host is to release after such a call is never released | destructors make these calls when the device is idle, or when no work waits for the host: `when_idle` in `stream/idle.rs` | `held::drops::destructors_do_not_wait`, `held::streams_wait_for_signals_and_write_them` |
//! | 7.2 | while any thread captures a blocking stream, `hipMallocAsync` and `hipFreeAsync` are refused | memory that cannot be freed in order is freed later, `free_in_order` in `memory/allocation.rs` | `capture::pooled_memory_that_is_dropped_beside_a_capture_comes_back` |
//! | before 7.0 | an event shared with another process is done as soon as it is recorded | a second, private event, `Event::own` in `stream/event.rs` | `held::an_event_is_waited_for_by_another_process` |
//! | 7.0 to 7.2 | the first allocation from a pool and a wait in another thread deadlock | the default stream is created first, `Device::prepare_pools` in `memory/pool/state.rs` | `first_pool::the_first_pool_memory_comes_while_others_wait` |
//! | 7.2 | `hipStreamBatchMemOp` rejects every call | one call for each operation, `queue_batch` in `stream/signal_op.rs` | `held::operations_on_signals_come_between_what_is_queued_before_and_after` |

use crate::core::lock::{Mutex, MutexGuard};

use std::sync::atomic::{AtomicU32, Ordering};

/// Before 6.0: loading code sometimes fails with 303, and a launch may get the arguments of a graph node, when two
/// threads do these at once. Launches in calls of other libraries count too. A library call that may wait
/// ([`Uses::call_blocking`](crate::interop::Uses::call_blocking)) does not hold other calls up: it may wait for a host
/// function that another thread's launch releases.
///
/// Test: `gpu::threads::launches_and_graphs_of_one_kernel_keep_their_arguments_apart`.
const CALLS_DISTURB_EACH_OTHER: Releases = Releases::before(6, 0);

/// Before 6.0: the memory of a graph node is allocated when the node is made, and must not be freed after a launch.
///
/// Test: `graph::memory_that_a_graph_leaves_is_freed_with_it`.
pub(crate) const GRAPHS_KEEP_THEIR_MEMORY: Releases = Releases::before(6, 0);

/// Before 6.0: `hipPointerGetAttributes` uses other numbers for the kinds of memory.
///
/// Test: `gpu::memory_views::the_runtime_knows_what_an_address_is_of`.
pub(crate) const MEMORY_TYPES_HAVE_OLD_NUMBERS: Releases = Releases::before(6, 0);

/// Before 6.0: several structures are shorter; see `core/forms.rs`.
///
/// Test: `gpu::memory_views::the_runtime_knows_what_an_address_is_of`.
pub(crate) const STRUCTURES_ARE_SHORT: Releases = Releases::before(6, 0);

/// Before 6.0: `hipIpcOpenMemHandle` refuses the flag that later releases require.
///
/// Test: `gpu::memory_ipc::a_buffer_is_used_by_two_processes`.
pub(crate) const IPC_MEMORY_HAS_NO_FLAG: Releases = Releases::before(6, 0);

/// Before 7.0: `hipMemImportFromShareableHandle` takes a pointer to the descriptor; later releases take it by value.
///
/// Test: `memory_virtual::memory_is_shared_by_descriptor`.
pub(crate) const DESCRIPTORS_ARE_POINTED_TO: Releases = Releases::before(7, 0);

/// Before 7.0: copies count the layers of a layered 1D array as rows; later releases count them as planes.
///
/// Test: `gpu::array::texels_of_every_format_go_to_arrays_of_every_shape_and_return`.
pub(crate) const LAYERS_OF_LINES_ARE_ROWS: Releases = Releases::before(7, 0);

/// 6.3 to 7.1: fills in a graph without branches read their value from memory that launches on the default stream
/// overwrite; see `graph/apart.rs`.
///
/// Test: `graph::a_fill_keeps_its_value_whatever_the_default_stream_does`.
pub(crate) const FILLS_OF_CHAINS_LOSE_THEIR_VALUE: Releases = Releases::between((6, 3), (7, 2));

/// 6.3 to 7.1: a launch of a graph with branches reads past the end of a list of streams; see `graph/apart.rs`.
///
/// Test: `graph::branches_of_a_graph_run_on_whatever_queues_there_are`.
pub(crate) const BRANCHES_NEED_A_QUEUE_APART: Releases = Releases::between((6, 3), (7, 2));

/// A range of releases of the HIP runtime.
pub(crate) struct Releases {
    first: u32,
    /// The first release after the range.
    end: u32,
}

/// The version of the runtime in use, in the format of [`number`]; 0 until it is known.
static VERSION: AtomicU32 = AtomicU32::new(0);

const fn number(major: u32, minor: u32) -> u32 {
    major << 16 | minor
}

/// Sets the version of the runtime. Call this before anything else uses the runtime.
pub(crate) fn begin((major, minor, _): (u32, u32, u32)) {
    VERSION.store(number(major, minor), Ordering::Relaxed);
}

impl Releases {
    const fn before(major: u32, minor: u32) -> Self {
        Self { first: 1, end: number(major, minor) }
    }

    const fn between(first: (u32, u32), end: (u32, u32)) -> Self {
        Self { first: number(first.0, first.1), end: number(end.0, end.1) }
    }

    /// Returns whether the runtime in use is in the range.
    #[inline]
    pub(crate) fn in_use(&self) -> bool {
        self.contains(VERSION.load(Ordering::Relaxed))
    }

    #[inline]
    fn contains(&self, version: u32) -> bool {
        self.first <= version && version < self.end
    }
}

/// Held during a call that loads code or sets a kernel's arguments, if two such calls [disturb each
/// other](CALLS_DISTURB_EACH_OTHER) in this runtime.
#[inline]
pub(crate) fn one_at_a_time() -> Option<MutexGuard<'static, ()>> {
    static ONE: Mutex<()> = Mutex::new(());
    CALLS_DISTURB_EACH_OTHER.in_use().then(|| ONE.lock())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_told_by_their_version() {
        let is_one = |releases: &Releases, (major, minor)| releases.contains(number(major, minor));
        for version in [(6, 3), (6, 4), (7, 0), (7, 1)] {
            assert!(is_one(&FILLS_OF_CHAINS_LOSE_THEIR_VALUE, version), "{version:?}");
        }
        for version in [(5, 7), (6, 2), (7, 2), (10, 0)] {
            assert!(!is_one(&FILLS_OF_CHAINS_LOSE_THEIR_VALUE, version), "{version:?}");
        }
        assert!(is_one(&CALLS_DISTURB_EACH_OTHER, (5, 7)) && !is_one(&CALLS_DISTURB_EACH_OTHER, (6, 0)));
        assert!(!CALLS_DISTURB_EACH_OTHER.contains(0), "of a runtime that is not known nothing is known");
    }
}
