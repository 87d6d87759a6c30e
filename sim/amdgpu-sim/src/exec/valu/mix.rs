//! Fused multiply-add of operands that are each single or half (`v_fma_mix*`).

use super::half::F16;
use super::lane::{Lane, Lanes};
use super::lane_loop::operations;
use super::preparation::Kind;

/// A single that may have been read from a half.
#[derive(Clone, Copy)]
pub(super) struct Mixed(f32);

impl Lane for Mixed {
    const KIND: Kind = Kind::Mix;
    const WIDE: bool = false;
    #[inline(always)]
    fn get(low: &Lanes, _: &Lanes, lane: usize) -> Self {
        Mixed(f32::from_bits(low[lane]))
    }
    #[inline(always)]
    fn put(self, low: &mut [u32], _: &mut [u32], lane: usize) {
        low[lane] = self.0.to_bits();
    }
}

#[inline(always)]
fn fma(a: Mixed, b: Mixed, c: Mixed) -> f32 {
    a.0.mul_add(b.0, c.0)
}

operations! { table;
    v_fma_mix_f32(a: Mixed, b: Mixed, c: Mixed) -> f32 = fma(a, b, c);
    v_fma_mixlo_f16(a: Mixed, b: Mixed, c: Mixed) -> F16 = F16::from_f32(fma(a, b, c));
    v_fma_mixhi_f16(a: Mixed, b: Mixed, c: Mixed) -> F16 = F16::from_f32(fma(a, b, c));
}
