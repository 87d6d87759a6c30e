//! One module per example. `hip-kernel-build` compiles this folder for the GPU; the program contains it as a module.

pub mod black_scholes;
pub mod histogram;
pub mod mandelbrot;
pub mod matmul;
pub mod nbody;
pub mod reduce;
pub mod scan;
pub mod vector_add;
