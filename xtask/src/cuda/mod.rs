//! `cargo xtask cuda`: writes the names of CUDA in `cuda-compat`, and the page that lists them.
//!
//! A name leads to the item that AMD's Python layer (`api/cuda-interop.tsv`) or HIPIFY (`api/cuda-library-names.tsv`) maps it to, or to
//! the item of the same name with ROCm's prefix, if the `-sys` crates have it. `rules.rs` states where that is wrong.

mod enums;
mod found;
mod page;
mod rules;
mod safe;
mod table;
mod wrapper;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use regex::Regex;

use crate::paths;
use found::{Form, Found, Kind, Level};
use rules::{ABSENT, ADDED, BY_HAND, CORRECTED, MODULES, Module, STRUCTS, WRONG};

/// Write the names of CUDA in `cuda-compat` again, and `cuda-compat/CUDA_NAMES.md`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write nothing: fail if a file is not what would be written
    #[arg(long)]
    check: bool,

    /// First write `api/cudarc-api.tsv` from this folder, the source of a published `cudarc`
    #[arg(long, value_name = "FOLDER", conflicts_with = "check")]
    cudarc: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    if let Some(folder) = &args.cudarc {
        let path = paths::root().join("api/cudarc-api.tsv");
        fs::write(&path, safe::api(folder)?).with_context(|| format!("writing {}", path.display()))?;
    }
    for (path, text) in files()? {
        if args.check {
            let is = fs::read_to_string(&path).unwrap_or_default();
            ensure!(is == text, "{} is not up to date (cargo xtask cuda)", path.display());
        } else {
            fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        }
    }
    Ok(())
}

/// All files with their contents.
fn files() -> Result<Vec<(PathBuf, String)>> {
    let folder = paths::root().join("cuda-compat");
    let names = Names::read()?;
    let mut files = vec![(folder.join("CUDA_NAMES.md"), page::page(&names)?)];
    let generated = folder.join("src/generated");
    for module in names.modules.iter().filter(|of| !of.module.is_written) {
        files.push((generated.join(format!("{}.rs", module.module.name)), module.code(&names)?));
    }
    files.push((generated.join("lacking.rs"), names.lacking()?));
    files.push((generated.join("names.tsv"), table::table(&names)?));
    files.push((generated.join("cudarc.tsv"), safe::table()?));
    files.push((folder.join("tests/check/cudarc.rs"), safe::imports()?));
    files.extend(enums::files(&names)?);
    files.push((folder.join("tests/interop/names.rs"), names.of_amd()?));
    Ok(files)
}

/// What CUDA has under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sort {
    Function,
    Type,
    Constant,
}

/// What becomes of a name of CUDA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The item of this name.
    Same(String),
    /// A function of this name, behind one with another signature.
    Wrapped(String),
    /// A function that is `.0` since ROCm 7.0, and `.1` before.
    Renamed(String, String),
    /// A struct of our own, with the layout of this.
    Struct(String),
    /// Another name of a struct of our own.
    Alias(&'static str),
    /// An enum of our own, for numbers of ROCm's.
    Enum(Vec<enums::Variant>),
    /// Another name of an enum of our own.
    Named(String),
    /// Written by hand: how it differs.
    ByHand(&'static str),
    /// A constant that HIP lacks: its value, and HIP's type.
    Invented(u32, String),
    /// Written by hand in a module that is: the functions of ROCm underneath, if it is a function.
    Written(String),
    /// Absent: why.
    Absent(String),
}

/// A name of CUDA.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) sort: Sort,
    pub(crate) fate: Fate,
    /// Whether AMD's Python layer maps it.
    pub(crate) is_interop: bool,
}

/// The names of a module.
pub(crate) struct NamesOf {
    pub(crate) module: &'static Module,
    pub(crate) entries: BTreeMap<String, Entry>,
}

/// All names.
pub(crate) struct Names {
    pub(crate) modules: Vec<NamesOf>,
    found: BTreeMap<&'static str, Found>,
    declared: Vec<Declared>,
    /// Names of AMD's table that are wrong: CUDA, AMD's answer, why.
    pub(crate) wrong: Vec<(String, String, String)>,
}

/// Names of constants, by their value.
type ByValue = BTreeMap<u32, Vec<String>>;

/// Where items are: since which level, in which module.
type Place = (Option<Level>, String);

/// A row of `api/cuda-api.tsv`.
struct Declared {
    module: String,
    sort: Sort,
    name: String,
    of: String,
    value: Option<i64>,
}

fn rows(file: &str, columns: usize) -> Result<Vec<Vec<String>>> {
    let path = paths::root().join("api").join(file);
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let rows = text.lines().skip(1).map(|line| {
        let row: Vec<String> = line.split('\t').map(str::to_owned).collect();
        ensure!(row.len() == columns, "{}: {line:?} does not have {columns} columns", path.display());
        Ok(row)
    });
    rows.collect()
}

fn declared() -> Result<Vec<Declared>> {
    let rows = rows("cuda-api.tsv", 5)?.into_iter().map(|row| {
        let sort = match row[1].as_str() {
            "function" => Sort::Function,
            "type" => Sort::Type,
            "constant" => Sort::Constant,
            other => bail!("api/cuda-api.tsv: {other}"),
        };
        let [module, _, name, of, value] = <[String; 5]>::try_from(row).unwrap_or_default();
        Ok(Declared { module, sort, name, of, value: value.parse().ok() })
    });
    rows.collect()
}

/// The module of a name in AMD's table.
fn module_of(name: &str) -> &'static str {
    if name.starts_with("nvrtc") || name.starts_with("NVRTC_") || name == "_nvrtcProgram" {
        "nvrtc"
    } else if name.starts_with("cublas") {
        "cublas"
    } else if name.starts_with("CUDA_R_") || name.starts_with("CUDA_C_") {
        "runtime"
    } else if name.starts_with("cu") && !name.starts_with("cuda") || name.starts_with("CU") {
        "driver"
    } else {
        "runtime"
    }
}

/// The public names of a module that is written by hand, each with the functions of ROCm in its `doc(alias)`.
fn written(module: &str) -> Result<BTreeMap<String, String>> {
    let item = Regex::new(concat!(
        r#"(?:#\[doc\(alias\(([^)]*)\)\)\]\s*)?pub (?:unsafe extern "C" )?(?:fn|type|struct|const) (\w+)"#,
        r"|pub use (\w+) as (\w+);|(?m:^\s+([A-Z]\w+) = \d+,)|(?m:^    (\w+_t) \{)",
    ))?;
    let folder = paths::root().join("cuda-compat/src").join(module);
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let mut others = Vec::new();
    for file in ["types.rs", "sys.rs"] {
        let path = folder.join(file);
        let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        for found in item.captures_iter(&text) {
            let group = |index: usize| found.get(index).map(|group| group.as_str().to_owned());
            match (group(2), group(3).zip(group(4)), group(5).or_else(|| group(6))) {
                (Some(name), ..) => drop(names.insert(name, group(1).unwrap_or_default().replace('"', ""))),
                (_, Some((of, name)), _) => others.push((of, name)),
                (.., name) => drop(names.insert(name.unwrap_or_default(), String::new())),
            }
        }
    }
    for (of, name) in others {
        let beneath = names.get(&of).with_context(|| format!("{of} is not a name of {module}"))?.clone();
        names.insert(name, beneath);
    }
    Ok(names)
}

/// Constants that count others, or fill up an enum: their values change with each release.
fn is_a_limit(name: &str) -> bool {
    ["_MAX", "Max", "_COUNT", "Count", "_NUM", "_FORCE", "NUM_OPTIONS", "NUM_INPUT_TYPES", "_FORCE_INT", "Force32"]
        .iter()
        .any(|end| name.ends_with(end))
        || name.contains("eserved")
}

/// What distinguishes an invented constant: no enum of HIP has values near it.
const INVENTED: u32 = 0x4355_0000;

/// A name without its version: what `cuda.h` turns into it.
pub(crate) fn unversioned(name: &str) -> String {
    let (stem, wide) = name.strip_suffix("_64").map_or((name, ""), |stem| (stem, "_64"));
    let stem = stem.strip_suffix("_v2").or_else(|| stem.strip_suffix("_v3")).unwrap_or(stem);
    format!("{stem}{wide}")
}

impl Names {
    fn read() -> Result<Self> {
        let libraries: BTreeSet<&'static str> = MODULES.iter().map(|module| module.library).collect();
        let found: BTreeMap<_, _> =
            libraries.into_iter().map(|name| Ok((name, Found::read(name)?))).collect::<Result<_>>()?;
        let declared = declared()?;
        let interop: BTreeMap<String, String> =
            rows("cuda-interop.tsv", 3)?.into_iter().map(|row| (row[0].clone(), row[1].clone())).collect();
        let hipified: BTreeMap<String, String> =
            rows("cuda-library-names.tsv", 2)?.into_iter().map(|row| (row[1].clone(), row[0].clone())).collect();
        let wrong = WRONG.iter().map(|(pattern, why)| Ok((Regex::new(pattern)?, *why))).collect::<Result<Vec<_>>>()?;
        let absent =
            ABSENT.iter().map(|(pattern, why)| Ok((Regex::new(pattern)?, *why))).collect::<Result<Vec<_>>>()?;
        let mut names = Self { modules: Vec::new(), found, declared, wrong: Vec::new() };
        for (name, to) in &interop {
            if let Some((_, why)) = wrong.iter().find(|(pattern, _)| pattern.is_match(name)) {
                names.wrong.push((name.clone(), to.clone(), (*why).to_owned()));
            }
            for (_, _, right, why) in CORRECTED.iter().filter(|(_, of, ..)| of == name) {
                names.wrong.push((name.clone(), to.clone(), format!("{why}: here it is `{right}`")));
            }
        }
        for module in MODULES {
            let reader = Reader { module, found: &names.found[module.library], interop: &interop, hipified: &hipified };
            let mut entries: BTreeMap<String, Entry> = BTreeMap::new();
            let is_wrong = |name: &str| wrong.iter().find(|(pattern, _)| pattern.is_match(name)).map(|(_, why)| *why);
            let written = if module.is_written { written(module.name)? } else { BTreeMap::new() };
            let of_module: Vec<&Declared> = names.declared.iter().filter(|row| row.module == module.name).collect();
            let mut all: Vec<(&str, Sort)> = of_module.iter().map(|row| (row.name.as_str(), row.sort)).collect();
            let known: BTreeSet<&str> = all.iter().map(|(name, _)| *name).collect();
            let unversioned: BTreeSet<String> =
                of_module.iter().filter(|row| row.sort == Sort::Function).map(|row| unversioned(&row.name)).collect();
            all.extend(
                unversioned
                    .iter()
                    .map(String::as_str)
                    .filter(|name| !known.contains(name))
                    .map(|name| (name, Sort::Function)),
            );
            let more = ADDED.iter().filter(|(of, ..)| *of == module.name).map(|(_, name, to)| (*name, *to));
            let of_amd = interop.iter().filter(|(name, _)| module_of(name) == module.name);
            let of_amd = of_amd.map(|(name, to)| (name.as_str(), to.as_str()));
            for (name, to) in more.chain(of_amd) {
                if !known.contains(name) && !unversioned.contains(name) {
                    let kind = reader.found.get(to).map(|form| form.kind);
                    all.push((name, kind.map_or(Sort::Constant, sort_of)));
                }
            }
            for (name, sort) in all {
                let is_interop = interop.contains_key(name);
                if name.starts_with("hip") || name.starts_with("HIP") || name == "getLocalRuntimeVersion" {
                    continue;
                }
                let by_hand = BY_HAND.iter().find(|(of, by_hand, _)| (*of, *by_hand) == (module.name, name));
                let fate = if let Some(beneath) = written.get(name) {
                    Fate::Written(beneath.clone())
                } else if let Some((.., how)) = by_hand {
                    Fate::ByHand(how)
                } else if let Some(why) = is_wrong(name) {
                    Fate::Absent(why.to_owned())
                } else if let Some(to) = reader.target(name) {
                    reader.fate(name, &to)?
                } else {
                    let why = match sort {
                        Sort::Function => {
                            absent.iter().find(|(pattern, _)| pattern.is_match(name)).map_or("", |(_, why)| *why)
                        }
                        Sort::Type | Sort::Constant => "",
                    };
                    Fate::Absent(why.to_owned())
                };
                entries.insert(name.to_owned(), Entry { sort, fate, is_interop });
            }
            reader.types(&of_module, &mut entries);
            reader.constants(&of_module, &mut entries)?;
            reader.enums(&of_module, &mut entries);
            names.modules.push(NamesOf { module, entries });
        }
        Ok(names)
    }

    /// The form that a module's name leads to.
    fn form(&self, module: &Module, name: &str) -> Result<&Form> {
        self.found[module.library].get(name).with_context(|| format!("{}-sys has no {name}", module.library))
    }

    /// The names of AMD's table that are here, for the test that uses each.
    fn of_amd(&self) -> Result<String> {
        let mut text = format!("{HEAD}\nnames! {{\n");
        for of in &self.modules {
            let mut names = of
                .entries
                .iter()
                .filter(|(_, entry)| entry.is_interop && !matches!(entry.fate, Fate::Absent(_)))
                .peekable();
            if names.peek().is_none() {
                continue;
            }
            writeln!(text, "    {} {{", of.module.name)?;
            for (name, _) in names {
                writeln!(text, "        {name},")?;
            }
            text.push_str("    }\n");
        }
        text.push_str("}\n");
        Ok(text)
    }

    /// The names of invented constants.
    fn lacking(&self) -> Result<String> {
        let mut types: BTreeMap<String, (Vec<String>, ByValue)> = BTreeMap::new();
        for of in &self.modules {
            for (name, entry) in &of.entries {
                if let Fate::Invented(value, ty) = &entry.fate {
                    let form = self.form(of.module, ty)?;
                    // HIP and HIPRTC are always there; another library is a feature with the name of its module.
                    let library = (!of.module.is_interop).then(|| of.module.name.to_owned());
                    let features = || library.into_iter().chain(form.feature()).collect();
                    let (_, values) =
                        types.entry(format!("{}::{ty}", form.module)).or_insert_with(|| (features(), BTreeMap::new()));
                    values.entry(*value).or_default().push(name.clone());
                }
            }
        }
        let mut text = format!("{HEAD}\nuse crate::CudaName;\n");
        for (ty, (features, values)) in types {
            text.push('\n');
            for feature in features {
                writeln!(text, "#[cfg(feature = \"{feature}\")]")?;
            }
            writeln!(
                text,
                "impl CudaName for {ty} {{\n    fn cuda_name(self) -> Option<&'static ::core::ffi::CStr> {{"
            )?;
            writeln!(text, "        Some(match self.0 {{")?;
            for (value, names) in values {
                writeln!(text, "            {value:#x} => c\"{}\",", names[0])?;
            }
            text.push_str("            _ => return None,\n        })\n    }\n}\n");
        }
        Ok(text)
    }
}

const HEAD: &str = "// Generated by `cargo xtask cuda`; do not edit.\n";

fn sort_of(kind: Kind) -> Sort {
    match kind {
        Kind::Function => Sort::Function,
        Kind::Enum | Kind::Type => Sort::Type,
        Kind::Constant => Sort::Constant,
    }
}

/// Decides what becomes of a module's names.
struct Reader<'a> {
    module: &'static Module,
    found: &'a Found,
    interop: &'a BTreeMap<String, String>,
    hipified: &'a BTreeMap<String, String>,
}

impl Reader<'_> {
    /// The item of the `-sys` crate that a name leads to.
    fn target(&self, name: &str) -> Option<String> {
        let corrected = CORRECTED.iter().find(|(of, from, ..)| (*of, *from) == (self.module.name, name));
        if let Some((_, _, to, _)) = corrected {
            return Some((*to).to_owned());
        }
        if let Some((.., to)) = ADDED.iter().find(|(of, from, _)| (*of, *from) == (self.module.name, name)) {
            return Some((*to).to_owned());
        }
        if self.module.is_interop {
            let plain = unversioned(name);
            return self
                .interop
                .get(name)
                .or_else(|| self.interop.get(&plain))
                .filter(|to| self.found.get(to).is_some())
                .cloned();
        }
        let candidates = self.candidates(name);
        let current = candidates.iter().find(|name| self.found.get(name).is_some_and(Form::is_current));
        current.or_else(|| candidates.iter().find(|name| self.found.get(name).is_some())).cloned()
    }

    fn candidates(&self, name: &str) -> Vec<String> {
        let plain = unversioned(name);
        let mut candidates: Vec<String> = self.hipified.get(&plain).into_iter().cloned().collect();
        if self.module.prefixes.is_empty() {
            candidates.push(name.to_owned());
        }
        for (from, to) in self.module.prefixes {
            for name in [name, &plain] {
                let Some(rest) = name.strip_prefix(from) else { continue };
                let stem = rest.strip_suffix("_64");
                candidates.push(format!("{to}{rest}"));
                candidates.push(stem.map_or(format!("{to}{rest}_v2"), |stem| format!("{to}{stem}_v2_64")));
            }
        }
        if self.module.name == "cufile" {
            let flat = |name: &str| name.replace('_', "").to_lowercase();
            let wanted: Vec<String> = candidates.iter().map(|name| flat(name)).collect();
            candidates.extend(self.found.names().filter(|name| wanted.contains(&flat(name))).cloned());
        }
        candidates
    }

    fn fate(&self, name: &str, to: &str) -> Result<Fate> {
        if self.module.name == "driver" {
            if let Some((ours, _, _)) = STRUCTS.iter().find(|(_, theirs, _)| *theirs == to) {
                return Ok(if *ours == name { Fate::Struct(to.to_owned()) } else { Fate::Alias(ours) });
            }
        }
        let Some(form) = self.found.get(to) else {
            return Ok(Fate::Same(to.to_owned()));
        };
        if form.kind != Kind::Function {
            return Ok(Fate::Same(to.to_owned()));
        }
        // What ROCm 7.0 renamed from `_v2` has one signature under both names.
        let before = self.candidates(name).into_iter().find(|other| {
            other != to
                && self.found.get(other).is_some_and(|other| !other.is_current() && other.kind == Kind::Function)
        });
        if let Some(before) = before.filter(|_| form.level > Some((5, 7)) && !self.module.is_interop) {
            if wrapper::same_signature(form, self.found.get(&before).context("it was found")?)? {
                return Ok(Fate::Renamed(to.to_owned(), before));
            }
        }
        match wrapper::differs(self.module, name, form)? {
            true => Ok(Fate::Wrapped(to.to_owned())),
            false => Ok(Fate::Same(to.to_owned())),
        }
    }

    /// Enum types that nothing maps: the type of their constants, if it is one.
    fn types(&self, declared: &[&Declared], entries: &mut BTreeMap<String, Entry>) {
        for ty in declared.iter().filter(|row| row.sort == Sort::Type) {
            if !matches!(entries.get(&ty.name), Some(Entry { fate: Fate::Absent(why), .. }) if why.is_empty()) {
                continue;
            }
            let constants = declared.iter().filter(|row| row.sort == Sort::Constant && row.of == ty.name);
            let of: BTreeSet<&str> = constants
                .filter_map(|row| match &entries.get(&row.name)?.fate {
                    Fate::Same(to) => Some(self.found.get(to)?.text.as_str()),
                    _ => None,
                })
                .collect();
            let of: Vec<&str> = of.into_iter().collect();
            if let ([of], Some(entry)) = (&of[..], entries.get_mut(&ty.name)) {
                if self.found.get(of).is_some_and(|form| form.kind == Kind::Enum) {
                    entry.fate = Fate::Same((*of).to_owned());
                }
            }
        }
    }

    /// Constants that nothing maps: another name of one that is mapped, or one of ours.
    fn constants(&self, declared: &[&Declared], entries: &mut BTreeMap<String, Entry>) -> Result<()> {
        let constants: Vec<&&Declared> = declared.iter().filter(|row| row.sort == Sort::Constant).collect();
        let mut invented: BTreeMap<(String, u32), i64> = BTreeMap::new();
        for row in &constants {
            let Some(entry) = entries.get(&row.name) else { continue };
            let Some(value) = row.value.filter(|_| matches!(&entry.fate, Fate::Absent(why) if why.is_empty())) else {
                continue;
            };
            if row.name.ends_with("_FORCE") || row.name.contains("FORCE_INT") || value == 0x7fff_ffff {
                continue;
            }
            let twin = constants.iter().find_map(|other| {
                if (other.of.as_str(), other.value) != (row.of.as_str(), Some(value)) || is_a_limit(&other.name) {
                    return None;
                }
                match &entries.get(&other.name)?.fate {
                    Fate::Same(to) => Some(Fate::Same(to.clone())),
                    _ => None,
                }
            });
            if let Some(fate) = twin.filter(|_| !is_a_limit(&row.name)) {
                entries.get_mut(&row.name).context("it is there")?.fate = fate;
                continue;
            }
            let Some(Fate::Same(ty)) =
                entries.get(&row.of).map(|entry| entry.fate.clone()).or_else(|| self.target(&row.of).map(Fate::Same))
            else {
                continue;
            };
            if self.found.get(&ty).is_none_or(|form| form.kind != Kind::Enum) {
                continue;
            }
            let number = INVENTED | u32::try_from(value & 0xffff)?;
            let old = invented.insert((ty.clone(), number), value);
            ensure!(old.is_none_or(|old| old == value), "{}: {value} and {old:?} would be one constant", row.name);
            entries.get_mut(&row.name).context("it is there")?.fate = Fate::Invented(number, ty);
        }
        Ok(())
    }
}

impl NamesOf {
    /// The code of the module.
    fn code(&self, names: &Names) -> Result<String> {
        let mut uses: BTreeMap<Place, Vec<(String, String)>> = BTreeMap::new();
        let mut items = String::new();
        for (name, entry) in &self.entries {
            let same = |to: &str| names.form(self.module, to).cloned();
            match &entry.fate {
                Fate::Same(to) => {
                    let form = same(to)?;
                    uses.entry((form.level, form.module)).or_default().push((to.clone(), name.clone()));
                }
                Fate::Wrapped(to) => items.push_str(&wrapper::wrapper(self.module, name, &same(to)?)?),
                Fate::Renamed(now, before) => items.push_str(&wrapper::renamed(name, &same(now)?, &same(before)?)?),
                Fate::Struct(to) => items.push_str(&wrapper::structure(name, to, &same(to)?)?),
                Fate::Alias(ours) => {
                    let (_, theirs, _) = STRUCTS.iter().find(|(name, ..)| name == ours).context("it is a struct")?;
                    let form = same(theirs)?;
                    wrapper::feature(&mut items, &form);
                    writeln!(items, "/// [`{ours}`].\npub type {name} = {ours};")?;
                }
                Fate::Enum(variants) => items.push_str(&enums::code(names, self, name, variants)?),
                Fate::Named(of) => {
                    if let Some(Fate::Enum(variants)) = self.entries.get(of).map(|entry| &entry.fate) {
                        enums::gate(&mut items, names, self, variants)?;
                    }
                    writeln!(items, "/// [`{of}`].\npub type {name} = {of};")?;
                }
                Fate::Invented(value, ty) => {
                    let form = same(ty)?;
                    wrapper::feature(&mut items, &form);
                    let path = format!("{}::{ty}", form.module);
                    writeln!(
                        items,
                        "/// HIP has no such constant, and no function of HIP returns it.\npub const {name}: {path} = {path}({value:#x});"
                    )?;
                }
                Fate::ByHand(_) | Fate::Written(_) | Fate::Absent(_) => {}
            }
        }
        let mut text = format!("{HEAD}\n");
        if self.module.name == "driver" {
            text.push_str("use super::super::driver::CUdeviceptr;\n\n");
        }
        for ((level, module), mut pairs) in uses {
            pairs.sort();
            if let Some((major, minor)) = level {
                writeln!(text, "#[cfg(feature = \"rocm-{major}-{minor}\")]")?;
            }
            writeln!(text, "pub use {module}::{{")?;
            for (to, name) in pairs {
                match to == name {
                    true => writeln!(text, "    {to},")?,
                    false => writeln!(text, "    {to} as {name},")?,
                }
            }
            text.push_str("};\n");
        }
        if self.module.has_data_types {
            text.push_str("#[doc(no_inline)]\npub use super::runtime::{\n");
            let runtime = names.modules.iter().find(|of| of.module.name == "runtime").context("there is a runtime")?;
            let data = |name: &str| {
                name.starts_with("CUDA_R_")
                    || name.starts_with("CUDA_C_")
                    || ["cudaDataType", "cudaDataType_t", "cudaStream_t", "float2", "double2"].contains(&name)
            };
            let old = |entry: &Entry| matches!(&entry.fate, Fate::Same(to) if names.form(runtime.module, to).is_ok_and(|form| form.level.is_none()));
            for name in runtime.entries.iter().filter(|(name, entry)| data(name) && old(entry)).map(|(name, _)| name) {
                writeln!(text, "    {name},")?;
            }
            text.push_str("};\n");
        }
        text.push('\n');
        text.push_str(&wrapper::formatted(&items)?);
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fate(module: &str, name: &str) -> Fate {
        let names = Names::read().unwrap();
        names.modules.iter().find(|of| of.module.name == module).unwrap().entries[name].fate.clone()
    }

    #[test]
    fn what_is_committed_is_up_to_date() {
        run(&Args { check: true, cudarc: None }).unwrap();
    }

    #[test]
    fn names_lead_where_they_should() {
        let same = |name: &str| Fate::Same(name.to_owned());
        assert_eq!(fate("runtime", "cudaMalloc"), same("hipMalloc"));
        assert_eq!(fate("runtime", "cudaMallocHost"), same("hipMallocHost"));
        assert_eq!(fate("driver", "cuMemAlloc_v2"), Fate::Wrapped("hipMalloc".to_owned()));
        assert_eq!(fate("driver", "cuMemAlloc"), Fate::Wrapped("hipMalloc".to_owned()));
        assert_eq!(fate("nvrtc", "nvrtcGetCUBIN"), same("hiprtcGetCode"));
        assert_eq!(fate("cublas", "cublasSgemm_v2"), same("hipblasSgemm"));
        assert_eq!(fate("nccl", "ncclAllReduce"), same("ncclAllReduce"));
        assert!(matches!(fate("driver", "cuTensorMapEncodeTiled"), Fate::Absent(why) if why.contains("tensor memory")));
        assert!(matches!(fate("driver", "CUDA_ERROR_JIT_COMPILER_NOT_FOUND"), Fate::Invented(0x4355_00dd, _)));
    }

    #[test]
    fn what_is_written_by_hand_or_corrected_is_a_name_of_cuda() {
        let names = Names::read().unwrap();
        let has = |module: &str, name: &str| {
            names.modules.iter().any(|of| of.module.name == module && of.entries.contains_key(name))
        };
        for (module, name) in BY_HAND
            .iter()
            .map(|(module, name, _)| (module, name))
            .chain(CORRECTED.iter().map(|(module, name, ..)| (module, name)))
        {
            assert!(has(module, name), "{module}: {name}");
        }
    }

    #[test]
    fn every_row_of_amds_table_is_mapped_or_listed() {
        let names = Names::read().unwrap();
        let known: BTreeSet<&String> = names.modules.iter().flat_map(|of| of.entries.keys()).collect();
        let wrong: BTreeSet<&String> = names.wrong.iter().map(|(name, ..)| name).collect();
        let rows = rows("cuda-interop.tsv", 3).unwrap();
        assert_eq!(rows.len(), 2777);
        for row in rows {
            assert!(known.contains(&row[0]) || wrong.contains(&row[0]), "{}", row[0]);
        }
        for of in &names.modules {
            for (name, entry) in of.entries.iter().filter(|(name, entry)| entry.is_interop && !wrong.contains(name)) {
                assert!(!matches!(entry.fate, Fate::Absent(_)), "{name}");
            }
        }
    }
}
