//! Every example runs to its end and prints the expected output: those over Comgr with the libraries of ROCm 7.2, the
//! others with the LLVM and the libclang that are found. `cargo test` builds them before this test runs.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const RELEASE: &str = "7.2";

/// Examples with Comgr: the example, and a part of its output.
const WITH_COMGR: [(&str, &str); 10] = [
    ("architectures", "gfx90a           512 vector registers, 65536 bytes of local memory"),
    ("assemble", "nothing"),
    ("descriptor", "LDS: 1024 bytes"),
    ("disassemble", "global_load_dword"),
    ("hip_to_ir", "define protected amdgpu_kernel void @_Z5scaleIfEvPT_S0_"),
    ("instructions", "s_mov_b32 s0, 0x12345678"),
    ("ir_to_assembly", "global_store_dword"),
    ("link_bitcode", "bytes of code"),
    ("link_objects", "get.kd"),
    ("metadata", "vector registers: "),
];
/// Examples with an LLVM.
const WITH_LLVM: [(&str, &str); 3] = [
    ("assemble_ir", "v_add_f32_e32 v0, v1, v2"),
    ("link_ir", "with the function inlined"),
    ("read_bitcode", "    %y = fadd float %x, %x"),
];
/// Examples with tests of their own.
const OTHERS: [&str; 2] = ["hip_functions", "saxpy_ir"];

fn skipped(why: impl std::fmt::Display) {
    // Bypasses libtest's capture, which hides the output of passing tests.
    let _ = writeln!(std::io::stdout(), "SKIPPED: {why}");
}

fn example(name: &str) -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let path = program.ancestors().nth(2).unwrap().join("examples").join(name);
    assert!(path.is_file(), "{} is not built: run all of `cargo test -p rocm-llvm --features sim`", path.display());
    path
}

/// Returns the output of the command, which must succeed.
fn run(mut command: Command) -> String {
    let output = command.output().unwrap();
    let text = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned()).concat();
    assert!(output.status.success(), "{command:?}: {}\n{text}", output.status);
    text
}

fn has_llvm() -> bool {
    rocm_llvm::llvm::Library::load().map_err(skipped).is_ok()
}

#[test]
fn all_examples_are_here() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let found: BTreeSet<String> = files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    let known = WITH_COMGR.iter().chain(&WITH_LLVM).map(|(name, _)| *name).chain(OTHERS);
    assert_eq!(found, known.map(str::to_owned).collect());
}

#[test]
fn examples_over_comgr_run() {
    let root = sys_testing::trees().join(RELEASE).join("usr");
    let libraries = root.join("lib/x86_64-linux-gnu");
    if !libraries.join("libamd_comgr.so.3").exists() {
        return skipped(format_args!("no ROCm {RELEASE} (`cargo xtask rocm fetch {RELEASE}`)"));
    }
    for (name, part) in WITH_COMGR {
        let mut command = Command::new(libraries.join("ld-linux-x86-64.so.2"));
        command.arg("--library-path").arg(&libraries).arg(example(name)).env("ROCM_PATH", &root).env_remove("HIP_PATH");
        let text = run(command);
        assert!(text.contains(part), "{name}: no `{part}` in\n{text}");
    }
}

#[test]
fn examples_over_llvm_run() {
    if !has_llvm() {
        return;
    }
    for (name, part) in WITH_LLVM {
        let text = run(Command::new(example(name)));
        assert!(text.contains(part), "{name}: no `{part}` in\n{text}");
    }
}

/// Launched on both GPUs that the software GPU supports; for other GPUs, only an object is made.
#[test]
fn the_kernel_made_in_memory_runs_on_both_gpus() {
    if !has_llvm() {
        return;
    }
    for gpu in ["gfx90a", "gfx942"] {
        let mut command = Command::new(example("saxpy_ir"));
        command.env("HIP_RS_BACKEND", "sim").env("HIP_SIM_ARCH", gpu);
        let text = run(command);
        assert!(text.contains(&format!("saxpy: 100000 numbers on {gpu}, all equal to the CPU's")), "{text}");
        for object in ["gfx90a: ", "gfx942: ", "gfx1100: ", "gfx1201: "] {
            let line = text.lines().find(|line| line.starts_with(object));
            let old = rocm_llvm::llvm::Library::load().unwrap().version().major < 19;
            assert!(line.is_some_and(|line| line.ends_with("bytes of code object")) || old, "{object}{text}");
        }
    }
}

#[test]
fn hips_functions_are_printed() {
    let include = sys_testing::trees().join(RELEASE).join("usr/include");
    if !include.join("hip/hip_runtime_api.h").exists() {
        return skipped(format_args!(
            "no headers of ROCm {RELEASE} (`cargo xtask rocm fetch {RELEASE} --with bindings`)"
        ));
    }
    if let Err(error) = rocm_llvm::clang::Library::load() {
        return skipped(error);
    }
    let mut command = Command::new(example("hip_functions"));
    command.arg(&include);
    let text = run(command);
    assert!(text.contains("hipError_t hipMalloc(void ** ptr, size_t size)"), "{text}");
    let count = text.lines().rev().find_map(|line| line.strip_suffix(" functions")?.parse::<usize>().ok());
    assert!(count.is_some_and(|count| count > 400), "{text}");
}
