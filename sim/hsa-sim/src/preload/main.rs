//! The shared library that is preloaded into programs on the software GPU.
//!
//! - It shows a program the files of a kernel driver that is not installed. RCCL, ROCm SMI and others read the GPUs'
//!   files under `/sys` directly. The C library's path functions are redirected to a folder with such files (named by
//!   `HIP_SIM_DRIVER_FILES`, written by `hip-sim run`) if the path is one of the driver's. Other paths, and all paths
//!   if the variable is not set, are not changed.
//! - Under the loader of a ROCm release, child processes are started through that loader too, and `/proc/self/exe` is
//!   the program: crate `rocm-preload`, as for `rocm-sdk run`.
//!
//! `place`: the redirected paths and their targets. `functions`: the replacements of the C library's functions.
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
