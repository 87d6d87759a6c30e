//! One kernel for each part of the device library.

use hip_kernel::half::{bf16, f16};
use hip_kernel::prelude::*;
use hip_kernel::sync::{Order, fence, wave_barrier};

/// What each thread says of itself.
#[kernel]
pub fn indices(mut out: DisjointChunks<u32, 8>) {
    let (first, out) = out.mine();
    let me = [
        global_idx().x,
        thread_idx().x,
        block_idx().x,
        block_dim().x,
        grid_dim().x,
        global_dim().x,
        wave::lane(),
        first as u32,
    ];
    if out.len() == 8 {
        out.copy_from_slice(&me);
    }
}

/// Column and row of each element.
#[kernel]
pub fn grid(mut out: DisjointGrid<u32>) {
    let height = out.height() as u32;
    if let Some((x, y, out)) = out.mine() {
        *out = x as u32 + y as u32 * 1000 + height * 1_000_000;
    }
}

#[derive(Clone, Copy, Debug, DeviceCopy)]
#[repr(C)]
pub struct Parameters {
    pub scale: f32,
    pub offset: [f32; 2],
    pub count: u16,
    pub flags: u16,
    pub large: f64,
}

#[derive(Clone, Copy, Debug, DeviceCopy)]
#[repr(u32)]
pub enum Mode {
    Add = 3,
    Multiply = 9,
}

/// Structures, enumerations and arrays by value, and elements that are structures.
#[kernel]
pub fn by_value(
    p: Parameters,
    mode: Mode,
    flag: bool,
    small: u8,
    matrix: [f32; 9],
    xs: &[Parameters],
    mut y: DisjointSlice<f64>,
) {
    if let Some((i, y)) = y.mine() {
        let x = xs[i];
        let both = match mode {
            Mode::Add => f64::from(p.scale) + f64::from(x.scale),
            Mode::Multiply => f64::from(p.scale) * f64::from(x.scale),
        };
        *y = both
            + f64::from(p.offset[1])
            + f64::from(p.count)
            + f64::from(p.flags)
            + p.large * x.large
            + if flag { f64::from(small) } else { 0.0 }
            + f64::from(matrix[i % 9]);
    }
}

/// Generic in a type and a constant.
#[kernel(<f32, 2>, <f64, 3>, <u32, 4>)]
pub fn multiply<T: Copy + core::ops::Mul<Output = T>, const N: usize>(x: &[T], mut y: DisjointSlice<T>) {
    for (i, y) in y.strided() {
        let mut product = x[i];
        for _ in 1..N {
            product = product * x[i];
        }
        *y = product;
    }
}

/// Pointers, for what slices cannot say.
///
/// # Safety
/// `x` and `y` have `n` elements.
#[kernel]
pub unsafe fn pointers(x: *const u32, y: *mut u32, n: u32) {
    let i = global_idx().x;
    if i < n {
        // SAFETY: below n.
        unsafe { *y.add(i as usize) = *x.add((n - 1 - i) as usize) };
    }
}

/// Static shared memory of two types, and as much as the launch says.
#[kernel]
pub fn shared_memory(
    x: &[u32],
    mut y: DisjointSlice<u32>,
    bytes: Shared<[u8; 3]>,
    sum: Shared<[u64; 1]>,
    tile: SharedSlice<u32>,
) {
    let (i, n) = (thread_idx().x as usize, block_dim().x as usize);
    // SAFETY: each thread writes its own element; one thread writes the others.
    unsafe {
        tile.set(i, x[global_idx().x as usize]);
        if i < 3 {
            bytes.set(i, i as u8 + 1);
        }
    }
    barrier();
    if i == 0 {
        // SAFETY: one thread; the tile was written before the barrier.
        unsafe { sum.set(0, (0..n).map(|j| u64::from(tile.get(j))).sum()) };
    }
    barrier();
    if let Some((_, y)) = y.mine() {
        // SAFETY: written before the barriers.
        *y = unsafe { tile.get(n - 1 - i) + sum.get(0) as u32 * u32::from(bytes.get(i % 3)) };
    }
}

/// All operations on integers, in memory and in shared memory.
#[kernel(<u32>, <i32>, <u64>, <i64>)]
pub fn atomic_integers<T: AtomicTest>(out: AtomicSlice<T>, tile: Shared<[Atomic<T>; 12]>) {
    if thread_idx().x < 12 {
        tile[thread_idx().x as usize].store_in(T::start(thread_idx().x), Scope::Block);
    }
    barrier();
    let value = T::of(thread_idx().x);
    operations(&tile[..], value, Scope::Block);
    operations(&out[..12], value, Scope::Device);
    operations(&out[12..24], value, Scope::System);
    barrier();
    if thread_idx().x < 12 {
        out[24 + thread_idx().x as usize].store(tile[thread_idx().x as usize].load_in(Scope::Block));
    }
}

fn operations<T: AtomicTest>(all: &[Atomic<T>], value: T, scope: Scope) {
    all[0].fetch_add_in(value, scope);
    all[1].fetch_sub_in(value, scope);
    all[2].fetch_and_in(value, scope);
    all[3].fetch_or_in(value, scope);
    all[4].fetch_xor_in(value, scope);
    all[5].fetch_max_in(value, scope);
    all[6].fetch_min_in(value, scope);
    all[7].fetch_inc_in(T::of(40), scope);
    all[8].fetch_dec_in(T::of(40), scope);
    let mut seen = all[9].load_in(scope);
    while let Err(other) = all[9].compare_exchange_in(seen, T::plus(seen, value), scope) {
        seen = other;
    }
    all[10].swap_in(T::of(7), scope);
    all[11].store_in(T::of(9), scope);
}

/// Numbers for the test of atomic operations.
pub trait AtomicTest: hip_kernel::atomic::AtomicElement + hip_kernel::atomic::AtomicInteger {
    fn of(value: u32) -> Self;
    fn plus(a: Self, b: Self) -> Self;
    /// What each cell is at first.
    fn start(cell: u32) -> Self;
}

macro_rules! atomic_test {
    ($($type:ty)*) => {$(
        impl AtomicTest for $type {
            fn of(value: u32) -> Self {
                value as Self
            }
            fn plus(a: Self, b: Self) -> Self {
                a.wrapping_add(b)
            }
            fn start(cell: u32) -> Self {
                match cell {
                    2 => !0,
                    6 => 1000,
                    _ => 5,
                }
            }
        }
    )*};
}

atomic_test!(u32 i32 u64 i64);

/// Sums, maxima and minima of floats, in memory and in shared memory.
#[kernel(<f32>, <f64>)]
pub fn atomic_floats<T: hip_kernel::atomic::AtomicFloat + Float>(
    x: &[T],
    out: AtomicSlice<T>,
    tile: Shared<[Atomic<T>; 3]>,
) {
    if thread_idx().x < 3 {
        tile[thread_idx().x as usize].store_in(T::of(0.0), Scope::Block);
    }
    barrier();
    let x = x[global_idx().x as usize];
    out[0].fetch_add(x);
    out[1].fetch_max(x);
    out[2].fetch_min(x);
    out[3].fetch_add_coarse(x);
    out[4].fetch_max_coarse(x);
    out[5].fetch_min_coarse(x);
    tile[0].fetch_add_in(x, Scope::Block);
    tile[1].fetch_max_in(x, Scope::Block);
    tile[2].fetch_min_in(x, Scope::Block);
    barrier();
    if thread_idx().x == 0 {
        out[6].fetch_add(tile[0].load_in(Scope::Block));
        out[7].fetch_max(tile[1].load_in(Scope::Block));
        out[8].fetch_min(tile[2].load_in(Scope::Block));
    }
}

#[derive(Clone, Copy, Debug, DeviceCopy)]
#[repr(C)]
pub struct Account {
    pub id: u32,
    pub count: u32,
    pub sum: u64,
}

/// Atomic operations on the fields of structures.
///
/// # Safety
/// There is one account or more.
#[kernel]
pub unsafe fn atomic_fields(accounts: *mut Account, n: u32) {
    let i = global_idx().x;
    // SAFETY: the fields are aligned, and all threads use them by atomic operations.
    unsafe {
        let account = accounts.add((i % n) as usize);
        Atomic::from_ptr(&raw mut (*account).count).fetch_add(1);
        Atomic::from_ptr(&raw mut (*account).sum).fetch_add(u64::from(i));
    }
}

/// Votes, shuffles, reductions: 16 numbers for each lane.
#[kernel]
pub fn lanes(x: &[u32], mut out: DisjointChunks<u32, 16>) {
    let (_, out) = out.mine();
    let x = x[global_idx().x as usize];
    let ballot = wave::ballot(x % 3 == 0);
    let results = [
        wave::size(),
        wave::lane(),
        ballot as u32,
        (ballot >> 32) as u32,
        wave::count_below(ballot),
        u32::from(wave::any(x > 1000)) + 2 * u32::from(wave::all(x < 1000)),
        wave::shuffle(x, 5),
        wave::shuffle_xor(x, 3),
        wave::shuffle_up(x, 2),
        wave::shuffle_down(x, 2),
        wave::first(x),
        wave::sum(x),
        wave::max(x),
        wave::min(x),
        wave::scan(x, |a, b| a + b),
        wave::sum(u64::from(x) << 33).wrapping_shr(33) as u32
            ^ wave::sum(x as f64) as u32
            ^ wave::shuffle_xor(x as i16, 1) as u32,
    ];
    if out.len() == 16 {
        out.copy_from_slice(&results);
    }
}

/// Half precision.
#[kernel]
pub fn halves(x: &[f32], mut out: DisjointChunks<u16, 6>, by: f16, shift: bf16) {
    let (_, out) = out.mine();
    let x = x[global_idx().x as usize];
    let (a, b) = (f16::from_f32(x), bf16::from_f32(x));
    let results = [a, a + by, a * by, a / by - a, f16::from_f32(b.to_f32()), -by].map(f16::to_bits);
    if out.len() == 6 {
        out.copy_from_slice(&results);
        out[4] = (b * shift + b).to_bits();
    }
}

/// 40 functions of two numbers.
#[kernel(<f32>, <f64>)]
pub fn functions<T: Float>(x: &[T], mut out: DisjointChunks<T, 40>) {
    let (first, out) = out.mine();
    if out.len() == 40 {
        out.copy_from_slice(&math_functions(x[first / 40], x[(first / 40 + 1) % x.len()]));
    }
}

/// The functions whose results are compared with the host's.
pub fn math_functions<T: Float>(x: T, y: T) -> [T; 40] {
    let one = T::of(1.0);
    let positive = x * x + T::of(0.125);
    let small = x / (T::of(1.0) + x * x);
    let (sin, cos) = x.sin_cos();
    [
        positive.sqrt(),
        positive.rsqrt(),
        x.mul_add(y, one),
        x.floor(),
        x.ceil(),
        x.trunc(),
        x.round(),
        x.round_ties_even(),
        x.fract(),
        x.powi(3),
        x.powi(-2),
        x.exp(),
        x.exp2(),
        x.exp_m1(),
        positive.ln(),
        positive.ln_1p(),
        positive.log2(),
        positive.log10(),
        positive.powf(y),
        x.cbrt(),
        x.hypot(y),
        x.sin(),
        x.cos(),
        x.tan(),
        small.asin(),
        small.acos(),
        x.atan(),
        x.atan2(y),
        x.sinh(),
        x.cosh(),
        x.tanh(),
        sin,
        cos,
        small.exp_m1(),
        small.ln_1p(),
        (x / y).floor(),
        (x * T::of(30.0)).sin(),
        (x * T::of(1000.0)).cos(),
        positive.powf(T::of(-0.5)),
        -x,
    ]
}

/// Functions that Rust's standard library lacks, and the hardware's approximations.
#[kernel]
pub fn special(x: &[f64], mut out: DisjointChunks<f64, 12>) {
    use hip_kernel::math::fast;
    let (first, out) = out.mine();
    let x = x[first / 12];
    let f = x as f32;
    let results = [
        Float::erf(x),
        Float::erfc(x),
        x.lgamma(),
        x.tgamma(),
        Float::erf(f).into(),
        f.tgamma().into(),
        fast::recip(f).into(),
        fast::rsqrt(f).into(),
        fast::exp(f).into(),
        fast::ln(f).into(),
        fast::sin(f).into(),
        fast::cos(f).into(),
    ];
    if out.len() == 12 {
        out.copy_from_slice(&results);
    }
}

/// One thread writes, another reads: fences with scopes.
#[kernel]
pub fn messages(data: AtomicSlice<u32>, mut out: DisjointSlice<u32>) {
    let i = global_idx().x as usize;
    data[1 + i].store(i as u32 * 3);
    fence(Scope::Device, Order::Release);
    data[0].fetch_add(1);
    while data[0].load() < global_dim().x {
        hip_kernel::sync::sleep();
    }
    fence(Scope::Device, Order::Acquire);
    wave_barrier();
    let other = global_dim().x as usize - 1 - i;
    if let Some((_, out)) = out.mine() {
        *out = data[1 + other].load();
    }
}

/// Clocks go on.
#[kernel]
pub fn clocks(mut out: DisjointChunks<u64, 2>) {
    let (_, out) = out.mine();
    let start = (clock(), hip_kernel::wall_clock());
    for _ in 0..16 {
        hip_kernel::sync::sleep();
    }
    let end = (clock(), hip_kernel::wall_clock());
    if let [cycles, ticks] = out {
        (*cycles, *ticks) = (end.0.wrapping_sub(start.0), end.1.wrapping_sub(start.1));
    }
}

/// Text of each thread.
#[kernel]
pub fn hello(n: u32, x: f32, out: Printer) {
    let i = global_idx().x;
    if i < n {
        printf!(
            out,
            "thread {} of {n}: x = {:.2}, {:x}, {{{}}} {}\n",
            i,
            x * i as f32,
            255 - i,
            -(i as i32),
            i % 2 == 0
        );
    }
}

/// Panics of several kinds, each in one thread.
#[kernel]
pub fn panics(x: &[u32], how: u32, mut y: DisjointSlice<u32>) {
    let Some((i, y)) = y.mine() else { return };
    if i == 70 {
        match how {
            1 => *y = x[x.len() + how as usize],
            2 => assert!(x[i] == 0, "x must be zero"),
            3 => panic!("a message without values"),
            4 => *y = x[i] / (how - 4),
            5 => *y = x.iter().position(|value| *value == 123_456).unwrap() as u32,
            _ => {}
        }
    }
    *y = x[i] + 1;
}

/// At most 64 threads a block.
#[kernel(max_threads(64))]
pub fn few_threads(mut y: DisjointSlice<u32>) {
    if let Some((i, y)) = y.mine() {
        *y = i as u32;
    }
}

/// Visible in this folder only.
#[kernel(same_len(a, b, c))]
pub(crate) fn add_private(a: &[i64], b: &[i64], mut c: DisjointSlice<i64>) {
    if let Some((i, c)) = c.mine() {
        *c = a[i] + b[i];
    }
}

/// All threads of the grid wait for each other, twice: each reads what threads of other blocks wrote.
#[kernel]
pub fn whole_grid(cells: AtomicSlice<u32>, mut out: DisjointSlice<u32>, grid: GridBarrier) {
    let (i, n) = (global_idx().x as usize, global_dim().x as usize);
    cells[i].store(i as u32 + 1);
    grid.wait();
    let other = cells[n - 1 - i].load();
    grid.wait();
    cells[i].store(other * 2);
    grid.wait();
    out.set(|i| cells[n - 1 - i].load());
}

/// Tiles of 8 lanes: 8 numbers for each thread.
#[kernel]
pub fn tiles(x: &[u32], mut out: DisjointChunks<u32, 8>) {
    let (_, out) = out.mine();
    let x = x[global_idx().x as usize];
    let tile = Tile::<8>::of_this_thread();
    let results = [
        tile.rank(),
        tile.number(),
        tile.ballot(x % 3 == 0),
        u32::from(tile.any(x % 5 == 0)) + 2 * u32::from(tile.all(x < 900)),
        tile.shuffle(x, 11),
        tile.reduce(x, |a, b| a + b),
        tile.reduce(x, u32::max),
        tile.scan(x, |a, b| a + b),
    ];
    if out.len() == 8 {
        out.copy_from_slice(&results);
    }
}

/// Vectors as elements and by value.
#[kernel(same_len(x, y))]
pub fn vectors(
    x: &[hip_kernel::vector::F32x4],
    mut y: DisjointSlice<hip_kernel::vector::F32x3>,
    by: hip_kernel::vector::F64x4,
    plus: hip_kernel::vector::I32x2,
) {
    y.set(|i| {
        let x = x[i] * 2.0 + x[i] / hip_kernel::vector::F32x4::splat(by.w as f32);
        hip_kernel::vector::F32x3::new(x.x + plus.x as f32, x.y + plus.y as f32, x.dot(x) * by.z as f32)
    });
}
