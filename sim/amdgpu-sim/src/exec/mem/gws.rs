//! GWS instructions.

use crate::exec::gws::RESOURCES;
use crate::exec::{Ctx, Flow, Handler, Lowering, Micro, Wave};
use crate::isa::inst::Inst;
use crate::isa::{Op, Type};

fn handler<const OP: u16>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let op = Op::ALL[usize::from(OP)];
    let value = match (op.info().src[0], w.exec()) {
        (Type::None, _) | (_, 0) => 0,
        (_, exec) => w.row(m.src[0])[exec.trailing_zeros() as usize],
    };
    // The base in bits 21:16 of M0, and the instruction's offset.
    let id = ((w.m0() >> 16) + m.aux) as u8 & (RESOURCES as u8 - 1);
    w.gws = ctx.env.outside.gws.apply(op, id, value);
    if w.gws.is_some() { Flow::Yield } else { Flow::Next }
}

/// Chooses the handler of a GWS instruction; `None` for any other.
pub(super) fn lower(inst: &Inst, l: &mut Lowering, m: &mut Micro) -> Option<Handler> {
    m.aux = inst.mods.offset as u32;
    let mut value = || {
        m.src[0] = l.row(inst.src[0])?;
        Some(())
    };
    Some(match inst.op {
        Op::ds_gws_init => {
            value()?;
            handler::<{ Op::ds_gws_init as u16 }>
        }
        Op::ds_gws_barrier => {
            value()?;
            handler::<{ Op::ds_gws_barrier as u16 }>
        }
        Op::ds_gws_sema_br => {
            value()?;
            handler::<{ Op::ds_gws_sema_br as u16 }>
        }
        Op::ds_gws_sema_v => handler::<{ Op::ds_gws_sema_v as u16 }>,
        Op::ds_gws_sema_p => handler::<{ Op::ds_gws_sema_p as u16 }>,
        Op::ds_gws_sema_release_all => handler::<{ Op::ds_gws_sema_release_all as u16 }>,
        _ => return None,
    })
}
