//! `libroctracer64.so.4` for a ROCm without one, such as Debian's, which has rocTX of the same sources but not
//! rocTracer.
//!
//! `CuPy` links to it for `cupy.cuda.profiler.start` and `stop`. These enable and disable tracing that a tool has set
//! up with rocTracer's other functions. Those do not exist here, so there is nothing to enable. `hip-sim run` adds it
//! after the libraries of the release.
#![cfg_attr(all(target_os = "linux", target_arch = "x86_64"), no_main)]

/// Enables tracing. Nothing can be traced.
#[unsafe(no_mangle)]
extern "C" fn roctracer_start() {}

/// Disables tracing.
#[unsafe(no_mangle)]
extern "C" fn roctracer_stop() {}

/// The major version of the interface.
#[unsafe(no_mangle)]
extern "C" fn roctracer_version_major() -> u32 {
    4
}

/// The minor version of the interface.
#[unsafe(no_mangle)]
extern "C" fn roctracer_version_minor() -> u32 {
    1
}

/// Keeps the functions: a program that is linked as a library exports nothing by default.
#[used]
static KEEP: (extern "C" fn(), extern "C" fn(), extern "C" fn() -> u32, extern "C" fn() -> u32) =
    (roctracer_start, roctracer_stop, roctracer_version_major, roctracer_version_minor);

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {
    eprintln!("this library is for Linux on x86-64");
}
