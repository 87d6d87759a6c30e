//! Execution: a kernel's machine code, lowered once, run one 64-lane wave at a time.
//!
//! # How a kernel runs
//! [`Program::lower`] decodes the code that is reachable from a kernel's entry and turns every
//! instruction into a [`Micro`]: a [`Handler`] function pointer and operands that are already
//! resolved to register rows (vector) or slots (scalar). [`run()`] calls one handler after the other
//! until the wave ends, meets a barrier, yields or traps. No handler looks at the opcode again.
//!
//! # State
//! A [`Wave`] has
//! * *rows*: one [`Row`] of 64 lanes a vector register: `v0..`, then `a0..`, then constants that are
//!   broadcast once, then scratch rows for operands that need preparing. [`Wave::row`] and [`Wave::row_mut`].
//! * *slots*: scalar registers, numbered as the hardware encodes them (`s0` = 0, `vcc` = 106, `m0` = 124,
//!   `exec` = 126, see [`slot`]), then constants. A 64-bit value is two consecutive slots, low half first.
//!   [`Wave::slot`], [`Wave::slot64`], [`Wave::exec`].
//!
//! Both index spaces are checked when the program is lowered.
//!
//! # The contract of a handler
//! `unsafe fn(&mut Wave, &Micro, &mut Ctx<'_>) -> Flow`. A safe `fn` of that signature coerces to it; it is `unsafe`
//! only because some handlers are compiled for CPU features that must be present. `wave.pc` is updated only where waves
//! stop or branch: a handler cannot query its own position. A handler reads its operands through `m.src`, `m.dst`,
//! writes only lanes that [`Wave::exec`] enables, and returns
//! * [`Flow::Next`]: continue with the next instruction,
//! * [`Flow::Skip`]: continue after the `m.aux` instructions from here on, which this one replaces,
//! * [`Flow::Jump`]: continue at `wave.pc` (an index of [`Program::micros`]),
//! * [`Flow::Barrier`], [`Flow::Yield`], [`Flow::End`]: return the wave to the scheduler; `wave.pc` is then the next
//!   instruction,
//! * [`Flow::Trap`]: after [`Wave::trap`] has stored the reason. `wave.pc` is then the instruction that trapped.
//!
//! # Memory instructions
//! Everything of formats SMEM, DS, FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF and MIMG is lowered by [`mem::lower`]`(&Inst,
//! &mut Lowering, &mut Micro) -> Option<Handler>`. It sets the micro-operation's operands with [`Lowering::row`]
//! (vector operand to row) and [`Lowering::slot`] (scalar operand, registers or constants, to slot), and returns the
//! handler, or `None` for an unsupported instruction (which then traps when reached, naming itself). `m.aux` (32 bits)
//! is free for its use; [`Program::inst`] returns the decoded instruction if that is not enough. Address checks and
//! dispatch properties are in [`mem::Env`], which [`Ctx`] contains; LDS is [`Ctx::lds`], the workgroup's own.

mod affine;
mod allocation;
mod constant;
mod control_flow;
mod cpu;
mod flow;
mod gws;
mod indexed;
mod lanes;
mod layout;
mod liveness;
mod lower;
mod lowering;
#[allow(clippy::precedence, reason = "shifts and masks of fields read better without parentheses")]
#[allow(clippy::needless_range_loop, reason = "a lane is the same place in several arrays")]
mod matrix;
pub(crate) mod mem;
mod outside;
mod parts;
mod poll;
mod polling_loads;
mod probe;
mod program;
mod run;
#[allow(clippy::precedence, reason = "shifts and masks of fields read better without parentheses")]
mod salu;
mod skipped;
mod start;
#[cfg(test)]
#[allow(clippy::precedence, clippy::type_complexity, reason = "tables of short formulas")]
#[allow(clippy::needless_range_loop, reason = "a lane is the same place in several arrays")]
mod tests;
mod trap;
mod unsupported;
#[allow(clippy::precedence, reason = "shifts and masks of fields read better without parentheses")]
#[allow(clippy::needless_range_loop, reason = "a lane is the same place in several arrays")]
mod valu;
mod wave;
mod zero_flags;

pub(crate) use allocation::Resources;
pub(crate) use flow::Flow;
pub(crate) use lanes::LANES;
pub(crate) use lower::WHOLE;
pub(crate) use lowering::Lowering;
pub(crate) use outside::Outside;
pub(crate) use poll::{Seen, Watch};
pub(crate) use polling_loads::polling_loads;
pub use probe::unsupported;
pub(crate) use program::{Ctx, Handler, Micro, Program, Source};
pub(crate) use run::{Stop, run, run_exactly, run_to_store};
pub(crate) use start::Start;
pub(crate) use trap::Trap;
pub(crate) use wave::{Mode, Row, Wave, slot};
