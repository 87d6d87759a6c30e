//! The state of a running dispatch, and its statistics.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use super::grid::Dispatch;
use super::packet::Cancel;
use crate::config::BeyondLds;
use crate::exec::Program;
use crate::gpu::Gpu;
use crate::module::Kernel;
use crate::observe::Subject;
use crate::units::ComputeUnits;

/// Statistics of a dispatch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Instructions, counted once per wave.
    pub instructions: u64,
    /// Waves.
    pub waves: u64,
    /// Workgroups.
    pub workgroups: u64,
}

/// The state that the workers of a running dispatch share.
pub(super) struct Job<'a> {
    pub(super) gpu: &'a Gpu,
    pub(super) kernel: &'a Kernel,
    pub(super) program: &'a Program,
    pub(super) dispatch: Dispatch,
    /// Workgroups in each dimension.
    pub(super) groups: [u32; 3],
    /// The total number of workgroups.
    pub(super) total: u64,
    /// The number of workgroups that run at the same time.
    pub(super) resident: u64,
    /// Scratch of a lane in bytes.
    pub(super) scratch: u32,
    /// LDS of a workgroup in bytes.
    pub(super) lds: u32,
    /// The effect of accesses beyond LDS in this kernel.
    pub(super) beyond_lds: BeyondLds,
    /// The memory that the dispatch allocated for packet, queue and arguments; empty if the caller provides them.
    pub(super) own: Range<u64>,
    /// Address of the dispatch packet.
    pub(super) packet: u64,
    /// Address of the queue.
    pub(super) queue: u64,
    pub(super) dispatch_id: u64,
    pub(super) kernarg: u64,
    /// The compute units that the dispatch may use.
    pub(super) units: ComputeUnits,
    pub(super) cancel: Option<&'a Cancel>,
    pub(super) start: Instant,
}

impl Job<'_> {
    /// The description of the dispatch for an observer.
    pub(super) fn subject(&self) -> Subject<'_> {
        let Job { gpu, kernel, program, ref dispatch, groups, lds, kernarg, .. } = *self;
        Subject { gpu, kernel, program, dispatch, groups, lds, kernarg }
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.is_some_and(Cancel::is_cancelled) || self.gpu.is_lost()
    }
}

/// The number of instructions of a workgroup below which waking other threads is not worthwhile.
const SMALL: u64 = 4000;

impl Job<'_> {
    /// The number of workers to use.
    pub(super) fn workers(&self, threads: usize) -> usize {
        let config = self.gpu.config();
        if config.schedule.is_ordered() || config.checks.any() {
            return 1;
        }
        let known = self.kernel.inner.cost.load(Relaxed);
        if known != 0 && known.saturating_mul(self.total) < SMALL {
            return 1;
        }
        usize::try_from(self.total).unwrap_or(usize::MAX).min(threads)
    }

    /// Stores the number of instructions of a workgroup.
    pub(super) fn learn(&self, stats: &Stats) {
        self.kernel.inner.cost.store((stats.instructions / stats.workgroups.max(1)).max(1), Relaxed);
    }
}
