//! Runs a workgroup: its waves take turns on one thread.

use super::turn::{self, Came, Turn};
use super::{Group, State};
use crate::dispatch::grid::Dispatch;
use crate::dispatch::initial::Whole;
use crate::dispatch::job::Job;
use crate::dispatch::registers;
use crate::dispatch::schedule::Shuffle;
use crate::exec::mem::{Env, Scratch, View};
use crate::exec::{Ctx, LANES, Row, Stop, Trap, Wave, run, run_exactly};
use crate::fault::FaultPlace;
use crate::memory::Block;
use crate::observe::{GroupState, Observer};
use crate::units::Seat;

/// The length of an observed turn in instructions.
const OBSERVED_TURN: u64 = 1 << 12;
/// The maximum bytes of registers that are kept for a later dispatch. Those of one wave are always kept.
const KEPT_REGISTERS: usize = 128 << 10;

/// The state of a workgroup after its turns.
pub(in crate::dispatch) enum Progress {
    Done,
    /// All waves have had a turn, and some have not ended.
    Running,
    /// As `Running`, but every wave that has not ended or reached a barrier is waiting for others.
    Waiting,
    /// A wave stopped with a fault.
    Failed(Trap, FaultPlace),
    /// The budget is exhausted; this is the place of a wave.
    OverBudget(FaultPlace),
}

impl Group {
    /// Creates the state for workgroups of `job`; `None` if the host has no memory for their scratch.
    pub(in crate::dispatch) fn new(job: &Job<'_>) -> Option<Box<Self>> {
        let spare = job.gpu.spares().group(job.kernel.inner.id);
        let mut group = spare.unwrap_or_else(|| Box::new(Self::empty()));
        let items: u32 = job.dispatch.workgroup.iter().product();
        let waves = items.div_ceil(LANES as u32);
        let bytes = Scratch::bytes(job.scratch, waves)?;
        group.memory = if bytes > 0 { Some(Block::zeroed(bytes, 256)?) } else { None };
        let base = group.memory.as_ref().map_or(0, Block::base);
        // SAFETY: the block has as many bytes, its provenance is exposed, it moves with the group, and only the waves of the group, which
        // run on one thread, use it. Without a block there are no bytes.
        group.scratch = unsafe { Scratch::new(base, job.scratch, waves) };
        let waves = waves as usize;
        group.free.clear();
        group.free.extend((0..group.registers.len()).rev());
        group.has.resize(waves, 0);
        group.states.clear();
        group.states.resize(waves, State::Ended);
        group.turns.resize_with(waves, Turn::default);
        group.order.clear();
        group.lds.resize(job.lds as usize, 0);
        (group.started, group.wholes) = (0, 0);
        Some(group)
    }

    /// Keeps the registers and LDS for another dispatch of the kernel.
    pub(in crate::dispatch) fn keep(mut self: Box<Self>, job: &Job<'_>) {
        let bytes = job.program.layout().rows() * size_of::<Row>();
        self.registers.truncate((KEPT_REGISTERS / bytes).max(1));
        // Dropped, so that the initial contents of scratch do not depend on earlier kernels.
        self.memory = None;
        self.observed = GroupState::default();
        job.gpu.spares().keep_group(job.kernel.inner.id, self, job.gpu.threads());
    }

    /// Starts workgroup number `index` of the grid.
    pub(in crate::dispatch) fn begin(&mut self, job: &Job<'_>, index: u64, observer: Option<&mut Observer<'_>>) {
        self.index = index;
        // No cast truncates: each is below the number of groups in its dimension.
        self.position = match job.groups {
            [_, 1, 1] => [index as u32, 0, 0],
            [nx, ny, _] => {
                let [nx, ny] = [nx, ny].map(u64::from);
                [(index % nx) as u32, (index / nx % ny) as u32, (index / nx / ny) as u32]
            }
        };
        let Dispatch { grid, workgroup, .. } = job.dispatch;
        self.size = std::array::from_fn(|d| (grid[d] - self.position[d] * workgroup[d]).min(workgroup[d]));
        self.whole = self.size == workgroup;
        self.wholes = (self.wholes + u8::from(self.whole)).min(2);
        self.count = self.size.iter().product::<u32>().div_ceil(LANES as u32) as usize;
        self.fresh = true;
        if let Some(observer) = observer {
            observer.begin(&mut self.observed, index, self.count);
        }
        self.lds.fill(0);
    }

    /// Chooses registers for wave `id` and initialises them. They stay in the free list.
    #[inline(always)]
    fn set_up_wave(&mut self, job: &Job<'_>, id: usize) -> usize {
        let place = match self.free.last() {
            Some(place) => *place,
            None => {
                self.registers.push(Wave::new(job.program));
                self.free.push(self.registers.len() - 1);
                self.registers.len() - 1
            }
        };
        let wave = &mut self.registers[place];
        if self.whole && id < self.started {
            self.starts[id].set_up(job.program, wave, id as u32, self.position);
            return place;
        }
        let position = registers::set_up(job, wave, id as u32, self.position, self.size, &self.scratch);
        // Waves may start in any order.
        if self.whole && self.wholes == 2 && id == self.started {
            match self.starts.get_mut(id) {
                Some(start) => start.renew(wave, position),
                None => self.starts.push(Whole::new(wave, position)),
            }
            self.started += 1;
        }
        place
    }

    /// Assigns registers to wave `id` and initialises them.
    fn begin_wave(&mut self, job: &Job<'_>, id: usize) {
        self.has[id] = self.set_up_wave(job, id);
        self.free.pop();
        let slice = self.slice(job);
        self.turns[id].reset(slice);
        self.states[id] = State::Ready;
    }

    /// The number of instructions after which the schedule switches to another wave, if it does.
    fn slice(&self, job: &Job<'_>) -> Option<u64> {
        job.gpu.config().schedule.slice().filter(|_| self.count > 1)
    }

    /// The number of waves of the current workgroup.
    pub(in crate::dispatch) fn waves(&self) -> u64 {
        self.count as u64
    }

    /// Gives every runnable wave a turn, repeatedly, until the workgroup is done or a wave yields. `spend` receives the
    /// instructions of every turn and returns whether the budget allows more. `shuffle` determines order and turns;
    /// `observer` sees every instruction.
    pub(in crate::dispatch) fn go_on(
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
            beyond_lds: job.beyond_lds,
            sramecc: job.gpu.config().sramecc,
            start: job.start,
            outside: job.gpu.outside(),
            seat: Seat::new(job.gpu.config().arch, job.gpu.compute_units(), &job.units, self.index),
        };
        let mut ctx = Ctx { root: job.program, program: job.program, lds: &mut lds, env };
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
        let mut round = Round { gave_way: false, waiting: true };
        let mut fresh = std::mem::take(&mut self.fresh);
        if fresh && shuffle.is_none() && observer.is_none() && self.slice(job).is_none() {
            // Most workgroups complete here.
            let (progress, spent) = self.take_first_turns(job, ctx, spend, &mut round);
            if let Some(progress) = progress {
                return (progress, spent);
            }
            instructions = spent;
        } else {
            if fresh {
                self.order.clear();
                self.order.extend(0..self.count);
                self.states[..self.count].fill(State::Waiting);
            }
            fresh = false;
        }
        loop {
            if !std::mem::take(&mut fresh) {
                round = Round { gave_way: false, waiting: true };
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
                    let wave = &mut self.registers[self.has[id]];
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
                    let spent = wave.instructions.wrapping_sub(before);
                    instructions += spent;
                    if let Some(progress) = self.stopped(job, id, (stop, came), spend, spent, &mut round) {
                        return (progress, instructions);
                    }
                }
            }
            let states = &mut self.states[..self.count];
            if states.contains(&State::Ready) {
                if round.gave_way {
                    let progress = if round.waiting { Progress::Waiting } else { Progress::Running };
                    return (progress, instructions);
                }
            } else if states.contains(&State::AtBarrier) {
                // All waves that have not ended are at a barrier.
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
                return (Progress::Done, instructions);
            }
        }
    }

    /// Gives every wave its first turn. A wave that ends within it leaves its registers to the next, without
    /// bookkeeping.
    #[inline]
    fn take_first_turns(
        &mut self,
        job: &Job<'_>,
        ctx: &mut Ctx<'_>,
        spend: &mut dyn FnMut(u64) -> bool,
        round: &mut Round,
    ) -> (Option<Progress>, u64) {
        // The instructions of the workgroup, and those that have not been charged yet.
        let (mut instructions, mut due) = (0, 0);
        let mut all_ended = true;
        for id in 0..self.count {
            let place = self.set_up_wave(job, id);
            let wave = &mut self.registers[place];
            let stop = run(wave, ctx, turn::FIRST);
            due += wave.instructions;
            if stop == Stop::End {
                round.waiting = false;
                continue;
            }
            all_ended = false;
            self.has[id] = place;
            self.free.pop();
            self.turns[id].reset(None);
            self.states[id] = State::Ready;
            let before = wave.instructions;
            let stop = self.turns[id].after(stop, before, wave, ctx);
            due += wave.instructions.wrapping_sub(before);
            let spent = std::mem::take(&mut due);
            instructions += spent;
            if let Some(progress) = self.stopped(job, id, stop, spend, spent, round) {
                return (Some(progress), instructions);
            }
        }
        instructions += due;
        spend(due);
        if all_ended {
            return (Some(Progress::Done), instructions);
        }
        if self.order.len() != self.count {
            self.order.clear();
            self.order.extend(0..self.count);
        }
        (None, instructions)
    }

    /// Records why wave `id` stopped and the result of its turn, after `spent` instructions. Returns the workgroup's
    /// state if it cannot continue.
    fn stopped(
        &mut self,
        job: &Job<'_>,
        id: usize,
        (stop, came): (Stop, Came),
        spend: &mut dyn FnMut(u64) -> bool,
        spent: u64,
        round: &mut Round,
    ) -> Option<Progress> {
        round.waiting &= came == Came::Waiting;
        let (wave, state) = (&self.registers[self.has[id]], &mut self.states[id]);
        match stop {
            Stop::Trap => {
                let trap = wave.trap.clone().unwrap_or(Trap::Unsupported("a wave stopped without a reason"));
                return Some(Progress::Failed(trap, place(job, wave, self.position)));
            }
            Stop::End => {
                *state = State::Ended;
                self.free.push(self.has[id]);
            }
            Stop::Barrier => *state = State::AtBarrier,
            Stop::Yield => round.gave_way |= came != Came::Sliced,
        }
        if !spend(spent) && *state != State::Ended {
            return Some(Progress::OverBudget(place(job, wave, self.position)));
        }
        None
    }

    /// The first instruction of the workgroup, as the place of a fault before any wave has started.
    pub(in crate::dispatch) fn entry(&self, job: &Job<'_>) -> FaultPlace {
        FaultPlace::of(job.kernel, job.program, job.program.entry(), self.position, 0, None)
    }
}

/// The observations of a round of turns.
struct Round {
    /// A wave has yielded.
    gave_way: bool,
    /// Every wave is only waiting for others.
    waiting: bool,
}

/// The place of `wave`.
fn place(job: &Job<'_>, wave: &Wave, workgroup: [u32; 3]) -> FaultPlace {
    let lane = match &wave.trap {
        Some(Trap::Memory(fault)) => fault.lane,
        _ => None,
    };
    FaultPlace::of(job.kernel, job.program.part(wave.part()), wave.pc, workgroup, wave.id, lane)
}
