//! LDS: the computation of an access's address.

use super::*;
use crate::fault::{Access, Denied};
use crate::isa::inst::Mods;

fn at(op: Op, dst: Operand, sources: &[Operand], offset: i32, offset1: u8) -> Inst {
    let plain = inst(op, dst, sources);
    Inst { mods: Mods { offset, offset1, ..plain.mods }, ..plain }
}

/// `v0`: 4 times the lane, minus 64, so that a quarter of the lanes is below zero. `v1`: some value.
fn set_up(w: &mut Wave) {
    for lane in 0..LANES as u32 {
        w.row_mut(0)[lane as usize] = (4 * lane).wrapping_sub(64);
        w.row_mut(1)[lane as usize] = 1000 + lane;
        w.row_mut(2)[lane as usize] = 4 * lane;
    }
}

#[test]
fn an_offset_brings_a_base_below_zero_back() {
    let none = Operand::None;
    let code = [
        at(Op::ds_write_b32, none, &[v(0), v(1)], 64, 0),
        at(Op::ds_read_b32, v(3), &[v(2)], 0, 0),
        at(Op::ds_read_b32, v(4), &[v(0)], 68, 0),
        at(Op::ds_read2_b32, v(6), &[v(0)], 16, 17),
        at(Op::ds_read_b128, v(12), &[v(0)], 64, 0),
        at(Op::ds_read_u16, v(8), &[v(0)], 64, 0),
        at(Op::ds_add_rtn_u32, v(9), &[v(0), v(1)], 64, 0),
        at(Op::ds_read_b32, v(10), &[v(2)], 0, 0),
    ];
    let w = machine(&code, DEFAULT_MODE, &set_up);
    for lane in 0..LANES {
        let value = 1000 + lane as u32;
        let next = |n: u32| if lane as u32 + n < 64 { value + n } else { 0 };
        let got = [3, 4, 6, 7, 8, 9, 10, 12, 13, 14, 15].map(|row| w.row(row)[lane]);
        let expected = [value, next(1), value, next(1), value, value, 2 * value, value, next(1), next(2), next(3)];
        assert_eq!(got, expected, "lane {lane}");
    }
}

#[test]
fn large_strides_do_not_wrap_into_local_memory() {
    for (op, dst, sources) in [
        (Op::ds_read2st64_b64, v(4), vec![v(2)]),
        (Op::ds_write2st64_b64, Operand::None, vec![v(2), v(4), v(6)]),
        (Op::ds_wrxchg2st64_rtn_b64, v(8), vec![v(2), v(4), v(6)]),
    ] {
        for offsets in [(0, 128), (128, 0)] {
            // One lane at address 0, which the offset of 65536 bytes puts past the end.
            let set_up = |w: &mut Wave| w.set_exec(1);
            match trap(&[at(op, dst, &sources, offsets.0, offsets.1)], DEFAULT_MODE, &set_up) {
                Trap::Memory(fault) => {
                    assert_eq!((fault.address, fault.why), (65536, Denied::OutOfBounds), "{op}");
                    assert_eq!(fault.access == Access::Read, op == Op::ds_read2st64_b64);
                }
                other => panic!("{op}: {other:?}"),
            }
        }
    }
}
