//! The findings of `rocm-sdk test`, on correct installations of every kind, and for every possible fault.
#![cfg(all(feature = "check", target_os = "linux"))]

#[path = "../../rocm-loader/tests/support/mod.rs"]
mod support;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rocm_sdk::check::{self, Check, Report, Verdict};
use rocm_sdk::{Error, LoadError, Search};
use support::{Tree, until_ended};

/// Not a test of its own: the child processes of the other tests run it.
#[test]
fn child() {
    check::serve();
}

fn this_test() -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture"]);
    command
}

fn checker(search: Search) -> Check {
    // Only tests of hanging libraries have a limit that can be reached.
    Check::new(search).myself(this_test).time_limit(Duration::MAX)
}

fn run(root: &Path) -> Report {
    let mut seen = Vec::new();
    let check = checker(Search::nowhere().root(root));
    let report = check.run(&mut |outcome| seen.push(outcome.clone())).unwrap();
    assert_eq!(report.outcomes, seen);
    report
}

/// Returns the verdict and the detail of the only outcome with this name.
#[track_caller]
fn verdict(report: &Report, name: &str) -> (Verdict, String) {
    let found: Vec<_> = report.outcomes.iter().filter(|outcome| outcome.name == name).collect();
    assert_eq!(found.len(), 1, "{name} in\n{report}");
    (found[0].verdict, found[0].detail.clone().unwrap_or_default())
}

#[track_caller]
fn fails(report: &Report, name: &str, why: &str) {
    let (verdict, detail) = verdict(report, name);
    assert!(verdict == Verdict::Fail && detail.contains(why), "{name}: {verdict} {detail}");
}

#[track_caller]
fn skips(report: &Report, name: &str, why: &str) {
    let (verdict, detail) = verdict(report, name);
    assert!(verdict == Verdict::Skipped && detail.contains(why), "{name}: {verdict} {detail}");
}

#[track_caller]
fn is_ok(report: &Report, name: &str) {
    assert_eq!(verdict(report, name), (Verdict::Ok, String::new()), "{name}");
}

/// Makes an installation like `/opt/rocm`, with the parts that every installation has.
fn prefix() -> Tree {
    let tree = Tree::new();
    tree.write(".info/version", "7.2.4");
    tree.stub("lib/libamdhip64.so.7", "libamdhip64.so.7", 1);
    tree.stub("lib/libhiprtc.so.7", "libhiprtc.so.7", 2);
    tree
}

const SITE: &str = "lib/python3.12/site-packages";
const SCRIPTS: [(&str, &str); 14] = [
    ("amdclang", "OVERVIEW: clang LLVM compiler"),
    ("amdclang++", "OVERVIEW: clang LLVM compiler"),
    ("amdclang-cpp", "OVERVIEW: clang LLVM compiler"),
    ("amdclang-cl", "OVERVIEW: clang LLVM compiler"),
    ("amdflang", "OVERVIEW: flang LLVM compiler"),
    ("amdlld", "USAGE: ld.lld"),
    ("hipcc", "OVERVIEW: clang LLVM compiler"),
    ("hipconfig", "HIP version: 7.10.0"),
    ("hipify-clang", "USAGE: hipify-clang"),
    ("hipify-perl", "USAGE: hipify-perl"),
    ("amd-smi", "AMD-SMI 27.1"),
    ("rocm_agent_enumerator", "gfx942"),
    ("rocminfo", "ROCk module is loaded"),
    ("rocm-smi", "ROCm System Management Interface"),
];

/// Makes a Python environment with AMD's wheels.
fn wheels() -> Tree {
    let tree = Tree::new();
    let site = |path: &str| format!("{SITE}/{path}");
    for package in ["rocm_sdk", "_rocm_sdk_core", "_rocm_sdk_libraries_gfx94X_dcgpu"] {
        tree.write(&site(&format!("{package}/__init__.py")), "");
    }
    for wheel in ["rocm", "rocm_sdk_core", "rocm_sdk_libraries_gfx94x_dcgpu"] {
        let name = wheel.replace('_', "-");
        tree.write(&site(&format!("{wheel}-7.10.0.dist-info/METADATA")), format!("Name: {name}\nVersion: 7.10.0\n"));
    }
    let core = |path: &str| site(&format!("_rocm_sdk_core/{path}"));
    tree.write(&core("share/therock/dist_info.json"), "{\"dist_amdgpu_targets\": \"gfx942;gfx1100\"}");
    tree.stub(&core("lib/libamdhip64.so.7"), "libamdhip64.so.7", 1);
    tree.stub(&core("lib/libhiprtc.so.7"), "libhiprtc.so.7", 2);
    tree.stub(&core("lib/llvm/lib/libdeep.so"), "", 3);
    // A library that depends on one in the other wheel.
    let directory = tree.path(&core("lib"));
    tree.library_with(
        &site("_rocm_sdk_libraries_gfx94X_dcgpu/lib/librocblas.so.5"),
        "librocblas.so.5",
        "int stub_id(void); int own(void) { return stub_id(); }",
        &[
            &format!("-L{}", directory.display()),
            "-l:libamdhip64.so.7",
            "-Wl,-rpath,$ORIGIN/../../_rocm_sdk_core/lib",
            "-Wl,--disable-new-dtags",
        ],
    );
    for (name, says) in SCRIPTS {
        tree.script(&format!("bin/{name}"), &format!("echo '{says}'"));
    }
    tree
}

fn core_of(tree: &Tree) -> PathBuf {
    tree.path(&format!("{SITE}/_rocm_sdk_core"))
}

#[test]
fn wheels_that_are_right() {
    let tree = wheels();
    let report = run(&core_of(&tree));
    assert!(report.is_success(), "{report}");
    assert_eq!((report.layout.as_str(), report.release.as_deref()), ("wheels", Some("7.10.0")));
    for name in [
        "says which release it is",
        "the package rocm_sdk is next to the others",
        "the core package exists",
        "the packages are of one version",
        "dist_info.json is valid",
        "loads: lib/libamdhip64.so.7",
        "loads: lib/llvm/lib/libdeep.so",
        "loads: lib/librocblas.so.5",
        "has its dependencies: lib/librocblas.so.5",
        "preloads libraries by name",
        "preloads the libraries that the variable names, with commas",
        "preloads the libraries that the variable names, with semicolons",
        "ignores the variable if requested",
        "says which variable is wrong",
        "accepts the installed release",
        "accepts every release for *",
        "accepts a release that meets a requirement",
        "reports another release",
        "fails for another release if requested",
        "preloads amdhip64",
        "preloads rocblas",
        "runs: hipcc --help",
        "runs: amdlld -flavor ld.lld --help",
        "runs: rocminfo",
    ] {
        is_ok(&report, name);
    }
    skips(&report, "preloads rccl", "not installed");
    skips(&report, "the devel tree exists", "rocm[devel]");
    let text = report.to_string();
    assert!(text.contains("\nloads: lib/librocblas.so.5 (libraries_gfx94X_dcgpu) ... ok\n"), "{text}");
    assert!(text.contains("\nOK (skipped=") && text.contains(&format!("\nRan {} tests in ", report.outcomes.len())));
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["outcomes"][0]["verdict"], "ok");
    assert_eq!(serde_json::from_value::<Report>(json).unwrap(), report);
}

#[test]
fn wheels_with_faults_of_their_layout() {
    let tree = wheels();
    let site = |path: &str| format!("{SITE}/{path}");
    fs::remove_file(tree.path(&site("rocm_sdk/__init__.py"))).unwrap();
    tree.write(&site("rocm_profiler-7.9.0.dist-info/METADATA"), "Name: rocm-profiler\nVersion: 7.9.0\n");
    tree.write(&site("_rocm_sdk_core/share/therock/dist_info.json"), "{\"dist_amdgpu_targets\": \"sm_90\"}");
    fs::remove_file(tree.path("bin/hipcc")).unwrap();
    tree.script("bin/amdclang", "echo 'amdclang: no such compiler' >&2; exit 3");
    tree.script("bin/amdflang", "echo 'something else'");
    tree.script("bin/amdlld", "kill -SEGV $$");
    tree.script("bin/amdclang-cl", "exec /no/such/interpreter");
    fs::set_permissions(tree.path("bin/hipconfig"), fs::Permissions::from_mode(0o644)).unwrap();
    let report = run(&core_of(&tree));
    assert!(!report.is_success());
    fails(&report, "the package rocm_sdk is next to the others", "rocm_sdk/__init__.py");
    fails(&report, "the packages are of one version", "rocm_profiler 7.9.0, rocm_sdk_core 7.10.0");
    fails(&report, "dist_info.json is valid", "\"sm_90\"");
    fails(&report, "runs: hipcc --help", "install rocm-sdk-core again");
    fails(&report, "runs: amdclang --help", "exited with 3; it said: amdclang: no such compiler");
    fails(&report, "runs: amdflang --help", "did not say \"LLVM compiler\"; it said: something else");
    fails(&report, "runs: amdlld -flavor ld.lld --help", "SIGSEGV");
    fails(&report, "runs: amdclang-cl -help", "exited with 127");
    fails(&report, "runs: hipconfig", "cannot be started: Permission denied");
    is_ok(&report, "loads: lib/libamdhip64.so.7");
    fs::remove_file(tree.path(&site("_rocm_sdk_core/share/therock/dist_info.json"))).unwrap();
    fails(&run(&core_of(&tree)), "dist_info.json is valid", "it has none; install rocm-sdk-core again");
    tree.write(&site("_rocm_sdk_core/share/therock/dist_info.json"), "{");
    fails(&run(&core_of(&tree)), "dist_info.json is valid", "dist_info.json");
}

#[test]
fn programs_that_ask_the_driver_may_fail_without_one() {
    let tree = prefix();
    tree.script("bin/rocminfo", "echo 'ROCk module is NOT loaded'; exit 1");
    tree.script("bin/amd-smi", "echo 'x: error while loading shared libraries: libx.so' >&2; exit 127");
    tree.script("bin/rocm-smi", "kill -ABRT $$");
    let report = run(tree.root());
    if Path::new("/dev/kfd").exists() {
        fails(&report, "runs: rocminfo", "exited with 1");
    } else {
        skips(&report, "runs: rocminfo", "without the GPU driver it exited with 1");
    }
    fails(&report, "runs: amd-smi", "exited with 127");
    fails(&report, "runs: rocm-smi", "SIGABRT");
    skips(&report, "runs: hipcc --help", "not installed");
}

/// A bad library does not affect others.
#[test]
fn each_bad_library_is_told_and_harms_no_other() {
    let tree = prefix();
    let constructor = |name: &str, body: &str| {
        let c = format!(
            "#include <stdlib.h>\n#include <stdio.h>\n#include <unistd.h>\n#include <signal.h>\n\
             __attribute__((constructor)) static void start(void) {{ {body} }}"
        );
        tree.library(&format!("lib/{name}.so"), "", &c);
    };
    constructor("crashes", "*(volatile int *)8 = 1;");
    constructor("raises", "raise(SIGSEGV);");
    constructor("gives_up", "fputs(\"cannot go on\\n\", stderr); abort();");
    constructor("exits", "exit(3);");
    constructor("exits_well", "exit(0);");
    constructor("forks", "if (fork() == 0) for (;;) pause();");
    constructor("talks", "printf(\"rocm-sdk-check-1-1-1: failed: no\\nhello \");");
    constructor("lies", "printf(\"\\nROCM_SDK_CHECK: ok\\n\"); fflush(stdout); raise(SIGSEGV);");
    let destructor = |name: &str, body: &str| {
        let c = format!(
            "#include <stdlib.h>\n#include <unistd.h>\n#include <signal.h>\n\
             __attribute__((destructor)) static void end(void) {{ {body} }}"
        );
        tree.library(&format!("lib/{name}.so"), "", &c);
    };
    destructor("crashes_at_the_end", "raise(SIGSEGV);");
    tree.library(
        "lib/lacks_a_symbol.so",
        "",
        "int no_such_function(void); int own(void) { return no_such_function(); }",
    );
    tree.library("lib/libgone.so.1", "libgone.so.1", "int gone(void) { return 1; }");
    let directory = tree.path("lib");
    let beside = [&*format!("-L{}", directory.display()), "-Wl,-rpath,$ORIGIN"];
    tree.library_with(
        "lib/libmiddle.so.1",
        "libmiddle.so.1",
        "int gone(void); int middle(void) { return gone(); }",
        &[beside[0], beside[1], "-l:libgone.so.1"],
    );
    tree.library_with(
        "lib/lacks_a_library.so",
        "",
        "int middle(void); int own(void) { return middle(); }",
        &[beside[0], beside[1], "-l:libmiddle.so.1", "-Wl,--allow-shlib-undefined"],
    );
    fs::remove_file(tree.path("lib/libgone.so.1")).unwrap();
    tree.write("lib/text.so", "no library");
    tree.write("lib/empty.so", "");
    tree.write("lib/script.so", "/* GNU ld script */\nINPUT(libamdhip64.so.7)\n");
    tree.patched("lib/kernels.so", "", 18, &224_u16.to_le_bytes());
    tree.patched("lib/arm.so", "", 18, &40_u16.to_le_bytes());
    let cut = fs::read(tree.path("lib/libhiprtc.so.7")).unwrap();
    tree.write("lib/cut.so", &cut[..cut.len() / 3]);
    symlink("libnowhere.so.1", tree.path("lib/libdangling.so")).unwrap();
    symlink("libamdhip64.so.7", tree.path("lib/libamdhip64.so")).unwrap();
    fs::hard_link(tree.path("lib/libamdhip64.so.7"), tree.path("lib/libz_other_name.so.7")).unwrap();
    tree.write("lib/libclang_rt.asan.so", "for programs of their own");

    let report = checker(Search::nowhere().root(tree.root())).run(&mut |_| {}).unwrap();
    for (name, why) in [
        ("crashes", "the process was ended by SIGSEGV"),
        ("raises", "the process was ended by SIGSEGV"),
        ("gives_up", "SIGABRT (it gave up); it said: "),
        ("gives_up", "cannot go on"),
        ("exits", "the process exited with 3"),
        ("exits_well", "the process exited with 0"),
        ("lies", "SIGSEGV"),
        ("crashes_at_the_end", "it loads, but then the program was ended by SIGSEGV"),
        ("lacks_a_symbol", "no_such_function"),
        ("lacks_a_library", "libgone.so.1"),
        ("text", "not a shared library"),
        ("empty", "an empty file"),
        ("arm", "Arm"),
        ("cut", ""),
    ] {
        fails(&report, &format!("loads: lib/{name}.so"), why);
    }
    for needs in ["lib/lacks_a_library.so", "lib/libmiddle.so.1"] {
        let middle = tree.path("lib/libmiddle.so.1");
        let why = format!("libgone.so.1 is not found; {} needs it", middle.display());
        fails(&report, &format!("has its dependencies: {needs}"), &why);
    }
    fails(&report, "exists: lib/libdangling.so", "libnowhere.so.1, which does not exist");
    skips(&report, "loads: lib/script.so", "for the linker");
    skips(&report, "loads: lib/kernels.so", "for the GPU");
    skips(&report, "loads: lib/libclang_rt.asan.so", "sanitizers");
    for name in ["lib/libamdhip64.so.7", "lib/libhiprtc.so.7", "lib/talks.so", "lib/forks.so"] {
        is_ok(&report, &format!("loads: {name}"));
    }
    // A second name of the same file is not loaded again.
    assert!(!report.outcomes.iter().any(|o| o.name.contains("libamdhip64.so ") || o.name.contains("z_other_name")));
    assert!(!report.outcomes.iter().any(|o| o.name == "loads: lib/libamdhip64.so"));
}

/// They are killed at the limit. A busy machine may need longer to load the library that hangs at exit, so the time is
/// increased.
#[test]
fn libraries_that_hang_are_ended() {
    let tree = prefix();
    let library = |name: &str, what: &str| {
        let c = format!("#include <unistd.h>\n__attribute__(({what})) static void hang(void) {{ for (;;) pause(); }}");
        tree.library(&format!("lib/{name}.so"), "", &c);
    };
    library("hangs", "constructor");
    library("hangs_at_the_end", "destructor");
    for seconds in [2, 8, 32, 128] {
        let check = checker(Search::nowhere().root(tree.root())).time_limit(Duration::from_secs(seconds));
        let report = check.run(&mut |_| {}).unwrap();
        let why = format!("no answer within {seconds} s");
        fails(&report, "loads: lib/hangs.so", &why);
        if !verdict(&report, "loads: lib/hangs_at_the_end.so").1.contains(&why) {
            let why = format!("it loads, but the program then does not end within {seconds} s");
            return fails(&report, "loads: lib/hangs_at_the_end.so", &why);
        }
    }
    panic!("no library is loaded");
}

#[test]
fn an_installation_of_amd_s_packages() {
    let tree = prefix();
    tree.write("include/hip/hip_version.h", "");
    tree.script("bin/hipcc", "echo 'OVERVIEW: clang LLVM compiler'; sleep 100000 & echo $! > \"$0.pid\"");
    tree.script("lib/llvm/bin/amdclang", "echo 'OVERVIEW: clang LLVM compiler'");
    let report = run(tree.root());
    assert!(report.is_success(), "{report}");
    // A process that a program leaves behind is killed.
    until_ended(&fs::read_to_string(tree.path("bin/hipcc.pid")).unwrap());
    assert_eq!((report.layout.as_str(), report.release.as_deref()), ("prefix", Some("7.2.4")));
    for name in ["has its libraries", "has headers", "has programs", "runs: hipcc --help", "runs: amdclang --help"] {
        is_ok(&report, name);
    }
    skips(&report, "dist_info.json is valid", "need not");
    skips(&report, "has CMake packages", "not installed");
}

/// A check that is killed during the check of any library.
#[test]
fn what_a_check_has_started_ends_with_it() {
    const TEST: &str = "what_a_check_has_started_ends_with_it";
    const CHILD: &str = "ROCM_SDK_CHECK_TEST_ROOT";
    if let Some(root) = std::env::var_os(CHILD) {
        run(Path::new(&root));
        return;
    }
    let tree = prefix();
    let log = tree.path("pid");
    tree.library(
        "lib/hangs.so",
        "",
        &format!(
            "#include <stdio.h>\n#include <unistd.h>\n\
             __attribute__((constructor)) static void start(void) {{ FILE *f = fopen(\"{0}.new\", \"w\"); \
             fprintf(f, \"%d\", getpid()); fclose(f); rename(\"{0}.new\", \"{0}\"); for (;;) pause(); }}",
            log.display()
        ),
    );
    let mut command = Command::new(std::env::current_exe().unwrap());
    let mut checking = command.args(["--exact", TEST, "--nocapture"]).env(CHILD, tree.root()).spawn().unwrap();
    while !log.exists() {
        assert_eq!(checking.try_wait().unwrap(), None, "it is over without the library");
        std::thread::sleep(Duration::from_millis(10));
    }
    checking.kill().unwrap();
    checking.wait().unwrap();
    until_ended(&fs::read_to_string(&log).unwrap());
}

#[test]
fn odd_paths() {
    let tree = Tree::new();
    tree.write("a:b c/.info/version", "7.2.4");
    tree.stub("a:b c/lib/libamdhip64.so.7", "libamdhip64.so.7", 1);
    let report = run(&tree.path("a:b c"));
    assert!(report.is_success(), "{report}");
    is_ok(&report, "preloads libraries by name");
}

#[test]
fn half_an_installation() {
    // Only the run-time compiler is installed, and not the runtime.
    let tree = Tree::new();
    tree.write(".info/version", "7.2.4");
    tree.stub("lib/libhiprtc.so.7", "libhiprtc.so.7", 1);
    let report = run(tree.root());
    fails(&report, "preloads libraries by name", "amdhip64 was not found");
    is_ok(&report, "preloads hiprtc");
    is_ok(&report, "loads: lib/libhiprtc.so.7");

    fs::remove_file(tree.path("lib/libhiprtc.so.7")).unwrap();
    let report = run(tree.root());
    fails(&report, "has shared libraries", "there is none");

    // An installation without a release.
    let tree = Tree::new();
    tree.stub("lib/libamdhip64.so.7", "libamdhip64.so.7", 1);
    let report = run(tree.root());
    fails(&report, "says which release it is", ".info/version");
    fails(&report, "accepts every release for *", "the release is unknown");
    is_ok(&report, "reports another release");
    skips(&report, "preloads the libraries that the variable names, with commas", "hiprtc is missing");
}

#[test]
fn nothing_installed_is_an_error() {
    let tree = Tree::new();
    let error = checker(Search::nowhere().root(tree.root())).run(&mut |_| {}).unwrap_err();
    assert!(matches!(error, Error::Load(LoadError::Unusable { .. })), "{error}");
    assert!(error.to_string().contains("contains nothing of ROCm"), "{error}");
    let error = checker(Search::nowhere().root("/no/such/rocm")).run(&mut |_| {}).unwrap_err();
    assert!(matches!(error, Error::Load(LoadError::NotFound { .. })), "{error}");
}

/// Among the system's own libraries, only ROCm's are checked.
#[test]
fn libraries_of_others_are_left_alone() {
    let tree = Tree::new();
    let lib = format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    tree.stub(&format!("{lib}/libamdhip64.so.7.2.53211"), "libamdhip64.so.7", 1);
    symlink("libamdhip64.so.7.2.53211", tree.path(&format!("{lib}/libamdhip64.so.7"))).unwrap();
    tree.write(&format!("{lib}/libother.so.1"), "not ours");
    tree.write(&format!("{lib}/deep/librocblas.so.5"), "not ours either");
    let report = run(&tree.path("usr"));
    assert!(report.is_success(), "{report}");
    assert_eq!(report.layout, "multiarch");
    let loaded: Vec<_> = report.outcomes.iter().filter(|o| o.name.starts_with("loads: ")).collect();
    assert_eq!(loaded.len(), 1, "{report}");
    assert!(loaded[0].name.ends_with("libamdhip64.so.7.2.53211"));
}

#[test]
fn a_program_that_cannot_be_started_again_is_told_once() {
    let tree = prefix();
    for (program, why) in [("/no/such/program", "cannot be started"), ("/bin/false", "exited with 1")] {
        let check = Check::new(Search::nowhere().root(tree.root())).myself(move || Command::new(program));
        let report = check.run(&mut |_| {}).unwrap();
        fails(&report, "a process can be started for each library", why);
        assert_eq!(report.failures().count(), 1, "{report}");
        assert!(!report.outcomes.iter().any(|o| o.name.starts_with("loads: ")));
    }
    // A program that does not call `serve`: it succeeds without an answer.
    let check = Check::new(Search::nowhere().root(tree.root())).myself(|| Command::new("/bin/true"));
    fails(&check.run(&mut |_| {}).unwrap(), "a process can be started for each library", "exited with 0");
}

#[test]
#[cfg(feature = "devel")]
fn the_devel_tree() {
    use rocm_sdk::devel::Devel;

    let tree = wheels();
    let site = |path: &str| format!("{SITE}/{path}");
    tree.write(&site("rocm_sdk_devel/__init__.py"), "");
    tree.write(&site("_rocm_sdk_libraries_gfx94X_dcgpu/share/rocblas.txt"), "of the library");
    tree.write(&site("rocm_sdk_devel-7.10.0.dist-info/METADATA"), "Name: rocm-sdk-devel\nVersion: 7.10.0\n");
    tree.write(&site("rocm_sdk_devel-7.10.0.dist-info/RECORD"), "rocm_sdk_devel/__init__.py,,\n");
    let mut tar = tar::Builder::new(Vec::new());
    let header = |kind| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(0o755);
        header.set_size(0);
        header
    };
    for file in
        ["__init__.py", "bin/tool", "include/hip/hip.h", "lib/cmake/hip/hip-config.cmake", "lib/llvm/bin/clang++"]
    {
        let mut header = header(tar::EntryType::Regular);
        tar.append_data(&mut header, format!("_rocm_sdk_devel/{file}"), std::io::empty()).unwrap();
    }
    for (link, target) in [
        ("llvm", "lib/llvm"),
        ("lib/libamdhip64.so.7", "../../_rocm_sdk_core/lib/libamdhip64.so.7"),
        ("lib/libamdhip64.so", "libamdhip64.so.7"),
        ("lib/librocblas.so.5", "../../_rocm_sdk_libraries_gfx94X_dcgpu/lib/librocblas.so.5"),
        ("share/rocblas.txt", "../../_rocm_sdk_libraries_gfx94X_dcgpu/share/rocblas.txt"),
        ("lib/librccl.so.1", "../../_rocm_sdk_libraries_gfx110X/lib/librccl.so.1"),
    ] {
        let mut header = header(tar::EntryType::Symlink);
        tar.append_link(&mut header, format!("_rocm_sdk_devel/{link}"), target).unwrap();
    }
    tree.write(&site("rocm_sdk_devel/_devel.tar"), tar.into_inner().unwrap());

    let report = run(&core_of(&tree));
    skips(&report, "the devel tree exists", "`rocm-sdk init` does it");
    Devel::at(tree.path(SITE)).unwrap().expand(&mut |_| {}).unwrap();
    let report = run(&core_of(&tree));
    assert!(report.is_success(), "{report}");
    is_ok(&report, "the devel tree has llvm/bin/clang++");
    is_ok(&report, "the devel tree has the files of libraries_gfx94X_dcgpu");
    skips(&report, "exists: lib/librccl.so.1", "a wheel that is not installed");
    // From its own directory too.
    let of_devel = |o: &&check::Outcome| o.group == "devel" && o.name.starts_with("loads: ");
    let loaded: Vec<_> = report.outcomes.iter().filter(of_devel).map(|o| o.name.as_str()).collect();
    assert_eq!(loaded, ["loads: lib/libamdhip64.so", "loads: lib/librocblas.so.5"]);

    tree.write(&site("_rocm_sdk_libraries_gfx94X_dcgpu/lib/kernels/gfx942.co"), "of a device wheel that came later");
    fs::remove_file(tree.path(&site("_rocm_sdk_devel/lib/librocblas.so.5"))).unwrap();
    fs::copy(
        tree.path(&site("_rocm_sdk_libraries_gfx94X_dcgpu/lib/librocblas.so.5")),
        tree.path(&site("_rocm_sdk_devel/lib/librocblas.so.5")),
    )
    .unwrap();
    fs::remove_file(tree.path(&site("_rocm_sdk_devel/lib/cmake/hip/hip-config.cmake"))).unwrap();
    let report = run(&core_of(&tree));
    let name = "the devel tree has the files of libraries_gfx94X_dcgpu";
    fails(&report, name, "lib/kernels/gfx942.co: missing there");
    fails(&report, name, "lib/librocblas.so.5: another file there; `rocm-sdk init`");
    fails(&report, "the devel tree has lib/cmake/hip/hip-config.cmake", "no lib/cmake");

    // Libraries for GPUs of another family than that of the devel tree.
    tree.stub(&site("_rocm_sdk_libraries_gfx110X/lib/librocblas.so.5"), "librocblas.so.5", 5);
    let report = run(&core_of(&tree));
    skips(&report, "the devel tree has the files of libraries_gfx110X", "another GPU family");
    fails(&report, name, "missing there");
}

/// Debian's packages, unpacked: everything is started through their loader.
#[test]
#[cfg(target_env = "gnu")]
fn an_installation_with_a_c_library_of_its_own() {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let mapped = |part: &str| {
        let mut paths = maps.lines().filter_map(|line| line.split_whitespace().last());
        PathBuf::from(paths.find(|path| path.rsplit('/').next().is_some_and(|name| name.starts_with(part))).unwrap())
    };
    let (libc, loader) = (mapped("libc.so.6"), mapped("ld-linux"));
    let tree = Tree::new();
    let lib = format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    tree.write(&format!("{lib}/libc.so.6"), fs::read(libc).unwrap());
    let own =
        tree.program(&format!("{lib}/{}", loader.file_name().unwrap().to_str().unwrap()), fs::read(&loader).unwrap());
    tree.library(
        &format!("{lib}/libamdhip64.so.7.2"),
        "libamdhip64.so.7",
        &format!(
            "#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n\
             __attribute__((constructor)) static void start(void) {{\n\
             char exe[4096] = {{0}}; readlink(\"/proc/self/exe\", exe, sizeof exe - 1);\n\
             if (strcmp(exe, \"{}\") != 0) abort(); }}",
            own.canonicalize().unwrap().display()
        ),
    );
    tree.link("libamdhip64.so.7.2", &format!("{lib}/libamdhip64.so.7"));
    let program = |name: &str, body: &str| {
        let path = tree.path(&format!("usr/bin/{name}"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let source = tree.write(&format!("{name}.c"), format!("int puts(const char *);\nint main(void) {{ {body} }}"));
        assert!(Command::new("cc").arg("-o").arg(&path).arg(source).status().unwrap().success());
    };
    program("hipconfig", "puts(\"HIP version: 7.2\"); return 0;");
    program("hipcc", "puts(\"clang: not found\"); return 127;");
    program("amdlld", "*(volatile int *)8 = 1; return 0;");
    tree.script("usr/bin/hipify-perl", "echo USAGE:");
    let report = run(&tree.path("usr"));
    for name in [
        "a process can be started for each library".to_owned(),
        format!("loads: lib/{}-linux-gnu/libamdhip64.so.7.2", std::env::consts::ARCH),
        "preloads libraries by name".to_owned(),
        "runs: hipconfig".to_owned(),
    ] {
        is_ok(&report, &name);
    }
    skips(&report, "runs: hipcc --help", "own loader it exited with 127");
    skips(&report, "runs: hipify-perl --help", "a script of an installation with its own C library");
    fails(&report, "runs: amdlld -flavor ld.lld --help", "SIGSEGV");
}

/// Debian's packages, unpacked, with their own C library, which is newer than this machine's.
#[test]
#[cfg(target_arch = "x86_64")]
fn real_releases_pass() {
    let trees = std::env::var_os("ROCM_RS_TREES").map(PathBuf::from);
    let trees = trees.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/rocm"));
    for release in ["5.7", "6.4", "7.2"] {
        let usr = trees.join(release).join("usr");
        if !usr.is_dir() {
            let _ = writeln!(std::io::stdout(), "SKIPPED: no ROCm {release} (`cargo xtask rocm fetch {release}`)");
            continue;
        }
        let report = run(&usr.canonicalize().unwrap());
        println!("{report}");
        assert!(report.release.as_deref().is_some_and(|r| r.starts_with(release)), "{:?}", report.release);
        assert_eq!(report.layout, "multiarch");
        for name in ["preloads libraries by name", "accepts the installed release", "preloads amd_comgr"] {
            is_ok(&report, name);
        }
        let mut loaded = 0;
        for outcome in &report.outcomes {
            let Some(library) = outcome.name.strip_prefix("loads: ") else { continue };
            // The system's loader and this crate's prediction agree.
            let (needs, missing) = verdict(&report, &format!("has its dependencies: {library}"));
            assert_eq!(outcome.verdict, needs, "{library}: {:?}, {missing}", outcome.detail);
            loaded += usize::from(outcome.verdict == Verdict::Ok);
            // Packages may have been fetched without their dependencies, which are then really missing.
            for line in missing.lines() {
                let (name, _) = line.split_once(" is not found").expect(line);
                assert!(!usr.join("lib/x86_64-linux-gnu").join(name).exists(), "{line}");
            }
        }
        assert!(loaded >= 3, "{report}");
        for failure in report.failures() {
            let of_library = ["loads: ", "has its dependencies: "].iter().any(|kind| failure.name.starts_with(kind));
            let detail = failure.detail.as_deref().unwrap_or_default();
            let is_missing = failure.group == "preload" && detail.contains("which was not found");
            // Headers may have been fetched without the library that their package links to.
            let link = failure.name.strip_prefix("exists: ").map(|path| usr.join(path));
            let is_dangling = link.is_some_and(|link| link.is_symlink() && !link.exists());
            assert!(of_library || is_missing || is_dangling, "{failure:?}\n{report}");
        }
    }
}
