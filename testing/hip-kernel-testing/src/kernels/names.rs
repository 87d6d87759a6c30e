//! Names that a macro could take for its own, or lose.

use hip_kernel::prelude::*;

/// Parameters with names of the launch, and with those that numbers and lengths could have.
#[kernel(same_len(x, y))]
pub fn parameters(
    x: &[u32],
    n0: u64,
    stream: u64,
    config: u64,
    needs: u64,
    p0: u64,
    place_of_panics: u64,
    _: u64,
    mut y: DisjointSlice<u64>,
) {
    y.set(|i| {
        u64::from(x[i])
            + 10 * n0
            + 100 * stream
            + 1000 * config
            + 10_000 * needs
            + 100_000 * p0
            + 1_000_000 * place_of_panics
    });
}

/// A grid's width beside a parameter that has its name.
#[kernel]
pub fn widths(mut y: DisjointGrid<u32>, y_width: u32, w0: u32, module: u32, kernel: u32, args: u32, self_: u32) {
    y.set(|_, _| y_width + 10 * w0 + 100 * module + 1000 * kernel + 10_000 * args + 100_000 * self_);
}

/// Keywords.
#[kernel(same_len(r#type, r#loop))]
pub fn r#match(r#type: &[u32], r#async: u32, r#gen: u32, mut r#loop: DisjointSlice<u32>) {
    r#loop.set(|i| r#type[i] + r#async * r#gen);
}

/// What the function that the hardware starts could be called.
#[kernel]
pub fn start(mut y: DisjointSlice<u32>) {
    y.set(|i| i as u32 + 1);
}

/// The type would be `Self`.
#[kernel]
pub fn self_(mut y: DisjointSlice<u32>, line: u32, out: Printer) {
    y.set(|i| i as u32 + line);
    if global_idx().x == 0 {
        printf!(out, "line {} {line:x}", line);
    }
}

/// Items whose names a macro could mean.
pub mod shadows {
    #![allow(non_camel_case_types)]

    use ::hip_kernel::prelude::*;

    pub mod core {}
    pub mod std {}
    pub mod hip {}
    pub mod hip_kernel {}
    pub struct Result;
    pub struct Option;
    pub struct Some;
    pub struct Ok;
    pub type u64 = f32;
    pub type usize = u16;
    pub type str = u8;
    pub const SHARED_0: ::core::primitive::usize = 64;
    pub const SHARED_1: ::core::primitive::usize = 8;

    #[derive(Clone, Copy, DeviceCopy)]
    #[repr(C)]
    pub struct Pair {
        pub r#type: u32,
        pub usize: usize,
        pub other: u16,
    }

    #[derive(Clone, Copy, DeviceCopy, PartialEq)]
    #[repr(u8)]
    pub enum Mode {
        Some = 3,
        None = 7,
    }

    /// A kernel with the name of a type.
    #[kernel]
    pub fn vec(
        pairs: &[Pair],
        x: u64,
        mode: Mode,
        first: Shared<[Atomic<u32>; SHARED_0]>,
        second: SharedSlice<u32>,
        mut y: DisjointSlice<f32>,
    ) {
        let i = thread_idx().x as ::core::primitive::usize;
        first[i].store(i as u32);
        // SAFETY: each thread has an element, and reads that of nobody else.
        unsafe { second.set(i, 100) };
        barrier();
        let Pair { r#type, usize, other } = pairs[0];
        let add = if mode == Mode::None { 0.5 } else { 0.0 };
        // SAFETY: as above.
        let own = unsafe { second.get(i) };
        y.set(|i| x + add + (first[63 - i].load() + own + r#type) as f32 + f32::from(usize + other));
    }
}

/// What macros by example pass on: a path from the crate, a type as a whole, a name.
macro_rules! kernels {
    ($name:ident, $input:ty, $element:ty, [$($number:ty),*], $threads:literal, $plus:ident) => {
        #[kernel($(<$number>),*, max_threads($threads))]
        pub fn $name<T: Float>(
            input: $input,
            pair: $crate::kernels::names::shadows::Pair,
            all: &[$crate::kernels::names::shadows::Pair],
            $plus: $element,
            mut y: DisjointSlice<$element>,
            mut z: DisjointSlice<T>,
        ) {
            y.set(|i| input[i] + pair.r#type + all[0].r#type + $plus);
            z.set(|i| T::of(i as f64));
        }
    };
}

kernels!(by_example, &[u32], u32, [f32, f64], 64, plus);
