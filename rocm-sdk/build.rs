//! Links the binary `librocm-sdk-children` as a shared library.
//!
//! It is a binary so that `cargo install` installs it next to the command. Its functions replace those of the C
//! library, so they have no version and are exported by name.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/preload/preload.map");
    let is = |name: &str, value: &str| std::env::var(name).as_deref() == Ok(value);
    if !is("CARGO_CFG_TARGET_OS", "linux") || !is("CARGO_CFG_TARGET_ARCH", "x86_64") {
        return;
    }
    if std::env::var_os("CARGO_FEATURE_CLI").is_none() {
        return;
    }
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let script = format!("-Wl,--version-script={folder}/src/preload/preload.map");
    for argument in ["-shared", "-Wl,-soname,librocm-sdk-children.so", "-Wl,-z,nodelete", &script] {
        println!("cargo:rustc-link-arg-bin=librocm-sdk-children={argument}");
    }
}
