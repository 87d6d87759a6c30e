//! The state of lowering: the rows and slots of a program's operands.

use std::collections::HashMap;

use super::constant::{Wide, constant32, constant64};
use super::layout::Layout;
use super::program::Choice;
use super::valu::Prepare;
use super::{Mode, slot};
use crate::isa::inst::{Operand, Special};

/// The maximum number of constants with a row of their own. Further ones are broadcast on use.
pub(super) const MAX_CONSTANT_ROWS: usize = 48;

/// The state of lowering.
pub(crate) struct Lowering {
    layout: Layout,
    pub(super) constants: Vec<u32>,
    singles: HashMap<u32, u16>,
    pairs: HashMap<u64, u16>,
    pub(super) constant_rows: Vec<u32>,
    pub(super) prepares: Vec<Prepare>,
    pub(super) choices: Vec<Choice>,
    single_rows: HashMap<u32, u16>,
    pair_rows: HashMap<u64, u16>,
    /// Handlers for AVX2, FMA and F16C may be used.
    pub(crate) avx2: bool,
    /// The kernel's MODE may flush denormals: float operations must check it.
    pub(super) flush: bool,
    /// MODE may select another rounding than to nearest even, or limit half-precision overflow.
    pub(super) rounds: bool,
    /// The code can change MODE's IEEE bit.
    pub(super) changes_ieee: bool,
    /// The initial MODE of the kernel.
    pub(super) mode: Mode,
}

impl Lowering {
    /// Creates the state. `changes` are the bits of MODE that the code can change.
    pub(super) fn new(layout: Layout, mode: Mode, changes: u32, avx2: bool) -> Lowering {
        let flush = changes & 0xf0 != 0 || mode.flushes_f32() || mode.flushes_f64();
        Lowering {
            layout,
            constants: Vec::new(),
            singles: HashMap::new(),
            pairs: HashMap::new(),
            constant_rows: Vec::new(),
            prepares: Vec::new(),
            choices: Vec::new(),
            single_rows: HashMap::new(),
            pair_rows: HashMap::new(),
            avx2,
            flush,
            rounds: changes & Mode::ROUNDING != 0 || mode.0 & Mode::ROUNDING != 0,
            changes_ieee: changes & Mode::IEEE != 0,
            mode,
        }
    }

    /// The row of a vector operand (`Vgpr` or `Agpr`); for wide operands the first of them.
    pub(crate) fn row(&self, operand: Operand) -> Option<u16> {
        match operand {
            Operand::Vgpr(n) if n < 256 => Some(self.layout.vgpr(n)),
            Operand::Agpr(n) if n < 256 => Some(self.layout.agpr(n)),
            _ => None,
        }
    }

    /// The number of vector registers, whose rows come first.
    pub(super) fn vgprs(&self) -> u16 {
        self.layout.vgprs
    }

    /// The slot of a 32-bit scalar operand: a register, or a constant (floats as f32, immediates sign-extended).
    pub(crate) fn slot(&mut self, operand: Operand) -> Option<u16> {
        if let Some(slot) = register_slot(operand) {
            return Some(slot);
        }
        let bits = constant32(operand)?;
        if let Some(slot) = self.singles.get(&bits) {
            return Some(*slot);
        }
        let slot = self.push_constant(&[bits])?;
        self.singles.insert(bits, slot);
        Some(slot)
    }

    /// The first of the two slots of a 64-bit scalar operand: a register pair or a constant.
    pub(crate) fn slot64(&mut self, operand: Operand, wide: Wide) -> Option<u16> {
        let special = match operand {
            Operand::Special(Special::SharedBase) => Some(slot::SHARED_BASE),
            Operand::Special(Special::SharedLimit) => Some(slot::SHARED_LIMIT),
            Operand::Special(Special::PrivateBase) => Some(slot::PRIVATE_BASE),
            Operand::Special(Special::PrivateLimit) => Some(slot::PRIVATE_LIMIT),
            Operand::Special(Special::PopsExitingWaveId) => Some(slot::POPS),
            // The encoding after these is something else, so they have no high half.
            Operand::Special(Special::Scc | Special::Vccz | Special::Execz) => return None,
            other => register_slot(other),
        };
        if special.is_some() {
            return special;
        }
        self.constant_slots(constant64(operand, wide)?)
    }

    /// The first of two slots that hold `bits`, low half first.
    pub(super) fn constant_slots(&mut self, bits: u64) -> Option<u16> {
        if let Some(slot) = self.pairs.get(&bits) {
            return Some(*slot);
        }
        let slot = self.push_constant(&[bits as u32, (bits >> 32) as u32])?;
        self.pairs.insert(bits, slot);
        Some(slot)
    }

    fn push_constant(&mut self, words: &[u32]) -> Option<u16> {
        let slot = usize::from(slot::CONSTANTS) + self.constants.len();
        // Leaves room, so that an access a few slots further cannot wrap.
        let slot = u16::try_from(slot).ok().filter(|s| *s < u16::MAX - 64)?;
        self.constants.extend_from_slice(words);
        Some(slot)
    }

    /// The row that holds `bits` in every lane, if there is still room for one.
    pub(super) fn constant_row(&mut self, bits: u32) -> Option<u16> {
        if let Some(row) = self.single_rows.get(&bits) {
            return Some(*row);
        }
        if self.constant_rows.len() >= MAX_CONSTANT_ROWS {
            return None;
        }
        let row = self.layout.constant_row(self.constant_rows.len() as u16);
        self.constant_rows.push(bits);
        self.single_rows.insert(bits, row);
        Some(row)
    }

    /// The first of two rows that hold `bits` in every lane, low half first.
    pub(super) fn constant_row_pair(&mut self, bits: u64) -> Option<u16> {
        if let Some(row) = self.pair_rows.get(&bits) {
            return Some(*row);
        }
        if self.constant_rows.len() + 1 >= MAX_CONSTANT_ROWS {
            return None;
        }
        let row = self.layout.constant_row(self.constant_rows.len() as u16);
        self.constant_rows.extend([bits as u32, (bits >> 32) as u32]);
        self.pair_rows.insert(bits, row);
        Some(row)
    }

    /// The first of the two rows for the prepared source `i`.
    pub(super) fn prepared(&self, i: usize) -> u16 {
        self.layout.prepared(i)
    }

    /// Registers a vector operation's preparation. Returns the value for `Micro::pre` or `post`.
    pub(super) fn push_prepare(&mut self, prepare: Prepare) -> Option<u32> {
        self.prepares.push(prepare);
        u32::try_from(self.prepares.len()).ok()
    }

    /// Registers handlers that depend on MODE. Returns the value for `Micro::aux`.
    pub(super) fn push_choice(&mut self, choice: Choice) -> Option<u32> {
        self.choices.push(choice);
        u32::try_from(self.choices.len() - 1).ok()
    }
}

/// The slot of a scalar register.
fn register_slot(operand: Operand) -> Option<u16> {
    match operand {
        Operand::Sgpr(n) if n < 102 => Some(n),
        Operand::Ttmp(n) if n < 16 => Some(slot::TTMP + n),
        Operand::Special(special) => Some(match special {
            Special::FlatScratchLo => slot::FLAT_SCRATCH,
            Special::FlatScratchHi => slot::FLAT_SCRATCH + 1,
            Special::XnackMaskLo => slot::XNACK_MASK,
            Special::XnackMaskHi => slot::XNACK_MASK + 1,
            Special::VccLo => slot::VCC,
            Special::VccHi => slot::VCC + 1,
            Special::M0 => slot::M0,
            Special::ExecLo => slot::EXEC,
            Special::ExecHi => slot::EXEC + 1,
            Special::SharedBase => slot::SHARED_BASE,
            Special::SharedLimit => slot::SHARED_LIMIT,
            Special::PrivateBase => slot::PRIVATE_BASE,
            Special::PrivateLimit => slot::PRIVATE_LIMIT,
            Special::PopsExitingWaveId => slot::POPS,
            Special::Vccz => slot::VCCZ,
            Special::Execz => slot::EXECZ,
            Special::Scc => slot::SCC,
            Special::LdsDirect => return None,
        }),
        _ => None,
    }
}
