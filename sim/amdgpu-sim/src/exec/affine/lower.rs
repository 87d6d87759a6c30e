//! Decides which instructions of a kernel leave runs, and which settle them.

use std::collections::BTreeMap;

use super::held::REGISTERS;
use super::known::{Line, Role, Set, is_worth_holding, lines, may_be_held};
use super::operations::{self, CARRIES, EQUAL, GREATER, LESS, SIGNED, eagerly};
use crate::exec::constant::Wide;
use crate::exec::liveness;
use crate::exec::program::{Eager, Named};
use crate::exec::valu::Sum;
use crate::exec::zero_flags::reads_zero_flags;
use crate::exec::{Handler, Lowering, Micro, slot};
use crate::isa::inst::{Format, Inst, Mods, Operand};
use crate::isa::{Flags, Op};

/// The form of an instruction that works on runs.
struct Operation {
    run: Handler,
    src: [u16; 4],
    post: u32,
    operands: Vec<u16>,
    results: Vec<u16>,
}

impl Operation {
    /// Returns whether a micro-operation has the same destination as this one.
    fn fits(&self, m: &Micro) -> bool {
        match self.results.first() {
            Some(row) => m.dst == *row,
            None => m.dst != slot::SINK,
        }
    }
}

/// A program whose instructions have been lowered individually.
pub(in crate::exec) struct Code<'c> {
    /// The instructions by their words in the text.
    pub(in crate::exec) code: &'c BTreeMap<u32, Option<Inst>>,
    /// The word of the first instruction.
    pub(in crate::exec) start: u32,
    /// 64-bit sums by the word of their first instruction.
    pub(in crate::exec) sums: &'c BTreeMap<u32, Sum>,
    /// For every word of the text: the first micro-operation of the instruction that starts there.
    pub(in crate::exec) index: &'c [u32],
    pub(in crate::exec) micros: &'c mut [Micro],
    /// The single-instruction micro-operations at positions where `micros` has something else.
    pub(in crate::exec) singles: &'c mut BTreeMap<u32, Micro>,
}

/// The result of [`lower`].
#[derive(Debug, Default)]
pub(in crate::exec) struct Lowered {
    pub(in crate::exec) eager: Vec<Eager>,
    /// Whether `v0` may be held when a wave starts.
    pub(in crate::exec) starts_held: bool,
}

/// Makes instructions leave runs where that is worthwhile.
pub(in crate::exec) fn lower(program: Code<'_>, l: &mut Lowering) -> Lowered {
    let Code { code, start, sums, index, micros, singles } = program;
    // The registers of an image address after the first are not known.
    let opaque = |inst: &Inst| liveness::is_opaque(inst) || inst.format == Format::Mimg;
    if code.len() > liveness::MOST || code.values().flatten().any(opaque) {
        return Lowered::default();
    }
    let mut lines = lines(code);
    let number = |at: u32| lines.binary_search_by_key(&at, |line| line.at).ok();
    let Some(start) = number(start) else { return Lowered::default() };
    let afters: BTreeMap<u32, usize> = sums.iter().filter_map(|(at, sum)| Some((*at, number(sum.after)?))).collect();
    let operations: Vec<Option<Operation>> = (lines.iter())
        .map(|line| match sums.get(&line.at) {
            Some(sum) => afters.get(&line.at).and_then(|_| of_sum(sum, l.vgprs())),
            None => operation(line.inst, l),
        })
        .collect();
    choose(&mut lines, &operations, &afters);
    let v0 = Set::of([0]);
    // Without work-item IDs, all lanes have the same addresses, which do not form a block.
    if !is_worth_holding(&lines, Some(start), v0) {
        return Lowered::default();
    }
    let mut held = may_be_held(&lines, start, v0);
    // An operation whose operands turn out never to be held does not hold its result, so its operands may no longer be worth holding.
    for _ in 0..MOST_ROUNDS {
        let mut any = false;
        for (line, held) in lines.iter_mut().zip(&held) {
            if matches!(line.role, Role::Holds { operands, .. } if !operands.without(*held).is_empty()) {
                (line.role, any) = (Role::Settles, true);
            }
        }
        if !any {
            break;
        }
        drop_unused(&mut lines);
        held = may_be_held(&lines, start, v0);
    }
    if !is_worth_holding(&lines, Some(start), v0) {
        return Lowered::default();
    }
    let mut eager = Vec::new();
    for (n, held) in held.iter().enumerate() {
        let line = &lines[n];
        // For a sum: the registers of all of its instructions.
        let sum = sums.get(&line.at);
        let of_it = lines[n..].iter().take_while(|l| sum.is_some_and(|sum| l.at < sum.after));
        let named = held.and(of_it.fold(line.named, |all, l| all.or(l.named)));
        // An instruction that may trap must leave them unchanged.
        let memory = matches!(line.inst.format, Format::Ds | Format::Scratch | Format::Flat | Format::Global)
            || matches!(line.inst.format, Format::Mubuf | Format::Mtbuf);
        let overwritten = if sum.is_some() || memory { Set::default() } else { line.overwritten };
        let at = index[line.at as usize] as usize + usize::from(reads_zero_flags(line.inst));
        let run = match (&operations[n], line.role) {
            (_, Role::Moves { .. }) => continue,
            (Some(o), Role::Holds { operands, .. }) if operands.without(*held).is_empty() && o.fits(&micros[at]) => {
                Some(o)
            }
            _ if named.is_empty() => continue,
            _ => None,
        };
        let rows = named.iter().map(|row| Named { row, overwritten: overwritten.meets(Set::of([usize::from(row)])) });
        let was = micros[at];
        eager.push(Eager { micro: was, rows: rows.collect() });
        let pre = eager.len() as u32 - 1;
        micros[at] = match run {
            Some(o) => Micro { run: o.run, src: o.src, post: o.post, pre, ..was },
            None => Micro { run: eagerly, pre, ..was },
        };
        if run.is_some() {
            singles.entry(at as u32).or_insert(was);
        }
    }
    Lowered { eager, starts_held: true }
}

/// The maximum number of rounds that drop operations whose operands are never held.
const MOST_ROUNDS: usize = 8;

/// Chooses the role of each line: an operation holds runs if a later instruction can use them.
fn choose(lines: &mut [Line<'_>], operations: &[Option<Operation>], afters: &BTreeMap<u32, usize>) {
    for n in (0..lines.len()).rev() {
        if let Some(role) = moves(lines[n].inst) {
            lines[n].role = role;
            continue;
        }
        let Some(operation) = &operations[n] else { continue };
        let set = |registers: &[u16]| Set::of(registers.iter().map(|r| usize::from(*r)));
        let (operands, results) = (set(&operation.operands), set(&operation.results));
        let after = afters.get(&lines[n].at).copied().or(lines[n].next);
        if operation.results.is_empty() || is_worth_holding(lines, after, results) {
            lines[n].role = Role::Holds { operands, results };
            lines[n].next = after;
        }
    }
}

/// Removes the role from operations whose runs are not used any more.
fn drop_unused(lines: &mut [Line<'_>]) {
    for n in (0..lines.len()).rev() {
        if let Role::Holds { results, .. } = lines[n].role {
            if !results.is_empty() && !is_worth_holding(lines, lines[n].next, results) {
                lines[n].role = Role::Settles;
            }
        }
    }
}

/// The role of a load or store that handles runs itself.
fn moves(inst: &Inst) -> Option<Role> {
    let info = inst.op.info();
    let plain = matches!(inst.format, Format::Global | Format::Flat)
        && !info.is(Flags::atomic)
        && !info.is(Flags::lds_only)
        && !inst.mods.lds;
    let Operand::Vgpr(n) = inst.src[0] else { return None };
    let stores = inst.src[1] != Operand::None;
    let data = if stores { (inst.src[1], info.src[1]) } else { (inst.dst, info.dst) };
    if !plain || data.1.bytes() == 0 {
        return None;
    }
    let registers = |first: u16, count: u32| Set::of(usize::from(first)..usize::from(first) + count as usize);
    // With a scalar base, an address is one register.
    let addresses = registers(n, if inst.src[2] == Operand::None { 2 } else { 1 });
    let data = match data {
        (Operand::Vgpr(n), ty) => registers(n, ty.dwords().max(1)),
        _ => Set::default(),
    };
    Some(Role::Moves { addresses, data, stores })
}

/// Collects an operation's operands.
#[derive(Default)]
struct Operands {
    src: [u16; 4],
    post: u32,
    registers: Vec<u16>,
}

impl Operands {
    /// Operand `i`: a register, or a scalar value.
    fn one(&mut self, i: usize, operand: Operand, l: &mut Lowering) -> Option<()> {
        match operand {
            Operand::Vgpr(n) if usize::from(n) < REGISTERS => self.row(i, n),
            other => self.src[i] = l.slot(other)?,
        }
        Some(())
    }

    /// The same, for 64 bits.
    fn two(&mut self, i: usize, operand: Operand, l: &mut Lowering) -> Option<()> {
        match operand {
            Operand::Vgpr(n) if usize::from(n) + 1 < REGISTERS => {
                self.row(i, n);
                self.registers.push(n + 1);
            }
            Operand::Vgpr(_) => return None,
            other => self.src[i] = l.slot64(other, Wide::Unsigned)?,
        }
        Some(())
    }

    fn row(&mut self, i: usize, row: u16) {
        self.src[i] = row;
        self.post |= 1 << i;
        self.registers.push(row);
    }

    fn operation(self, run: Handler, own: u32, results: Vec<u16>) -> Operation {
        Operation { run, src: self.src, post: self.post | own, operands: self.registers, results }
    }
}

/// The form of an instruction that works on runs, if it has one.
fn operation(inst: &Inst, l: &mut Lowering) -> Option<Operation> {
    let format = matches!(inst.format, Format::Vop1 | Format::Vop2 | Format::Vop3 | Format::Vopc);
    if !format || inst.mods != Mods::default() {
        return None;
    }
    let mut operands = Operands::default();
    if let Some(relation) = relation(inst.op) {
        operands.one(0, inst.src[0], l)?;
        operands.one(1, inst.src[1], l)?;
        return (!operands.registers.is_empty()).then(|| operands.operation(operations::compare, relation, Vec::new()));
    }
    let Operand::Vgpr(dst) = inst.dst else { return None };
    let wide = match inst.op {
        Op::v_lshlrev_b64 => {
            if l.row(inst.src[0]).is_some() {
                return None;
            }
            operands.one(0, inst.src[0], l)?;
            operands.two(1, inst.src[1], l)?;
            Some(operations::shift_left64 as Handler)
        }
        Op::v_lshl_add_u64 => {
            if l.row(inst.src[1]).is_some() {
                return None;
            }
            operands.two(0, inst.src[0], l)?;
            operands.one(1, inst.src[1], l)?;
            operands.two(2, inst.src[2], l)?;
            Some(operations::shift_add64 as Handler)
        }
        _ => None,
    };
    if let Some(run) = wide {
        return (usize::from(dst) + 1 < REGISTERS).then(|| operands.operation(run, 0, vec![dst, dst + 1]));
    }
    let (run, order): (Handler, &[usize]) = match inst.op {
        Op::v_mov_b32 => (operations::copy, &[0]),
        Op::v_add_u32 => (operations::add, &[0, 1]),
        Op::v_sub_u32 => (operations::sub, &[0, 1]),
        Op::v_subrev_u32 => (operations::sub, &[1, 0]),
        Op::v_add3_u32 => (operations::add3, &[0, 1, 2]),
        Op::v_mul_lo_u32 => (operations::mul, &[0, 1]),
        Op::v_lshlrev_b32 => (operations::shift_left, &[0, 1]),
        Op::v_lshl_add_u32 => (operations::shift_add, &[0, 1, 2]),
        Op::v_add_lshl_u32 => (operations::add_shift, &[0, 1, 2]),
        Op::v_or_b32 => (operations::or, &[0, 1]),
        Op::v_lshl_or_b32 => (operations::shift_or, &[0, 1, 2]),
        Op::v_and_b32 => (operations::and, &[0, 1]),
        Op::v_bfe_u32 => (operations::field, &[0, 1, 2]),
        Op::v_ashrrev_i32 => (operations::sign, &[0, 1]),
        _ => return None,
    };
    for (i, source) in order.iter().enumerate() {
        operands.one(i, inst.src[*source], l)?;
    }
    (usize::from(dst) < REGISTERS).then(|| operands.operation(run, 0, vec![dst]))
}

/// The form of a 64-bit sum that works on runs.
fn of_sum(sum: &Sum, vgprs: u16) -> Option<Operation> {
    let is_vector = |row: u16| usize::from(row) < REGISTERS && row < vgprs;
    let mut operands = Operands::default();
    for (i, (place, is_slot)) in sum.operands.into_iter().enumerate() {
        if is_slot {
            operands.src[i] = place;
        } else if is_vector(place) {
            operands.row(i, place);
        } else {
            return None;
        }
    }
    let fits = sum.results.into_iter().all(is_vector);
    let run: Handler = match (sum.operands[0].1, sum.operands[2].1) {
        (false, false) => operations::sum64::<false, false>,
        (false, true) => operations::sum64::<false, true>,
        (true, false) => operations::sum64::<true, false>,
        (true, true) => operations::sum64::<true, true>,
    };
    let own = if sum.carries { CARRIES } else { 0 };
    fits.then(|| operands.operation(run, own, sum.results.into()))
}

/// The relation that a comparison requires of its first operand.
fn relation(op: Op) -> Option<u32> {
    Some(match op {
        Op::v_cmp_lt_u32 => LESS,
        Op::v_cmp_eq_u32 | Op::v_cmp_eq_i32 => EQUAL,
        Op::v_cmp_le_u32 => LESS | EQUAL,
        Op::v_cmp_gt_u32 => GREATER,
        Op::v_cmp_ne_u32 | Op::v_cmp_ne_i32 => LESS | GREATER,
        Op::v_cmp_ge_u32 => GREATER | EQUAL,
        Op::v_cmp_lt_i32 => LESS | SIGNED,
        Op::v_cmp_le_i32 => LESS | EQUAL | SIGNED,
        Op::v_cmp_gt_i32 => GREATER | SIGNED,
        Op::v_cmp_ge_i32 => GREATER | EQUAL | SIGNED,
        _ => return None,
    })
}
