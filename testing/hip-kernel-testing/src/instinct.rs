//! Kernels with instructions of AMD Instinct only.

use hip_kernel::matrix;
use hip_kernel::prelude::*;

/// Products of 16 by 16 matrices by a wave of 64 lanes.
#[kernel]
pub fn products(a: &[f32], b: &[f32], mut c: DisjointChunks<f32, 4>) {
    let (_, c) = c.mine();
    let lane = wave::lane() as usize;
    let mut sum = [0.0f32; 4];
    // Four steps of four: the lane has row (or column) `lane % 16` and index `lane / 16` of each step.
    for step in 0..4 {
        let k = step * 4 + lane / 16;
        sum = matrix::mfma_16x16x4_f32([a[lane % 16 * 16 + k]], [b[k * 16 + lane % 16]], sum);
    }
    if c.len() == 4 {
        c.copy_from_slice(&sum);
    }
}
