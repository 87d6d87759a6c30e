//! `cargo xtask bindgen`: generates the `-sys` crates from ROCm's C headers and, for the releases whose headers are not
//! available, from the declarations under `api/`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use regex::Regex;

mod coverage;
mod cross_check;
mod cuda_names;
mod doxygen;
mod emit;
mod facts;
mod files;
mod forms;
mod groups;
mod headers;
mod inputs;
mod layout;
mod levels;
mod libraries;
mod library;
mod lines;
mod merge;
mod sources;
mod surface;
mod symbols;
mod test_tables;
mod write_c;

use cuda_names::CudaNames;
use facts::Facts;
use files::{Files, write};
use forms::{Classes, Forms};
pub(crate) use levels::Level;
use libraries::LIBRARIES;
use library::{Headers, Library, Names, Topics};
use sources::Sources;
use surface::{Kind, Surface};
use symbols::NotExported;

use crate::rocm::{BINDINGS, RELEASES};

/// Generates the bindings of the `-sys` crates, for all API levels, and COVERAGE.md.
///
/// Reads the C headers of ROCm 5.7, 6.4 and 7.2 (`cargo xtask rocm fetch --all --with bindings`) and the declarations
/// of other releases under `api/`. The same input gives the same bytes; api/inputs.tsv notes the input. Needs libclang
/// (Debian: libclang1-19 and libclang-common-19-dev).
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail and name the files that differ from what would be generated. A library whose headers have
    /// changed since, or are missing, is skipped
    #[arg(long)]
    check: bool,
    /// Folder with the trees `5.7`, `6.4` and `7.2` [default: where `cargo xtask rocm fetch` unpacks]
    #[arg(long, value_name = "DIR")]
    headers: Option<PathBuf>,
    /// Only this library (and not COVERAGE.md)
    #[arg(long, value_name = "NAME", value_parser = libraries::names())]
    library: Option<String>,
    /// Record again in api/not-exported.tsv which functions the real libraries lack (needs `cargo xtask rocm fetch
    /// --all --with bindings,bindings-large`)
    #[arg(long)]
    symbols: bool,
}

/// A library that was read.
struct Read {
    library: &'static Library,
    sources: Sources,
    /// The text of its headers.
    texts: BTreeMap<Level, String>,
    levels: BTreeMap<Level, Surface>,
    /// The form that each item has at each level.
    classes: Classes,
    forms: Forms,
    /// The forms of the items of the libraries that it shares types with.
    foreign: Classes,
}

/// Returns the subjects of HIP's functions: each is the name of the generated file with the functions of its kind.
pub(crate) fn topics_of_hip() -> Result<Topics> {
    LIBRARIES[0].topics()
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let root = crate::paths::root();
    let trees = args.headers.clone().unwrap_or_else(crate::paths::rocm_trees);
    let noted = inputs::noted()?;
    ensure!(
        RELEASES.iter().any(|release| trees.join(release.name).join("usr/include").is_dir()),
        "no headers in {}: run `cargo xtask rocm fetch --all --with {BINDINGS}` first",
        trees.display()
    );
    let mut read: BTreeMap<&str, Read> = BTreeMap::new();
    let mut skipped: BTreeMap<&str, String> = BTreeMap::new();
    // Only a difference from the recorded headers is an error.
    let skips = |library| inputs::changed(&noted, library, &trees).filter(|_| args.check);
    for library in LIBRARIES.iter().filter(|library| is_needed(library, args.library.as_deref())) {
        match self::read(library, &root.join("api"), &trees, &read) {
            Ok(one) => _ = read.insert(library.name, one),
            Err(error) => match skips(library) {
                Some(why) => _ = skipped.insert(library.name, why),
                None => return Err(error.context(format!("reading the interface of {}", library.name))),
            },
        }
    }
    let mut not_exported = NotExported::read(&root.join("api"))?;
    if args.symbols {
        for one in read.values() {
            not_exported.look(&trees, one.library, &one.levels)?;
        }
        not_exported.write(&root.join("api"))?;
    }
    let cuda = CudaNames::read(&root.join("api"))?;
    let mut differing = Vec::new();
    for library in LIBRARIES.iter().filter(|library| args.library.as_ref().is_none_or(|name| name == library.name)) {
        let Some(one) = read.get(library.name) else { continue };
        let (mut changed, mut count) = (Vec::new(), 0);
        let folders = match (generate(one, &cuda, &not_exported), skips(library)) {
            (Err(_), Some(why)) => {
                skipped.insert(library.name, why);
                continue;
            }
            (folders, _) => folders.with_context(|| format!("generating {}", library.package))?,
        };
        for (folder, files) in folders {
            count += files.len();
            changed.extend(write(&root.join(library.package).join(folder), &files, args.check)?);
        }
        let word = if args.check { "differ" } else { "changed" };
        println!("{} ({}): {count} files, {} {word}", library.package, library.name, changed.len());
        match skips(library).filter(|_| !changed.is_empty()) {
            Some(why) => _ = skipped.insert(library.name, why),
            None => differing.extend(changed),
        }
    }
    for (name, why) in &skipped {
        println!("SKIPPED: the bindings of {name} are not compared: {why} (`cargo xtask bindgen`)");
    }
    let libraries = LIBRARIES.iter().filter(|library| read.contains_key(library.name));
    differing.extend(inputs::write(&noted, libraries, &trees, args.check, args.symbols)?);
    if args.library.is_none() && skipped.is_empty() {
        let rows: Vec<coverage::Row<'_>> = LIBRARIES.iter().map(|library| row(&read[library.name])).collect();
        differing.extend(coverage::write(root, &rows, &not_exported, args.check)?);
    }
    if args.check && !differing.is_empty() {
        let names: Vec<String> = differing.iter().map(|path| path.display().to_string()).collect();
        bail!("not as `cargo xtask bindgen` would write them:\n  {}", names.join("\n  "));
    }
    Ok(())
}

fn row(one: &Read) -> coverage::Row<'_> {
    coverage::Row { library: one.library, sources: &one.sources, levels: &one.levels }
}

/// Returns whether `library` is `wanted`, or shares its types with it.
fn is_needed(library: &Library, wanted: Option<&str>) -> bool {
    let Some(wanted) = wanted else { return true };
    let uses = |name: &str| {
        LIBRARIES.iter().find(|other| other.name == name).is_some_and(|other| other.uses.contains(&library.name))
    };
    library.name == wanted || uses(wanted)
}

/// Returns all generated files of one library, by folder of its crate.
fn generate(one: &Read, cuda: &CudaNames, not_exported: &NotExported) -> Result<Vec<(String, Files)>> {
    let Read { library, sources, texts, levels, forms, foreign, .. } = one;
    let mut proof = layout::files(library, sources, levels, texts)?;
    proof.insert("functions.rs".into(), test_tables::addresses(library, levels, forms)?);
    proof.insert("names.rs".into(), test_tables::names(library, levels)?);
    let (source, tests) = library.generated();
    let written = emit::Written { library, sources, levels, forms, foreign, cuda, not_exported };
    Ok(vec![(source, emit::files(&written)?), (tests, proof)])
}

/// The items that a library takes from those that it shares types with.
#[derive(Default)]
struct Shared {
    /// Their items, with the Rust path of the library.
    items: BTreeMap<String, String>,
    /// The form of each at each level.
    classes: Classes,
    /// The constants of their enums.
    constants: BTreeMap<String, Vec<String>>,
    /// Those of them that are aliases of another type.
    types: BTreeMap<String, Kind>,
    /// Their folders of headers.
    folders: Vec<&'static str>,
    /// C text that includes their types.
    prelude: String,
}

impl Shared {
    fn of(library: &Library, done: &BTreeMap<&str, Read>) -> Result<Shared> {
        let mut shared = Shared::default();
        for name in library.uses {
            let other = done.get(name).with_context(|| format!("{name} comes after it in the list of libraries"))?;
            shared.items.extend(other.forms.keys().map(|item| (item.clone(), other.library.path())));
            shared.classes.extend(other.classes.clone());
            for (item, forms) in &other.forms {
                if let Some(Kind::Const(_, Some(of), _)) = forms.last().map(|form| &form.kind) {
                    shared.constants.entry(of.clone()).or_default().push(item.clone());
                }
            }
            shared.types.extend(other.forms.iter().filter_map(|(item, forms)| {
                let kind = &forms.last()?.kind;
                matches!(kind, Kind::Type(_) | Kind::Alias(_)).then(|| (item.clone(), kind.clone()))
            }));
            shared.folders.extend(other.library.folders);
            shared.prelude += &other.library.include_text();
        }
        shared.prelude += library.prelude;
        Ok(shared)
    }
}

/// Reads one library, after those that it shares types with.
fn read(library: &'static Library, api: &Path, trees: &Path, done: &BTreeMap<&str, Read>) -> Result<Read> {
    let shared = Shared::of(library, done)?;
    let mut texts = BTreeMap::new();
    let mut sources = Sources {
        anonymous: library.anonymous,
        back_to: library.back_to.as_ref(),
        names: library.names,
        absent: library.absent.iter().map(|(name, _)| *name).collect(),
        beyond: library.beyond_facts.iter().map(|(name, _)| *name).collect(),
        foreign: shared.items.clone(),
        foreign_constants: shared.constants.clone(),
        foreign_types: shared.types.clone(),
        headers: BTreeMap::new(),
        reference: BTreeSet::new(),
        facts: BTreeMap::new(),
        written: BTreeMap::new(),
    };
    for level in Level::all() {
        if let Some(mut facts) = Facts::read(api, level, library)? {
            if library.names == Names::None {
                let surface = read_facts(library, level, trees, &shared, &mut facts)
                    .with_context(|| format!("level {level}, header written after the facts"))?;
                sources.written.insert(level, surface);
            }
            sources.facts.insert(level, facts);
        }
        if let Some(headers) = library.headers_of(level) {
            let (surface, text) =
                read_headers(library, headers, trees, &shared).with_context(|| format!("headers of {level}"))?;
            sources.headers.insert(level, surface);
            sources.reference.extend(headers.reference.then_some(level));
            texts.insert(level, text);
        }
    }
    let differences = cross_check::differences(&sources, library);
    ensure!(differences.is_empty(), "headers and packages of one release disagree:\n  {}", differences.join("\n  "));
    let mut levels = merge::levels(&sources)?;
    as_newest(library, &mut levels)?;
    let foreign = shared.classes;
    let others = library.uses.iter().filter_map(|name| done.get(name)).map(|other| &other.levels).collect();
    let context = forms::Context { levels: &levels, others, foreign: &foreign };
    let classes = forms::classes(library, &context);
    let forms = forms::forms(&context, &classes)?;
    Ok(Read { library, sources, texts, levels, classes, forms, foreign })
}

/// Gives older levels the newest declaration of the items whose ABI is the same in all.
fn as_newest(library: &Library, levels: &mut BTreeMap<Level, Surface>) -> Result<()> {
    for (name, other) in library.same {
        let (name, other) = (quote::format_ident!("{name}"), quote::format_ident!("{other}"));
        for kind in levels.values_mut().filter_map(|surface| surface.get_mut(&name.to_string())) {
            let docs = kind.docs().map(|text| quote::quote!(#[doc = #text]));
            *kind = Kind::Type(syn::parse_quote!(#docs pub type #name = #other;));
        }
    }
    let newest = levels.values().next_back().cloned().unwrap_or_default();
    for (name, since, _) in library.as_newest {
        ensure!(newest.contains_key(*name), "{name} is not in the newest release");
        let mut used = false;
        for (_, surface) in levels.iter_mut().filter(|(level, _)| *since <= level.number()) {
            if surface.get(*name).is_some_and(|kind| kind.shape() != newest[*name].shape()) {
                merge::take_all(name, &newest, surface);
                used = true;
            }
        }
        ensure!(used, "{name} is the same in every release");
    }
    Ok(())
}

/// Returns the items that `facts` declare, through a C header. Items of other libraries are removed from `facts`.
fn read_facts(library: &Library, level: Level, trees: &Path, shared: &Shared, facts: &mut Facts) -> Result<Surface> {
    let allow = Regex::new(&format!("^({})$", library.allow)).context("what belongs to the library")?;
    facts.only(&allow);
    facts.without(|name| shared.items.contains_key(name) || library.leave_out.contains(&name));
    facts.without(|name| library.absent.iter().any(|(absent, _)| *absent == name));
    let text = write_c::header(facts, library.anonymous, library.packed, &shared.prelude)?;
    let include = nearest_include(trees, level, library.uses);
    let input = headers::Input {
        text: &text,
        include: include.as_deref(),
        cplusplus: false,
        shims: library.shims,
        folders: &[],
        allow: library.allow,
        foreign: &shared.folders,
    };
    let mut surface = surface::surface(headers::parse(&input)?)?;
    surface.retain(|name, _| !shared.items.contains_key(name) && !name.ends_with(write_c::NO_CONSTANT));
    Ok(surface)
}

/// Returns the items of real headers, and their text.
fn read_headers(library: &Library, of: &Headers, trees: &Path, shared: &Shared) -> Result<(Surface, String)> {
    let include = trees.join(of.tree).join(of.include);
    ensure!(
        library.includes.iter().any(|header| include.join(header).is_file()),
        "no headers in {}: run `cargo xtask rocm fetch {} --with {}` first",
        include.display(),
        of.tree,
        BINDINGS
    );
    let input = headers::Input {
        text: &library.include_text(),
        include: Some(&include),
        cplusplus: library.cplusplus,
        shims: library.shims,
        folders: library.folders,
        allow: library.allow,
        foreign: &shared.folders,
    };
    let mut surface = surface::surface(headers::parse(&input)?)?;
    let own = headers::text(&include, library.folders)?;
    surface.retain(|name, kind| {
        // A macro of another library's headers, such as their configuration.
        let stray = matches!(kind, Kind::Const(_, None, _)) && !own.contains(name.as_str());
        !stray && !library.leave_out.contains(&name.as_str()) && !shared.items.contains_key(name)
    });
    groups::give_text(&mut surface, &own);
    Ok((surface, own))
}

/// Returns the include directory with the headers of `libraries` nearest to `level`.
fn nearest_include(trees: &Path, level: Level, libraries: &[&str]) -> Option<PathBuf> {
    let library = LIBRARIES.iter().find(|library| Some(&library.name) == libraries.last())?;
    let levels = library.headers.iter().filter_map(|headers| Level::of(headers.level));
    let nearest = library.headers_of(*level.nearest(levels).first()?)?;
    Some(trees.join(nearest.tree).join(nearest.include))
}
