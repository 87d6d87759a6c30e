//! Sums of two vectors.

use hip_kernel::prelude::*;

/// Computes `c = a + b`. Each thread writes its own element; the lengths are compared before the launch.
#[kernel(same_len(a, b, c))]
pub fn vector_add(a: &[f32], b: &[f32], mut c: DisjointSlice<'_, f32>) {
    c.set(|i| a[i] + b[i]);
}
