//! How execution continues after an instruction.

/// How execution continues after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Flow {
    /// With the next instruction.
    Next,
    /// After the [`Micro::aux`](super::Micro::aux) instructions that this one replaces.
    Skip,
    /// At [`Wave::pc`](super::Wave::pc).
    Jump,
    /// At [`Wave::pc`](super::Wave::pc) of another program: that of [`Ctx`](super::Ctx) has changed.
    Elsewhere,
    /// After every wave of the workgroup has reached the barrier.
    Barrier,
    /// Later: the wave yields to others.
    Yield,
    /// Not at all: the wave has ended.
    End,
    /// Not at all: [`Wave::trap`](super::Wave::trap) holds the reason.
    Trap,
}
