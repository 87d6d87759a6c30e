//! The shared library that `rocm-sdk run` preloads: children are started through the release's own loader, too, and
//! `/proc/self/exe` is the program. The crate `rocm-preload` implements it; this lists the functions that it replaces.
#![cfg_attr(all(target_os = "linux", target_arch = "x86_64"), no_main)]

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod functions;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
rocm_preload::exec_functions!();

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[used]
static KEEP: [&[rocm_preload::Function]; 2] = [functions::ALL, CHILDREN];

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {
    eprintln!("this library is for Linux on x86-64");
}
