//! Indices of threads and blocks.

use crate::raw;

/// Three extents or indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(alias("dim3", "uint3"))]
pub struct Dim3 {
    /// The first, which varies fastest.
    pub x: u32,
    /// The second.
    pub y: u32,
    /// The third.
    pub z: u32,
}

/// Returns the number of blocks of `of` threads, which is never 0: the compiler sees that this cannot panic.
#[inline(always)]
fn blocks(threads: u32, of: u32) -> u32 {
    threads / of.max(1)
}

macro_rules! dim3 {
    ($($(#[$attribute:meta])* $name:ident: $x:expr, $y:expr, $z:expr;)*) => {$(
        $(#[$attribute])*
        #[inline(always)]
        #[must_use]
        pub fn $name() -> Dim3 {
            // SAFETY: they read registers and the dispatch packet, which every launch has.
            unsafe { Dim3 { x: $x, y: $y, z: $z } }
        }
    )*};
}

dim3! {
    /// Returns the thread's index in its block: `threadIdx`.
    #[doc(alias("threadIdx"))]
    thread_idx: raw::thread_x(), raw::thread_y(), raw::thread_z();
    /// Returns the block's index in the grid: `blockIdx`.
    #[doc(alias("blockIdx"))]
    block_idx: raw::block_x(), raw::block_y(), raw::block_z();
    /// Returns the number of threads of a block: `blockDim`.
    #[doc(alias("blockDim"))]
    block_dim: raw::block_dim_x(), raw::block_dim_y(), raw::block_dim_z();
    /// Returns the number of threads of the grid, in each direction: `gridDim * blockDim`.
    global_dim: raw::grid_threads_x(), raw::grid_threads_y(), raw::grid_threads_z();
    /// Returns the number of blocks of the grid: `gridDim`.
    #[doc(alias("gridDim"))]
    grid_dim:
        blocks(raw::grid_threads_x(), raw::block_dim_x()),
        blocks(raw::grid_threads_y(), raw::block_dim_y()),
        blocks(raw::grid_threads_z(), raw::block_dim_z());
    /// Returns the thread's index in the grid: `blockIdx * blockDim + threadIdx`.
    global_idx:
        raw::block_x() * raw::block_dim_x() + raw::thread_x(),
        raw::block_y() * raw::block_dim_y() + raw::thread_y(),
        raw::block_z() * raw::block_dim_z() + raw::thread_z();
}
