//! From opcode numbers to instructions.

use crate::isa::{Arch, Flags, Format, Op};
use std::sync::LazyLock;

const FORMATS: usize = Format::Exp as usize + 1;
const OPCODES: usize = 1024;

/// Opcode of `v_xxx_e64` for opcode 0 of the 32-bit encoding.
const VOP2_IN_VOP3: u32 = 0x100;
const VOP1_IN_VOP3: u32 = 0x140;
const VOP3_ONLY: u32 = 0x1c0;

static TABLE: LazyLock<Vec<Option<Op>>> = LazyLock::new(|| {
    let mut table = vec![None; FORMATS * Arch::ALL.len() * OPCODES];
    for &op in Op::ALL {
        let info = op.info();
        for (arch, code) in Arch::ALL.into_iter().zip(info.opcode) {
            let Some(code) = code else { continue };
            let at = index(info.format, arch, u32::from(code));
            debug_assert!(table[at].is_none(), "{op} has the opcode of {:?}", table[at]);
            table[at] = Some(op);
            if let Some(e64) = e64_opcode(info.format, u32::from(code)).filter(|_| !info.is(Flags::no_e64)) {
                table[index(Format::Vop3, arch, e64)] = Some(op);
            }
        }
    }
    table
});

fn e64_opcode(format: Format, code: u32) -> Option<u32> {
    match format {
        Format::Vopc => Some(code),
        Format::Vop2 => Some(VOP2_IN_VOP3 + code),
        Format::Vop1 if VOP1_IN_VOP3 + code < VOP3_ONLY => Some(VOP1_IN_VOP3 + code),
        _ => None,
    }
}

fn index(format: Format, arch: Arch, opcode: u32) -> usize {
    (format as usize * Arch::ALL.len() + arch as usize) * OPCODES + opcode as usize
}

/// The instruction with this opcode in this encoding ([`Format::Vop3`] holds the e64 forms too).
pub(super) fn lookup(format: Format, arch: Arch, opcode: u32) -> Option<Op> {
    TABLE[index(format, arch, opcode)]
}
