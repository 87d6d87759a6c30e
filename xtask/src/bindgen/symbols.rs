//! Declared functions that the real libraries lack, according to their dynamic symbols. They are stored in
//! `api/not-exported.tsv`, since the libraries are large and the result is small.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use object::{Object, ObjectSymbol};

use super::levels::Level;
use super::library::Library;
use super::surface::{Kind, Surface};

/// The functions of each library that its binary lacks at a level.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct NotExported(BTreeMap<(String, Level), BTreeSet<String>>);

const FILE: &str = "not-exported.tsv";
const HEAD: &str = "library\tlevel\tfunction\n";

impl NotExported {
    pub(crate) fn read(api: &Path) -> Result<NotExported> {
        let path = api.join(FILE);
        match std::fs::read_to_string(&path) {
            Ok(text) => NotExported::parse(&text).with_context(|| path.display().to_string()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(NotExported::default()),
            Err(error) => Err(error).with_context(|| format!("reading {}", path.display())),
        }
    }

    fn parse(text: &str) -> Result<NotExported> {
        let mut found = NotExported::default();
        for row in text.lines().skip(1) {
            let cells: Vec<&str> = row.split('\t').collect();
            let [library, level, function] = cells[..] else { anyhow::bail!("not three cells: {row}") };
            let level =
                Level::all().find(|known| known.to_string() == level).with_context(|| format!("level {level}"))?;
            found.0.entry((library.to_owned(), level)).or_default().insert(function.to_owned());
        }
        Ok(found)
    }

    fn text(&self) -> String {
        let rows = self.0.iter().flat_map(|((library, level), functions)| {
            functions.iter().map(move |function| format!("{library}\t{level}\t{function}\n"))
        });
        HEAD.to_owned() + &rows.collect::<String>()
    }

    pub(crate) fn write(&self, api: &Path) -> Result<()> {
        let path = api.join(FILE);
        std::fs::write(&path, self.text()).with_context(|| format!("writing {}", path.display()))
    }

    /// Returns the functions of `library` that its binary of `level` lacks.
    pub(crate) fn of(&self, library: &Library, level: Level) -> impl Iterator<Item = &str> {
        self.0.get(&(library.name.to_owned(), level)).into_iter().flatten().map(String::as_str)
    }

    /// Reads the available binaries of `library`.
    pub(crate) fn look(&mut self, trees: &Path, library: &Library, levels: &BTreeMap<Level, Surface>) -> Result<()> {
        for binary in library.binaries {
            let path = trees.join(binary.tree).join("usr/lib/x86_64-linux-gnu").join(binary.file);
            let (Some(level), true) = (Level::of(binary.level), path.exists()) else {
                println!("{}: no {}, what is known of it stays", library.name, path.display());
                continue;
            };
            let Some(surface) = levels.get(&level) else { continue };
            let data = std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
            let file = object::File::parse(&*data).with_context(|| format!("reading {}", path.display()))?;
            let exported: BTreeSet<&str> = file
                .dynamic_symbols()
                .filter(|symbol| symbol.is_definition())
                .filter_map(|symbol| symbol.name().ok())
                .collect();
            let functions = surface.iter().filter(|(_, kind)| matches!(kind, Kind::Function(_)));
            let lacking: BTreeSet<String> =
                functions.map(|(name, _)| name).filter(|name| !exported.contains(name.as_str())).cloned().collect();
            self.0.remove(&(library.name.to_owned(), level));
            if !lacking.is_empty() {
                self.0.insert((library.name.to_owned(), level), lacking);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_reads_back() {
        let text = format!("{HEAD}hip\t6.4\thipA\nhip\t6.4\thipB\nrccl\t10.0\tncclC\n");
        let table = NotExported::parse(&text).unwrap();
        assert_eq!(table.text(), text);
        assert!(NotExported::parse("head\nhip\t6.5\thipA\n").is_err());
        assert!(NotExported::parse("head\nhip\t6.4\n").is_err());
    }
}
