//! Which types go together.

use half::{bf16, f16};
use hip::interop::Element;
use hip::memory::{F8E4M3, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz};
use hip_linalg::Scalar;

/// Type combinations that [`BlasLt::matmul`](crate::BlasLt::matmul) supports: A of `Self`, B of `B`, C and D of `D`.
/// The heuristic decides whether a GPU supports them.
pub trait LtTypes<B: Element, D: Element>: Element {
    /// The type of α and β, and of the computation.
    type Scale: Scalar;
}

macro_rules! types {
    ($($a:ty, $b:ty => $($d:ty),+; $s:ty;)*) => {$($(
        impl LtTypes<$b, $d> for $a {
            type Scale = $s;
        }
    )+)*};
}

types! {
    f16, f16 => f16, f32; f32;
    bf16, bf16 => bf16, f32; f32;
    f32, f32 => f32; f32;
    f64, f64 => f64; f64;
    i8, i8 => i8, i32; i32;
    F8E4M3, F8E4M3 => f16, bf16, f32, F8E4M3, F8E5M2; f32;
    F8E4M3, F8E5M2 => f16, bf16, f32, F8E4M3, F8E5M2; f32;
    F8E5M2, F8E4M3 => f16, bf16, f32, F8E4M3, F8E5M2; f32;
    F8E5M2, F8E5M2 => f16, bf16, f32, F8E4M3, F8E5M2; f32;
    F8E4M3Fnuz, F8E4M3Fnuz => f16, bf16, f32, F8E4M3Fnuz, F8E5M2Fnuz; f32;
    F8E4M3Fnuz, F8E5M2Fnuz => f16, bf16, f32, F8E4M3Fnuz, F8E5M2Fnuz; f32;
    F8E5M2Fnuz, F8E4M3Fnuz => f16, bf16, f32, F8E4M3Fnuz, F8E5M2Fnuz; f32;
    F8E5M2Fnuz, F8E5M2Fnuz => f16, bf16, f32, F8E4M3Fnuz, F8E5M2Fnuz; f32;
}
