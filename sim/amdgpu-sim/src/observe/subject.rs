//! The dispatch that is observed.

use super::finding::{Finding, FindingKind};
use crate::dispatch::Dispatch;
use crate::exec::{LANES, Program, Source};
use crate::fault::FaultPlace;
use crate::gpu::Gpu;
use crate::module::Kernel;

/// The dispatch that is observed.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) gpu: &'a Gpu,
    pub(crate) kernel: &'a Kernel,
    pub(crate) program: &'a Program,
    pub(crate) dispatch: &'a Dispatch,
    /// Workgroups in each dimension.
    pub(crate) groups: [u32; 3],
    /// LDS of a workgroup in bytes.
    pub(crate) lds: u32,
    /// Address of the arguments.
    pub(crate) kernarg: u64,
}

impl Subject<'_> {
    /// The number of waves of a full workgroup.
    pub(super) fn waves(&self) -> u32 {
        self.dispatch.workgroup.iter().product::<u32>().div_ceil(LANES as u32)
    }

    /// The part of the program that contains the micro-operation at a [position](super::plan::Plan), and its index in
    /// it.
    fn locate(&self, position: u32) -> (&Program, u32) {
        let mut pc = position;
        for part in self.program.with_parts() {
            let count = part.micros().len() as u32;
            if pc < count {
                return (part, pc);
            }
            pc -= count;
        }
        (self.program, 0)
    }

    /// The instruction at a position.
    pub(super) fn source_at(&self, position: u32) -> &Source {
        let (part, pc) = self.locate(position);
        part.source_at(pc)
    }

    /// The place of the micro-operation at a position, for a wave by its number in the dispatch.
    pub(super) fn place(&self, position: u32, wave: u32, lane: Option<u32>) -> FaultPlace {
        let (group, id) = (wave / self.waves(), wave % self.waves());
        let [nx, ny, _] = self.groups;
        let workgroup = [group % nx, group / nx % ny, group / nx / ny];
        let (part, pc) = self.locate(position);
        FaultPlace::of(self.kernel, part, pc, workgroup, id, lane)
    }
}

impl Subject<'_> {
    pub(super) fn finding(&self, kind: FindingKind, place: FaultPlace, address: Option<u64>) -> Finding {
        let nearest = address.and_then(|address| self.gpu.memory().nearest(address));
        Finding { kernel: self.kernel.info().name.clone(), kind, place: Box::new(place), nearest, count: 1 }
    }
}
