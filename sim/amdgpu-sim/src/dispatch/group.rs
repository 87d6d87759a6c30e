//! The state of a workgroup.

mod run;
mod turn;

use super::initial::Whole;
use crate::exec::Wave;
use crate::exec::mem::Scratch;
use crate::memory::Block;
use crate::observe::GroupState;
use turn::Turn;

pub(super) use run::Progress;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not started: it has no registers yet.
    Waiting,
    Ready,
    AtBarrier,
    Ended,
}

/// A workgroup that is being run. Its registers and memory are reused for other workgroups, and then for other
/// dispatches of the same kernel.
pub(super) struct Group {
    /// Number of the workgroup in its grid.
    index: u64,
    position: [u32; 3],
    /// The current workgroup's size in work-items. It is smaller at the grid's edge.
    size: [u32; 3],
    /// Whether the workgroup is full, not cut off at the grid's edge.
    whole: bool,
    /// Whether no wave of the current workgroup has had a turn.
    fresh: bool,
    /// Register sets. A wave takes one at its first turn and returns it when it ends. So if no wave has to wait for
    /// another, a workgroup needs only one set, which fits the CPU's caches.
    registers: Vec<Wave>,
    /// The unused register sets. The last returned one is reused first.
    free: Vec<usize>,
    /// The register set of each started wave.
    has: Vec<usize>,
    /// The initial registers of each wave of a full workgroup. The first `started` of them are valid for this dispatch.
    starts: Vec<Whole>,
    started: usize,
    /// The number of full workgroups that have begun, at most 2. From the second on, initial registers are cached.
    wholes: u8,
    /// All waves have ended while no workgroup is being run.
    states: Vec<State>,
    /// The turn length of each wave.
    turns: Vec<Turn>,
    /// The number of waves of the current workgroup.
    count: usize,
    /// The order in which waves take turns: a permutation of the numbers below `count`.
    order: Vec<usize>,
    lds: Vec<u8>,
    scratch: Scratch,
    observed: GroupState,
    /// The memory behind `scratch`.
    memory: Option<Block>,
}

impl Group {
    /// Creates a group without scratch.
    fn empty() -> Self {
        // SAFETY: there are no bytes.
        let scratch = unsafe { Scratch::new(0, 0, 0) };
        Self {
            index: 0,
            position: [0; 3],
            size: [0; 3],
            whole: false,
            fresh: false,
            registers: Vec::new(),
            free: Vec::new(),
            has: Vec::new(),
            starts: Vec::new(),
            started: 0,
            wholes: 0,
            states: Vec::new(),
            turns: Vec::new(),
            count: 0,
            order: Vec::new(),
            lds: Vec::new(),
            scratch,
            observed: GroupState::default(),
            memory: None,
        }
    }
}
