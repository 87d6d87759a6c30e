//! A case for each kind of field; `tests/llvm_agree.rs` covers all others.

use super::*;

fn read(words: &[u32]) -> Inst {
    decode(words, Arch::Gfx90a).unwrap_or_else(|error| panic!("{error}"))
}

fn text(words: &[u32]) -> String {
    read(words).to_string()
}

fn refused(words: &[u32]) -> String {
    decode(words, Arch::Gfx90a).expect_err("these words are no instruction").to_string()
}

#[test]
fn every_instruction_has_one_row_and_one_opcode() {
    let mut names = std::collections::HashSet::new();
    let mut opcodes = std::collections::HashSet::new();
    for &op in Op::ALL {
        let info = op.info();
        assert!(names.insert(info.mnemonic), "{op} has two rows");
        assert!(info.opcode.iter().any(Option::is_some), "{op} is on no architecture");
        for (arch, code) in Arch::ALL.into_iter().zip(info.opcode) {
            let Some(code) = code else { continue };
            assert!(opcodes.insert((info.format, arch, code)), "{op} has another instruction's opcode");
        }
    }
}

#[test]
fn operands_are_where_inst_says() {
    // v_madmk: the literal is between the sources, v_madak: after them.
    let madmk = read(&[0x17 << 25 | 8 << 17 | 16 << 9 | 257, 0x1234_5678]);
    assert_eq!(madmk.src[..3], [Operand::Vgpr(1), Operand::Literal(0x1234_5678), Operand::Vgpr(16)]);
    let madak = read(&[0x18 << 25 | 8 << 17 | 16 << 9 | 257, 0x1234_5678]);
    assert_eq!(madak.src[..3], [Operand::Vgpr(1), Operand::Vgpr(16), Operand::Literal(0x1234_5678)]);
    assert_eq!((madmk.size, madak.size), (8, 8));

    // In the short form, carry in and out are vcc.
    let addc = read(&[0x1c << 25 | 8 << 17 | 16 << 9 | 257]);
    let vcc = Operand::Special(Special::VccLo);
    assert_eq!((addc.dst2, addc.src[2]), (vcc, vcc));

    // A compare with a constant: the register is the second operand here.
    let cmpk = read(&[0xb << 28 | 2 << 23 | 8 << 16 | 0xffff]);
    assert_eq!((cmpk.dst, cmpk.src[0], cmpk.src[1]), (Operand::None, Operand::Imm(-1), Operand::Sgpr(8)));

    // A store to a global address with a scalar base; the offset is signed.
    let store = read(&[0x37 << 26 | 2 << 14 | 0x1c << 18 | 0x1ff8, 2 | 3 << 8 | 4 << 16]);
    assert_eq!(store.src[..3], [Operand::Vgpr(2), Operand::Vgpr(3), Operand::Sgpr(4)]);
    assert_eq!((store.op, store.dst, store.mods.offset), (Op::global_store_dword, Operand::None, -8));

    // The acc bit applies to data, not to addresses.
    let load = read(&[0x37 << 26 | 0x14 << 18, 2 | 1 << 23 | 5 << 24]);
    assert_eq!((load.dst, load.src[0]), (Operand::Agpr(5), Operand::Vgpr(2)));

    // An atomic has a destination only when it returns.
    let atomic = |glc: u32| read(&[0x37 << 26 | 2 << 14 | 0x42 << 18 | glc << 16, 2 | 3 << 8 | 0x7f << 16 | 7 << 24]);
    assert_eq!((atomic(0).dst, atomic(1).dst), (Operand::None, Operand::Vgpr(7)));

    // Scalar loads: the offset is a number, a register or both.
    let smem = |low: u32, high| read(&[0x30 << 26 | 4 << 6 | 2 | low, high]);
    assert_eq!(smem(1 << 17, 0x1f_ffff).src[1], Operand::Imm(-1));
    let both = smem(1 << 17 | 1 << 14, 5 << 25 | 16);
    assert_eq!((both.src[1], both.mods.offset, both.mods.soffset_en), (Operand::Sgpr(5), 16, true));
}

#[test]
fn text_is_llvms() {
    assert_eq!(
        text(&[0x3f << 25 | 8 << 17 | 1 << 9 | 250, 24 | 0x1b << 8 | 1 << 19 | 0x5a << 24]),
        "v_mov_b32_dpp v8, v24 quad_perm:[3,2,1,0] row_mask:0x5 bank_mask:0xa bound_ctrl:1"
    );
    assert_eq!(
        text(&[1 << 25 | 8 << 17 | 16 << 9 | 249, 0xc1 | 6 << 8 | 6 << 16 | 6 << 24 | 1 << 23 | 1 << 20]),
        "v_add_f32_sdwa v8, neg(-1), v16 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD"
    );
    assert_eq!(text(&[0x17f << 23 | 0xc << 16 | 0x3f70]), "s_waitcnt vmcnt(0)");
    assert_eq!(text(&[0xb << 28 | 0x11 << 23 | 8 << 16 | 1 | 3 << 11]), "s_getreg_b32 s8, hwreg(HW_REG_MODE, 0, 4)");
    assert_eq!(
        text(&[0x36 << 26 | 0x3d << 17 | 0x401f, 8 | 32 << 24]),
        "ds_swizzle_b32 v32, v8 offset:swizzle(SWAP,16)"
    );
    assert_eq!(
        text(&[0x1a7 << 23 | 0x40 << 16 | 8 | 1 << 15 | 5 << 8, 256 | 257 << 9 | 128 << 18 | 3 << 27]),
        "v_mfma_f32_32x32x1f32 a[8:39], a0, a1, 0 cbsz:5"
    );
    // The same bits have another meaning for another type.
    assert_eq!(text(&[0x1f << 25 | 8 << 17 | 16 << 9 | 255, 0x3800]), "v_add_f16_e32 v8, lit(0x3800), v16");
    assert_eq!(text(&[0x26 << 25 | 8 << 17 | 16 << 9 | 240]), "v_add_u16_e32 v8, 0x3800, v16");
    assert_eq!(text(&[4 << 25 | 8 << 17 | 16 << 9 | 255, 0x3fe0_0000]), "v_fmac_f64_e32 v[8:9], 0.5, v[16:17]");
}

#[test]
fn architectures_differ() {
    let words = [2 << 25 | 0x3f << 25 | 0x38 << 9 | 258, 0];
    assert!(decode(&words, Arch::Gfx90a).is_err());
    let words = [0x3f << 25 | 8 << 17 | 0x38 << 9 | 258];
    let mov = decode(&words, Arch::Gfx942).expect("gfx942 moves 64 bits");
    assert_eq!(disassemble(&mov, Arch::Gfx942), "v_mov_b64_e32 v[8:9], v[2:3]");
    let load = [0x37 << 26 | 2 << 14 | 0x14 << 18 | 3 << 16, 2 | 0x7f << 16];
    let inst = decode(&load, Arch::Gfx942).expect("a load");
    assert_eq!(disassemble(&inst, Arch::Gfx942), "global_load_dword v0, v[2:3], off sc0 nt");
    assert_eq!(disassemble(&inst, Arch::Gfx90a), "global_load_dword v0, v[2:3], off glc slc");
}

#[test]
fn errors_name_the_field() {
    assert_eq!(refused(&[]), "no gfx90a instruction: the code ends before the 4 bytes of the instruction");
    assert_eq!(
        refused(&[0x17d << 23 | 8 << 16 | 255]),
        "no gfx90a instruction: 0xbe8800ff: s_mov_b32: the code ends before the 8 bytes of the instruction"
    );
    assert!(refused(&[0x31 << 26, 0]).ends_with("no encoding starts with these bits"));
    assert!(refused(&[0x17d << 23 | 0xff << 8]).ends_with("Sop1 has no opcode 0xff"));
    assert!(
        refused(&[0x34 << 26 | 0x280 << 16 | 9, 256 | 258 << 9])
            .contains("v_add_f64: vdst is 0x9: a tuple of vector registers starts at an even one")
    );
    assert!(refused(&[0x34 << 26 | 0x101 << 16, 255]).contains("src0 is 0xff: this operand cannot be a literal"));
    assert!(refused(&[0x17d << 23 | 1 << 8 | 3]).contains("ssrc0 is 0x3"));
    assert!(refused(&[0x17f << 23 | 0xa << 16 | 1]).contains("simm16 is 0x1: the instruction does not have it"));
}
