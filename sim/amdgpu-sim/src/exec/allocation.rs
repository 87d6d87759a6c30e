//! The registers allocated by a kernel's descriptor, and code that uses others.
//!
//! On the chip nothing stops such code. A vector register beyond the last reads as `v0`, a scalar one as `s0`, and
//! writes are dropped (compilers rely on that where an index in `m0` selects the register). For memory instructions the
//! manual leaves it undefined (section "Out-of-Range behavior"). No compiler generates such code, and in handwritten
//! code it is a mistake that shows only as a wrong number elsewhere. So here it is a fault when it is reached, except
//! in code that is lowered in [parts](super::parts). Of 4529 kernels in ROCm 7.2.4's rocBLAS, rocSPARSE, rocSOLVER,
//! rocRAND and RCCL, distributed over all of them, none uses such a register in the 7.5 million instructions that
//! direct branches reach.

use crate::code_object::KernelDescriptor;
use crate::fault::StrayRegister;
use crate::isa::inst::{Inst, Operand};

/// The kernel's resources that lowering depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resources {
    /// `compute_pgm_rsrc1`.
    pub(super) rsrc1: u32,
    pub(super) allocation: Allocation,
}

impl Resources {
    /// The resources in a kernel's descriptor.
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

/// All registers, whatever `compute_pgm_rsrc1` allocates: for code that does not belong to one kernel.
impl From<u32> for Resources {
    fn from(rsrc1: u32) -> Self {
        Self { rsrc1, allocation: Allocation { vgprs: 256, agprs: 256, sgprs: 102 } }
    }
}

/// The number of registers of each kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allocation {
    pub(super) vgprs: u16,
    pub(super) agprs: u16,
    pub(super) sgprs: u16,
}

impl Allocation {
    /// The first operand with a register beyond the allocated ones.
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
