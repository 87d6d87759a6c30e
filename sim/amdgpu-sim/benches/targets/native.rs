//! The kernels' computations as plain Rust: vectorised by the compiler, and scalar, one element after the other.

/// Clears the upper halves of the CPU's vector registers. While they are dirty, every SSE instruction must preserve
/// them and so waits for the previous write of the register: on the machine measured, the scalar loop of `saxpy` then
/// takes seven times as long. Any earlier code on this thread may have left them dirty.
pub(crate) fn clear_upper_halves() {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx") {
        // SAFETY: the CPU has AVX, and the compiler is told that no vector register keeps what it holds.
        unsafe { std::arch::asm!("vzeroupper", clobber_abi("C"), options(nomem, nostack, preserves_flags)) };
    }
}

/// Keeps the compiler from vectorising this value with its neighbours. It costs nothing: the value stays in its
/// register.
#[inline(always)]
fn alone(x: f32) -> f32 {
    #[cfg(target_arch = "x86_64")]
    {
        let mut x = x;
        // SAFETY: no instruction at all.
        unsafe { std::arch::asm!("/* {0} */", inout(xmm_reg) x, options(pure, nomem, nostack, preserves_flags)) };
        x
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::hint::black_box(x)
}

/// The same if `SCALAR`, otherwise nothing.
#[inline(always)]
fn maybe<const SCALAR: bool>(x: f32) -> f32 {
    if SCALAR { alone(x) } else { x }
}

/// `c = a + b`.
#[inline(never)]
pub(crate) fn vector_add<const SCALAR: bool>(a: &[f32], b: &[f32], c: &mut [f32]) {
    for ((c, a), b) in c.iter_mut().zip(a).zip(b) {
        *c = maybe::<SCALAR>(a + b);
    }
}

/// `y = s * x + y`.
#[inline(never)]
pub(crate) fn saxpy<const SCALAR: bool>(s: f32, x: &[f32], y: &mut [f32]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = maybe::<SCALAR>(s * x + *y);
    }
}

/// `c = a * b`, matrices of `n` by `n`, in tiles of 16 by 16 that fit the cache, as the kernel has them in LDS.
#[inline(never)]
pub(crate) fn matmul<const SCALAR: bool>(n: usize, a: &[f32], b: &[f32], c: &mut [f32]) {
    const TILE: usize = 16;
    c.fill(0.0);
    for rows in (0..n).step_by(TILE) {
        for depth in (0..n).step_by(TILE) {
            for columns in (0..n).step_by(TILE) {
                for row in rows..rows + TILE {
                    let out = &mut c[row * n + columns..][..TILE];
                    for k in depth..depth + TILE {
                        let a = a[row * n + k];
                        let b = &b[k * n + columns..][..TILE];
                        for (out, b) in out.iter_mut().zip(b) {
                            *out = maybe::<SCALAR>(*out + a * b);
                        }
                    }
                }
            }
        }
    }
}
