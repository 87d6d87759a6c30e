//! Lowered programs.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock};

use super::allocation::{Allocation, Resources};
use super::flow::Flow;
use super::layout::{Clear, Layout};
use super::mem::Env;
use super::valu::{Directed, Prepare};
use super::wave::{Mode, Wave, slot};
use crate::isa::Arch;
use crate::isa::inst::Inst;

/// The function that executes an instruction.
pub(crate) type Handler = unsafe fn(&mut Wave, &Micro, &mut Ctx<'_>) -> Flow;

/// A lowered instruction: see the [module](super) for the contract.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Micro {
    /// The handler.
    pub(crate) run: Handler,
    /// Destination: a row (vector) or slot (scalar).
    pub(crate) dst: u16,
    /// Second destination: a slot.
    pub(crate) dst2: u16,
    /// Sources: rows or slots.
    pub(crate) src: [u16; 4],
    /// The preparation of vector sources before the operation; see `valu::prepare`.
    pub(super) pre: u32,
    /// The processing of a vector result after the operation; see `valu::finish`.
    pub(super) post: u32,
    /// Branch target (index of a micro-operation), literal, or data of the handler.
    pub(crate) aux: u32,
    /// Index of its source: [`Program::source`].
    pub(super) source: u32,
}

/// A micro-operation without operands.
pub(super) fn plain(run: Handler, source: u32) -> Micro {
    Micro { run, dst: slot::SINK, dst2: slot::SINK, src: [slot::SINK; 4], pre: 0, post: 0, aux: 0, source }
}

/// The state that a handler may access besides its wave.
pub(crate) struct Ctx<'a> {
    /// The kernel.
    pub(crate) root: &'a Program,
    /// The program being run: the kernel, or the part of its code that the wave is in.
    pub(crate) program: &'a Program,
    /// The workgroup's LDS, as large as the kernel requires (static and dynamic).
    pub(crate) lds: &'a mut [u8],
    /// Device memory and properties of the dispatch.
    pub(crate) env: Env<'a>,
}

/// The source of a micro-operation.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// The address of the instruction.
    pub(crate) address: u64,
    /// Its first word.
    pub(crate) word: u32,
    /// The decoded instruction, if the word is one.
    pub(crate) inst: Option<Inst>,
}

/// A handler that depends on the MODE when the instruction is reached.
#[derive(Clone, Copy, Debug)]
pub(super) enum Choice {
    /// The handler for rounding to nearest, and the operation for other modes.
    Rounding { nearest: Handler, directed: Directed },
    /// The handlers with and without IEEE mode.
    Ieee { on: Handler, off: Handler },
}

/// An operation on [registers to which the index is added](super::indexed).
#[derive(Clone, Copy, Debug)]
pub(super) struct Indexed {
    pub(super) micro: Micro,
    /// Bit i for `src[i]`, bit 3 for the destination.
    pub(super) which: u32,
    /// The mode that earlier code has set: bits 15:12 of `m0`.
    pub(super) mode: u32,
    /// The number of registers of each operand.
    pub(super) counts: [u16; 4],
}

/// A lowered instruction, and the rows that must be settled before it runs.
#[derive(Clone, Debug)]
pub(super) struct Eager {
    pub(super) micro: Micro,
    pub(super) rows: Vec<Named>,
}

/// A row that an instruction uses and that may be held before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named {
    pub(super) row: u16,
    /// It is not read, and is written in all enabled lanes.
    pub(super) overwritten: bool,
}

/// The common properties of all parts of code that is lowered in parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Common {
    /// Vector and accumulation registers.
    pub(super) registers: (u16, u16),
    /// The bits of MODE that any part can change.
    pub(super) changes: u32,
    /// Any part can skip vector operations.
    pub(super) skips: bool,
}

/// The [parts](super::parts) of a kernel's code that exist so far.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) text: Vec<u32>,
    pub(super) text_address: u64,
    pub(super) resources: Resources,
    pub(super) arch: Arch,
    pub(super) common: Common,
    /// The first part, which links to the next one and so on: parts never move.
    pub(super) first: Link,
    /// Held while a part is lowered.
    pub(super) making: Mutex<()>,
}

pub(super) type Link = OnceLock<Box<Part>>;

#[derive(Debug)]
pub(super) struct Part {
    pub(super) program: Program,
    pub(super) next: Link,
}

/// A lowered kernel: created once, shared by all waves of all dispatches.
#[derive(Debug)]
pub(crate) struct Program {
    pub(super) micros: Vec<Micro>,
    pub(super) sources: Vec<Source>,
    pub(super) entry: u32,
    pub(super) mode: Mode,
    /// The processor that it is executed for.
    pub(super) arch: Arch,
    /// The allocated registers.
    pub(super) allocation: Allocation,
    pub(super) layout: Layout,
    /// Scalar constants, from slot [`slot::CONSTANTS`] on.
    pub(super) constants: Vec<u32>,
    /// Values of the broadcast constant rows.
    pub(super) constant_rows: Vec<u32>,
    /// The address of the first word of the text.
    pub(super) text_address: u64,
    /// Preparations and processing of vector operations. `Micro::pre` and `post` hold index + 1.
    pub(super) prepares: Vec<Prepare>,
    /// Handlers that depend on MODE, for `Micro::aux`.
    pub(super) choices: Vec<Choice>,
    /// Operations with indexed registers.
    pub(super) indexed: Vec<Indexed>,
    /// Vector operations of code that can have them skipped.
    pub(super) skipped: Vec<Micro>,
    /// The single-instruction micro-operations at positions where `micros` has one for several instructions, or one
    /// that leaves runs.
    pub(super) singles: BTreeMap<u32, Micro>,
    /// The lowered vector operations at positions where `micros` has one that works on runs or settles them.
    pub(super) eager: Vec<Eager>,
    /// Whether `v0` may be held as a run when a wave starts.
    pub(super) starts_held: bool,
    /// The number of scalar registers, from the first on, that the code may use.
    pub(super) scalars: usize,
    /// Rows to clear before a workgroup; `None` for all of them.
    pub(super) clear: Option<Clear>,
    /// The parts that are lowered on demand; `None` for code that is lowered completely.
    pub(super) parts: Option<Box<Parts>>,
    /// For every word of the text: the micro-operation of the instruction that starts there, or `u32::MAX`.
    pub(super) index: Vec<u32>,
}

impl Program {
    /// The micro-operations. The last one traps, so that control cannot run past the end.
    pub(crate) fn micros(&self) -> &[Micro] {
        &self.micros
    }

    /// The micro-operation at `pc` that executes only one instruction, on settled rows: [`micros`](Self::micros) may
    /// have one for several instructions, or one that leaves runs.
    #[inline]
    pub(crate) fn single(&self, pc: u32) -> Option<&Micro> {
        self.singles.get(&pc).or_else(|| self.micros.get(pc as usize))
    }

    /// The sources of the micro-operations, by address.
    pub(crate) fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The index in [`sources`](Self::sources) for the micro-operation at `pc`.
    pub(crate) fn source_number(&self, pc: usize) -> usize {
        self.micros[pc].source as usize
    }

    /// The part with this number; 0 is this program, the kernel.
    #[inline]
    pub(crate) fn part(&self, number: u32) -> &Program {
        self.parts.as_ref().and_then(|parts| parts.get(number)).unwrap_or(self)
    }

    /// The source of `m`.
    pub(crate) fn source(&self, m: &Micro) -> &Source {
        &self.sources[m.source as usize]
    }

    /// The source of the micro-operation at `pc`.
    #[inline]
    pub(crate) fn source_at(&self, pc: u32) -> &Source {
        self.source(&self.micros[(pc as usize).min(self.micros.len() - 1)])
    }

    /// The instruction that `m` was lowered from.
    pub(crate) fn inst(&self, m: &Micro) -> Option<&Inst> {
        self.source(m).inst.as_ref()
    }

    /// The micro-operation of the instruction at an address of the text.
    pub(crate) fn at(&self, address: u64) -> Option<u32> {
        let offset = address.checked_sub(self.text_address)?;
        if offset % 4 != 0 {
            return None;
        }
        let index = *self.index.get(usize::try_from(offset / 4).ok()?)?;
        (index != u32::MAX).then_some(index)
    }

    /// The first micro-operation to run.
    pub(crate) fn entry(&self) -> u32 {
        self.entry
    }

    /// The initial MODE of the kernel.
    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    /// The processor that it is executed for.
    pub(crate) fn arch(&self) -> Arch {
        self.arch
    }

    /// The row layout.
    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(super) fn constants(&self) -> &[u32] {
        &self.constants
    }

    pub(super) fn constant_rows(&self) -> &[u32] {
        &self.constant_rows
    }
}
