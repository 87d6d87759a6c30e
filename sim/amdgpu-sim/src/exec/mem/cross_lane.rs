//! DS instructions that move data between lanes and do not access memory.

use crate::exec::lanes::lanes;
use crate::exec::{Ctx, Flow, Handler, LANES, Lowering, Micro, Wave};
use crate::isa::Op;
use crate::isa::inst::Inst;

pub(super) fn lower(inst: &Inst, l: &mut Lowering, m: &mut Micro) -> Option<Handler> {
    m.dst = l.row(inst.dst)?;
    m.src[0] = l.row(inst.src[0])?;
    m.aux = inst.mods.offset as u32 & 0xffff;
    Some(match inst.op {
        Op::ds_swizzle_b32 => swizzle,
        Op::ds_permute_b32 => {
            m.src[1] = l.row(inst.src[1])?;
            permute
        }
        Op::ds_bpermute_b32 => {
            m.src[1] = l.row(inst.src[1])?;
            permute_back
        }
        _ => return None,
    })
}

/// The lane that `lane` reads from under a swizzle pattern.
fn swizzle_source(pattern: u32, lane: usize) -> usize {
    let within = lane as u32 & 31;
    let mask = pattern & 31;
    let source = if pattern >= 0xe000 {
        // The pattern of a fast Fourier transform: reversed bits, except for those of the mask.
        (within.reverse_bits() >> 27 >> mask.count_ones()) | (within & mask)
    } else if pattern >= 0xc000 {
        // A rotation, up or (bit 10) down, of the bits outside the mask.
        let by = pattern >> 5 & 31;
        let by = if pattern >> 10 & 1 == 1 { by.wrapping_neg() } else { by };
        (within & mask) | (within.wrapping_add(by) & !mask & 31)
    } else if pattern & 0x8000 != 0 {
        // Any permutation within four lanes, 2 bits each.
        (within & !3) | (pattern >> (2 * (within & 3)) & 3)
    } else {
        // AND, OR and XOR masks within 32 lanes.
        ((within & (pattern & 31)) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31)
    };
    (lane & 32) | source as usize
}

fn swizzle(w: &mut Wave, m: &Micro, _: &mut Ctx<'_>) -> Flow {
    let mask = w.exec();
    let data = *w.row(m.src[0]);
    let row = w.row_mut(m.dst);
    for lane in lanes(mask) {
        let source = swizzle_source(m.aux, lane);
        // A disabled lane reads as zero.
        row[lane] = if mask >> source & 1 != 0 { data[source] } else { 0 };
    }
    Flow::Next
}

/// Each lane sends its value to the lane that its address selects. The highest sender wins, and lanes that receive
/// nothing get zero.
fn permute(w: &mut Wave, m: &Micro, _: &mut Ctx<'_>) -> Flow {
    let mask = w.exec();
    let (to, data) = (*w.row(m.src[0]), *w.row(m.src[1]));
    let mut out = [0; LANES];
    for lane in lanes(mask) {
        out[(to[lane].wrapping_add(m.aux) / 4) as usize % LANES] = data[lane];
    }
    let row = w.row_mut(m.dst);
    lanes(mask).for_each(|lane| row[lane] = out[lane]);
    Flow::Next
}

/// Each lane reads the value of the lane that its address selects; a disabled one reads as zero.
fn permute_back(w: &mut Wave, m: &Micro, _: &mut Ctx<'_>) -> Flow {
    let mask = w.exec();
    let (from, data) = (*w.row(m.src[0]), *w.row(m.src[1]));
    let row = w.row_mut(m.dst);
    for lane in lanes(mask) {
        let source = (from[lane].wrapping_add(m.aux) / 4) as usize % LANES;
        row[lane] = if mask >> source & 1 != 0 { data[source] } else { 0 };
    }
    Flow::Next
}

#[cfg(test)]
mod tests {
    use super::swizzle_source;

    #[test]
    fn swizzle_patterns() {
        // swizzle(SWAP, 1): xor 1; swizzle(BROADCAST, 32, 5); swizzle(QUAD_PERM, 3, 2, 1, 0); swizzle(REVERSE, 32).
        assert_eq!((0..4).map(|l| swizzle_source(0x041f, l)).collect::<Vec<_>>(), [1, 0, 3, 2]);
        assert_eq!([0, 31, 32, 63].map(|l| swizzle_source(0x00a0, l)), [5, 5, 37, 37]);
        assert_eq!([4, 5, 6, 7, 36].map(|l| swizzle_source(0x801b, l)), [7, 6, 5, 4, 39]);
        assert_eq!([0, 31, 32].map(|l| swizzle_source(0x7c1f, l)), [31, 0, 63]);
        // swizzle(ROTATE, 0, 1), swizzle(ROTATE, 1, 1), and by 2 within each pair of pairs.
        assert_eq!([0, 31, 32, 63].map(|l| swizzle_source(0xc020, l)), [1, 0, 33, 32]);
        assert_eq!([0, 31, 32, 63].map(|l| swizzle_source(0xc420, l)), [31, 30, 63, 62]);
        assert_eq!([1, 2, 29, 34].map(|l| swizzle_source(0xc05d, l)), [3, 0, 31, 32]);
        // swizzle(FFT, 0) reverses all five bits; swizzle(FFT, 31) none.
        assert_eq!([1, 3, 16, 33].map(|l| swizzle_source(0xe000, l)), [16, 24, 1, 48]);
        assert_eq!([1, 3, 16, 33].map(|l| swizzle_source(0xe01f, l)), [1, 3, 16, 33]);
    }
}
