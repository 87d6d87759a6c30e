//! The shared library that shows a program the files of a kernel driver that is not there.
//!
//! RCCL, ROCm SMI and others read of the GPUs under `/sys` by themselves. This library, preloaded, leads the C library's functions
//! that take a path to a folder with such files (`HIP_SIM_DRIVER_FILES` names it; `hip-sim run` writes it) where the path is one of
//! the driver's. Every other path, and every path where the variable is not set, stays as it is.
//!
//! - `place`: which paths, and where they lead. `real`: the C library's own functions. `functions`: those in their place.
#![cfg_attr(all(target_os = "linux", target_arch = "x86_64"), no_main)]

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod functions;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod place;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod real;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[used]
static KEEP: &[functions::Function] = functions::ALL;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {
    eprintln!("hsa-sim is for Linux on x86-64");
}
