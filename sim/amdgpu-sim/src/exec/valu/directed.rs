//! Operations whose result depends on the rounding mode.

use super::preparation::Kind;

/// The formula of a lane's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Formula {
    Add,
    Sub,
    SubReversed,
    Mul,
    MulLegacy,
    Fma,
    /// The product is rounded too; in single precision, denormals are flushed in every step.
    Mad,
    MadLegacy,
    Ldexp,
    /// A conversion of a float.
    Convert,
    FromSigned,
    FromUnsigned,
    /// `fma` with the scaling of a division undone if VCC is set.
    Fmas,
    Dot2,
    /// Rounded to single first, then to half.
    MixHalf,
}

/// An operation in a rounding mode.
#[derive(Clone, Copy, Debug)]
pub(in crate::exec) struct Directed {
    pub(super) formula: Formula,
    pub(super) kind: Kind,
    /// Kinds of the sources, which determine how they are read.
    pub(super) sources: [Kind; 3],
}
