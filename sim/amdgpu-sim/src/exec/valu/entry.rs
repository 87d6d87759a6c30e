//! Operations and the kinds of their operands.

use super::preparation::Kind;
use crate::exec::Handler;

/// An operation, its operand kinds and its handler.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) run: Handler,
    pub(super) src: &'static [Kind],
    pub(super) dst: Place,
    /// The use of `src[2]` beyond the vector sources, or of the carry.
    pub(super) mask: Mask,
}

/// The destination of the result.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A vector register of this kind.
    Vector(Kind),
    /// A mask of lanes in two scalar registers.
    Mask,
    /// No destination.
    Nothing,
}

/// Scalar register pairs with one bit per lane that an operation has in addition to its vector operands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mask {
    None,
    /// Written: the second destination.
    Out,
    /// Read: the source after the vector ones.
    In,
    /// Both.
    InOut,
    /// Read, always VCC.
    Vcc,
}
