//! The stand-ins for CUDA's commands: `nvcc`, `ptxas`, `nvidia-smi`, and `cuda-compat env`, which puts them on the path.
//!
//! Tests that compile need a release's HIPRTC (`ROCM_RS_RELEASE`, set by `cargo xtask test 'cuda-compat 7.2'`). Else they say that
//! they were skipped.

mod kernels;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// The command `cuda-compat`, on the software GPU, without the flags and compilers of this machine.
fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cuda-compat"));
    for name in ["NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN", "CUDA_COMPAT_ARCH", "CC", "CXX", "AR"] {
        command.env_remove(name);
    }
    command.env("HIP_RS_BACKEND", "sim");
    command
}

fn run(tool: &str, arguments: &[&str]) -> Output {
    command().arg(tool).args(arguments).output().unwrap()
}

#[track_caller]
fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", stderr(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[track_caller]
fn error(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{}", stderr(output));
    stderr(output)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Writes a file, with its folders.
fn put(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

/// A folder with the stand-ins.
fn toolkit() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let toolkit = folder.path().join("tool's kit");
    stdout(&command().arg("env").arg("--dir").arg(&toolkit).output().unwrap());
    (folder, toolkit)
}

#[test]
fn versions_are_read_as_build_scripts_read_them() {
    let version = stdout(&run("nvcc", &["--version"]));
    // cudarc and others take what is between these.
    let release = version.split_once("release ").unwrap().1.split_once(',').unwrap().0;
    assert_eq!(release, "12.8");
    assert!(version.contains("stand-in"), "{version}");
    assert!(stdout(&run("ptxas", &["--version"])).contains("release 12.8,"));
    assert!(stdout(&run("nvidia-smi", &["--version"])).contains("CUDA Version: 12.8"));
}

#[test]
fn nvcc_says_what_it_takes() {
    let codes = stdout(&run("nvcc", &["--list-gpu-code"]));
    assert!(codes.lines().any(|line| line == "sm_80") && codes.lines().all(|line| line.starts_with("sm_")));
    let help = stdout(&run("nvcc", &["--help"]));
    for line in include_str!("../../src/check/toolkit/nvcc.tsv").lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        assert!(help.contains(&format!("-{}", fields[1])) && help.contains(fields[4]), "{line}");
    }
    assert!(stdout(&command().arg("--help").output().unwrap()).contains("cuda-compat nvcc --help"));
}

#[test]
fn wrong_commands_are_named_with_what_to_do() {
    let unknown = error(&run("nvcc", &["--ptx", "-fPIC", "k.cu"]));
    assert!(unknown.contains("unknown option '-fPIC'") && unknown.contains("-Xcompiler -fPIC"), "{unknown}");
    let refused = error(&run("nvcc", &["-optix-ir", "k.cu"]));
    assert!(refused.contains("'-optix-ir' is not supported") && refused.contains("HIP RT"), "{refused}");
    assert!(error(&run("nvcc", &["k.cu", "-o", "k"])).contains("--ptx, -c or --lib"));
    assert!(error(&run("nvcc", &["--ptx"])).contains("no files"));
    assert!(error(&run("nvcc", &["--ptx", "k.cpp"])).contains("k.cpp"));
    assert!(error(&run("nvidia-smi", &["-q"])).contains("unknown option '-q'"));
    assert!(error(&run("nvidia-smi", &["--query-gpu=fan.speed", "--format=csv"])).contains("'fan.speed'"));
    let folder = TempDir::new().unwrap();
    let ptx = put(folder.path(), "k.ptx", ".version 8.0\n.target sm_80\n");
    assert!(error(&run("ptxas", &[text(&ptx), "-o", "x"])).contains("this is PTX"));
}

#[test]
fn gpus_are_listed_as_build_scripts_ask() {
    // As bindgen_cuda and cudaforge do.
    assert_eq!(stdout(&run("nvidia-smi", &["--query-gpu=compute_cap", "--format=csv"])), "compute_cap\n8.0\n");
    let query = ["--query-gpu=index,name,memory.total,driver_version", "--format=csv"];
    let table = stdout(&run("nvidia-smi", &query));
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[0], "index, name, memory.total [MiB], driver_version");
    assert!(lines.len() == 2 && lines[1].starts_with("0, ") && lines[1].contains(" MiB, "), "{table}");
    let row = stdout(&run("nvidia-smi", &["-i", "0", "--query-gpu", "memory.total", "--format=csv,noheader,nounits"]));
    assert!(row.trim().parse::<u64>().unwrap() > 0, "{row}");
    assert!(stdout(&run("nvidia-smi", &["-L"])).starts_with("GPU 0: "));
    assert!(error(&run("nvidia-smi", &["-i", "7", "-L"])).contains("no GPU 7"));
    // The capability is the same without a GPU; everything else needs one.
    let without = |arguments: &[&str]| {
        let mut command = command();
        command.env("HIP_RS_BACKEND", "rocm").env("HIP_VISIBLE_DEVICES", "-1").env("ROCR_VISIBLE_DEVICES", "-1");
        command.arg("nvidia-smi").args(arguments).output().unwrap()
    };
    assert_eq!(stdout(&without(&["--query-gpu=compute_cap", "--format=csv"])), "compute_cap\n8.0\n");
    let none = without(&["-L"]);
    assert_eq!((none.status.code(), &none.stdout[..]), (Some(6), &b"No devices were found\n"[..]));
}

#[cfg(unix)]
#[test]
fn the_folder_has_a_toolkits_layout_and_its_tools_run() {
    let (_folder, toolkit) = toolkit();
    for name in ["nvcc", "ptxas"] {
        let output = Command::new(toolkit.join("bin").join(name)).arg("--version").output().unwrap();
        assert!(stdout(&output).contains("12.8"));
    }
    assert!(fs::read_to_string(toolkit.join("include/cuda.h")).unwrap().contains("#define CUDA_VERSION 12080\n"));
    let json: serde_json::Value = serde_json::from_slice(&fs::read(toolkit.join("version.json")).unwrap()).unwrap();
    assert_eq!(json["cuda"]["version"], "12.8.0");
    // Again, into the same folder, as lines for a shell.
    let lines = stdout(&command().args(["env", "--shell", "sh", "--dir"]).arg(&toolkit).output().unwrap());
    let script =
        format!("{lines}{lines}command -v nvcc; echo \"$CUDA_PATH\"; echo \"$NVCC\"; nvcc --version; echo \"$PATH\"");
    let told = stdout(&Command::new("sh").args(["-c", &script]).output().unwrap());
    let told: Vec<&str> = told.lines().collect();
    let nvcc = toolkit.join("bin/nvcc");
    assert_eq!(told[..3], [text(&nvcc), text(&toolkit), text(&nvcc)]);
    assert!(told[4].contains("release 12.8,"), "{told:?}");
    assert_eq!(told[5].matches("tool's kit").count(), 1, "{told:?}");
    // And for a program, with its exit code.
    let mut program = command();
    program.arg("env").arg("--dir").arg(&toolkit).args(["--", "sh", "-c", "command -v nvidia-smi; exit 7"]);
    let output = program.output().unwrap();
    assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), text(&toolkit.join("bin/nvidia-smi")));
    let fish = command().args(["env", "--shell", "fish", "--dir"]).arg(&toolkit).output().unwrap();
    assert!(stdout(&fish).contains("\\'s kit"));
}

#[cfg(unix)]
#[test]
fn files_of_the_host_are_compiled_by_its_compiler_and_archived() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    put(folder.path(), "one.c", "#ifdef PART\nint one(void) { return PART; }\n#endif\n");
    stdout(&run("nvcc", &["-c", "-DPART=41", "-Xcompiler", "-fPIC,-Wall", "-o", &at("one.o"), &at("one.c")]));
    // As `cc` does after all objects.
    stdout(&run("nvcc", &["--device-link", "-o", &at("one_dlink.o"), &at("one.o")]));
    stdout(&run("nvcc", &["--lib", "-o", &at("libone.a"), &at("one.o"), &at("one_dlink.o")]));
    let members = stdout(&Command::new("ar").args(["t", &at("libone.a")]).output().unwrap());
    assert_eq!(members, "one.o\none_dlink.o\n");
    // The members of an older library do not stay.
    stdout(&run("nvcc", &["-lib", "-o", &at("libone.a"), &at("one.o")]));
    assert_eq!(stdout(&Command::new("ar").args(["t", &at("libone.a")]).output().unwrap()), "one.o\n");
    put(folder.path(), "main.c", "int one(void);\nint main(void) { return one(); }\n");
    let mut link = Command::new("cc");
    stdout(&link.args(["-o", &at("main"), &at("main.c"), &at("libone.a")]).output().unwrap());
    assert_eq!(Command::new(at("main")).status().unwrap().code(), Some(41));
    let expanded = stdout(&run("nvcc", &["-E", "-DPART=42", &at("one.c")]));
    assert!(expanded.contains("return 42;"), "{expanded}");
    let rule = stdout(&run("nvcc", &["-M", &at("one.c")]));
    assert_eq!(rule, format!("one.o : {}\n", at("one.c")));
    assert!(error(&run("nvcc", &["--lib", "-o", &at("x.a"), &at("one.c")])).contains("compile it with -c"));
}

/// A compiler that writes its arguments, and an object.
#[cfg(unix)]
const CLANG: &str = r#"#!/bin/sh
echo "$@" >> "$(dirname "$0")/calls"
while [ "$1" != -o ]; do shift; done
printf '\177ELF code' > "$2"
"#;

#[cfg(unix)]
#[test]
fn objects_with_functions_of_the_host_are_compiled_by_rocms_clang() {
    let folder = TempDir::new().unwrap();
    let rocm = folder.path().join("rocm");
    let script = put(folder.path(), "clang", CLANG);
    fs::create_dir_all(rocm.join("bin")).unwrap();
    // Copied by another process: a file that this one wrote may be open in the child of another thread.
    let copied = Command::new("install").args(["-m", "755", text(&script)]).arg(rocm.join("bin/amdclang++")).status();
    assert!(copied.unwrap().success());
    let source = put(folder.path(), "k.cu", "__global__ void k() {}\n");
    let object = folder.path().join("k.o");
    let mut nvcc = command();
    nvcc.env("ROCM_PATH", &rocm).env("CUDA_COMPAT_ARCH", "gfx90a,gfx942").arg("nvcc");
    // As cudaforge does.
    nvcc.args(["-gencode=arch=compute_80,code=sm_80", "-c", "-o", text(&object), "--default-stream", "per-thread"]);
    nvcc.args([
        "--expt-relaxed-constexpr",
        "-std=c++17",
        "-O3",
        "-Xcompiler",
        "-fPIC",
        "--use_fast_math",
        text(&source),
    ]);
    stdout(&nvcc.output().unwrap());
    assert!(object.is_file());
    let calls = fs::read_to_string(rocm.join("bin/calls")).unwrap();
    let call = calls.lines().last().unwrap();
    for part in [
        "-x hip",
        "--offload-arch=gfx90a --offload-arch=gfx942",
        "-fgpu-default-stream=per-thread",
        "-ffast-math",
        "-std=c++17 -O3",
        "-fPIC",
        "-c -o",
    ] {
        assert!(call.contains(part), "{part} in {call}");
    }
    assert!(!call.contains("relaxed"), "{call}");
}

#[cfg(unix)]
#[test]
fn functions_of_the_host_can_be_left_out_as_of_candle() {
    let folder = TempDir::new().unwrap();
    let toolkit = folder.path().join("toolkit");
    let source = put(folder.path(), "k.cu", "#include <mma.h>\nextern \"C\" int launch() { return 1; }\n");
    let [object, library] = ["k.o", "libk.a"].map(|name| folder.path().join(name));
    // As build scripts do, which link the runtime, too.
    let script = "nvcc -c -O3 -Xcompiler -fPIC -o \"$2\" \"$1\" && nvcc --lib -o \"$3\" \"$2\" && \
        echo 'int main(void) { return CODE; }' | cc -DCODE=7 -x c - -x none \"$3\" -lcudart -o \"$3.out\" && \"$3.out\"";
    let build = |options: &[&str]| {
        let mut program = command();
        program
            .env_remove("LIBRARY_PATH")
            .env("ROCM_PATH", folder.path())
            .arg("env")
            .arg("--dir")
            .arg(&toolkit)
            .args(options);
        program.args(["--", "sh", "-c", script, "sh"]).args([&source, &object, &library]).output().unwrap()
    };
    let output = build(&[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("--omit-host-code"), "{}", stderr(&output));
    let output = build(&["--omit-host-code"]);
    assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
    let symbols = stdout(&Command::new("nm").arg(&object).output().unwrap());
    assert!(!symbols.contains("launch"), "{symbols}");
}
