//! `cargo xtask bindgen`: generates the `-sys` crates from ROCm's C headers and, for the releases whose headers
//! cannot be had, from the declarations under `api/`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

mod cross_check;
mod doxygen;
mod emit;
mod facts;
mod headers;
mod layout;
mod levels;
mod library;
mod merge;
mod surface;
mod write_c;

use facts::Facts;
use levels::Level;
use library::{LIBRARIES, Library};
use merge::Sources;

/// Generates the bindings of the `-sys` crates, for all API levels.
///
/// Reads the C headers of ROCm 5.7, 6.4 and 7.2 (`cargo xtask rocm fetch`) and the declarations of the releases
/// between and after them under `api/`. The same input gives the same bytes. Needs libclang (Debian: libclang1-19 and
/// libclang-common-19-dev).
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail and name the files that differ from what would be generated
    #[arg(long)]
    check: bool,
    /// Folder with `5.7`, `6.4` and `7.2`, each holding `usr/include/hip` [default: where `cargo xtask rocm fetch` unpacks]
    #[arg(long, value_name = "DIR")]
    headers: Option<PathBuf>,
    /// Only this library
    #[arg(long, value_name = "NAME", value_parser = LIBRARIES.map(|library| library.name))]
    library: Option<String>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let root = crate::paths::root();
    let headers = args.headers.clone().unwrap_or_else(crate::paths::rocm_trees);
    let mut differing = Vec::new();
    let chosen = LIBRARIES.iter().filter(|library| args.library.as_ref().is_none_or(|name| name == library.name));
    for library in chosen {
        let folders = generate(library, &root.join("api"), &headers)
            .with_context(|| format!("generating {}", library.package))?;
        let (mut changed, mut count) = (Vec::new(), 0);
        for (folder, files) in folders {
            count += files.len();
            changed.extend(write(&root.join(library.package).join(folder), &files, args.check)?);
        }
        println!(
            "{}: {count} files, {} {}",
            library.package,
            changed.len(),
            if args.check { "differ" } else { "changed" }
        );
        differing.extend(changed);
    }
    if args.check && !differing.is_empty() {
        let names: Vec<String> = differing.iter().map(|path| path.display().to_string()).collect();
        bail!("not as `cargo xtask bindgen` would write them:\n  {}", names.join("\n  "));
    }
    Ok(())
}

/// All generated files of one library, by folder of its crate.
fn generate(library: &Library, api: &Path, headers: &Path) -> Result<Vec<(&'static str, emit::Files)>> {
    let (sources, texts) = sources(library, api, headers)?;
    let differences = cross_check::differences(&sources, library.beyond_facts);
    ensure!(differences.is_empty(), "headers and packages of one release disagree:\n  {}", differences.join("\n  "));
    let merged = merge::merge(&merge::levels(&sources)?);
    let mut proof = layout::files(library, &sources.headers, &texts)?;
    proof.insert("functions.rs".into(), emit::addresses(library, &merged)?);
    Ok(vec![("src/generated", emit::files(library, &merged)?), ("tests/generated", proof)])
}

/// What is known of one library, and the text of its headers.
fn sources(library: &Library, api: &Path, headers: &Path) -> Result<(Sources, BTreeMap<Level, String>)> {
    let mut texts = BTreeMap::new();
    let mut sources = Sources {
        headers: BTreeMap::new(),
        facts: BTreeMap::new(),
        written: BTreeMap::new(),
        anonymous: library.anonymous,
    };
    for level in Level::all() {
        if let Some(facts) = Facts::read(api, level, library.name, library.renames)? {
            let text = write_c::header(&facts, library.anonymous).context("writing a header after the facts")?;
            let input = headers::Input { text: &text, include: None, allow: library.allow };
            let surface = surface::surface(headers::parse(&input)?)
                .with_context(|| format!("level {level}, header written after the facts"))?;
            sources.written.insert(level, surface);
            sources.facts.insert(level, facts);
        }
        if level.has_headers() {
            let include = headers.join(level.to_string()).join("usr/include");
            ensure!(
                include.join("hip").is_dir(),
                "no headers in {}: run `cargo xtask rocm fetch {level}` first",
                include.display()
            );
            let text: String = library.includes.iter().map(|name| format!("#include <{name}>\n")).collect();
            let input = headers::Input { text: &text, include: Some(&include), allow: library.allow };
            let mut surface =
                surface::surface(headers::parse(&input)?).with_context(|| format!("headers of {level}"))?;
            surface.retain(|name, _| !library.leave_out.contains(&name.as_str()));
            sources.headers.insert(level, surface);
            texts.insert(level, headers::text(&include)?);
        }
    }
    for facts in sources.facts.values_mut() {
        facts.constants.retain(|name, _| !library.leave_out.contains(&name.as_str()));
    }
    Ok((sources, texts))
}

/// Writes the files that changed and removes those that are no more; hands back which.
fn write(folder: &Path, files: &emit::Files, check: bool) -> Result<Vec<PathBuf>> {
    let mut changed = Vec::new();
    for (name, text) in files {
        let path = folder.join(name);
        if std::fs::read_to_string(&path).ok().as_ref() != Some(text) {
            if !check {
                let parent = path.parent().context("a file without a folder")?;
                std::fs::create_dir_all(parent).with_context(|| format!("creating {}", parent.display()))?;
                std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
            }
            changed.push(path);
        }
    }
    for path in rust_files(folder)? {
        let name = path.strip_prefix(folder).context("a file outside of its folder")?;
        if !files.contains_key(name) {
            if !check {
                std::fs::remove_file(&path).with_context(|| format!("removing {}", path.display()))?;
            }
            changed.push(path);
        }
    }
    Ok(changed)
}

fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if folder.is_dir() {
        for entry in std::fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                found.extend(rust_files(&path)?);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
