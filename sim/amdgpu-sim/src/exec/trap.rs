//! The reasons for abnormal stops of waves.

use super::mem::AccessFault;
use crate::fault::StrayRegister;

/// Why a wave stopped abnormally. The scheduler adds the kernel, instruction, workgroup and wave.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::enum_variant_names, reason = "`s_trap` is called so")]
pub(crate) enum Trap {
    /// The instruction is known, but not supported (in this form).
    Unsupported(&'static str),
    /// The instruction uses a register that the kernel does not have.
    StrayRegister(StrayRegister),
    /// The word is not an instruction.
    Undecodable(u32),
    /// Control left the code: a jump to this address, or past the end of the text.
    WildJump(u64),
    /// `s_trap` with this number.
    Trap(u32),
    /// A memory access failed.
    Memory(Box<AccessFault>),
}
