//! The algorithms that are compared with HIP C++ (`algorithms.hip`): the same, statement by statement.

use hip_kernel::prelude::*;

/// Threads of a block.
pub const BLOCK: usize = 256;
/// Rows and columns of a tile of a matrix.
pub const TILE: usize = 16;
/// Classes of a histogram.
pub const BINS: usize = 256;

#[kernel(same_len(a, b, c))]
pub fn vector_add(a: &[f32], b: &[f32], mut c: DisjointSlice<f32>) {
    c.set(|i| a[i] + b[i]);
}

#[kernel(same_len(x, y))]
pub fn saxpy(a: f32, x: &[f32], mut y: DisjointSlice<f32>) {
    y.for_each(|i, y| *y = a.mul_add(x[i], *y));
}

/// The sum: by threads, waves and blocks.
#[kernel]
pub fn reduce(x: &[f32], total: AtomicSlice<f32>, sums: Shared<[f32; 16]>) {
    let (step, mut i, mut sum) = (global_dim().x as usize, global_idx().x as usize, 0.0);
    while i < x.len() {
        sum += x[i];
        i += step;
    }
    let sum = wave::sum(sum);
    let (lane, number) = (wave::lane(), thread_idx().x / wave::size());
    if lane == 0 {
        // SAFETY: one lane of each wave writes its own element.
        unsafe { sums.set(number as usize, sum) };
    }
    barrier();
    if number == 0 {
        // SAFETY: written before the barrier.
        let part = if lane < block_dim().x / wave::size() { unsafe { sums.get(lane as usize) } } else { 0.0 };
        let part = wave::sum(part);
        if lane == 0 {
            total[0].fetch_add(part);
        }
    }
}

/// `c = a b` of `n` by `n` elements, `n` a multiple of the tile. As in HIP C++, what the loops read is not checked
/// element by element, but once: the kernel needs blocks of `TILE` by `TILE` threads and complete matrices.
#[kernel(same_len(a, b, c))]
pub fn matmul(
    a: &[f32],
    b: &[f32],
    mut c: DisjointGrid<f32>,
    n: u32,
    ta: Shared<[f32; TILE * TILE]>,
    tb: Shared<[f32; TILE * TILE]>,
) {
    let (x, y) = (thread_idx().x as usize, thread_idx().y as usize);
    let (column, row) = (global_idx().x, global_idx().y);
    let (block, grid) = (block_dim(), global_dim());
    assert!(
        block.x == TILE as u32
            && block.y == TILE as u32
            && block.z == 1
            && n < 1 << 16
            && n % TILE as u32 == 0
            && grid.x == n
            && grid.y == n
            && a.len() == n as usize * n as usize
    );
    let mut sum = 0.0f32;
    let mut tile = 0;
    while tile < n {
        // SAFETY: rows and columns are below `n`, and `x` and `y` below `TILE`. Each thread writes its own elements; the barriers
        // keep the reads apart from the writes.
        unsafe {
            ta.set_unchecked(y * TILE + x, *a.get_unchecked((row * n + tile + x as u32) as usize));
            tb.set_unchecked(y * TILE + x, *b.get_unchecked(((tile + y as u32) * n + column) as usize));
        }
        barrier();
        for k in 0..TILE {
            // SAFETY: as above.
            sum = unsafe { ta.get_unchecked(y * TILE + k).mul_add(tb.get_unchecked(k * TILE + x), sum) };
        }
        barrier();
        tile += TILE as u32;
    }
    c.set(|_, _| sum);
}

/// How often each byte occurs.
#[kernel]
pub fn histogram(x: &[u8], counts: AtomicSlice<u32>, local: Shared<[Atomic<u32>; BINS]>) {
    let counts = &counts[..BINS];
    let mut bin = thread_idx().x as usize;
    while bin < BINS {
        local[bin].store_in(0, Scope::Block);
        bin += block_dim().x as usize;
    }
    barrier();
    let (step, mut i) = (global_dim().x as usize, global_idx().x as usize);
    while i < x.len() {
        local[x[i] as usize].fetch_add_in(1, Scope::Block);
        i += step;
    }
    barrier();
    let mut bin = thread_idx().x as usize;
    while bin < BINS {
        counts[bin].fetch_add(local[bin].load_in(Scope::Block));
        bin += block_dim().x as usize;
    }
}

/// The sums of all elements of a block up to each (Hillis and Steele), and of each block.
#[kernel(same_len(x, y), max_threads(256))]
pub fn scan(x: &[u32], mut y: DisjointSlice<u32>, sums: AtomicSlice<u32>, tile: Shared<[u32; BLOCK]>) {
    let (t, i) = (thread_idx().x as usize, global_idx().x as usize);
    let mut value = if i < x.len() { x[i] } else { 0 };
    // SAFETY: each thread writes its own element; the barriers keep the reads apart from the writes.
    unsafe { tile.set(t, value) };
    barrier();
    let mut by = 1;
    while by < BLOCK {
        // SAFETY: as above.
        let before = if t >= by { unsafe { tile.get(t - by) } } else { 0 };
        barrier();
        value += before;
        // SAFETY: as above.
        unsafe { tile.set(t, value) };
        barrier();
        by *= 2;
    }
    y.set(|_| value);
    if t == BLOCK - 1 {
        sums[block_idx().x as usize].store(value);
    }
}

/// A position and a mass.
#[derive(Clone, Copy, Debug, DeviceCopy)]
#[repr(C, align(16))]
pub struct Body {
    pub x: f32,
    pub y: f32,
    pub z: f32,
    pub mass: f32,
}

/// The acceleration of each body; `bodies` is a multiple of the block.
#[kernel(same_len(bodies, out), max_threads(256))]
pub fn nbody(bodies: &[Body], mut out: DisjointSlice<Body>, softening: f32, tile: Shared<[Body; BLOCK]>) {
    let Some((i, out)) = out.mine() else { return };
    let me = bodies[i];
    let (mut ax, mut ay, mut az) = (0.0f32, 0.0f32, 0.0f32);
    let mut start = 0;
    while start < bodies.len() {
        // SAFETY: each thread writes its own element; the barriers keep the reads apart from the writes.
        unsafe { tile.set(thread_idx().x as usize, bodies[start + thread_idx().x as usize]) };
        barrier();
        for j in 0..BLOCK {
            // SAFETY: as above.
            let other = unsafe { tile.get(j) };
            let (dx, dy, dz) = (other.x - me.x, other.y - me.y, other.z - me.z);
            let r2 = dx.mul_add(dx, dy.mul_add(dy, dz.mul_add(dz, softening)));
            let inverse = r2.rsqrt();
            let s = other.mass * inverse * inverse * inverse;
            ax = dx.mul_add(s, ax);
            ay = dy.mul_add(s, ay);
            az = dz.mul_add(s, az);
        }
        barrier();
        start += BLOCK;
    }
    *out = Body { x: ax, y: ay, z: az, mass: 0.0 };
}
