//! `cargo xtask bench`: the figures of README's table, measured again.
//!
//! Build times are taken here, cold and interleaved with the peers' in one run; everything else is a criterion bench
//! of the crate that it is about.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Figure {
    /// Cold builds: hip against cubecl-hip-sys and cudarc, and of the first example.
    Build,
    /// A hip-sys call against a plain function pointer.
    Call,
    /// The software GPU: lane-instructions a second.
    Sim,
    /// An empty kernel's launch on the software GPU.
    Launch,
}

/// Measures the figures of README's table.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cargo xtask bench            all figures\n  cargo xtask bench build      only the cold builds (about two minutes)"
)]
pub(crate) struct Args {
    /// Which figures; all of them if none is named.
    figures: Vec<Figure>,
    /// Rounds of the cold builds; the median counts.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

/// Runs `cargo xtask bench`.
pub(crate) fn run(args: &Args) -> Result<()> {
    let wants = |figure| args.figures.is_empty() || args.figures.contains(&figure);
    if wants(Figure::Build) {
        builds(args.rounds.max(1))?;
    }
    for (figure, package, bench, features) in [
        (Figure::Call, "hip-sys", "call", ""),
        (Figure::Sim, "amdgpu-sim", "lanes", ""),
        (Figure::Launch, "hip", "launch", "sim"),
    ] {
        if wants(figure) {
            let mut cargo = Command::new("cargo");
            cargo.args(["bench", "-p", package, "--bench", bench]);
            if !features.is_empty() {
                cargo.args(["--features", features]);
            }
            let status = cargo.status().context("starting cargo bench")?;
            ensure!(status.success(), "cargo bench -p {package} --bench {bench}: {status}");
        }
    }
    Ok(())
}

/// A crate whose cold build is timed.
struct Subject {
    name: &'static str,
    /// Folder that cargo runs in.
    folder: PathBuf,
    /// Arguments that name what is built.
    cargo_args: &'static [&'static str],
}

/// Peers and what a user of each would write in Cargo.toml.
const PEERS: [(&str, &str); 2] = [
    ("cubecl-hip-sys", "cubecl-hip-sys = \"7.14\""),
    (
        "cudarc",
        "cudarc = { version = \"0.19\", default-features = false, features = [\"std\", \"driver\", \"dynamic-loading\", \"cuda-13000\"] }",
    ),
];

fn builds(rounds: usize) -> Result<()> {
    let root = crate::paths::root().to_owned();
    let scratch = root.join("target/bench");
    let mut subjects = vec![Subject { name: "hip", folder: root.clone(), cargo_args: &["build", "-p", "hip"] }];
    for (name, dependency) in PEERS {
        subjects.push(Subject { name, folder: peer(&scratch, name, dependency)?, cargo_args: &["build"] });
    }
    for subject in &subjects {
        // Crates are downloaded before the clock starts.
        quiet(Command::new("cargo").arg("fetch").current_dir(&subject.folder))?;
    }
    let mut times = vec![Vec::new(); subjects.len()];
    for round in 0..rounds {
        for (subject, times) in subjects.iter().zip(&mut times) {
            eprintln!("round {} of {rounds}: cold build of {}", round + 1, subject.name);
            times.push(cold(subject, &scratch)?);
        }
    }
    println!("| cold `cargo build` | median s | against hip | crates | depth |");
    println!("|---|---|---|---|---|");
    let base = median(&times[0]);
    for (subject, times) in subjects.iter().zip(&times) {
        let (crates, depth) = tree(subject)?;
        let time = median(times);
        println!(
            "| {} | {:.2} | {:.2} | {crates} | {depth} |",
            subject.name,
            time.as_secs_f64(),
            time.as_secs_f64() / base.as_secs_f64()
        );
    }
    for (name, cargo_args) in [
        ("vector_add, software GPU in", &["run", "--example", "vector_add"][..]),
        (
            "vector_add, without it",
            &["build", "-p", "rocm-examples", "--no-default-features", "--example", "vector_add"],
        ),
    ] {
        let time = cold(&Subject { name, folder: root.clone(), cargo_args }, &scratch)?;
        println!("| {name}: cold `cargo {}` | {:.2} | | | |", cargo_args.join(" "), time.as_secs_f64());
    }
    Ok(())
}

/// A crate of one dependency, made in `scratch`.
fn peer(scratch: &Path, name: &str, dependency: &str) -> Result<PathBuf> {
    let folder = scratch.join(name);
    std::fs::create_dir_all(folder.join("src"))?;
    std::fs::write(folder.join("src/lib.rs"), "")?;
    std::fs::write(
        folder.join("Cargo.toml"),
        format!(
            "[package]\nname = \"peer\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n[dependencies]\n{dependency}\n"
        ),
    )?;
    Ok(folder)
}

fn cold(subject: &Subject, scratch: &Path) -> Result<Duration> {
    let target = scratch.join("target");
    if target.exists() {
        std::fs::remove_dir_all(&target)?;
    }
    let start = Instant::now();
    quiet(
        Command::new("cargo").args(subject.cargo_args).current_dir(&subject.folder).env("CARGO_TARGET_DIR", &target),
    )?;
    Ok(start.elapsed())
}

/// How many crates `cargo tree` lists beside the root, and how deep it goes.
fn tree(subject: &Subject) -> Result<(usize, usize)> {
    let mut cargo = Command::new("cargo");
    cargo.args(["tree", "--prefix", "depth", "--edges", "normal,build"]).current_dir(&subject.folder);
    if let ["build", package @ ..] = subject.cargo_args {
        cargo.args(package);
    }
    let output = cargo.output().context("starting cargo tree")?;
    ensure!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    Ok(count_tree(&String::from_utf8(output.stdout)?))
}

fn count_tree(listing: &str) -> (usize, usize) {
    let mut crates = std::collections::BTreeSet::new();
    let mut deepest = 0;
    for line in listing.lines() {
        let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let Ok(depth) = line[..digits].parse::<usize>() else { continue };
        deepest = deepest.max(depth);
        if depth > 0 {
            crates.insert(line[digits..].trim_end_matches(" (*)").to_owned());
        }
    }
    (crates.len(), deepest)
}

fn median(times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

fn quiet(command: &mut Command) -> Result<()> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("starting {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_counted_once_a_crate() {
        let listing = "0hip v0.1.0 (/x)\n1libc v0.2\n1rocm-sdk v0.1.0 (/y)\n2libc v0.2 (*)\n2semver v1\n";
        assert_eq!(count_tree(listing), (3, 2));
    }

    #[test]
    fn the_median_is_the_middle_one() {
        let s = Duration::from_secs;
        assert_eq!(median(&[s(9), s(1), s(3)]), s(3));
    }
}
