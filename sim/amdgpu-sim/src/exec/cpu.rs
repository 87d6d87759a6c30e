//! Selects the CPU's vector extensions for lane loops.
//!
//! Every lane loop is compiled for AVX2 and for the baseline. On x86-64, builds with assertions (Cargo's profile `dev`)
//! compile most baseline loops lane by lane, without vectors: they took a third of this crate's build time, and CPUs
//! without AVX2 are rare. On such CPUs, kernels are several times slower in such a build than in one without
//! assertions.

/// Whether handlers compiled for AVX2, FMA and F16C may be called.
#[cfg(target_arch = "x86_64")]
pub(super) fn has_avx2() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("avx2") && has!("fma") && has!("f16c") && has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("popcnt")
}

/// Whether handlers compiled for AVX2, FMA and F16C may be called.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn has_avx2() -> bool {
    false
}

/// The handler `body::<..., FAST>` compiled for the baseline, or for AVX2 if `$fast`. For use inside the function that
/// defines `body`.
macro_rules! versions {
    ($fast:expr, [$($generics:tt)*], [$($names:ident),*]) => {{
        fn plain<$($generics)*>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
            body::<$($names,)* false>(w, m, ctx)
        }

        /// # Safety
        /// The CPU has to have AVX2, FMA, F16C, BMI1, BMI2, LZCNT and POPCNT.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn quick<$($generics)*>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
            body::<$($names,)* true>(w, m, ctx)
        }

        let fast: bool = $fast;
        #[cfg(target_arch = "x86_64")]
        let handler: $crate::exec::Handler = if fast { quick::<$($names),*> } else { plain::<$($names),*> };
        #[cfg(not(target_arch = "x86_64"))]
        let handler: $crate::exec::Handler = {
            let _ = fast;
            plain::<$($names),*>
        };
        handler
    }};
}
pub(super) use versions;
