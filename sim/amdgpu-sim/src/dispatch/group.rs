//! One workgroup: its waves take turns on one thread.

mod turn;

use super::schedule::Shuffle;
use super::{Job, registers};
use crate::exec::mem::{Env, Scratch, View};
use crate::exec::{Ctx, LANES, Stop, Trap, Wave, run_exactly};
use crate::fault::FaultPlace;
use crate::memory::Block;
use crate::observe::{GroupState, Observer};
use turn::Turn;

/// Instructions of a turn that is observed.
const OBSERVED_TURN: u64 = 1 << 12;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Ready,
    AtBarrier,
    Ended,
}

/// A workgroup that is being run. Its registers and memory serve one workgroup after the other.
pub(super) struct Group {
    position: [u32; 3],
    waves: Vec<Wave>,
    states: Vec<State>,
    /// How long each wave's next turn is.
    turns: Vec<Turn>,
    /// Waves of the present workgroup.
    count: usize,
    /// In which order waves have their turns: all numbers below `count` come first.
    order: Vec<usize>,
    lds: Vec<u8>,
    scratch: Scratch,
    observed: GroupState,
    /// What `scratch` points to.
    _memory: Option<Block>,
}

/// How far a workgroup has come.
pub(super) enum Progress {
    Done,
    /// All waves have had a turn; some have not ended.
    Running,
    /// Likewise, but all that have not ended or come to a barrier wait for something that others have to do.
    Waiting,
    /// A wave stopped that should not have.
    Failed(Trap, FaultPlace),
    /// The budget is used up; this is where a wave was.
    OverBudget(FaultPlace),
}

impl Group {
    /// Room for workgroups of `job`; `None` if the host has no memory for their scratch.
    pub(super) fn new(job: &Job<'_>) -> Option<Self> {
        let items: u32 = job.dispatch.workgroup.iter().product();
        let waves = items.div_ceil(LANES as u32);
        let bytes = Scratch::bytes(job.scratch, waves)?;
        let memory = if bytes > 0 { Some(Block::zeroed(bytes, 256)?) } else { None };
        let base = memory.as_ref().map_or(0, Block::base);
        // SAFETY: the block has as many bytes, its provenance is exposed, it moves with the group, and only the waves of the
        // group, which run on one thread, use it. Without a block there are no bytes.
        let scratch = unsafe { Scratch::new(base, job.scratch, waves) };
        Some(Self {
            position: [0; 3],
            waves: (0..waves).map(|_| Wave::new(job.program)).collect(),
            states: vec![State::Ended; waves as usize],
            turns: (0..waves).map(|_| Turn::default()).collect(),
            count: 0,
            order: Vec::new(),
            lds: vec![0; job.lds as usize],
            scratch,
            observed: GroupState::default(),
            _memory: memory,
        })
    }

    /// Starts workgroup number `index` of the grid.
    pub(super) fn begin(&mut self, job: &Job<'_>, index: u64, observer: Option<&mut Observer<'_>>) {
        let [nx, ny, _] = job.groups.map(u64::from);
        // Each fits: it is below the number of groups in its dimension.
        self.position = [(index % nx) as u32, (index / nx % ny) as u32, (index / nx / ny) as u32];
        let size: [u32; 3] = std::array::from_fn(|d| {
            let (grid, whole) = (job.dispatch.grid[d], job.dispatch.workgroup[d]);
            (grid - self.position[d] * whole).min(whole)
        });
        self.count = size.iter().product::<u32>().div_ceil(LANES as u32) as usize;
        if let Some(observer) = observer {
            observer.begin(&mut self.observed, index, self.count);
        }
        self.order.clear();
        self.order.extend(0..self.count);
        self.lds.fill(0);
        for (id, wave) in self.waves[..self.count].iter_mut().enumerate() {
            registers::set_up(job, wave, id as u32, self.position, size, &self.scratch);
            self.states[id] = State::Ready;
            self.turns[id].reset();
        }
    }

    /// Waves of the present workgroup.
    pub(super) fn waves(&self) -> u64 {
        self.count as u64
    }

    /// Lets every wave that can go on have a turn, again and again until the workgroup is done or a wave gives way.
    /// `spend` is told of every turn's instructions and answers whether there is budget for more. `shuffle` decides on order and turns;
    /// `observer` looks on.
    pub(super) fn go_on(
        &mut self,
        job: &Job<'_>,
        view: &mut View,
        spend: &mut dyn FnMut(u64) -> bool,
        mut shuffle: Option<&mut Shuffle>,
        mut observer: Option<&mut Observer<'_>>,
    ) -> (Progress, u64) {
        let env = Env {
            view,
            scratch: self.scratch,
            misaligned: job.gpu.config().misaligned,
            beyond_lds: job.gpu.config().beyond_lds,
            start: job.start,
            outside: job.gpu.outside(),
        };
        let mut ctx = Ctx { program: job.program, lds: &mut self.lds, env };
        let mut instructions = 0;
        loop {
            let mut gave_way = false;
            let mut waiting = true;
            if let Some(shuffle) = &mut shuffle {
                shuffle.shuffle(&mut self.order);
            }
            for &id in &self.order {
                let (wave, state) = (&mut self.waves[id], &mut self.states[id]);
                if *state != State::Ready {
                    continue;
                }
                let before = wave.instructions;
                let held = wave.gws.is_some_and(|wait| !ctx.env.outside.gws.passes(wait));
                if !held {
                    wave.gws = None;
                }
                let (stop, waits) = match (&mut observer, &mut shuffle) {
                    _ if held => (Stop::Yield, true),
                    (None, None) => self.turns[id].run(wave, &mut ctx),
                    (None, Some(shuffle)) => (run_exactly(wave, &mut ctx, shuffle.turn()), false),
                    (Some(observer), shuffle) => {
                        let turn = shuffle.as_mut().map_or(OBSERVED_TURN, |shuffle| shuffle.turn());
                        (observer.run(&mut self.observed, wave, &mut ctx, turn), false)
                    }
                };
                waiting &= waits;
                let spent = wave.instructions.wrapping_sub(before);
                instructions += spent;
                let place = || place(job, wave, self.position);
                match stop {
                    Stop::Trap => {
                        let trap = wave.trap.clone().unwrap_or(Trap::Unsupported("a wave stopped without a reason"));
                        return (Progress::Failed(trap, place()), instructions);
                    }
                    Stop::End => *state = State::Ended,
                    Stop::Barrier => *state = State::AtBarrier,
                    Stop::Yield => gave_way = true,
                }
                if !spend(spent) && *state != State::Ended {
                    return (Progress::OverBudget(place()), instructions);
                }
            }
            let states = &mut self.states[..self.count];
            if states.contains(&State::Ready) {
                if gave_way {
                    let progress = if waiting { Progress::Waiting } else { Progress::Running };
                    return (progress, instructions);
                }
            } else if states.contains(&State::AtBarrier) {
                // All that have not ended are here.
                if let Some(observer) = &mut observer {
                    observer.barrier(&mut self.observed, |id| states[id] == State::Ended);
                }
                states.iter_mut().filter(|s| **s == State::AtBarrier).for_each(|s| *s = State::Ready);
            } else {
                if let Some(observer) = &mut observer {
                    observer.end(&self.observed);
                }
                return (Progress::Done, instructions);
            }
        }
    }
}

/// Where `wave` is.
fn place(job: &Job<'_>, wave: &Wave, workgroup: [u32; 3]) -> FaultPlace {
    let lane = match &wave.trap {
        Some(Trap::Memory(fault)) => fault.lane,
        _ => None,
    };
    FaultPlace::of(job.kernel, job.program, wave.pc, workgroup, wave.id, lane)
}
