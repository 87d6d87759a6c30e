//! Compares the cost of a call through the bindings with that of the same C function through a plain function pointer.
//!
//! `cargo bench -p hip-sys`. Uses the HIP library of this machine, otherwise the one that `cargo xtask rocm fetch 7.2`
//! unpacked (run through that tree's own loader, because of its glibc), otherwise a library of one function built with
//! `cc`. It prints which.

use std::ffi::{CStr, c_char, c_void};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::ptr::NonNull;

use criterion::Criterion;
use hip_sys::{BINDING, hipError_t, hipErrorNoDevice, hipGetErrorName};

const NAME: &CStr = c"hipGetErrorName";
const STUB: &str = "const char *hipGetErrorName(int error) { return error == 100 ? \"hipErrorNoDevice\" : \"?\"; }\n";
/// Set in the process that runs through a tree's loader.
const INSIDE: &str = "HIP_SYS_BENCH_INSIDE";

type Function = unsafe extern "C" fn(hipError_t) -> *const c_char;

fn pointer() -> Function {
    let address = BINDING.symbol(NAME).expect("hipGetErrorName");
    // SAFETY: the library has a function of this name with this signature.
    unsafe { std::mem::transmute::<NonNull<c_void>, Function>(address) }
}

/// Returns the loader and the libraries of the fetched tree of ROCm 7.2.
fn tree() -> Option<(PathBuf, PathBuf)> {
    let trees = std::env::var_os("ROCM_RS_TREES").map(PathBuf::from);
    let trees = trees.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/rocm"));
    let libraries = trees.join("7.2/usr/lib/x86_64-linux-gnu");
    let loader = libraries.join("ld-linux-x86-64.so.2");
    (loader.exists() && libraries.join("libamdhip64.so.7").exists()).then_some((loader, libraries))
}

/// Builds a library of one function in a directory that the bindings search.
fn build_stub(root: &Path) {
    let folder = root.join("lib");
    std::fs::create_dir_all(&folder).expect("a folder");
    let source = folder.join("stub.c");
    std::fs::write(&source, STUB).expect("a source file");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let status = Command::new(compiler)
        .args(["-O2", "-shared", "-fPIC", "-Wl,-soname,libamdhip64.so.7", "-o"])
        .args([&folder.join("libamdhip64.so.7"), &source])
        .status()
        .expect("a C compiler");
    assert!(status.success());
}

fn measure() {
    // SAFETY: takes no pointer, returns a static string.
    let name = unsafe { CStr::from_ptr(hipGetErrorName(hipErrorNoDevice)) };
    assert_eq!(name, c"hipErrorNoDevice");

    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("hipGetErrorName");
    group.bench_function("plain function pointer", |b| {
        let function = black_box(pointer());
        // SAFETY: takes no pointer.
        b.iter(|| unsafe { function(black_box(hipErrorNoDevice)) });
    });
    group.bench_function("hip-sys", |b| {
        // SAFETY: takes no pointer.
        b.iter(|| unsafe { hipGetErrorName(black_box(hipErrorNoDevice)) });
    });
    group.bench_function("looked up on every call", |b| {
        // SAFETY: takes no pointer.
        b.iter(|| unsafe { pointer()(black_box(hipErrorNoDevice)) });
    });
    group.finish();
    criterion.final_summary();
}

fn main() -> ExitCode {
    // A separate search, since the bindings cache the result of theirs.
    match (rocm_loader::Search::standard().open(&rocm_loader::libraries::AMDHIP64), tree()) {
        (Ok(library), _) => println!("library: {}", library.opened_as()),
        (Err(_), Some((loader, libraries))) if std::env::var_os(INSIDE).is_none() => {
            let program = std::env::current_exe().expect("the path of this program");
            let status = Command::new(loader)
                .arg("--library-path")
                .arg(libraries)
                .arg(program)
                .args(std::env::args_os().skip(1))
                .env(INSIDE, "1")
                .status()
                .expect("the loader of the tree runs");
            return if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        }
        (Err(_), _) => {
            println!("library: a stand-in built with cc (no HIP library found)");
            let folder = tempfile::tempdir().expect("a temporary folder");
            build_stub(folder.path());
            rocm_loader::set_root(folder.path()).expect("nothing has been looked for yet");
            measure();
            return ExitCode::SUCCESS;
        }
    }
    measure();
    ExitCode::SUCCESS
}
