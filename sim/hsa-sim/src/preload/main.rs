//! The shared library that is preloaded into programs on the software GPU.
//!
//! - It shows a program the files of a kernel driver that is not there. RCCL, ROCm SMI and others read of the GPUs under
//!   `/sys` by themselves. The C library's functions that take a path lead to a folder with such files
//!   (`HIP_SIM_DRIVER_FILES` names it; `hip-sim run` writes it) where the path is one of the driver's. Every other path,
//!   and every path where the variable is not set, stays as it is.
//! - Under the loader of a ROCm release, children are started through that loader, too, and `/proc/self/exe` is the
//!   program: crate `rocm-preload`, as for `rocm-sdk run`.
//!
//! `place`: which paths lead elsewhere, and where. `functions`: the functions in place of the C library's.
#![cfg_attr(all(target_os = "linux", target_arch = "x86_64"), no_main)]

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod functions;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod place;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
rocm_preload::exec_functions!();

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[used]
static KEEP: [&[rocm_preload::Function]; 2] = [functions::ALL, CHILDREN];

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {
    eprintln!("hsa-sim is for Linux on x86-64");
}
