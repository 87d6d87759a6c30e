//! Every function at every level, compared with what AMD's own Python packages have (`api/presence.tsv`), and with
//! what the real library of the level exports.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use hiprtc_sys::{API_LEVEL, API_LEVEL_NAME, coverage};

#[path = "generated/functions.rs"]
#[rustfmt::skip]
mod functions;

/// Releases in `presence.tsv`, as levels.
const LEVELS: [(&str, (u32, u32)); 7] = [
    ("6.2.0", (6, 2)),
    ("6.3.3", (6, 3)),
    ("6.4.4", (6, 4)),
    ("7.0.2", (7, 0)),
    ("7.1.1", (7, 1)),
    ("7.2.2", (7, 2)),
    ("10.0.0", (10, 0)),
];

fn level(release: &str) -> (u32, u32) {
    LEVELS.iter().find(|(name, _)| *name == release).unwrap_or_else(|| panic!("unknown release {release}")).1
}

fn parse(level: &str) -> (u32, u32) {
    let (major, minor) = level.split_once('.').unwrap();
    (major.parse().unwrap(), minor.parse().unwrap())
}

/// The functions of a level, by the table in the crate.
fn covered(level: (u32, u32)) -> BTreeSet<&'static str> {
    let at = coverage::FUNCTIONS
        .iter()
        .filter(|(_, first, gone)| parse(first) <= level && gone.is_none_or(|gone| level < parse(gone)));
    at.map(|(name, ..)| *name).collect()
}

fn witnessed() -> BTreeMap<(u32, u32), BTreeSet<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../api/presence.tsv");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut found: BTreeMap<(u32, u32), BTreeSet<String>> = BTreeMap::new();
    for row in text.lines().skip(1) {
        let columns: Vec<&str> = row.split('\t').collect();
        let [library, name, first, last] = columns[..] else { panic!("{row}") };
        if library == "hiprtc" {
            let last = if last == "-" { (u32::MAX, 0) } else { level(last) };
            for (_, at) in LEVELS.iter().filter(|(_, at)| level(first) <= *at && *at <= last) {
                found.entry(*at).or_default().insert(name.to_owned());
            }
        }
    }
    found
}

#[test]
fn every_function_at_every_level() {
    let witnessed = witnessed();
    assert_eq!(witnessed[&(10, 0)].len(), 18);
    for (at, names) in &witnessed {
        let expected: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        let ours = covered(*at);
        assert_eq!(ours.difference(&expected).collect::<Vec<_>>(), Vec::<&&str>::new(), "level {at:?}: not witnessed");
        assert_eq!(expected.difference(&ours).collect::<Vec<_>>(), Vec::<&&str>::new(), "level {at:?}: missing");
    }
    // No package goes back to 5.7: its headers have the same functions.
    assert_eq!(covered((5, 7)), covered((6, 2)));
}

#[test]
fn the_table_is_what_the_crate_has() {
    let declared: Vec<&str> = functions::functions().iter().map(|(name, _)| *name).collect();
    let covered: Vec<&str> = covered(API_LEVEL).into_iter().collect();
    assert_eq!(declared, covered);
    let count = coverage::COUNTS.iter().find(|(major, minor, _)| (*major, *minor) == API_LEVEL).unwrap().2;
    assert_eq!(count, covered.len());
    assert!(coverage::FUNCTIONS.is_sorted());
    // Each has an address of its own.
    let addresses: BTreeSet<usize> = functions::functions().iter().map(|(_, address)| *address as usize).collect();
    assert_eq!(addresses.len(), count);
}

#[test]
fn the_real_library_exports_every_function() {
    use object::{Object, ObjectSymbol};

    let trees = std::env::var_os("ROCM_RS_TREES").map(PathBuf::from);
    let trees = trees.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/rocm"));
    let folder = trees.join(API_LEVEL_NAME).join("usr/lib/x86_64-linux-gnu");
    // In ROCm 5 it is part of the HIP runtime.
    let names = ["libhiprtc.so.7", "libhiprtc.so.6", "libamdhip64.so.5"];
    let Some(path) = names.iter().map(|name| folder.join(name)).find(|path| path.exists()) else {
        let why = format!("SKIPPED: no HIPRTC in {} (`cargo xtask rocm fetch {API_LEVEL_NAME}`)\n", folder.display());
        let _ = std::io::stdout().write_all(why.as_bytes());
        return;
    };
    let bytes = std::fs::read(&path).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let exported: BTreeSet<&str> =
        file.dynamic_symbols().filter(|symbol| symbol.is_definition()).flat_map(|symbol| symbol.name()).collect();
    let missing: Vec<&str> = covered(API_LEVEL).into_iter().filter(|name| !exported.contains(name)).collect();
    assert_eq!(missing, Vec::<&str>::new(), "{}", path.display());
}

#[test]
fn readme_tells_the_same_counts() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md")).unwrap();
    let counts: String = coverage::COUNTS.iter().map(|(_, _, count)| format!(" {count} |")).collect();
    assert!(readme.contains(&format!("| HIPRTC |{counts}")), "README's table should have |{counts}");
}
