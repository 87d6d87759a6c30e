//! The faults of a dispatch.

use super::job::Job;
use crate::exec::Trap;
use crate::exec::mem::{NO_HEAP, NO_HOSTCALL};
use crate::fault::{Denied, Fault, FaultKind, FaultPlace, LaunchError, Space};
use crate::module::Kernel;

/// The public kind of a trap.
pub(super) fn kind_of(trap: &Trap) -> FaultKind {
    match trap {
        Trap::Unsupported(what) => FaultKind::Unsupported((*what).to_owned()),
        Trap::StrayRegister(stray) => FaultKind::StrayRegister(*stray),
        Trap::Undecodable(word) => FaultKind::UnknownInstruction(*word),
        Trap::WildJump(address) => FaultKind::WildJump(*address),
        Trap::Trap(n) => FaultKind::Trap(*n),
        Trap::Memory(fault) if fault.address >> 48 == NO_HOSTCALL >> 48 => FaultKind::Unsupported(
            "output of a kernel (printf, or the message of a failed assert): it takes AMD's HIP runtime, which `hip-sim run` runs".into(),
        ),
        Trap::Memory(fault) if fault.address >> 48 == NO_HEAP >> 48 => FaultKind::Unsupported(
            "malloc and free in a kernel: they take AMD's HIP runtime, which `hip-sim run` runs".into(),
        ),
        Trap::Memory(fault) => FaultKind::Memory {
            space: fault.space,
            access: fault.access,
            address: fault.address,
            bytes: fault.bytes,
            why: fault.why,
        },
    }
}

impl Fault {
    pub(super) fn new(kernel: &Kernel, kind: FaultKind) -> Self {
        Self { kernel: kernel.info().name.clone(), kind, place: None, nearest: None }
    }

    pub(super) fn launch(kernel: &Kernel, error: LaunchError) -> Self {
        Self::new(kernel, FaultKind::Launch(error))
    }

    /// Adds the place, and the nearest allocation or the LDS size.
    pub(super) fn at(mut self, mut place: FaultPlace, job: &Job<'_>) -> Self {
        let memory = job.gpu.memory();
        let outside = |why: &Denied| *why == Denied::OutOfBounds;
        if matches!(&self.kind, FaultKind::Memory { space: Space::Lds, why, .. } if outside(why)) {
            place.lds = Some([job.kernel.info().lds_size, job.dispatch.dynamic_lds]);
        }
        if let FaultKind::Memory { space: Space::Global, address, why, .. } = &mut self.kind {
            self.nearest = memory.nearest(*address);
            if *why == Denied::OutOfBounds && self.nearest.is_some_and(|n| n.freed && n.allocation.contains(*address)) {
                *why = Denied::Freed;
            }
        }
        self.place = Some(Box::new(place));
        self
    }
}
