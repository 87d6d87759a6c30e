//! Circles of files: files of a crate that import each other in a loop. No crate has one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use anyhow::{Context, Result, ensure};

use super::modules::Crate;
use crate::{paths, workspace};

/// The names that a file (first) takes from another.
type Ties = BTreeMap<(String, String), BTreeSet<String>>;

/// Looks for circles in every crate of the workspace.
pub(super) fn check() -> Result<()> {
    let roots: Vec<PathBuf> = workspace::packages()?.into_iter().flat_map(|package| package.roots).collect();
    let mut ties = Ties::new();
    for sources in read(&roots)? {
        add(&sources, paths::root(), &mut ties);
    }
    let wrong = judge(&ties);
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// Reads crates, on all cores.
fn read(roots: &[PathBuf]) -> Result<Vec<Crate>> {
    let (next, threads) = (AtomicUsize::new(0), std::thread::available_parallelism().map_or(1, NonZero::get));
    let some = || std::iter::from_fn(|| Some(Crate::read(roots.get(next.fetch_add(1, Relaxed))?, &text))).collect();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(some)).collect();
        let read = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        Ok(read.collect::<Result<Vec<Vec<Crate>>>>()?.into_iter().flatten().collect())
    })
}

/// The text of a file, if there is such a file. Generated files count as empty: they import what their generator knows.
fn text(file: &Path) -> Result<Option<String>> {
    if file.components().any(|part| part.as_os_str() == "generated") {
        return Ok(file.exists().then(String::new));
    }
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("reading {}", file.display())),
    }
}

/// Adds the ties between the files of a crate, with paths from a folder.
fn add(sources: &Crate, folder: &Path, ties: &mut Ties) {
    let shown = |file: &Path| file.strip_prefix(folder).unwrap_or(file).to_string_lossy().into_owned();
    for (from, to, name) in sources.ties() {
        ties.entry((shown(from), shown(to))).or_default().insert(name);
    }
}

/// What is wrong: each circle, with what its files take from each other.
fn judge(ties: &Ties) -> Vec<String> {
    let mut wrong = Vec::new();
    for circle in circles(ties) {
        wrong.push(format!("{} files import each other in a circle:", circle.len()));
        let inside =
            ties.iter().filter(|((from, to), _)| circle.contains(from.as_str()) && circle.contains(to.as_str()));
        wrong.extend(inside.map(|((from, to), names)| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            format!("  {from} takes {} from {to}", names.join(", "))
        }));
    }
    wrong
}

/// The circles: sets of files, each of which reaches every other.
fn circles(ties: &Ties) -> Vec<BTreeSet<&str>> {
    let mut next: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (from, to) in ties.keys() {
        next.entry(from).or_default().push(to);
    }
    let reached: BTreeMap<&str, BTreeSet<&str>> = next.keys().map(|file| (*file, reached(file, &next))).collect();
    let mut circles = BTreeSet::new();
    for (file, far) in &reached {
        let circle: BTreeSet<&str> =
            far.iter().copied().filter(|other| reached.get(other).is_some_and(|back| back.contains(file))).collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

/// The files that one imports, straight or through others.
fn reached<'a>(file: &'a str, next: &BTreeMap<&'a str, Vec<&'a str>>) -> BTreeSet<&'a str> {
    let (mut seen, mut waiting) = (BTreeSet::new(), vec![file]);
    while let Some(file) = waiting.pop() {
        for to in next.get(file).into_iter().flatten() {
            if seen.insert(*to) {
                waiting.push(to);
            }
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ties of a crate of these files.
    fn ties(files: &[(&str, &str)]) -> Ties {
        let source = |file: &Path| {
            let found = files.iter().find(|(name, _)| Path::new(name) == file);
            Ok(found.map(|(_, text)| (*text).to_owned()))
        };
        let mut ties = Ties::new();
        add(&Crate::read(Path::new("lib.rs"), &source).unwrap(), Path::new(""), &mut ties);
        ties
    }

    /// Each tie as `from > to: names`.
    fn shown(files: &[(&str, &str)]) -> Vec<String> {
        let shown = |((from, to), names): ((String, String), BTreeSet<String>)| {
            format!("{from} > {to}: {}", names.into_iter().collect::<Vec<_>>().join(" "))
        };
        ties(files).into_iter().map(shown).collect()
    }

    #[test]
    fn no_files_import_each_other() {
        check().unwrap();
    }

    #[test]
    fn an_import_is_found_in_every_form() {
        for text in [
            "use crate::low::Cellar;",
            "use super::low::Cellar;",
            "use super::{high, low::{self, Cellar as Vault}};",
            "use crate::low; fn f() -> low::Cellar { g() }",
            "use crate::low as below; fn f() -> below::Cellar { g() }",
            "use super::low::*; fn f() -> Cellar { g() }",
            "use crate::Cellar;",
            "use super::*; struct House { below: Cellar }",
            "fn f() -> Option<crate::low::Cellar> { None }",
            "fn f() { use super::low; low::Cellar::dig() }",
            "fn f() { g!(1 + crate::low::Cellar::DEPTH) }",
            "macro_rules! m { () => { $crate::low::Cellar } }",
            "mod inner { use super::super::low::Cellar; }",
            "mod inner { use super::*; fn f() -> Cellar { g() } } use crate::Cellar as Vault;",
            "#[cfg(unix)] use crate::low::Cellar;",
            "pub use crate::low::Cellar;",
            "impl crate::low::Cellar {}",
        ] {
            let lib = "mod high; mod low; pub use low::Cellar;";
            let found = shown(&[("lib.rs", lib), ("high.rs", text), ("low.rs", "pub struct Cellar;")]);
            assert_eq!(found, ["high.rs > low.rs: Cellar"], "{text}");
        }
    }

    #[test]
    fn every_kind_of_item_is_known() {
        for (item, name) in [
            ("pub(crate) const fn dig() {}", "dig"),
            ("pub unsafe extern \"C\" fn dig() {}", "dig"),
            ("#[derive(Debug)] pub enum Cellar { Deep }", "Cellar"),
            ("pub union Cellar { a: u8 }", "Cellar"),
            ("pub unsafe trait Cellar: Sized {}", "Cellar"),
            ("pub type Cellar = *const u8;", "Cellar"),
            ("pub const CELLAR: u8 = 1;", "CELLAR"),
            ("pub static CELLAR: [u8; 2] = [1; 2];", "CELLAR"),
            ("unsafe extern \"C\" { pub fn dig(); }", "dig"),
            ("table! { pub struct Cellar; }", "Cellar"),
            ("macro_rules! dig { () => {} } pub(crate) use dig;", "dig"),
        ] {
            let found = shown(&[
                ("lib.rs", "mod low; mod high;"),
                ("high.rs", &format!("use crate::low::{name};")),
                ("low.rs", item),
            ]);
            assert_eq!(found, [format!("high.rs > low.rs: {name}")], "{item}");
        }
    }

    #[test]
    fn macros_are_found_without_a_path() {
        let low = "macro_rules! dig { () => {} }";
        let files = [("lib.rs", "#[macro_use] mod low; mod high;"), ("high.rs", "dig! {}"), ("low.rs", low)];
        assert_eq!(shown(&files), ["high.rs > low.rs: dig"]);
        let exported = format!("#[macro_export] {low}");
        let files = [("lib.rs", "mod low; mod high;"), ("high.rs", "fn f() { crate::dig!() }"), ("low.rs", &exported)];
        assert_eq!(shown(&files), ["high.rs > low.rs: dig"]);
    }

    #[test]
    fn a_module_that_hands_names_on_does_not_import_them() {
        let below = [("house/cellar.rs", "pub struct Cellar; pub fn dig() {}"), ("lib.rs", "pub mod house;")];
        let of = |text| shown(&[&below[..], &[("house/mod.rs", text)]].concat());
        assert_eq!(
            of(
                "mod cellar; pub use cellar::Cellar; pub(crate) use self::cellar::*; pub(in crate::house) use cellar::dig;"
            ),
            [""; 0]
        );
        // It uses them itself.
        let found = ["house/mod.rs > house/cellar.rs: Cellar"];
        assert_eq!(of("mod cellar; pub use cellar::Cellar; fn f() -> Cellar { g() }"), found);
        assert_eq!(of("mod cellar; pub use cellar::*; fn f(cellar: &Cellar) { cellar.dig(); let dig = 1; }"), found);
        assert_eq!(of("mod cellar; use cellar::Cellar;"), found);
        // What comes through it counts for the file that defines it.
        let room = [("lib.rs", "mod house; mod room;"), ("room.rs", "use crate::house::Vault;")];
        let house = [("house/mod.rs", "mod cellar; pub use cellar::Cellar as Vault;"), below[0]];
        assert_eq!(shown(&[room, house].concat()), ["room.rs > house/cellar.rs: Cellar"]);
    }

    #[test]
    fn what_is_of_no_file_here_ties_nothing() {
        for text in [
            "use std::fmt; use other::low::Cellar; fn f() -> ::low::Cellar { g() }",
            "#[cfg(test)] mod tests { use crate::low::Cellar; }",
            "#[cfg(test)] use crate::low::Cellar; #[cfg(doc)] use crate::low::Cellar;",
            "/// [`Cellar`](crate::low::Cellar)\nfn f() {}",
            "struct Cellar; mod low { pub struct Cellar; } use low::Cellar as Vault; fn f() -> Cellar { self::low::f() }",
            "use other::Cellar; use super::low::*; fn f() -> Cellar { g() }",
            "fn f() -> impl Sized + use<> { 1 } ",
        ] {
            let found = shown(&[("lib.rs", "mod high; mod low;"), ("high.rs", text), ("low.rs", "pub struct Cellar;")]);
            assert_eq!(found, [""; 0], "{text}");
        }
    }

    #[test]
    fn a_module_is_told_from_a_function_of_its_name() {
        let lib = ("lib.rs", "mod house; mod low; mod high; pub use low::house;");
        let house = ("house.rs", "pub struct Room;");
        let low = ("low.rs", "pub fn house() {}");
        let of = |text| shown(&[lib, house, low, ("high.rs", text)]);
        assert_eq!(of("use crate::house::Room;"), ["high.rs > house.rs: Room"]);
        assert_eq!(of("fn f() { crate::house() }"), ["high.rs > low.rs: house"]);
        assert_eq!(of("use crate::house; fn f() { g(house::Room) }"), ["high.rs > house.rs: Room"]);
        assert_eq!(of("use crate::house; fn f() { house() }"), ["high.rs > low.rs: house"]);
    }

    #[test]
    fn modules_that_import_all_of_each_other_have_an_end() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use super::b::*; struct One; use Four as Four; fn f() -> Two { Three }"),
            ("b.rs", "use super::a::*; struct Two(One);"),
        ];
        assert_eq!(shown(&files), ["a.rs > b.rs: Two", "b.rs > a.rs: One"]);
    }

    #[test]
    fn modules_are_where_the_compiler_finds_them() {
        let files = [
            ("lib.rs", "mod a; mod b { mod c; } #[path = \"other/d.rs\"]\nmod e;"),
            ("a.rs", "mod f; use f::F;"),
            ("a/f.rs", "pub struct F; use crate::b::c::C;"),
            ("b/c.rs", "pub struct C; use crate::e::g::G;"),
            ("other/d.rs", "pub mod g;"),
            ("other/g/mod.rs", "pub struct G;"),
        ];
        assert_eq!(shown(&files), ["a.rs > a/f.rs: F", "a/f.rs > b/c.rs: C", "b/c.rs > other/g/mod.rs: G"]);
    }

    #[test]
    fn a_module_without_a_file_is_an_error() {
        let source = |file: &Path| Ok((file == Path::new("lib.rs")).then(|| "mod gone;".to_owned()));
        assert!(Crate::read(Path::new("lib.rs"), &source).unwrap_err().to_string().contains("gone"));
    }

    /// Two circles, and a file that both use.
    const FILES: [(&str, &str); 6] = [
        ("lib.rs", "mod a; mod b; mod c; mod d; mod e;"),
        ("a.rs", "use crate::b::B; pub struct A; pub fn f() {}"),
        ("b.rs", "use crate::{c::C, e::E}; pub struct B;"),
        ("c.rs", "use crate::a::{f, A}; use crate::d::D; pub struct C;"),
        ("d.rs", "use crate::e::E; pub struct D;"),
        ("e.rs", "pub struct E; fn f() { crate::d::D }"),
    ];

    #[test]
    fn a_circle_is_told_with_its_names() {
        let expected = [
            "3 files import each other in a circle:",
            "  a.rs takes B from b.rs",
            "  b.rs takes C from c.rs",
            "  c.rs takes A, f from a.rs",
            "2 files import each other in a circle:",
            "  d.rs takes E from e.rs",
            "  e.rs takes D from d.rs",
        ];
        assert_eq!(judge(&ties(&FILES)), expected);
    }
}
