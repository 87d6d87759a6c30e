//! One workgroup: its waves take turns on one thread.

mod turn;

use super::schedule::Shuffle;
use super::{Job, registers};
use crate::exec::mem::{Env, Scratch, View};
use crate::exec::{Ctx, LANES, Stop, Trap, Wave, run_exactly};
use crate::fault::FaultPlace;
use crate::memory::Block;
use crate::observe::{GroupState, Observer};
use turn::{Came, Turn};

/// Instructions of a turn that is observed.
const OBSERVED_TURN: u64 = 1 << 12;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not begun: it has no registers yet.
    Waiting,
    Ready,
    AtBarrier,
    Ended,
}

/// A workgroup that is being run. Its registers and memory serve one workgroup after the other.
pub(super) struct Group {
    position: [u32; 3],
    /// The present workgroup's work-items in each dimension: at the grid's edge less than the whole.
    size: [u32; 3],
    /// Registers. A wave takes them when it has its first turn and gives them back when it ends, so that where no wave has to
    /// wait for another a workgroup gets by with those of one, which the CPU's caches hold.
    registers: Vec<Wave>,
    /// Those that no wave has, the last ones given back last.
    free: Vec<usize>,
    /// Which registers a wave has, once it has begun.
    has: Vec<usize>,
    /// What each wave of a whole workgroup starts with, once there has been one.
    starts: Vec<registers::Whole>,
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
            size: job.dispatch.workgroup,
            registers: Vec::with_capacity(waves as usize),
            free: Vec::with_capacity(waves as usize),
            has: vec![0; waves as usize],
            starts: Vec::with_capacity(waves as usize),
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
        self.size = std::array::from_fn(|d| {
            let (grid, whole) = (job.dispatch.grid[d], job.dispatch.workgroup[d]);
            (grid - self.position[d] * whole).min(whole)
        });
        self.count = self.size.iter().product::<u32>().div_ceil(LANES as u32) as usize;
        if let Some(observer) = observer {
            observer.begin(&mut self.observed, index, self.count);
        }
        self.order.clear();
        self.order.extend(0..self.count);
        self.lds.fill(0);
        self.states[..self.count].fill(State::Waiting);
        let slice = job.gpu.config().schedule.slice().filter(|_| self.count > 1);
        self.turns[..self.count].iter_mut().for_each(|turn| turn.reset(slice));
        // A workgroup that was cut off has kept some.
        self.free.clear();
        self.free.extend((0..self.registers.len()).rev());
    }

    /// Gives wave `id` its registers, set up for its first instruction.
    fn begin_wave(&mut self, job: &Job<'_>, id: usize) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.registers.push(Wave::new(job.program));
            self.registers.len() - 1
        });
        let wave = &mut self.registers[place];
        match self.starts.get(id) {
            Some(start) if self.size == job.dispatch.workgroup => start.set_up(job, wave, id as u32, self.position),
            _ => {
                let position = registers::set_up(job, wave, id as u32, self.position, self.size, &self.scratch);
                // Waves begin in any order.
                if self.size == job.dispatch.workgroup && id == self.starts.len() {
                    self.starts.push(registers::Whole::new(wave, position));
                }
            }
        }
        self.has[id] = place;
        self.states[id] = State::Ready;
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
        shuffle: Option<&mut Shuffle>,
        observer: Option<&mut Observer<'_>>,
    ) -> (Progress, u64) {
        let mut lds = std::mem::take(&mut self.lds);
        let env = Env {
            view,
            scratch: self.scratch,
            misaligned: job.gpu.config().misaligned,
            beyond_lds: job.gpu.config().beyond_lds,
            sramecc: job.gpu.config().sramecc,
            start: job.start,
            outside: job.gpu.outside(),
        };
        let mut ctx = Ctx { program: job.program, lds: &mut lds, env };
        let went = self.take_turns(job, &mut ctx, spend, shuffle, observer);
        self.lds = lds;
        went
    }

    fn take_turns(
        &mut self,
        job: &Job<'_>,
        ctx: &mut Ctx<'_>,
        spend: &mut dyn FnMut(u64) -> bool,
        mut shuffle: Option<&mut Shuffle>,
        mut observer: Option<&mut Observer<'_>>,
    ) -> (Progress, u64) {
        let mut instructions = 0;
        loop {
            let mut gave_way = false;
            let mut waiting = true;
            if let Some(shuffle) = &mut shuffle {
                shuffle.shuffle(&mut self.order);
            }
            for turn in 0..self.order.len() {
                let id = self.order[turn];
                match self.states[id] {
                    State::Waiting => self.begin_wave(job, id),
                    State::Ready => {}
                    State::AtBarrier | State::Ended => continue,
                }
                let (wave, state) = (&mut self.registers[self.has[id]], &mut self.states[id]);
                let before = wave.instructions;
                let held = wave.gws.is_some_and(|wait| !ctx.env.outside.gws.passes(wait));
                if !held {
                    wave.gws = None;
                }
                let (stop, came) = match (&mut observer, &mut shuffle) {
                    _ if held => (Stop::Yield, Came::Waiting),
                    (None, None) => self.turns[id].run(wave, ctx),
                    (None, Some(shuffle)) => (run_exactly(wave, ctx, shuffle.turn()), Came::Working),
                    (Some(observer), shuffle) => {
                        let turn = shuffle.as_mut().map_or(OBSERVED_TURN, |shuffle| shuffle.turn());
                        (observer.run(&mut self.observed, wave, ctx, turn), Came::Working)
                    }
                };
                waiting &= came == Came::Waiting;
                let spent = wave.instructions.wrapping_sub(before);
                instructions += spent;
                let place = || place(job, wave, self.position);
                match stop {
                    Stop::Trap => {
                        let trap = wave.trap.clone().unwrap_or(Trap::Unsupported("a wave stopped without a reason"));
                        return (Progress::Failed(trap, place()), instructions);
                    }
                    Stop::End => {
                        *state = State::Ended;
                        self.free.push(self.has[id]);
                    }
                    Stop::Barrier => *state = State::AtBarrier,
                    Stop::Yield => gave_way |= came != Came::Sliced,
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
                let several = states.iter().filter(|state| **state == State::AtBarrier).count() > 1;
                for (state, turn) in states.iter_mut().zip(&mut self.turns) {
                    if *state == State::AtBarrier {
                        *state = State::Ready;
                        if several && !ctx.lds.is_empty() {
                            turn.pass_barrier();
                        }
                    }
                }
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
