//! Products of small matrices by a wave: MFMA, on gfx90a and gfx942.
//!
//! AMD's instruction set manuals and its tool `amd_matrix_instruction_calculator` describe which element of a matrix
//! each lane holds. A program for other architectures does not link: the build reports the missing instruction.

macro_rules! matrix {
    ($($(#[$attribute:meta])* $name:ident: [$a:ty; $input:literal] x [$c:ty; $sum:literal] by $simd_a:ident $simd_c:ident = $link:literal;)*) => {$(
        $(#[$attribute])*
        #[cfg_attr(target_arch = "amdgpu", inline(always))]
        #[must_use]
        pub fn $name(a: [$a; $input], b: [$a; $input], c: [$c; $sum]) -> [$c; $sum] {
            #[cfg(target_arch = "amdgpu")]
            {
                unsafe extern "C" {
                    #[link_name = $link]
                    fn product(a: simd::$simd_a, b: simd::$simd_a, c: simd::$simd_c) -> simd::$simd_c;
                }
                // SAFETY: the vectors have the layout of the arrays; the instruction only reads other lanes' registers.
                unsafe {
                    core::mem::transmute(product(core::mem::transmute(a), core::mem::transmute(b), core::mem::transmute(c)))
                }
            }
            #[cfg(not(target_arch = "amdgpu"))]
            {
                let _ = (a, b, c);
                crate::raw::on_the_host()
            }
        }
    )*};
}

#[cfg(target_arch = "amdgpu")]
mod simd {
    #![allow(non_camel_case_types)]
    pub(super) type f32x1 = f32;
    pub(super) type f64x1 = f64;
    #[derive(Clone, Copy)]
    #[repr(simd)]
    pub(super) struct f32x4([f32; 4]);
    #[derive(Clone, Copy)]
    #[repr(simd)]
    pub(super) struct f32x16([f32; 16]);
    #[derive(Clone, Copy)]
    #[repr(simd)]
    pub(super) struct f64x4([f64; 4]);
    #[derive(Clone, Copy)]
    #[repr(simd)]
    pub(super) struct u16x4([u16; 4]);
}

matrix! {
    /// `c + a b` of 16 by 4 and 4 by 16 elements: `v_mfma_f32_16x16x4f32`.
    mfma_16x16x4_f32: [f32; 1] x [f32; 4] by f32x1 f32x4 = "hk_mfma_16x16x4_f32";
    /// `c + a b` of 32 by 2 and 2 by 32 elements: `v_mfma_f32_32x32x2f32`.
    mfma_32x32x2_f32: [f32; 1] x [f32; 16] by f32x1 f32x16 = "hk_mfma_32x32x2_f32";
    /// `c + a b` of 16 by 4 and 4 by 16 elements: `v_mfma_f64_16x16x4f64`.
    mfma_16x16x4_f64: [f64; 1] x [f64; 4] by f64x1 f64x4 = "hk_mfma_16x16x4_f64";
    /// `c + a b` of 16 by 16 halves each: `v_mfma_f32_16x16x16f16`.
    mfma_16x16x16_f16: [crate::half::f16; 4] x [f32; 4] by u16x4 f32x4 = "hk_mfma_16x16x16_f16";
    /// `c + a b` of 16 by 16 halves each: `v_mfma_f32_16x16x16bf16_1k`.
    mfma_16x16x16_bf16: [crate::half::bf16; 4] x [f32; 4] by u16x4 f32x4 = "hk_mfma_16x16x16_bf16";
}
