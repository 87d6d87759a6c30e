//! Why a wave stopped that should not have.

/// Why a wave stopped that should not have. The scheduler adds kernel, instruction, workgroup and wave to it.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::enum_variant_names, reason = "`s_trap` is called so")]
pub(crate) enum Trap {
    /// The instruction is known, but this GPU does not carry it out (in this form).
    Unsupported(&'static str),
    /// The instruction names a register that the kernel does not have.
    StrayRegister(crate::fault::StrayRegister),
    /// The word is no instruction.
    Undecodable(u32),
    /// Control left the code: a jump to this address, or past the end of the text.
    WildJump(u64),
    /// `s_trap` with this number.
    Trap(u32),
    /// An access to memory failed.
    Memory(Box<super::mem::AccessFault>),
}
