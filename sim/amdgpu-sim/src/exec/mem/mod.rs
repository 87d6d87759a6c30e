//! Memory instructions: scalar, global, flat, scratch, buffer, image and LDS.
//!
//! A handler computes the lanes' addresses, has all of them checked by the target [`Space`](space::Space), and only
//! then moves data. So an instruction that faults has not written anything in any lane, and the moves need no further
//! check.

mod aperture;
mod atomic;
mod buffer;
mod convert;
mod cross_lane;
mod ds;
mod ds_address;
mod ds_atomic;
mod env;
mod fault;
mod flat;
mod format;
mod gws;
mod image;
mod lds;
mod lds_copy;
mod lying;
mod outcome;
mod reuse;
mod scalar;
mod space;
mod transfer;

use super::{Handler, Lowering, Micro};
use crate::isa::inst::{Format, Inst};

pub(crate) use aperture::{APERTURE_LIMIT, NO_HEAP, NO_HOSTCALL};
pub use aperture::{PRIVATE_BASE, SHARED_BASE};
pub(crate) use env::Env;
pub(super) use fault::AccessFault;
pub(crate) use image::{ImageOperands, touched as image_touches};
pub(super) use lying::Lying;
pub(super) use reuse::share;
pub(crate) use space::{Scratch, View};

/// The size of an element of a typed buffer. Its format is in the instruction (7 bits), or in the descriptor's last
/// word. `None` for an invalid format.
pub(crate) fn element_bytes(own: Option<u8>, descriptor: u32) -> Option<u32> {
    let format = match own {
        Some(own) => format::Format::of(u32::from(own), u32::from(own >> 4)),
        None => format::Format::of(descriptor >> 15, descriptor >> 12),
    };
    format.map(format::Format::bytes)
}

/// Chooses the handler of a memory instruction and sets its operands; `None` if it is not supported.
pub(super) fn lower(inst: &Inst, l: &mut Lowering, m: &mut Micro) -> Option<Handler> {
    match inst.format {
        Format::Smem => scalar::lower(inst, l, m),
        Format::Flat | Format::Global | Format::Scratch => flat::lower(inst, l, m),
        Format::Ds => ds::lower(inst, l, m),
        Format::Mubuf | Format::Mtbuf => buffer::lower(inst, l, m),
        Format::Mimg => image::lower(inst, l, m),
        _ => None,
    }
}
