//! Test data for ROCm's mathematical libraries, and comparison of their results.

use std::fmt::Debug;

use hip::DeviceBuffer;

/// A buffer as C's pointer.
pub(crate) fn raw<T: bytemuck::Pod>(buffer: &DeviceBuffer<T>) -> *mut T {
    std::ptr::with_exposed_provenance_mut(buffer.as_device_ptr().address() as usize)
}

/// `n` pseudorandom numbers from -1 to 1 for a seed. They are exact in f32 and f16.
pub(crate) fn values(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) % 257
    };
    (0..n).map(|_| next() as f64 / 128.0 - 1.0).collect()
}

/// The same, as f32.
pub(crate) fn singles(values: &[f64]) -> Vec<f32> {
    values.iter().map(|value| *value as f32).collect()
}

/// Panics if a number differs by more than `tolerance` from the reference, or is NaN.
pub(crate) fn assert_close<T: Copy + Into<f64> + Debug>(what: &str, got: &[T], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len(), "{what}");
    let mut furthest = 0.0_f64;
    for (at, (got, expected)) in got.iter().zip(expected).enumerate() {
        let error = ((*got).into() - expected).abs();
        assert!(error <= tolerance, "{what}[{at}]: {got:?} is not {expected}");
        furthest = furthest.max(error);
    }
    println!("{what}: within {furthest:.1e}");
}
