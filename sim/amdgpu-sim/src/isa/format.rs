//! The encodings of instructions.

/// The encoding that an instruction word was found in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// Scalar ALU, two sources.
    Sop2,
    /// Scalar ALU, one source.
    Sop1,
    /// Scalar ALU, 16-bit signed constant.
    Sopk,
    /// Scalar compare, result in SCC.
    Sopc,
    /// Scalar program control.
    Sopp,
    /// Scalar memory.
    Smem,
    /// Vector ALU, two sources, 32-bit encoding (`_e32`).
    Vop2,
    /// Vector ALU, one source, 32-bit encoding.
    Vop1,
    /// Vector compare, 32-bit encoding.
    Vopc,
    /// Vector ALU, 64-bit encoding with modifiers (`_e64` of a VOP1, VOP2 or VOPC, or a VOP3-only instruction).
    Vop3,
    /// VOP3 with a scalar destination beside the vector one (carry out).
    Vop3b,
    /// Packed math, dot products and MFMA.
    Vop3p,
    /// A VOP1, VOP2 or VOPC with sub-dword addressing.
    Sdwa,
    /// A VOP1 or VOP2 with data parallel primitives.
    Dpp,
    /// Local data share.
    Ds,
    /// Generic (flat) addresses.
    Flat,
    /// Global addresses.
    Global,
    /// Scratch (private) addresses.
    Scratch,
    /// Untyped buffer.
    Mubuf,
    /// Typed buffer.
    Mtbuf,
    /// Image.
    Mimg,
    /// Interpolation.
    Vintrp,
    /// Export.
    Exp,
}
