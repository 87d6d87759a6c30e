//! Cold builds: into an empty target directory, with all crates downloaded.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::process::quiet;
use crate::workspace;

/// A crate whose cold build is timed.
struct Subject<'a> {
    name: &'a str,
    /// Folder that cargo runs in.
    folder: PathBuf,
    /// Arguments that name what is built.
    cargo_args: Vec<&'a str>,
}

/// Peers, and the line that a user of each would write in Cargo.toml.
const PEERS: [(&str, &str); 2] = [
    ("cubecl-hip-sys", "cubecl-hip-sys = \"7.14\""),
    (
        "cudarc",
        "cudarc = { version = \"0.19\", default-features = false, features = [\"std\", \"driver\", \"dynamic-loading\", \"cuda-13000\"] }",
    ),
];

/// Takes the times and prints their tables.
pub(super) fn run(rounds: usize) -> Result<()> {
    let root = crate::paths::root().to_owned();
    let scratch = root.join("target/bench");
    let here =
        |name, cargo_args: &[&'static str]| Subject { name, folder: root.clone(), cargo_args: cargo_args.into() };

    let mut subjects = vec![here("hip", &["build", "-p", "hip"])];
    for (name, dependency) in PEERS {
        subjects.push(Subject { name, folder: peer(&scratch, name, dependency)?, cargo_args: vec!["build"] });
    }
    let times = medians(&subjects, rounds, &scratch)?;
    println!("| cold `cargo build` | median s | against hip | crates | depth |");
    println!("|---|---|---|---|---|");
    for (subject, time) in subjects.iter().zip(&times) {
        let (crates, depth) = tree(subject)?;
        let ratio = time.as_secs_f64() / times[0].as_secs_f64();
        println!("| {} | {:.2} | {ratio:.2} | {crates} | {depth} |", subject.name, time.as_secs_f64());
    }

    let raw = workspace::sys_crates()?;
    let alone = |name| Subject { name, folder: root.clone(), cargo_args: vec!["build", "-p", name] };
    let subjects: Vec<Subject<'_>> = raw.iter().map(|name| alone(name.as_str())).collect();
    let times = medians(&subjects, rounds, &scratch)?;
    println!("\n| cold build of one -sys crate, alone | median s | crates |");
    println!("|---|---|---|");
    for (subject, time) in subjects.iter().zip(&times) {
        println!("| `{}` | {:.2} | {} |", subject.name, time.as_secs_f64(), tree(subject)?.0);
    }

    let all_raw = [vec!["build"], crate::cargo::packages(&raw.iter().map(String::as_str).collect::<Vec<_>>())].concat();
    let example = ["run", "--example", "vector_add"];
    let without = ["build", "-p", "rocm-examples", "--no-default-features", "--example", "vector_add"];
    println!("\n| cold build, once | s |");
    println!("|---|---|");
    for subject in [
        here("vector_add, software GPU in: `cargo run --example vector_add`", &example),
        here("vector_add, without it", &without),
        Subject { name: "all -sys crates in one call", folder: root.clone(), cargo_args: all_raw },
        here("the workspace with its tools: `cargo build --workspace`", &["build", "--workspace"]),
    ] {
        println!("| {} | {:.2} |", subject.name, cold(&subject, &scratch)?.as_secs_f64());
    }
    Ok(())
}

/// Builds each once per round, alternating, after its crates have been downloaded. Returns the medians in the same
/// order.
fn medians(subjects: &[Subject<'_>], rounds: usize, scratch: &Path) -> Result<Vec<Duration>> {
    for folder in subjects.iter().map(|subject| &subject.folder).collect::<BTreeSet<_>>() {
        quiet(Command::new("cargo").arg("fetch").current_dir(folder))?;
    }
    let mut times = vec![Vec::new(); subjects.len()];
    for round in 0..rounds {
        for (subject, times) in subjects.iter().zip(&mut times) {
            eprintln!("round {} of {rounds}: cold build of {}", round + 1, subject.name);
            times.push(cold(subject, scratch)?);
        }
    }
    Ok(times.iter().map(|times| median(times)).collect())
}

/// Creates a crate with one dependency in `scratch`.
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

fn cold(subject: &Subject<'_>, scratch: &Path) -> Result<Duration> {
    let target = scratch.join("target");
    if target.exists() {
        std::fs::remove_dir_all(&target)?;
    }
    let start = Instant::now();
    quiet(
        Command::new("cargo").args(&subject.cargo_args).current_dir(&subject.folder).env("CARGO_TARGET_DIR", &target),
    )?;
    Ok(start.elapsed())
}

/// Returns the number of crates that `cargo tree` lists besides the root, and the depth of the tree.
fn tree(subject: &Subject<'_>) -> Result<(usize, usize)> {
    let mut cargo = Command::new("cargo");
    cargo.args(["tree", "--prefix", "depth", "--edges", "normal,build"]).current_dir(&subject.folder);
    if let ["build", package @ ..] = &subject.cargo_args[..] {
        cargo.args(package);
    }
    let output = cargo.output().context("starting cargo tree")?;
    ensure!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    Ok(count_tree(&String::from_utf8(output.stdout)?))
}

fn count_tree(listing: &str) -> (usize, usize) {
    let mut crates = BTreeSet::new();
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
