//! COVERAGE.md: which items of each library are bound at each level, the source of their declarations, and the reason
//! for each difference.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::files::write_file;
use super::levels::Level;
use super::library::{Library, Names};
use super::sources::Sources;
use super::surface::{Kind, Surface};
use super::symbols::NotExported;

/// One library of the page.
pub(crate) struct Row<'a> {
    pub(crate) library: &'static Library,
    pub(crate) sources: &'a Sources,
    pub(crate) levels: &'a BTreeMap<Level, Surface>,
}

/// The number of items of a kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    functions: usize,
    constants: usize,
    structs: usize,
}

impl Counts {
    fn of(surface: &Surface) -> Counts {
        let count = |is: fn(&Kind) -> bool| surface.values().filter(|kind| is(kind)).count();
        Counts {
            functions: count(|kind| matches!(kind, Kind::Function(_))),
            constants: count(|kind| matches!(kind, Kind::Const(..))),
            structs: count(|kind| matches!(kind, Kind::Struct(..) | Kind::Union(_))),
        }
    }
}

const PAGE: &str = "\
# Coverage of the -sys crates

Written by `cargo xtask bindgen`. `cargo xtask ci` runs it again and compares.

A column is an API level: a ROCm release, whose interface is in the module `rocm_MAJOR_MINOR`. A feature of that name adds the
module and changes nothing else. The crate's root has what is the same in every release since it was added; what AMD
changed or removed is in the modules only. Such a function checks the library and does not call one of another release:
it returns an error status, and `symbol_error` returns the module to use. A release newer than 10.0 counts as 10.0.

A number counts the functions (constants, structs and unions) of a level. A cell is empty if the library is not part of
that release, or if no declarations of it were available.

*Declared after* names the source of a level's declarations:

- *C headers*: the headers of the release, or of another one, which is then named, if Debian packages none of its own. A
  test compares sizes, offsets and values with those that the C compiler computes.
- *AMD's Python packages*: AMD's own bindings of that release. If they agree with a header of another level, the
  declaration is the header's. If a level has both sources, they are compared, and each difference is listed below with
  its reason.
- *text from the headers*: headers of another release, for reference. They supply names, comments and `const`. The
  Python packages decide which items exist.
- *what the levels before and after it have in common*: no source of the release itself was available. Items that are
  identical on both sides are assumed to be the same between them; all others are left out.

";

/// Writes the page if it changed, and then returns its path.
pub(crate) fn write(root: &Path, rows: &[Row<'_>], not_exported: &NotExported, check: bool) -> Result<Vec<PathBuf>> {
    let newer = root.join("api/newer.tsv");
    let newer = std::fs::read_to_string(&newer).with_context(|| format!("reading {}", newer.display()))?;
    let page = page(rows, not_exported)? + &self::newer(rows, &newer)?;
    Ok(write_file(&root.join("COVERAGE.md"), &page, check)?.into_iter().collect())
}

const NEWER: &str = "
## ROCm 10.1 and 10.2

There are no levels for them: neither their headers nor bindings of AMD's were available, only what release notes and
hipfort say of new functions. Their libraries are called as those of 10.0, and `rocm-sdk doctor` says so. Since 10.2, C
programs get `hipMemAdvise_v2` under the name `hipMemAdvise`; the functions of the library are the same. Known to be new
(`10.2?`: after 10.1, probably in 10.2):

| ROCm | crate | functions |
|---|---|---|
";

/// Describes what is known of the releases after the newest level.
fn newer(rows: &[Row<'_>], table: &str) -> Result<String> {
    let mut found: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for row in table.lines().skip(1) {
        let cells: Vec<&str> = row.split('\t').collect();
        let [release, library, function, _] = cells[..] else { bail!("not a row of newer.tsv: {row}") };
        let Some(of) = rows.iter().find(|row| row.library.name == library) else { bail!("no library {library}") };
        let known = of.levels.values().any(|surface| surface.contains_key(function));
        ensure!(!known, "{function} is not new in {release}");
        found.entry((release, of.library.package)).or_default().push(format!("`{function}`"));
    }
    let mut text = NEWER.to_owned();
    for ((release, package), functions) in found {
        writeln!(text, "| {release} | `{package}` | {} |", functions.join(", "))?;
    }
    Ok(text)
}

/// The functions of every crate, by level.
fn table(rows: &[Row<'_>]) -> Result<String> {
    let mut text = String::from("| crate | ");
    for level in Level::all() {
        write!(text, "{level} | ")?;
    }
    text = text.trim_end().to_owned() + "\n|---|" + &"---|".repeat(Level::all().count()) + "\n";
    for row in rows {
        let module = row.library.module.map(|module| format!(", `{module}`")).unwrap_or_default();
        write!(text, "| `{}`{module} |", row.library.package)?;
        for level in Level::all() {
            match row.levels.get(&level).map(Counts::of) {
                Some(counts) if counts != Counts::default() => write!(text, " {} |", counts.functions)?,
                _ => write!(text, " |")?,
            }
        }
        text.push('\n');
    }
    Ok(text)
}

fn page(rows: &[Row<'_>], not_exported: &NotExported) -> Result<String> {
    let mut text = format!("{PAGE}## Functions\n\n");
    text += &table(rows)?;
    for row in rows {
        library(&mut text, row, not_exported)?;
    }
    Ok(text)
}

fn library(text: &mut String, row: &Row<'_>, not_exported: &NotExported) -> Result<()> {
    let library = row.library;
    let module = library.module.map(|module| format!(", module `{module}`")).unwrap_or_default();
    write!(text, "\n## `{}`{module}\n\n", library.package)?;
    text.push_str("| ROCm | functions | constants | structs | declared after |\n|---|---|---|---|---|\n");
    for (level, surface) in row.levels {
        let Counts { functions, constants, structs } = Counts::of(surface);
        let source = source(library, row.sources, *level);
        writeln!(text, "| {level} | {functions} | {constants} | {structs} | {source} |")?;
    }
    let mut lines = Vec::new();
    for (theirs, ours, why) in library.renames {
        lines.push(format!("- `{ours}` is named `{theirs}` in AMD's Python packages: {why}."));
    }
    lines.extend(by_reason("Here, but not in those packages", library.beyond_facts));
    lines.extend(by_reason("In those packages, but not here", library.absent));
    lines.extend(by_reason("Declared differently by those packages", library.mistaken));
    if !lines.is_empty() {
        write!(text, "\n{}\n", lines.join("\n"))?;
    }
    let kept = library.as_newest.iter().map(|(name, (major, minor), why)| {
        format!("- `{name}` is at {major}.{minor} and newer as at the newest level, for the ABI is the same: {why}.")
    });
    let kept =
        kept.chain(library.one_enum.iter().map(|(name, why)| format!("- `{name}` is one type at all levels: {why}.")));
    let kept = kept.chain(
        library
            .same
            .iter()
            .map(|(name, other)| format!("- `{name}` is `{other}`, which took its place and has its layout.")),
    );
    let kept: Vec<String> = kept.collect();
    if !kept.is_empty() {
        write!(text, "\n{}\n", kept.join("\n"))?;
    }
    let mut lacking: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for binary in library.binaries {
        let Some(level) = Level::of(binary.level) else { continue };
        for name in not_exported.of(library, level) {
            lacking.entry(name).or_default().push(level.to_string());
        }
    }
    if !lacking.is_empty() {
        let files: BTreeSet<String> = library.binaries.iter().map(|b| format!("`{}`", b.file)).collect();
        let files: Vec<String> = files.into_iter().collect();
        write!(text, "\nDeclared, but not exported by the real library ({}):\n\n", files.join(", "))?;
        let mut by_levels: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, levels) in lacking {
            by_levels.entry(levels.join(", ")).or_default().push(format!("`{name}`"));
        }
        for (levels, names) in by_levels {
            writeln!(text, "- at {levels} ({}): {}", names.len(), names.join(", "))?;
        }
    } else if !library.binaries.is_empty() {
        let levels: Vec<String> = library.binaries.iter().map(|b| format!("{}.{}", b.level.0, b.level.1)).collect();
        write!(text, "\nEvery function is exported by the real library at {}.\n", levels.join(", "))?;
    }
    Ok(())
}

/// Returns a line for each reason, with its names, in the order of the first of them.
fn by_reason(what: &str, names: &[(&str, &str)]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for (name, why) in names {
        match reasons.iter_mut().find(|(known, _)| known == why) {
            Some((_, names)) => names.push(format!("`{name}`")),
            None => reasons.push((why, vec![format!("`{name}`")])),
        }
    }
    reasons.iter().map(|(why, names)| format!("- {what} ({why}): {}.", names.join(", "))).collect()
}

/// Returns the source of the declarations of a level.
pub(crate) fn source(library: &Library, sources: &Sources, level: Level) -> String {
    let headers = library.headers_of(level);
    match headers {
        Some(headers) if !headers.reference => format!("C headers of {}", headers.of),
        _ if library.names == Names::Some && sources.facts.contains_key(&level) => {
            format!(
                "what the levels before and after it have in common, and AMD's Python packages of {}",
                level.witness()
            )
        }
        _ if sources.facts.contains_key(&level) => {
            let text = headers.map(|headers| format!(", text from the headers of {}", headers.of)).unwrap_or_default();
            format!("AMD's Python packages of {}{text}", level.witness())
        }
        _ => match &library.back_to {
            Some(back) if sources.first().is_some_and(|first| level < first) => back.why.to_owned(),
            _ => "what the levels before and after it have in common".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_one_reason_share_a_line() {
        let lines = by_reason("Not here", &[("a", "static"), ("b", "a class"), ("c", "static")]);
        assert_eq!(lines, ["- Not here (static): `a`, `c`.", "- Not here (a class): `b`."]);
    }
}
