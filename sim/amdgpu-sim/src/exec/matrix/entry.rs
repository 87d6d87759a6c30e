//! The implementations of instructions, and the fields of their micro-operations.

use crate::exec::Handler;

/// The values that an instruction permits in its three modifier fields.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Allows {
    /// `cbsz` and `abid` broadcast a block of A.
    pub(super) broadcast: bool,
    /// `cbsz` and `abid` choose the indices of a sparse A.
    pub(super) index: bool,
    /// `blgp` moves lanes of B.
    pub(super) lanes: bool,
    /// `blgp` negates operands.
    pub(super) negate: bool,
}

/// The implementation of an instruction.
pub(super) struct Entry {
    pub(super) run: Handler,
    /// Registers of C and D.
    pub(super) registers: u16,
    /// Elements of A in a lane, as log2.
    pub(super) share: u8,
    /// Rows of A, as log2.
    pub(super) size: u8,
    /// Blocks, as log2.
    pub(super) blocks: u8,
    pub(super) allows: Allows,
}

/// The modifiers and the form of C, packed into `Micro::aux`.
#[derive(Clone, Copy)]
pub(super) struct Fields {
    pub(super) cbsz: u8,
    pub(super) abid: u8,
    pub(super) blgp: u8,
    /// C is the constant in `Micro::pre` and, for a double, `Micro::post`.
    pub(super) constant: bool,
    /// C and D are different registers.
    pub(super) apart: bool,
    pub(super) registers: u16,
    pub(super) size: u8,
    pub(super) blocks: u8,
    pub(super) share: u8,
}

impl Fields {
    pub(super) fn pack(self) -> u32 {
        u32::from(self.cbsz)
            | u32::from(self.abid) << 3
            | u32::from(self.blgp) << 7
            | u32::from(self.constant) << 10
            | u32::from(self.apart) << 11
            | u32::from(self.registers) << 12
            | u32::from(self.size) << 20
            | u32::from(self.blocks) << 24
            | u32::from(self.share) << 28
    }

    #[inline(always)]
    pub(super) fn unpack(bits: u32) -> Self {
        Fields {
            cbsz: (bits & 7) as u8,
            abid: (bits >> 3 & 15) as u8,
            blgp: (bits >> 7 & 7) as u8,
            constant: bits >> 10 & 1 != 0,
            apart: bits >> 11 & 1 != 0,
            registers: (bits >> 12 & 0xff) as u16,
            size: (bits >> 20 & 15) as u8,
            blocks: (bits >> 24 & 15) as u8,
            share: (bits >> 28 & 15) as u8,
        }
    }
}
