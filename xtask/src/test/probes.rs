//! The step `levels` for the raw crates: probe crates, written under target/probes like crates of other people.
//!
//! There is one for each API level, which names every function, type and constant of the -sys crates at that level.
//! Each compiles with its level alone. One program contains them all, and `hip` with its default features: levels are
//! additive, and the program runs on each ROCm release, whatever levels its crates were written for.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::levels::levels_of;
use crate::cargo::{LEVELS, checked_cargo};
use crate::hsa::{self, Profile};
use crate::process::{messages, shown};
use crate::rocm::Release;
use crate::turn::Turn;
use crate::{paths, workspace};

/// The program that contains all of them.
const TOGETHER: &str = "probe-together";

/// Its code: a copy, and the calls of `hip` whose C form depends on the release.
const MAIN: &str = r#"
use std::collections::BTreeMap;

use hip::memory::PointerKind;
use hip::{Device, DeviceBuffer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut levels: BTreeMap<&str, Vec<(u32, u32)>> = BTreeMap::new();
    for (name, level) in probes().into_iter().flatten() {
        levels.entry(name).or_default().push(level);
    }
    assert!(levels["hip-sys"].is_sorted() && levels["hip-sys"].len() == PROBES, "{levels:?}");
    let device = Device::get(0)?;
    let numbers: Vec<u32> = (0..1000).collect();
    let buffer = DeviceBuffer::from_slice(&device, &numbers)?;
    assert_eq!(buffer.to_vec()?, numbers);
    // The structures of both have another form before ROCm 6.0.
    let attributes = buffer.as_device_ptr().attributes()?.expect("HIP knows its memory");
    assert_eq!((attributes.kind, attributes.device), (PointerKind::Device, device));
    let properties = device.properties()?;
    assert!(properties.arch.to_string().starts_with("gfx") && properties.total_memory > 0, "{properties:?}");
    println!("{} with {} raw crates at up to {PROBES} levels", properties.arch, levels.len());
    Ok(())
}
"#;

/// A crate's modules, each with the list of a level's items.
struct Names {
    package: String,
    folder: PathBuf,
    /// The Rust path, such as `hip_sys` or `rocm_llvm_sys::comgr`; the generated file that names all of them, level by
    /// level.
    modules: Vec<(String, PathBuf, BTreeSet<String>)>,
}

/// Writes the probes.
fn write() -> Result<()> {
    let folder = folder();
    let crates = names()?;
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
    }
    let levels: Vec<&str> = LEVELS.iter().copied().filter(|level| !level.is_empty()).collect();
    let mut members = String::new();
    for level in &levels {
        probe(&folder.join(level), level, &levels, &crates)?;
        write!(members, "{level:?}, ")?;
    }
    together(&folder.join("together"), &levels)?;
    put(
        &folder.join("Cargo.toml"),
        // As in the workspace, so that nothing is built twice.
        &format!(
            "[workspace]\nmembers = [{members}\"together\"]\nresolver = \"3\"\n\n[profile.dev]\ndebug = \"line-tables-only\"\n"
        ),
    )?;
    let lock = paths::root().join("Cargo.lock");
    fs::copy(&lock, folder.join("Cargo.lock")).with_context(|| format!("copying {}", lock.display()))?;
    Ok(())
}

/// Each probe alone, and all of them in one program, compile without warnings.
pub(crate) fn check(turn: Option<Turn>, offline: bool) -> Result<()> {
    write()?;
    let levels: Vec<_> = LEVELS.iter().copied().filter(|level| !level.is_empty()).collect();
    let names = levels_of(&levels, turn).into_iter().map(|level| format!("probe-{level}")).chain([TOGETHER.to_owned()]);
    let mut wrong = Vec::new();
    for name in names {
        let mut command = cargo("check", &name, offline);
        let status = command.env("RUSTFLAGS", "-D warnings").status();
        if !status.with_context(|| format!("starting {}", shown(&command)))?.success() {
            wrong.push(name);
        }
    }
    ensure!(wrong.is_empty(), "these do not compile: {}", wrong.join(", "));
    Ok(())
}

/// Builds the program with all probes, and runs it on a release.
pub(crate) fn run(release: &'static Release, offline: bool) -> Result<()> {
    write()?;
    let mut command = cargo("build", TOGETHER, offline);
    let messages = messages(&mut command)?;
    let executable = |line: &str| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(PathBuf::from(message["executable"].as_str()?))
    };
    let program = messages.lines().find_map(executable).context("cargo did not say where the program is")?;
    let mut command = hsa::program_on(&program, release, Profile::Dev);
    let output = command.output().with_context(|| format!("starting {}", shown(&command)))?;
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "{}; it wrote\n{out}{err}", output.status);
    print!("{out}");
    Ok(())
}

fn cargo(task: &str, package: &str, offline: bool) -> Command {
    let mut command = checked_cargo(task, offline);
    command.arg("--manifest-path").arg(folder().join("Cargo.toml")).args(["-p", package]);
    // Uses the workspace's target folder, so that nothing is built twice.
    if std::env::var_os("CARGO_TARGET_DIR").is_none() {
        command.arg("--target-dir").arg(paths::root().join("target"));
    }
    command
}

fn folder() -> PathBuf {
    paths::fetched("probes")
}

/// Returns the items of the -sys crates, from the lists that `cargo xtask bindgen` writes for their tests.
fn names() -> Result<Vec<Names>> {
    let packages = workspace::published()?.into_iter().filter(workspace::Package::is_sys);
    packages
        .map(|package| {
            let tests = package.folder.join("tests");
            let krate = package.name.replace('-', "_");
            let mut modules = Vec::new();
            let mut parts = vec![(krate.clone(), tests.join("generated/names.rs"))];
            for entry in fs::read_dir(&tests).with_context(|| format!("reading {}", tests.display()))? {
                let entry = entry?;
                let part = entry.file_name().to_string_lossy().into_owned();
                parts.push((format!("{krate}::{part}"), entry.path().join("generated/names.rs")));
            }
            for (module, path) in parts.into_iter().filter(|(_, path)| path.exists()) {
                let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
                let levels = LEVELS.iter().filter(|level| text.contains(&format!("feature = {level:?}")));
                let levels: BTreeSet<String> = levels.map(|level| (*level).to_owned()).collect();
                ensure!(!levels.is_empty(), "{} names no level", path.display());
                modules.push((module, path, levels));
            }
            if modules.is_empty() {
                bail!("{} has no list of its names under {}", package.name, tests.display());
            }
            Ok(Names { package: package.name, folder: package.folder, modules })
        })
        .collect()
}

/// Writes a crate for one level.
fn probe(folder: &Path, level: &str, levels: &[&str], crates: &[Names]) -> Result<()> {
    let mut manifest = manifest(&format!("probe-{level}"));
    // The lists of names use the features of the crate that they are compiled in.
    write!(manifest, "[features]\ndefault = [{level:?}]\n")?;
    levels.iter().try_for_each(|level| writeln!(manifest, "{level} = []"))?;
    manifest.push_str("\n[dependencies]\n");
    let mut root = "//! Names all that the raw crates have at a level.\n\n".to_owned();
    let mut rows = String::new();
    for one in crates {
        writeln!(
            manifest,
            "{} = {{ path = {:?}, default-features = false, features = [{level:?}] }}",
            one.package, one.folder
        )?;
        for (number, (module, path, _)) in one.modules.iter().filter(|(.., levels)| levels.contains(level)).enumerate()
        {
            let name = format!("{}_{number}", one.package.replace('-', "_"));
            writeln!(root, "#[rustfmt::skip]\n#[path = {path:?}]\nmod names_of_{name};")?;
            writeln!(rows, "        ({:?}, {module}::{}::API_LEVEL),", one.package, level.replace('-', "_"))?;
        }
    }
    write!(root, "\npub fn levels() -> Vec<(&'static str, (u32, u32))> {{\n    vec![\n{rows}    ]\n}}\n")?;
    put(&folder.join("Cargo.toml"), &manifest)?;
    put(&folder.join("src/lib.rs"), &root)
}

/// Writes the program with all probes.
fn together(folder: &Path, levels: &[&str]) -> Result<()> {
    let mut manifest = manifest(TOGETHER);
    writeln!(manifest, "[dependencies]\nhip = {{ path = {:?} }}", paths::root().join("hip"))?;
    let mut calls = String::new();
    for level in levels {
        writeln!(manifest, "probe-{level} = {{ path = \"../{level}\" }}")?;
        write!(calls, "probe_{}::levels(), ", level.replace('-', "_"))?;
    }
    let count = levels.len();
    let probes = format!(
        "\nconst PROBES: usize = {count};\n\nfn probes() -> [Vec<(&'static str, (u32, u32))>; PROBES] {{\n    [{calls}]\n}}\n"
    );
    put(&folder.join("Cargo.toml"), &manifest)?;
    put(&folder.join("src/main.rs"), &format!("{}{probes}", MAIN.trim_start()))
}

fn manifest(name: &str) -> String {
    format!("[package]\nname = {name:?}\nversion = \"0.0.0\"\nedition = \"2024\"\npublish = false\n\n")
}

fn put(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().context("a file in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}
