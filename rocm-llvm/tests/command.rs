//! The command `rocm-llvm`, on files of this workspace and of ROCm's libraries, and on bad files.

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use object::{Object as _, ObjectSection as _};
use rocm_llvm::comgr::{self, Options};
use serde_json::Value;
use sys_testing::skipped;

on_each_release! {
    metadata_is_what_readelf_prints
    source_lines_are_beside_the_instructions
    kernels_of_several_object_files_are_all_there
}

// Up to LLVM 19, the compiler only counted workgroups of the largest size.
on_each_release! { occupancy_6_4 "6.4" "libamd_comgr.so.3" occupancy_is_the_compilers }
on_each_release! { occupancy_7_2 "7.2" "libamd_comgr.so.3" occupancy_is_the_compilers }

const BUNDLE: &str = "../examples/kernels/saxpy.hipfb";
const COMPRESSED: &str = "../sim/amdgpu-sim/tests/kernels/basic-ccob-v3.hipfb";
const CODE: &str = "../hip/tests/kernels/kernels.gfx90a.co";

fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn command(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rocm-llvm"))
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap()
}

fn good(arguments: &[&str]) -> String {
    let output = command(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the error of a command that must fail with one line and exit code 1.
fn bad(arguments: &[&str]) -> String {
    let output = command(arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.starts_with("ERROR: ") && !text.contains("panicked"), "{text}");
    text
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&good(&[arguments, &["--json"]].concat())).unwrap()
}

/// Returns the registers of the kernels in a report, by name.
fn registers(report: &Value) -> BTreeMap<String, [u64; 6]> {
    let objects = report["code_objects"].as_array().unwrap();
    let kernels = objects.iter().flat_map(|object| object["kernels"].as_array().unwrap());
    let fields = ["vgprs", "sgprs", "lds_bytes", "scratch_bytes", "vgpr_spills", "sgpr_spills"];
    kernels
        .map(|kernel| {
            (kernel["name"].as_str().unwrap().to_owned(), fields.map(|field| kernel[field].as_u64().unwrap()))
        })
        .collect()
}

/// Returns LLVM's own tool, if it is installed and supports AMD GPUs.
fn llvm_tool(name: &str) -> Option<PathBuf> {
    let versions = (14..=23).rev().map(|version| format!("{name}-{version}")).chain([name.to_owned()]);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let found = versions.flat_map(|name| folders.iter().map(move |folder| folder.join(&name)).collect::<Vec<_>>());
    let found = found.into_iter().find(|path| path.is_file());
    if found.is_none() {
        skipped(format_args!("no {name} on PATH to compare with"));
    }
    found
}

#[test]
fn a_bundle_lists_its_architectures_and_kernels() {
    let report = json(&["inspect", BUNDLE]);
    let targets: Vec<&str> =
        report["code_objects"].as_array().unwrap().iter().map(|object| object["target"].as_str().unwrap()).collect();
    assert_eq!(targets, ["gfx90a", "gfx942", "gfx1100", "gfx1201"]);
    assert_eq!(report["kind"], "offload bundle");
    let kernel = &report["code_objects"][0]["kernels"][0];
    assert_eq!(kernel["name"], "saxpy");
    assert_eq!(kernel["wavefront_size"], 64);
    assert_eq!(kernel["occupancy"]["waves_per_simd"], 8);
    assert_eq!(kernel["arguments"][1]["kind"], "global_buffer");
    assert_eq!((&kernel["arguments"][1]["offset"], &kernel["arguments"][1]["size"]), (&8.into(), &8.into()));
    let text = good(&["inspect", BUNDLE, "--arch", "gfx1100"]);
    assert!(text.contains("gfx1100 (bundle 0)") && !text.contains("gfx942"), "{text}");
    assert!(text.contains("wave32") && text.contains("occupancy 16 of 16"), "{text}");
    assert!(!text.contains("hidden_block_count_x"), "{text}");
    assert!(good(&["inspect", BUNDLE, "--hidden"]).contains("hidden_block_count_x"));
    let list = good(&["inspect", BUNDLE, "--list"]);
    assert!(list.contains("1 kernel") && !list.contains("VGPRs"), "{list}");
}

#[test]
fn compressed_bundles_and_code_objects_are_read() {
    for (path, compressed) in [(COMPRESSED, true), ("../sim/amdgpu-sim/tests/kernels/basic-ccob-v2.hipfb", true)] {
        let report = json(&["inspect", path, "--arch", "gfx90a"]);
        let object = &report["code_objects"][0];
        assert_eq!(object["compressed"], compressed);
        assert!(registers(&report).contains_key("vector_add"));
        assert_eq!(object["kernels"].as_array().unwrap().len() as u64, object["kernel_count"].as_u64().unwrap());
    }
    let report = json(&["inspect", CODE, "--kernel", "vector_add"]);
    assert_eq!(report["kind"], "code object");
    assert!(registers(&report).keys().all(|name| name.contains("vector_add")), "{report}");
}

/// Compares with the output of `llvm-readelf --notes`.
#[test]
fn registers_are_those_that_readelf_prints() {
    let Some(readelf) = llvm_tool("llvm-readelf") else { return };
    let output = Command::new(readelf).arg("--notes").arg(file(CODE)).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    if !text.contains(".vgpr_count") {
        skipped("this llvm-readelf does not know the metadata");
        return;
    }
    let ours = registers(&json(&["inspect", CODE]));
    let (mut kernel, mut compared) = (BTreeMap::new(), 0);
    for line in text.lines().chain(["  - "]) {
        if line.starts_with("  - ") && !kernel.is_empty() {
            let number = |key: &str| kernel.get(key).map_or(0, |text: &String| text.parse().unwrap());
            let keys = [
                ".vgpr_count",
                ".sgpr_count",
                ".group_segment_fixed_size",
                ".private_segment_fixed_size",
                ".vgpr_spill_count",
                ".sgpr_spill_count",
            ];
            if let Some(name) = kernel.get(".name") {
                assert_eq!(ours[name], keys.map(number), "{name}");
                compared += 1;
            }
            kernel.clear();
        }
        // A field of the kernel itself, not of its arguments.
        if let Some((key, value)) =
            line.get(4..).filter(|rest| rest.starts_with('.')).and_then(|rest| rest.split_once(':'))
        {
            kernel.insert(key.to_owned(), value.trim().trim_matches('\'').to_owned());
        }
    }
    assert_eq!(compared, ours.len());
}

/// Addresses and mnemonics are those of `llvm-objdump -d`.
#[test]
fn instructions_are_those_that_objdump_prints() {
    let Some(objdump) = llvm_tool("llvm-objdump") else { return };
    let output = Command::new(objdump).args(["-d", "--mcpu=gfx90a"]).arg(file(CODE)).output().unwrap();
    let theirs = String::from_utf8_lossy(&output.stdout).into_owned();
    if !theirs.contains("s_endpgm") {
        skipped("this llvm-objdump has no AMDGPU target");
        return;
    }
    let disasm = command(&["disasm", CODE]);
    let Some(ours) = disassembled(&disasm) else { return };
    // `s_load_dword s0, .. // 000000001900: C0020002 0000002C`
    let of_line = |line: &str| {
        let (text, comment) = line.split_once("//")?;
        let address = u64::from_str_radix(comment.trim().split(':').next()?, 16).ok()?;
        Some((address, text.split_whitespace().next()?.to_owned()))
    };
    let theirs: BTreeMap<u64, String> = theirs.lines().filter_map(of_line).collect();
    assert!(ours.len() > 100, "{}", ours.len());
    for (address, mnemonic) in &ours {
        assert_eq!(theirs.get(address), Some(mnemonic), "{address:x}");
    }
}

/// Returns address and mnemonic of each instruction in the output of `disasm`.
fn disassembled(output: &Output) -> Option<BTreeMap<u64, String>> {
    let error = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() && error.contains("no disassembler for") {
        skipped(error.lines().next().unwrap_or_default());
        return None;
    }
    assert!(output.status.success(), "{error}");
    let of_line = |line: &str| {
        let (address, text) = line.split_once(":  ")?;
        Some((u64::from_str_radix(address.trim(), 16).ok()?, text.split_whitespace().next()?.to_owned()))
    };
    Some(String::from_utf8_lossy(&output.stdout).lines().filter_map(of_line).collect())
}

#[test]
fn one_kernel_is_disassembled() {
    let output = command(&["disasm", BUNDLE, "saxpy", "--arch", "gfx90a", "--bytes"]);
    let Some(found) = disassembled(&output) else { return };
    assert!(found.len() > 10, "{found:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("; gfx90a, disassembled by "), "{text}");
    assert!(text.contains("<saxpy>:") && text.contains("BF810000") && text.contains("s_endpgm"), "{text}");
    assert!(text.contains(" <saxpy+0x"), "branches name their target: {text}");
    let missing = bad(&["disasm", BUNDLE, "nothing"]);
    assert!(missing.contains("no function nothing") && missing.contains("saxpy"), "{missing}");
    assert!(bad(&["disasm", BUNDLE, "--llvm", "/nowhere/libLLVM.so"]).contains("/nowhere/libLLVM.so"));
}

/// Returns the LLVM in the Rust toolchain, if it has one.
fn llvm_of_the_toolchain() -> Option<PathBuf> {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
    let folder = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim()).join("lib");
    let files = std::fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.path());
    let llvm = files.filter(|path| {
        let is_llvm = path.file_name().unwrap().to_string_lossy().starts_with("libLLVM");
        is_llvm && std::fs::metadata(path).unwrap().len() > 1 << 20
    });
    let llvm = llvm.max();
    if llvm.is_none() {
        skipped(format_args!("no LLVM in {}", folder.display()));
    }
    llvm
}

/// Returns the code object with these bytes at its first instructions.
fn with_code(bytes: &[u8]) -> Vec<u8> {
    let mut code = std::fs::read(file(CODE)).unwrap();
    let parsed = object::read::elf::ElfFile64::<object::LittleEndian>::parse(&*code).unwrap();
    let start = parsed.section_by_name(".text").unwrap().file_range().unwrap().0 as usize;
    code[start..start + bytes.len()].copy_from_slice(bytes);
    code
}

/// LLVM 22 ends the process at these words.
#[test]
fn damaged_code_ends_in_an_error() {
    let Some(llvm) = llvm_of_the_toolchain() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.co");
    std::fs::write(&path, with_code(&[0x00, 0x00, 0x86, 0xe8, 0x00, 0x00, 0x00, 0xff])).unwrap();
    let output = command(&["disasm", path.to_str().unwrap(), "--llvm", llvm.to_str().unwrap()]);
    let error = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(0) => {}
        code => assert!(code == Some(1) && error.contains("the code is damaged"), "{output:?}"),
    }
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains(">:\n"), "the function is named: {text}");
}

/// Hand-written assembly, as hipBLASLt's, has functions without a size.
#[test]
fn functions_without_a_size_are_disassembled() {
    let mut code = std::fs::read(file(CODE)).unwrap();
    let parsed = object::read::elf::ElfFile64::<object::LittleEndian>::parse(&*code).unwrap();
    let mut sizes = Vec::new();
    for name in [".symtab", ".dynsym"] {
        let (start, size) = parsed.section_by_name(name).unwrap().file_range().unwrap();
        // A symbol has 24 bytes: its kind is the low half of the fifth, its size the last eight.
        let symbols = (start as usize..(start + size) as usize).step_by(24);
        sizes.extend(symbols.filter(|&at| code[at + 4] & 0xf == 2).map(|at| at + 16));
    }
    assert!(!sizes.is_empty());
    sizes.iter().for_each(|&at| code[at..at + 8].fill(0));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sizes.co");
    std::fs::write(&path, &code).unwrap();
    let Some(without) = disassembled(&command(&["disasm", path.to_str().unwrap()])) else { return };
    let with = disassembled(&command(&["disasm", CODE])).unwrap();
    // What is between two functions is shown too.
    assert!(
        with.len() > 100 && with.iter().all(|(address, name)| without.get(address) == Some(name)),
        "{}",
        without.len()
    );
}

/// The LLVM in the Rust toolchain disassembles, and gives the same instructions as the others.
#[test]
fn the_toolchains_llvm_disassembles() {
    let Some(llvm) = llvm_of_the_toolchain() else { return };
    for arch in ["gfx90a", "gfx1201"] {
        let output = command(&["disasm", BUNDLE, "saxpy", "--arch", arch, "--llvm", llvm.to_str().unwrap()]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("libLLVM") && text.contains("s_endpgm"), "{output:?}");
        let (ours, others) = (disassembled(&output).unwrap(), command(&["disasm", BUNDLE, "saxpy", "--arch", arch]));
        assert_eq!(Some(ours), disassembled(&others));
    }
}

#[test]
fn code_objects_are_extracted_and_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("new/folder");
    let to = to.to_str().unwrap();
    let listed = good(&["extract", BUNDLE, "-o", to]);
    assert_eq!(listed.lines().count(), 4);
    for arch in ["gfx90a", "gfx942", "gfx1100", "gfx1201"] {
        let path = format!("{to}/saxpy.hipfb.0.{arch}.co");
        assert!(listed.contains(&path), "{listed}");
        let report = json(&["inspect", &path]);
        assert_eq!(report["code_objects"][0]["target"], arch);
    }
    assert!(bad(&["extract", BUNDLE, "-o", to]).contains("cannot create"));
    good(&["extract", BUNDLE, "-o", to, "--force", "--arch", "gfx90a"]);
    // The bytes equal those in the bundle.
    let bundle = std::fs::read(file(BUNDLE)).unwrap();
    let entries = hip::Module::bundle_entries(&bundle).unwrap();
    let entry = entries.iter().find(|(id, _)| id.ends_with("gfx90a")).unwrap().1;
    assert_eq!(std::fs::read(format!("{to}/saxpy.hipfb.0.gfx90a.co")).unwrap(), entry);
    // The same for a compressed bundle.
    good(&["extract", COMPRESSED, "-o", to]);
    assert!(Path::new(to).join("basic-ccob-v3.hipfb.0.gfx942.co").is_file());
    assert!(bad(&["extract", BUNDLE, "-o", to, "--arch", "gfx803"]).contains("no code for gfx803"));
    assert!(bad(&["extract", BUNDLE, "-o", &format!("{to}/saxpy.hipfb.0.gfx90a.co")]).contains("cannot create"));
}

/// Names in a bundle do not lead out of the folder.
#[test]
fn names_of_entries_stay_in_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let code = std::fs::read(file(CODE)).unwrap();
    let id = "hipv4-amdgcn-amd-amdhsa--gfx90a:../../../out+";
    let mut bundle = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    for number in [1, 24 + 8 + 24 + id.len(), code.len(), id.len()] {
        bundle.extend((number as u64).to_le_bytes());
    }
    bundle.extend(id.bytes());
    bundle.extend(&code);
    let path = folder.path().join("evil.hipfb");
    std::fs::write(&path, bundle).unwrap();
    let to = folder.path().join("a/b/c");
    let output = command(&["extract", path.to_str().unwrap(), "-o", to.to_str().unwrap()]);
    assert!(!folder.path().join("a/out").exists() && !folder.path().join("out").exists());
    if output.status.success() {
        assert_eq!(std::fs::read_dir(to).unwrap().count(), 1, "{output:?}");
    }
}

#[test]
fn bad_files_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let bundle = std::fs::read(file(BUNDLE)).unwrap();
    let code = std::fs::read(file(CODE)).unwrap();
    let compressed = std::fs::read(file(COMPRESSED)).unwrap();
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    for (path, reason) in [
        (write("empty", b""), "is empty"),
        (write("text", b"#!/bin/sh\n"), "23 21 2f 62"),
        (write("bitcode.bc", b"BC\xc0\xde...."), "bitcode"),
        (write("archive.a", b"!<arch>\n"), "archive"),
        (write("cut.hipfb", &bundle[..bundle.len() / 2]), "cut off"),
        (write("cut.ccob", &compressed[..compressed.len() / 2]), "cut off"),
        (write("header.ccob", b"CCOB"), "cut off"),
        (std::env::current_exe().unwrap().to_str().unwrap().to_owned(), ".hip_fatbin"),
        ("/nowhere/file".to_owned(), "cannot read /nowhere/file"),
    ] {
        for arguments in [vec!["inspect", &path], vec!["disasm", &path], vec!["extract", &path, "-o", out]] {
            let error = bad(&arguments);
            assert!(error.contains(reason), "{arguments:?}: {error}");
        }
    }
    // A truncated code object has no kernels to show, and the command reports that.
    for len in [20, 64, 300, code.len() / 2, code.len() - 1] {
        let path = write("cut.co", &code[..len]);
        let output = command(&["inspect", &path]);
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("damaged"), "{len}: {text}");
        assert!(bad(&["disasm", &path]).contains("damaged"));
    }
    let error = bad(&["inspect", BUNDLE, "--arch", "gfx803"]);
    assert!(error.contains("no code for gfx803") && error.contains("gfx1100, gfx1201, gfx90a, gfx942"), "{error}");
    assert_eq!(command(&["inspect"]).status.code(), Some(2));
    assert_eq!(command(&["nonsense"]).status.code(), Some(2));
    for help in [&["--help"][..], &["inspect", "--help"], &["disasm", "--help"], &["extract", "--help"]] {
        assert!(good(help).contains("Usage: rocm-llvm"), "{help:?}");
    }
}

/// A library of ROCm with several bundles, uncompressed or compressed.
#[test]
fn host_libraries_are_read() {
    let mut read = 0;
    for (tree, name) in [("7.2", "librocfft.so.0"), ("6.4", "librocfft.so.0"), ("5.7", "librocfft.so.0")] {
        let path = sys_testing::trees().join(tree).join("usr/lib/x86_64-linux-gnu").join(name);
        if !path.exists() {
            continue;
        }
        let report = json(&["inspect", path.to_str().unwrap(), "--arch", "gfx90a", "--list"]);
        assert_eq!(report["kind"], "host file");
        let objects = report["code_objects"].as_array().unwrap();
        let bundles: Vec<u64> = objects.iter().map(|object| object["bundle"].as_u64().unwrap()).collect();
        assert!(!bundles.is_empty() && bundles.is_sorted(), "{bundles:?}");
        assert!(objects.iter().all(|object| object.get("error").is_none()), "{path:?}");
        read += 1;
    }
    if read == 0 {
        skipped("no library of ROCm with kernels (`cargo xtask rocm fetch 7.2 --with rocfft`)");
    }
}

/// The number of waves that Clang's remark prints, for kernels that registers and LDS limit.
fn occupancy_is_the_compilers() {
    const SOURCE: &str = r#"
        extern "C" __global__ void small(float *x) { x[threadIdx.x] *= 2.0f; }
        extern "C" __global__ __launch_bounds__(256) void lds(float *x) {
            __shared__ float s[4000];
            s[threadIdx.x] = x[threadIdx.x];
            __syncthreads();
            x[threadIdx.x] = s[255 - threadIdx.x];
        }
        extern "C" __global__ __launch_bounds__(64) void registers(float *x) {
            float v[150];
            #pragma unroll
            for (int i = 0; i < 150; ++i) v[i] = x[i * 64 + threadIdx.x];
            __syncthreads();
            #pragma unroll
            for (int i = 0; i < 150; ++i) x[i * 64 + threadIdx.x] = v[149 - i] * v[i];
        }
        extern "C" __global__ __launch_bounds__(128) void some(float *x) {
            float v[50];
            #pragma unroll
            for (int i = 0; i < 50; ++i) v[i] = x[i * 128 + threadIdx.x];
            __syncthreads();
            #pragma unroll
            for (int i = 0; i < 50; ++i) x[i * 128 + threadIdx.x] = v[49 - i] * v[i];
        }
    "#;
    let folder = tempfile::tempdir().unwrap();
    let known = comgr::isas().unwrap();
    let mut compared = 0;
    const ARCHITECTURES: [&str; 11] = [
        "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx803", "gfx906", "gfx908", "gfx950", "gfx1010", "gfx1102",
        "gfx1201",
    ];
    // The older compiler is slow, and computes like the newer one.
    let count = if common::is_release("6.4") { 4 } else { ARCHITECTURES.len() };
    for arch in ARCHITECTURES.into_iter().take(count) {
        if !known.contains(&format!("amdgcn-amd-amdhsa--{arch}")) {
            continue;
        }
        // Some of these are newer than the release's device library.
        let Ok(bitcode) = comgr::hip_to_bitcode("k.hip", SOURCE, arch, &Options::new()) else { continue };
        let options = Options::new().optimize(3).option("-Rpass-analysis=kernel-resource-usage");
        let object = comgr::ir_to_object("k", &bitcode.bytes, arch, &options).unwrap();
        let code = comgr::link_objects(&[("k", &object.bytes)], arch, &Options::new()).unwrap().bytes;
        let path = folder.path().join("k.co");
        std::fs::write(&path, code).unwrap();
        let report = json(&["inspect", path.to_str().unwrap()]);
        let mut name = "";
        for line in object.log.lines() {
            let value =
                |key: &str| line.split_once(key).map(|(_, rest)| rest.split_whitespace().next().unwrap_or_default());
            if let Some(of) = value("Function Name: ") {
                name = of;
            }
            let Some(waves) = value("Occupancy [waves/SIMD]: ") else { continue };
            let kernels = report["code_objects"][0]["kernels"].as_array().unwrap();
            let Some(kernel) = kernels.iter().find(|kernel| kernel["name"] == name) else { continue };
            assert_eq!(
                kernel["occupancy"]["waves_per_simd"].to_string(),
                waves,
                "{arch} {name}: {kernel:#}\n{}",
                object.log
            );
            compared += 1;
        }
    }
    assert!(compared >= 12, "{compared} kernels compared");
}

fn source_lines_are_beside_the_instructions() {
    let source = "extern \"C\" __global__ void k(int *x) {\n    x[0] = 1;\n    __builtin_amdgcn_s_barrier();\n    x[1] = 2;\n}\n";
    let code = comgr::hip_to_code_object("k.hip", source, "gfx90a", &Options::new().debug()).unwrap().bytes;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("k.co");
    std::fs::write(&path, code).unwrap();
    let output = command(&["disasm", path.to_str().unwrap(), "k"]);
    if disassembled(&output).is_none() {
        return;
    }
    let text = String::from_utf8(output.stdout).unwrap();
    for line in [2, 3, 4, 5] {
        assert!(text.contains(&format!("k.hip:{line}")), "{text}");
    }
}

/// A linker puts the metadata of each object file into a note of its own.
fn kernels_of_several_object_files_are_all_there() {
    let object = |name: &str| {
        let source = format!("extern \"C\" __global__ void {name}(int *x) {{ x[0] = 1; }}\n");
        let bitcode = comgr::hip_to_bitcode("k.hip", &source, "gfx90a", &Options::new()).unwrap();
        comgr::ir_to_object("k", &bitcode.bytes, "gfx90a", &Options::new().optimize(3)).unwrap()
    };
    let (first, second) = (object("first"), object("second"));
    let objects = [("first.o", &first.bytes), ("second.o", &second.bytes)];
    let code = comgr::link_objects(&objects, "gfx90a", &Options::new()).unwrap().bytes;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two.co");
    std::fs::write(&path, code).unwrap();
    let report = json(&["inspect", path.to_str().unwrap()]);
    let kernels = report["code_objects"][0]["kernels"].as_array().unwrap();
    let mut names: Vec<&str> = kernels.iter().map(|kernel| kernel["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["first", "second"]);
}

/// Parses a tree that `llvm-readelf --notes` prints in YAML: maps, lists and scalars, one per line.
fn yaml(lines: &mut std::iter::Peekable<std::slice::Iter<'_, (usize, String)>>, indent: usize) -> comgr::Metadata {
    let scalar = |text: &str| {
        let text = text.trim();
        let plain =
            text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')).map(|text| text.replace("''", "'"));
        let plain = plain.or_else(|| Some(text.strip_prefix('"')?.strip_suffix('"')?.to_owned()));
        match (text, plain) {
            ("[]" | "[  ]", _) => comgr::Metadata::List(Vec::new()),
            (_, Some(plain)) => comgr::Metadata::String(plain),
            _ => comgr::Metadata::String(text.to_owned()),
        }
    };
    let (mut list, mut map) = (Vec::new(), Vec::new());
    while let Some((at, text)) = lines.peek().copied().cloned() {
        if at != indent {
            break;
        }
        if let Some(value) = text.strip_prefix('-') {
            lines.next();
            assert!(value.is_empty(), "split before");
            let inner = lines.peek().map_or(indent, |(at, _)| *at);
            list.push(yaml(lines, inner));
        } else if let Some((key, value)) = text
            .split_once(':')
            .filter(|(key, value)| !key.contains(['\'', ' ']) && (value.is_empty() || value.starts_with(' ')))
        {
            lines.next();
            let inner = lines.peek().map_or(0, |(at, _)| *at);
            let value = match value.trim() {
                // A list may have the same indentation as its key.
                "" if inner > indent || inner == indent && lines.peek().is_some_and(|(_, text)| text == "-") => {
                    yaml(lines, inner)
                }
                value => scalar(value),
            };
            map.push((key.to_owned(), value));
        } else {
            lines.next();
            return scalar(&text);
        }
    }
    if list.is_empty() { comgr::Metadata::Map(map) } else { comgr::Metadata::List(list) }
}

/// Returns lines with their indentation; `- key: value` becomes two lines.
fn yaml_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let mut rest = line.trim_start();
        let mut at = line.len() - rest.len();
        while let Some(after) = rest.strip_prefix("- ") {
            lines.push((at, "-".to_owned()));
            at += 2 + after.len() - after.trim_start().len();
            rest = after.trim_start();
        }
        lines.push((at, rest.to_owned()));
    }
    lines
}

/// Sorts keys, and writes numbers and booleans as Comgr does.
fn normal(tree: &comgr::Metadata) -> comgr::Metadata {
    use comgr::Metadata::{List, Map, String};
    match tree {
        Map(pairs) => {
            let mut pairs: Vec<_> = pairs.iter().map(|(key, value)| (key.clone(), normal(value))).collect();
            pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
            Map(pairs)
        }
        List(values) => List(values.iter().map(normal).collect()),
        String(text) => String(match &text[..] {
            "true" => "1".to_owned(),
            "false" => "0".to_owned(),
            text => text.to_owned(),
        }),
        other => other.clone(),
    }
}

/// Compares Comgr's metadata of at least 1,000 kernels of rocRAND with the output of LLVM's own reader for the same
/// files; 100 kernels for older releases.
fn metadata_is_what_readelf_prints() {
    let enough = if common::is_release("7.2") { 1000 } else { 100 };
    let Some(readelf) = llvm_tool("llvm-readelf") else { return };
    let tree = sys_testing::child::inside().unwrap();
    let library = sys_testing::trees().join(&tree).join("usr/lib/x86_64-linux-gnu/librocrand.so.1");
    if !library.exists() {
        skipped(format_args!("no {} (`cargo xtask rocm fetch {tree} --with rocrand`)", library.display()));
        return;
    }
    let mut compared = 0;
    for arch in ["gfx90a", "gfx1030", "gfx1100", "gfx906", "gfx908", "gfx1010", "gfx900", "gfx803"] {
        if compared >= enough {
            break;
        }
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().to_str().unwrap();
        for path in good(&["extract", library.to_str().unwrap(), "--arch", arch, "-o", to]).lines() {
            let ours = comgr::metadata(&std::fs::read(path).unwrap()).unwrap();
            let output = Command::new(&readelf).args(["--notes", path]).output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            // It calls metadata newer than itself invalid, but prints it all the same.
            let (_, text) = text.split_once("---\n").expect("metadata");
            let (text, _) = text.split_once("\n...").expect("the end of the metadata");
            let lines = yaml_lines(text);
            let theirs = yaml(&mut lines.iter().peekable(), 0);
            assert_eq!(normal(&ours), normal(&theirs), "{path}");
            compared += ours["amdhsa.kernels"].list().len();
        }
    }
    assert!(compared >= enough, "{compared} kernels");
}
