//! `cargo xtask test`: the quick set of tests, or every test that this machine can run.
//!
//! The steps are declared in [`fn@steps`]. Tests learn where ROCm is from `ROCM_RS_TREES`, the absolute path of a folder
//! with `5.7`, `6.4` and `7.2` in it (whichever were fetched). A test that runs on one of them, through its loader,
//! finds its name in `ROCM_RS_RELEASE`, and `ROCM_PATH` leads rocm-sdk to it.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use rocm_sdk::install::debian::usable;

use crate::amd_tests;
use crate::examples;
use crate::hsa::{self as hsa_sim, Profile};
use crate::process::cargo;
use crate::rocm::{self, RELEASES, Release};
use crate::steps::{self, Got, Step};
use crate::turn::Turn;
use crate::{leaks, paths, probes, repeat, rust_kernels, workspace};

/// API levels of the crates, as their features name them, with none first (which is 5.7).
pub(crate) const LEVELS: &[&str] =
    &["", "rocm-5-7", "rocm-6-2", "rocm-6-3", "rocm-6-4", "rocm-7-0", "rocm-7-1", "rocm-7-2", "rocm-10-0"];

/// The newest of them.
pub(crate) const NEWEST: &str = LEVELS[LEVELS.len() - 1];

/// Safe crates that have the levels as features, as every -sys crate has.
const SAFE: [&str; 12] = [
    "hip",
    "hip-gl",
    "hiprtc",
    "hipblas",
    "hipblaslt",
    "hipsolver",
    "hiprand",
    "hipfft",
    "hipsparse",
    "rccl",
    "rocm-llvm",
    "cuda-compat",
];

/// The one of them that has nothing to do with GPUs.
const COMPILER: &str = "rocm-llvm";

/// Tests of the main crates, on the software GPU and on ROCm 7.2's own HIP runtime; with `--all`, every test that this machine can run.
///
/// The quick set is for every change: unit and integration tests of the crates that users meet, `hip`'s tests on AMD's own HIP
/// runtime, and the examples there. `--all` adds every API level of every crate, ROCm 6.4 and 5.7, the libraries of ROCm, what is repeated,
/// and doc tests. The summary names what was skipped and why. No AMD GPU is needed.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  cargo xtask test                     the quick set: minutes
  cargo xtask test --all               everything: an hour and more, 4 GB fetched, 35 GB on disk
  cargo xtask test --sample            what CI runs
  cargo xtask test --offline           without the network
  cargo xtask test --all --list        what there is
  cargo xtask test hsa real            of all, steps with these words in their name
  cargo xtask test --rocm 7.2 real     on one ROCm release")]
pub(crate) struct Args {
    /// Everything, not just the quick set
    #[arg(long)]
    all: bool,
    /// Everything, but of what takes longest a sample, and what takes turns from commit to commit: ROCm 5.7 or 6.4, a third of the API levels,
    /// half of ROCm's libraries on the software GPU, a part of the fuzz cases; nothing under valgrind
    #[arg(long)]
    sample: bool,
    /// Use no network: only what is there already
    #[arg(long)]
    offline: bool,
    /// Only these ROCm releases (5.7, 6.4, 7.2); may be given several times
    #[arg(long, value_name = "REL", value_parser = rocm::release)]
    rocm: Vec<&'static Release>,
    /// Show the steps instead of running them
    #[arg(long)]
    list: bool,
    /// Run the steps with one of these in their name
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    // Who names steps means any, and who names releases those.
    let quick = !args.all && !args.sample && args.filters.is_empty() && args.rocm.is_empty();
    let steps = if quick {
        quick_steps(args.offline)?
    } else {
        let turn = if args.sample { Some(Turn::of_this_run()?) } else { None };
        if let Some(turn) = turn {
            println!("{turn}");
        }
        steps(args.offline, turn, &args.releases(), &args.named())?
    };
    if !args.list {
        println!("{}", if quick { QUICK_COSTS } else { COSTS });
    }
    steps::list_or_run(steps, &args.filters, args.list)
}

/// What the quick set costs, told before.
const QUICK_COSTS: &str = "\
The quick set (`cargo xtask test --all` is everything). From nothing, on two idle cores: 10 minutes, 70 MB of ROCm 7.2 to download
once, 7 GB on disk under target/.";

/// What all of it costs.
const COSTS: &str = "\
All steps, or those that were named. From nothing, on two idle cores, all of them: an hour and more, 4 GB of ROCm 5.7, 6.4 and 7.2 to download
once, 35 GB on disk under target/.";

/// The release that the quick set runs on.
const QUICK_RELEASE: &str = "7.2";

/// What is run often: the main crates on the software GPU, and `hip` and the examples on one real HIP runtime.
fn quick_steps(offline: bool) -> Result<Vec<Step>> {
    let release = rocm::release(QUICK_RELEASE)?;
    let mut crates = checked_cargo("test", offline);
    // The feature is the examples' own: what they are built with again below is the same.
    crates.args(["--no-fail-fast", "--lib", "--tests", "--features", "hip/sim"]);
    crates.args(packages(&[
        "rocm-sdk",
        "hip",
        "hip-gl",
        "hiprtc",
        "hip-sim",
        "hip-kernel",
        "rocm-examples",
        "rust-kernels",
    ]));
    Ok(vec![
        fetch(release, &[], false, fetched_here(offline)),
        Step::command("crates", "unit and integration tests of the main crates, on the software GPU", crates),
        hsa_library(offline),
        hsa(release, Variant::Quick, offline),
        examples::real(release, offline)?,
    ])
}

impl Args {
    fn releases(&self) -> Vec<&'static Release> {
        if self.rocm.is_empty() { RELEASES.iter().collect() } else { self.rocm.clone() }
    }

    /// The releases that are asked for by name.
    fn named(&self) -> Vec<&'static Release> {
        [&self.rocm[..], &named_in(&self.filters)].concat()
    }
}

/// The releases that filters name.
pub(crate) fn named_in(filters: &[String]) -> Vec<&'static Release> {
    RELEASES.iter().filter(|release| filters.iter().any(|filter| filter.contains(release.name))).collect()
}

/// The table of steps, or a sample of the longest: what is of a `turn`. A release that is `named` must be had.
pub(crate) fn steps(
    offline: bool,
    turn: Option<Turn>,
    releases: &[&'static Release],
    named: &[&'static Release],
) -> Result<Vec<Step>> {
    let mut steps = fetches(releases, named, fetched_here(offline));
    // The newest always. Other steps read files of the rest.
    let releases = &match turn {
        Some(turn) => turn.select(releases.to_vec(), 2, |release| release.name == "7.2" || named.contains(release)),
        None => releases.to_vec(),
    };
    let sample = turn.is_some();
    let test = |words: &[&str]| {
        let mut command = checked_cargo("test", offline);
        command.arg("--no-fail-fast").args(words);
        command
    };
    steps.push(rust_kernels::source(offline));
    // Their tests take minutes, and have steps of their own.
    let mut most = all_crates(offline);
    most.args(["--exclude", "hsa-sim", "--exclude", "rocm-sdk"]);
    if let Some(turn) = turn {
        most.env("ROCM_RS_FUZZ_START", turn.first_case().to_string()).env("ROCM_RS_FUZZ_SHARE", FUZZ_SHARE);
    }
    let about = "unit, integration and doc tests of every crate but those that have a step, at the newest API level";
    steps.push(Step::command("workspace", about, most));
    steps.push(rust_kernels::tests(offline));
    if !sample {
        steps.push(leaks::step(offline));
    }
    // The workspace has the software GPU on, for the examples use it. The crates of libraries say the same without as with it.
    let about = "the crates that have the software GPU in them, without it, and with no ROCm";
    let without = test(&[&["--lib", "--tests"][..], &packages(&["hip", "hip-gl", "hiprtc"]), &BUT_MISUSE].concat());
    steps.push(Step::command("no backend", about, without));
    let about = "rocm-sdk as a library with its default features, and as the command";
    let sdk = [
        test(&[&packages(&["rocm-sdk"])[..], &["--lib"]].concat()),
        test(&[&packages(&["rocm-sdk"])[..], &["--features", "rocm-sdk/cli"]].concat()),
    ];
    steps.push(Step::commands("rocm-sdk", about, sdk.into()));
    // Its tests start the releases' own loaders.
    let about = "rocm-llvm on each release's compiler, its results on the software GPU, and its command";
    steps.push(Step::command(
        "rocm-llvm",
        about,
        test(&[&packages(&[COMPILER])[..], &["--features", "rocm-llvm/cli,rocm-llvm/sim"]].concat()),
    ));
    let about = "hipgraph with all that goes in and out, and its examples, on the reference engine";
    let with = ["--features", "hipgraph/petgraph,hipgraph/ndarray"];
    let mut graph = vec![test(&[&packages(&["hipgraph"])[..], &["--tests"], &with].concat())];
    let names = ["pagerank", "communities", "shortest_path", "cugraph"];
    let program = |path: &Path| {
        let mut command = Command::new(path);
        if path.ends_with("cugraph") {
            command.args(["--reference", "check", "--scales", "6"]);
        }
        command
    };
    graph.extend(programs("hipgraph", &with, &names, offline, program));
    steps.push(Step::commands("hipgraph", about, graph));
    let raw = workspace::sys_crates()?;
    let raw: Vec<&str> = raw.iter().map(String::as_str).collect();
    steps.push(bindings(&raw, offline));
    for release in releases {
        steps.push(real(release, offline));
    }
    let about = "the command hip-sim";
    let words = [&packages(&["hsa-sim"])[..], &["--features", "cli", "--bin", "hip-sim", "--test", "command"]].concat();
    steps.push(Step::command("hip-sim command", about, test(&words)));
    if let Some(&release) = releases.iter().find(|release| amd_tests::release().is_ok_and(|of| of == **release)) {
        let call = move || amd_tests::check(offline);
        steps.push(Step::call("amd-tests", amd_tests::about(), call).when(fetched(release)));
    }
    let about = "CUDA's names: all of them, and those that differ from HIP's on the embedded software GPU";
    steps.push(Step::command(
        "cuda-compat",
        about,
        test(&[&packages(&["cuda-compat"])[..], &["--all-features"]].concat()),
    ));
    steps.push(hsa_library(offline));
    for release in releases.iter().filter(|release| release.name == "7.2") {
        steps.push(cuda(release, offline));
        steps.push(cuda_ranks(release, offline));
    }
    for release in releases {
        steps.push(hsa(release, Variant::Usual, offline));
        steps.push(hsa(release, Variant::TwoDevices, offline));
    }
    for release in releases {
        // Debian has hipBLASLt of 7.1 and newer.
        for &name in LIBRARIES.iter().filter(|&&name| name != "hipblaslt" || release.name == "7.2") {
            steps.push(library(release, name, sample, offline));
        }
    }
    // Debian has no RCCL of 6.4.
    steps.extend(releases.iter().filter(|release| release.name != "6.4").map(|release| rccl(release, turn, offline)));
    let often = releases.iter().filter(|release| !sample || release.name == "7.2");
    steps.extend(often.map(|release| repeated(release, sample, offline)));
    // Of the newest only: what differs is the code, not HIP.
    steps.extend(
        releases
            .iter()
            .filter(|release| release.name == "7.2")
            .flat_map(|r| [hsa(r, Variant::Architecture("gfx942"), offline), rust_kernels::on_release(r, offline)]),
    );
    steps.push(hsa_sim_tests(turn, offline)?);
    steps.push(levels(&raw, turn, offline));
    let about = "crates written for each API level compile alone, and in one program";
    steps.push(Step::call("probes", about, move || probes::check(turn, offline)));
    for &release in releases {
        let about = format!("a program with all levels and hip's default features, on ROCm {}", release.name);
        let run = move || probes::run(release, offline);
        steps.push(Step::call(format!("probes {}", release.name), about, run).when(hsa_ready(release)));
    }
    steps.push(examples::simulated(offline)?);
    for release in releases.iter().filter(|release| !sample || release.name == "7.2") {
        steps.push(examples::real(release, offline)?);
    }
    Ok(steps)
}

/// How releases are fetched, and whether that is possible here.
#[derive(Clone, Copy)]
pub(crate) struct Source {
    /// Nothing is fetched.
    offline: bool,
    /// Without the tools that it takes, the tests are skipped.
    optional: bool,
    get: fn(&'static Release, &[String]) -> Result<Got>,
    is_present: fn(&Release) -> bool,
}

/// By apt; all is skipped on a machine without it.
fn fetched_here(offline: bool) -> Source {
    Source { offline, optional: true, ..FETCHED }
}

/// By apt.
pub(crate) const FETCHED: Source = Source {
    offline: false,
    optional: false,
    get: |release, sets| rocm::fetch_what_is_there(release, sets, false),
    is_present: rocm::is_present,
};

impl Source {
    fn ready(self, release: &Release, sets: &[&str]) -> Result<(), String> {
        let missing = rocm::missing(release, sets);
        match (missing.is_empty() || !self.optional, self.offline) {
            (true, _) => Ok(()),
            (_, true) => Err(format!("told --offline, and not all is there yet: {} missing", missing.join(", "))),
            _ => usable().map_err(|error| error.to_string()),
        }
    }
}

/// Gets releases, of which there must be one at the end. A release that the mirror no longer has is skipped, and its
/// tests with it, unless it is `named`.
pub(crate) fn fetches(releases: &[&'static Release], named: &[&'static Release], source: Source) -> Vec<Step> {
    let fetch = |release: &&'static Release| fetch(release, &rocm::FOR_TESTS, named.contains(release), source);
    let mut steps: Vec<Step> = releases.iter().map(fetch).collect();
    let (all, any) = (releases.to_vec(), releases.to_vec());
    let check = move || match all.iter().any(|release| (source.is_present)(release)) {
        true => Ok(()),
        false => bail!("{}", rocm::none_of(&all)),
    };
    let about = "there is a release to test on";
    steps.push(Step::call("fetch any", about, check).when(move || {
        let ready = any.iter().map(|release| source.ready(release, &[]));
        ready.reduce(Result::or).unwrap_or(Ok(()))
    }));
    steps
}

/// Gets a release. What the mirror lacks is skipped, and the tests that need it say so themselves.
fn fetch(release: &'static Release, sets: &'static [&'static str], named: bool, source: Source) -> Step {
    let about = format!("real libraries and headers, under {}", rocm::tree(release).folder().display());
    let names: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let hint = if source.optional {
        "not all can be fetched; --offline skips what is missing"
    } else {
        "not all can be fetched"
    };
    let call = move || match (source.get)(release, &names).context(hint)? {
        Got::Nothing(why) if named => bail!("{why}"),
        Got::Nothing(why) => Ok(Got::Nothing(format!("{why}; its tests are skipped"))),
        got => Ok(got),
    };
    Step::fetch(format!("fetch {}", release.name), about, call).when(move || source.ready(release, sets))
}

/// The raw bindings with the modules of all levels: they compile without warnings, and are what the headers, the packages
/// and the libraries of each release say.
fn bindings(raw: &[&str], offline: bool) -> Step {
    let mut command = checked_cargo("test", offline);
    command.args(["--no-fail-fast", "--lib", "--tests", "--all-features"]).args(packages(raw));
    command.env("RUSTFLAGS", "-D warnings");
    Step::command("bindings", "every -sys crate at all API levels, which are in one program", command)
}

/// The condition that a release is there.
pub(crate) fn fetched(release: &'static Release) -> impl Fn() -> Result<(), String> + 'static {
    move || match rocm::is_present(release) {
        true => Ok(()),
        false => Err(format!("ROCm {name} is not there (cargo xtask rocm fetch {name})", name = release.name)),
    }
}

/// Features of `hip` that lead to other crates, and have tests of their own.
const INTEROP: &[&str] = &["half", "complex", "ndarray", "bytes", "tracing"];

/// What does not compile does not run anywhere: it is tried in the step `workspace`.
const BUT_MISUSE: [&str; 3] = ["--", "--skip", "misuse_does_not_compile"];

/// Tests on a release's own libraries, through its loader.
fn real(release: &'static Release, offline: bool) -> Step {
    let tree = rocm::tree(release);
    let runner: Vec<String> = tree.launcher().iter().map(|word| format!("{word:?}")).collect();
    let config = format!("target.'cfg(all())'.runner=[{}]", runner.join(","));
    let test = |packages: &[&str]| {
        let mut command = checked_cargo("test", offline);
        // Doc tests are rustdoc's to start; they run in the step `workspace`.
        command.args(["--config", &config, "--no-fail-fast", "--lib", "--tests", "--no-default-features"]);
        command.args(["--features", &newest(packages)]).args(crate::test::packages(packages));
        command.env("ROCM_PATH", tree.folder().join("usr")).env("ROCM_RS_RELEASE", release.name);
        command
    };
    // What HIPRTC compiles here runs on the software GPU, and only here is there both.
    let mut compiled = test(&["hiprtc"]);
    compiled.args(["--features", "hiprtc/sim,hiprtc/cli"]).args(BUT_MISUSE);
    let mut found = test(&ON_HIP);
    found.args(BUT_MISUSE);
    // The -sys crates start the loader themselves, in the step `bindings`.
    let commands = vec![found, compiled];
    let about = format!("tests on the real libraries of ROCm {}, which find no GPU", release.name);
    Step::commands(format!("real {}", release.name), about, commands).when(fetched(release))
}

/// Builds the library that the steps `hsa` put in the place of ROCm's own.
fn hsa_library(offline: bool) -> Step {
    let about = "libhsa-runtime64 over the software GPU, and a software OpenGL";
    Step::call("build hsa-sim", about, move || hsa_sim::build(offline, Profile::Dev).map(drop))
}

/// The crates whose tests run on a HIP runtime over the software GPU.
const ON_HIP: [&str; 2] = ["hip", "hip-gl"];

/// Their tests that use a second device where there is one.
const WITH_PEERS: [&str; 5] =
    ["peer::", "memory_pool::", "foreign::", "a_stream_of_another_device", "what_the_runtime_does_not_capture"];

/// What the software GPU is in a step `hsa`.
#[derive(Clone, Copy)]
enum Variant {
    /// One, of its usual architecture.
    Usual,
    /// One of another architecture.
    Architecture(&'static str),
    /// Two, for the tests that use a second one.
    TwoDevices,
    /// As usual, for the test programs that have most of the tests.
    Quick,
}

/// `cargo test` of `hip` and `hip-gl` with some features, as the steps `hsa` have it.
fn test_hip(features: &str, offline: bool) -> Command {
    let mut command = checked_cargo("test", offline);
    command.args(packages(&ON_HIP)).args(["--no-default-features", "--features", features]);
    command
}

/// Crates at the newest API level with all that `hip` has beside it: `hip` is the same in all steps that run on ROCm's own libraries.
fn newest(names: &[&str]) -> String {
    let interop = INTEROP.iter().map(|feature| format!("hip/{feature}"));
    std::iter::once(features(names, NEWEST)).chain(interop).collect::<Vec<_>>().join(",")
}

/// What the step `hsa` of a release runs, many times over.
fn repeated(release: &'static Release, sample: bool, offline: bool) -> Step {
    let times = if sample { 4 } else { 8 };
    let call = move || {
        repeat::run(times, test_hip(&newest(&ON_HIP), offline), |program| {
            let mut command = hsa_sim::program_on(program, release, Profile::Dev);
            command.current_dir(paths::root().join("hip"));
            command
        })
    };
    Step::call(format!("repeat {}", release.name), repeat::about(release, times), call).when(hsa_ready(release))
}

/// The condition that a release is there, and the software GPU for it.
pub(crate) fn hsa_ready(release: &'static Release) -> impl Fn() -> Result<(), String> + 'static {
    move || {
        fetched(release)()?;
        if hsa_sim::is_built(Profile::Dev) {
            Ok(())
        } else {
            Err("hsa-sim was not built (step `build hsa-sim`)".to_owned())
        }
    }
}

/// The tests of `hip` and `hip-gl` on a release's own HIP runtime, on the software GPU by way of hsa-sim; of another architecture than
/// its usual one. They are built for the newest API level, the same for every release.
fn hsa(release: &'static Release, variant: Variant, offline: bool) -> Step {
    let mut command = test_hip(&newest(&ON_HIP), offline);
    command.arg("--no-fail-fast");
    match variant {
        Variant::Quick => command.args(["--test", "gpu", "--test", "graph", "--test", "gl"]),
        _ => command.args(["--lib", "--tests"]),
    };
    hsa_sim::run_on(&mut command, release, Profile::Dev);
    command.args(BUT_MISUSE);
    let mut about =
        format!("tests of hip and hip-gl on the real HIP runtime of ROCm {}, over the software GPU", release.name);
    let mut name = format!("hsa {}", release.name);
    match variant {
        Variant::Usual | Variant::Quick => {}
        Variant::Architecture(architecture) => {
            command.env("HIP_SIM_ARCH", architecture);
            about.push_str(&format!(" as {architecture}"));
            name.push_str(&format!(" {architecture}"));
        }
        Variant::TwoDevices => {
            command.env("HIP_SIM_DEVICES", "2").args(WITH_PEERS);
            about.push_str(": what uses two devices");
            name.push_str(" two devices");
        }
    }
    let mut commands = vec![command];
    if let Variant::Usual = variant {
        commands.push(linked(release, offline));
    }
    Step::commands(name, about, commands).when(hsa_ready(release))
}

/// The tests of `hiprtc` that need a device of the release's own runtime: HIPRTC asks it what to link for.
fn linked(release: &'static Release, offline: bool) -> Command {
    let mut command = checked_cargo("test", offline);
    command.args(packages(&["hiprtc"])).args(["--no-default-features", "--features", &newest(&["hiprtc"])]);
    command.args(["--no-fail-fast", "--test", "link", "--test", "load"]);
    hsa_sim::run_on(&mut command, release, Profile::Dev);
    command
}

/// Tests of ROCm 5.7 that are left out: loading rocBLAS's code for products takes it a minute for each type, and compiling rocFFT's for
/// many layouts two.
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

/// What a sample has of the older releases' tests: order, and what is refused.
const SAMPLE: [&str; 3] = ["running::", "bad_input::", "devices::"];

/// Their tests that use a second device where there is one.
const WITH_DEVICES: [&str; 4] = ["devices::", "another_device", "elsewhere", "foreign"];

/// Crates whose tests of streams and order are run with slow queues as well: what does not wait for its work fails there.
const WITH_DELAYS: [(&str, &[&str]); 3] =
    [("hiprand", &["running::"]), ("hipfft", &["running::"]), ("hipsparse", &["running::", "devices::", "solves::"])];

/// A run in turns tries a fifth of the usual number of fuzz cases, of which each turn has its own.
const FUZZ_SHARE: &str = "5";

/// Waits of up to 300 microseconds, the same in each run.
const DELAY: &str = "300:18";

/// Crates with tests on real libraries that have their names.
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

/// The tests of the safe crate of a library, on a release's own library and HIP runtime, over the software GPU.
fn library(release: &'static Release, name: &'static str, sample: bool, offline: bool) -> Step {
    // The same features for all commands: nothing is built twice.
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
    match release.name {
        "7.2" => {}
        _ if sample => drop(command.arg("--").args(SAMPLE)),
        "5.7" => drop(command.arg("--").args(BUT_SLOW)),
        _ => {}
    }
    let mut commands = vec![command];
    // Of the newest release only: what differs is the library, which the tests are about.
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
    Step::commands(format!("{name} {}", release.name), about, commands).when(move || {
        hsa_ready(release)()?;
        library_ready(release, name)
    })
}

/// The condition that a release has a library.
fn library_ready(release: &Release, name: &str) -> Result<(), String> {
    let folder = rocm::tree(release).libraries();
    let file = format!("lib{name}.so.");
    let there = std::fs::read_dir(folder).is_ok_and(|mut files| {
        files.any(|entry| entry.is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with(&file)))
    });
    let hint = || format!("it is not there (cargo xtask rocm fetch {} --with {name})", release.name);
    if there { Ok(()) } else { Err(hint()) }
}

/// The tests of `rccl` on a release's own RCCL over several software GPUs: ranks in one process and in several, the examples, and the command
/// `rccl-run`.
fn rccl(release: &'static Release, turn: Option<Turn>, offline: bool) -> Step {
    let features = format!("{},rccl/cli,rccl/mpi,rccl/one-sided", newest(&[RCCL]));
    let with = ["--no-default-features", "--features", &features];
    let test = |devices: usize, words: &[&str]| {
        let mut command = checked_cargo("test", offline);
        command.args(packages(&[RCCL])).args(with);
        hsa_sim::run_on_several(&mut command, release, devices);
        command.arg("--no-fail-fast").args(words);
        command
    };
    let mut commands = vec![hsa_sim::build_command(offline)];
    // Older ones have no configurations, and so no deadlines: what blocks is tested in one process.
    if release.name != "7.2" {
        commands.push(test(2, &["--test", "world"]));
        let about = format!("tests of rccl on RCCL of ROCm {}, over 2 software GPUs", release.name);
        return on_rccl(format!("rccl {}", release.name), release, about, commands);
    }
    commands.push(test(2, &["--lib", "--bins", "--tests"]));
    let is_of_turn = |part| turn.is_none_or(|turn| turn.is_of(part, 3));
    if is_of_turn(0) {
        // Deadlines take their time, and more devices add nothing to them.
        commands.push(test(4, &["--test", "world", "--", "--skip", "keeps_its_deadline"]));
    }
    if is_of_turn(1) {
        commands.push(test(8, &["--test", "world", "--", "f32_is_reduced", "parts_of_different", "split", "groups::"]));
    }
    if !is_of_turn(2) {
        let about = format!("tests of rccl on RCCL of ROCm {}, over software GPUs", release.name);
        return on_rccl(format!("rccl {}", release.name), release, about, commands);
    }
    let names = ["broadcast", "ring", "bandwidth", "training"];
    commands.extend(programs(RCCL, &with, &names, offline, |path| {
        if !path.ends_with("training") {
            return hsa_sim::program_on_several(path, release, 2);
        }
        // Built with the tests of the commands.
        let mut command = Command::new(paths::fetched("debug").join("rccl-run"));
        environment(&mut command);
        hsa_sim::start_ranks(&mut command, release, 4);
        command.arg(path).arg(paths::fetched("training.svg"));
        command
    }));
    let about = format!("tests and examples of rccl on RCCL of ROCm {}, over 2, 4 and 8 software GPUs", release.name);
    on_rccl(format!("rccl {}", release.name), release, about, commands)
}

fn on_rccl(name: String, release: &'static Release, about: String, commands: Vec<Command>) -> Step {
    Step::commands(name, about, commands).when(move || {
        fetched(release)()?;
        library_ready(release, RCCL)?;
        library_ready(release, "rocm_smi64")
    })
}

/// The crate whose tests need several devices, and the kernel driver's files of them.
pub(crate) const RCCL: &str = "rccl";

/// What of `cuda-compat` runs on a release: the same features every time, so that nothing is built twice.
fn cuda_features(release: &Release) -> String {
    format!("{},sim,f16,cublas,cublaslt,curand,cufft,cusolver,cusparse,nccl", feature(release))
}

/// CUDA's names on a release's own HIP runtime and compiler, over the software GPU.
fn cuda(release: &'static Release, offline: bool) -> Step {
    let features = cuda_features(release);
    let with = ["--no-default-features", "--features", &features];
    let test = |words: &[&str]| {
        let mut command = checked_cargo("test", offline);
        command.args(packages(&["cuda-compat"])).args(with).args(words);
        hsa_sim::run_on(&mut command, release, Profile::Dev);
        command
    };
    let mut commands = vec![test(&["--tests", "--no-fail-fast"])];
    let names = ["blas_gemm", "cuda_vector_add", "cuda_streams", "templates"];
    let on = |path: &Path| hsa_sim::program_on(path, release, Profile::Dev);
    commands.extend(programs("cuda-compat", &with, &names, offline, on));
    // What HIPRTC compiled, on the embedded runtime, too.
    let mut embedded = test(&["--test", "kernels"]);
    embedded.env("HIP_RS_BACKEND", "sim");
    commands.push(embedded);
    let about = format!("CUDA's names on ROCm {}, over the software GPU", release.name);
    Step::commands(format!("cuda-compat {}", release.name), about, commands).when(hsa_ready(release))
}

/// What `cuda-compat` has in NCCL's place, over two software GPUs.
fn cuda_ranks(release: &'static Release, offline: bool) -> Step {
    let mut ranks = checked_cargo("test", offline);
    ranks.args(packages(&["cuda-compat"])).args(["--no-default-features", "--features", &cuda_features(release)]);
    ranks.args(["--test", "libraries"]);
    hsa_sim::run_on_several(&mut ranks, release, 2);
    ranks.args(["--", "nccl::"]);
    let about = format!("NCCL in cudarc's shape on RCCL of ROCm {}, over two software GPUs", release.name);
    on_rccl(format!("cuda-compat nccl {}", release.name), release, about, vec![hsa_sim::build_command(offline), ranks])
}

/// The tests of `hsa-sim`, by itself: with the whole workspace `hip` is built for a level that is newer than any runtime at hand.
fn hsa_sim_tests(turn: Option<Turn>, offline: bool) -> Result<Step> {
    let mut command = checked_cargo("test", offline);
    command.arg("--no-fail-fast").args(packages(&["hsa-sim"]));
    if let Some(turn) = turn {
        let programs = workspace::test_programs("hsa-sim")?;
        command.args(["--lib"]);
        for name in turn.select(programs, 2, |_| false) {
            command.args(["--test", &name]);
        }
    }
    Ok(Step::command("hsa-sim", "ROCm's libraries on the software GPU", command))
}

/// The oldest and the newest of API levels, and of those between a third in each turn; all without one.
pub(crate) fn levels_of(all: &[&'static str], turn: Option<Turn>) -> Vec<&'static str> {
    let ends = [all[0], all[all.len() - 1]];
    turn.map_or_else(|| all.to_vec(), |turn| turn.select(all.to_vec(), 3, |level| ends.contains(level)))
}

/// The safe and the raw crates compile without warnings at every API level alone, and all with several at once.
fn levels(raw: &[&str], turn: Option<Turn>, offline: bool) -> Step {
    let check = |names: &[&str], features: &str| {
        let mut command = checked_cargo("check", offline);
        // Without workspace-hack: each crate asks for all features of others that it needs.
        command.args(names.iter().flat_map(|&name| ["-p", name]));
        command.args(["--no-default-features", "--features", features]);
        command.env("RUSTFLAGS", "-D warnings");
        command
    };
    let of_turn = levels_of(LEVELS, turn);
    let mut commands: Vec<Command> = of_turn.iter().map(|level| check(&SAFE, &features(&SAFE, level))).collect();
    commands.push(check(raw, ""));
    // Levels of different crates in one program, as Cargo unifies them.
    commands.push(check(&SAFE, "hip/rocm-5-7,hiprtc/rocm-6-2,hip/rocm-10-0"));
    commands.push(check(&SAFE, "hip/rocm-6-4,hip/rocm-7-2,hiprtc/rocm-6-4,hiprtc/rocm-7-2"));
    commands.push(check(raw, "hip-sys/rocm-10-0,hipblas-sys/rocm-5-7,hipsolver-sys/rocm-6-4,hipblaslt-sys/rocm-7-0"));
    Step::commands("levels", "every API level of the crates, none, and several at once", commands)
}

/// `cargo TASK` with what tests need in the environment.
pub(crate) fn checked_cargo(task: &str, offline: bool) -> Command {
    let mut command = cargo();
    command.arg(task);
    if offline {
        command.arg("--offline");
    }
    environment(&mut command);
    command
}

/// What tests need in the environment.
pub(crate) fn environment(command: &mut Command) {
    command.env("ROCM_RS_TREES", paths::rocm_trees());
    // The machine's own choice of a GPU or of ROCm must not decide what the tests see.
    for name in ["HIP_RS_BACKEND", "ROCM_PATH", "HIP_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"] {
        command.env_remove(name);
    }
}

/// `-p a -p b`, and `workspace-hack` beside them: what they depend on has the same features whichever they are, and is built once.
pub(crate) fn packages<'a>(names: &[&'a str]) -> Vec<&'a str> {
    names.iter().chain(&["workspace-hack"]).flat_map(|&name| ["-p", name]).collect()
}

/// Every crate but those that are built apart, with what tests need: the software GPU is on, for the examples use it.
pub(crate) fn all_crates(offline: bool) -> Command {
    let mut command = checked_cargo("test", offline);
    command.args(["--no-fail-fast", "--workspace", "--features", &format!("hip/{NEWEST}")]);
    rust_kernels::PACKAGES.iter().chain([&COMPILER]).for_each(|name| {
        command.args(["--exclude", name]);
    });
    command
}

/// Builds examples of a package, and runs each as `start` has it.
fn programs(
    package: &str,
    with: &[&str],
    names: &[&str],
    offline: bool,
    start: impl Fn(&Path) -> Command,
) -> Vec<Command> {
    let mut build = checked_cargo("build", offline);
    build.args(packages(&[package])).args(with);
    names.iter().for_each(|name| {
        build.args(["--example", name]);
    });
    let folder = paths::fetched("debug").join("examples");
    let run = |name| {
        let mut command = start(&folder.join(name));
        command.current_dir(paths::root());
        command
    };
    [build].into_iter().chain(names.iter().map(run)).collect()
}

/// The level of a release, as a feature.
pub(crate) fn feature(release: &Release) -> String {
    format!("rocm-{}", release.name.replace('.', "-"))
}

/// `a/level,b/level`; nothing for no level.
fn features(packages: &[&str], level: &str) -> String {
    if level.is_empty() {
        return String::new();
    }
    packages.iter().map(|package| format!("{package}/{level}")).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn features_of_several_crates() {
        assert_eq!(features(&["hip", "hiprtc"], "rocm-6-4"), "hip/rocm-6-4,hiprtc/rocm-6-4");
        assert_eq!(features(&["hip"], ""), "");
        assert_eq!(feature(rocm::release("5.7").unwrap()), "rocm-5-7");
    }

    #[test]
    fn a_release_beyond_the_newest_level_counts_as_newer_than_any_known() {
        let (major, minor) = rocm_loader::NEWEST_RELEASE;
        assert_eq!(NEWEST, format!("rocm-{major}-{minor}"));
    }

    #[test]
    fn the_quick_set_is_small_and_on_one_release() {
        let steps = quick_steps(true).unwrap();
        let names: Vec<&str> = steps.iter().map(Step::name).collect();
        assert_eq!(names, ["fetch 7.2", "crates", "build hsa-sim", "hsa 7.2", "examples 7.2"]);
    }

    #[test]
    fn every_level_of_every_crate_is_checked() {
        for package in workspace::published().unwrap() {
            let stated: BTreeSet<&str> =
                package.features.iter().map(String::as_str).filter(|name| name.starts_with("rocm-")).collect();
            let expected: BTreeSet<&str> = match package.is_sys() || SAFE.contains(&package.name.as_str()) {
                true => LEVELS[1..].iter().copied().collect(),
                false => BTreeSet::new(),
            };
            assert_eq!(stated, expected, "{}", package.name);
        }
    }

    /// What the steps that fetch come to, if the mirror has ROCm 6.4 and, in the place of 7.2, another release.
    fn fetched_from(
        get: fn(&'static Release, &[String]) -> Result<Got>,
        is_present: fn(&Release) -> bool,
        named: &[&str],
    ) -> steps::Summary {
        let source = Source { get, is_present, ..FETCHED };
        let releases = ["6.4", "7.2"].map(|name| rocm::release(name).unwrap());
        let named: Vec<_> = named.iter().map(|name| rocm::release(name).unwrap()).collect();
        steps::run(fetches(&releases, &named, source), &[])
    }

    fn moved_on(release: &'static Release, _: &[String]) -> Result<Got> {
        match release.name {
            "7.2" => Ok(Got::Nothing("ROCm 7.2: the mirror has 7.3.0-1".into())),
            _ => Ok(Got::All),
        }
    }

    #[test]
    fn a_release_that_the_mirror_no_longer_has_is_skipped_while_there_is_another() {
        let summary = fetched_from(moved_on, |release| release.name == "6.4", &["6.4"]);
        assert_eq!((summary.totals(), summary.passed()), ((2, 0, 1), true));
        let text = summary.to_string();
        let line = "ROCm 7.2: the mirror has 7.3.0-1; its tests are skipped";
        assert_eq!(text.matches(line).count(), 2, "in the table, and again at the end: {text}");

        let nothing = |_: &'static Release, _: &[String]| Ok(Got::Nothing("gone".into()));
        let summary = fetched_from(nothing, |_| false, &[]);
        assert_eq!(summary.totals(), (0, 1, 2));
        assert!(summary.to_string().contains("the mirror has none of ROCm 6.4, 7.2; set ROCM_SDK_DEBIAN_MIRROR"));
    }

    #[test]
    fn a_release_that_is_named_must_be_had() {
        let summary = fetched_from(moved_on, |release| release.name == "6.4", &["7.2"]);
        assert_eq!(summary.totals(), (2, 1, 0));
        let named = |words: &[&str]| -> Vec<&str> {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            named_in(&words).iter().map(|release| release.name).collect()
        };
        assert_eq!(named(&["hsa 7.2", "real"]), ["7.2"]);
        assert!(named(&["fetch"]).is_empty());
    }

    #[test]
    fn a_mirror_that_cannot_be_reached_is_a_failure() {
        let broken = |_: &'static Release, _: &[String]| bail!("could not resolve the mirror");
        let summary = fetched_from(broken, |_| true, &[]);
        assert_eq!(summary.totals(), (1, 2, 0));
        assert!(summary.to_string().contains("could not resolve the mirror"), "{summary}");
    }

    #[test]
    fn the_table_names_each_step_once() {
        let steps = steps(true, None, &RELEASES.iter().collect::<Vec<_>>(), &[]).unwrap();
        let names: BTreeSet<&str> = steps.iter().map(Step::name).collect();
        assert_eq!(names.len(), steps.len());
        for name in ["fetch 7.2", "fetch any", "workspace", "rocm-sdk", "bindings", "levels", "real 7.2"] {
            assert!(names.contains(name), "{name} is not in {names:?}");
        }
    }
}
