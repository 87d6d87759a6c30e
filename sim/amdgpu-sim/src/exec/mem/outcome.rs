//! The ends of handlers of memory instructions.

use super::fault::{AccessFault, Checked};
use crate::exec::{Ctx, Flow, Micro, Trap, Wave};

/// Converts the result of a handler.
#[inline(always)]
pub(super) fn done(w: &mut Wave, result: Checked) -> Flow {
    match result {
        Ok(()) => Flow::Next,
        Err(fault) => failed(w, fault),
    }
}

#[cold]
fn failed(w: &mut Wave, fault: Box<AccessFault>) -> Flow {
    w.fail(Trap::Memory(fault))
}

/// The handler of an instruction without effect: caches are coherent.
pub(super) fn nothing(_: &mut Wave, _: &Micro, _: &mut Ctx<'_>) -> Flow {
    Flow::Next
}
