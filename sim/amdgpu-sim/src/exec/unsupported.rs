//! Instructions that are not supported.

use super::{Ctx, Flow, Micro, Trap, Wave};
use crate::isa::Op;
use crate::isa::inst::Inst;

pub(super) fn unsupported(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let why = match ctx.program.inst(m) {
        Some(inst) => Trap::Unsupported(why_not(inst)),
        None => Trap::Undecodable(ctx.program.source(m).word),
    };
    w.fail(why)
}

/// Why an instruction is not supported.
fn why_not(inst: &Inst) -> &'static str {
    match inst.op {
        Op::s_rfe_b64 | Op::s_rfe_restore_b64 => {
            "a privileged instruction: it ends a trap handler, and no trap handler is installed"
        }
        Op::s_set_gpr_idx_on => "indexing of registers in code whose instructions overlap",
        Op::s_endpgm_ordered_ps_done => {
            "the end of a pixel shader's ordered section: its message is not one that compute waves can send"
        }
        _ if inst.mods.gds => "the global data share",
        Op::v_dot2c_f32_f16 | Op::v_pk_fmac_f16 => {
            "the sign or the absolute value of a pair of halves in this encoding: no manual says what they mean"
        }
        _ => "the software GPU does not carry this instruction out",
    }
}
