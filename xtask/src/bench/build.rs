//! Cold builds: into an empty target directory, with all crates downloaded.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::process::quiet;
use crate::steps::cpu;
use crate::workspace;

/// A crate whose cold build is timed.
struct Subject<'a> {
    name: &'a str,
    /// Folder that cargo runs in.
    folder: PathBuf,
    /// Arguments that name what is built.
    cargo_args: Vec<&'a str>,
}

/// What a build takes: seconds on the clock, and of all processors together, which depend less on what else runs.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
struct Cost {
    cpu: f64,
    wall: f64,
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
    let costs = medians(&subjects, rounds, &scratch)?;
    println!("| cold `cargo build` | median s of processors | against hip | s | crates | depth |");
    println!("|---|---|---|---|---|---|");
    for (subject, cost) in subjects.iter().zip(&costs) {
        let (crates, depth) = tree(subject)?;
        let ratio = cost.cpu / costs[0].cpu;
        println!("| {} | {:.1} | {ratio:.2} | {:.1} | {crates} | {depth} |", subject.name, cost.cpu, cost.wall);
    }

    let raw = workspace::sys_crates()?;
    let alone = |name| Subject { name, folder: root.clone(), cargo_args: vec!["build", "-p", name] };
    let subjects: Vec<Subject<'_>> = raw.iter().map(|name| alone(name.as_str())).collect();
    let costs = medians(&subjects, rounds, &scratch)?;
    println!("\n| cold build of one -sys crate, alone | median s of processors | s | crates |");
    println!("|---|---|---|---|");
    for (subject, cost) in subjects.iter().zip(&costs) {
        println!("| `{}` | {:.1} | {:.1} | {} |", subject.name, cost.cpu, cost.wall, tree(subject)?.0);
    }

    let all_raw = [vec!["build"], crate::cargo::packages(&raw.iter().map(String::as_str).collect::<Vec<_>>())].concat();
    let example = ["run", "--example", "vector_add"];
    let without = ["build", "-p", "rocm-examples", "--no-default-features", "--example", "vector_add"];
    println!("\n| cold build, once | s of processors | s |");
    println!("|---|---|---|");
    for subject in [
        here("vector_add, software GPU in: `cargo run --example vector_add`", &example),
        here("vector_add, without it", &without),
        Subject { name: "all -sys crates in one call", folder: root.clone(), cargo_args: all_raw },
        here("the workspace with its tools: `cargo build --workspace`", &["build", "--workspace"]),
    ] {
        let cost = cold(&subject, &scratch)?;
        println!("| {} | {:.1} | {:.1} |", subject.name, cost.cpu, cost.wall);
    }
    Ok(())
}

/// Prints what a cold build of `hip` costs against that of its peers, from one build of each.
pub(crate) fn ratio() -> Result<()> {
    let scratch = crate::paths::root().join("target/bench");
    let mut subjects =
        vec![Subject { name: "hip", folder: crate::paths::root().to_owned(), cargo_args: vec!["build", "-p", "hip"] }];
    for (name, dependency) in PEERS {
        subjects.push(Subject { name, folder: peer(&scratch, name, dependency)?, cargo_args: vec!["build"] });
    }
    let costs = medians(&subjects, 1, &scratch)?;
    for (subject, cost) in subjects.iter().zip(&costs) {
        println!(
            "cold build of {}: {:.1} s of processors, {:.2} of hip's",
            subject.name,
            cost.cpu,
            cost.cpu / costs[0].cpu
        );
    }
    std::fs::remove_dir_all(scratch.join("target")).context("removing the built crates")
}

/// Builds each once per round, alternating, after its crates have been downloaded. Returns the medians in the same
/// order.
fn medians(subjects: &[Subject<'_>], rounds: usize, scratch: &Path) -> Result<Vec<Cost>> {
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
    Ok(times
        .iter()
        .map(|costs| Cost { cpu: median(costs, |cost| cost.cpu), wall: median(costs, |cost| cost.wall) })
        .collect())
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

fn cold(subject: &Subject<'_>, scratch: &Path) -> Result<Cost> {
    let target = scratch.join("target");
    if target.exists() {
        std::fs::remove_dir_all(&target)?;
    }
    let (start, before) = (Instant::now(), cpu::used());
    let mut cargo = Command::new("cargo");
    cargo.args(&subject.cargo_args).current_dir(&subject.folder).env("CARGO_TARGET_DIR", &target);
    // As a user builds, also where a whole run does without debug information.
    for name in ["RUSTFLAGS", "CARGO_INCREMENTAL", "CARGO_PROFILE_DEV_DEBUG"] {
        cargo.env_remove(name);
    }
    quiet(&mut cargo)?;
    Ok(Cost { cpu: (cpu::used() - before).as_secs_f64(), wall: start.elapsed().as_secs_f64() })
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

fn median(costs: &[Cost], of: impl Fn(&Cost) -> f64) -> f64 {
    let mut sorted: Vec<f64> = costs.iter().map(of).collect();
    sorted.sort_unstable_by(f64::total_cmp);
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
        let cost = |cpu| Cost { cpu, wall: -cpu };
        let costs = [cost(9.0), cost(1.0), cost(3.0)];
        assert_eq!((median(&costs, |cost| cost.cpu), median(&costs, |cost| cost.wall)), (3.0, -3.0));
    }
}
