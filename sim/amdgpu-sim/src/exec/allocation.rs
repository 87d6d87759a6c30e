//! The registers that a kernel has, as its descriptor says, and code that names others.
//!
//! On the chip nothing stops such code: a vector register beyond the last reads as `v0`, a scalar one as `s0`, and what is
//! written to it is dropped (which compilers make use of where an index in `m0` says which register); of memory instructions the manual leaves it open (section "Out-of-Range behavior"). No compiler makes it, and whoever
//! writes it has made a mistake that shows as a wrong number elsewhere. So here it is a fault, when it is
//! reached; but not in code that is lowered in [parts](super::parts). Of 4529 kernels in ROCm 7.2.4's rocBLAS, rocSPARSE, rocSOLVER, rocRAND and
//! RCCL, spread over all of them, none names one in the 7.5 million instructions that direct branches lead to.

use super::{Ctx, Flow, Micro, Trap, Wave};
use crate::code_object::KernelDescriptor;
use crate::fault::StrayRegister;
use crate::isa::inst::{Inst, Operand};

/// What a kernel is lowered for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resources {
    /// `compute_pgm_rsrc1`.
    pub(super) rsrc1: u32,
    pub(super) allocation: Allocation,
}

impl Resources {
    /// As a kernel's descriptor says.
    pub(crate) fn of(descriptor: &KernelDescriptor) -> Self {
        let vgprs = descriptor.vgprs();
        let architected = vgprs.min(descriptor.accum_offset());
        let allocation = Allocation {
            vgprs: architected as u16,
            agprs: (vgprs - architected).min(256) as u16,
            sgprs: descriptor.sgprs() as u16,
        };
        Self { rsrc1: descriptor.compute_pgm_rsrc1, allocation }
    }
}

/// All registers, whatever `compute_pgm_rsrc1` says of them: for code that is no kernel's.
impl From<u32> for Resources {
    fn from(rsrc1: u32) -> Self {
        Self { rsrc1, allocation: Allocation { vgprs: 256, agprs: 256, sgprs: 102 } }
    }
}

/// How many registers of each kind there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allocation {
    pub(super) vgprs: u16,
    pub(super) agprs: u16,
    pub(super) sgprs: u16,
}

impl Allocation {
    /// The first operand with a register beyond those there are.
    pub(super) fn stray(&self, inst: &Inst) -> Option<StrayRegister> {
        inst.registers().find_map(|(operand, count)| {
            let (file, first, allocated) = match operand {
                Operand::Vgpr(n) => ('v', n, self.vgprs),
                Operand::Agpr(n) => ('a', n, self.agprs),
                Operand::Sgpr(n) => ('s', n, self.sgprs),
                _ => return None,
            };
            (first + count > allocated).then_some(StrayRegister { file, first, count, allocated })
        })
    }
}

/// Stands for an instruction that names a register beyond those there are.
pub(super) fn stray(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let stray = ctx.program.inst(m).and_then(|inst| ctx.program.allocation.stray(inst));
    w.fail(stray.map_or(Trap::Unsupported("a register that the kernel does not have"), Trap::StrayRegister))
}
