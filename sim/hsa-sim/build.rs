//! Links the binary `libhsa-runtime64` as the shared library that ROCm asks for.
//!
//! ROCm's libraries ask for HSA's functions at the version `ROCR_1`. Cargo's own shared libraries (`cdylib`) can't have
//! symbol versions: rustc hands the linker an anonymous version script, which excludes any other. For an executable
//! there is none, and `-shared` makes the executable a shared library.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/library.map");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let script = format!("-Wl,--version-script={folder}/src/library.map");
    // Never unloaded: otherwise its threads would run unmapped code.
    for argument in ["-shared", "-Wl,-soname,libhsa-runtime64.so.1", "-Wl,-z,nodelete", &script] {
        println!("cargo:rustc-link-arg-bin=libhsa-runtime64={argument}");
    }
    // The preloaded library precedes the C library: its functions have no version, so each matches every version.
    println!("cargo:rerun-if-changed=src/preload/preload.map");
    let script = format!("-Wl,--version-script={folder}/src/preload/preload.map");
    for argument in ["-shared", "-Wl,-soname,libhip-sim-driver.so", "-Wl,-z,nodelete", &script] {
        println!("cargo:rustc-link-arg-bin=libhip-sim-driver={argument}");
    }
    if std::env::var_os("CARGO_FEATURE_CLI").is_none() {
        return;
    }
    println!("cargo:rerun-if-changed=src/tracer/tracer.map");
    let script = format!("-Wl,--version-script={folder}/src/tracer/tracer.map");
    for argument in ["-shared", "-Wl,-soname,libroctracer64.so.4", &script] {
        println!("cargo:rustc-link-arg-bin=libroctracer64={argument}");
    }
}
