//! One workgroup: its waves take turns on one thread.

use super::schedule::Shuffle;
use super::{Job, registers};
use crate::exec::mem::{Env, Scratch, View};
use crate::exec::{Ctx, LANES, Stop, Trap, Wave, run, run_exactly};
use crate::fault::FaultPlace;
use crate::memory::Block;

/// Instructions after which a wave lets others go on.
const TURN: u64 = 1 << 16;

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
    /// Waves of the present workgroup.
    count: usize,
    /// In which order waves have their turns: all numbers below `count` come first.
    order: Vec<usize>,
    lds: Vec<u8>,
    scratch: Scratch,
    /// What `scratch` points to.
    _memory: Option<Block>,
}

/// How far a workgroup has come.
pub(super) enum Progress {
    Done,
    /// All waves have had a turn; some have not ended.
    Running,
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
            count: 0,
            order: Vec::new(),
            lds: vec![0; job.lds as usize],
            scratch,
            _memory: memory,
        })
    }

    /// Starts workgroup number `index` of the grid.
    pub(super) fn begin(&mut self, job: &Job<'_>, index: u64) {
        let [nx, ny, _] = job.groups.map(u64::from);
        // Each fits: it is below the number of groups in its dimension.
        self.position = [(index % nx) as u32, (index / nx % ny) as u32, (index / nx / ny) as u32];
        let size: [u32; 3] = std::array::from_fn(|d| {
            let (grid, whole) = (job.dispatch.grid[d], job.dispatch.workgroup[d]);
            (grid - self.position[d] * whole).min(whole)
        });
        self.count = size.iter().product::<u32>().div_ceil(LANES as u32) as usize;
        self.order.clear();
        self.order.extend(0..self.count);
        self.lds.fill(0);
        for (id, wave) in self.waves[..self.count].iter_mut().enumerate() {
            registers::set_up(job, wave, id as u32, self.position, size, &self.scratch);
            self.states[id] = State::Ready;
        }
    }

    /// Waves of the present workgroup.
    pub(super) fn waves(&self) -> u64 {
        self.count as u64
    }

    /// Lets every wave that can go on have a turn, again and again until the workgroup is done or a wave gives way.
    /// `spend` is told of every turn's instructions and answers whether there is budget for more. `shuffle` decides on order and turns.
    pub(super) fn go_on(
        &mut self,
        job: &Job<'_>,
        view: &mut View,
        spend: &mut dyn FnMut(u64) -> bool,
        mut shuffle: Option<&mut Shuffle>,
    ) -> (Progress, u64) {
        let env = Env { view, scratch: self.scratch, misaligned: job.gpu.config().misaligned, start: job.start };
        let mut ctx = Ctx { program: job.program, lds: &mut self.lds, env };
        let mut instructions = 0;
        loop {
            let mut gave_way = false;
            if let Some(shuffle) = &mut shuffle {
                shuffle.shuffle(&mut self.order);
            }
            for &id in &self.order {
                let (wave, state) = (&mut self.waves[id], &mut self.states[id]);
                if *state != State::Ready {
                    continue;
                }
                let before = wave.instructions;
                let stop = match &mut shuffle {
                    None => run(wave, &mut ctx, TURN),
                    Some(shuffle) => run_exactly(wave, &mut ctx, shuffle.turn()),
                };
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
                    return (Progress::Running, instructions);
                }
            } else if states.contains(&State::AtBarrier) {
                // All that have not ended are here.
                states.iter_mut().filter(|s| **s == State::AtBarrier).for_each(|s| *s = State::Ready);
            } else {
                return (Progress::Done, instructions);
            }
        }
    }
}

/// Where `wave` is.
fn place(job: &Job<'_>, wave: &Wave, workgroup: [u32; 3]) -> FaultPlace {
    let source = job.program.source_at(wave.pc);
    let lane = match &wave.trap {
        Some(Trap::Memory(fault)) => fault.lane,
        _ => None,
    };
    let instruction = match &source.inst {
        Some(inst) => inst.to_string(),
        None => format!(".long {:#010x}", source.word),
    };
    FaultPlace {
        workgroup,
        wave: wave.id,
        lane,
        pc: source.address,
        offset: source.address.wrapping_sub(job.kernel.inner.entry_address()) as i64,
        instruction,
    }
}
