//! The instruction table: one row per instruction, split by encoding.
//!
//! ```text
//! mnemonic = opcode: destination & second destination <- (sources) [facts];
//! ```
//! `0x16 / _` is an opcode of gfx90a that gfx942 lacks, `_ / 0x17` the reverse. The types are [`Type`](super::Type)'s,
//! the facts [`Flags`](super::Flags)', and `_` means no operand.
//!
//! Each file's macro passes its rows on to the next one in the list; the last one receives all of them.

#[macro_use]
mod buffer;
#[macro_use]
mod ds;
#[macro_use]
mod flat;
#[macro_use]
mod smem;
#[macro_use]
mod sop;
#[macro_use]
mod vop;
#[macro_use]
mod vop3;
#[macro_use]
mod vopc;

/// Calls the named macro with every row of the table.
macro_rules! rows {
    ($callback:ident) => {
        sop_rows! { [smem_rows vop_rows vopc_rows vop3_rows ds_rows flat_rows buffer_rows $callback] }
    };
}
pub(super) use rows;
