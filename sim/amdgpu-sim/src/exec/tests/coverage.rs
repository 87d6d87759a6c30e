//! Which instructions of gfx90a are carried out, and which trap.

use super::*;
use crate::isa::{Kind, Type};

/// An operand of a type, as its place in the encoding would hold it.
fn operand(ty: Type, register: u16, format: Format) -> Operand {
    match ty.kind() {
        Kind::None => Operand::None,
        Kind::Immediate => imm(0),
        Kind::Mask => s(20),
        _ if matches!(format, Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp) => s(register),
        _ => v(register),
    }
}

/// What traps when it is reached: what compilers don't emit for compute kernels.
const TRAPS: &[&str] = &[
    "s_cbranch_g_fork",
    "s_cbranch_i_fork",
    "s_cbranch_join",
    "s_endpgm_ordered_ps_done",
    "s_rfe_b64",
    "s_rfe_restore_b64",
    "s_sendmsghalt",
    "s_sethalt",
    "s_setkill",
    "s_setvskip",
    "v_cubeid_f32",
    "v_cubema_f32",
    "v_cubesc_f32",
    "v_cubetc_f32",
    "v_mqsad_pk_u16_u8",
    "v_mqsad_u32_u8",
    "v_qsad_pk_u16_u8",
    "v_screen_partition_4se_b32",
];

#[test]
fn every_arithmetic_instruction_is_carried_out_or_listed() {
    let mut trapping = Vec::new();
    for op in Op::ALL.iter().copied() {
        let info = op.info();
        let arithmetic = matches!(
            info.format,
            Format::Sop1
                | Format::Sop2
                | Format::Sopc
                | Format::Sopk
                | Format::Sopp
                | Format::Vop1
                | Format::Vop2
                | Format::Vop3
                | Format::Vop3b
                | Format::Vop3p
                | Format::Vopc
        );
        if !arithmetic || info.opcode[0].is_none() {
            continue;
        }
        let mut sources: Vec<Operand> = (0..4).map(|i| operand(info.src[i], 4 + 4 * i as u16, info.format)).collect();
        if matches!(op, Op::v_readlane_b32 | Op::v_writelane_b32) {
            sources[1] = s(8);
        }
        if op == Op::v_writelane_b32 {
            sources[0] = s(4);
        }
        let scalar = info.is(crate::isa::Flags::scalar_dst);
        let dst = if scalar { s(0) } else { operand(info.dst, 0, info.format) };
        let code = Inst { dst2: operand(info.dst2, 30, info.format), ..inst(op, dst, &sources) };
        let (wave, stop) = execute(&[code], DEFAULT_MODE, cpu::has_avx2(), &|_| ());
        if stop == Stop::Trap && matches!(wave.trap, Some(Trap::Unsupported(why)) if why.contains("does not carry")) {
            trapping.push(op.mnemonic());
        }
    }
    trapping.sort_unstable();
    assert_eq!(trapping, TRAPS);
}
