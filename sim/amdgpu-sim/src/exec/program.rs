//! Lowered programs.

use std::collections::BTreeMap;

use super::{Ctx, Flow, Mode, Wave};
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

/// The start of the rows of each kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// The number of vector registers, including the reach of wide operands.
    pub(super) vgprs: u16,
    /// The same for accumulation registers.
    pub(super) agprs: u16,
    /// Broadcast constants.
    pub(super) constants: u16,
}

/// Rows for prepared operands: two for each of four sources.
pub(super) const PREPARED_ROWS: u16 = 8;

impl Layout {
    /// The vector registers in granules of 8.
    pub(crate) fn vgpr_granules(&self) -> u16 {
        self.vgprs.div_ceil(8).max(1)
    }

    /// The row of `v[n]`.
    pub(crate) fn vgpr(&self, n: u16) -> u16 {
        n
    }

    /// The row of `a[n]`.
    pub(crate) fn agpr(&self, n: u16) -> u16 {
        self.vgprs + n
    }

    /// The first of two rows for the prepared source `i`.
    pub(super) fn prepared(&self, i: usize) -> u16 {
        self.vgprs + self.agprs + 2 * i as u16
    }

    /// The row of the broadcast constant `i`.
    pub(super) fn constant_row(&self, i: u16) -> u16 {
        self.vgprs + self.agprs + PREPARED_ROWS + i
    }

    /// The first of the two last rows, which hold a result that is not written directly to its destination.
    pub(super) fn result(&self) -> u16 {
        self.constant_row(self.constants)
    }

    /// The number of rows of a wave.
    #[inline]
    pub(crate) fn rows(&self) -> usize {
        usize::from(self.result()) + 2
    }
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
    pub(super) allocation: super::allocation::Allocation,
    pub(super) layout: Layout,
    /// Scalar constants, from slot [`slot::CONSTANTS`](super::slot::CONSTANTS) on.
    pub(super) constants: Vec<u32>,
    /// Values of the broadcast constant rows.
    pub(super) constant_rows: Vec<u32>,
    /// The address of the first word of the text.
    pub(super) text_address: u64,
    /// Preparations and processing of vector operations. `Micro::pre` and `post` hold index + 1.
    pub(super) prepares: Vec<super::valu::Prepare>,
    /// Handlers that depend on MODE, for `Micro::aux`.
    pub(super) choices: Vec<super::valu::Choice>,
    /// Operations with indexed registers.
    pub(super) indexed: Vec<super::indexed::Indexed>,
    /// Vector operations of code that can have them skipped.
    pub(super) skipped: Vec<Micro>,
    /// The single-instruction micro-operations at positions where `micros` has one for several instructions, or one
    /// that leaves runs.
    pub(super) singles: BTreeMap<u32, Micro>,
    /// The lowered vector operations at positions where `micros` has one that works on runs or settles them.
    pub(super) eager: Vec<super::affine::Eager>,
    /// Whether `v0` may be held as a run when a wave starts.
    pub(super) starts_held: bool,
    /// The number of scalar registers, from the first on, that the code may use.
    pub(super) scalars: usize,
    /// Rows to clear before a workgroup; `None` for all of them.
    pub(super) clear: Option<super::liveness::Clear>,
    /// The parts that are lowered on demand; `None` for code that is lowered completely.
    pub(super) parts: Option<Box<super::parts::Parts>>,
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
