//! Compares the functions of a level with the dynamic symbols of the real library of that level.

use std::collections::BTreeSet;

use crate::coverage::{Bindings, covered};
use crate::inputs::{Kind, changed, defined};
use crate::trees::{skipped, trees};

/// The exports of a library in a fetched tree; `None`, with a message, if it does not exist.
///
/// # Panics
/// Panics if it cannot be read.
pub fn exported(tree: &str, file: &str) -> Option<BTreeSet<String>> {
    let path = trees().join(tree).join("usr/lib/x86_64-linux-gnu").join(file);
    if !path.exists() {
        skipped(format_args!("no {} (`cargo xtask rocm fetch {tree} --with bindings,bindings-large`)", path.display()));
        return None;
    }
    let data = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Some(defined(&data))
}

/// Compares every real library that is at hand: a declared function is
/// exported, or on the generated list of those that are not, and that list has no others.
///
/// # Panics
/// Panics if there is a difference, and the library's exports are the same as when the list was generated.
pub fn compare(bindings: &Bindings) {
    for (level, tree, file) in bindings.binaries {
        let Some(exported) = exported(tree, file) else { continue };
        let name = format!("{}.{}", level.0, level.1);
        let listed = bindings.not_exported.iter().filter(|(_, levels)| levels.contains(&name.as_str()));
        let listed: BTreeSet<&str> = listed.map(|(function, _)| *function).collect();
        let functions = covered(bindings.functions, *level);
        assert!(!functions.is_empty(), "no function at {name}");
        let lacking: BTreeSet<&str> =
            functions.iter().copied().filter(|function| !exported.contains(*function)).collect();
        let changed = if lacking == listed { None } else { changed(Kind::Symbols, bindings.name, *level) };
        if let Some(why) = changed {
            skipped(why);
            continue;
        }
        assert_eq!(lacking, listed, "{tree}'s {file} lacks, and NOT_EXPORTED lists for {name}");
        println!("{tree}'s {file}: {} of {} functions of {name}", functions.len() - lacking.len(), functions.len());
    }
}
