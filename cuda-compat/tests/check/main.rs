//! `cuda-compat check` on small projects: its findings, their lines, and its exit code.

// Items of every feature.
#[cfg(all(feature = "rocm-10-0", feature = "f16", feature = "f8", feature = "cufft", feature = "cusolver"))]
#[cfg(all(feature = "cusparse", feature = "nccl", feature = "cublas", feature = "cublaslt", feature = "curand"))]
#[allow(unused_imports, reason = "what is tested is that they exist")]
#[rustfmt::skip]
mod cudarc;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// A project with these files.
fn project(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn check(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cuda-compat")).arg("check").arg(folder).args(arguments).output().unwrap()
}

/// The report as JSON, and the exit code.
fn report(folder: &Path) -> (Value, i32) {
    let output = check(folder, &["--format", "json"]);
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    (serde_json::from_slice(&output.stdout).unwrap(), output.status.code().unwrap())
}

/// The items of a report: kind, name, status, places as `file:line`.
fn items(report: &Value) -> Vec<(String, String, String, Vec<String>)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let place = |place: &Value| format!("{}:{}", place["file"].as_str().unwrap(), place["line"]);
    let items = report["items"].as_array().unwrap();
    items
        .iter()
        .map(|item| {
            let places = item["places"].as_array().unwrap().iter().map(place).collect();
            (text(&item["kind"]), text(&item["name"]), text(&item["status"]), places)
        })
        .collect()
}

/// The status and the places of an item.
#[track_caller]
fn item(report: &Value, name: &str) -> (String, Vec<String>) {
    let items = items(report);
    let found = items.iter().find(|(_, other, ..)| other == name);
    let (_, _, status, places) = found.unwrap_or_else(|| panic!("no {name} in {items:#?}"));
    (status.clone(), places.clone())
}

fn has(report: &Value, name: &str) -> bool {
    items(report).iter().any(|(_, other, ..)| other == name)
}

#[test]
fn c_names_are_found_in_paths_macros_and_foreign_blocks() {
    let folder = project(&[(
        "src/lib.rs",
        r#"use cuda_sys::{cuInit, cuMulticastCreate as encode};
//! cuMemFree in a comment, "cuMemcpy" in a string
/// cuMemHostAlloc in documentation
fn run() {
    check!(cuMemAlloc_v2(&mut p, 4));
    let s = "cuMemHostRegister";
    let status: sys::CUresult = unsafe { cuInit(0) };
    assert_eq!(status, sys::cudaError_enum::CUDA_SUCCESS);
    lib.cuStreamCreate(s);
}
extern "C" {
    fn cudaMalloc(p: *mut *mut u8, n: usize) -> i32;
}
fn cufftPlan1d() {}
fn other() { cufftPlan1d(); cudaMyOwn(); }
"#,
    )]);
    let (report, code) = report(folder.path());
    assert_eq!(code, 1, "cuMulticastCreate is missing");
    let at = |name: &str| item(&report, name);
    let in_lib = |lines: &[u32]| lines.iter().map(|line| format!("src/lib.rs:{line}")).collect::<Vec<_>>();
    assert_eq!(at("cuInit"), ("mapped".into(), in_lib(&[1, 7])));
    assert_eq!(at("cuMulticastCreate"), ("missing".into(), in_lib(&[1])));
    assert_eq!(at("cuMemAlloc_v2"), ("mapped".into(), in_lib(&[5])));
    assert_eq!(at("CUresult"), ("mapped".into(), in_lib(&[7])));
    assert_eq!(at("CUDA_SUCCESS"), ("mapped".into(), in_lib(&[8])));
    assert_eq!(at("cuStreamCreate"), ("mapped".into(), in_lib(&[9])));
    assert_eq!(at("cudaMalloc"), ("mapped".into(), in_lib(&[12])));
    for absent in ["cuMemFree", "cuMemcpy", "cuMemHostAlloc", "cuMemHostRegister", "cufftPlan1d", "cudaMyOwn"] {
        assert!(!has(&report, absent), "{absent}");
    }
    let column =
        &report["items"].as_array().unwrap().iter().find(|item| item["name"] == "cuMemAlloc_v2").unwrap()["places"][0];
    assert_eq!(column["column"], 12);
}

#[test]
fn cudarcs_items_are_found_by_import_type_and_receiver() {
    let folder = project(&[
        ("Cargo.toml", "[dependencies]\ngpu = { package = \"cudarc\", version = \"0.19\", features = [\"cudnn\"] }\n"),
        (
            "src/lib.rs",
            "use gpu::driver::{CudaContext, result};\nuse gpu::driver as d;\nstruct A { stream: std::sync::Arc<d::CudaStream> }\n\
             fn f(a: &A) {\n    let ctx = CudaContext::new(0).unwrap();\n    a.stream.synchronize().unwrap();\n    \
             ctx.default_stream().fork();\n    result::init();\n    a.vec.len();\n    gpu::cudnn::Cudnn::new();\n    \
             a.dev.htod_sync_copy(&[1]);\n}\n",
        ),
        ("src/other.rs", "fn f(stream: &Mine) { stream.synchronize(); x.memcpy_htod(); }"),
    ]);
    let (report, _) = report(folder.path());
    let places = |name: &str| item(&report, name).1;
    assert_eq!(places("driver::CudaContext"), ["src/lib.rs:1"]);
    assert_eq!(places("driver::CudaContext::new"), ["src/lib.rs:5"]);
    assert_eq!(places("driver::CudaStream"), ["src/lib.rs:3"]);
    assert_eq!(places("driver::CudaStream::synchronize"), ["src/lib.rs:6"]);
    assert_eq!(places("driver::CudaContext::default_stream"), ["src/lib.rs:7"]);
    assert_eq!(places("driver::CudaStream::fork"), ["src/lib.rs:7"]);
    assert_eq!(places("driver::result::init"), ["src/lib.rs:8"]);
    assert_eq!(places("cudnn::*"), ["src/lib.rs:10"]);
    assert_eq!(item(&report, "cudarc's feature cudnn"), ("missing".into(), vec!["Cargo.toml:2".into()]));
    let old = report["items"].as_array().unwrap().iter().find(|item| item["name"] == "driver::htod_sync_copy").unwrap();
    assert!(old["note"].as_str().unwrap().contains("CudaStream::clone_htod"), "{old}");
    assert!(!items(&report).iter().any(|(.., places)| places.iter().any(|place| place.starts_with("src/other.rs"))));
    assert!(report["dependency"].as_str().unwrap().starts_with("cudarc = { package = \"cuda-compat\""));
}

#[test]
fn kernels_are_read_in_strings_and_files() {
    let folder = project(&[
        (
            "src/lib.rs",
            "const K: &str = r#\"\n#include <mma.h>\nextern \"C\" __global__ void k(float *x) {\n  // __nv_fp8_e4m3 in a comment\n  \
             asm volatile(\"wgmma.fence.sync.aligned;\");\n  x[0] = __shfl_xor_sync(0xffffffff, x[0], 1);\n}\n\"#;\n",
        ),
        ("kernels/k.cu", "__global__ void k() {}\nvoid f() {\n  k<<<1, 1>>>();\n  cudaDeviceSynchronize();\n}\n"),
        ("kernels/k.ptx", ".version 8.0\n"),
    ]);
    let (report, code) = report(folder.path());
    assert_eq!(code, 1);
    let at = |name: &str| item(&report, name);
    assert_eq!(at("#include <mma.h>"), ("missing".into(), vec!["src/lib.rs:2".into()]));
    assert_eq!(at("inline PTX (asm)"), ("missing".into(), vec!["src/lib.rs:5".into()]));
    assert_eq!(at("__shfl_xor_sync"), ("mapped".into(), vec!["src/lib.rs:6".into()]));
    assert_eq!(at("host code in CUDA C++").1, ["kernels/k.cu:3", "kernels/k.cu:4"]);
    assert_eq!(at("PTX file").1, ["kernels/k.ptx:0"]);
    let lanes = items(&report).into_iter().find(|(_, name, ..)| name.starts_with("code for 32 lanes")).unwrap();
    assert_eq!((lanes.2.as_str(), &lanes.3[..]), ("differs", &["src/lib.rs:6".to_owned()][..]));
    assert!(!has(&report, "__nv_fp8_e4m3"));
}

#[test]
fn builds_are_read() {
    let folder = project(&[
        (
            "build.rs",
            "fn main() {\n    println!(\"cargo:rustc-link-lib=dylib=cudart\");\n    std::process::Command::new(\"nvcc\");\n    \
             cc::Build::new().cuda(true);\n    std::env::var(\"CUDA_PATH\");\n}\n",
        ),
        (
            "src/lib.rs",
            "const P: &str = include_str!(concat!(env!(\"OUT_DIR\"), \"/k.ptx\"));\nconst WARP_SIZE: u32 = 32;\n",
        ),
        ("Cargo.toml", "[build-dependencies]\nbindgen_cuda = \"0.1\"\n"),
    ]);
    let (report, _) = report(folder.path());
    let at = |name: &str| item(&report, name);
    assert_eq!(at("link to cudart"), ("differs".into(), vec!["build.rs:2".into()]));
    assert_eq!(at("nvcc"), ("differs".into(), vec!["build.rs:3".into()]));
    assert_eq!(at("cc::Build::cuda"), ("differs".into(), vec!["build.rs:4".into()]));
    assert_eq!(at("CUDA_PATH"), ("differs".into(), vec!["build.rs:5".into()]));
    assert_eq!(at("PTX file"), ("missing".into(), vec!["src/lib.rs:1".into()]));
    assert_eq!(at("WARP_SIZE = 32"), ("differs".into(), vec!["src/lib.rs:2".into()]));
    assert_eq!(at("bindgen_cuda"), ("differs".into(), vec!["Cargo.toml:2".into()]));
}

#[test]
fn the_exit_code_and_the_line_for_cargo_say_what_is_needed() {
    let folder = project(&[("src/main.rs", "fn main() { cufftPlan1d(); cuMemAdvise_v2(); cuMemAlloc(); }")]);
    let (report, code) = report(folder.path());
    assert_eq!(code, 1 - i32::from(items(&report).iter().all(|(_, _, status, _)| status != "missing")));
    assert_eq!(code, 0);
    assert_eq!(
        report["dependency"],
        "cuda-compat = { path = \"../rocm-for-rust/cuda-compat\", features = [\"cufft\", \"rocm-7-1\"] }"
    );
    let nothing = project(&[("src/main.rs", "fn main() {}")]);
    let output = check(nothing.path(), &[]);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stdout).unwrap().contains("Nothing of CUDA was found"));
    for arguments in [&["/no/such/folder"][..], &["--format", "yaml"], &["--no-such-option"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_cuda-compat")).arg("check").args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(!output.stderr.is_empty());
    }
}

#[test]
fn the_text_has_a_summary_first_and_colours_on_request() {
    let folder = project(&[("a.rs", "fn f() { cuMulticastCreate(); nvrtcGetPTX(); cuInit(0); }")]);
    let text = |arguments: &[&str]| String::from_utf8(check(folder.path(), arguments).stdout).unwrap();
    let plain = text(&[]);
    let position = |word: &str| plain.find(word).unwrap_or_else(|| panic!("no {word:?} in {plain}"));
    assert!(position("C names") < position("Missing: 1 item, in 1 place"));
    assert!(position("Missing:") < position("Differs:"));
    assert!(position("cuMulticastCreate  a.rs:1") < position("-> NVLink multicast: use RCCL's collectives"));
    assert!(!plain.contains("\x1b[") && !plain.contains("cuInit"));
    let all = text(&["--all", "--color", "always"]);
    assert!(all.contains("\x1b[31m") && all.contains("cuda_compat::driver::cuInit (hipInit)"), "{all}");
}

#[test]
fn what_cannot_be_read_is_a_note_and_stops_nothing() {
    let folder = project(&[
        ("a/broken.rs", "fn f() {\n    cuInit(0);\n    let s = \"\n"),
        ("b.rs", "fn f() { cuMemAlloc(); }"),
        ("target/CACHEDIR.TAG", ""),
        ("target/x.rs", "fn f() { cuMemFree(); }"),
        (".hidden/x.rs", "fn f() { cuMemFree(); }"),
        ("target2/x.rs", "fn f() { cuDeviceGetCount(); }"),
    ]);
    fs::write(folder.path().join("bytes.rs"), b"fn f() { cuDeviceGet(); }\n// \xff\xfe\n").unwrap();
    fs::write(folder.path().join("empty.rs"), "").unwrap();
    fs::File::create(folder.path().join("huge.rs")).unwrap().set_len(33 << 20).unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("..", folder.path().join("a/loop")).unwrap();
        std::os::unix::fs::symlink("nowhere", folder.path().join("dangling.rs")).unwrap();
        std::os::unix::fs::symlink("self.rs", folder.path().join("self.rs")).unwrap();
    }
    let (report, code) = report(folder.path());
    assert_eq!(code, 0);
    for (name, place) in [
        ("cuInit", "a/broken.rs:2"),
        ("cuMemAlloc", "b.rs:1"),
        ("cuDeviceGet", "bytes.rs:1"),
        ("cuDeviceGetCount", "target2/x.rs:1"),
    ] {
        assert_eq!(item(&report, name).1, [place]);
    }
    assert!(!has(&report, "cuMemFree"));
    let notes: Vec<String> =
        report["notes"].as_array().unwrap().iter().map(|note| format!("{}: {}", note["file"], note["note"])).collect();
    for start in [
        "\"a/broken.rs\": \"does not parse: line 3",
        "\"bytes.rs\": \"not UTF-8",
        "\"huge.rs\": \"not read: it has 33 MiB",
    ] {
        assert!(notes.iter().any(|note| note.starts_with(start)), "{start}: {notes:#?}");
    }
    if cfg!(unix) {
        assert!(notes.iter().any(|note| note.starts_with("\"dangling.rs\"")), "{notes:#?}");
    }
}

#[test]
fn large_files_are_read() {
    let source = "fn f() { cuMemAlloc(&mut p, 4); g(h(\"text\")); }\n".repeat(10_000);
    let folder = project(&[("src/large.rs", &source)]);
    let (report, _) = report(folder.path());
    assert_eq!(item(&report, "cuMemAlloc").1.len(), 10_000);
}

/// The table that `check` reads, against the compiler: what it calls mapped can be imported, and nothing else can.
#[cfg(all(feature = "rocm-10-0", feature = "cublas", feature = "cublaslt", feature = "curand", feature = "cufft"))]
#[cfg(all(
    feature = "cusolver",
    feature = "cusparse",
    feature = "nccl",
    feature = "cufile",
    feature = "nvtx",
    feature = "nvml"
))]
#[test]
fn names_are_here_as_the_table_says() {
    let rows: Vec<Vec<&str>> =
        include_str!("../../src/generated/names.tsv").lines().skip(1).map(|line| line.split('\t').collect()).collect();
    let lines: Vec<String> = rows
        .iter()
        .enumerate()
        .map(|(at, row)| match (row[0], row[2], row[3], row[5]) {
            (module, name, "variant", of) => {
                format!("pub const _: cuda_compat::{module}::{of} = cuda_compat::{module}::{of}::{name};")
            }
            (module, name, ..) => format!("pub use cuda_compat::{module}::{name} as name_{at};"),
        })
        .collect();
    let wrong = sys_testing::misuse::lines_with_errors(&lines, &["cuda_compat"]);
    assert!(wrong.len() > 3000 && wrong.len() < 5000, "{} of {} names", wrong.len(), rows.len());
    let differs = |(at, row): (usize, &Vec<&str>)| ((row[3] == "absent") != wrong.contains(&at)).then(|| row.join(" "));
    let differing: Vec<_> = rows.iter().enumerate().filter_map(differs).collect();
    assert!(differing.is_empty(), "{differing:#?}");
}
