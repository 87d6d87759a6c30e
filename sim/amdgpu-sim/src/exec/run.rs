//! The loop that runs a wave.

use super::{Ctx, Flow, Trap, Wave};
use crate::isa::inst::{Format, Inst};
use crate::isa::{Flags, Op, Type};

/// Why [`run`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// At a barrier; `run` must be called again when the other waves have reached it.
    Barrier,
    /// The wave yielded (`s_sleep`), or has used up its turn.
    Yield,
    /// The wave has ended.
    End,
    /// [`Wave::trap`] holds the reason, [`Wave::pc`] the position.
    Trap,
}

/// Runs `wave` until it ends, stops at a barrier, traps, or has executed about `turn` instructions (the count is
/// checked only on taken branches, so straight-line code is never interrupted).
pub(crate) fn run(wave: &mut Wave, ctx: &mut Ctx<'_>, turn: u64) -> Stop {
    ctx.enter(wave);
    let mut micros = ctx.program.micros();
    let before = wave.instructions;
    let stop = 'wave: loop {
        // A pointer tracks the position; the index and the instruction count are computed when the wave stops or branches.
        let first = (wave.pc as usize).min(micros.len());
        let mut rest = micros[first..].iter();
        let flow = 'straight: {
            while let Some(m) = rest.next() {
                // SAFETY: handlers are chosen by `lower` for the CPU that it ran on, and `m` was lowered for the program
                // that `wave` was made for.
                match unsafe { (m.run)(wave, m, ctx) } {
                    Flow::Next => {}
                    Flow::Skip => {
                        rest.nth((m.aux as usize).wrapping_sub(2));
                    }
                    flow => break 'straight flow,
                }
            }
            wave.trap = Some(Trap::WildJump(0));
            break 'wave Stop::Trap;
        };
        let next = micros.len() - rest.len();
        wave.instructions += (next - first) as u64;
        let stop = match flow {
            Flow::Next | Flow::Skip | Flow::Jump | Flow::Elsewhere => {
                if flow == Flow::Elsewhere {
                    micros = ctx.program.micros();
                }
                if wave.instructions - before < turn {
                    continue;
                }
                break Stop::Yield;
            }
            Flow::Barrier => Stop::Barrier,
            Flow::Yield => Stop::Yield,
            Flow::End => Stop::End,
            Flow::Trap => {
                wave.pc = next as u32 - 1;
                break Stop::Trap;
            }
        };
        wave.pc = next as u32;
        break stop;
    };
    // The wave may continue instruction by instruction, so runs are settled, except after its end.
    if stop != Stop::End {
        wave.settle_all();
    }
    stop
}

/// Runs `wave` until it ends, stops at a barrier, traps, or has executed exactly `turn` instructions.
pub(crate) fn run_exactly(wave: &mut Wave, ctx: &mut Ctx<'_>, turn: u64) -> Stop {
    ctx.enter(wave);
    wave.settle_all();
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
            Flow::Skip => wave.pc += m.aux,
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

/// Runs `wave` until it is about to store to LDS or has executed `turn` instructions (`None`), or ends, yields, stops
/// at a barrier, or traps.
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

/// Returns whether an instruction may change LDS.
fn stores_to_lds(inst: &Inst) -> bool {
    let info = inst.op.info();
    matches!(inst.format, Format::Ds | Format::Flat)
        && (info.is(Flags::atomic) || info.dst == Type::None && info.src[0] != Type::None)
}
