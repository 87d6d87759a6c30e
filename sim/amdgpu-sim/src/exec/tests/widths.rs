//! Every load and store: the number of bytes, their extension, and the part of a register that does not change.

use super::device::{Memories, buffer, descriptor, on};
use super::*;
use crate::isa::Flags;

/// The access that a mnemonic describes.
struct Move {
    bytes: usize,
    signed: bool,
    stores: bool,
    /// The low or the high half of a register; the other one stays.
    half: Option<bool>,
}

/// The loads and stores that this module checks.
pub(super) fn covered(op: Op) -> bool {
    parse(op).is_some()
}

fn parse(op: Op) -> Option<Move> {
    let info = op.info();
    let vector = matches!(info.format, Format::Ds | Format::Flat | Format::Global | Format::Scratch | Format::Mubuf);
    let other = [Flags::atomic, Flags::format, Flags::lds_only, Flags::two_offsets, Flags::gds];
    if !vector || other.iter().any(|flag| info.is(*flag)) || op.mnemonic().contains("addtid") {
        return None;
    }
    let name = op.mnemonic();
    let (name, half) = match (name.strip_suffix("_d16_hi"), name.strip_suffix("_d16")) {
        (Some(name), _) => (name, Some(true)),
        (_, Some(name)) => (name, Some(false)),
        _ => (name, None),
    };
    let (what, kind) = name.rsplit_once('_')?;
    let stores = what.ends_with("store") || what.ends_with("write");
    if !stores && !what.ends_with("load") && !what.ends_with("read") {
        return None;
    }
    let (bytes, signed) = match kind {
        "ubyte" | "byte" | "u8" | "b8" => (1, false),
        "sbyte" | "i8" => (1, true),
        "ushort" | "short" | "u16" | "b16" => (2, false),
        "sshort" | "i16" => (2, true),
        "dword" | "b32" => (4, false),
        "dwordx2" | "b64" => (8, false),
        "dwordx3" | "b96" => (12, false),
        "dwordx4" | "b128" => (16, false),
        _ => return None,
    };
    Some(Move { bytes, signed, stores, half })
}

/// The lanes' bytes are spaced, so that stores do not overlap.
const STEP: usize = 20;
const EXEC: u64 = 0x7fff_0f0f_ffff_fff1;

#[test]
fn loads_and_stores() {
    let mut random = Random::new(700);
    let before: Vec<u8> = (0..STEP * LANES + 64).map(|_| (random.next() >> 20) as u8).collect();
    let registers: Vec<[u32; 4]> = (0..LANES).map(|_| [0; 4].map(|_| random.next() as u32)).collect();
    let mut checked = 0;
    for op in Op::ALL.iter().copied() {
        let Some(Move { bytes, signed, stores, half }) = parse(op) else { continue };
        let format = op.info().format;
        // Scratch does not have the layout of `before`: each lane has its own bytes.
        let at = |lane: usize| if format == Format::Scratch { 8 } else { STEP * lane } + 4;
        let mods = Mods { offset: 4, offen: format == Format::Mubuf, ..Mods::default() };
        let (dst, data) = if stores { (Operand::None, v(4)) } else { (v(4), Operand::None) };
        let code = if format == Format::Mubuf {
            buffer(op, dst, v(0), data, mods)
        } else {
            Inst { mods, ..inst(op, dst, &[v(0), data, Operand::None]) }
        };
        let memories = Memories { device: &before, lds: &before, scratch: 32, ..Memories::default() };
        let result = on(&[code], &memories, &|w, base| {
            w.set_exec(EXEC);
            descriptor(w, base, 0, 4096, 0);
            let flat = matches!(format, Format::Flat | Format::Global);
            for lane in 0..LANES {
                set_value(w, 0, 2, lane, if flat { base } else { 0 } + at(lane) as u64 - 4);
                for (i, value) in registers[lane].iter().enumerate() {
                    w.row_mut(4 + i as u16)[lane] = *value;
                }
            }
        });
        assert_eq!(result.trap, None, "{op}");
        for lane in 0..LANES {
            let on = EXEC >> lane & 1 == 1;
            let old = registers[lane];
            let memory = |after: bool, i: usize| -> u8 {
                match (format, after) {
                    (Format::Scratch, true) => result.scratch[lane][at(lane) + i],
                    (Format::Scratch, false) => Memories::scratch_byte(lane, at(lane) + i),
                    (Format::Ds, true) => result.lds[at(lane) + i],
                    (_, true) => result.memory[at(lane) + i],
                    _ => before[at(lane) + i],
                }
            };
            if stores {
                for i in 0..16 {
                    let source = old[i / 4] >> (8 * (i % 4)) >> if half == Some(true) { 16 } else { 0 };
                    let expected = if on && i < bytes { source as u8 } else { memory(false, i) };
                    assert_eq!(memory(true, i), expected, "{op}, lane {lane}, byte {i}");
                }
                continue;
            }
            let loaded = (0..bytes).rev().fold(0_u128, |all, i| all << 8 | u128::from(memory(false, i)));
            let top = 128 - 8 * bytes as u32;
            let wide = if signed { ((loaded << top) as i128 >> top) as u128 } else { loaded };
            for i in 0..4 {
                let word = (wide >> (32 * i)) as u32;
                let expected = match half {
                    _ if !on || 4 * i >= bytes => old[i],
                    None => word,
                    Some(false) => old[i] & 0xffff_0000 | word & 0xffff,
                    Some(true) => old[i] & 0xffff | word << 16,
                };
                assert_eq!(result.wave.row(4 + i as u16)[lane], expected, "{op}, lane {lane}, register {i}");
            }
        }
        checked += 1;
    }
    assert_eq!(checked, 4 * 22 + 22, "all widths in all memories");
}

#[test]
fn scratch_straight_to_local_memory() {
    for (op, bytes, signed) in [
        (Op::scratch_load_lds_ubyte, 1, false),
        (Op::scratch_load_lds_sbyte, 1, true),
        (Op::scratch_load_lds_ushort, 2, false),
        (Op::scratch_load_lds_sshort, 2, true),
        (Op::scratch_load_lds_dword, 4, false),
    ] {
        let plain = inst(op, Operand::None, &[v(0), Operand::None, Operand::None]);
        let memories = Memories { lds: &[0; 512], scratch: 32, ..Memories::default() };
        let result = on(&[plain], &memories, &|w, _| w.row_mut(0).fill(12));
        assert_eq!(result.trap, None, "{op}");
        for lane in 0..LANES {
            let value =
                (0..bytes).rev().fold(0_u32, |all, i| all << 8 | u32::from(Memories::scratch_byte(lane, 12 + i)));
            let top = 32 - 8 * bytes as u32;
            let value = if signed { ((value << top) as i32 >> top) as u32 } else { value };
            let got: [u8; 4] = result.lds[4 * lane..][..4].try_into().expect("four bytes");
            assert_eq!(u32::from_le_bytes(got), value, "{op}, lane {lane}");
        }
    }
}

#[test]
fn local_pairs_and_lanes() {
    let lds: Vec<u8> = (0..2048_u32).map(|i| (i * 7 + i / 256) as u8).collect();
    let word = |at: usize| u32::from_le_bytes(lds[at..at + 4].try_into().expect("four bytes"));
    let at = |op, dst, sources: &[Operand], offset, offset1| {
        let plain = inst(op, dst, sources);
        Inst { mods: Mods { offset, offset1, ..plain.mods }, ..plain }
    };
    let code = [
        at(Op::ds_read_addtid_b32, v(4), &[], 16, 0),
        at(Op::ds_write_addtid_b32, Operand::None, &[Operand::None, v(1)], 1024, 0),
        at(Op::ds_write2_b64, Operand::None, &[v(0), v(2), v(6)], 0, 1),
    ];
    let result = on(&code, &Memories { lds: &lds, ..Memories::default() }, &|w, _| {
        w.set_slot(super::super::slot::M0, 8);
        w.set_exec(u64::MAX >> 1);
        for lane in 0..LANES {
            w.row_mut(0)[lane] = 1408 + 16 * (lane as u32 % 40);
            w.row_mut(1)[lane] = 5000 + lane as u32;
            set_value(w, 2, 2, lane, 0x1_0000_0000 * lane as u64 + 3);
            set_value(w, 6, 2, lane, 0x1_0000_0000 * lane as u64 + 4);
        }
    });
    assert_eq!(result.trap, None);
    for lane in 0..63 {
        assert_eq!(result.wave.row(4)[lane], word(8 + 16 + 4 * lane));
        let stored = u32::from_le_bytes(result.lds[1032 + 4 * lane..][..4].try_into().expect("four bytes"));
        assert_eq!(stored, 5000 + lane as u32);
    }
    let long = |at: usize| u64::from_le_bytes(result.lds[at..at + 8].try_into().expect("eight bytes"));
    for place in 0..40_usize {
        // Of two lanes that write to the same address, the higher one wins; lane 63 is disabled.
        let lane = if place + 40 < 63 { place + 40 } else { place } as u64;
        let elements = [long(1408 + 16 * place), long(1416 + 16 * place)];
        assert_eq!(elements, [(lane << 32) + 3, (lane << 32) + 4], "place {place}");
    }
}

#[test]
fn wide_scalar_loads() {
    let before: Vec<u8> = (0..256_u32).map(|i| (i * 31) as u8).collect();
    let word = |at: usize| u32::from_le_bytes(before[at..at + 4].try_into().expect("four bytes"));
    for (op, words, buffered) in [
        (Op::s_load_dwordx16, 16, false),
        (Op::s_load_dwordx8, 8, false),
        (Op::s_buffer_load_dwordx4, 4, true),
        (Op::s_buffer_load_dwordx8, 8, true),
        (Op::s_buffer_load_dwordx16, 16, true),
    ] {
        let plain = inst(op, s(20), &[if buffered { s(8) } else { s(2) }, imm(16)]);
        let code = Inst { mods: Mods { offset: 16, ..plain.mods }, ..plain };
        let result = on(&[code], &Memories { device: &before, ..Memories::default() }, &|w, base| {
            w.set_slot64(2, base);
            // The last word of the widest is outside.
            descriptor(w, base, 0, 16 + 60, 0);
        });
        assert_eq!(result.trap, None, "{op}");
        for i in 0..words {
            let expected = if buffered && i == 15 { 0 } else { word(16 + 4 * i) };
            assert_eq!(result.wave.slot(20 + i as u16), expected, "{op}, word {i}");
        }
    }
}
