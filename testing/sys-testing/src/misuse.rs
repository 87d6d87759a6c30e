//! Programs that must not compile: each file of a folder is compiled against a crate of the workspace as Cargo has
//! built it for the tests, and the compiler's errors are compared with an expected file.
//!
//! A file `NAME.rs` must fail to compile, with the errors in `NAME.stderr`. A file whose name starts with `right` must
//! compile, which shows that the others fail for their own reason. With the environment variable `MISUSE=overwrite` the
//! expected files are written instead. The errors are those of one compiler version: with another, programs must fail
//! with any messages.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::SystemTime;

use serde_json::Value;

/// The compiler version that produced the expected errors.
const COMPILER: &str = "rustc 1.95.";

/// Compiles all programs in `folder`, which is relative to the tested crate's own, against `crates`.
///
/// # Panics
/// Panics if a program that must not compile does, if its errors differ from the expected file, if one that must
/// compile does not, or if the crates are not in Cargo's target directory.
pub fn check(folder: &str, crates: &[&str]) {
    let mut programs: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{folder}: {error}"))
        .filter_map(|entry| Some(entry.ok()?.path()).filter(|path| path.extension().is_some_and(|of| of == "rs")))
        .collect();
    programs.sort();
    let (right, wrong): (Vec<_>, Vec<_>) = programs.into_iter().partition(|path| name(path).starts_with("right"));
    assert!(!wrong.is_empty(), "{folder} has no programs");
    let compiler = Compiler::find(crates, &right);
    let same_messages = compiler.version.starts_with(COMPILER);
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let failures: Vec<String> = std::thread::scope(|scope| {
        let parts = wrong.chunks(wrong.len().div_ceil(threads)).map(|part| {
            let one = |path: &PathBuf| compiler.check(path, same_messages).err();
            scope.spawn(move || part.iter().filter_map(one).collect::<Vec<_>>())
        });
        let parts: Vec<_> = parts.collect();
        parts.into_iter().flat_map(|part| part.join().expect("it does not panic")).collect()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// Compiles `lines`, items of a library, against `crates`, and returns the numbers of those with an error, from 0.
///
/// # Panics
/// Panics if the crates are not in Cargo's target directory.
pub fn lines_with_errors(lines: &[String], crates: &[&str]) -> BTreeSet<usize> {
    let compiler = Compiler::find(crates, &[]);
    let file = compiler.out.path().join("lines.rs");
    fs::write(&file, format!("{}\nfn main() {{}}\n", lines.join("\n"))).expect("a temporary file can be written");
    let output = compiler.compile(&file);
    let text = String::from_utf8_lossy(&output.stderr);
    let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let errors = messages.filter(|message| message["level"] == "error");
    let spans = errors.flat_map(|error| error["spans"].as_array().cloned().unwrap_or_default());
    spans.filter_map(|span| Some(usize::try_from(span["line_start"].as_u64()?).ok()? - 1)).collect()
}

fn name(path: &Path) -> String {
    path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The compiler and its crates.
struct Compiler {
    rustc: OsString,
    version: String,
    /// `--extern NAME=FILE`, and the directory of the crates' dependencies.
    arguments: Vec<OsString>,
    out: tempfile::TempDir,
}

impl Compiler {
    /// Chooses one build of each crate, since there may be several with different features. `right` must compile with
    /// it.
    ///
    /// The newest is tried first: it is not older than the one that this test is linked with, so it is from the same
    /// sources.
    fn find(crates: &[&str], right: &[PathBuf]) -> Self {
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let version =
            Command::new(&rustc).arg("--version").output().expect("the compiler of this test is there").stdout;
        let version = String::from_utf8_lossy(&version).into_owned();
        let program = std::env::current_exe().expect("a test has a path");
        let folder = program.parent().expect("a test is in a folder");
        let out = tempfile::tempdir().expect("a temporary folder can be made");
        let empty = out.path().join("empty.rs");
        let uses: String = crates.iter().map(|name| format!("use {name} as _;\n")).collect();
        fs::write(&empty, format!("{uses}fn main() {{}}\n")).expect("a temporary file can be written");
        let mut compiler = Self { rustc, version, arguments: Vec::new(), out };
        let mut said = String::new();
        for choice in choices(&crates.iter().map(|name| builds(folder, name)).collect::<Vec<_>>()) {
            let mut dependencies = OsString::from("dependency=");
            dependencies.push(folder);
            compiler.arguments = vec!["-L".into(), dependencies];
            for (name, file) in crates.iter().zip(&choice) {
                let mut with = OsString::from(format!("{name}="));
                with.push(file);
                compiler.arguments.extend(["--extern".into(), with]);
            }
            let failed = std::iter::once(&empty).chain(right).find_map(|path| {
                let output = compiler.compile(path);
                (!output.status.success()).then(|| format!("{}:\n{}", path.display(), errors(&output)))
            });
            match failed {
                None => return compiler,
                Some(failed) => said = failed,
            }
        }
        panic!("no build of {crates:?} in {} compiles what must compile; {said}", folder.display());
    }

    fn compile(&self, path: &Path) -> Output {
        let mut command = Command::new(&self.rustc);
        command.args(["--edition", "2024", "--crate-type", "bin", "--emit", "metadata", "--error-format", "json"]);
        command.arg("--out-dir").arg(self.out.path()).args(&self.arguments).arg(path);
        command.output().expect("the compiler starts")
    }

    /// Checks that a program fails as expected.
    fn check(&self, path: &Path, same_messages: bool) -> Result<(), String> {
        let output = self.compile(path);
        if output.status.success() {
            return Err(format!("{} compiles", path.display()));
        }
        let errors = errors(&output);
        let file = path.with_extension("stderr");
        if std::env::var("MISUSE").is_ok_and(|value| value == "overwrite") {
            return fs::write(&file, errors).map_err(|error| format!("{}: {error}", file.display()));
        }
        let expected = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        if !same_messages || trimmed(&errors) == trimmed(&expected) {
            return Ok(());
        }
        let hint = "MISUSE=overwrite writes the files anew";
        Err(format!("{}: expected\n{expected}\nbut the compiler says\n{errors}\n({hint})", path.display()))
    }
}

/// A crate's builds in Cargo's target directory, the newest first.
fn builds(folder: &Path, name: &str) -> Vec<PathBuf> {
    let prefix = format!("lib{name}-");
    let modified = |path: &PathBuf| path.metadata().and_then(|data| data.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            file.starts_with(&prefix) && file.ends_with(".rlib")
        })
        .collect();
    files.sort_by_key(|path| std::cmp::Reverse(modified(path)));
    files
}

/// All combinations of one element per list; those with the first elements come first.
fn choices(lists: &[Vec<PathBuf>]) -> Vec<Vec<PathBuf>> {
    lists.iter().fold(vec![Vec::new()], |choices, list| {
        let extend =
            |choice: Vec<PathBuf>| list.iter().map(move |file| [&choice[..], std::slice::from_ref(file)].concat());
        choices.into_iter().flat_map(extend).collect()
    })
}

/// The errors with their locations in the programs themselves, and their notes. Excludes locations in other files,
/// whose lines change, and lists of the types that implement a trait, which depend on the features.
fn errors(output: &Output) -> String {
    let mut text = String::new();
    for line in String::from_utf8_lossy(&output.stderr).lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        let is_summary = message["message"].as_str().is_some_and(|text| text.starts_with("aborting due to"));
        if message["level"] == "error" && !is_summary {
            told(&message, "", &mut text);
        }
    }
    text
}

fn told(message: &Value, indent: &str, text: &mut String) {
    let said = message["message"].as_str().unwrap_or_default();
    if said.contains("following other types implement trait") {
        return;
    }
    let code = message["code"]["code"].as_str().map(|code| format!("[{code}]")).unwrap_or_default();
    let _ = writeln!(text, "{indent}{}{code}: {said}", message["level"].as_str().unwrap_or_default());
    for span in message["spans"].as_array().into_iter().flatten() {
        let file = span["file_name"].as_str().unwrap_or_default();
        if file.starts_with("tests/") {
            let label = span["label"].as_str().map(|label| format!(": {label}")).unwrap_or_default();
            let _ = writeln!(text, "{indent}  {file}:{}:{}{label}", span["line_start"], span["column_start"]);
        }
    }
    for child in message["children"].as_array().into_iter().flatten() {
        told(child, &format!("{indent}  "), text);
    }
}

/// Errors in which each path is its last name, from the type on: `Linker::add` for `hiprtc::Linker::add`. The compiler
/// writes the short form only if no other crate that it has loaded has the name, so it depends on what else was built.
fn trimmed(errors: &str) -> String {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = String::with_capacity(errors.len());
    let mut rest = errors;
    while let Some((before, after)) = rest.split_once("::") {
        let kept = before.trim_end_matches(is_name);
        let is_module = before[kept.len()..].starts_with(char::is_lowercase) && after.starts_with(is_name);
        out.push_str(if is_module { kept } else { before });
        if !is_module {
            out.push_str("::");
        }
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_combinations_are_tried_the_newest_first() {
        let list = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let choices = choices(&[list(&["a", "b"]), list(&["x", "y"])]);
        let expected = [["a", "x"], ["a", "y"], ["b", "x"], ["b", "y"]];
        assert_eq!(choices, expected.map(|choice| list(&choice)));
        assert!(super::choices(&[list(&["a"]), list(&[])]).is_empty());
    }

    #[test]
    fn paths_are_trimmed_to_the_type() {
        for (errors, expected) in [
            ("call to `hiprtc::Linker::add` is", "call to `Linker::add` is"),
            ("`hip::memory::Array<f32>: Send`, `Rc<std::cell::Cell<u8>>`", "`Array<f32>: Send`, `Rc<Cell<u8>>`"),
            ("`Option::<u8>::None`\ntests/misuse/a.rs:3:5: `_`", "`Option::<u8>::None`\ntests/misuse/a.rs:3:5: `_`"),
            ("`kernel::<impl hip::Graph>::add`", "`kernel::<impl Graph>::add`"),
        ] {
            assert_eq!(trimmed(errors), expected);
        }
    }
}
