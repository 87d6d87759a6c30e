//! An application whose dependency asks for cudarc of the registry, with the patch as the README has it.

use std::fs;
use std::path::Path;
use std::process::Command;

/// The lines for cudarc of crates that depend on it: candle-core 0.11, cubecl-cuda 0.11 and kornia-imgproc 0.2.
const DEPENDENCIES: [&str; 3] = [
    r#"{ version = "0.19.10", default-features = false, features = ["std", "cublas", "cublaslt", "curand", "driver", "nvrtc", "f16", "f8", "cuda-version-from-build-system", "dynamic-linking"] }"#,
    r#"{ version = "0.19.6", default-features = false, features = ["std", "driver", "nvrtc", "nccl", "fallback-dynamic-loading", "cuda-version-from-build-system", "fallback-latest"] }"#,
    r#"{ version = "0.19", features = ["f16"] }"#,
];

/// A library for cudarc. The compute capability is an item of `cuda-compat` alone.
const LIBRARY: &str = "\
use cudarc::driver::{CudaContext, CudaSlice, DriverError};

pub const CAPABILITY: (i32, i32) = cudarc::device::COMPUTE_CAPABILITY;

pub fn zeros(n: usize) -> Result<CudaSlice<f32>, DriverError> {
    CudaContext::new(0)?.default_stream().alloc_zeros(n)
}

pub use cudarc::nvrtc::compile_ptx;
";

fn package(folder: &Path, name: &str, rest: &str, source: (&str, &str)) {
    fs::create_dir_all(folder.join("src")).unwrap();
    let manifest =
        format!("[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[dependencies]\n{rest}");
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::write(folder.join("src").join(source.0), source.1).unwrap();
}

#[test]
fn crates_that_depend_on_cudarc_compile_in_an_application_with_the_patch() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("application");
    let mut libraries = String::new();
    for (index, dependency) in DEPENDENCIES.iter().enumerate() {
        let name = format!("library{index}");
        package(&folder.join(&name), &name, &format!("cudarc = {dependency}\n"), ("lib.rs", LIBRARY));
        libraries += &format!("{name} = {{ path = {name:?} }}\n");
    }
    let rest = format!("{libraries}\n[patch.crates-io]\ncudarc = {{ path = {here:?} }}\n\n[workspace]\n");
    let main = "fn main() { assert_eq!(library0::CAPABILITY, library2::CAPABILITY); let _ = library1::zeros; }\n";
    package(&folder, "application", &rest, ("main.rs", main));
    // The versions that the workspace has, which are present without a network.
    fs::copy(here.join("../../Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    let output =
        cargo.args(["check", "--offline"]).current_dir(&folder).env_remove("CARGO_TARGET_DIR").output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    assert!(!text.contains("was not used"), "{text}");
}
