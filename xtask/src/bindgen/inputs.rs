//! `api/inputs.tsv`: the headers that the code was generated from, and the libraries whose symbols were read. The tests
//! of the `-sys` crates read it too.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sys_testing::inputs::{self, Input, Kind};

use super::files::write_file;
use super::levels::Level;
use super::libraries::LIBRARIES;
use super::library::Library;

const LIBRARY_FOLDER: &str = "usr/lib/x86_64-linux-gnu";

/// Returns the recorded inputs; none if the table does not exist yet.
pub(super) fn noted() -> Result<Vec<Input>> {
    let path = inputs::path();
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(inputs::parse(&text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error).with_context(|| format!("reading {}", path.display())),
    }
}

/// Returns the reason why a library's code may differ from a new generation: its headers, or those of a library that it
/// shares types with, have changed.
pub(super) fn changed(noted: &[Input], library: &Library, trees: &Path) -> Option<String> {
    let of = |name: &str| {
        let rows = noted.iter().filter(|input| input.kind == Kind::Headers && input.name == name);
        rows.filter_map(|input| input.changed(trees)).next()
    };
    of(library.name).or_else(|| used(library).into_iter().find_map(|used| of(used.name)))
}

/// Records the current inputs of `libraries`, and those of the symbols only if they were read. Returns the path if the
/// table changed. With `check` it returns the path if the table lacks a row or has an extra one; another digest does
/// not count as a difference, because the generated code may be the same.
pub(super) fn write<'a>(
    noted: &[Input],
    libraries: impl Iterator<Item = &'a Library>,
    trees: &Path,
    check: bool,
    symbols: bool,
) -> Result<Option<PathBuf>> {
    let mut table = noted.to_vec();
    table.retain(|input| LIBRARIES.iter().any(|library| library.name == input.name));
    for library in libraries {
        let all = self::all(library, trees);
        let same = |one: &Input, other: &Input| {
            (one.kind, &one.level, &one.folder, &one.parts) == (other.kind, &other.level, &other.folder, &other.parts)
        };
        table.retain(|old| old.name != library.name || all.iter().any(|new| same(old, new)));
        for new in all.into_iter().filter(|input| !input.digest.is_empty()) {
            let looked_at = new.kind == Kind::Headers || symbols;
            match table.iter_mut().find(|old| old.name == library.name && same(old, &new)) {
                Some(old) if looked_at && !check => *old = new,
                None if looked_at || check => table.push(new),
                _ => {}
            }
        }
    }
    let path = inputs::path();
    write_file(&path, &inputs::text(&table), check)
}

/// Returns the current inputs of a library.
fn all(library: &Library, trees: &Path) -> Vec<Input> {
    let mut folders = library.folders.to_vec();
    folders.extend(used(library).iter().flat_map(|used| used.folders));
    folders.sort_unstable();
    folders.dedup();
    let mut all = Vec::new();
    for of in library.headers {
        let folder = format!("{}/{}", of.tree, of.include);
        all.push(Input::of(Kind::Headers, library.name, of.level, &folder, &folders, trees));
    }
    for of in library.binaries {
        let folder = format!("{}/{LIBRARY_FOLDER}", of.tree);
        all.push(Input::of(Kind::Symbols, library.name, of.level, &folder, &[of.file], trees));
    }
    all.retain(|input| Level::of(input.level).is_some());
    all
}

/// Returns the libraries that it shares types with, recursively.
fn used(library: &Library) -> Vec<&'static Library> {
    let mut found: Vec<&Library> = Vec::new();
    let mut names = library.uses.to_vec();
    while let Some(name) = names.pop() {
        let used = LIBRARIES.iter().find(|library| library.name == name);
        if let Some(used) = used.filter(|used| found.iter().all(|known| known.name != used.name)) {
            names.extend(used.uses);
            found.push(used);
        }
    }
    found
}
