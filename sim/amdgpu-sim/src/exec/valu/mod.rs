//! Vector instructions: formats VOP1, VOP2, VOP3, VOP3P, VOPC, with SDWA and DPP.
//!
//! An operation is a function of one lane's operands (the tables of this module's children). The loops of [`lane_loop`]
//! run it over 64 lanes, in a form that the compiler vectorises, once for the CPU's baseline and once for AVX2 and FMA.
//! Operands other than plain vector registers or constants are converted to that form first (`operand::prepare`);
//! results that need more than a masked write are processed in `operand::finish`.

mod address;
mod cmp;
mod conv;
mod cube;
mod directed;
mod div;
mod entry;
mod f16;
mod f32;
mod f64;
mod fp8;
mod half;
mod int;
mod lane;
mod lane_loop;
mod lane_mask;
mod lanes;
mod lower;
mod math;
mod mix;
mod operand;
mod packed;
mod pair;
mod preparation;
mod round;
mod sad;
mod special;
mod table;
mod trig;

pub(super) use address::{Sum, fuse};
pub(super) use directed::Directed;
pub(super) use half::bits as half_bits;
pub(super) use lower::lower;
pub(super) use preparation::Prepare;
