//! The observer's work at each micro-operation of a program.

use super::access::touches_memory;
use crate::exec::{Program, polling_loads};
use crate::isa::inst::{Format, Inst, Operand, Special};
use crate::isa::{Flags, Op};

/// The class of an instruction in the profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "profile", derive(serde::Serialize))]
#[cfg_attr(feature = "profile", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Class {
    /// Scalar arithmetic and moves.
    Salu,
    /// Vector arithmetic, including moves between lanes.
    Valu,
    /// Matrix products.
    Mfma,
    /// Scalar memory.
    Smem,
    /// Vector loads: flat, global, scratch, buffer.
    VectorLoad,
    /// Vector stores.
    VectorStore,
    /// Atomic operations on global memory.
    VectorAtomic,
    /// LDS loads, stores and atomics.
    Lds,
    /// Branches, calls and returns.
    Branch,
    /// `s_barrier`.
    Barrier,
    /// Cache write-backs and invalidations.
    Cache,
    /// Everything else: `s_endpgm`, `s_sleep`, messages.
    Other,
}

impl Class {
    /// All classes, in the order in which reports list them.
    pub const ALL: [Class; 12] = [
        Class::Salu,
        Class::Valu,
        Class::Mfma,
        Class::Smem,
        Class::VectorLoad,
        Class::VectorStore,
        Class::VectorAtomic,
        Class::Lds,
        Class::Branch,
        Class::Barrier,
        Class::Cache,
        Class::Other,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Class::Salu => "scalar ALU",
            Class::Valu => "vector ALU",
            Class::Mfma => "matrix",
            Class::Smem => "scalar memory",
            Class::VectorLoad => "vector load",
            Class::VectorStore => "vector store",
            Class::VectorAtomic => "vector atomic",
            Class::Lds => "LDS",
            Class::Branch => "branch",
            Class::Barrier => "barrier",
            Class::Cache => "cache",
            Class::Other => "other",
        }
    }

    /// Whether instructions of this class operate on the lanes of a wave.
    pub fn is_vector(self) -> bool {
        matches!(
            self,
            Class::Valu | Class::Mfma | Class::VectorLoad | Class::VectorStore | Class::VectorAtomic | Class::Lds
        )
    }

    /// The class of an instruction.
    pub fn of(inst: &Inst) -> Self {
        let info = inst.op.info();
        match inst.format {
            Format::Sopp if inst.op == Op::s_barrier => Class::Barrier,
            Format::Sopp if inst.op.mnemonic().contains("branch") => Class::Branch,
            Format::Sopp => Class::Other,
            _ if matches!(inst.op, Op::s_setpc_b64 | Op::s_swappc_b64 | Op::s_call_b64) => Class::Branch,
            Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk => Class::Salu,
            Format::Smem if inst.op.mnemonic().starts_with("s_dcache") => Class::Cache,
            Format::Smem => Class::Smem,
            _ if info.is(Flags::mfma) => Class::Mfma,
            Format::Ds => Class::Lds,
            Format::Mubuf if inst.src[2] == Operand::None => Class::Cache,
            Format::Flat | Format::Global | Format::Scratch | Format::Mubuf | Format::Mtbuf | Format::Mimg => {
                if info.is(Flags::atomic) {
                    Class::VectorAtomic
                } else if inst.src[1] != Operand::None || inst.op == Op::buffer_store_lds_dword {
                    Class::VectorStore
                } else {
                    Class::VectorLoad
                }
            }
            Format::Exp | Format::Vintrp => Class::Other,
            _ => Class::Valu,
        }
    }
}

/// The observer's work before one micro-operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// The instruction's class; `None` for an auxiliary micro-operation.
    pub(super) class: Option<Class>,
    /// Whether it accesses memory.
    pub(super) touches: bool,
    /// Whether an `s_waitcnt vmcnt(0)` precedes it.
    pub(super) waits: bool,
    /// Whether it is a global wave sync instruction, with which waves of all workgroups wait for each other.
    pub(super) syncs: bool,
    /// Whether it is a load from LDS that polls a flag.
    pub(super) polls: bool,
}

/// The observer's work before every micro-operation of a kernel.
///
/// A *position* numbers the micro-operations of the kernel's code and its [parts](Program::with_parts) consecutively.
/// It does not change when parts are added.
pub(super) struct Plan {
    steps: Vec<Step>,
    /// The position of the first micro-operation of each part.
    firsts: Vec<u32>,
}

impl Plan {
    /// The plan for the code that is lowered so far.
    pub(super) fn of(program: &Program) -> Self {
        let mut plan = Self { steps: Vec::new(), firsts: Vec::new() };
        plan.grow(program);
        plan
    }

    /// Adds the parts of `program` that are missing.
    pub(super) fn grow(&mut self, program: &Program) {
        for part in program.with_parts().skip(self.firsts.len()) {
            self.firsts.push(self.steps.len() as u32);
            self.steps.extend(steps(part));
        }
    }

    /// The position of the first micro-operation of a part of `program`.
    pub(super) fn first(&mut self, program: &Program, part: u32) -> u32 {
        if self.firsts.len() <= part as usize {
            self.grow(program);
        }
        self.firsts[part as usize]
    }

    /// The steps by position.
    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }
}

/// The observer's work before every micro-operation of one part.
fn steps(program: &Program) -> Vec<Step> {
    let helper = Step { class: None, touches: false, waits: false, syncs: false, polls: false };
    let mut steps = vec![helper; program.micros().len()];
    let polls = polling_loads(program);
    let (mut waits, mut next_source) = (false, 0);
    let mut at = 0;
    while at < steps.len() {
        let source = program.source_number(at);
        // Waits have no micro-operation of their own: they are attributed to the next instruction.
        for skipped in next_source..=source {
            let inst = program.sources()[skipped].inst.as_ref();
            if inst.is_some_and(|i| i.op == Op::s_waitcnt && waits_for_memory(i)) {
                waits = true;
            }
        }
        next_source = source + 1;
        let mut end = at + 1;
        while end < steps.len() && program.source_number(end) == source {
            end += 1;
        }
        steps[at].waits = std::mem::take(&mut waits);
        if let Some(inst) = program.sources()[source].inst.as_ref().filter(|i| !has_no_micro(i.op)) {
            let reads_flags = inst.src.iter().any(|s| matches!(s, Operand::Special(Special::Vccz | Special::Execz)));
            let real = (at + usize::from(reads_flags)).min(end - 1);
            steps[real].class = Some(Class::of(inst));
            steps[real].touches = touches_memory(inst);
            steps[real].polls = polls[source];
            steps[real].syncs = inst.format == Format::Ds && inst.op.info().is(Flags::gds);
        }
        at = end;
    }
    steps
}

/// Returns whether instructions are omitted from the lowered program.
fn has_no_micro(op: Op) -> bool {
    matches!(op, Op::s_waitcnt | Op::s_nop | Op::s_setprio)
}

/// Returns whether an `s_waitcnt` waits for all memory accesses: its vmcnt, in bits 15:14 and 3:0, is zero.
fn waits_for_memory(inst: &Inst) -> bool {
    matches!(inst.src[0], Operand::Imm(n) if n & 0xc00f == 0)
}
