//! Sizes: those of published crates as packages, and the lines per function of the generated code.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process::{cargo, quiet};
use crate::workspace::{self, Package};

/// Lines per function of cudarc 0.19's 16 `sys` modules: 119,300 lines, without documentation, for 3,330 functions.
const CUDARC: f64 = 119_300.0 / 3_330.0;

/// Prints the sizes.
pub(super) fn run() -> Result<()> {
    let packages = workspace::published()?;
    let archives = pack(&packages)?;
    println!("| package | `.crate` KiB | unpacked KiB |");
    println!("|---|---|---|");
    for package in &packages {
        let archive = &archives[&package.name];
        println!("| `{}` | {:.0} | {:.0} |", package.name, kib(archive.packed), kib(archive.unpacked));
    }

    println!(
        "\n| -sys crate | functions | lines | of them documentation | lines a function | without documentation | of cudarc's {CUDARC:.1} |"
    );
    println!("|---|---|---|---|---|---|---|");
    let mut all = Source::default();
    for package in packages.iter().filter(|package| package.is_sys()) {
        let source = Source::of(&package.folder.join("src"))?;
        source.print(&format!("`{}`", package.name));
        all.add(&source);
    }
    all.print("all");
    Ok(())
}

fn kib(bytes: usize) -> f64 {
    bytes as f64 / 1024.0
}

/// A package as it is uploaded to the registry.
#[derive(Debug)]
pub(crate) struct Archive {
    /// Size of the file in bytes.
    pub(crate) packed: usize,
    /// Size of the files in it in bytes.
    pub(crate) unpacked: usize,
    /// Names of the files in it, below the package's folder.
    pub(crate) files: Vec<String>,
}

/// Packs these crates, by name. They and their dependencies need not be in the registry.
pub(crate) fn pack(packages: &[Package]) -> Result<BTreeMap<String, Archive>> {
    // The usual target directory may contain packages of removed crates.
    let target = tempfile::tempdir().context("creating a folder for packages")?;
    let mut command = cargo();
    // In one call, cargo resolves dependencies between the crates from the packages that it has just made.
    command.args(["package", "--no-verify", "--allow-dirty", "--quiet"]).env("CARGO_TARGET_DIR", target.path());
    packages.iter().for_each(|package| {
        command.args(["-p", &package.name]);
    });
    quiet(&mut command)?;
    let one = |package: &Package| {
        let stem = format!("{}-{}", package.name, package.version);
        let archive = archive(&target.path().join(format!("package/{stem}.crate")), &stem)?;
        Ok((package.name.clone(), archive))
    };
    packages.iter().map(one).collect()
}

fn archive(file: &Path, stem: &str) -> Result<Archive> {
    let packed = std::fs::read(file).with_context(|| format!("reading {}", file.display()))?.len();
    let tar = |words: &[&str]| {
        let output = Command::new("tar").args(words).arg("-zf").arg(file).output().context("starting tar")?;
        let said = || String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.success(), "tar of {}: {}", file.display(), said());
        anyhow::Ok(output.stdout)
    };
    let listing = String::from_utf8(tar(&["-t"])?).context("a file name that is not UTF-8")?;
    let below = |name: &str| name.strip_prefix(stem)?.strip_prefix('/').map(str::to_owned);
    let files = listing.lines().filter_map(below).collect();
    Ok(Archive { packed, unpacked: tar(&["-x", "--to-stdout"])?.len(), files })
}

/// Counts of a `-sys` crate's source.
#[derive(Debug, Default, PartialEq, Eq)]
struct Source {
    /// Functions of all releases.
    functions: usize,
    lines: usize,
    /// Lines that contain only a comment.
    comments: usize,
}

impl Source {
    fn of(folder: &Path) -> Result<Self> {
        let mut source = Self::default();
        for file in files_below(folder)? {
            let text = std::fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
            source.read(&text);
        }
        ensure!(source.functions > 0, "no table of functions below {}", folder.display());
        Ok(source)
    }

    fn read(&mut self, text: &str) {
        for line in text.lines() {
            self.lines += 1;
            self.comments += usize::from(line.trim_start().starts_with("//"));
            // `pub static FUNCTIONS: [(&str, &str, Option<&str>); 30] = ...` in the generated `coverage`.
            let table = line.strip_prefix("pub static FUNCTIONS: [").and_then(|rest| rest.split_once("; "));
            let length = table.and_then(|(_, rest)| rest.split_once(']')?.0.parse::<usize>().ok());
            self.functions += length.unwrap_or(0);
        }
    }

    fn add(&mut self, other: &Self) {
        self.functions += other.functions;
        self.lines += other.lines;
        self.comments += other.comments;
    }

    fn print(&self, name: &str) {
        let each = |lines: usize| lines as f64 / self.functions as f64;
        let code = each(self.lines - self.comments);
        println!(
            "| {name} | {} | {} | {} | {:.1} | {code:.1} | {:.0}% |",
            self.functions,
            self.lines,
            self.comments,
            each(self.lines),
            100.0 * code / CUDARC,
        );
    }
}

/// Returns the files of Rust source.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_comments_and_functions_are_counted() {
        let mut source = Source::default();
        source.read("//! About.\n\npub static FUNCTIONS: [(&str, &str, Option<&str>); 30] = [(\"f\", \"5.7\", None),\n    /// Text.\n");
        source.read("pub fn f(); // not a line of comment\n");
        assert_eq!(source, Source { functions: 30, lines: 5, comments: 2 });
    }

    #[test]
    fn every_sys_crate_has_a_table_of_functions() {
        for package in workspace::published().unwrap().iter().filter(|package| package.is_sys()) {
            Source::of(&package.folder.join("src")).unwrap();
        }
    }
}
