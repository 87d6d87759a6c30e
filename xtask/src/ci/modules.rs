//! The modules of a crate, and which of its files defines what a path names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path as File, PathBuf};

use anyhow::{Context, Result};

use super::code::{By, Code, Declared, Named, Path};

/// How many imports a name is followed through: some import themselves.
const LONGEST: usize = 8;

/// A crate as its sources have it.
#[derive(Debug, Default)]
pub(super) struct Crate {
    /// Each with its module.
    files: Vec<(PathBuf, Path)>,
    scopes: BTreeMap<Path, Scope>,
    /// The files that define a macro by example of a name, other than exported ones: such macros are in scope without a
    /// path, too.
    macros: BTreeMap<String, BTreeSet<usize>>,
    /// The paths that each file writes.
    named: Vec<BTreeSet<Named>>,
}

/// The names in a module.
#[derive(Debug, Default)]
struct Scope {
    names: BTreeMap<String, BTreeSet<Name>>,
    /// Imports of all names.
    globs: BTreeSet<Path>,
    /// The modules of this crate that these are of.
    opened: BTreeSet<Path>,
    /// Files in which a macro may define further names of this module.
    made: BTreeSet<usize>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Name {
    /// An item that a file defines.
    Item(usize),
    Module,
    Import(Path),
}

/// What a path names.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Module(Path),
    /// An item, the module that has it, and the file that defines it.
    Item {
        name: String,
        module: Path,
        file: usize,
    },
}

impl Target {
    fn is_module(&self) -> bool {
        matches!(self, Self::Module(_))
    }

    fn item(name: &str, module: &[String], file: usize) -> Self {
        Self::Item { name: name.to_owned(), module: module.to_vec(), file }
    }
}

impl Crate {
    /// Reads a crate from its root. `source` has the text of a file, or `None` where there is no such file.
    pub(super) fn read(root: &File, source: &dyn Fn(&File) -> Result<Option<String>>) -> Result<Crate> {
        let mut found = Crate::default();
        let folder = root.parent().unwrap_or(File::new("")).to_owned();
        let text = source(root)?.with_context(|| format!("{} is missing", root.display()))?;
        let mut waiting = vec![(root.to_owned(), text, Path::new(), folder)];
        while let Some((file, text, module, folder)) = waiting.pop() {
            let code = Code::read(&text, &module).with_context(|| format!("reading {}", file.display()))?;
            for Declared { module: inner, file: named } in &code.declared {
                let below = inner[module.len()..].iter().fold(folder.clone(), |folder, name| folder.join(name));
                let (beside, inside) = (below.with_extension("rs"), below.join("mod.rs"));
                let named = named.as_ref().map(|named| file.with_file_name(named));
                let (place, below) = match named {
                    Some(named) => (named.clone(), named.parent().unwrap_or(File::new("")).to_owned()),
                    None if source(&beside)?.is_some() => (beside, below),
                    None => (inside, below),
                };
                let text = source(&place)?;
                let text =
                    text.with_context(|| format!("{} is missing: the module {}", place.display(), inner.join("::")))?;
                waiting.push((place, text, inner.clone(), below));
            }
            found.add(file, module, code);
        }
        found.open();
        Ok(found)
    }

    fn add(&mut self, file: PathBuf, module: Path, code: Code) {
        let own = self.files.len();
        self.files.push((file, module));
        for module in code.modules.iter().chain(code.declared.iter().map(|declared| &declared.module)) {
            self.scopes.entry(module.clone()).or_default();
            if let Some((name, parent)) = module.split_last() {
                self.define(parent, name, Name::Module);
            }
        }
        for (module, name) in &code.items {
            self.define(module, name, Name::Item(own));
        }
        for (name, exported) in code.macros {
            if exported {
                self.define(&[], &name, Name::Item(own));
            } else {
                self.macros.entry(name).or_default().insert(own);
            }
        }
        for module in code.made {
            self.scopes.entry(module).or_default().made.insert(own);
        }
        for import in code.imports {
            match import.name {
                Some(name) => self.define(&import.module, &name, Name::Import(import.path)),
                None => _ = self.scopes.entry(import.module).or_default().globs.insert(import.path),
            }
        }
        self.named.push(code.named.into_iter().collect());
    }

    fn define(&mut self, module: &[String], name: &str, what: Name) {
        let scope = self.scopes.entry(module.to_vec()).or_default();
        scope.names.entry(name.to_owned()).or_default().insert(what);
    }

    /// Finds the modules that all names are imported from.
    fn open(&mut self) {
        let opened = self.scopes.iter().map(|(module, scope)| {
            let mut targets = BTreeSet::new();
            scope.globs.iter().for_each(|glob| self.resolve(module, glob, LONGEST, &mut targets));
            let modules = targets.into_iter().filter_map(|target| match target {
                Target::Module(module) => Some(module),
                Target::Item { .. } => None,
            });
            modules.collect()
        });
        let opened: Vec<BTreeSet<Path>> = opened.collect();
        for (scope, opened) in self.scopes.values_mut().zip(opened) {
            scope.opened = opened;
        }
    }

    /// The files that import others, with the names that they take. A module that only hands on what a module inside it
    /// defines does not import it.
    pub(super) fn ties(&self) -> impl Iterator<Item = (&File, &File, String)> {
        self.named.iter().enumerate().flat_map(move |(own, named)| {
            named.iter().flat_map(move |named| {
                let targets = self.targets(named).into_iter().filter_map(move |target| match target {
                    Target::Item { name, module, file } => {
                        let hands_on = named.by == By::Export && module.starts_with(&self.files[own].1);
                        (file != own && !hands_on).then_some((file, name))
                    }
                    Target::Module(_) => None,
                });
                targets.map(move |(file, name)| (self.files[own].0.as_path(), self.files[file].0.as_path(), name))
            })
        })
    }

    /// Everything that a path can name: a module, a type and a function may have the same name, and `cfg` may choose.
    fn targets(&self, named: &Named) -> BTreeSet<Target> {
        let mut targets = BTreeSet::new();
        self.resolve(&named.module, &named.path, LONGEST, &mut targets);
        // What is imported with a module of its name counts where it is called.
        if named.by == By::Code && targets.iter().any(Target::is_module) {
            targets.retain(Target::is_module);
        }
        if targets.is_empty() && named.by == By::Macro {
            if let [name] = named.path.as_slice() {
                let files = self.macros.get(name).into_iter().flatten();
                targets.extend(files.map(|file| Target::item(name, &[], *file)));
            }
        }
        targets
    }

    fn resolve(&self, module: &[String], path: &[String], left: usize, targets: &mut BTreeSet<Target>) {
        let ups = path.iter().take_while(|segment| *segment == "super").count();
        let (base, rest) = match path[0].as_str() {
            "crate" => (&[][..], &path[1..]),
            "self" => (module, &path[1..]),
            _ => (&module[..module.len().saturating_sub(ups)], &path[ups..]),
        };
        // A crate, if nothing here has its name.
        let mut made = rest.len() < path.len();
        let mut found = BTreeSet::from([Target::Module(base.to_vec())]);
        for name in rest {
            let before = std::mem::take(&mut found);
            // Beside a module, what has its name is a function or a macro, in which nothing is.
            let only_modules = before.iter().any(Target::is_module);
            for target in before.into_iter().filter(|target| !only_modules || target.is_module()) {
                match target {
                    Target::Module(module) => self.look_up(&module, name, made, left, &mut found),
                    // What follows is a variant or an associated item.
                    item @ Target::Item { .. } => _ = found.insert(item),
                }
            }
            made = true;
        }
        targets.append(&mut found);
    }

    /// Finds a name in a module, or in those that it imports all names of. With `made`, a name that nothing defines is
    /// one that a macro in the module makes, if there is such a macro.
    fn look_up(&self, module: &[String], name: &str, made: bool, left: usize, found: &mut BTreeSet<Target>) {
        let Some(left) = left.checked_sub(1) else { return };
        let (mut seen, mut waiting) = (BTreeSet::from([module]), vec![module]);
        let mut known = false;
        while let Some(module) = waiting.pop() {
            let Some(scope) = self.scopes.get(module) else { continue };
            let Some(names) = scope.names.get(name) else {
                waiting.extend(scope.opened.iter().map(Path::as_slice).filter(|module| seen.insert(*module)));
                continue;
            };
            known = true;
            for what in names {
                match what {
                    Name::Item(file) => _ = found.insert(Target::item(name, module, *file)),
                    Name::Module => _ = found.insert(Target::Module([module, &[name.to_owned()]].concat())),
                    Name::Import(path) => self.resolve(module, path, left, found),
                }
            }
        }
        if made && !known {
            let files = self.scopes.get(module).into_iter().flat_map(|scope| &scope.made);
            found.extend(files.map(|file| Target::item(name, module, *file)));
        }
    }
}
