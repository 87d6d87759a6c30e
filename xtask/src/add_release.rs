//! `cargo xtask add-release`: the edits that a new ROCm release needs before its bindings can be generated.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::bindgen::Level;
use crate::process::capture;
use crate::{paths, workspace};

/// Adds an API level for a new ROCm release: its feature in every crate, its row in the tables, its name in the pages.
///
/// Facts of its C interface come first: a folder `api/rocm-MAJOR.MINOR.PATCH`, as api/README.md describes. After this command,
/// `cargo xtask bindgen` generates the modules. CONTRIBUTING.md, "Adding a ROCm release", has all steps.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  cargo xtask add-release 10.1.0              with the facts in api/rocm-10.1.0
  cargo xtask add-release 10.1.0 --copy       copy the facts of the newest release first, to edit the copy")]
pub(crate) struct Args {
    /// The release: MAJOR.MINOR.PATCH, as its folder in api/ is named
    #[arg(value_name = "RELEASE", value_parser = release)]
    release: [u32; 3],
    /// Copy the facts of the newest release
    #[arg(long)]
    copy: bool,
}

fn release(text: &str) -> Result<[u32; 3], String> {
    let numbers: Option<Vec<u32>> = text.split('.').map(|number| number.parse().ok()).collect();
    numbers
        .and_then(|numbers| numbers.try_into().ok())
        .ok_or_else(|| "it is MAJOR.MINOR.PATCH, such as 10.1.0".to_owned())
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let [major, minor, patch] = args.release;
    let (old, new) = (Level::last().number(), (major, minor));
    ensure!(new > old, "the newest release is {}: {major}.{minor} must be newer", Level::last());
    let step = Step { old, new, witness: format!("{major}.{minor}.{patch}") };
    let facts = paths::root().join("api").join(format!("rocm-{}", step.witness));
    if args.copy {
        let from = paths::root().join("api").join(format!("rocm-{}", Level::last().witness()));
        copy(&from, &facts)?;
    }
    ensure!(
        facts.is_dir(),
        "there are no facts of {} in {}: api/README.md says what they are; --copy begins with those of {}",
        step.witness,
        facts.display(),
        Level::last()
    );
    let mut changed = Vec::new();
    for file in files()? {
        let text = fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
        let new = if file.ends_with("Cargo.toml") { step.manifest(&text) } else { step.text(&text) };
        if new != text {
            fs::write(&file, new).with_context(|| format!("writing {}", file.display()))?;
            changed.push(file);
        }
    }
    let manifests = changed.iter().filter(|file| file.ends_with("Cargo.toml")).count();
    println!("{} files have {major}.{minor}, {manifests} of them manifests. Next:", changed.len());
    println!("  cargo xtask bindgen           the modules of the -sys crates, COVERAGE.md");
    println!("  cargo xtask cuda              CUDA's names");
    println!("  cargo xtask functions         the lists of functions");
    println!("  cargo xtask test --all bindings levels probes");
    println!("CONTRIBUTING.md, \"Adding a ROCm release\", says what remains to be decided by hand.");
    Ok(())
}

/// Returns the files that may name the newest release: written by hand, and not about one release.
fn files() -> Result<Vec<PathBuf>> {
    let mut git = std::process::Command::new("git");
    let list = capture(git.args(["ls-files", "*.rs", "*.md", "*Cargo.toml"]).current_dir(paths::root()))?;
    let is_generated = |file: &str| file.contains("/generated/") || file.starts_with("api/") || file == "CHANGELOG.md";
    // This file's own words are examples.
    let kept = list.lines().filter(|file| !is_generated(file) && !file.ends_with("add_release.rs"));
    let files: Vec<PathBuf> = kept.map(|file| paths::root().join(file)).collect();
    ensure!(files.len() > workspace::packages()?.len(), "git lists no files");
    Ok(files)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    ensure!(!to.exists(), "{} is there already", to.display());
    fs::create_dir_all(to).with_context(|| format!("making {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("reading {}", from.display()))? {
        let entry = entry?;
        fs::copy(entry.path(), to.join(entry.file_name()))
            .with_context(|| format!("copying {}", entry.path().display()))?;
    }
    Ok(())
}

/// From the newest release to one after it.
struct Step {
    old: (u32, u32),
    new: (u32, u32),
    witness: String,
}

impl Step {
    fn features(&self) -> [String; 2] {
        [self.old, self.new].map(|(major, minor)| format!("rocm-{major}-{minor}"))
    }

    /// Adds the feature behind that of the older release, which it enables, and the release to the description.
    fn manifest(&self, text: &str) -> String {
        let [old, new] = self.features();
        let mut lines: Vec<String> = Vec::new();
        let mut entry: Vec<String> = Vec::new();
        for line in text.lines() {
            lines.push(self.range(line));
            if entry.is_empty() && !line.starts_with(&format!("{old} = [")) {
                continue;
            }
            entry.push(line.to_owned());
            if line.ends_with(']') {
                lines.extend(entry.drain(..).map(|line| self.feature(&line, &old, &new)));
            }
        }
        lines.join("\n") + "\n"
    }

    /// Returns a line of the new feature, from one of the old feature.
    fn feature(&self, line: &str, old: &str, new: &str) -> String {
        let is_before = |word: &str| word.starts_with("\"rocm-") && !word.contains('/');
        let words = line
            .replace(&format!("/{old}\""), &format!("/{new}\""))
            .replace(&format!("{old} = ["), &format!("{new} = ["));
        match words.split(['[', ' ', ',', ']']).find(|word| is_before(word)) {
            Some(before) => words.replacen(before, &format!("\"{old}\""), 1),
            None => words,
        }
    }

    /// Renews the rows of tables and the ranges in texts.
    fn text(&self, text: &str) -> String {
        let [old, new] = self.features();
        let ((old_major, old_minor), (major, minor)) = (self.old, self.new);
        let row = |major, minor, witness: &str| {
            format!("    Facts {{ major: {major}, minor: {minor}, witness: \"{witness}\" }},\n")
        };
        let last = row(old_major, old_minor, Level::last().witness());
        let count = Level::all().count();
        let mut renewed = text
            .replace(&last, &(last.clone() + &row(major, minor, &self.witness)))
            .replace(&format!("[Facts; {count}]"), &format!("[Facts; {}]", count + 1))
            .replace(&format!(", \"{old}\"];"), &format!(", \"{old}\", \"{new}\"];"))
            .replace(
                &format!("NEWEST_RELEASE: (u32, u32) = ({old_major}, {old_minor});"),
                &format!("NEWEST_RELEASE: (u32, u32) = ({major}, {minor});"),
            );
        // The end of a range of features, perhaps on the next line.
        for between in [" to ", "\n", " to\n//! "] {
            let start = if between == "\n" { " to" } else { "" };
            renewed = renewed.replace(&format!("{start}{between}`{old}`"), &format!("{start}{between}`{new}`"));
        }
        let headers = |(major, minor): (u32, u32)| format!("Headers::new(({major}, {minor}), ");
        let mut lines = String::new();
        for line in renewed.lines() {
            lines += &(self.range(line) + "\n");
            // Until headers of its own are found, what came with the release before: the version of LLVM, say.
            if line.trim_start().starts_with(&headers(self.old)) {
                lines += &(line.replace(&headers(self.old), &headers(self.new)) + "\n");
            }
        }
        lines
    }

    /// Renews the end of a range of releases: `5.7 to 10.0`.
    fn range(&self, line: &str) -> String {
        let [old, new] = [self.old, self.new].map(|(major, minor)| format!(" to {major}.{minor}"));
        let mut kept = String::new();
        let mut rest = line;
        while let Some(at) = rest.find(&old) {
            let (before, after) = (&rest[..at], &rest[at + old.len()..]);
            // `to 10.05` and `to 10.0.3` are other numbers, and `up to 10.0` is no range of releases.
            let is_number = after.starts_with(|c: char| c.is_ascii_digit())
                || after.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
            let is_range = before.ends_with(|c: char| c.is_ascii_digit()) && !is_number;
            kept.push_str(before);
            kept.push_str(if is_range { &new } else { &old });
            rest = after;
        }
        kept + rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step() -> Step {
        Step { old: (10, 0), new: (10, 9), witness: "10.9.1".to_owned() }
    }

    #[test]
    fn manifests_get_the_feature_with_those_below() {
        let manifest = "description = \"hipX for ROCm 5.7 to 10.0, loaded\"\n[features]\nrocm-7-2 = [\"rocm-7-1\"]\n\
             rocm-10-0 = [\"rocm-7-2\", \"hip/rocm-10-0\", \"x-sys?/rocm-10-0\"]\n\n[dependencies]\ny = { features = [\"rocm-10-0\"] }\n";
        let expected = manifest
            .replace("to 10.0", "to 10.9")
            .replace("\n\n[dep", "\nrocm-10-9 = [\"rocm-10-0\", \"hip/rocm-10-9\", \"x-sys?/rocm-10-9\"]\n\n[dep");
        assert_eq!(step().manifest(manifest), expected);
        let long = "rocm-10-0 = [\n    \"rocm-7-2\",\n    \"hip/rocm-10-0\",\n]\n";
        let more = "rocm-10-9 = [\n    \"rocm-10-0\",\n    \"hip/rocm-10-9\",\n]\n";
        assert_eq!(step().manifest(long), format!("{long}{more}"));
        // A crate that begins with this release.
        assert_eq!(step().manifest("rocm-10-0 = []\n"), "rocm-10-0 = []\nrocm-10-9 = []\n");
    }

    #[test]
    fn pages_and_tables_have_the_release() {
        let text = "`rocm-5-7` to `rocm-10-0`, 5.7 to 10.0. `rocm-5-7` to\n`rocm-10-0`; from 1 to 10.05, up to 10.0, to 10.0.3; since `rocm-10-0`\n";
        let expected = "`rocm-5-7` to `rocm-10-9`, 5.7 to 10.9. `rocm-5-7` to\n`rocm-10-9`; from 1 to 10.05, up to 10.0, to 10.0.3; since `rocm-10-0`\n";
        assert_eq!(step().text(text), expected);
        let tables =
            "const L: &[&str] = &[\"rocm-7-2\", \"rocm-10-0\"];\npub const NEWEST_RELEASE: (u32, u32) = (10, 0);\n";
        let expected = "const L: &[&str] = &[\"rocm-7-2\", \"rocm-10-0\", \"rocm-10-9\"];\npub const NEWEST_RELEASE: (u32, u32) = (10, 9);\n";
        assert_eq!(step().text(tables), expected);
        let row = "        Headers::new((10, 0), \"7.2\", \"LLVM 23\").below(\"llvm-23\"),\n";
        assert_eq!(step().text(row), row.to_owned() + &row.replace("(10, 0)", "(10, 9)"));
    }

    /// The tables and manifests of this workspace have the forms that are edited.
    #[test]
    fn the_edits_find_their_places() {
        let (mut manifests, mut tables, mut pages) = (0, 0, 0);
        for file in files().unwrap() {
            let text = fs::read_to_string(&file).unwrap();
            let name = file.file_name().unwrap().to_str().unwrap();
            let (of_manifest, of_text) = (step().manifest(&text), step().text(&text));
            manifests += usize::from(name == "Cargo.toml" && of_manifest.contains("\nrocm-10-9 = ["));
            tables += of_text.matches("10.9.1").count()
                + of_text.matches("\"rocm-10-9\"];").count()
                + of_text.matches("NEWEST_RELEASE: (u32, u32) = (10, 9)").count();
            pages += usize::from(name == "README.md" && of_text != text);
        }
        let features = workspace::packages().unwrap();
        let with = features.iter().filter(|package| package.features.contains(&Level::last().feature())).count();
        assert_eq!((manifests, tables), (with, 3));
        assert!(pages > 10, "{pages}");
        assert!(release("10.1").is_err() && release("10.1.x").is_err() && release("10.1.0") == Ok([10, 1, 0]));
    }
}
