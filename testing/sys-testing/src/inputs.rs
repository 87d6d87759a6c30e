//! The headers and libraries that the bindings were generated from: `api/inputs.tsv`. Debian replaces packages without
//! notice. So a test that finds a difference fails only if the headers and the library are unchanged; otherwise it is
//! skipped.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSymbol};

use crate::trees::trees;

/// The kinds of inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Headers of a library.
    Headers,
    /// The dynamic symbols of a real library.
    Symbols,
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Input {
    /// What it is.
    pub kind: Kind,
    /// The library, as in `api/presence.tsv`.
    pub name: String,
    /// The API level.
    pub level: (u32, u32),
    /// The folder, relative to that of the fetched trees.
    pub folder: String,
    /// The folders or the file in it.
    pub parts: Vec<String>,
    /// The digest of the content.
    pub digest: String,
}

const HEAD: &str = "kind\tlibrary\tlevel\tfolder\tparts\tdigest\n";

/// The table in the repository.
pub fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../api/inputs.tsv")
}

/// All rows.
///
/// # Panics
/// If the table cannot be read.
pub fn read() -> Vec<Input> {
    let path = path();
    parse(&std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// Parses a table.
///
/// # Panics
/// Panics if the table is malformed.
pub fn parse(text: &str) -> Vec<Input> {
    text.lines().skip(1).map(Input::parse).collect()
}

/// The table with these rows.
pub fn text(inputs: &[Input]) -> String {
    let sorted: BTreeSet<&Input> = inputs.iter().collect();
    HEAD.to_owned() + &sorted.into_iter().map(Input::row).collect::<String>()
}

/// The reason to skip a comparison with the fetched trees: the inputs of the library at this level have changed.
pub fn changed(kind: Kind, name: &str, level: (u32, u32)) -> Option<String> {
    let all = read();
    let input = all.iter().find(|input| (input.kind, &*input.name, input.level) == (kind, name, level))?;
    input.changed(&trees())
}

impl Input {
    /// Describes the contents of the trees. The digest is empty if they have none of the parts.
    pub fn of(kind: Kind, name: &str, level: (u32, u32), folder: &str, parts: &[&str], trees: &Path) -> Self {
        let parts = parts.iter().map(|&part| part.to_owned()).collect();
        let mut input =
            Self { kind, name: name.to_owned(), level, folder: folder.to_owned(), parts, digest: String::new() };
        input.digest = input.found(trees).unwrap_or_default();
        input
    }

    /// How the trees' contents differ from the table.
    pub fn changed(&self, trees: &Path) -> Option<String> {
        let what = match self.kind {
            Kind::Headers => "headers",
            Kind::Symbols => "exported symbols",
        };
        let where_ = format!("{} in {}", self.name, self.folder);
        match self.found(trees) {
            Some(digest) if digest == self.digest => None,
            Some(_) => Some(format!("the {what} of {where_} have changed since the bindings were generated")),
            None => Some(format!("there are no {what} of {where_}")),
        }
    }

    /// The digest of the existing contents.
    fn found(&self, trees: &Path) -> Option<String> {
        let folder = trees.join(&self.folder);
        let mut digest = Digest::new();
        match self.kind {
            Kind::Headers => {
                let mut files = Vec::new();
                self.parts.iter().for_each(|part| headers(&folder, Path::new(part), &mut files));
                files.sort();
                for file in &files {
                    digest.add(file.to_str()?.as_bytes());
                    digest.add(&std::fs::read(folder.join(file)).ok()?);
                }
                (!files.is_empty()).then(|| digest.text())
            }
            Kind::Symbols => {
                let data = std::fs::read(folder.join(self.parts.first()?)).ok()?;
                // Mangled names are the implementation's.
                let names = defined(&data);
                names.iter().filter(|name| !name.starts_with("_Z")).for_each(|name| digest.add(name.as_bytes()));
                Some(digest.text())
            }
        }
    }

    fn parse(row: &str) -> Self {
        let cells: Vec<&str> = row.split('\t').collect();
        let [kind, name, level, folder, parts, digest] = cells[..] else { panic!("not six cells: {row}") };
        let kind = match kind {
            "headers" => Kind::Headers,
            "symbols" => Kind::Symbols,
            _ => panic!("unknown kind: {row}"),
        };
        let parts = parts.split(' ').map(str::to_owned).collect();
        let [name, folder, digest] = [name, folder, digest].map(str::to_owned);
        Self { kind, name, level: crate::coverage::level(level), folder, parts, digest }
    }

    fn row(&self) -> String {
        let Self { name, level: (major, minor), folder, digest, .. } = self;
        let kind = match self.kind {
            Kind::Headers => "headers",
            Kind::Symbols => "symbols",
        };
        format!("{kind}\t{name}\t{major}.{minor}\t{folder}\t{}\t{digest}\n", self.parts.join(" "))
    }
}

/// The headers in a folder and its subfolders, named relative to the include directory.
fn headers(include: &Path, folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(include.join(folder)).into_iter().flatten().flatten() {
        let name = folder.join(entry.file_name());
        if include.join(&name).is_dir() {
            headers(include, &name, files);
        } else if name.extension().is_some_and(|extension| extension == "h") {
            files.push(name);
        }
    }
}

/// FNV-1a with 64 bits: the same on every machine, and sufficient to notice a change.
struct Digest(u64);

impl Digest {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Adds bytes, and a terminator that no text contains.
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().chain(&[0xff]) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn text(&self) -> String {
        format!("{:016x}", self.0)
    }
}

/// The dynamic symbols that a library defines.
///
/// # Panics
/// If it is no library.
pub fn defined(data: &[u8]) -> BTreeSet<String> {
    let library = object::File::parse(data).expect("an ELF file");
    let symbols = library.dynamic_symbols().filter(|symbol| symbol.is_definition());
    symbols.filter_map(|symbol| symbol.name().ok().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(trees: &Path) -> Input {
        Input::of(Kind::Headers, "rccl", (7, 2), "7.2/usr/include", &["rccl", "hip"], trees)
    }

    #[test]
    fn headers_that_changed_or_went_are_noticed() {
        let trees = tempfile::tempdir().unwrap();
        let include = trees.path().join("7.2/usr/include");
        let write = |name: &str, text: &str| {
            std::fs::create_dir_all(include.join(name).parent().unwrap()).unwrap();
            std::fs::write(include.join(name), text).unwrap();
        };
        write("rccl/rccl.h", "int x;\n");
        write("hip/detail/types.h", "int y;\n");
        write("rocrand/rocrand.h", "int z;\n");
        let input = noted(trees.path());
        assert_eq!(input.changed(trees.path()), None);
        write("rocrand/rocrand.h", "of another library\n");
        assert_eq!(input.changed(trees.path()), None);
        for (name, text) in [("rccl/rccl.h", "long x;\n"), ("hip/detail/types.h", "long y;\n"), ("rccl/more.h", "")] {
            let old = std::fs::read_to_string(include.join(name));
            write(name, text);
            let why = input.changed(trees.path()).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(why, "the headers of rccl in 7.2/usr/include have changed since the bindings were generated");
            match old {
                Ok(old) => write(name, &old),
                Err(_) => std::fs::remove_file(include.join(name)).unwrap(),
            }
        }
        assert_eq!(input.changed(trees.path()), None);
        std::fs::remove_dir_all(&include).unwrap();
        assert_eq!(input.changed(trees.path()).unwrap(), "there are no headers of rccl in 7.2/usr/include");
    }

    #[test]
    fn the_table_reads_back() {
        let trees = tempfile::tempdir().unwrap();
        let symbols = Input { kind: Kind::Symbols, parts: vec!["librccl.so.1".into()], ..noted(trees.path()) };
        let rows = [noted(trees.path()), symbols];
        assert_eq!(parse(&text(&rows)), rows);
    }
}
