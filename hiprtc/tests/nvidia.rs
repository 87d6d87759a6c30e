//! Compiling for NVIDIA's GPUs with NVRTC, which needs no GPU. `HIPRTC_NVRTC=/path/libnvrtc.so.13` names the library.
#![cfg(feature = "nvidia")]

mod common;

use std::path::{Path, PathBuf};

use common::skipped;
use hip::Module;
use hip::module::KernelInfo;
use hiprtc::build::{Build, By, Choice};
use hiprtc::cache::{self, Cache};
use hiprtc::{Bundle, CppStandard, Error, OptLevel, Options, Origin, Program, Severity};

/// Returns whether NVRTC is available, and reports if not.
fn is_available() -> bool {
    match Program::new("probe.hip", "__global__ void probe() {}").arch("sm_90").uncached().compile() {
        Err(error @ Error::NoNvrtc { .. }) => {
            assert!(error.is_unavailable() && error.to_string().contains("libnvrtc.so.13"), "{error}");
            skipped(&error);
            false
        }
        Err(error) => panic!("{error}"),
        Ok(_) => true,
    }
}

fn program(source: &str) -> Program {
    Program::new("a.hip", source).arch("sm_90").uncached()
}

fn options(folder: &Path) -> Options {
    Options::new().standard(CppStandard::Cpp17).include_dir(folder.to_str().unwrap())
}

fn kernels(code: &[u8], arch: &str) -> Vec<KernelInfo> {
    Module::describe(code, &arch.parse().unwrap()).unwrap()
}

/// The kernel sources of the repository that are not for AMD's GPUs alone.
fn sources() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let folders = [
        "examples/kernels",
        "examples/ahead_of_time/kernels",
        "hip/tests/kernels",
        "hipsolver/src/kernels",
        "hipsparse/src/kernels",
        "testing/hip-kernel-testing/src",
    ];
    let mut found: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "hip"))
        .collect();
    found.sort();
    found
}

#[test]
fn all_kernels_of_this_repository_compile() {
    if !is_available() {
        return;
    }
    let sources = sources();
    assert!(sources.len() >= 20, "{sources:?}");
    for path in sources {
        let text = std::fs::read_to_string(&path).unwrap();
        let program = program(&text).options(options(path.parent().unwrap()));
        let code = program.compile().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(code.arch().to_string(), "sm_90");
        let machine = kernels(code.as_bytes(), "sm_90");
        let ptx = program.compile_for(&"compute_75".parse().unwrap()).unwrap();
        let ptx = kernels(ptx.as_bytes(), "sm_90");
        // Both forms describe the same kernels. PTX tells floating-point numbers from pointers, too.
        let places = |kernel: &KernelInfo| {
            let places = kernel.parameters.iter().map(|parameter| (parameter.offset, parameter.size));
            (kernel.name.clone(), places.collect::<Vec<_>>())
        };
        let (machine, ptx) = (machine.iter().map(places), ptx.iter().map(places));
        assert_eq!(machine.clone().collect::<Vec<_>>(), ptx.collect::<Vec<_>>(), "{}", path.display());
        assert_ne!(machine.len(), 0, "{}", path.display());
    }
}

#[test]
fn templates_headers_and_hips_names() {
    if !is_available() {
        return;
    }
    let source = r#"
        #include <hip/hip_runtime.h>
        #include "scale.h"
        template <typename T> __global__ void scale(T *x, uint32_t n) {
            HIP_DYNAMIC_SHARED(T, tile)
            unsigned lane = __lane_id();
            T sum = x[threadIdx.x] * FACTOR;
            for (int step = warpSize / 2; step > 0; step /= 2) sum += __shfl_down(sum, step);
            tile[lane] = __shfl(__shfl_xor(__shfl_up(sum, 1), 1), 0);
            if (__any(lane == n) && !__all(lane == n)) x[lane] = tile[lane] + (T)(__ballot(lane < 3) >> 1);
        }
    "#;
    let program = program(source).header("scale.h", "#define FACTOR 3\n").name_expression("scale<float>");
    let code = program.compile().unwrap();
    let name = code.lowered_name("scale<float>").unwrap();
    assert_eq!(name, "_Z5scaleIfEvPT_j");
    let found = kernels(code.as_bytes(), "sm_90");
    assert_eq!(found.iter().map(|kernel| kernel.name.as_str()).collect::<Vec<_>>(), [name]);
    assert!(matches!(code.origin(), Origin::Compiled));
    // The compiler's own "no source include" keeps files of this folder out.
    let text = Program::new("a.hip", "#include \"Cargo.toml\"\n").arch("sm_90").uncached().compile().unwrap_err();
    assert!(text.to_string().contains("Cargo.toml"), "{text}");
}

#[test]
fn messages_are_values() {
    if !is_available() {
        return;
    }
    let source = "extern \"C\" __global__ void k(int *x) {\n    int unused;\n    *x = y;\n}\n";
    let error = program(source).compile().unwrap_err();
    let mut found = error.diagnostics();
    found.sort_by_key(|diagnostic| diagnostic.line);
    let places: Vec<_> = found.iter().map(|d| (d.severity, d.file.as_deref(), d.line, d.column)).collect();
    let want =
        [(Severity::Warning, Some("a.hip"), Some(2), Some(9)), (Severity::Error, Some("a.hip"), Some(3), Some(10))];
    assert_eq!(places, want, "{error}");
    assert_eq!(found[1].message, "identifier \"y\" is undefined");
    assert_eq!(found[1].source.as_deref(), Some("    *x = y;"));
    let warned = source.replace("    *x = y;\n", "");
    let code = program(&warned).compile().unwrap();
    assert_eq!((code.diagnostics().len(), code.diagnostics()[0].severity), (1, Severity::Warning));
    let error = program(&warned).options(Options::new().raw("-Werror")).compile().unwrap_err();
    assert!(matches!(error, Error::Compilation { .. }), "{error}");
    // Found by the assembler.
    let large = "extern \"C\" __global__ void k() { __shared__ volatile int x[100000]; x[threadIdx.x] = 1; }";
    let error = program(large).compile().unwrap_err();
    assert!(error.diagnostics().iter().any(|message| message.message.contains("shared")), "{error}");
}

#[test]
fn options_are_translated_or_named() {
    if !is_available() {
        return;
    }
    let source = "extern \"C\" __global__ void k(float *x) { *x = sinf(*x) * A; }";
    let options = Options::new()
        .define("A", 2)
        .opt_level(OptLevel::O1)
        .fast_math()
        .debug()
        .max_threads_per_block(256)
        .raw("-Wall")
        .raw("-ffp-contract=off")
        .raw("--maxrregcount=32");
    let fast = program(source).options(options).compile().unwrap();
    let exact = program(source).options(Options::new().define("A", 2)).compile().unwrap();
    assert_ne!(fast.as_bytes(), exact.as_bytes());
    for (option, part) in [("-mcumode", "for AMD's GPUs"), ("-Xclang", "NVRTC"), ("-std=c++23", "NVRTC")] {
        let error = program(source).options(Options::new().raw(option)).compile().unwrap_err();
        assert!(matches!(error, Error::InvalidOption { .. }) && error.to_string().contains(part), "{error}");
    }
    let error = program(source).options(Options::new().raw("--no-such-option")).compile().unwrap_err().to_string();
    assert!(error.contains("nvrtcCompileProgram") && error.contains("no-such-option"), "{error}");
}

#[test]
fn architectures_are_checked() {
    if !is_available() {
        return;
    }
    let error = program("__global__ void k() {}").arch("sm_10").compile().unwrap_err();
    assert!(matches!(&error, Error::InvalidArch { .. } | Error::UnsupportedArch { .. }), "{error}");
    assert!(error.to_string().contains("sm_90"), "{error}");
    let code = program("extern \"C\" __global__ void k() {}").arch("sm_90a").compile().unwrap();
    let targets = Module::architectures(code.as_bytes()).unwrap();
    assert_eq!(targets.iter().map(ToString::to_string).collect::<Vec<_>>(), ["sm_90a"]);
    let error = program("__global__ void k() {}").compile_bitcode().unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
}

#[test]
fn code_is_cached_by_its_compiler() {
    if !is_available() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    cache::set(Some(Cache::at(folder.path())));
    let program = Program::new("cached.hip", "extern \"C\" __global__ void k() {}");
    for (arch, cached) in [("sm_90", false), ("sm_90", true), ("compute_90", false), ("compute_90", true)] {
        let code = program.clone().arch(arch).compile().unwrap();
        assert_eq!(matches!(code.origin(), Origin::Cached), cached, "{arch}");
        assert_eq!(kernels(code.as_bytes(), "sm_90").len(), 1);
    }
    cache::disable();
}

#[test]
fn a_bundle_is_built_without_amds_compiler() {
    if !is_available() {
        return;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/kernels/saxpy.hip");
    let folder = tempfile::tempdir().unwrap();
    let build = Build::new(&source).archs(["sm_90", "compute_75"]).compiler(Choice::Any);
    let made = build.make("saxpy.hipfb", folder.path()).unwrap();
    assert_eq!(made.by, By::Nvrtc);
    assert!(made.left_out.is_empty() && made.rust.contains("saxpy"), "{}", made.rust);
    let bundle = Bundle::parse(&made.bundle).unwrap();
    let ids: Vec<_> = bundle.entries().iter().map(|entry| entry.id()).collect();
    assert_eq!(ids[1..], ["cuda-nvptx64-nvidia-cuda--sm_90", "cuda-nvptx64-nvidia-cuda--compute_75"]);
    let select = |device: &str| bundle.select(&device.parse().unwrap());
    assert!(select("sm_90").unwrap().starts_with(b"\x7fELF"));
    assert_eq!(select("sm_86").unwrap(), select("sm_100").unwrap());
    assert!(select("gfx90a").is_err() && select("sm_70").is_err());
    // `hip` selects the same.
    for device in ["sm_90", "sm_86"] {
        assert_eq!(kernels(&made.bundle, device)[0].name, kernels(select(device).unwrap(), device)[0].name);
    }
}
