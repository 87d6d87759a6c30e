//! `cargo xtask amd-tests`: AMD's own test programs on the software GPU.
//!
//! `subjects` lists them, `packages` fetches them, `gtest` lists and runs cases, `sample` chooses cases, `findings`
//! collects what the checks report, and `table` writes the committed results.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

use self::findings::Findings;
use self::gtest::Outcome;
use self::packages::Fetched;
use self::subjects::{Subject, subject_named};
use self::table::{Failure, Key, Totals, UNKNOWN};
use crate::process::messages;
use crate::rocm::Release;
use crate::{hsa, suites};

mod findings;
mod gtest;
mod packages;
mod sample;
mod subjects;
mod table;

/// The package that the tests of this workspace run: the smallest one.
const QUICK: &str = "hiprand";

/// Runs AMD's own test programs of ROCm's libraries on the software GPU.
///
/// They are Debian's packages, of ROCm 7.2: rocprim, hipcub, rocthrust, rocwmma, rocrand, hiprand, rocfft, hipfft,
/// rocblas, hipblas, hipblaslt, rocsparse, hipsparse, rocsolver, hipsolver, rocalution, rccl, and rocrtst, which tests
/// HSA itself. They are fetched into target/amd-tests (0.5 MB to 1.6 GB), with the libraries that target/rocm/7.2
/// lacks. The command fails if a case does not pass without a known reason (sim/hsa-sim/amd-tests-reasons.tsv).
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  cargo xtask amd-tests rocprim --sample 200 --seed 7       200 cases, the same every time
  cargo xtask amd-tests rocprim --program device_partition --filter '*ThreeWay*'
  cargo xtask amd-tests rocwmma --arch gfx942 --threads 4 --sample 50
  cargo xtask amd-tests rocfft --sample 100 --record        writes sim/hsa-sim/AMD_TESTS.md
  cargo xtask amd-tests rocrand --sample 20 --check all     what races and uninitialised reads it has
  cargo xtask amd-tests rocprim --list                      lists cases
  cargo xtask amd-tests rocprim --remove                    removes what was fetched")]
pub(crate) struct Args {
    /// Whose test programs
    #[arg(value_name = "NAME", value_parser = subject_named, required_unless_present = "render")]
    subject: Option<&'static Subject>,
    /// Run so many cases, chosen by the seed; otherwise all
    #[arg(long, value_name = "N")]
    sample: Option<usize>,
    /// Chooses the sample
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Only programs with this in their name
    #[arg(long, value_name = "TEXT")]
    program: Option<String>,
    /// Only cases of this filter, as GoogleTest takes it
    #[arg(long, value_name = "FILTER")]
    filter: Option<String>,
    /// Processor of the software GPU
    #[arg(long, default_value = "gfx90a", value_parser = ["gfx90a", "gfx942"])]
    arch: String,
    /// Threads that run kernels
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    threads: u32,
    /// Seconds that a case may take
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    limit: u64,
    /// Start no case after so many minutes
    #[arg(long, value_name = "N", default_value_t = 600)]
    minutes: u64,
    /// Run with these checks of the software GPU (such as `all`), and list what they find; slower
    #[arg(long, value_name = "CHECKS", conflicts_with = "record")]
    check: Option<String>,
    /// List the cases instead of running them
    #[arg(long)]
    list: bool,
    /// Write the results into the committed table
    #[arg(long)]
    record: bool,
    /// Write the committed page from its runs and reasons
    #[arg(long)]
    render: bool,
    /// Remove the test programs afterwards; without --sample and --filter, run nothing
    #[arg(long)]
    remove: bool,
    /// Use no network: only what is already fetched
    #[arg(long)]
    offline: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    if args.render {
        println!("{}", table::render()?.display());
    }
    let Some(subject) = args.subject else { return Ok(()) };
    if args.remove && args.sample.is_none() && args.filter.is_none() {
        return packages::remove(subject);
    }
    let mut bench = Bench::new(subject, &args.arch, args.threads, args.offline)?;
    if let Some(checks) = &args.check {
        // A finding does not end the case.
        bench.settings.extend(["--checks".to_owned(), format!("{checks},warn")]);
    }
    let cases = bench.cases(args.program.as_deref(), args.filter.as_deref())?;
    if args.list {
        cases.iter().for_each(|(program, case)| println!("{} {case}", name(program)));
        return Ok(());
    }
    ensure!(!cases.is_empty(), "no program of {} has such a case; --list shows them", subject.name);
    let count = cases.len();
    let chosen = match args.sample {
        Some(sample) => sample::sample(cases, sample, args.seed),
        None => cases,
    };
    let limit = Duration::from_secs(args.limit);
    let end = Instant::now() + Duration::from_secs(args.minutes * 60);
    let results = bench.run(&chosen, limit, end)?;
    let unexplained = results.report(subject)?;
    if args.record {
        let mut selection: Vec<String> = Vec::new();
        selection.extend(args.program.as_ref().map(|program| format!("`{program}`")));
        selection.extend(args.filter.as_ref().map(|filter| format!("`{filter}`")));
        selection.push(match args.sample {
            Some(sample) if sample < count => format!("{sample} of {count}, seed {}", args.seed),
            _ => format!("all {count}"),
        });
        let key = Key {
            subject: subject.name.to_owned(),
            architecture: args.arch.clone(),
            threads: args.threads,
            selection: selection.join(", "),
        };
        let totals = Totals { version: bench.fetched.version, ..results.totals };
        println!("{}", table::record(key, totals, results.failures)?.display());
    }
    if args.remove {
        packages::remove(subject)?;
    }
    ensure!(unexplained == 0, "{unexplained} cases of {} did not pass, and no reason is stated", subject.name);
    Ok(())
}

/// Runs a small sample of the smallest package, as the tests of this workspace do.
pub(crate) fn check(offline: bool) -> Result<()> {
    let subject = subject_named(QUICK).map_err(anyhow::Error::msg)?;
    let bench = Bench::new(subject, "gfx90a", 2, offline)?;
    let chosen = sample::sample(bench.cases(None, None)?, 40, 7);
    let end = Instant::now() + Duration::from_secs(120);
    let results = bench.run(&chosen, Duration::from_secs(20), end)?;
    results.report(subject)?;
    // The time of a case depends on the machine here.
    let Totals { passed, failed, .. } = results.totals;
    ensure!(passed > 0 && failed == 0, "of {}: {passed} cases passed, {failed} failed", subject.name);
    Ok(())
}

/// Returns the description of [`check`].
pub(crate) fn about() -> String {
    format!("a sample of AMD's own test programs of {QUICK}, over the software GPU")
}

/// Test programs, with the release and the settings to run them.
struct Bench {
    subject: &'static Subject,
    release: &'static Release,
    fetched: Fetched,
    settings: Vec<String>,
}

/// The results of cases.
#[derive(Default)]
struct Results {
    totals: Totals,
    failures: Vec<Failure>,
    /// The last output of each failure.
    said: Vec<String>,
    findings: Findings,
}

impl Bench {
    fn new(subject: &'static Subject, architecture: &str, threads: u32, offline: bool) -> Result<Self> {
        let release = suites::release(offline)?;
        let fetched = packages::fetch(subject, release, offline)?;
        messages(&mut hsa::build_command(offline))?;
        let settings =
            ["--arch", architecture, "--threads", &threads.to_string(), "--devices", &subject.devices.to_string()];
        let settings = settings.map(str::to_owned).to_vec();
        Ok(Self { subject, release, fetched, settings })
    }

    /// Returns the command that runs a program, without arguments for its cases.
    fn command(&self, program: &Path) -> Command {
        let mut command = hsa::hip_sim_run(&self.settings, self.release);
        command.arg(program).args(self.subject.arguments.iter().map(|argument| self.placed(argument)));
        let libraries = std::env::join_paths(&self.fetched.libraries).unwrap_or_default();
        command.env("LD_LIBRARY_PATH", libraries).current_dir(&self.fetched.folder);
        for (variable, value) in self.subject.variables {
            command.env(variable, self.placed(value));
        }
        command
    }

    /// Replaces the placeholders in `text` by their folders.
    fn placed(&self, text: &str) -> String {
        let text = text.replace("{folder}", &self.fetched.folder.display().to_string());
        text.replace("{tree}", &self.fetched.tree.display().to_string())
    }

    /// Returns every case of every program, with its program.
    fn cases(&self, program: Option<&str>, filter: Option<&str>) -> Result<Vec<(PathBuf, String)>> {
        if self.subject.whole && filter.is_some() {
            bail!("{}'s programs are one case each: choose with --program", self.subject.name);
        }
        let mut all = Vec::new();
        for file in &self.fetched.programs {
            if program.is_some_and(|part| !name(file).contains(part)) {
                continue;
            }
            if self.subject.whole {
                all.push((file.clone(), name(file)));
                continue;
            }
            match gtest::list(self.command(file), filter) {
                Ok(cases) => all.extend(cases.into_iter().map(|case| (file.clone(), case))),
                Err(error) => eprintln!("{} is left out: {error:#}", name(file)),
            }
        }
        Ok(all)
    }

    fn run(&self, chosen: &[(PathBuf, String)], limit: Duration, end: Instant) -> Result<Results> {
        let (begun, mut done) = (Instant::now(), 0);
        let mut results = Results::default();
        for group in chosen.chunk_by(|one, other| one.0 == other.0) {
            let file = &group[0].0;
            let cases: Vec<String> = group.iter().map(|(_, case)| case.clone()).collect();
            let mut told = |ran: &gtest::Ran| {
                done += 1;
                if !matches!(ran.outcome, Outcome::Passed | Outcome::Skipped) || ran.took > limit / 2 {
                    println!("{done}/{} {} {}: {} s", chosen.len(), name(file), ran.case, ran.took.as_secs());
                }
            };
            let findings = &mut results.findings;
            let ran = if self.subject.whole {
                if Instant::now() >= end {
                    break;
                }
                vec![gtest::run_whole(self.command(file), &cases[0], limit, findings, &mut told)?]
            } else {
                gtest::run(&|| self.command(file), &cases, limit, end, findings, &mut told)?
            };
            ran.into_iter().for_each(|ran| results.add(name(file), ran));
        }
        results.totals.seconds = begun.elapsed().as_secs();
        Ok(results)
    }
}

impl Results {
    fn add(&mut self, program: String, ran: gtest::Ran) {
        let totals = &mut self.totals;
        totals.run += 1;
        let (count, failure) = match ran.outcome {
            Outcome::Passed => (&mut totals.passed, None),
            Outcome::Skipped => (&mut totals.skipped, None),
            Outcome::Failed(said) => (&mut totals.failed, Some(("failed", said))),
            Outcome::TimedOut => (&mut totals.timed_out, Some(("timed out", String::new()))),
        };
        *count += 1;
        if let Some((outcome, said)) = failure {
            self.failures.push(Failure { program, case: ran.case, outcome: outcome.to_owned() });
            self.said.push(said);
        }
    }

    /// Prints the totals and the cases that did not pass. Returns the number of those without a reason.
    fn report(&self, subject: &Subject) -> Result<usize> {
        let reasons = table::reasons()?;
        let mut unexplained = 0;
        for (failure, said) in self.failures.iter().zip(&self.said) {
            let why = reasons.of(subject.name, &failure.case);
            unexplained += usize::from(why.is_none());
            let Failure { program, case, outcome } = failure;
            println!("{outcome} {program} {case}: {}", why.unwrap_or(UNKNOWN));
            if !said.is_empty() {
                println!("    {said}");
            }
        }
        if self.findings.len() > 0 {
            println!("Findings: {}", self.findings.len());
            self.findings.lines().for_each(|line| println!("  {line}"));
        }
        let Totals { run, passed, failed, timed_out, skipped, seconds, .. } = &self.totals;
        println!(
            "{}: {run} run, {passed} passed, {failed} failed, {timed_out} timed out, {skipped} skipped, {seconds} s",
            subject.name
        );
        Ok(unexplained)
    }
}

fn name(program: &Path) -> String {
    program.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
