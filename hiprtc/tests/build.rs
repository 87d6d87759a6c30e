//! Kernels that are compiled when a crate is built: by a real HIPRTC, if available, and from a committed bundle.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::compiler_or_skip;
use hiprtc::build::{Build, By, Choice};
use hiprtc::{Bundle, Error, Options};

/// The example's kernels, with a header in the same folder, and the bundle that is committed with them.
fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/ahead_of_time/kernels").join(name)
}

fn committed() -> Build {
    let build = Build::new(example("blur.hip")).archs(["gfx90a", "gfx942"]).committed(example("blur.hipfb"));
    build.compiler(Choice::Committed)
}

#[test]
fn a_committed_bundle_is_used_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let made = committed().make("blur.hipfb", folder.path()).unwrap();
    assert_eq!(made.bundle, std::fs::read(example("blur.hipfb")).unwrap());
    assert!(matches!(&made.by, By::Committed(path, _) if *path == example("blur.hipfb")));
    let declared = "pub struct Blur: fn \"blur\"(in_: *const f32, out: *mut f32, n: u32);";
    assert!(made.rust.contains(declared) && made.left_out.is_empty(), "{}", made.rust);
    for name in ["blur.hip", "weights.h", "blur.hipfb"] {
        assert!(made.depends_on.contains(&example(name)), "{name}: {:?}", made.depends_on);
    }
    // The test of misuse includes this file.
    let golden = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/misuse/generated/blur.rs"));
    let ours = committed().make("../../../../examples/ahead_of_time/kernels/blur.hipfb", folder.path()).unwrap().rust;
    assert_eq!(golden.unwrap(), ours);
}

#[test]
fn what_cannot_be_built_is_an_error_that_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let source = std::fs::read_to_string(example("blur.hip")).unwrap();
    let changed = source.replace("float value", "double value");
    assert_ne!(changed, source);
    std::fs::write(at("blur.hip"), &changed).unwrap();
    std::fs::write(at("junk.hipfb"), "junk").unwrap();
    let bundle = example("blur.hipfb");
    let good = || Build::new(at("blur.hip")).archs(["gfx90a"]).compiler(Choice::Committed);
    for (build, part) in [
        (good().committed(&bundle), "double value"),
        (good().committed(&bundle), "to write the bundle: `rocm-sdk run 7.2 -- hiprtc-compile"),
        (good(), "no committed bundle is named (Build::committed)"),
        (good().committed(at("none.hipfb")), "none.hipfb does not exist"),
        (good().committed(at("junk.hipfb")), "not a valid code object bundle"),
        (committed().archs(["gfx1100"]), "no code for gfx1100"),
        (committed().archs(["sm_90"]), "sm_90"),
        (committed().options(Options::new().raw("--offload-arch=gfx90a")), "Program::arch"),
        (Build::new(example("blur.hip")), "Build::archs"),
        (Build::new(at("none.hip")).archs(["gfx90a"]), "none.hip"),
        (Build::new("").archs(["gfx90a"]), "No such file"),
    ] {
        let error = build.make("blur.hipfb", folder.path()).unwrap_err();
        assert!(error.to_string().contains(part), "{part}: {error}");
    }
    let error = committed().compile().unwrap_err();
    assert!(matches!(&error, Error::Build { .. }) && error.to_string().contains("OUT_DIR"), "{error}");
}

/// The work of a build script: the test below runs it in a separate process.
#[test]
#[ignore = "a part of another test"]
fn script() {
    committed().compiler(Choice::Any).compile().unwrap();
}

#[test]
fn a_build_script_writes_files_and_instructions() {
    let folder = tempfile::tempdir().unwrap();
    let mut words = common::runner();
    words.push(std::env::args_os().next().unwrap());
    let run = |choice: &str| {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(["--exact", "script", "--ignored", "--nocapture"]);
        let output = command.env("OUT_DIR", folder.path()).env("HIPRTC_BUILD", choice).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        (output.status.success(), text.into_owned())
    };
    let (passed, text) = run("committed");
    assert!(passed, "{text}");
    instructions_are_printed_once(&text);
    for part in
        ["cargo::rerun-if-changed=", "weights.h\n", "cargo::rerun-if-env-changed=HIPRTC_BUILD", "cargo::warning="]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert_eq!(std::fs::read(folder.path().join("blur.hipfb")).unwrap(), std::fs::read(example("blur.hipfb")).unwrap());
    let rust = std::fs::read_to_string(folder.path().join("blur.rs")).unwrap();
    assert!(rust.contains("include_bytes!(\"blur.hipfb\")"), "{rust}");
    let (passed, text) = run("nonsense");
    assert!(!passed && text.contains("HIPRTC_BUILD=nonsense"), "{text}");
}

fn instructions_are_printed_once(text: &str) {
    let mut lines: Vec<&str> = text.lines().filter(|line| line.starts_with("cargo::rerun-if-")).collect();
    let count = lines.len();
    lines.sort_unstable();
    lines.dedup();
    assert!(count > 0 && lines.len() == count, "{text}");
}

/// The work of a build script that compiles: the test below runs it in a separate process.
#[test]
#[ignore = "a part of another test"]
fn compiling_script() {
    let build = Build::new(example("blur.hip")).archs(["gfx90a"]).committed("none.hipfb");
    build.compiler(Choice::Hiprtc).compile().unwrap();
    println!("compiled in {}", std::env::current_exe().unwrap().display());
}

/// `rocm-sdk install` brings a newer C library than older distributions have.
#[test]
fn a_build_script_starts_again_on_an_installed_rocm() {
    let tree = sys_testing::trees().join("7.2");
    if !tree.join("usr/lib/x86_64-linux-gnu/libhiprtc.so.7").exists() {
        sys_testing::skipped("no HIPRTC of ROCm 7.2 (`cargo xtask rocm fetch 7.2`)");
        return;
    }
    let (installs, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::create_dir(installs.path().join("7.2")).unwrap();
    std::os::unix::fs::symlink(tree.join("usr"), installs.path().join("7.2/usr")).unwrap();
    std::fs::write(installs.path().join("7.2/.packages"), "").unwrap();
    let mut command = Command::new(std::env::args_os().next().unwrap());
    command.args(["--exact", "compiling_script", "--ignored", "--nocapture"]).env("OUT_DIR", out.path());
    command.env("ROCM_SDK_INSTALL_DIR", installs.path()).env_remove("ROCM_PATH").env_remove("HIPRTC_BUILD");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("compiled in "), "{text}");
    instructions_are_printed_once(&text);
    // Cargo would run the script each time.
    assert!(!text.contains("none.hipfb"), "{text}");
    let bundle = std::fs::read(out.path().join("blur.hipfb")).unwrap();
    assert!(Bundle::parse(&bundle).unwrap().select(&"gfx90a".parse().unwrap()).is_ok());
}

#[test]
fn hiprtc_compiles_with_headers_beside_and_in_folders() {
    if !compiler_or_skip("hiprtc_compiles_with_headers_beside_and_in_folders") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir_all(at("include")).unwrap();
    std::fs::write(at("beside.h"), "#include <deep.h>\n").unwrap();
    std::fs::write(at("include/deep.h"), "#define BY 3\nstruct Pair { float a, b; };\n").unwrap();
    let source = "#include \"beside.h\"\n#warning look\n\
                  extern \"C\" __global__ void scale(float *__restrict__ x, Pair p) { x[threadIdx.x] *= BY * p.a; }\n\
                  __global__ void plain(const unsigned char *x, long long n) {}\n\
                  template<typename T> __global__ void fill(T *x) { *x = 0; }\n\
                  template __global__ void fill<float>(float *);\n";
    std::fs::write(at("scale.hip"), source).unwrap();
    let build = Build::new(at("scale.hip")).archs(["gfx90a", "gfx1100"]).compiler(Choice::Hiprtc);
    let build = build.options(Options::new().include_dir(at("include").to_str().unwrap()));
    let made = build.make("scale.hipfb", folder.path()).unwrap();
    assert_eq!(made.by, By::Hiprtc);
    let architectures = Bundle::parse(&made.bundle).unwrap().architectures();
    assert_eq!(architectures, ["gfx90a", "gfx1100"].map(|arch| arch.parse().unwrap()));
    for path in ["scale.hip", "beside.h", "include/deep.h"] {
        assert!(made.depends_on.contains(&at(path)), "{path}: {:?}", made.depends_on);
    }
    assert!(made.log.contains("look"), "{}", made.log);
    assert!(made.rust.contains("fn \"_Z5plainPKhx\"(x: *const u8, n: i64)"), "{}", made.rust);
    let left_out = made.left_out.join("\n");
    assert!(left_out.contains("Pair p") && left_out.contains("fillIf"), "{left_out}");
    let made = build.clone().rust_type("Pair", "crate::Pair").make("scale.hipfb", folder.path()).unwrap();
    assert!(made.rust.contains("fn \"scale\"(x: *mut f32, p: crate::Pair)"), "{}", made.rust);
    // A committed bundle is not used for a source that does not compile.
    std::fs::write(at("include/deep.h"), "nonsense\n").unwrap();
    let error = build.committed(example("blur.hipfb")).make("scale.hipfb", folder.path()).unwrap_err();
    assert!(matches!(&error, Error::Compilation { .. }) && error.to_string().contains("deep.h"), "{error}");
}
