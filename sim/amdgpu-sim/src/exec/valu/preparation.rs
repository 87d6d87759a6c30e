//! The preparation of operands and the processing of results, as lowering determines them.

use crate::isa::inst::{Dpp, SdwaSel, SdwaUnused};

/// How an operand is read and modified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// 32 bits.
    B32,
    /// Single precision.
    F32,
    /// The low 16 bits of a register.
    B16,
    /// Half precision.
    F16,
    /// 64 bits, literals zero-extended.
    U64,
    /// 64 bits, literals sign-extended.
    I64,
    /// Double precision.
    F64,
    /// Two 16-bit integers.
    P16,
    /// Two halves.
    PF16,
    /// Two singles, in two registers.
    PF32,
    /// Single or half, chosen by `op_sel_hi`; the operation sees single.
    Mix,
}

impl Kind {
    /// Whether it takes two registers.
    pub(super) fn wide(self) -> bool {
        matches!(self, Kind::U64 | Kind::I64 | Kind::F64 | Kind::PF32)
    }

    /// Whether it takes the low half of a register.
    pub(super) fn half(self) -> bool {
        matches!(self, Kind::B16 | Kind::F16)
    }
}

/// The origin of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    /// Its row is used directly.
    Direct,
    /// A row.
    Row(u16),
    /// A slot, the same value for all lanes.
    Slot(u16),
}

/// The preparation of one source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    pub(super) from: From,
    /// The first of two rows for the result.
    pub(super) to: u16,
    pub(super) kind: Kind,
    /// Whether any of the following applies.
    pub(super) modified: bool,
    /// SDWA's part, and whether it is sign-extended.
    pub(super) part: Option<(SdwaSel, bool)>,
    /// `op_sel` and `op_sel_hi`.
    pub(super) select: (bool, bool),
    pub(super) abs: bool,
    /// Negation of the value (for packed ones, of the low half) and of the high half.
    pub(super) neg: (bool, bool),
    pub(super) flush: bool,
}

/// The processing of a result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Result {
    pub(super) kind: Kind,
    pub(super) omod: u8,
    pub(super) clamp: bool,
    pub(super) flush: bool,
    /// SDWA's part, and the treatment of the other bits.
    pub(super) part: Option<(SdwaSel, SdwaUnused)>,
    /// The result is the high half (true) or the low half (false) of the register, whose other half is kept.
    pub(super) half: Option<bool>,
}

/// The preparation and the processing of one micro-operation.
#[derive(Clone, Debug)]
pub(in crate::exec) struct Prepare {
    pub(super) sources: Vec<Source>,
    /// If the only preparation is to broadcast one slot: the row and the slot.
    pub(super) broadcast: Option<(u16, u16)>,
    pub(super) dpp: Option<Dpp>,
    pub(super) result: Option<Result>,
}

impl Prepare {
    /// The preparation of `sources`.
    pub(super) fn new(sources: Vec<Source>, dpp: Option<Dpp>) -> Prepare {
        let broadcast = match (&sources[..], dpp) {
            ([one], None) if !one.modified && !one.kind.wide() => match one.from {
                From::Slot(slot) => Some((one.to, slot)),
                _ => None,
            },
            _ => None,
        };
        Prepare { sources, broadcast, dpp, result: None }
    }
}
