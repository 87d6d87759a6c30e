//! Memory instructions: scalar, global, flat, scratch, buffer, image and LDS.
//!
//! A handler computes the lanes' addresses, has all of them checked by the target [`Space`], and only then moves data.
//! So an instruction that faults has not written anything in any lane, and the moves need no further check.

mod atomic;
mod buffer;
mod convert;
mod cross_lane;
mod ds;
mod ds_atomic;
mod flat;
mod format;
mod image;
mod lds_copy;
mod lying;
mod scalar;
mod space;
mod transfer;

use std::time::Instant;

use super::{Flow, Handler, Lowering, Micro, Outside, Trap, Wave};
use crate::config::{BeyondLds, Misaligned};
use crate::fault::{Access, Denied, Space as SpaceName};
use crate::isa::inst::{Format, Inst};
use crate::units::Seat;

pub(crate) use image::{ImageOperands, touched as image_touches};
pub(super) use lying::{Lying, share};
pub(crate) use space::{Scratch, View};

/// The start of LDS in the flat address space, which spans 4 GiB. `amd_queue_t` holds the high half.
pub const SHARED_BASE: u64 = 1 << 48;
/// The start of scratch in the flat address space, which spans 4 GiB. `amd_queue_t` holds the high half.
pub const PRIVATE_BASE: u64 = 2 << 48;
/// The address that kernels get for the runtime's output service, which does not exist. Above all allocations.
pub(crate) const NO_HOSTCALL: u64 = 3 << 48;
/// The same for the heap of a kernel's `malloc`.
pub(crate) const NO_HEAP: u64 = 4 << 48;
/// Last address of an aperture, from its base.
pub(crate) const APERTURE_LIMIT: u64 = 0xffff_ffff;

/// The environment of memory instructions.
pub(crate) struct Env<'a> {
    /// Device memory.
    pub(crate) view: &'a mut View,
    /// The workgroup's scratch.
    pub(crate) scratch: Scratch,
    /// The effect of misaligned loads and stores.
    pub(crate) misaligned: Misaligned,
    /// The effect of loads and stores beyond LDS in this kernel.
    pub(crate) beyond_lds: BeyondLds,
    /// Whether loads of half a register clear the other half.
    pub(crate) sramecc: bool,
    /// The start time of the clocks.
    pub(crate) start: Instant,
    /// The GPU besides its memory.
    pub(crate) outside: &'a Outside,
    /// The workgroup's location.
    pub(crate) seat: Seat<'a>,
}

impl Env<'_> {
    /// The address bits that must be zero for a load or store of `bytes` bytes.
    #[inline(always)]
    fn align_mask(&self, bytes: u32) -> u64 {
        match self.misaligned {
            Misaligned::Allow => 0,
            Misaligned::FaultWords => u64::from(if bytes >= 4 { 3_u32 } else { 0 }),
            Misaligned::Fault => u64::from(bytes.min(4).next_power_of_two() - 1),
        }
    }
}

/// The size of an element of a typed buffer. Its format is in the instruction (7 bits), or in the descriptor's last
/// word. `None` for an invalid format.
pub(crate) fn element_bytes(own: Option<u8>, descriptor: u32) -> Option<u32> {
    let format = match own {
        Some(own) => format::Format::of(u32::from(own), u32::from(own >> 4)),
        None => format::Format::of(descriptor >> 15, descriptor >> 12),
    };
    format.map(format::Format::bytes)
}

/// An access that is not permitted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AccessFault {
    pub(crate) space: SpaceName,
    pub(crate) access: Access,
    pub(crate) address: u64,
    pub(crate) bytes: u32,
    pub(crate) why: Denied,
    /// The first invalid lane; `None` for scalar accesses.
    pub(crate) lane: Option<u32>,
}

/// The result of a part of a handler.
type Checked<T = ()> = Result<T, Box<AccessFault>>;

/// Converts the result of a handler.
#[inline(always)]
fn done(w: &mut Wave, result: Checked) -> Flow {
    match result {
        Ok(()) => Flow::Next,
        Err(fault) => failed(w, fault),
    }
}

#[cold]
fn failed(w: &mut Wave, fault: Box<AccessFault>) -> Flow {
    w.fail(Trap::Memory(fault))
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

/// The handler of an instruction without effect: caches are coherent.
fn nothing(_: &mut Wave, _: &Micro, _: &mut super::Ctx<'_>) -> Flow {
    Flow::Next
}

/// The set bits of a lane mask, lowest first.
#[inline(always)]
fn lanes(mask: u64) -> impl Iterator<Item = usize> {
    let mut left = mask;
    std::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let lane = left.trailing_zeros() as usize;
        left &= left - 1;
        Some(lane)
    })
}
