//! The shared library `libhsa-runtime64.so.1`. Everything is in the crate; this makes the linker keep it.
#![cfg_attr(target_os = "linux", no_main)]

#[cfg(target_os = "linux")]
#[used]
static KEEP: &[hsa_sim::Export] = hsa_sim::EXPORTS;

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("hsa-sim is for Linux");
}
