//! Packages under `target/cudarc` that have cudarc's examples and tests as programs, with `cuda-compat` as cudarc.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::case::{Case, SOURCES};
use super::extract::Tests;
use crate::paths;
use crate::process::{cargo, program};
use crate::suites::registry::{self, write};

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

/// The feature of the release to compile against, in addition to cudarc's features.
const RELEASE: &str = "rocm-7-2";

/// The workspace's profile: the software GPU is slow without optimization.
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

/// Returns the source of a crate of the registry.
pub(super) fn fetch(name: &str, version: &str, features: &[&str]) -> Result<PathBuf> {
    let folder = folder(&format!("fetch-{name}"))?;
    Ok(registry::fetch(&folder, name, &format!("={version}"), features, false)?.folder)
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
    // The line that a program changes, and the software GPU in addition.
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

/// A program that compiles a kernel to a file with `cuda-compat`.
const COMPILER: &str = r#"
fn main() {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let source = std::fs::read_to_string(&paths[0]).unwrap();
    let code = cudarc::nvrtc::compile_ptx(source).unwrap();
    std::fs::write(&paths[1], code.as_bytes().unwrap()).unwrap();
}
"#;

/// An error of the compiler.
pub(super) struct Error {
    target: String,
    line: usize,
    pub(super) text: String,
}

/// Returns the compiler's errors in cargo's messages.
pub(super) fn errors(messages: &str) -> Vec<Error> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let error = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        let error = &message["message"];
        let span = error["spans"].as_array()?.iter().find(|span| span["is_primary"] == true)?;
        (error["level"] == "error").then_some(())?;
        let line = usize::try_from(span["line_start"].as_u64()?).ok()?;
        Some(Error { target: text(&message["target"]["name"]), line, text: text(&error["message"]) })
    };
    messages.lines().filter_map(error).collect()
}

/// Returns cargo's messages, and the compiler's errors among them.
fn build(folder: &Path, what: &[&str]) -> Result<(String, Vec<Error>)> {
    let mut command = cargo();
    command.current_dir(folder).args(what).args(["--keep-going", "--message-format", "json", "--target-dir"]);
    let output = command.arg(paths::fetched("")).stderr(std::process::Stdio::null()).output()?;
    let messages = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = errors(&messages);
    ensure!(
        output.status.success() || !errors.is_empty(),
        "cargo could not build {}: run `cargo build` there",
        folder.display()
    );
    Ok((messages, errors))
}

/// Compiles the examples in place, and returns them with the compiler of kernels.
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
    let (messages, errors) = build(&folder, &["build"])?;
    let case = |name: String| {
        let refused = errors.iter().find(|error| error.target == name).map(|error| error.text.clone());
        let program = program(&messages, "bin", &name).ok().map(|program| (program, Vec::new()));
        Case { group: "examples".to_owned(), name, refused, program, feature: "driver", outcomes: Vec::new() }
    };
    let cases = names.into_iter().map(case).collect();
    Ok((cases, program(&messages, "bin", "cudarc-compile").ok()))
}

/// A file of tests, which becomes a program.
struct File {
    /// The file of cudarc.
    file: &'static str,
    target: String,
    tests: Tests,
    feature: &'static str,
}

impl File {
    /// Returns a case for each remaining test.
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

    /// Removes the imports and tests at the lines of the errors. Returns the cases of the removed tests.
    fn leave_out(&mut self, errors: &[&Error]) -> Vec<Case> {
        let (_, lines) = self.tests.file();
        let error = |first: usize, last: usize| {
            errors.iter().find(|error| (first..=last).contains(&error.line)).map(|error| error.text.as_str())
        };
        let (mut cases, mut imports, mut index) = (Vec::new(), Vec::new(), 0);
        for (first, last, piece) in lines {
            let error = error(first, last);
            match (&piece.test, error) {
                (Some(name), Some(text)) => cases.push(self.case(name, Some(text), None)),
                (None, Some(_)) => imports.push(index),
                _ => {}
            }
            index += usize::from(piece.test.is_none());
        }
        if cases.is_empty() && imports.is_empty() {
            // The error is in code that the tests share: none of them compiles.
            cases = self.cases(errors.first().map(|error| error.text.as_str()), None);
        }
        let is_out = |name: &Option<String>| cases.iter().any(|case| Some(&case.name) == name.as_ref());
        self.tests.tests.retain(|piece| !is_out(&piece.test));
        for index in imports.into_iter().rev() {
            self.tests.imports.remove(index);
        }
        cases
    }
}

/// Returns the tests of all files.
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
    // Parts that do not compile are removed, until the rest compiles.
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
        let (messages, errors) = build(&folder, &["build", "--tests"])?;
        if errors.is_empty() {
            for file in &files {
                cases.extend(file.cases(None, Some(&program(&messages, "test", &file.target)?)));
            }
            return Ok(cases);
        }
        for file in &mut files {
            let errors: Vec<&Error> = errors.iter().filter(|error| error.target == file.target).collect();
            if !errors.is_empty() {
                cases.extend(file.leave_out(&errors));
            }
        }
    }
    bail!("cudarc's tests still do not compile")
}
