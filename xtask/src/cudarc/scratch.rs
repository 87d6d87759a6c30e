//! Packages under `target/cudarc` that have cudarc's examples and tests as programs, with `cuda-compat` as cudarc.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::extract::Tests;
use super::{Case, SOURCES};
use crate::paths;
use crate::process::cargo;

/// The features of cudarc that its programs are compiled with.
const FEATURES: &[&str] = &[
    "std",
    "driver",
    "nvrtc",
    "cublas",
    "cublaslt",
    "curand",
    "cusparse",
    "cufft",
    "cusolver",
    "nccl",
    "f16",
    "cuda-12080",
];

/// The release that is compiled against, besides the features of cudarc.
const RELEASE: &str = "rocm-7-2";

/// As the workspace has it: the software GPU is slow without optimization.
const PROFILE: &str = "\
[profile.dev]
debug = \"line-tables-only\"
lto = \"off\"
[profile.dev.package.amdgpu-sim]
opt-level = 3
debug = false
debug-assertions = true
[profile.dev.package.ruzstd]
opt-level = 3
[profile.dev.package.miniz_oxide]
opt-level = 3
";

fn folder(name: &str) -> Result<PathBuf> {
    let folder = paths::fetched("cudarc").join(name);
    fs::create_dir_all(folder.join("src")).with_context(|| format!("making {}", folder.display()))?;
    Ok(folder)
}

pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    // A file that stays the same is not compiled again.
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

/// The source of a crate, which cargo fetches from the registry.
pub(super) fn fetch(name: &str, version: &str, features: &[&str]) -> Result<PathBuf> {
    let folder = folder(&format!("fetch-{name}"))?;
    let manifest = format!(
        "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[dependencies]\n{name} = {{ version = \"={version}\", \
         features = {features:?} }}\n[workspace]\n"
    );
    write(&folder.join("Cargo.toml"), &manifest)?;
    write(&folder.join("src/lib.rs"), "")?;
    let output = cargo().args(["metadata", "--format-version", "1"]).current_dir(&folder).output()?;
    ensure!(output.status.success(), "cargo cannot fetch {name}:\n{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().context("no packages")?;
    let of = packages.iter().find(|package| package["name"] == name && package["version"] == version);
    let of = of.with_context(|| format!("cargo did not fetch {name}"))?;
    let manifest = of["manifest_path"].as_str().context("a package without a manifest")?;
    Ok(Path::new(manifest).parent().context("a manifest without a folder")?.to_owned())
}

/// Writes a package whose programs are `targets`.
fn package(name: &str, targets: &str) -> Result<PathBuf> {
    let folder = folder(name)?;
    let features: Vec<String> = FEATURES.iter().map(|feature| format!("{feature:?}")).collect();
    let features = features.join(", ");
    let compat = paths::root().join("cuda-compat");
    let mut text = format!(
        "[package]\nname = \"cudarc-{name}\"\nversion = \"0.0.0\"\nedition = \"2021\"\nautobins = false\n[features]\n"
    );
    writeln!(text, "default = [{features}]")?;
    for feature in FEATURES {
        writeln!(text, "{feature} = []")?;
    }
    // The line that a program changes; the software GPU is this command's.
    writeln!(
        text,
        "[dependencies]\ncudarc = {{ package = \"cuda-compat\", path = {compat:?}, default-features = false, features = [{features}, \"sim\", \
         \"{RELEASE}\"] }}\nhalf = \"2\"\n[workspace]\n{PROFILE}{targets}"
    )?;
    write(&folder.join("Cargo.toml"), &text)?;
    // The same versions as in the workspace.
    let lock = folder.join("Cargo.lock");
    if !lock.exists() {
        fs::copy(paths::root().join("Cargo.lock"), lock)?;
    }
    Ok(folder)
}

/// The program that compiles a kernel to a file, by `cuda-compat` itself.
const COMPILER: &str = r#"
fn main() {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let source = std::fs::read_to_string(&paths[0]).unwrap();
    let code = cudarc::nvrtc::compile_ptx(source).unwrap();
    std::fs::write(&paths[1], code.as_bytes().unwrap()).unwrap();
}
"#;

/// What cargo built, by target, and what the compiler said of what it did not.
struct Built {
    programs: BTreeMap<String, PathBuf>,
    /// Target, line, message.
    errors: Vec<(String, usize, String)>,
}

fn build(folder: &Path, what: &[&str]) -> Result<Built> {
    let mut command = cargo();
    command.current_dir(folder).args(what).args(["--keep-going", "--message-format", "json", "--target-dir"]);
    let output = command.arg(paths::fetched("")).stderr(std::process::Stdio::null()).output()?;
    let mut built = Built { programs: BTreeMap::new(), errors: Vec::new() };
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        let target = message["target"]["name"].as_str().unwrap_or_default().to_owned();
        if let Some(program) = message["executable"].as_str() {
            built.programs.insert(target, program.into());
        } else if message["message"]["level"] == "error" {
            let spans = message["message"]["spans"].as_array();
            let span = spans.into_iter().flatten().find(|span| span["is_primary"] == true);
            let line = span.and_then(|span| span["line_start"].as_u64()).unwrap_or_default();
            let text = message["message"]["message"].as_str().unwrap_or_default().to_owned();
            if span.is_some() {
                built.errors.push((target, usize::try_from(line)?, text));
            }
        }
    }
    ensure!(
        output.status.success() || !built.errors.is_empty(),
        "cargo could not build {}: run `cargo build` there",
        folder.display()
    );
    Ok(built)
}

/// The examples, compiled where they are.
pub(super) fn examples(source: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<(Vec<Case>, Option<PathBuf>)> {
    let mut names = Vec::new();
    for entry in fs::read_dir(source.join("examples"))? {
        let path = entry?.path();
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        if path.extension().is_some_and(|extension| extension == "rs") && wanted(&name) {
            names.push(name);
        }
    }
    names.sort();
    let mut targets = String::new();
    for name in &names {
        let path = source.join("examples").join(format!("{name}.rs"));
        writeln!(targets, "[[bin]]\nname = {name:?}\npath = {path:?}")?;
    }
    if names.is_empty() {
        return Ok((Vec::new(), None));
    }
    writeln!(targets, "[[bin]]\nname = \"cudarc-compile\"\npath = \"src/compile.rs\"")?;
    let folder = package("examples", &targets)?;
    write(&folder.join("src/compile.rs"), COMPILER)?;
    let built = build(&folder, &["build"])?;
    let case = |name: String| {
        let refused = built.errors.iter().find(|(target, ..)| *target == name).map(|(.., text)| text.clone());
        let program = built.programs.get(&name).map(|program| (program.clone(), Vec::new()));
        Case { group: "examples".to_owned(), name, refused, program, feature: "driver", outcomes: Vec::new() }
    };
    let cases = names.into_iter().map(case).collect();
    Ok((cases, built.programs.get("cudarc-compile").cloned()))
}

/// A file of tests, as a program of its own.
struct File {
    /// The file of cudarc.
    file: &'static str,
    target: String,
    tests: Tests,
    feature: &'static str,
}

impl File {
    /// A case for each test that is left.
    fn cases(&self, refused: Option<&str>, program: Option<&Path>) -> Vec<Case> {
        let names = self.tests.tests.iter().filter_map(|piece| piece.test.as_deref());
        names.map(|name| self.case(name, refused, program)).collect()
    }

    fn case(&self, name: &str, refused: Option<&str>, program: Option<&Path>) -> Case {
        let path = self.tests.path(name);
        let arguments = [&path, "--exact", "--include-ignored", "--nocapture", "--test-threads=1"].map(str::to_owned);
        Case {
            group: self.file.to_owned(),
            name: name.to_owned(),
            refused: refused.map(str::to_owned),
            program: program.map(|program| (program.to_owned(), arguments.to_vec())),
            feature: self.feature,
            outcomes: Vec::new(),
        }
    }

    /// Leaves out the imports and tests at the lines of the errors. The cases are those of tests that were left out.
    fn leave_out(&mut self, errors: &[(usize, &str)]) -> Vec<Case> {
        let (_, lines) = self.tests.file();
        let error = |first: usize, last: usize| {
            errors.iter().find(|(line, _)| (first..=last).contains(line)).map(|(_, text)| (*text).to_owned())
        };
        let (mut cases, mut imports, mut index) = (Vec::new(), Vec::new(), 0);
        for (first, last, piece) in lines {
            let error = error(first, last);
            match (&piece.test, error) {
                (Some(name), Some(text)) => cases.push(self.case(name, Some(&text), None)),
                (None, Some(_)) => imports.push(index),
                _ => {}
            }
            index += usize::from(piece.test.is_none());
        }
        if cases.is_empty() && imports.is_empty() {
            // The error is in what the tests share: none of them compiles.
            cases = self.cases(errors.first().map(|(_, text)| *text), None);
        }
        let is_out = |name: &Option<String>| cases.iter().any(|case| Some(&case.name) == name.as_ref());
        self.tests.tests.retain(|piece| !is_out(&piece.test));
        for index in imports.into_iter().rev() {
            self.tests.imports.remove(index);
        }
        cases
    }
}

/// The tests of all files.
pub(super) fn tests(source: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Case>> {
    let mut files = Vec::new();
    for of in SOURCES.iter().filter(|of| FEATURES.contains(&of.feature)) {
        let path = source.join("src").join(of.file);
        let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        let mut tests = Tests::read(&text, of.modules, of.is_public)?;
        tests.tests.retain(|piece| piece.test.as_deref().is_some_and(wanted));
        let target = of.file.trim_end_matches(".rs").replace('/', "_");
        files.push(File { file: of.file, target, tests, feature: of.feature });
    }
    let mut cases = Vec::new();
    // What does not compile is left out, until the rest does.
    for _ in 0..8 {
        files.retain(|file| !file.tests.tests.is_empty());
        if files.is_empty() {
            return Ok(cases);
        }
        let mut targets = String::new();
        for File { target, .. } in &files {
            writeln!(targets, "[[test]]\nname = {target:?}\npath = \"src/{target}.rs\"")?;
        }
        let folder = package("tests", &targets)?;
        write(&folder.join("src/lib.rs"), "")?;
        for file in &files {
            write(&folder.join(format!("src/{}.rs", file.target)), &file.tests.file().0)?;
        }
        let built = build(&folder, &["build", "--tests"])?;
        if built.errors.is_empty() {
            for file in &files {
                let program = built.programs.get(&file.target);
                let program = program.with_context(|| format!("cargo did not build {}", file.target))?;
                cases.extend(file.cases(None, Some(program)));
            }
            return Ok(cases);
        }
        for file in &mut files {
            let errors = built.errors.iter().filter(|(target, ..)| *target == file.target);
            let errors: Vec<(usize, &str)> = errors.map(|(_, line, text)| (*line, text.as_str())).collect();
            if !errors.is_empty() {
                cases.extend(file.leave_out(&errors));
            }
        }
    }
    bail!("cudarc's tests still do not compile")
}
