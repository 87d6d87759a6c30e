//! Matrix instructions: `v_mfma_*` and `v_smfmac_*`.
//!
//! [`table`] has a row per instruction: shape, blocks, arithmetic, modifiers. [`layout`] locates the elements of A, B,
//! C and D in lanes and registers and runs the arithmetic, of which there are three kinds: [`chain`], [`pairwise`] and
//! [`fused`]. EXEC and MODE have no effect.
//!
//! # Hardware behaviour
//! The layout is that of AMD's instruction set manuals of MI200 and MI300 (chapter on matrix arithmetic) and of AMD's
//! Matrix Instruction Calculator. The manuals do not specify the rounding of intermediate sums. This implementation
//! follows measurements: Xie and others, "MMA-Sim: Bit-Accurate Reference Model of Tensor Cores and Matrix Cores"
//! (arXiv 2511.10909), compared its models with CDNA2 and CDNA3 bit by bit. AMD's hipBLASLt confirms that xf32 is
//! truncated and not rounded: for that reason it rounds before the instruction (pull request 9176 of
//! ROCm/rocm-libraries). In short:
//!
//! | type | gfx90a | gfx942 |
//! |---|---|---|
//! | f32, f64 | fused multiply-adds in ascending k, starting with C, denormals kept | the same |
//! | f16, bf16 | products of 4 k (2 k in the bf16 instructions without `_1k`) are added in pairs, each sum rounded to f32; denormals in A, B, C and all results are flushed | 8 products and C are aligned, cut off and added, one rounding |
//! | xf32 | | A and B cut off to 10 bits of fraction; 4 products at a time like f16 |
//! | fp8, bf8 | | 16 products at a time like f16, even and odd k apart |
//! | i8 | exact, wraps around | the same |
//!
//! Unknown, and chosen here: the groups in which `v_smfmac_*` adds (as the dense instruction of the same type, over the
//! stored elements of A), the resulting NaN (a quiet one), and the behaviour of encodings that the manual reserves
//! (they trap).

mod chain;
mod entry;
mod fused;
mod layout;
mod number;
mod pairwise;
mod table;

use super::constant::{Wide, constant32, constant64};
use super::{Ctx, Flow, Handler, Lowering, Micro, Trap, Wave};
use crate::isa::inst::Inst;
use entry::{Entry, Fields};

fn reserved(w: &mut Wave, _: &Micro, _: &mut Ctx<'_>) -> Flow {
    w.fail(Trap::Unsupported("a matrix instruction with cbsz, abid or blgp that the manual does not define for it"))
}

/// Lowers a matrix instruction: resolves its operands into `m` and returns the handler.
pub(super) fn lower(inst: &Inst, l: &mut Lowering, m: &mut Micro) -> Option<Handler> {
    let entry = table::entry(inst.op, l.avx2)?;
    let (cbsz, abid, blgp) = inst.mods.mfma;
    let allows = entry.allows;
    let fits = |field: u8, largest: u8, allowed: bool| field == 0 || allowed && field <= largest;
    let defined = if allows.index {
        // Indices of 16-bit elements fill a quarter of the register, those of bytes half of it.
        let sets = if inst.op.info().src[0].element_bits() == 16 { 4 } else { 2 };
        blgp == 0 && (cbsz != 0 || abid < sets)
    } else {
        fits(cbsz, entry.blocks, allows.broadcast)
            && (abid == 0 || allows.broadcast && u32::from(abid) < 1 << cbsz)
            && fits(blgp, 7, allows.lanes || allows.negate)
    };
    if !defined {
        return Some(reserved);
    }
    m.dst = l.row(inst.dst)?;
    let Entry { registers, share, size, blocks, .. } = entry;
    let mut fields = Fields { cbsz, abid, blgp, constant: false, apart: false, registers, size, blocks, share };
    m.src[0] = l.row(inst.src[0])?;
    m.src[1] = l.row(inst.src[1])?;
    match l.row(inst.src[2]) {
        Some(row) => {
            m.src[2] = row;
            // The third source of a sparse product holds its indices; it accumulates in its destination.
            fields.apart = !allows.index && row != m.dst;
        }
        None => {
            fields.constant = true;
            if inst.op.info().dst.element_bits() == 64 {
                let bits = constant64(inst.src[2], Wide::Double)?;
                (m.pre, m.post) = (bits as u32, (bits >> 32) as u32);
            } else {
                m.pre = constant32(inst.src[2])?;
                m.post = m.pre;
            }
        }
    }
    m.aux = fields.pack();
    Some(entry.run)
}
