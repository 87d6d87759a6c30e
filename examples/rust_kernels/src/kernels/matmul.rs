//! Products of matrices with tiles in shared memory.

use hip_kernel::prelude::*;

/// The number of rows and columns of a tile, and of threads of a block in each direction.
pub const TILE: usize = 16;

/// Computes `c = a b`, where `a` has `k` columns and rows of `c` have `n` elements. Matrices are stored by rows; their
/// sizes need not be multiples of [`TILE`].
#[kernel(max_threads(256))]
pub fn matmul(
    a: &[f32],
    b: &[f32],
    mut c: DisjointGrid<'_, f32>,
    k: u32,
    tile_a: Shared<'_, [[f32; TILE]; TILE]>,
    tile_b: Shared<'_, [[f32; TILE]; TILE]>,
) {
    assert!(block_dim() == Dim3 { x: TILE as u32, y: TILE as u32, z: 1 });
    let (x, y) = (thread_idx().x as usize, thread_idx().y as usize);
    let (column, row) = (global_idx().x as usize, global_idx().y as usize);
    let (n, rows, k) = (c.width(), c.height(), k as usize);
    let mut sum = 0.0f32;
    for first in (0..k).step_by(TILE) {
        let left = if row < rows && first + x < k { a[row * k + first + x] } else { 0.0 };
        let right = if first + y < k && column < n { b[(first + y) * n + column] } else { 0.0 };
        // SAFETY: each thread writes its own elements, and the barriers keep all reads apart from the writes.
        unsafe {
            tile_a.set_at(y, x, left);
            tile_b.set_at(y, x, right);
        }
        barrier();
        for i in 0..TILE {
            // SAFETY: as above.
            sum = unsafe { tile_a.get_at(y, i).mul_add(tile_b.get_at(i, x), sum) };
        }
        barrier();
    }
    c.set(|_, _| sum);
}
