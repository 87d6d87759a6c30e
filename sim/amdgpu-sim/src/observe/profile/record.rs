//! Adds dispatches to the profiles.

use std::collections::VecDeque;

use super::counters::{Counters, InstructionProfile, Tallies, Tally};
use super::occupancy::{Limit, Occupancy, occupancy};
use super::store::{DispatchProfile, Entry, Hint, Line, Store};
use crate::exec::LANES;
use crate::module::Kernel;
use crate::observe::plan::{Class, Step};
use crate::observe::subject::Subject;

/// The number of a kernel's dispatches that are stored individually.
const RECENT: usize = 64;

impl Store {
    /// Adds the counters of a dispatch.
    pub(in crate::observe) fn add(&mut self, subject: &Subject<'_>, plan: &[Step], tallies: &Tallies) {
        let (kernel, info) = (subject.kernel, subject.kernel.info());
        let at = self.place(subject, plan);
        let entry = &mut self.0[at];
        let mut counters = tallies.all.clone();
        counters.dispatches = 1;
        entry.counters.add(&counters);
        for line in &mut entry.lines {
            let tally: &Tally = &tallies.each[line.micro];
            let profile = &mut line.profile;
            profile.count += tally.count;
            profile.active_lanes += tally.lanes;
            profile.bytes += tally.bytes;
            profile.lines += tally.lines;
            profile.bank_conflicts += tally.bank_conflicts;
        }
        if entry.recent.len() == RECENT {
            entry.recent.pop_front();
        }
        let dispatch = subject.dispatch;
        let work_items = dispatch.workgroup.iter().product();
        let occupancy = occupancy(info, subject.gpu.config().arch, work_items, subject.lds);
        let hints = hints(subject, kernel, work_items, &occupancy);
        let (grid, workgroup, lds) = (dispatch.grid, dispatch.workgroup, subject.lds);
        entry.recent.push_back(DispatchProfile { grid, workgroup, lds, counters, occupancy, hints });
    }

    /// The index of a kernel's entry, which is created if needed, and extended by code that was lowered since.
    fn place(&mut self, subject: &Subject<'_>, plan: &[Step]) -> usize {
        let (descriptor, name) = (subject.kernel.descriptor_address(), &subject.kernel.info().name);
        let count = plan.iter().filter(|step| step.class.is_some()).count();
        let known = |e: &Entry| e.name == *name && e.descriptors.contains(&descriptor);
        // Another code object may have been loaded at the address of an unloaded one.
        if let Some(at) = self.0.iter().position(|e| known(e) && e.lines.len() == count) {
            return at;
        }
        let mut lines = lines(subject, plan);
        let same = |(a, b): (&Line, &Line)| a.micro == b.micro && a.profile.text == b.profile.text;
        let begins = |e: &Entry| e.lines.len() <= count && e.lines.iter().zip(&lines).all(same);
        let grows = subject.program.may_grow();
        let alike = |e: &Entry| e.name == *name && (grows || e.lines.len() == count) && begins(e);
        let at = self.0.iter().position(alike);
        self.0.iter_mut().for_each(|e| e.descriptors.retain(|d| *d != descriptor));
        if let Some(at) = at {
            let entry = &mut self.0[at];
            entry.descriptors.push(descriptor);
            entry.lines.extend(lines.drain(entry.lines.len()..));
            return at;
        }
        let (counters, recent) = (Counters::default(), VecDeque::new());
        self.0.push(Entry { descriptors: vec![descriptor], name: name.clone(), lines, counters, recent });
        self.0.len() - 1
    }
}

/// The instructions of a program, with counters of zero.
fn lines(subject: &Subject<'_>, plan: &[Step]) -> Vec<Line> {
    let entry = subject.kernel.inner.entry_address();
    let at = |micro: usize| subject.source_at(micro as u32);
    let real: Vec<(usize, Class)> = plan.iter().enumerate().filter_map(|(i, s)| Some((i, s.class?))).collect();
    let addresses: Vec<u64> = real.iter().map(|(micro, _)| at(*micro).address).collect();
    let sources = subject.kernel.source_of(&addresses);
    let line = |((micro, class), source): ((usize, Class), _)| {
        let place = at(micro);
        Line {
            micro,
            profile: InstructionProfile {
                offset: place.address.wrapping_sub(entry) as i64,
                text: place.inst.as_ref().map(ToString::to_string).unwrap_or_default(),
                class,
                count: 0,
                active_lanes: 0,
                bytes: 0,
                lines: 0,
                bank_conflicts: 0,
                source,
            },
        }
    };
    real.into_iter().zip(sources).map(line).collect()
}

fn hints(subject: &Subject<'_>, kernel: &Kernel, work_items: u32, occupancy: &Occupancy) -> Vec<Hint> {
    let mut hints = Vec::new();
    let idle = work_items.next_multiple_of(LANES as u32) - work_items;
    if idle > 0 {
        hints.push(Hint::PartialWave { work_items, idle });
    }
    let workgroups = subject.groups.iter().map(|n| u64::from(*n)).product();
    let compute_units = u64::from(subject.gpu.compute_units());
    if workgroups < compute_units {
        hints.push(Hint::SmallGrid { workgroups, compute_units });
    }
    let waves = occupancy.waves;
    match occupancy.limit {
        Limit::Lds => hints.push(Hint::LdsLimitsOccupancy { lds: subject.lds, waves }),
        Limit::VectorRegisters if waves <= 8 => {
            hints.push(Hint::RegistersLimitOccupancy { registers: occupancy.vector_registers, waves });
        }
        _ => {}
    }
    let bytes = kernel.info().private_size;
    if bytes > 0 {
        hints.push(Hint::Scratch { bytes });
    }
    hints
}
