//! Compares the functions of every level with those in AMD's own Python packages (`api/presence.tsv`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::coverage::{Bindings, covered};

/// Releases in the table, as levels.
const LEVELS: [(&str, (u32, u32)); 8] = [
    ("5.7.0", (5, 7)),
    ("6.2.0", (6, 2)),
    ("6.3.3", (6, 3)),
    ("6.4.4", (6, 4)),
    ("7.0.2", (7, 0)),
    ("7.1.1", (7, 1)),
    ("7.2.2", (7, 2)),
    ("10.0.0", (10, 0)),
];

/// Libraries that the table contains only for 10.0.
const NEWEST_ONLY: [&str; 6] = ["hipblaslt", "hipdnn_backend", "hipfile", "hipgraph", "hipsparselt", "hiptensor"];

/// Releases that the table lacks for a library, although it has earlier and later ones.
const GAPS: [(&str, (u32, u32)); 2] = [("amdsmi", (7, 1)), ("amdsmi", (7, 2))];

/// Libraries with a separate table for each release.
const TABLES: [&str; 2] = ["clang_c", "llvm_c"];

/// Libraries of which AMD's packages bind only a part.
const PART_ONLY: [&str; 1] = ["clang_c"];

fn level(release: &str) -> (u32, u32) {
    LEVELS.iter().find(|(name, _)| *name == release).unwrap_or_else(|| panic!("unknown release {release}")).1
}

fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../api").join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn witnessed(library: &str) -> BTreeMap<(u32, u32), BTreeSet<String>> {
    let mut found: BTreeMap<(u32, u32), BTreeSet<String>> = BTreeMap::new();
    if TABLES.contains(&library) {
        for (release, at) in LEVELS.into_iter().skip(1) {
            let text = read(&format!("rocm-{release}/{library}.tsv"));
            let names = text.lines().skip(1).filter_map(|row| row.split('\t').nth(1)).map(str::to_owned);
            found.insert(at, names.collect());
        }
        return found;
    }
    for row in read("presence.tsv").lines().skip(1) {
        let columns: Vec<&str> = row.split('\t').collect();
        let [of, name, first, last] = columns[..] else { panic!("{row}") };
        if of == library {
            let last = if last == "-" { (u32::MAX, 0) } else { level(last) };
            let newest_only = NEWEST_ONLY.contains(&library);
            let levels = LEVELS.iter().filter(|(_, at)| !newest_only || *at == (10, 0));
            let levels = levels.filter(|(_, at)| !GAPS.contains(&(library, *at)));
            for (_, at) in levels.filter(|(_, at)| level(first) <= *at && *at <= last) {
                found.entry(*at).or_default().insert(name.to_owned());
            }
        }
    }
    found
}

/// Compares every level in the table. Each listed exception must be a real difference.
///
/// # Panics
/// Panics if there is a difference without an exception, or an exception without a difference.
pub fn compare(bindings: &Bindings) {
    let witnessed = witnessed(bindings.name);
    assert!(!witnessed.is_empty(), "{} is not in the table", bindings.name);
    let mut needed = BTreeSet::new();
    for (at, names) in &witnessed {
        let theirs: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        let ours = covered(bindings.functions, *at);
        let beyond = ours.difference(&theirs).filter(|_| !PART_ONLY.contains(&bindings.name));
        for name in theirs.difference(&ours).chain(beyond) {
            let known = bindings.exceptions.iter().any(|(exception, _)| exception == name);
            let side = if ours.contains(name) { "not in AMD's packages" } else { "missing here" };
            assert!(known, "{name} at {at:?}: {side}");
            needed.insert(*name);
        }
    }
    for (name, _) in bindings.exceptions {
        let ours = bindings.functions.iter().any(|(function, ..)| function == name);
        if ours || witnessed.values().any(|names| names.contains(*name)) {
            assert!(needed.contains(name), "{name} is no exception");
        }
    }
}

/// Checks the table of the crate: it is sorted and complete, and correct for each level. Functions that differ between
/// levels are in the list of variants, with one variant per level and one address per variant; every other function has
/// one address.
///
/// # Panics
/// Panics if the table is wrong.
pub fn table(bindings: &Bindings) {
    assert!(bindings.functions.is_sorted_by_key(|(name, ..)| name));
    let mut addresses: BTreeMap<(&str, Option<usize>), usize> = BTreeMap::new();
    for (level, declared) in &bindings.declared {
        let names: Vec<&str> = declared.iter().map(|(name, _)| *name).collect();
        let covered: Vec<&str> = covered(bindings.functions, *level).into_iter().collect();
        assert_eq!(names, covered, "{level:?}");
        let count = bindings.counts.iter().find(|(major, minor, _)| (*major, *minor) == *level);
        assert_eq!(count.map_or(0, |(.., count)| *count), covered.len());
        for (name, address) in declared {
            let of_name = bindings.forms.iter().enumerate().filter(|(_, form)| form.4.contains(name));
            let (forms, at_level): (Vec<_>, Vec<_>) = of_name.partition(|(_, form)| !(form.1..=form.2).contains(level));
            let form = match (&forms[..], &at_level[..]) {
                ([], []) => None,
                (_, [(at, _)]) => Some(*at),
                _ => panic!("{name} has {} forms at {level:?}", at_level.len()),
            };
            let known = addresses.entry((name, form)).or_insert(address.addr());
            assert_eq!(*known, address.addr(), "{name} at {level:?} is generated twice");
        }
    }
    let different: BTreeSet<usize> = addresses.values().copied().collect();
    assert_eq!(different.len(), addresses.len(), "each function and form has an address of its own");
    for form in bindings.forms {
        assert!(form.4.is_sorted() && form.1 <= form.2);
        assert!(form.3.contain_release(form.1) && form.3.contain_release(form.2), "{}", form.0);
    }
}
