//! Observation of kernels: checks for uninitialised memory, races and barriers, and a profile.
//!
//! It costs nothing unless enabled. An observed dispatch runs in a separate loop, [`Observer::run`], which inspects
//! every instruction before its handler runs. Out-of-bounds accesses, uses after free and misaligned atomics are always
//! detected, without observation: see [`Fault`](crate::Fault).
//!
//! With checks enabled, the workgroups of a dispatch run on one thread, in order (or as [`Schedule`](crate::Schedule)
//! shuffles them), so that each run has the same findings. A profile alone uses all threads.

mod access;
mod checks;
mod clock;
mod finding;
mod group;
mod held;
mod init;
mod memory_model;
mod plan;
pub(crate) mod profile;
mod race;
mod records;
mod room;
mod settings;
mod shadow;
pub(crate) mod source;
mod subject;

pub use checks::Checks;
pub use finding::{Finding, FindingKind};
pub(crate) use group::GroupState;
pub use plan::Class;
pub use profile::{
    Counters, DispatchProfile, Hint, InstructionProfile, KernelProfile, Limit, Occupancy, Profile, occupancy,
};
pub(crate) use records::Records;
pub(crate) use room::{Kept, Room};
pub(crate) use settings::apply_settings;
pub use settings::{ProfileFormat, SettingsError};
pub(crate) use subject::Subject;

use std::sync::PoisonError;

use crate::exec::{Ctx, Flow, LANES, Stop, Trap, Wave};
use crate::fault::{Access, Space};
use crate::gpu::Gpu;
use crate::memory::Memory;
use access::Touch;
use finding::Findings;
use held::{Held, Race};
use plan::Plan;
use profile::Tallies;

impl Gpu {
    /// Returns the findings of the [checks](crate::Config::checks) since the last call, in the order of their
    /// detection. Each pair of instructions is reported once. At most 256 different findings are stored.
    pub fn take_findings(&self) -> Vec<Finding> {
        self.records().findings.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The [profile](crate::Config::profile) of all completed dispatches.
    pub fn profile(&self) -> Profile {
        self.records().profile.lock().unwrap_or_else(PoisonError::into_inner).profile()
    }
}

/// One worker's observations of a dispatch.
pub(crate) struct Observer<'a> {
    subject: Subject<'a>,
    plan: Plan,
    tallies: Option<Tallies>,
    race: Option<race::Dispatch>,
    init: Option<init::Dispatch>,
    /// The kernel only copies, so its reads do not count as uses.
    copies: bool,
    barrier: bool,
    findings: Findings,
    held: Held,
}

impl<'a> Observer<'a> {
    /// An observer, if the GPU's configuration asks for one.
    pub(crate) fn of(subject: Subject<'a>) -> Option<Self> {
        let config = subject.gpu.config();
        if !config.checks.any() && !config.profile {
            return None;
        }
        let plan = Plan::of(subject.program);
        // For code that is not lowered yet, this is unknown.
        let polls = subject.program.may_grow() || plan.steps().iter().any(|step| step.polls);
        Some(Self {
            tallies: config.profile.then(|| Tallies::new(plan.steps().len())),
            race: config.checks.race.then(|| race::Dispatch::new(config, polls)),
            init: config.checks.init.then(|| {
                // The host writes the arguments, possibly directly to device memory, which is not tracked. The same applies to other
                // contents of that memory: the runtime of ROCm 6.4 keeps its fill patterns there.
                if subject.kernel.info().kernarg_size > 0 {
                    subject.gpu.memory().shared_with_host(subject.kernarg);
                }
                init::Dispatch::new(subject.gpu.memory_arc())
            }),
            copies: config.copy_kernels.iter().any(|start| subject.kernel.info().name.starts_with(start)),
            barrier: config.checks.barrier,
            findings: Findings::default(),
            held: Held::default(),
            plan,
            subject,
        })
    }

    /// Starts workgroup number `index`.
    pub(crate) fn begin(&mut self, group: &mut GroupState, index: u64, waves: usize) {
        group.first = (index as u32).wrapping_mul(self.subject.waves());
        group.barriers.clear();
        group.barriers.resize(waves, 0);
        if let Some(tallies) = &mut self.tallies {
            tallies.workgroup(waves);
        }
        if self.race.is_some() {
            group.race.begin(group.first, waves);
        }
        if self.init.is_some() {
            group.init.begin(self.subject.lds as usize, waves);
        }
    }

    /// Runs `wave` like [`run`](crate::exec::run), for at most `turn` instructions, and inspects each of them first.
    pub(crate) fn run(&mut self, group: &mut GroupState, wave: &mut Wave, ctx: &mut Ctx<'_>, turn: u64) -> Stop {
        ctx.enter(wave);
        wave.settle_all();
        let mut first = self.first(wave.part());
        for _ in 0..turn {
            let Some(m) = ctx.program.single(wave.pc) else {
                wave.trap = Some(Trap::WildJump(0));
                return Stop::Trap;
            };
            let position = first + wave.pc;
            self.before(group, wave, ctx, position);
            wave.instructions += 1;
            // SAFETY: handlers are chosen by `lower` for the CPU that it ran on, and `m` was lowered for the program
            // that `wave` was made for.
            match unsafe { (m.run)(wave, m, ctx) } {
                Flow::Next => wave.pc += 1,
                Flow::Skip => wave.pc += m.aux,
                Flow::Jump => {}
                Flow::Elsewhere => first = self.first(wave.part()),
                Flow::Barrier => {
                    wave.pc += 1;
                    if let Some(place) = group.barriers.get_mut(wave.id as usize) {
                        *place = position;
                    }
                    return Stop::Barrier;
                }
                Flow::Yield => {
                    wave.pc += 1;
                    return Stop::Yield;
                }
                Flow::End => {
                    let left = self.held.end(group.first.wrapping_add(wave.id));
                    self.report(left);
                    return Stop::End;
                }
                Flow::Trap => return Stop::Trap,
            }
        }
        Stop::Yield
    }

    /// The position of the first micro-operation of a part.
    fn first(&mut self, part: u32) -> u32 {
        let first = self.plan.first(self.subject.program, part);
        if let Some(tallies) = &mut self.tallies {
            tallies.grow(self.plan.steps().len());
        }
        first
    }

    fn report(&mut self, races: Vec<Race>) {
        races.iter().for_each(|race| raced(&self.subject, &mut self.findings, race));
    }

    fn before(&mut self, group: &mut GroupState, wave: &Wave, ctx: &Ctx<'_>, position: u32) {
        let step = self.plan.steps()[position as usize];
        let Self { subject, tallies, race, init, copies, findings, held, .. } = self;
        if let Some(race) = race {
            if step.waits {
                group.race.performed(wave.id as usize);
            }
            race.global_sync(&mut group.race, wave.id as usize, step.syncs);
        }
        let Some(class) = step.class else { return };
        if let Some(tallies) = tallies {
            tallies.instruction(position, class, wave.exec());
        }
        if !step.touches {
            return;
        }
        let Some(inst) = ctx.program.source_at(wave.pc).inst.as_ref() else { return };
        let GroupState { first, race: group_race, init: group_init, .. } = group;
        let number = first.wrapping_add(wave.id);
        let lane_bytes = ctx.env.scratch.wave_bytes() / LANES as u64;
        access::touches(inst, wave, ctx.program, &ctx.env, &mut |touch| {
            if touch.mask == 0 {
                return;
            }
            if let Some(tallies) = tallies {
                tallies.touch(position, touch);
            }
            if let Some(init) = init {
                init.access(group_init, touch, wave.id as usize, lane_bytes, &mut |found| {
                    if !*copies {
                        uninitialized(subject, findings, touch, position, number, &found);
                    }
                });
            }
            if let Some(race) = race {
                // Accesses beyond LDS are ignored, or fault on their own.
                let mut inside = *touch;
                if touch.space == Space::Lds {
                    inside.mask = touch.lanes_within(ctx.lds.len());
                }
                let touch = &inside;
                let values = Stored { wave, touch, lds: ctx.lds, memory: subject.gpu.memory() };
                let at = race::At { position, polls: step.polls };
                race.access(group_race, touch, wave.id as usize, at, &values, &mut |conflict| {
                    let reader = conflict.plain_reader(number);
                    let race = Race { space: touch.space, position, wave: number, conflict };
                    match reader {
                        Some(reader) => held.add(reader, race),
                        None => raced(subject, findings, &race),
                    }
                });
                if touch.compares {
                    for (_, address) in touch.lanes() {
                        held.swaps(number, touch.space, address, touch.bytes);
                    }
                }
            }
        });
    }

    /// All waves of the workgroup that have not ended have reached barriers and are released. `ended` tells which waves
    /// have ended.
    pub(crate) fn barrier(&mut self, group: &mut GroupState, ended: impl Fn(usize) -> bool) {
        if self.barrier {
            let wave = |id: usize| group.first.wrapping_add(id as u32);
            let mut waiting = (0..group.barriers.len()).filter(|id| !ended(*id));
            let Some(first) = waiting.next() else { return };
            let here = group.barriers[first];
            let address = |position: u32| self.subject.source_at(position).address;
            for other in waiting {
                let there = group.barriers[other];
                if there != here && !self.findings.count(2, address(here), address(there)) {
                    let kind = FindingKind::DifferentBarriers {
                        other: Box::new(self.subject.place(there, wave(other), None)),
                    };
                    let place = self.subject.place(here, wave(first), None);
                    self.findings.add(self.subject.finding(kind, place, None));
                }
            }
        }
        if let Some(race) = &mut self.race {
            group.race.barrier(race);
        }
    }

    fn incomplete(&mut self, check: &'static str, most: u64) {
        let place = self.subject.place(self.subject.program.entry(), 0, None);
        self.findings.add(self.subject.finding(FindingKind::Incomplete { check, most }, place, None));
    }

    /// Returns the worker's observations, after its last workgroup.
    pub(crate) fn done(mut self) -> Observations {
        let left = self.held.end_all();
        self.report(left);
        let most = Room::of(self.subject.gpu.config()).most();
        if self.race.as_ref().is_some_and(race::Dispatch::is_incomplete) {
            self.incomplete("race", most);
        }
        if self.init.is_some() && self.subject.gpu.memory().has_lacked_room() {
            self.incomplete("init", most);
        }
        Observations { plan: self.plan, tallies: self.tallies, findings: self.findings }
    }
}

/// The observations of a dispatch.
pub(crate) struct Observations {
    plan: Plan,
    tallies: Option<Tallies>,
    findings: Findings,
}

impl Observations {
    /// Merges another worker's observations of the same dispatch.
    pub(crate) fn merge(&mut self, mut other: Self) {
        if let (Some(ours), Some(theirs)) = (&mut self.tallies, &other.tallies) {
            ours.merge(theirs);
        }
        other.findings.take().into_iter().for_each(|finding| self.findings.add(finding));
    }

    /// Hands everything to the GPU after the dispatch. Returns the findings if they must make it fail.
    pub(crate) fn finish(mut self, subject: &Subject<'_>) -> Vec<Finding> {
        let records = subject.gpu.records();
        if let Some(tallies) = self.tallies {
            let mut profile = records.profile.lock().unwrap_or_else(PoisonError::into_inner);
            // With the lock held: a concurrent dispatch of the kernel may add more parts, and must come later.
            self.plan.grow(subject.program);
            profile.add(subject, self.plan.steps(), &tallies);
        }
        let found = self.findings.take();
        if found.is_empty() {
            return found;
        }
        let mut all = records.findings.lock().unwrap_or_else(PoisonError::into_inner);
        found.iter().cloned().for_each(|finding| all.add(finding));
        if subject.gpu.config().checks.fail { found } else { Vec::new() }
    }
}

fn uninitialized(
    subject: &Subject<'_>,
    findings: &mut Findings,
    touch: &Touch,
    position: u32,
    wave: u32,
    found: &init::Unwritten,
) {
    if findings.count(0, subject.source_at(position).address, 0) {
        return;
    }
    let access = if touch.kind == access::Kind::Update { Access::Atomic } else { Access::Read };
    let (space, address, bytes) = (touch.space, found.address, touch.bytes);
    let kind = FindingKind::Uninitialized { space, address, bytes, access };
    let place = subject.place(position, wave, found.lane);
    findings.add(subject.finding(kind, place, (space == Space::Global).then_some(address)));
}

fn raced(subject: &Subject<'_>, findings: &mut Findings, race: &Race) {
    let Race { space, position, wave, conflict } = race;
    let address = |position: u32| subject.source_at(position).address;
    if findings.count(1, address(*position), address(conflict.other.position)) {
        return;
    }
    let lane = |lane: u8| (lane != shadow::SCALAR).then_some(u32::from(lane));
    let kind = FindingKind::Race {
        space: *space,
        address: conflict.address,
        access: conflict.kind.access(),
        other_access: conflict.other.kind.access(),
        other: Box::new(subject.place(conflict.other.position, conflict.other.wave, lane(conflict.other.lane))),
    };
    let place = subject.place(*position, *wave, lane(conflict.lane));
    findings.add(subject.finding(kind, place, (*space == Space::Global).then_some(conflict.address)));
}

/// The data of a store, and the memory that it writes to.
struct Stored<'a> {
    wave: &'a Wave,
    touch: &'a Touch,
    lds: &'a [u8],
    memory: &'a Memory,
}

impl Stored<'_> {
    /// Byte `i` of a lane's data, which starts at bit `shift` of `row`.
    fn byte(&self, (row, shift): (u16, u32), lane: usize, i: usize) -> u8 {
        (self.wave.row(row + (i / 4) as u16)[lane] >> (8 * (i % 4) as u32 + shift)) as u8
    }
}

impl race::Values for Stored<'_> {
    fn unchanged(&self, lane: usize, address: u64) -> bool {
        let Some(data) = self.touch.data else { return false };
        let mut there = [0; 16];
        let Some(there) = there.get_mut(..self.touch.bytes as usize) else { return false };
        let known = if self.touch.space == Space::Lds {
            let place = usize::try_from(address).ok().and_then(|at| self.lds.get(at..)?.get(..there.len()));
            place.map(|bytes| there.copy_from_slice(bytes)).is_some()
        } else {
            self.memory.read(address, there).is_ok()
        };
        known && there.iter().enumerate().all(|(i, value)| *value == self.byte(data, lane, i))
    }

    fn alike(&self, lane: usize, other: usize) -> bool {
        // A store that converts its data may write the same value from different registers.
        let Some(data) = self.touch.data else { return true };
        let (from, others) = (self.touch.at[lane], self.touch.at[other]);
        let common = from.max(others)..from.min(others).saturating_add(u64::from(self.touch.bytes));
        let byte = |lane: usize, from: u64, at: u64| self.byte(data, lane, (at - from) as usize);
        common.into_iter().all(|at| byte(lane, from, at) == byte(other, others, at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AllocKind, CodeObject, Config, Dispatch};

    /// Observation gives the same result for code that is lowered on demand as for code that is lowered in advance.
    #[test]
    fn code_in_parts_is_observed() {
        let code = CodeObject::parse(include_bytes!("../../tests/kernels/functions-O0.co")).unwrap();
        let observed = |whole: usize| {
            let checks = Checks { init: true, race: true, barrier: true, fail: false };
            let gpu = Gpu::new(Config { checks, profile: true, ..Config::default() }).with_whole(whole);
            let module = gpu.load(&code).unwrap();
            let kernel = module.kernel("single").unwrap();
            // One of the inputs is uninitialised.
            let buffers: Vec<u64> = (0..3).map(|_| gpu.memory().alloc(1024, 0, AllocKind::Device).unwrap()).collect();
            gpu.memory().write(buffers[0], &1.5_f32.to_le_bytes().repeat(256)).unwrap();
            // pow, atan2, sin, pow again: code lowered for one dispatch is reused by the next.
            for which in [4_u32, 9, 0, 4] {
                let mut arguments: Vec<u8> = buffers.iter().flat_map(|buffer| buffer.to_le_bytes()).collect();
                arguments.extend([which, 256].into_iter().flat_map(u32::to_le_bytes));
                gpu.launch(&kernel, &arguments, &Dispatch::of_blocks([4, 1, 1], [64, 1, 1]).unwrap()).unwrap();
            }
            let findings: Vec<_> = gpu.take_findings().iter().map(|found| (found.place.pc, found.count)).collect();
            let profile = gpu.profile();
            assert_eq!(profile.kernels.len(), 1);
            let of_kernel = &profile.kernels[0];
            let mut instructions: Vec<_> =
                of_kernel.instructions.iter().map(|i| (i.offset, i.count, i.active_lanes, i.bytes)).collect();
            instructions.sort_unstable();
            let micros = kernel.inner.program(gpu.memory(), gpu.config().arch, gpu.whole()).unwrap().micros().len();
            (micros, findings, of_kernel.counters.clone(), instructions)
        };
        let (parts, all) = (observed(0), observed(usize::MAX));
        assert!(parts.0 < all.0, "{} micro-operations of {}", parts.0, all.0);
        assert!(!all.1.is_empty() && all.3.len() > 100);
        assert_eq!((parts.1, parts.2, parts.3), (all.1, all.2, all.3));
    }
}
