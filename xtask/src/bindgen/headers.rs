//! Runs bindgen over a C header, and returns its output as parsed Rust, with the macros that bindgen does not support.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ::bindgen::callbacks::{DeriveTrait, ImplementsTrait, MacroParsingBehavior, ParseCallbacks};
use anyhow::{Context, Result, bail};

/// bindgen's output for one header.
pub(crate) struct Parsed {
    pub(crate) file: syn::File,
    /// Object-like macros of the header whose body is a name or a cast (`((hipStream_t)2)`), in C syntax.
    pub(crate) macros: BTreeMap<String, String>,
}

/// The header to read.
pub(crate) struct Input<'a> {
    /// The C text passed to clang.
    pub(crate) text: &'a str,
    /// The include directory, if the text includes anything.
    pub(crate) include: Option<&'a Path>,
    /// Whether it is read as C++.
    pub(crate) cplusplus: bool,
    /// Headers to omit.
    pub(crate) shims: &'a [&'a str],
    /// Folders below the include directory whose macros belong to the library.
    pub(crate) folders: &'a [&'a str],
    /// Regular expression: names that belong to the library.
    pub(crate) allow: &'a str,
    /// Folders below the include directory that belong to another library: its types are only mentioned.
    pub(crate) foreign: &'a [&'a str],
}

/// Runs bindgen.
pub(crate) fn parse(input: &Input<'_>) -> Result<Parsed> {
    // bindgen itself panics without it.
    if let Err(error) = clang_sys::load() {
        bail!("libclang cannot be loaded (Debian: apt-get install libclang1-19 libclang-common-19-dev): {error}");
    }
    let shims = shims(input.shims)?;
    let macros = Rc::new(RefCell::new(Vec::new()));
    let language = if input.cplusplus { ["-x", "c++", "-std=c++17"] } else { ["-x", "c", "-std=c11"] };
    let mut builder = ::bindgen::builder()
        .header_contents("input.h", input.text)
        .clang_args(language)
        .clang_arg("-D__HIP_PLATFORM_AMD__")
        .allowlist_item(input.allow)
        .default_enum_style(::bindgen::EnumVariation::NewType { is_bitfield: false, is_global: true })
        .prepend_enum_name(false)
        .use_core()
        .ctypes_prefix("core::ffi")
        .layout_tests(false)
        .merge_extern_blocks(true)
        .generate_comments(true)
        .disable_header_comment()
        .formatter(::bindgen::Formatter::None)
        .parse_callbacks(Box::new(Macros(Rc::clone(&macros))));
    if let Some(include) = input.include {
        builder = builder.clang_arg(format!("-I{}", shims.path().display()));
        builder = builder.clang_arg(format!("-I{}", include.display()));
    }
    for folder in input.foreign {
        builder = builder.blocklist_file(format!(".*/include/{folder}/.*"));
    }
    let text = builder.generate().context("bindgen could not read the C header")?.to_string();
    let file = syn::parse_file(&text).context("bindgen's output does not parse")?;
    let names = macros.borrow().clone();
    let macros = match input.include {
        Some(include) => macro_bodies(include, input.folders, &names)?,
        None => BTreeMap::new(),
    };
    Ok(Parsed { file, macros })
}

/// Creates a folder with the C++ headers that some C headers include, and with empty headers.
fn shims(empty: &[&str]) -> Result<tempfile::TempDir> {
    let folder = tempfile::tempdir().context("creating a temporary folder")?;
    for name in empty {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().context("a header without a folder")?).context("creating a folder")?;
        std::fs::write(path, "").context("writing to a temporary folder")?;
    }
    for name in ["cstddef", "cstdint"] {
        let text = format!("#include <{}.h>\n", &name[1..]);
        std::fs::write(folder.path().join(name), text).context("writing to a temporary folder")?;
    }
    Ok(folder)
}

/// Collects the names of the object-like macros that are defined.
#[derive(Debug)]
struct Macros(Rc<RefCell<Vec<String>>>);

impl ParseCallbacks for Macros {
    fn will_parse_macro(&self, name: &str) -> MacroParsingBehavior {
        self.0.borrow_mut().push(name.to_owned());
        MacroParsingBehavior::Default
    }

    /// Types of other libraries are plain C types: they implement Copy and Debug.
    fn blocklisted_type_implements_trait(&self, _: &str, derive: DeriveTrait) -> Option<ImplementsTrait> {
        matches!(derive, DeriveTrait::Copy | DeriveTrait::Debug).then_some(ImplementsTrait::Yes)
    }
}

/// Returns the bodies of those of `names` that `folders` define as another name or as a cast of a number.
fn macro_bodies(include: &Path, folders: &[&str], names: &[String]) -> Result<BTreeMap<String, String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in all_header_files(include, folders)? {
        let text = std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        for (name, body) in definitions(&String::from_utf8_lossy(&text)) {
            if names.contains(&name) {
                let bodies = found.entry(name).or_default();
                if !bodies.contains(&body) {
                    bodies.push(body);
                }
            }
        }
    }
    let mut one = BTreeMap::new();
    for (name, bodies) in found {
        match <[String; 1]>::try_from(bodies) {
            Ok([body]) => {
                one.insert(name, body);
            }
            Err(bodies) if name.starts_with("hip") => {
                bail!("macro {name} has several definitions: {bodies:?}")
            }
            Err(_) => {}
        }
    }
    Ok(one)
}

/// Returns the text of all headers in `folders`.
pub(crate) fn text(include: &Path, folders: &[&str]) -> Result<String> {
    let mut all = String::new();
    for path in all_header_files(include, folders)? {
        let text = std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        all.push_str(&String::from_utf8_lossy(&text));
    }
    Ok(all)
}

fn all_header_files(include: &Path, folders: &[&str]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in folders.iter().map(|folder| include.join(folder)).filter(|folder| folder.is_dir()) {
        files.extend(header_files(&folder)?);
    }
    Ok(files)
}

fn header_files(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).with_context(|| format!("reading {}", directory.display()))? {
        let path = entry?.path();
        let nvidia = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("nv"));
        if path.is_dir() && !nvidia {
            files.extend(header_files(&path)?);
        } else if path.extension().is_some_and(|ext| ext == "h") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Returns the `#define NAME BODY` lines of a header, with continued lines joined and comments removed.
fn definitions(text: &str) -> Vec<(String, String)> {
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let mut found = Vec::new();
    for line in joined.lines() {
        let Some(rest) = line.trim_start().strip_prefix('#') else { continue };
        let Some(rest) = rest.trim_start().strip_prefix("define ") else { continue };
        let rest = rest.trim_start();
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (name, body) = rest.split_at(end);
        if body.starts_with('(') {
            continue; // takes arguments
        }
        let cut = body.find("//").into_iter().chain(body.find("/*")).min().unwrap_or(body.len());
        let body = body[..cut].split_whitespace().collect::<Vec<_>>().join(" ");
        if !body.is_empty() {
            found.push((name.to_owned(), body));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_read_off_a_header() {
        let text = "#define A hipB ///< Doc\n#  define STREAM ((hipStream_t)2)\n#define F(x) x\n\
                    #define LONG \\\n    hipC /* doc\n */\n#define GUARD_H\nint x;\n";
        let found = definitions(text);
        let pairs: Vec<(&str, &str)> = found.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(pairs, [("A", "hipB"), ("STREAM", "((hipStream_t)2)"), ("LONG", "hipC")]);
    }
}
