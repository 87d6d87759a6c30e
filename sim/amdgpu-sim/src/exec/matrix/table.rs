//! Every matrix instruction: its shape, blocks and arithmetic.

use super::chain::{Byte, Double, Single};
use super::entry::{Allows, Entry};
use super::fused::Fused;
use super::layout::{Arithmetic, Sum, Unit, multiply};
use super::number::{Bf8, Brain, Cut, Fp8, Half};
use super::pairwise::{Brains, Halves};
use crate::exec::{Ctx, Flow, Handler, LANES, Micro, Wave};
use crate::isa::Op;

type Fused32<F> = Fused<F, F, 10, 4, false>;
type Fused16<F> = Fused<F, F, 10, 8, false>;
type Fused8<A, B> = Fused<A, B, 3, 16, true>;

fn plain<U: Unit, const SPARSE: bool>(w: &mut Wave, m: &Micro, _: &mut Ctx<'_>) -> Flow {
    multiply::<U, SPARSE, false>(w, m)
}

/// # Safety
/// The CPU has to have AVX2, FMA, F16C, BMI1, BMI2, LZCNT and POPCNT.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn fast<U: Unit, const SPARSE: bool>(w: &mut Wave, m: &Micro, _: &mut Ctx<'_>) -> Flow {
    multiply::<U, SPARSE, true>(w, m)
}

/// The effect of `blgp`: moves lanes of B, negates (f64), or not supported.
macro_rules! blgp {
    ($which:literal lanes) => {
        $which == 1
    };
    ($which:literal negate) => {
        $which == 2
    };
    ($which:literal) => {
        false
    };
}

macro_rules! matrices {
    (dense { $($($op:ident)|+: $m:literal x $k:literal x $blocks:literal, $unit:ty $(, blgp $blgp:ident)?;)* }
     sparse { $($sparse:ident: $sm:literal x $sk:literal, $sunit:ty;)* }) => {
        /// The implementation of a matrix instruction.
        pub(super) fn entry(op: Op, avx2: bool) -> Option<Entry> {
            Some(match op {
                $($(Op::$op)|+ => Entry {
                    run: choose!(avx2, $unit, false),
                    registers: registers::<$unit>($m, $blocks),
                    share: ($m * $k * $blocks / LANES).trailing_zeros() as u8,
                    size: ($m as u32).trailing_zeros() as u8,
                    blocks: ($blocks as u32).trailing_zeros() as u8,
                    allows: Allows {
                        broadcast: $blocks > 1 && <$unit as Unit>::BITS < 64,
                        index: false,
                        lanes: blgp!(1 $($blgp)?),
                        negate: blgp!(2 $($blgp)?),
                    },
                },)*
                $(Op::$sparse => Entry {
                    run: choose!(avx2, $sunit, true),
                    registers: registers::<$sunit>($sm, 1),
                    share: ($sm * $sk / 2 / LANES).trailing_zeros() as u8,
                    size: ($sm as u32).trailing_zeros() as u8,
                    blocks: 0,
                    allows: Allows { broadcast: false, index: true, lanes: false, negate: false },
                },)*
                _ => return None,
            })
        }
    };
}

macro_rules! choose {
    ($avx2:ident, $($generic:tt)*) => {{
        #[cfg(target_arch = "x86_64")]
        let run: Handler = if $avx2 { fast::<$($generic)*> } else { plain::<$($generic)*> };
        #[cfg(not(target_arch = "x86_64"))]
        let run: Handler = { let _ = $avx2; plain::<$($generic)*> };
        run
    }};
}

const fn registers<U: Unit>(m: usize, blocks: usize) -> u16 {
    (m * m * blocks / LANES * <<U::Sums as Arithmetic>::Sum as Sum>::REGISTERS) as u16
}

// Rows (and columns) x k x blocks, arithmetic, effect of `blgp`.
matrices! {
    dense {
        v_mfma_f32_32x32x1f32 | v_mfma_f32_32x32x1_2b_f32: 32 x 1 x 2, Single, blgp lanes;
        v_mfma_f32_16x16x1f32 | v_mfma_f32_16x16x1_4b_f32: 16 x 1 x 4, Single, blgp lanes;
        v_mfma_f32_4x4x1f32 | v_mfma_f32_4x4x1_16b_f32: 4 x 1 x 16, Single, blgp lanes;
        v_mfma_f32_32x32x2f32 | v_mfma_f32_32x32x2_f32: 32 x 2 x 1, Single, blgp lanes;
        v_mfma_f32_16x16x4f32 | v_mfma_f32_16x16x4_f32: 16 x 4 x 1, Single, blgp lanes;

        v_mfma_f64_16x16x4f64: 16 x 4 x 1, Double;
        v_mfma_f64_16x16x4_f64: 16 x 4 x 1, Double, blgp negate;
        v_mfma_f64_4x4x4f64: 4 x 4 x 4, Double;
        v_mfma_f64_4x4x4_4b_f64: 4 x 4 x 4, Double, blgp negate;

        v_mfma_i32_32x32x4i8 | v_mfma_i32_32x32x4_2b_i8: 32 x 4 x 2, Byte, blgp lanes;
        v_mfma_i32_16x16x4i8 | v_mfma_i32_16x16x4_4b_i8: 16 x 4 x 4, Byte, blgp lanes;
        v_mfma_i32_4x4x4i8 | v_mfma_i32_4x4x4_16b_i8: 4 x 4 x 16, Byte, blgp lanes;
        v_mfma_i32_32x32x8i8: 32 x 8 x 1, Byte, blgp lanes;
        v_mfma_i32_16x16x16i8: 16 x 16 x 1, Byte, blgp lanes;
        v_mfma_i32_32x32x16_i8: 32 x 16 x 1, Byte;
        v_mfma_i32_16x16x32_i8: 16 x 32 x 1, Byte;

        v_mfma_f32_32x32x4f16: 32 x 4 x 2, Halves, blgp lanes;
        v_mfma_f32_16x16x4f16: 16 x 4 x 4, Halves, blgp lanes;
        v_mfma_f32_4x4x4f16: 4 x 4 x 16, Halves, blgp lanes;
        v_mfma_f32_32x32x8f16: 32 x 8 x 1, Halves, blgp lanes;
        v_mfma_f32_16x16x16f16: 16 x 16 x 1, Halves, blgp lanes;

        v_mfma_f32_32x32x4bf16_1k: 32 x 4 x 2, Brains<4>, blgp lanes;
        v_mfma_f32_16x16x4bf16_1k: 16 x 4 x 4, Brains<4>, blgp lanes;
        v_mfma_f32_4x4x4bf16_1k: 4 x 4 x 16, Brains<4>, blgp lanes;
        v_mfma_f32_32x32x8bf16_1k: 32 x 8 x 1, Brains<4>, blgp lanes;
        v_mfma_f32_16x16x16bf16_1k: 16 x 16 x 1, Brains<4>, blgp lanes;
        v_mfma_f32_32x32x2bf16: 32 x 2 x 2, Brains<2>, blgp lanes;
        v_mfma_f32_16x16x2bf16: 16 x 2 x 4, Brains<2>, blgp lanes;
        v_mfma_f32_4x4x2bf16: 4 x 2 x 16, Brains<2>, blgp lanes;
        v_mfma_f32_32x32x4bf16: 32 x 4 x 1, Brains<2>, blgp lanes;
        v_mfma_f32_16x16x8bf16: 16 x 8 x 1, Brains<2>, blgp lanes;

        v_mfma_f32_32x32x4_2b_f16: 32 x 4 x 2, Fused16<Half>, blgp lanes;
        v_mfma_f32_16x16x4_4b_f16: 16 x 4 x 4, Fused16<Half>, blgp lanes;
        v_mfma_f32_4x4x4_16b_f16: 4 x 4 x 16, Fused16<Half>, blgp lanes;
        v_mfma_f32_32x32x8_f16: 32 x 8 x 1, Fused16<Half>;
        v_mfma_f32_16x16x16_f16: 16 x 16 x 1, Fused16<Half>;
        v_mfma_f32_32x32x4_2b_bf16: 32 x 4 x 2, Fused16<Brain>, blgp lanes;
        v_mfma_f32_16x16x4_4b_bf16: 16 x 4 x 4, Fused16<Brain>, blgp lanes;
        v_mfma_f32_4x4x4_16b_bf16: 4 x 4 x 16, Fused16<Brain>, blgp lanes;
        v_mfma_f32_32x32x8_bf16: 32 x 8 x 1, Fused16<Brain>;
        v_mfma_f32_16x16x16_bf16: 16 x 16 x 1, Fused16<Brain>;

        v_mfma_f32_32x32x4_xf32: 32 x 4 x 1, Fused32<Cut>;
        v_mfma_f32_16x16x8_xf32: 16 x 8 x 1, Fused32<Cut>;

        v_mfma_f32_32x32x16_bf8_bf8: 32 x 16 x 1, Fused8<Bf8, Bf8>;
        v_mfma_f32_32x32x16_bf8_fp8: 32 x 16 x 1, Fused8<Bf8, Fp8>;
        v_mfma_f32_32x32x16_fp8_bf8: 32 x 16 x 1, Fused8<Fp8, Bf8>;
        v_mfma_f32_32x32x16_fp8_fp8: 32 x 16 x 1, Fused8<Fp8, Fp8>;
        v_mfma_f32_16x16x32_bf8_bf8: 16 x 32 x 1, Fused8<Bf8, Bf8>;
        v_mfma_f32_16x16x32_bf8_fp8: 16 x 32 x 1, Fused8<Bf8, Fp8>;
        v_mfma_f32_16x16x32_fp8_bf8: 16 x 32 x 1, Fused8<Fp8, Bf8>;
        v_mfma_f32_16x16x32_fp8_fp8: 16 x 32 x 1, Fused8<Fp8, Fp8>;
    }
    sparse {
        v_smfmac_f32_16x16x32_f16: 16 x 32, Fused16<Half>;
        v_smfmac_f32_32x32x16_f16: 32 x 16, Fused16<Half>;
        v_smfmac_f32_16x16x32_bf16: 16 x 32, Fused16<Brain>;
        v_smfmac_f32_32x32x16_bf16: 32 x 16, Fused16<Brain>;
        v_smfmac_i32_16x16x64_i8: 16 x 64, Byte;
        v_smfmac_i32_32x32x32_i8: 32 x 32, Byte;
        v_smfmac_f32_16x16x64_bf8_bf8: 16 x 64, Fused8<Bf8, Bf8>;
        v_smfmac_f32_16x16x64_bf8_fp8: 16 x 64, Fused8<Bf8, Fp8>;
        v_smfmac_f32_16x16x64_fp8_bf8: 16 x 64, Fused8<Fp8, Bf8>;
        v_smfmac_f32_16x16x64_fp8_fp8: 16 x 64, Fused8<Fp8, Fp8>;
        v_smfmac_f32_32x32x32_bf8_bf8: 32 x 32, Fused8<Bf8, Bf8>;
        v_smfmac_f32_32x32x32_bf8_fp8: 32 x 32, Fused8<Bf8, Fp8>;
        v_smfmac_f32_32x32x32_fp8_bf8: 32 x 32, Fused8<Fp8, Bf8>;
        v_smfmac_f32_32x32x32_fp8_fp8: 32 x 32, Fused8<Fp8, Fp8>;
    }
}
