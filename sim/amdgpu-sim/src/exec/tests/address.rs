//! Fused 64-bit sums give the same results as their individual instructions.

use super::*;

/// The sum of `low` and `high` as three instructions, `parts` apart or not, and a shift that scales an index.
fn sum(registers: &[u16; 7], scalars: bool, moves: bool, reads_carry: bool, apart: bool) -> Vec<Inst> {
    let [to_low, to_high, a, b, c, d, index] = *registers;
    let between = apart.then(|| inst(Op::v_nop, Operand::None, &[]));
    let low = if scalars { s(4) } else { v(a) };
    let mut code = vec![inst(Op::v_lshlrev_b64, v(index), &[Operand::Int(3), v(index)])];
    if moves {
        code.push(inst(Op::v_mov_b32, v(c), &[s(5)]));
        code.extend(between);
    }
    code.push(Inst { dst2: VCC, ..inst(Op::v_add_co_u32, v(to_low), &[low, v(b)]) });
    code.extend(between);
    code.push(Inst { dst2: VCC, ..inst(Op::v_addc_co_u32, v(to_high), &[v(c), v(d), VCC]) });
    if reads_carry {
        code.push(inst(Op::v_cndmask_b32, v(14), &[v(12), v(13), VCC]));
    }
    code
}

#[test]
fn a_sum_in_one_operation_is_what_its_instructions_give() {
    let mut random = 1_u64;
    let mut next = move || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as u32
    };
    for round in 0..600 {
        // Few registers, so that they coincide in every combination.
        let most = if round % 2 == 0 { 5 } else { 10 };
        let registers: [u16; 7] = std::array::from_fn(|_| (next() % most) as u16);
        let [scalars, moves, reads_carry] = [0, 1, 2].map(|bit| round >> (bit + 1) & 1 == 1);
        let exec = [u64::MAX, 0x8000_ffff_0f0f_3333, 0][round % 3];
        let values: Vec<u32> = (0..16 * LANES).map(|_| if next() % 4 == 0 { u32::MAX } else { next() << 1 }).collect();
        let pair = [next(), next()];
        let set_up = |w: &mut Wave| {
            for r in 0..16 {
                w.row_mut(r).copy_from_slice(&values[usize::from(r) * LANES..][..LANES]);
            }
            w.set_slot(4, pair[0]);
            w.set_slot(5, pair[1]);
            w.set_exec(exec);
        };
        let named = inst(Op::v_mov_b32, v(15), &[v(15)]);
        let run = |apart: bool| {
            let mut code = sum(&registers, scalars, moves, reads_carry, apart);
            code.push(named);
            machine(&code, DEFAULT_MODE, &set_up)
        };
        let (one, each) = (run(false), run(true));
        for r in 0..16 {
            assert_eq!(one.row(r), each.row(r), "v{r} of {registers:?} {scalars} {moves} {exec:#x}");
        }
        // Without a reader the carry may be omitted.
        if reads_carry {
            assert_eq!(one.vcc(), each.vcc(), "{registers:?}");
        }
        assert_eq!(one.instructions + 1 + u64::from(moves), each.instructions, "instructions are counted alike");
    }
}

#[test]
fn a_sum_becomes_one_operation_unless_its_registers_coincide() {
    let stands_for = |registers: &[u16; 7], moves: bool| {
        let code = sum(registers, true, moves, false, false);
        let map: BTreeMap<u32, Option<Inst>> = (0_u32..).step_by(2).zip(code.into_iter().map(Some)).collect();
        let program = Program::assemble(&map, &[0; 16], 0x1000, 0, DEFAULT_MODE, false);
        program.micros()[1].aux
    };
    assert_eq!(stands_for(&[2, 3, 9, 0, 3, 1, 0], true), 3);
    assert_eq!(stands_for(&[2, 3, 9, 0, 3, 1, 0], false), 2);
    // The first half overwrites what the second reads.
    assert_eq!(stands_for(&[1, 3, 9, 0, 3, 1, 0], false), 0);
    assert_eq!(stands_for(&[3, 4, 9, 0, 3, 1, 0], false), 0);
}
