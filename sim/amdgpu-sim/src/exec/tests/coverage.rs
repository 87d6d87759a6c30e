//! Which instructions are carried out, and which trap.

use super::*;
use crate::isa::{Kind, Type};
#[test]
fn list() {
    for op in Op::ALL.iter().copied() {
        let info = op.info();
        if let Some(why) = reason(op) { println!("{:?} {} [{}{}] {}", info.format, op, u8::from(info.opcode[0].is_some()), u8::from(info.opcode[1].is_some()), why); }
    }
}
/// An operand of a type, as its place in the encoding would hold it.
fn operand(ty: Type, register: u16, format: Format) -> Operand {
    let scalar = matches!(
        format,
        Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp | Format::Smem
    );
    match ty.kind() {
        Kind::None => Operand::None,
        Kind::Immediate => imm(0),
        Kind::Mask => s(20),
        _ if scalar => s(register),
        _ => v(register),
    }
}

/// Why an instruction is not carried out, if it isn't. No lane is enabled, so that no address matters.
fn reason(op: Op) -> Option<&'static str> {
    let info = op.info();
    let mut sources: Vec<Operand> = (0..4).map(|i| operand(info.src[i], 8 + 8 * i as u16, info.format)).collect();
    match info.format {
        Format::Mubuf | Format::Mtbuf => {
            sources[2] = s(24);
            sources[3] = s(28);
        }
        Format::Global | Format::Scratch => sources[2] = Operand::None,
        Format::Smem => sources[1] = imm(0),
        _ => {}
    }
    if matches!(op, Op::v_readlane_b32 | Op::v_writelane_b32) {
        sources[1] = s(8);
    }
    if op == Op::v_writelane_b32 {
        sources[0] = s(4);
    }
    let scalar = info.is(crate::isa::Flags::scalar_dst);
    let dst = if scalar { s(0) } else { operand(info.dst, 0, info.format) };
    let code = Inst { dst2: operand(info.dst2, 30, info.format), ..inst(op, dst, &sources) };
    let (wave, stop) = execute(&[code], DEFAULT_MODE, cpu::has_avx2(), &|w| w.set_exec(0));
    match wave.trap {
        Some(Trap::Unsupported(why)) if stop == Stop::Trap => Some(why),
        _ => None,
    }
}
