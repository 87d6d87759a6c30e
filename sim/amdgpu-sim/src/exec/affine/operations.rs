//! Handlers that work on runs.
//!
//! Operands are rows, which must be held, or slots: [`Micro::post`] has a bit for each operand that is a row.
//! [`Micro::pre`] refers to the micro-operation that executes the instruction lane by lane.

use super::held::{Run, STEPS};
use crate::exec::LANES;
use crate::exec::{Ctx, Flow, Micro, Wave, slot};

/// The first bit of `Micro::post` that belongs to the operation.
pub(super) const OWN: u32 = 8;

/// Settles the rows that an instruction uses, and executes it as lowered.
#[inline(never)]
pub(super) fn eagerly(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let program = ctx.program;
    let eager = &program.eager[m.pre as usize];
    let all = w.exec() == u64::MAX;
    for named in &eager.rows {
        if all && named.overwritten {
            w.held.forget(named.row);
        } else {
            w.settle(named.row);
        }
    }
    // SAFETY: as in `run`: the handler was chosen for this CPU.
    unsafe { (eager.micro.run)(w, &eager.micro, ctx) }
}

/// Operand `i`.
#[inline(always)]
fn operand(w: &Wave, m: &Micro, i: usize) -> Option<Run> {
    if (m.post >> i) & 1 == 1 { w.held.get(m.src[i]) } else { Some(Run::uniform(w.slot(m.src[i]))) }
}

/// A 64-bit value per lane, in two registers or slots from operand `i` on: the first lane's value, and the step. All
/// lanes must have the same high half.
#[inline(always)]
fn operand64(w: &Wave, m: &Micro, i: usize) -> Option<(u64, u32)> {
    if (m.post >> i) & 1 == 0 {
        return Some((w.slot64(m.src[i]), 0));
    }
    let (low, high) = (w.held.get(m.src[i])?, w.held.get(m.src[i] + 1)?);
    low.last()?;
    (high.step == 0).then_some((u64::from(low.first) | (u64::from(high.first) << 32), low.step))
}

/// Holds a 64-bit value per lane, if all lanes have the same high half.
#[inline(always)]
fn hold64(w: &mut Wave, [low, high]: [u16; 2], first: u64, step: u32) -> Option<()> {
    let run = Run { first: first as u32, step };
    run.last()?;
    w.held.hold(low, run);
    w.held.hold(high, Run::uniform((first >> 32) as u32));
    Some(())
}

/// Operations with one result register: the resulting run, if the result is one.
macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident($($operand:ident $i:literal),*) $result:expr;)*) => { $(
        $(#[$doc])*
        pub(super) fn $name(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
            #[inline(always)]
            fn run(w: &Wave, m: &Micro) -> Option<Run> {
                $(let $operand = operand(w, m, $i)?;)*
                $result
            }
            if w.exec() == u64::MAX {
                if let Some(run) = run(w, m) {
                    w.held.hold(m.dst, run);
                    return Flow::Next;
                }
            }
            eagerly(w, m, ctx)
        }
    )* };
}

operations! {
    copy(a 0) Some(a);
    add(a 0, b 1) Some(sum(a, b));
    sub(a 0, b 1) Some(Run { first: a.first.wrapping_sub(b.first), step: a.step.wrapping_sub(b.step) });
    add3(a 0, b 1, c 2) Some(sum(sum(a, b), c));
    mul(a 0, b 1) product(a, b);
    shift_left(by 0, a 1) shifted(a, by);
    shift_add(a 0, by 1, b 2) Some(sum(shifted(a, by)?, b));
    add_shift(a 0, b 1, by 2) shifted(sum(a, b), by);
    or(a 0, b 1) either(a, b);
    shift_or(a 0, by 1, b 2) either(shifted(a, by)?, b);
    and(a 0, b 1) masked(a, b);
    /// `v_bfe_u32`.
    field(a 0, at 1, width 2) bits(a, at, width);
    /// `v_ashrrev_i32`: after a shift by 31, only the sign is left.
    sign(by 0, a 1) signs(by, a);
}

#[inline(always)]
fn sum(a: Run, b: Run) -> Run {
    Run { first: a.first.wrapping_add(b.first), step: a.step.wrapping_add(b.step) }
}

/// Of two runs, one of which is the same number in all lanes: the other run, and the number.
#[inline(always)]
fn with_uniform(a: Run, b: Run) -> Option<(Run, u32)> {
    match (a.step, b.step) {
        (_, 0) => Some((a, b.first)),
        (0, _) => Some((b, a.first)),
        _ => None,
    }
}

#[inline(always)]
fn product(a: Run, b: Run) -> Option<Run> {
    let (a, by) = with_uniform(a, b)?;
    Some(Run { first: a.first.wrapping_mul(by), step: a.step.wrapping_mul(by) })
}

#[inline(always)]
fn shifted(a: Run, by: Run) -> Option<Run> {
    (by.step == 0).then(|| Run { first: a.first << (by.first & 31), step: a.step << (by.first & 31) })
}

/// `a | b`: their sum, if one is the same in all lanes and has no bit in common with any lane of the other.
#[inline(always)]
fn either(a: Run, b: Run) -> Option<Run> {
    let (a, uniform) = with_uniform(a, b)?;
    if a.step == 0 {
        return Some(Run::uniform(a.first | uniform));
    }
    let used = u32::MAX.checked_shr(a.last()?.leading_zeros()).unwrap_or(0);
    (used & uniform == 0).then_some(Run { first: a.first | uniform, step: a.step })
}

/// `a & b`: a run if one selects the low bits, and the other bits are the same in all lanes.
#[inline(always)]
fn masked(a: Run, b: Run) -> Option<Run> {
    let (a, mask) = with_uniform(a, b)?;
    if a.step == 0 {
        return Some(Run::uniform(a.first & mask));
    }
    let low = mask & mask.wrapping_add(1) == 0;
    (low && a.first & !mask == a.last()? & !mask).then_some(Run { first: a.first & mask, step: a.step })
}

#[inline(always)]
fn bits(a: Run, at: Run, width: Run) -> Option<Run> {
    if at.step | width.step != 0 {
        return None;
    }
    let (at, width) = (at.first & 31, width.first & 31);
    let mask = (1 << width) - 1;
    if at == 0 {
        return masked(a, Run::uniform(mask));
    }
    (a.first >> at == a.last()? >> at).then_some(Run::uniform((a.first >> at) & mask))
}

#[inline(always)]
fn signs(by: Run, a: Run) -> Option<Run> {
    // Mapped to unsigned numbers of the same order. A run that does not wrap has one sign if both ends have the same.
    let moved = Run { first: a.first ^ (1 << 31), step: a.step };
    let same = (moved.last()? ^ moved.first) >> 31 == 0;
    (by == Run::uniform(31) && same).then(|| Run::uniform((a.first as i32 >> 31) as u32))
}

/// `v_lshlrev_b64`: operand 0 is the shift, 1 the registers.
pub(super) fn shift_left64(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    #[inline(always)]
    fn run(w: &mut Wave, m: &Micro) -> Option<()> {
        let by = w.slot(m.src[0]) & 63;
        let (first, step) = operand64(w, m, 1)?;
        if by >= 32 {
            return None;
        }
        let step = u32::try_from(u64::from(step) << by).ok()?;
        hold64(w, [m.dst, m.dst + 1], first << by, step)
    }
    if w.exec() == u64::MAX && run(w, m).is_some() {
        return Flow::Next;
    }
    eagerly(w, m, ctx)
}

/// `v_lshl_add_u64`: registers, shift, registers.
pub(super) fn shift_add64(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    #[inline(always)]
    fn run(w: &mut Wave, m: &Micro) -> Option<()> {
        let by = w.slot(m.src[1]) & 7;
        let ((a, a_step), (b, b_step)) = (operand64(w, m, 0)?, operand64(w, m, 2)?);
        let step = u32::try_from((u64::from(a_step) << by) + u64::from(b_step)).ok()?;
        hold64(w, [m.dst, m.dst + 1], (a << by).wrapping_add(b), step)
    }
    // The hardware shifts by at most 4; larger values are left to the handler.
    if w.exec() == u64::MAX && w.slot(m.src[1]) <= 4 && run(w, m).is_some() {
        return Flow::Next;
    }
    eagerly(w, m, ctx)
}

/// In `Micro::post` of a sum: its carry may be read.
pub(super) const CARRIES: u32 = 1 << OWN;

/// The 64-bit sum that replaces several instructions: low halves in operands 0 and 1, high halves in 2 and 3. `LOW` and
/// `HIGH` tell whether 0 and 2 are slots; 1 and 3 are registers.
pub(super) fn sum64<const LOW: bool, const HIGH: bool>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    #[inline(always)]
    fn run<const LOW: bool, const HIGH: bool>(w: &mut Wave, m: &Micro) -> Option<()> {
        let place = |slot: bool, i: usize| {
            if slot { Some(Run::uniform(w.slot(m.src[i]))) } else { w.held.get(m.src[i]) }
        };
        let (b, d) = (place(false, 1)?, place(false, 3)?);
        let (a, c) = (place(LOW, 0)?, place(HIGH, 2)?);
        // All lanes have the same high halves, and low halves must not wrap, in the operands and in the sum.
        let step = a.step.checked_add(b.step)?;
        let spread = u32::try_from(STEPS * u64::from(step)).ok()?;
        let wide = |low: Run, high: Run| u64::from(low.first) | (u64::from(high.first) << 32);
        let (sum, carry) = wide(a, c).overflowing_add(wide(b, d));
        // A slot is the same for all lanes, so it may be of any size.
        let a_first = if LOW { 0 } else { a.first };
        let highest = b.first.max(a_first).max(sum as u32);
        if c.step | d.step != 0 || highest > u32::MAX - spread {
            return None;
        }
        if m.post & CARRIES != 0 {
            // High halves that are the same in all lanes have the same carry.
            w.set_slot64(slot::VCC, if carry { u64::MAX } else { 0 });
        }
        w.held.hold(m.dst, Run { first: sum as u32, step });
        w.held.hold(m.dst2, Run::uniform((sum >> 32) as u32));
        Some(())
    }
    if w.exec() == u64::MAX && run::<LOW, HIGH>(w, m).is_some() {
        return Flow::Skip;
    }
    eagerly(w, m, ctx)
}

/// The relation that a comparison requires of its first operand: bits of `Micro::post` from [`OWN`] on.
pub(super) const LESS: u32 = 1 << OWN;
pub(super) const EQUAL: u32 = 2 << OWN;
pub(super) const GREATER: u32 = 4 << OWN;
/// The numbers are signed.
pub(super) const SIGNED: u32 = 8 << OWN;

/// A comparison of a run with a value that is the same in all lanes.
pub(super) fn compare(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    #[inline(always)]
    fn lanes(w: &Wave, m: &Micro) -> Option<u64> {
        let (a, b) = (operand(w, m, 0)?, operand(w, m, 1)?);
        // Offset by half of the range, signed numbers compare like unsigned ones.
        let moved = if m.post & SIGNED != 0 { 1 << 31 } else { 0 };
        let (run, other, run_first) = if b.step == 0 { (a, b, true) } else { (b, a, false) };
        if other.step != 0 {
            return None;
        }
        let (run, limit) = (Run { first: run.first ^ moved, step: run.step }, other.first ^ moved);
        run.last()?;
        let (below, not_above) = counts(run, limit);
        let (less, greater) = (lowest(below), !lowest(not_above));
        let equal = !less & !greater;
        // Lanes of the run are less where the other operand is greater.
        let (less, greater) = if run_first { (less, greater) } else { (greater, less) };
        let chosen = |bit: u32, lanes: u64| if m.post & bit != 0 { lanes } else { 0 };
        Some(chosen(LESS, less) | chosen(EQUAL, equal) | chosen(GREATER, greater))
    }
    match lanes(w, m) {
        Some(lanes) => {
            w.set_slot64(m.dst, lanes & w.exec());
            Flow::Next
        }
        None => eagerly(w, m, ctx),
    }
}

/// The number of lanes of a run that does not wrap with values below `limit`, and with values not above it.
#[inline(always)]
fn counts(run: Run, limit: u32) -> (u32, u32) {
    let room = i64::from(limit) - i64::from(run.first);
    let (below, not_above) = match i64::from(run.step) {
        0 => (if room > 0 { i64::MAX } else { 0 }, if room >= 0 { i64::MAX } else { 0 }),
        1 => (room, room + 1),
        step => ((room + step - 1).div_euclid(step), room.div_euclid(step) + 1),
    };
    let lanes = |count: i64| count.clamp(0, LANES as i64) as u32;
    (lanes(below), lanes(not_above))
}

/// The mask of the first `lanes` lanes.
#[inline(always)]
fn lowest(lanes: u32) -> u64 {
    1_u64.checked_shl(lanes).map_or(u64::MAX, |bit| bit - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(run: Run) -> [u32; LANES] {
        std::array::from_fn(|lane| run.first.wrapping_add(run.step.wrapping_mul(lane as u32)))
    }

    const NUMBERS: [u32; 20] = [
        0,
        1,
        2,
        3,
        5,
        16,
        31,
        63,
        64,
        100,
        189,
        0xfd,
        0xff,
        0x13f,
        0x7fff_ffc0,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ff00,
        0xffff_fffd,
        0xffff_ffff,
    ];

    fn runs() -> impl Iterator<Item = Run> + Clone {
        let steps = [0, 1, 2, 3, 4, 5, 7, 16, 0x100, 0x0200_0000, 0xffff_ffff];
        NUMBERS.iter().flat_map(move |first| steps.map(|step| Run { first: *first, step }))
    }

    /// The result of an operation on runs, and the operation on one lane.
    type Case<'c> = (Option<Run>, &'c dyn Fn(u32) -> u32);

    /// If an operation returns a run, it equals the instruction's result in every lane.
    #[test]
    fn runs_are_what_the_lanes_would_be() {
        let mut made = [0; 4];
        for a in runs() {
            let row = lanes(a);
            for n in NUMBERS {
                let b = Run::uniform(n);
                let (at, width) = (n & 31, n >> 3 & 31);
                let results: [Case<'_>; 4] = [
                    (masked(a, b), &|x| x & n),
                    (either(a, b), &|x| x | n),
                    (bits(a, Run::uniform(at), Run::uniform(width)), &|x| x >> at & ((1 << width) - 1)),
                    (signs(b, a), &|x| ((x as i32) >> (n & 31)) as u32),
                ];
                for (i, (run, lane)) in results.into_iter().enumerate() {
                    let Some(run) = run else { continue };
                    assert_eq!(lanes(run), row.map(lane), "operation {i} of {a:?} and {n:#x}");
                    made[i] += 1;
                }
            }
        }
        assert!(made.iter().all(|n| *n > 100), "{made:?}");
    }

    #[test]
    fn lanes_below_a_limit_are_counted() {
        for run in runs().filter(|run| run.last().is_some()) {
            for limit in NUMBERS {
                let count = |f: &dyn Fn(u32) -> bool| lanes(run).iter().filter(|x| f(**x)).count() as u32;
                assert_eq!(counts(run, limit), (count(&|x| x < limit), count(&|x| x <= limit)), "{run:?} {limit:#x}");
            }
        }
    }
}
