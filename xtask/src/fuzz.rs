//! `cargo xtask fuzz`: runs the fuzz tests of the software GPU for any length of time.
//!
//! The tests themselves (`sim/amdgpu-sim/tests/fuzz_*.rs`) run a fixed number of cases. Environment variables read by
//! `tests/common/fuzz.rs` request more, and make it record the current case of each thread, so that a case that kills
//! the process is known too.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};

use crate::cargo::checked_cargo;
use crate::paths;

/// Feeds damaged code objects and random code to the software GPU, and reports the first case that makes it fail.
///
/// Each case is made from its number, so the number is enough to reproduce it. Every launch must end in success or in a
/// fault; a panic, a crash, a hang or a difference between the CPU's instruction sets is a bug.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  cargo xtask fuzz                          ten minutes, shared by all targets
  cargo xtask fuzz --minutes 60 streams     an hour of random instructions
  cargo xtask fuzz --seed 7                 the same cases as another run with seed 7
  cargo xtask fuzz streams --case 12345     one case again
  cargo xtask fuzz --list                   the targets")]
pub(crate) struct Args {
    /// Minutes for all targets together
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    minutes: u64,
    /// The start of the case numbers; a new one each time by default
    #[arg(long, value_name = "S", conflicts_with = "case")]
    seed: Option<u32>,
    /// Run one case of one target, by the number that a failed run has printed
    #[arg(long, value_name = "NUMBER", requires = "targets")]
    case: Option<u64>,
    /// Show the targets instead of running them
    #[arg(long)]
    list: bool,
    /// The targets to run; all by default
    #[arg(value_name = "TARGET", value_parser = clap::builder::PossibleValuesParser::new(TARGETS.map(|t| t.name)))]
    targets: Vec<String>,
}

/// A fuzz test.
struct Target {
    name: &'static str,
    about: &'static str,
    /// Cargo's arguments that select the test program, and the test's name in it.
    place: &'static [&'static str],
    test: &'static str,
}

const TARGETS: [Target; 8] = [
    Target {
        name: "objects",
        about: "code objects with damaged bytes: read and loaded",
        place: &["--test", "fuzz_loader"],
        test: "a_million_mutated_code_objects",
    },
    Target {
        name: "bundles",
        about: "offload bundles with damaged bytes",
        place: &["--test", "fuzz_loader"],
        test: "mutated_bundles",
    },
    Target {
        name: "libraries",
        about: "host libraries with damaged headers and bundles in them",
        place: &["--test", "fuzz_loader"],
        test: "mutated_host_libraries",
    },
    Target {
        name: "structures",
        about: "code objects whose tables and metadata hold anything: loaded and run",
        place: &["--test", "fuzz_dispatch"],
        test: "structures_of_any_kind_are_refused_or_run",
    },
    Target {
        name: "kernels",
        about: "small compiled kernels with damaged code and descriptors: run",
        place: &["--test", "fuzz_dispatch"],
        test: "mutated_code_that_loads_also_runs_into_an_end_or_a_fault",
    },
    Target {
        name: "flips",
        about: "compiled kernels with flipped bits in their code: run",
        place: &["--test", "fuzz_dispatch"],
        test: "flipped_bits_of_code_end_or_fault",
    },
    Target {
        name: "streams",
        about: "random instructions of the whole table, on both processors: run",
        place: &["--test", "fuzz_streams"],
        test: "random_streams_end_or_fault",
    },
    Target {
        name: "differ",
        about: "random arithmetic, with and without the CPU's AVX2: both give the same",
        place: &["--lib"],
        test: "exec::tests::differ::baseline_and_avx2_agree_on_random_streams",
    },
];

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    if args.list {
        TARGETS.iter().for_each(|target| println!("{:12}{}", target.name, target.about));
        return Ok(());
    }
    let chosen = |target: &&Target| args.targets.is_empty() || args.targets.iter().any(|name| name == target.name);
    let targets: Vec<&Target> = TARGETS.iter().filter(chosen).collect();
    if let Some(case) = args.case {
        ensure!(targets.len() == 1, "--case is of one target; {} are named", targets.len());
        return once(targets[0], &[("ROCM_RS_FUZZ_CASE", case.to_string())]);
    }
    let seed = args.seed.unwrap_or_else(fresh_seed);
    // Far apart, so that no run gets from one seed's cases to those of the next.
    let start = u64::from(seed) << 32;
    let time = Duration::from_secs(60 * args.minutes) / targets.len() as u32;
    println!("seed {seed}: cases from {start} on, {} s for each of {} targets", time.as_secs(), targets.len());
    let trace = paths::root().join("target/fuzz-trace");
    for target in targets {
        // The file of an earlier run is obsolete.
        let _ = fs::remove_file(&trace);
        let result = once(
            target,
            &[
                ("ROCM_RS_FUZZ_SECONDS", time.as_secs().to_string()),
                ("ROCM_RS_FUZZ_START", start.to_string()),
                ("ROCM_RS_FUZZ_TRACE", trace.display().to_string()),
            ],
        );
        if result.is_err() {
            return result.with_context(|| in_flight(&trace));
        }
    }
    println!("seed {seed}: nothing found");
    Ok(())
}

/// Runs a target.
fn once(target: &Target, variables: &[(&str, String)]) -> Result<()> {
    println!("{}: {}", target.name, target.about);
    let mut command = checked_cargo("test", false);
    command.args(["-q", "-p", "amdgpu-sim"]).args(target.place).args(["--", "--exact", "--nocapture", target.test]);
    variables.iter().for_each(|(name, value)| {
        command.env(name, value);
    });
    let status = command.status().context("cargo cannot be run")?;
    if !status.success() {
        bail!("{} has found something ({status})", target.name);
    }
    Ok(())
}

/// Returns the cases that the threads of a dead process were running.
fn in_flight(trace: &PathBuf) -> String {
    let text = fs::read(trace).unwrap_or_default();
    let lines: Vec<String> = String::from_utf8_lossy(&text).lines().map(again).collect();
    format!("where no case is named above, one of these did it:{}", lines.concat())
}

/// Returns the command that repeats `NAME CASE`.
fn again(line: &str) -> String {
    match line.trim_matches(['\0', ' ']).split_once(' ') {
        Some((name, case)) => format!("\n    cargo xtask fuzz {name} --case {case}"),
        None => String::new(),
    }
}

/// Returns another seed each time.
fn fresh_seed() -> u32 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_secs() as u32 ^ time.subsec_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cargo would silently run nothing for a renamed test.
    #[test]
    fn every_target_is_a_test_of_that_name_and_number_of_cases() {
        for target in &TARGETS {
            let crate_root = paths::root().join("sim/amdgpu-sim");
            let (file, name) = match target.place {
                ["--test", file] => (crate_root.join("tests").join(file).with_extension("rs"), target.test),
                _ => {
                    let (module, name) = target.test.rsplit_once("::").unwrap();
                    (crate_root.join("src").join(module.replace("::", "/")).with_extension("rs"), name)
                }
            };
            let text = fs::read_to_string(&file).unwrap();
            assert!(text.contains(&format!("#[test]\nfn {name}()")), "{name} is not in {}", file.display());
            assert!(text.contains(&format!("cases(\"{}\",", target.name)), "{} runs no such cases", file.display());
        }
    }

    #[test]
    fn cases_in_flight_are_commands() {
        assert_eq!(again("streams 17    "), "\n    cargo xtask fuzz streams --case 17");
        assert_eq!(again("\0\0\0"), "");
    }
}
