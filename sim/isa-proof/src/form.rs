//! Forms: instructions without the parts that do not affect decoding, printing and execution.

use amdgpu_sim::isa::inst::{Format, InlineFloat, Inst, Mods, Operand};

/// An operand without its register number or value.
fn shape(operand: Operand) -> Operand {
    match operand {
        Operand::Vgpr(_) => Operand::Vgpr(8),
        Operand::Agpr(_) => Operand::Agpr(8),
        Operand::Sgpr(_) => Operand::Sgpr(8),
        Operand::Ttmp(_) => Operand::Ttmp(0),
        Operand::Int(_) => Operand::Int(1),
        Operand::Float(_) => Operand::Float(InlineFloat::One),
        Operand::Literal(_) => Operand::Literal(0x1234),
        other => other,
    }
}

/// The form of an instruction: opcode, encoding, kind of each operand, modifiers. Immediates are part of it if they
/// select an operation (hardware registers, messages), but not if they are a distance or a number of cycles.
#[must_use]
pub fn form(inst: &Inst) -> Inst {
    let chooses = matches!(inst.format, Format::Sopk) || inst.op.mnemonic().starts_with("s_sendmsg");
    let source = |operand| match operand {
        Operand::Imm(_) if !chooses => Operand::Imm(0),
        other => shape(other),
    };
    Inst {
        dst: shape(inst.dst),
        dst2: shape(inst.dst2),
        src: inst.src.map(source),
        mods: Mods { offset: 0, offset1: 0, ..inst.mods },
        ..*inst
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use amdgpu_sim::Arch;
    use amdgpu_sim::isa::decode;

    fn of(words: [u32; 2]) -> Inst {
        form(&decode(&words, Arch::Gfx90a).unwrap())
    }

    #[test]
    fn numbers_do_not_matter_and_kinds_do() {
        // v_add_f32 v1, v1, v2 and v3, v4, v5; v1, s1, v2.
        assert_eq!(of([0x0202_0501, 0]), of([0x0206_0b04, 0]));
        assert_ne!(of([0x0202_0501, 0]), of([0x0202_0401, 0]));
        // s_branch 1 and 2; s_waitcnt of anything; s_sendmsg 1 and 2.
        assert_eq!(of([0xbf82_0001, 0]), of([0xbf82_0002, 0]));
        assert_eq!(of([0xbf8c_0f70, 0]), of([0xbf8c_0000, 0]));
        assert_ne!(of([0xbf90_0001, 0]), of([0xbf90_0002, 0]));
        // global_load_dword with other registers and offset, and with glc.
        assert_eq!(of([0xdc50_8000, 0x007f_0002]), of([0xdc50_8010, 0x057f_0004]));
        assert_ne!(of([0xdc50_8000, 0x007f_0002]), of([0xdc51_8000, 0x007f_0002]));
    }
}
