//! Branches, calls, EXEC save and restore, hardware registers, messages.

use crate::exec::constant::{Wide, constant32};
use crate::exec::mem::{PRIVATE_BASE, SHARED_BASE};
use crate::exec::{Ctx, Flow, Handler, Lowering, Micro, Mode, Trap, Wave, slot};
use crate::isa::Op;
use crate::isa::inst::{Inst, Operand};

/// Operations that save EXEC in the destination and combine it with the source (`s`); SCC: EXEC is not zero.
macro_rules! saves {
    ($($op:ident |$s:ident, $exec:ident| $e:expr;)*) => {
        fn saving(op: Op) -> Option<Handler> {
            Some(match op {
                $(Op::$op => {
                    fn run(w: &mut Wave, m: &Micro, _: &mut Ctx<'_>) -> Flow {
                        let ($s, $exec) = (w.slot64(m.src[0]), w.exec());
                        let lanes: u64 = $e;
                        w.set_slot64(m.dst, $exec);
                        w.set_exec(lanes);
                        w.set_scc(lanes != 0);
                        Flow::Next
                    }
                    run
                })*
                _ => return None,
            })
        }
    };
}

saves! {
    s_and_saveexec_b64 |s, exec| s & exec;
    s_or_saveexec_b64 |s, exec| s | exec;
    s_xor_saveexec_b64 |s, exec| s ^ exec;
    s_andn2_saveexec_b64 |s, exec| s & !exec;
    s_orn2_saveexec_b64 |s, exec| s | !exec;
    s_nand_saveexec_b64 |s, exec| !(s & exec);
    s_nor_saveexec_b64 |s, exec| !(s | exec);
    s_xnor_saveexec_b64 |s, exec| !(s ^ exec);
    s_andn1_saveexec_b64 |s, exec| !s & exec;
    s_orn1_saveexec_b64 |s, exec| !s | exec;
}

/// Operations that write the new EXEC to the destination too.
macro_rules! writes {
    ($($name:ident |$s:ident, $exec:ident| $e:expr;)*) => { $(
        fn $name(w: &mut Wave, m: &Micro, _: &mut Ctx<'_>) -> Flow {
            let ($s, $exec) = (w.slot64(m.src[0]), w.exec());
            let lanes: u64 = $e;
            w.set_slot64(m.dst, lanes);
            w.set_exec(lanes);
            w.set_scc(lanes != 0);
            Flow::Next
        }
    )* };
}

writes! {
    andn1_wrexec |s, exec| !s & exec;
    andn2_wrexec |s, exec| s & !exec;
}

macro_rules! branches {
    ($($name:ident |$w:ident| $e:expr;)*) => { $(
        fn $name($w: &mut Wave, m: &Micro, _: &mut Ctx<'_>) -> Flow {
            if $e {
                $w.pc = m.aux;
                Flow::Jump
            } else {
                Flow::Next
            }
        }
    )* };
}

branches! {
    branch |_w| true;
    branch_scc0 |w| !w.scc();
    branch_scc1 |w| w.scc();
    branch_vccz |w| w.vcc() == 0;
    branch_vccnz |w| w.vcc() != 0;
    branch_execz |w| w.exec() == 0;
    branch_execnz |w| w.exec() != 0;
}

fn next(_: &mut Wave, _: &Micro, _: &mut Ctx<'_>) -> Flow {
    Flow::Next
}

/// Orders loads before later loads, and stores before later stores: needed on hosts with a weaker memory order than
/// x86.
fn wait(_: &mut Wave, _: &Micro, _: &mut Ctx<'_>) -> Flow {
    std::sync::atomic::fence(std::sync::atomic::Ordering::AcqRel);
    Flow::Next
}

fn end(_: &mut Wave, _: &Micro, _: &mut Ctx<'_>) -> Flow {
    Flow::End
}

fn barrier(_: &mut Wave, _: &Micro, _: &mut Ctx<'_>) -> Flow {
    Flow::Barrier
}

fn give_way(_: &mut Wave, _: &Micro, _: &mut Ctx<'_>) -> Flow {
    Flow::Yield
}

fn trap(w: &mut Wave, m: &Micro, _: &mut Ctx<'_>) -> Flow {
    w.fail(Trap::Trap(m.aux))
}

/// The address after this instruction.
fn return_address(m: &Micro, ctx: &Ctx<'_>) -> u64 {
    let source = ctx.program.source(m);
    source.address + source.inst.map_or(4, |i| u64::from(i.size))
}

fn jump_to(w: &mut Wave, address: u64, ctx: &mut Ctx<'_>) -> Flow {
    match ctx.program.at(address) {
        Some(pc) => {
            w.pc = pc;
            Flow::Jump
        }
        None => match ctx.part_at(address) {
            Some((part, program, pc)) => {
                w.go_to(part, program);
                w.pc = pc;
                ctx.program = program;
                Flow::Elsewhere
            }
            None => w.fail(Trap::WildJump(address)),
        },
    }
}

fn getpc(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    w.set_slot64(m.dst, return_address(m, ctx));
    Flow::Next
}

fn setpc(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let target = w.slot64(m.src[0]);
    jump_to(w, target, ctx)
}

fn swappc(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let target = w.slot64(m.src[0]);
    w.set_slot64(m.dst, return_address(m, ctx));
    jump_to(w, target, ctx)
}

fn call(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    w.set_slot64(m.dst, return_address(m, ctx));
    w.pc = m.aux;
    Flow::Jump
}

/// The number of entries of the fork stack, which is in s0 to s23. An entry holds lanes and the address where they
/// continue. At a fork at most half of the lanes continue first, so 64 lanes need no more entries.
const FORKS: u32 = 6;

/// Continues with the smaller set of lanes: those of `mask` at `target`, or the others after the instruction. The
/// matching `s_cbranch_join` continues the rest.
fn fork(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>, target: u64) -> Flow {
    let (mask, exec, next) = (w.slot64(m.src[0]), w.exec(), return_address(m, ctx));
    let (pass, fail) = (mask & exec, !mask & exec);
    if pass == exec {
        return jump_to(w, target, ctx);
    }
    if fail == exec {
        return Flow::Next;
    }
    let depth = w.mode.0 >> Mode::CSP;
    if depth >= FORKS {
        return w.fail(Trap::Unsupported("a fork beyond the six entries of the stack of forks"));
    }
    let fail_first = fail.count_ones() < pass.count_ones();
    let (now, later, address) = if fail_first { (fail, pass, target) } else { (pass, fail, next) };
    w.set_exec(now);
    w.set_slot64(4 * depth as u16, later);
    w.set_slot64(4 * depth as u16 + 2, address);
    w.mode.0 += 1 << Mode::CSP;
    if fail_first { Flow::Next } else { jump_to(w, target, ctx) }
}

fn fork_to_offset(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let words = ctx.program.inst(m).and_then(immediate).unwrap_or(0) as i32;
    let target = return_address(m, ctx).wrapping_add_signed(4 * i64::from(words));
    fork(w, m, ctx, target)
}

fn fork_to_register(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let target = w.slot64(m.src[1]) & ADDRESS;
    fork(w, m, ctx, target)
}

/// Addresses of instructions: bits 47:2.
const ADDRESS: u64 = 0xffff_ffff_fffc;

/// Joins the parts of a fork. The operand is the depth of the stack before the fork: the part that arrives first finds
/// it deeper, and waits for the other.
fn join(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let depth = w.mode.0 >> Mode::CSP;
    if depth == w.slot(m.src[0]) {
        return Flow::Next;
    }
    let Some(depth) = depth.checked_sub(1) else {
        return w.fail(Trap::Unsupported("a join without a fork"));
    };
    w.mode.0 -= 1 << Mode::CSP;
    let (lanes, address) = (w.slot64(4 * depth as u16), w.slot64(4 * depth as u16 + 2));
    w.set_exec(lanes);
    jump_to(w, address & ADDRESS, ctx)
}

fn skip_vectors(w: &mut Wave, m: &Micro, _: &mut Ctx<'_>) -> Flow {
    let bit = w.slot(m.src[0]) >> (w.slot(m.src[1]) & 31) & 1;
    w.mode.0 = w.mode.0 & !Mode::VSKIP | bit * Mode::VSKIP;
    Flow::Next
}

/// Numbers of hardware registers.
mod hwreg {
    pub(super) const MODE: u32 = 1;
    pub(super) const STATUS: u32 = 2;
    pub(super) const TRAPSTS: u32 = 3;
    pub(super) const HW_ID: u32 = 4;
    pub(super) const GPR_ALLOC: u32 = 5;
    pub(super) const LDS_ALLOC: u32 = 6;
    pub(super) const IB_STS: u32 = 7;
    /// The apertures' bases: compilers read them before `src_shared_base` and `src_private_base` existed.
    pub(super) const SH_MEM_BASES: u32 = 15;
    pub(super) const TBA_LO: u32 = 16;
    pub(super) const TMA_HI: u32 = 19;
    /// On gfx942: the die's number.
    pub(super) const XCC_ID: u32 = 20;
}

/// Register, first bit and mask of a `hwreg` field.
fn field(bits: u32) -> (u32, u32, u32) {
    let width = (bits >> 11 & 31) + 1;
    (bits & 63, bits >> 6 & 31, u32::MAX >> (32 - width))
}

/// The bits of MODE that the code can change.
pub(in crate::exec) fn mode_changes<'a>(code: impl Iterator<Item = &'a Inst>) -> u32 {
    code.filter(|i| matches!(i.op, Op::s_setreg_b32 | Op::s_setreg_imm32_b32))
        .filter_map(immediate)
        .map(field)
        .filter(|(id, ..)| *id == hwreg::MODE)
        .fold(0, |bits, (_, offset, mask)| bits | mask << offset)
}

fn getreg(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let (id, offset, mask) = field(m.aux);
    let value = match id {
        hwreg::MODE => w.mode.0,
        // SCC, EXECZ, VCCZ, in a barrier's group, and valid.
        hwreg::STATUS => {
            u32::from(w.scc()) | u32::from(w.exec() == 0) << 9 | u32::from(w.vcc() == 0) << 10 | 1 << 11 | 1 << 16
        }
        // No exception is pending, and there is no trap handler.
        hwreg::TRAPSTS | hwreg::IB_STS | hwreg::TBA_LO..=hwreg::TMA_HI => 0,
        hwreg::XCC_ID => ctx.env.seat.place().die,
        // A group's waves are distributed over the four SIMDs of its compute unit.
        hwreg::HW_ID => {
            let place = ctx.env.seat.place();
            w.id >> 2 & 15 | (w.id & 3) << 4 | place.unit << 8 | place.engine << 13
        }
        // Sizes minus one granule: 8 vector registers, 16 scalar ones.
        hwreg::GPR_ALLOC => u32::from(ctx.program.layout().vgpr_granules() - 1) << 8 | 6 << 24,
        // The size in granules of 128 words.
        hwreg::LDS_ALLOC => (ctx.lds.len() as u32).div_ceil(512) << 12,
        // Bits 63:48 of the addresses.
        hwreg::SH_MEM_BASES => (SHARED_BASE >> 48 << 16 | PRIVATE_BASE >> 48) as u32,
        _ => return w.fail(Trap::Unsupported("reading this hardware register")),
    };
    w.set_slot(m.dst, value >> offset & mask);
    Flow::Next
}

/// Bits of MODE with unsupported effects: exceptions as traps, and indexing.
const MODE_NOT_CARRIED_OUT: u32 = 0x1ff << 12 | Mode::GPR_IDX_EN;

fn setreg(w: &mut Wave, m: &Micro, _: &mut Ctx<'_>) -> Flow {
    let (id, offset, mask) = field(m.aux);
    match id {
        hwreg::MODE => {}
        // There are no exceptions to clear.
        hwreg::TRAPSTS => return Flow::Next,
        _ => return w.fail(Trap::Unsupported("writing this hardware register")),
    }
    let value = w.slot(m.src[0]);
    let mode = w.mode.0 & !(mask << offset) | (value & mask) << offset;
    if (mode ^ w.mode.0) & MODE_NOT_CARRIED_OUT != 0 {
        return w.fail(Trap::Unsupported("a MODE with exceptions that trap, or with another GPR_IDX_EN"));
    }
    w.mode = Mode(mode);
    Flow::Next
}

fn halt(w: &mut Wave, _: &Micro, _: &mut Ctx<'_>) -> Flow {
    w.fail(Trap::Unsupported("a wave that halts until a debugger lets it go on: there is none"))
}

/// MSG_INTERRUPT.
fn interrupt(w: &mut Wave, _: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    ctx.env.outside.interrupt(w.m0() & 0xff_ffff);
    Flow::Next
}

/// Sends the message, then halts the wave.
fn interrupt_and_halt(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    interrupt(w, m, ctx);
    halt(w, m, ctx)
}

fn message(w: &mut Wave, _: &Micro, _: &mut Ctx<'_>) -> Flow {
    w.fail(Trap::Unsupported("a message other than MSG_INTERRUPT"))
}

fn movrels32(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    relative(w, ctx, m.src[0], m.dst, 1, true)
}

fn movrels64(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    relative(w, ctx, m.src[0], m.dst, 2, true)
}

fn movreld32(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    relative(w, ctx, m.src[0], m.dst, 1, false)
}

fn movreld64(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    relative(w, ctx, m.src[0], m.dst, 2, false)
}

/// `s_movrels` (adds `m0` to the source register) and `s_movreld` (to the destination).
fn relative(w: &mut Wave, ctx: &Ctx<'_>, from: u16, to: u16, words: u16, source: bool) -> Flow {
    let base = if source { from } else { to };
    let index = u64::from(base) + u64::from(w.m0());
    let (from, to) = match (index + u64::from(words) <= u64::from(ctx.program.allocation.sgprs), source) {
        (true, true) => (index as u16, to),
        (true, false) => (from, index as u16),
        // Beyond the last register, as the manual says under "Out-of-Range behavior".
        (false, true) => (0, to),
        (false, false) => return Flow::Next,
    };
    if words == 1 {
        let value = w.slot(from);
        w.set_slot(to, value);
    } else {
        let value = w.slot64(from);
        w.set_slot64(to, value);
    }
    Flow::Next
}

fn gpr_index_on(w: &mut Wave, m: &Micro, _: &mut Ctx<'_>) -> Flow {
    let index = w.slot(m.src[0]);
    let m0 = w.m0() & !0xf0ff | index & 0xff | (m.aux & 15) << 12;
    w.set_slot(slot::M0, m0);
    w.mode.0 |= Mode::GPR_IDX_EN;
    Flow::Next
}

fn gpr_index_off(w: &mut Wave, _: &Micro, _: &mut Ctx<'_>) -> Flow {
    w.mode.0 &= !Mode::GPR_IDX_EN;
    Flow::Next
}

fn gpr_index_mode(w: &mut Wave, m: &Micro, _: &mut Ctx<'_>) -> Flow {
    let m0 = w.m0() & !0xf000 | (m.aux & 15) << 12;
    w.set_slot(slot::M0, m0);
    Flow::Next
}

fn gpr_index(w: &mut Wave, m: &Micro, _: &mut Ctx<'_>) -> Flow {
    let m0 = w.m0() & !0xff | w.slot(m.src[0]) & 0xff;
    w.set_slot(slot::M0, m0);
    Flow::Next
}

/// The immediate among the sources.
fn immediate(inst: &Inst) -> Option<u32> {
    inst.src.iter().find_map(|s| match s {
        Operand::Imm(n) => Some(*n as u32),
        _ => None,
    })
}

/// Lowers the instructions of this module.
pub(super) fn lower(inst: &Inst, l: &mut Lowering, m: &mut Micro) -> Option<Handler> {
    if let Some(handler) = saving(inst.op) {
        m.dst = l.slot64(inst.dst, Wide::Unsigned)?;
        m.src[0] = l.slot64(inst.src[0], Wide::Unsigned)?;
        return Some(handler);
    }
    Some(match inst.op {
        Op::s_andn1_wrexec_b64 | Op::s_andn2_wrexec_b64 | Op::s_swappc_b64 => {
            m.dst = l.slot64(inst.dst, Wide::Unsigned)?;
            m.src[0] = l.slot64(inst.src[0], Wide::Unsigned)?;
            match inst.op {
                Op::s_andn1_wrexec_b64 => andn1_wrexec,
                Op::s_andn2_wrexec_b64 => andn2_wrexec,
                _ => swappc,
            }
        }
        Op::s_setpc_b64 => {
            m.src[0] = l.slot64(inst.src[0], Wide::Unsigned)?;
            setpc
        }
        Op::s_getpc_b64 => {
            m.dst = l.slot64(inst.dst, Wide::Unsigned)?;
            getpc
        }
        // The target is filled in when every instruction has its position.
        Op::s_call_b64 => {
            m.dst = l.slot64(inst.dst, Wide::Unsigned)?;
            call
        }
        Op::s_cbranch_i_fork => {
            m.src[0] = l.slot64(inst.src[1], Wide::Unsigned)?;
            fork_to_offset
        }
        Op::s_cbranch_g_fork => {
            m.src[0] = l.slot64(inst.src[0], Wide::Unsigned)?;
            m.src[1] = l.slot64(inst.src[1], Wide::Unsigned)?;
            fork_to_register
        }
        Op::s_cbranch_join => {
            m.src[0] = l.slot(inst.src[0])?;
            join
        }
        Op::s_setvskip => {
            m.src[0] = l.slot(inst.src[0])?;
            m.src[1] = l.slot(inst.src[1])?;
            skip_vectors
        }
        Op::s_branch => branch,
        Op::s_cbranch_scc0 => branch_scc0,
        Op::s_cbranch_scc1 => branch_scc1,
        Op::s_cbranch_vccz => branch_vccz,
        Op::s_cbranch_vccnz => branch_vccnz,
        Op::s_cbranch_execz => branch_execz,
        Op::s_cbranch_execnz => branch_execnz,
        // No debugger is attached: never taken.
        Op::s_cbranch_cdbgsys
        | Op::s_cbranch_cdbguser
        | Op::s_cbranch_cdbgsys_or_user
        | Op::s_cbranch_cdbgsys_and_user => next,
        Op::s_endpgm | Op::s_endpgm_saved => end,
        Op::s_barrier => barrier,
        Op::s_sleep => give_way,
        // `__builtin_debugtrap`: continues without a debugger.
        Op::s_trap if immediate(inst)? & 0xff == 3 => next,
        Op::s_trap => {
            m.aux = immediate(inst)? & 0xff;
            trap
        }
        Op::s_sendmsg if immediate(inst)? & 15 == 1 => interrupt,
        Op::s_sendmsghalt if immediate(inst)? & 15 == 1 => interrupt_and_halt,
        Op::s_sendmsg | Op::s_sendmsghalt => message,
        Op::s_sethalt if immediate(inst)? & 1 == 0 => next,
        Op::s_sethalt => halt,
        Op::s_setkill if immediate(inst)? & 1 == 0 => next,
        Op::s_setkill => end,
        Op::s_waitcnt if cfg!(not(target_arch = "x86_64")) => wait,
        // Memory is in order, the instruction cache is coherent, and there are no performance counters.
        Op::s_nop
        | Op::s_waitcnt
        | Op::s_setprio
        | Op::s_wakeup
        | Op::s_icache_inv
        | Op::s_incperflevel
        | Op::s_decperflevel
        | Op::s_ttracedata => next,
        Op::s_set_gpr_idx_off => gpr_index_off,
        Op::s_getreg_b32 => {
            m.dst = l.slot(inst.dst)?;
            m.aux = immediate(inst)?;
            getreg
        }
        Op::s_setreg_b32 | Op::s_setreg_imm32_b32 => {
            m.src[0] = l.slot(inst.src[1])?;
            m.aux = immediate(inst)?;
            setreg
        }
        Op::s_movrels_b32 | Op::s_movreld_b32 => {
            m.dst = l.slot(inst.dst)?;
            m.src[0] = l.slot(inst.src[0])?;
            if inst.op == Op::s_movrels_b32 { movrels32 } else { movreld32 }
        }
        Op::s_movrels_b64 | Op::s_movreld_b64 => {
            m.dst = l.slot64(inst.dst, Wide::Unsigned)?;
            m.src[0] = l.slot64(inst.src[0], Wide::Unsigned)?;
            if inst.op == Op::s_movrels_b64 { movrels64 } else { movreld64 }
        }
        Op::s_set_gpr_idx_on => {
            m.src[0] = l.slot(inst.src[0])?;
            m.aux = constant32(inst.src[1])?;
            gpr_index_on
        }
        Op::s_set_gpr_idx_mode => {
            m.aux = immediate(inst)?;
            gpr_index_mode
        }
        Op::s_set_gpr_idx_idx => {
            m.src[0] = l.slot(inst.src[0])?;
            gpr_index
        }
        _ => return None,
    })
}
