//! Builds of kernels: what is refused, and what happens without a compiler.

use std::path::Path;

use hip_kernel_build::{Build, Error, Made, Toolchain};

fn make(build: Build) -> Result<Made, Error> {
    let folder = tempfile::tempdir().unwrap();
    // That of this workspace's build scripts: this program is `target/debug/deps/build-HASH`.
    let program = std::env::current_exe().unwrap();
    build.make(&folder.path().join("out"), &program.ancestors().nth(2).unwrap().join("hip-kernel"))
}

fn source(folder: &Path, text: &str) -> Build {
    let path = folder.join("kernels.rs");
    std::fs::write(&path, format!("use hip_kernel::prelude::*;\n{text}")).unwrap();
    Build::new(path).archs(["gfx90a"])
}

#[test]
fn input_that_makes_no_sense_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(make(Build::new("nowhere.rs").archs(["gfx90a"])), Err(Error::File { .. })));
    let kernels = source(folder.path(), "");
    assert!(matches!(make(Build::new(folder.path().join("kernels.rs"))), Err(Error::Invalid(_))));
    let error = make(kernels.archs(["sm_90"])).unwrap_err().to_string();
    assert!(error.contains("sm_90"), "{error}");
}

/// Each of these must not become code.
#[test]
fn what_the_device_cannot_do_does_not_build() {
    if let Err(why) = Toolchain::find() {
        println!("SKIPPED: kernels in Rust cannot be built here: {why}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let missing = "unsafe extern \"C\" { safe fn exp(x: f64) -> f64; }\n\
                   #[kernel] pub fn bad(mut x: DisjointSlice<f64>) { if let Some((_, x)) = x.mine() { *x = exp(*x); } }";
    match make(source(folder.path(), missing)) {
        Err(Error::Missing { functions, .. }) => assert_eq!(functions, ["exp"]),
        other => panic!("{other:?}"),
    }
    for (text, part) in [
        ("#[kernel] pub fn bad(x: &mut [f32]) { x[0] = 1.0; }", "DisjointSlice"),
        ("#[kernel] pub fn bad(x: *mut f32) {}", "unsafe fn"),
        ("#[kernel] pub fn bad() -> u32 { 1 }", "returns nothing"),
        ("#[kernel] pub fn bad<T>(x: &[T]) {}", "name the instances"),
        ("#[kernel(<f32>)] pub fn bad(x: &[f32]) {}", "not generic"),
        ("#[kernel(same_len(x, z))] pub fn bad(x: &[f32], y: &[f32]) {}", "`z` is not a parameter"),
        ("#[kernel(max_threads(4000))] pub fn bad(x: &[f32]) {}", "from 1 to 1024"),
        ("#[kernel] pub fn bad(a: SharedSlice<u32>, b: Shared<[u32; 4]>) {}", "last of the shared"),
        ("pub struct S(f32, u8);\n#[kernel] pub fn bad(s: S) {}", "cannot be a parameter"),
        ("#[derive(Clone, Copy, DeviceCopy)] pub struct S { x: f32 }", "repr(C)"),
        ("#[derive(Clone, Copy, DeviceCopy)] #[repr(u32)] pub enum E { A(u32), B }", "variants with fields"),
        ("#[kernel] pub fn bad(out: Printer) { printf!(out, \"{} {}\", 1u32); }", "more `{}` than arguments"),
    ] {
        match make(source(folder.path(), text)) {
            Err(Error::Compilation { log, .. }) => assert!(log.contains(part), "{text}: {log}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

/// Where there is a compiler, all architectures that ship are compiled, and no folder of this machine is in the code.
#[test]
fn kernels_are_built_for_all_architectures() {
    if let Err(why) = Toolchain::find() {
        println!("SKIPPED: kernels in Rust cannot be built here: {why}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let text = "#[kernel] pub fn add(a: &[f32], mut c: DisjointSlice<f32>) { c.set(|i| a[i] + 1.0); }";
    let made = make(source(folder.path(), text).archs(["gfx942", "gfx1100", "gfx1201"])).unwrap();
    assert_eq!(made.committed, None);
    let archs = hiprtc::Bundle::parse(&made.bundle).unwrap().architectures();
    assert_eq!(archs.iter().map(ToString::to_string).collect::<Vec<_>>(), ["gfx90a", "gfx942", "gfx1100", "gfx1201"]);
    let toolchain = Toolchain::find().unwrap();
    let library = toolchain.library.to_string_lossy().into_owned();
    assert!(!made.bundle.windows(library.len()).any(|part| part == library.as_bytes()));
}

/// The committed text and bitcode are of the table.
#[test]
fn the_device_library_is_that_of_the_table() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hip-kernel/ir");
    assert_eq!(std::fs::read_to_string(folder.join("device.ll")).unwrap(), hip_kernel_build::ir::device_ir());
    assert!(std::fs::read(folder.join("device.bc")).unwrap().starts_with(b"BC"));
}
