//! Lane exchanges through the LDS network, pairs of words in LDS, and LDS counters.

use super::device::{Memories, Outcome, on};
use super::*;
use crate::BeyondLds;
use crate::fault::Denied;
use crate::isa::inst::Mods;

const EXECS: [u64; 4] = [u64::MAX, 0xffff_0000_fff0_5a5a, 1 << 63, 0];

fn ds(op: Op, dst: Operand, sources: &[Operand], offset: i32, offset1: u8) -> Inst {
    let plain = inst(op, dst, sources);
    Inst { mods: Mods { offset, offset1, ..plain.mods }, ..plain }
}

/// Runs one instruction with `v0` and `v1` as given and the destination set to 7.
fn lanes_of(code: Inst, exec: u64, first: &[u32; LANES], second: &[u32; LANES]) -> [u32; LANES] {
    let w = machine(&[code], DEFAULT_MODE, &|w| {
        w.set_exec(exec);
        *w.row_mut(0) = *first;
        *w.row_mut(1) = *second;
        w.row_mut(2).fill(7);
    });
    *w.row(2)
}

#[test]
fn permutations_send_and_fetch() {
    let mut random = Random::new(500);
    for exec in EXECS {
        for offset in [0, 4, 252, 256, 65532] {
            let address: [u32; LANES] = std::array::from_fn(|_| match random.next() % 3 {
                // Any address: bits 7:2 name the lane.
                0 => random.next() as u32,
                n => (random.next() % 64) as u32 * 4 + n as u32,
            });
            let data: [u32; LANES] = std::array::from_fn(|_| random.next() as u32 | 8);
            let on = |lane: usize| exec >> lane & 1 == 1;
            let named = |lane: usize| address[lane].wrapping_add(offset as u32) as usize / 4 % 64;
            let sent = lanes_of(ds(Op::ds_permute_b32, v(2), &[v(0), v(1)], offset, 0), exec, &address, &data);
            let fetched = lanes_of(ds(Op::ds_bpermute_b32, v(2), &[v(0), v(1)], offset, 0), exec, &address, &data);
            for lane in 0..LANES {
                // Of several senders, the last one wins.
                let sender = (0..LANES).rev().find(|from| on(*from) && named(*from) == lane);
                let expected = if on(lane) { sender.map_or(0, |from| data[from]) } else { 7 };
                assert_eq!(sent[lane], expected, "to lane {lane}");
                let expected = match (on(lane), on(named(lane))) {
                    (false, _) => 7,
                    (true, true) => data[named(lane)],
                    (true, false) => 0,
                };
                assert_eq!(fetched[lane], expected, "from lane {lane}");
            }
        }
    }
}

/// The lane within 32 that a swizzle reads, bit by bit.
fn swizzled(pattern: u32, lane: u32) -> u32 {
    let bit = |x: u32, i: u32| x >> i & 1;
    if pattern >= 0xe000 {
        // Reversed bits, except for the lowest ones, of which there are as many as the mask keeps.
        let kept = (0..5).filter(|i| bit(pattern, *i) == 1).count() as u32;
        let reversed: u32 = (0..5).map(|i| bit(lane, i) << (4 - i)).sum();
        return reversed >> kept | lane & pattern & 31;
    }
    if pattern >= 0xc000 {
        let by = pattern >> 5 & 31;
        let moved = if bit(pattern, 10) == 1 { lane + 32 - by } else { lane + by } % 32;
        return (0..5).map(|i| if bit(pattern, i) == 1 { bit(lane, i) } else { bit(moved, i) } << i).sum();
    }
    if pattern >= 0x8000 {
        return lane / 4 * 4 + (pattern >> (2 * (lane % 4)) & 3);
    }
    (0..5).map(|i| ((bit(lane, i) & bit(pattern, i) | bit(pattern, 5 + i)) ^ bit(pattern, 10 + i)) << i).sum()
}

#[test]
fn swizzles_of_every_kind() {
    let mut random = Random::new(501);
    let data: [u32; LANES] = std::array::from_fn(|lane| 100 + lane as u32);
    let patterns = [0x041f, 0x00a0, 0x801b, 0x7c1f, 0xc020, 0xc420, 0xc05d, 0xe000, 0xe010, 0xe01f, 0x80e4];
    let others: Vec<u32> = (0..60).map(|_| random.next() as u32 & 0xffff).collect();
    for pattern in patterns.into_iter().chain(others) {
        // For quad permutations only eight bits matter; for Fourier transforms, masks must be contiguous from the top.
        if pattern >= 0xe000 && ![0, 16, 24, 28, 30, 31].contains(&(pattern & 31)) {
            continue;
        }
        for exec in EXECS {
            let code = ds(Op::ds_swizzle_b32, v(2), &[v(0)], pattern as i32, 0);
            let got = lanes_of(code, exec, &data, &[0; LANES]);
            for (lane, got) in got.into_iter().enumerate() {
                let from = lane / 32 * 32 + swizzled(pattern, lane as u32 % 32) as usize;
                let expected = match (exec >> lane & 1, exec >> from & 1) {
                    (0, _) => 7,
                    (_, 1) => 100 + from as u32,
                    _ => 0,
                };
                assert_eq!(got, expected, "{pattern:#x} lane {lane}");
            }
        }
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

#[test]
fn two_at_a_time() {
    let mut random = Random::new(502);
    let before: Vec<u8> = (0..40 << 10).map(|_| (random.next() >> 20) as u8).collect();
    for (op, words, step, stores) in [
        (Op::ds_read2_b32, 1, 4, false),
        (Op::ds_read2_b64, 2, 8, false),
        (Op::ds_read2st64_b32, 1, 256, false),
        (Op::ds_read2st64_b64, 2, 512, false),
        (Op::ds_write2_b32, 1, 4, true),
        (Op::ds_write2_b64, 2, 8, true),
        (Op::ds_write2st64_b32, 1, 256, true),
        (Op::ds_write2st64_b64, 2, 512, true),
    ] {
        for (offset, offset1) in [(0, 1), (5, 5), (17, 3), (60, 62)] {
            for exec in EXECS {
                let (data, second, dst) = (v(4), v(6), v(8));
                let code = if stores {
                    ds(op, Operand::None, &[v(0), data, second], offset, offset1)
                } else {
                    ds(op, dst, &[v(0)], offset, offset1)
                };
                // Spaced, so that no two lanes write to the same place.
                let base = |lane: usize| 16 * words * (63 - lane);
                let Outcome { wave, trap, lds, .. } =
                    on(&[code], &Memories { lds: &before, ..Memories::default() }, &|w, _| {
                        w.set_exec(exec);
                        for lane in 0..LANES {
                            w.row_mut(0)[lane] = base(lane) as u32;
                            (4..12).for_each(|row| w.row_mut(row)[lane] = 1000 * u32::from(row) + lane as u32);
                        }
                    });
                assert_eq!(trap, None, "{op}");
                let mut expected = before.clone();
                for lane in 0..LANES {
                    let enabled = exec >> lane & 1 == 1;
                    for (n, offset) in [offset as usize, usize::from(offset1)].into_iter().enumerate() {
                        for i in 0..words {
                            let at = base(lane) + step * offset + 4 * i;
                            if stores && enabled {
                                let value = 1000 * (4 + 2 * n + i) as u32 + lane as u32;
                                expected[at..at + 4].copy_from_slice(&value.to_le_bytes());
                            } else if !stores {
                                let row = 8 + (n * words + i) as u16;
                                let old = 1000 * u32::from(row) + lane as u32;
                                let loaded = if enabled { word(&before, at) } else { old };
                                assert_eq!(wave.row(row)[lane], loaded, "{op} lane {lane}");
                            }
                        }
                    }
                }
                assert!(lds == expected || stores && offset == i32::from(offset1), "{op} {offset} {offset1}");
            }
        }
    }
}

#[test]
fn counters_count_lanes() {
    for exec in EXECS {
        let code = [ds(Op::ds_append, v(2), &[], 12, 0), ds(Op::ds_consume, v(3), &[], 16, 0)];
        let mut before = vec![0; 64];
        before[12 + 8..16 + 8].copy_from_slice(&5_u32.to_le_bytes());
        before[16 + 8..20 + 8].copy_from_slice(&500_u32.to_le_bytes());
        let memories = Memories { lds: &before, ..Memories::default() };
        let Outcome { wave, trap, lds, .. } = on(&code, &memories, &|w, _| {
            w.set_exec(exec);
            // The base is in m0's low half.
            w.set_slot(slot::M0, 8);
            w.row_mut(2).fill(7);
            w.row_mut(3).fill(7);
        });
        assert_eq!(trap, None);
        let count = exec.count_ones();
        assert_eq!((word(&lds, 20), word(&lds, 24)), (5 + count, 500 - count));
        for lane in 0..LANES {
            let expected = if exec >> lane & 1 == 1 { (5, 500) } else { (7, 7) };
            assert_eq!((wave.row(2)[lane], wave.row(3)[lane]), expected);
        }
    }
}

#[test]
fn beyond_local_memory_loads_give_zero_and_stores_do_nothing_where_that_is_ignored() {
    const SIZE: usize = 128;
    let before: Vec<u8> = (0..SIZE).map(|i| i as u8 + 1).collect();
    let loads: [(Op, usize, usize); 9] = [
        (Op::ds_read_u8, 1, 1),
        (Op::ds_read_i8, 1, 1),
        (Op::ds_read_u16, 2, 1),
        (Op::ds_read_b32, 4, 1),
        (Op::ds_read_b64, 8, 2),
        (Op::ds_read_b96, 12, 3),
        (Op::ds_read_b128, 16, 4),
        (Op::ds_read2_b32, 4, 2),
        (Op::ds_read2_b64, 8, 4),
    ];
    // All sizes except bytes must be aligned.
    let address = |lane: usize, bytes: usize| lane as u32 * if bytes == 1 { 3 } else { 4 };
    let set_up = |w: &mut Wave, bytes: usize| {
        for lane in 0..LANES {
            w.row_mut(0)[lane] = address(lane, bytes);
            (4..12).for_each(|row| w.row_mut(row)[lane] = 0x0101_0101 * u32::from(row));
        }
    };
    for (op, bytes, registers) in loads {
        let pair = matches!(op, Op::ds_read2_b32 | Op::ds_read2_b64);
        let code = ds(op, v(4), &[v(0)], 0, u8::from(pair) * 2);
        let ignoring = Memories { lds: &before, beyond_lds: BeyondLds::Ignore, ..Memories::default() };
        let outcome = on(&[code], &ignoring, &|w, _| set_up(w, bytes));
        assert_eq!(outcome.trap, None, "{op}");
        for lane in 0..LANES {
            let mut expected = Vec::new();
            // The two elements of a pair are bounds-checked separately.
            for first in if pair { vec![0, 2 * bytes] } else { vec![0] } {
                let at = address(lane, bytes) as usize + first;
                let inside = before.get(at..at + bytes);
                let mut element = inside.map_or(vec![0; bytes], <[u8]>::to_vec);
                element.resize(element.len().next_multiple_of(4), 0);
                expected.extend(element.chunks_exact(4).map(|w| word(w, 0)));
            }
            let got: Vec<u32> = (0..registers).map(|i| outcome.wave.row(4 + i as u16)[lane]).collect();
            // All that is there is below 128: nothing to extend.
            assert_eq!(got, expected, "{op} lane {lane}");
        }
        let faulting = Memories { lds: &before, ..Memories::default() };
        match on(&[code], &faulting, &|w, _| set_up(w, bytes)).trap {
            Some(Trap::Memory(fault)) => assert_eq!(fault.why, Denied::OutOfBounds, "{op}"),
            other => panic!("{op}: {other:?}"),
        }
    }
    for (op, bytes) in [(Op::ds_write_b8, 1), (Op::ds_write_b16, 2), (Op::ds_write_b32, 4), (Op::ds_write_b128, 16)] {
        let code = ds(op, Operand::None, &[v(0), v(4)], 0, 0);
        let ignoring = Memories { lds: &before, beyond_lds: BeyondLds::Ignore, ..Memories::default() };
        let outcome = on(&[code], &ignoring, &|w, _| set_up(w, bytes));
        assert_eq!(outcome.trap, None, "{op}");
        let mut expected = before.clone();
        for lane in 0..LANES {
            let at = address(lane, bytes) as usize;
            if let Some(place) = expected.get_mut(at..at + bytes) {
                place.iter_mut().enumerate().for_each(|(i, byte)| *byte = 4 + i as u8 / 4);
            }
        }
        assert!(outcome.lds == expected, "{op}: {:?}", outcome.lds);
    }
    // An atomic operation there is still a fault.
    let ignoring = Memories { lds: &before, beyond_lds: BeyondLds::Ignore, ..Memories::default() };
    let code = ds(Op::ds_add_u32, Operand::None, &[v(0), v(4)], 0, 0);
    let outcome = on(&[code], &ignoring, &|w, _| w.row_mut(0).fill(SIZE as u32));
    assert!(matches!(outcome.trap, Some(Trap::Memory(_))));
}

#[test]
fn scalar_loads_with_and_without_a_buffer() {
    let before: Vec<u8> = (0..4096).map(|i| (i * 7 + i / 256) as u8).collect();
    for (op, words, buffered) in [
        (Op::s_load_dword, 1, false),
        (Op::s_load_dwordx2, 2, false),
        (Op::s_load_dwordx4, 4, false),
        (Op::s_load_dwordx8, 8, false),
        (Op::s_load_dwordx16, 16, false),
        (Op::s_buffer_load_dword, 1, true),
        (Op::s_buffer_load_dwordx2, 2, true),
        (Op::s_buffer_load_dwordx4, 4, true),
        (Op::s_buffer_load_dwordx8, 8, true),
        (Op::s_buffer_load_dwordx16, 16, true),
    ] {
        for (immediate, register) in [(0, 0), (256, 0), (4, 40), (0, 44)] {
            let base = if buffered { s(8) } else { s(2) };
            // With a register the number is added to it.
            let plain = if register == 0 {
                inst(op, s(20), &[base, imm(immediate)])
            } else {
                inst(op, s(20), &[base, s(4), Operand::None, imm(immediate)])
            };
            let code = Inst { mods: Mods { offset: immediate, soffset_en: register != 0, ..plain.mods }, ..plain };
            let outcome = on(&[code], &Memories { device: &before, ..Memories::default() }, &|w, base| {
                w.set_slot64(2, base);
                w.set_slot(4, register);
                super::device::descriptor(w, base, 0, 300, 0);
                (20..40).for_each(|i| w.set_slot(i, 0xdead_0000 | u32::from(i)));
            });
            assert_eq!(outcome.trap, None, "{op}");
            let at = immediate as usize + register as usize;
            for i in 0..20 {
                let here = at + 4 * i;
                let expected = match i < words {
                    false => 0xdead_0014 + i as u32,
                    // Words beyond the buffer are zero.
                    true if buffered && here + 4 > 300 => 0,
                    true => word(&before, here),
                };
                assert_eq!(outcome.wave.slot(20 + i as u16), expected, "{op} at {at} word {i}");
            }
        }
    }
}

#[test]
fn clocks_go_on() {
    let code = [
        inst(Op::s_memtime, s(0), &[]),
        inst(Op::s_memrealtime, s(4), &[]),
        inst(Op::s_nop, Operand::None, &[imm(7)]),
        inst(Op::s_waitcnt, Operand::None, &[imm(0)]),
        inst(Op::s_memtime, s(2), &[]),
        inst(Op::s_memrealtime, s(6), &[]),
    ];
    let outcome = on(&code, &Memories::default(), &|_, _| ());
    assert_eq!(outcome.trap, None);
    let clock = |slot| outcome.wave.slot64(slot);
    assert!(clock(2) >= clock(0) && clock(6) >= clock(4));
    // Both count from the start of the dispatch, the shader's clock faster than the one of 100 MHz.
    assert!(clock(2) > 0 && clock(2) >= clock(6));
}

#[test]
fn waves_stop_where_others_get_their_turn() {
    let stops = [(Op::s_barrier, Stop::Barrier), (Op::s_sleep, Stop::Yield)];
    for (op, expected) in stops {
        let code = [inst(Op::s_mov_b32, s(0), &[Operand::Int(1)]), inst(op, Operand::None, &[imm(1)])];
        let marked: Vec<Inst> = code.into_iter().chain([inst(Op::s_mov_b32, s(1), &[Operand::Int(2)])]).collect();
        let (outcome, stop) = super::device::attempt(&marked, &Memories::default(), &|_, _| ());
        assert_eq!((stop, outcome.wave.slot(0), outcome.wave.slot(1)), (expected, 1, 0), "{op}");
        assert_eq!(outcome.wave.pc, 2, "it goes on behind {op}");
    }
}
