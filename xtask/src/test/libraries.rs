//! The steps of the crates for ROCm's libraries, on these libraries over the software GPU.

use super::hip::BUT_MISUSE;
use crate::cargo::{checked_cargo, newest, packages, programs};
use crate::hsa::{self as hsa_sim, Profile, hsa_ready};
use crate::rocm::{self, Release};
use crate::steps::Step;

/// Crates with tests on the real libraries of the same names.
pub(crate) const LIBRARIES: [&str; 6] = ["hipblas", "hipblaslt", "hipsolver", "hiprand", "hipfft", "hipsparse"];

/// Their examples.
const EXAMPLES: [(&str, &str); 11] = [
    ("hipblas", "blas_saxpy"),
    ("hipblas", "gemm_ndarray"),
    ("hipblas", "batched_gemm"),
    ("hipblaslt", "training_step"),
    ("hipsolver", "least_squares"),
    ("hipsolver", "eigenvalues"),
    ("hiprand", "monte_carlo_pi"),
    ("hipfft", "spectrum"),
    ("hipfft", "image_blur"),
    ("hipsparse", "conjugate_gradient"),
    ("hipsparse", "page_rank"),
];

/// Tests that are skipped on ROCm 5.7: loading rocBLAS's code for products takes a minute for each type there, and
/// compiling rocFFT's for many layouts two.
const BUT_SLOW: [&str; 8] = [
    "--skip",
    "level3::",
    "--skip",
    "gemm_ex_multiplies_in_more_bits",
    "--skip",
    "singular_values",
    "--skip",
    "layouts::",
];

/// Tests of the older releases in a sample: order, and rejected input.
const SAMPLE: [&str; 3] = ["running::", "bad_input::", "devices::"];

/// Their tests that use a second device if available.
const WITH_DEVICES: [&str; 4] = ["devices::", "another_device", "elsewhere", "foreign"];

/// Crates whose tests of streams and order also run with slow queues, which exposes missing waits.
const WITH_DELAYS: [(&str, &[&str]); 3] =
    [("hiprand", &["running::"]), ("hipfft", &["running::"]), ("hipsparse", &["running::", "devices::", "solves::"])];

/// Waits of up to 300 microseconds, the same in each run.
const DELAY: &str = "300:18";

/// Returns the tests of a library's safe crate, on a release's own library and HIP runtime, over the software GPU.
pub(super) fn library(release: &'static Release, name: &'static str, sample: bool, offline: bool) -> Step {
    // The same features for all commands, so that nothing is built twice.
    let mut features = newest(&[name]);
    if name == "hipblas" {
        features.push_str(",hipblas/ndarray");
    }
    if name == "hiprand" {
        features.push_str(",hiprand/rand_core");
    }
    if name == "hipsparse" {
        features.push_str(",hipsparse/ndarray,hipsparse/sprs");
    }
    let test = |words: &[&str]| {
        let mut command = checked_cargo("test", offline);
        command.args(packages(&[name])).args(["--no-default-features", "--features", &features]).args(words);
        hsa_sim::run_on(&mut command, release, Profile::Dev);
        command
    };
    let mut command = test(&["--no-fail-fast", "--lib", "--tests"]);
    command.args(BUT_MISUSE);
    match release.name {
        "7.2" => {}
        _ if sample => drop(command.args(SAMPLE)),
        "5.7" => drop(command.args(BUT_SLOW)),
        _ => {}
    }
    let mut commands = vec![command];
    // Only on the newest release: the tests are about the crate, and only the library differs.
    if release.name == "7.2" {
        let mut command = test(&["--tests"]);
        command.env("HIP_SIM_DEVICES", "2").arg("--").args(WITH_DEVICES);
        commands.push(command);
        if let Some((_, tests)) = WITH_DELAYS.iter().find(|(of, _)| *of == name) {
            let mut command = test(&["--tests"]);
            command.env("HIP_SIM_DELAY", DELAY).arg("--").args(*tests);
            commands.push(command);
        }
        let names: Vec<&str> = EXAMPLES.iter().filter(|(of, _)| *of == name).map(|(_, example)| *example).collect();
        let with = ["--no-default-features", "--features", &features];
        commands
            .extend(programs(name, &with, &names, offline, |path| hsa_sim::program_on(path, release, Profile::Dev)));
    }
    let about =
        format!("tests and examples of {name} on the real library of ROCm {}, over the software GPU", release.name);
    let step = Step::commands(format!("{name} {}", release.name), about, commands);
    step.suite_of(&[name, &format!("{name}-sys"), "hip-linalg"]).when(move || {
        hsa_ready(release)()?;
        library_ready(release, name)
    })
}

/// Returns the condition that a release has a library.
pub(super) fn library_ready(release: &Release, name: &str) -> Result<(), String> {
    let folder = rocm::tree(release).libraries();
    let file = format!("lib{name}.so.");
    let there = std::fs::read_dir(folder).is_ok_and(|mut files| {
        files.any(|entry| entry.is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with(&file)))
    });
    let hint = || format!("it is not there (cargo xtask rocm fetch {} --with {name})", release.name);
    if there { Ok(()) } else { Err(hint()) }
}
