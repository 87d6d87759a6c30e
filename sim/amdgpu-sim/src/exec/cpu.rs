//! Which of the CPU's vector extensions the lane loops may use.

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
