//! The layers of the crate `hip`: imports go down only.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail, ensure};
use syn::{Item, UseTree};

use super::code::{Code, Named};
use crate::paths;
use crate::process::cargo;

/// The folders of `hip/src`, from the lowest layer up. A file may use its own folder and those before it.
const LAYERS: [&str; 9] = ["core", "stream", "memory", "texture", "interop", "module", "graph", "execution", "macros"];

/// Checks every file of `hip/src`.
pub(crate) fn check() -> Result<()> {
    let root = paths::root().join("hip/src");
    let mut files = Vec::new();
    read(&root, "", &mut files)?;
    let found = violations(&LAYERS, &files)?;
    ensure!(
        found.is_empty(),
        "imports of hip/src go up (from the ground floor, its layers are {}):\n  {}",
        LAYERS.join(", "),
        found.join("\n  ")
    );
    Ok(())
}

/// Compiles each layer with only those below it. This also detects dependencies without an import: methods that a
/// higher layer adds to a type of a lower one.
pub(crate) fn check_alone() -> Result<()> {
    let folder = paths::root().join("target/layers");
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let own = std::env::current_exe().context("this program's own path is unknown")?;
    // The last layer has nothing above it.
    for (index, layer) in LAYERS.iter().enumerate().take(LAYERS.len() - 1) {
        let modules = LAYERS[..=index].iter().map(|name| {
            let path = paths::root().join("hip/src").join(name).join("mod.rs");
            format!("#[path = {path:?}]\nmod {name};\n")
        });
        fs::write(folder.join(format!("{layer}.rs")), modules.collect::<String>())?;
        let mut command = cargo();
        command.args(["rustc", "--quiet", "-p", "hip", "--lib", "--profile", "check", "--all-features"]);
        command.arg("--target-dir").arg(&folder).args(["--", "--cap-lints", "allow", "--cfg"]);
        command.arg(format!("{ALONE}={layer:?}")).env("RUSTC_WORKSPACE_WRAPPER", &own);
        let status = command.status().context("running cargo")?;
        ensure!(status.success(), "the layers of hip up to {layer} do not compile without those above");
    }
    Ok(())
}

/// The `cfg` that makes a call of the compiler compile some layers alone.
const ALONE: &str = "hip_layers_up_to";

/// Acts as the compiler wrapper, if [`check_alone`] started this program for that: calls the compiler, with another
/// root of the crate if the arguments ask for it.
pub(crate) fn wrap_compiler() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    let wrapper = std::env::var_os("RUSTC_WORKSPACE_WRAPPER")?;
    let compiler = args.next().filter(|_| std::env::current_exe().is_ok_and(|own| own.as_os_str() == wrapper))?;
    let args = other_root(args.map(|arg| arg.to_string_lossy().into_owned()).collect());
    let status = Command::new(compiler).args(args).status().ok()?;
    Some(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the arguments of a compiler, with the root of the crate `hip` that their `cfg` names.
fn other_root(mut args: Vec<String>) -> Vec<String> {
    let asked = args.iter().find_map(|arg| arg.strip_prefix(ALONE)?.strip_prefix("=\"")?.strip_suffix('"'));
    if let Some(layer) = asked.map(str::to_owned) {
        for arg in args.iter_mut().filter(|arg| arg.ends_with("hip/src/lib.rs")) {
            *arg = paths::root().join("target/layers").join(format!("{layer}.rs")).to_string_lossy().into_owned();
        }
    }
    args
}

/// Reads the sources below a folder, with their paths from the root of the crate.
fn read(folder: &Path, prefix: &str, files: &mut Vec<(String, String)>) -> Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if path.is_dir() {
            read(&path, &format!("{prefix}{name}/"), files)?;
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
            files.push((format!("{prefix}{name}"), text));
        }
    }
    Ok(())
}

/// The names at the root of the crate, each with its layer, or `None` for another crate.
type Root = BTreeMap<String, Option<String>>;

/// Returns the imports that go up, one per line. `files` are paths from the root of the crate, and their text.
fn violations(layers: &[&str], files: &[(String, String)]) -> Result<Vec<String>> {
    let rank = |layer: &str| layers.iter().position(|known| *known == layer);
    let root = root(layers, files)?;
    let mut found = Vec::new();
    for (file, text) in files.iter().filter(|(file, _)| file != "lib.rs") {
        let layer = file.split(['/', '.']).next().unwrap_or_default();
        let Some(own) = rank(layer) else {
            bail!("hip/src/{file} is in no layer: xtask/src/ci/layers.rs has their order")
        };
        let code = Code::read(text, &module_of(file)).with_context(|| format!("hip/src/{file}"))?;
        let paths: BTreeSet<_> = code.named.iter().filter_map(Named::at_root).filter(|path| !path.is_empty()).collect();
        for path in paths {
            let Some(target) = root.get(&path[0]) else {
                found.push(format!("{file}: crate::{} is not known at the root of the crate", path.join("::")));
                continue;
            };
            let Some(above) = target.as_deref().filter(|target| rank(target).is_some_and(|rank| rank > own)) else {
                continue;
            };
            found.push(format!("{file}: crate::{} is in {above}, above {layer}", path.join("::")));
        }
    }
    Ok(found)
}

/// Returns the path of a file's module from the root of the crate.
fn module_of(file: &str) -> Vec<String> {
    let file = file.trim_end_matches(".rs");
    file.trim_end_matches("/mod").split('/').map(str::to_owned).collect()
}

/// Returns the names in `lib.rs`, and the macros that other files export.
fn root(layers: &[&str], files: &[(String, String)]) -> Result<Root> {
    let Some((_, lib)) = files.iter().find(|(file, _)| file == "lib.rs") else { bail!("hip/src has no lib.rs") };
    let mut root = Root::new();
    for item in syn::parse_file(lib).context("hip/src/lib.rs")?.items {
        match item {
            Item::Mod(module) => {
                let name = module.ident.to_string();
                ensure!(
                    layers.contains(&name.as_str()),
                    "the module {name} of hip is in no layer: xtask/src/ci/layers.rs has their order"
                );
                root.insert(name.clone(), Some(name));
            }
            Item::Use(import) => names(&import.tree, None, layers, &mut root),
            _ => {}
        }
    }
    for (file, text) in files {
        // `#[macro_export]` puts a macro at the root, whatever module it is in.
        let (layer, mut rest) = (file.split('/').next().unwrap_or_default(), text.as_str());
        while let Some(at) = rest.find("#[macro_export]") {
            rest = &rest[at + 1..];
            let name = rest.split_once("macro_rules!").and_then(|(_, name)| name.split_whitespace().next());
            root.extend(name.map(|name| (name.to_owned(), Some(layer.to_owned()))));
        }
    }
    Ok(root)
}

/// Adds the names that an import declares, with their layer.
fn names(tree: &UseTree, of: Option<&str>, layers: &[&str], root: &mut Root) {
    let mut add = |name: String| {
        let layer = of.filter(|of| layers.contains(of)).map(str::to_owned);
        root.entry(name).or_insert(layer);
    };
    match tree {
        UseTree::Path(path) => {
            let first = path.ident.to_string();
            let of =
                if of.is_some() { of } else { Some(first.as_str()).filter(|first| !["crate", "self"].contains(first)) };
            names(&path.tree, of, layers, root);
        }
        UseTree::Name(name) => add(name.ident.to_string()),
        UseTree::Rename(rename) => add(rename.rename.to_string()),
        UseTree::Glob(_) => {}
        UseTree::Group(group) => group.items.iter().for_each(|tree| names(tree, of, layers, root)),
    }
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    const TWO: [&str; 2] = ["low", "high"];
    const LIB: &str =
        "mod high; mod low; pub use high::{Tower, flag::Flag as Banner}; pub use other; pub use self::low::Cellar;";

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let mut all = vec![("lib.rs".to_owned(), LIB.to_owned())];
        all.extend(files.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())));
        violations(&TWO, &all).unwrap()
    }

    #[test]
    fn imports_of_hip_run_down() {
        check().unwrap();
    }

    #[test]
    fn the_compiler_gets_another_root_where_asked() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let plain = words(&["--crate-name", "hip", "hip/src/lib.rs", "--cfg", "feature=\"sim\""]);
        assert_eq!(other_root(plain.clone()), plain);
        let asked = other_root(words(&["--crate-name", "hip", "hip/src/lib.rs", "--cfg", "hip_layers_up_to=\"core\""]));
        assert!(asked[2].ends_with("target/layers/core.rs"), "{asked:?}");
    }

    #[test]
    fn every_layer_is_there() {
        for layer in LAYERS {
            assert!(paths::root().join("hip/src").join(layer).join("mod.rs").is_file(), "{layer}");
        }
    }

    #[test]
    fn down_and_sideways_is_fine() {
        let text = "use crate::low::{Cellar, wine::Red}; use crate::{Banner, Tower}; use super::low; fn f() { crate::other::g() }";
        assert_eq!(found(&[("high/mod.rs", text)]), [""; 0]);
        assert_eq!(
            found(&[
                ("low/mod.rs", "mod wine; use self::wine::Red;"),
                ("low/wine.rs", "use super::Red; use crate::Cellar;")
            ]),
            [""; 0]
        );
    }

    #[test]
    fn up_is_found_in_every_form() {
        for text in [
            "use crate::high::Tower;",
            "use crate::{low::Cellar, high::{self}};",
            "pub(crate) use crate::high::*;",
            "use crate::Tower;",
            "use crate::Banner as Rag;",
            "use super::super::high::Tower;",
            "mod inner { use super::super::super::high::Tower; }",
            "fn f() -> Option<crate::high::Tower> { None }",
            "fn f() { g!(1 + crate::high::height()) }",
            "macro_rules! m { () => { $crate::Tower } }",
            "macro_rules! m { () => { $crate::raise!() } }",
            "#[cfg(unix)] use crate::high::Tower;",
        ] {
            let macros = ("high/macros.rs", "#[macro_export]\nmacro_rules! raise { () => {} }");
            let found = found(&[macros, ("low/wine.rs", text)]);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(
                found[0].starts_with("low/wine.rs: crate::") && found[0].contains("is in high, above low"),
                "{found:?}"
            );
        }
    }

    #[test]
    fn tests_and_documentation_may_look_up() {
        let text = "/// See [`Tower`](crate::Tower).\n#[cfg(doc)] use crate::high::Tower; // crate::Tower
            #[cfg(test)] pub(crate) fn f() { crate::high::f() }
            #[cfg(test)] mod tests { use crate::high::Tower; }";
        assert_eq!(found(&[("low/mod.rs", text)]), [""; 0]);
        let after = format!("{text} use crate::high::Tower;");
        assert_eq!(found(&[("low/mod.rs", &after)]).len(), 1, "what comes behind them counts again");
    }

    #[test]
    fn what_is_in_no_layer_is_told() {
        assert!(found(&[("low/mod.rs", "use crate::Nobody;")])[0].contains("is not known"));
        let files = |lib: &str, file: &str| [("lib.rs".to_owned(), lib.to_owned()), (file.to_owned(), String::new())];
        assert!(violations(&TWO, &files("mod low; mod aside;", "low/mod.rs")).is_err());
        assert!(violations(&TWO, &files("mod low;", "aside.rs")).is_err());
    }

    /// Only one module depends on the version of the runtime, and it names for each workaround the test that shows its
    /// purpose.
    #[test]
    fn workarounds_are_in_one_place_and_have_a_test() {
        let (mut files, mut tests) = (Vec::new(), Vec::new());
        read(&paths::root().join("hip/src"), "", &mut files).unwrap();
        read(&paths::root().join("hip/tests"), "", &mut tests).unwrap();
        read(&paths::root().join("hip-gl/tests"), "", &mut tests).unwrap();
        for (file, text) in &files {
            let may = ["lib.rs", "core/backend.rs", "core/runtime.rs"].contains(&file.as_str());
            let asks =
                text.lines().any(|line| line.contains("runtime_version()") && !line.trim_start().starts_with("//"));
            assert!(may || !asks, "{file} asks for the version of the runtime: that is for core/releases.rs");
        }
        let (_, page) = files.iter().find(|(file, _)| file == "core/releases.rs").unwrap();
        let of_gl = fs::read_to_string(paths::root().join("hip-gl/src/releases.rs")).unwrap();
        let named = Regex::new(r"`((?:gpu|graph|held|memory_virtual|first_pool|gl)(?:::\w+)+)`").unwrap();
        let named = named.captures_iter(page).chain(named.captures_iter(&of_gl));
        let named: BTreeSet<&str> = named.map(|found| found.get(1).unwrap().as_str()).collect();
        for test in &named {
            let (path, name) = test.rsplit_once("::").unwrap();
            let start = path.replace("::", "/");
            let there = tests.iter().any(|(file, text)| {
                file.starts_with(&start) && text.contains(&format!("fn {name}("))
                    || file.starts_with(&format!("{}/", test.replace("::", "/")))
            });
            assert!(there, "releases.rs of hip or hip-gl names the test {test}, which is not there");
        }
        let items: Vec<&str> = page.split("\n\n").filter(|item| item.contains(": Releases = ")).collect();
        let rows = page.lines().filter(|line| line.starts_with("//! | ") && !line.contains("| symptom |")).count();
        assert!(items.len() >= 8 && rows >= 6, "{} items, {rows} rows", items.len());
        for item in items {
            assert!(item.contains("\n/// Test: `"), "no test in:\n{item}");
        }
    }
}
