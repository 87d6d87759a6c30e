//! The loop that runs a wave.

use super::{Ctx, Flow, Trap, Wave};
use crate::isa::inst::{Format, Inst};
use crate::isa::{Flags, Op, Type};

/// Why [`run`] handed a wave back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// At a barrier; `run` again when the other waves are there too.
    Barrier,
    /// It gave way (`s_sleep`), or has used up its turn.
    Yield,
    /// It is done.
    End,
    /// [`Wave::trap`] says why; [`Wave::pc`] where.
    Trap,
}

/// Runs `wave` until it ends, stops at a barrier, traps, or has carried out about `turn` instructions
/// (the count is looked at on taken branches only, so straight-line code is never cut).
pub(crate) fn run(wave: &mut Wave, ctx: &mut Ctx<'_>, turn: u64) -> Stop {
    ctx.enter(wave);
    let mut micros = ctx.program.micros();
    let mut pc = wave.pc as usize;
    let mut left = turn;
    let stop = 'wave: loop {
        for m in micros.get(pc..).unwrap_or_default() {
            wave.pc = pc as u32;
            left = left.wrapping_sub(1);
            // SAFETY: handlers are chosen by `lower` for the CPU that it ran on, and `m` was lowered for the program
            // that `wave` was made for.
            let flow = unsafe { (m.run)(wave, m, ctx) };
            if flow == Flow::Next {
                pc += 1;
                continue;
            }
            match flow {
                Flow::Next | Flow::Jump | Flow::Elsewhere => {
                    if flow == Flow::Elsewhere {
                        micros = ctx.program.micros();
                    }
                    pc = wave.pc as usize;
                    if left as i64 <= 0 {
                        break 'wave Stop::Yield;
                    }
                    continue 'wave;
                }
                Flow::Barrier => {
                    wave.pc = pc as u32 + 1;
                    break 'wave Stop::Barrier;
                }
                Flow::Yield => {
                    wave.pc = pc as u32 + 1;
                    break 'wave Stop::Yield;
                }
                Flow::End => break 'wave Stop::End,
                Flow::Trap => break 'wave Stop::Trap,
            }
        }
        wave.trap = Some(Trap::WildJump(0));
        break Stop::Trap;
    };
    wave.instructions += turn.wrapping_sub(left);
    stop
}

/// Runs `wave` until it ends, stops at a barrier, traps, or has carried out `turn` instructions: wherever that is.
pub(crate) fn run_exactly(wave: &mut Wave, ctx: &mut Ctx<'_>, turn: u64) -> Stop {
    ctx.enter(wave);
    for _ in 0..turn {
        let program = ctx.program;
        let Some(m) = program.single(wave.pc) else {
            wave.trap = Some(Trap::WildJump(0));
            return Stop::Trap;
        };
        wave.instructions += 1;
        // SAFETY: as in `run`.
        match unsafe { (m.run)(wave, m, ctx) } {
            Flow::Next => wave.pc += 1,
            Flow::Jump | Flow::Elsewhere => {}
            Flow::Barrier => {
                wave.pc += 1;
                return Stop::Barrier;
            }
            Flow::Yield => {
                wave.pc += 1;
                return Stop::Yield;
            }
            Flow::End => return Stop::End,
            Flow::Trap => return Stop::Trap,
        }
    }
    Stop::Yield
}

/// Runs `wave` until it is about to store to LDS or has carried out `turn` instructions (`None`), or ends, gives way, stops at a barrier,
/// or traps.
pub(crate) fn run_to_store(wave: &mut Wave, ctx: &mut Ctx<'_>, turn: u64) -> Option<Stop> {
    for _ in 0..turn {
        let inst = ctx.program.single(wave.pc).and_then(|m| ctx.program.inst(m));
        if inst.is_some_and(stores_to_lds) {
            return None;
        }
        let sleeps = inst.is_some_and(|inst| inst.op == Op::s_sleep);
        let stop = run_exactly(wave, ctx, 1);
        if stop != Stop::Yield || sleeps {
            return Some(stop);
        }
    }
    None
}

/// Whether an instruction may change LDS.
fn stores_to_lds(inst: &Inst) -> bool {
    let info = inst.op.info();
    matches!(inst.format, Format::Ds | Format::Flat)
        && (info.is(Flags::atomic) || info.dst == Type::None && info.src[0] != Type::None)
}
