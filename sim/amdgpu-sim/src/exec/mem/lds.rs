//! The bytes of LDS.

/// Reads `N` bytes of LDS.
///
/// # Safety
/// `at + N` is within `lds`.
#[inline(always)]
pub(super) unsafe fn get<const N: usize>(lds: &[u8], at: usize) -> [u8; N] {
    debug_assert!(at + N <= lds.len());
    // SAFETY: in bounds, as the caller vouches; a byte array has no alignment.
    unsafe { lds.as_ptr().add(at).cast::<[u8; N]>().read() }
}

/// Writes `N` bytes of LDS.
///
/// # Safety
/// `at + N` is within `lds`.
#[inline(always)]
pub(super) unsafe fn put<const N: usize>(lds: &mut [u8], at: usize, value: [u8; N]) {
    debug_assert!(at + N <= lds.len());
    // SAFETY: in bounds, as the caller vouches; a byte array has no alignment.
    unsafe { lds.as_mut_ptr().add(at).cast::<[u8; N]>().write(value) }
}
