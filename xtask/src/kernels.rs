//! `cargo xtask kernels`: the code in the repository that is compiled ahead of time from sources in the same folders:
//! the kernels of the examples and of hipsparse for the architectures that ship, and those of the tests of `hip` and of
//! the software GPU.
//!
//! The compiler is the real HIPRTC, fetched under `target/rocm`. hiprtc's own example `bundle` does the work; it runs
//! through that tree's loader. Assembly and LLVM IR are compiled in the same way with the tree's Comgr, by
//! rocm-llvm-sys's example `assemble`.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use object::{Object as _, ObjectSection as _, SectionFlags, elf};
use rocm_sdk::install::debian::Contents;

use crate::process::{capture, cargo, program};
use crate::steps::Got;
use crate::turn::Turn;
use crate::{paths, rocm};

/// The architectures of the shipped bundles: AMD Instinct MI200 and MI300, Radeon RX 7900 and RX 9070.
const ARCHITECTURES: [&str; 4] = ["gfx90a", "gfx942", "gfx1100", "gfx1201"];

/// The release whose compiler makes them, and everything else by default.
const RELEASE: &str = "7.2";

/// The folder of the software GPU's tests.
const TESTS: &str = "sim/amdgpu-sim/tests";

/// Its code objects in `kernels/`: file, source, architecture, options.
const SINGLE: [(&str, &str, &str, &str); 25] = [
    ("memory.co", "memory.s", "gfx90a", ""),
    ("pointers.co", "pointers.ll", "gfx90a", ""),
    ("undefined.co", "undefined.ll", "gfx90a", "-Wl,--unresolved-symbols=ignore-all"),
    ("lines.co", "lines.hip", "gfx90a", LINES),
    ("basic-O0.co", "basic.hip", "gfx90a", "-O0"),
    ("basic-O1.co", "basic.hip", "gfx90a", "-O1"),
    ("basic-O2.co", "basic.hip", "gfx90a", "-O2"),
    ("basic-O3.co", "basic.hip", "gfx90a", "-O3"),
    ("basic-gfx942-O3.co", "basic.hip", "gfx942", "-O3"),
    ("faults.co", "faults.hip", "gfx90a", "-O1"),
    ("services.co", "services.hip", "gfx90a", "-O1"),
    ("services-O0.co", "services.hip", "gfx90a", "-O0"),
    ("versions-v4.co", "versions.hip", "gfx90a", "-O2 -mcode-object-version=4"),
    ("versions-v5.co", "versions.hip", "gfx90a", "-O2 -mcode-object-version=5"),
    ("versions-v6.co", "versions.hip", "gfx90a", "-O2 -mcode-object-version=6"),
    ("versions-v4-rocm57.co", "versions.hip", "gfx90a", "-O2"),
    ("lanes.co", "lanes.hip", "gfx90a", "-O3"),
    ("functions-O0.co", "functions.hip", "gfx90a", "-O0 -ffp-contract=off"),
    ("functions-O3.co", "functions.hip", "gfx90a", "-O3 -ffp-contract=off"),
    ("matrices.co", "matrices.hip", "gfx90a", ""),
    ("matrices-gfx942.co", "matrices.hip", "gfx942", ""),
    ("waiting.co", "waiting.hip", "gfx90a", "-O3"),
    ("side_by_side.co", "side_by_side.hip", "gfx90a", "-O3"),
    ("observe.co", "observe.hip", "gfx90a", "-O2"),
    ("observe-gfx942.co", "observe.hip", "gfx942", "-O2"),
];

/// Includes debug information that names no folder except the one that the compiler makes up itself.
const LINES: &str = "-O2 -gline-tables-only -fdebug-compilation-dir=. -fdebug-prefix-map=/tmp=.";

/// The folder of the tests of `hip`.
const HIP_TESTS: &str = "hip/tests/kernels";

/// Its code objects: file, source, release, architecture and options.
const HIP: [(&str, &str, &str, &str); 16] = [
    ("kernels.gfx90a.co", "kernels.hip", RELEASE, "gfx90a -O3 -mcode-object-version=5"),
    ("kernels.gfx942.co", "kernels.hip", RELEASE, "gfx942 -O3 -mcode-object-version=5"),
    ("kernels.gfx1100.co", "kernels.hip", RELEASE, "gfx1100 -O3"),
    ("globals.gfx90a.co", "globals.hip", RELEASE, "gfx90a -O3 -mcode-object-version=5"),
    ("globals.gfx942.co", "globals.hip", RELEASE, "gfx942 -O3 -mcode-object-version=5"),
    ("managed.gfx90a.co", "managed.hip", RELEASE, "gfx90a -O3 -mcode-object-version=5"),
    ("managed.gfx942.co", "managed.hip", RELEASE, "gfx942 -O3 -mcode-object-version=5"),
    ("init.gfx90a.co", "init.hip", RELEASE, "gfx90a -O3 -mcode-object-version=5"),
    ("init.gfx942.co", "init.hip", RELEASE, "gfx942 -O3 -mcode-object-version=5"),
    ("images.gfx90a.co", "images.hip", RELEASE, "gfx90a -O3 -mcode-object-version=5"),
    ("vector_add.v4.gfx90a.co", "vector_add.hip", "5.7", "gfx90a -O3"),
    ("vector_add.v4.gfx942.co", "vector_add.hip", "5.7", "gfx942 -O3"),
    ("vector_add.v5.gfx90a.co", "vector_add.hip", "6.4", "gfx90a:xnack- -O3 -mcode-object-version=5"),
    ("vector_add.v5.gfx942.co", "vector_add.hip", "6.4", "gfx942:xnack- -O3 -mcode-object-version=5"),
    ("vector_add.v6.gfx90a.co", "vector_add.hip", RELEASE, "gfx90a:sramecc+:xnack- -O0"),
    ("vector_add.v6.gfx942.co", "vector_add.hip", RELEASE, "gfx942:sramecc+:xnack- -O0"),
];

/// The levels for which code of every topic in `suite/` is kept, and the options of all (as in its `levels.rs`).
const LEVELS: [(&str, &str); 3] = [("gfx90a", "O0"), ("gfx90a", "O3"), ("gfx942", "O3")];
const SUITE_OPTIONS: &str = "-std=c++17 -ffp-contract=off";

/// Compiles the kernels whose code is in the repository: the examples' and those of tests.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "The compiler is that of ROCm 7.2 (of 5.7 and 6.4 for a few files), fetched under target/rocm if it is not there yet.

Examples:
  cargo xtask kernels            write the code anew
  cargo xtask kernels --check    fail if it differs from what is compiled now
  cargo xtask kernels --sample   the same for a third of the files, which alternates from commit to commit"
)]
pub(crate) struct Args {
    /// Write nothing; fail if a file differs from a new compilation. If the compiler has changed since, or can no
    /// longer be fetched, its files are skipped
    #[arg(long)]
    check: bool,
    /// Check a third of the files, which alternates from commit to commit
    #[arg(long)]
    sample: bool,
}

/// A file to make.
struct Job {
    source: PathBuf,
    output: PathBuf,
    release: &'static str,
    /// Architectures and options.
    words: Vec<String>,
}

/// Returns all files in the repository, in the order in which they are made.
fn jobs() -> Result<Vec<Job>> {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let mut jobs = Vec::new();
    let shipped = ["examples/kernels", "hipsparse/src/kernels", "hipsolver/src/kernels"]
        .map(|folder| sources(&paths::root().join(folder)));
    for source in shipped.into_iter().collect::<Result<Vec<_>>>()?.concat() {
        let output = source.with_extension("hipfb");
        // HIP 5.7 loads nothing newer than version 5.
        let words = words(&format!("{} -mcode-object-version=5", ARCHITECTURES.join(" ")));
        jobs.push(Job { source, output, release: RELEASE, words });
    }
    // What kernels in Rust are compared with.
    let testing = paths::root().join("testing/hip-kernel-testing");
    jobs.push(Job {
        source: testing.join("src/algorithms.hip"),
        output: testing.join("bundles/algorithms.hipfb"),
        release: RELEASE,
        words: words("gfx90a gfx942"),
    });
    let folder = paths::root().join(HIP_TESTS);
    for (file, source, release, options) in HIP {
        jobs.push(Job { source: folder.join(source), output: folder.join(file), release, words: words(options) });
    }
    let tests = paths::root().join(TESTS);
    let folder = tests.join("kernels");
    for (file, source, architecture, options) in SINGLE {
        let release = if file.ends_with("rocm57.co") { "5.7" } else { RELEASE };
        let words = words(&format!("{architecture} {options}"));
        jobs.push(Job { source: folder.join(source), output: folder.join(file), release, words });
    }
    for source in sources(&tests.join("suite"))? {
        let topic = source.file_stem().context("a topic has a name")?.to_string_lossy().into_owned();
        for (architecture, level) in LEVELS {
            if topic == "images" && architecture != "gfx90a" {
                // The architecture has no image instructions.
                continue;
            }
            let output = tests.join(format!("suite/code/{topic}-{architecture}-{level}.co.xz"));
            let words = words(&format!("{architecture} {SUITE_OPTIONS} -{level}"));
            jobs.push(Job { source: source.clone(), output, release: RELEASE, words });
        }
    }
    Ok(jobs)
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let jobs = if args.sample { Turn::of_this_run()?.select(jobs()?, 3, |_| false) } else { jobs()? };
    let check = args.check || args.sample;
    let mut compilers = Compilers::noted()?;
    let mut gone = BTreeMap::new();
    for name in [RELEASE, "6.4", "5.7"] {
        let release = rocm::release(name)?;
        match rocm::fetch_what_is_there(release, &[], false)? {
            Got::Nothing(why) if check => _ = gone.insert(name, why),
            Got::Nothing(why) => bail!("{why}"),
            Got::All | Got::Without(_) => {}
        }
    }
    let compiler = tool("hiprtc", &["--no-default-features"], "bundle")?;
    let assembler = tool("rocm-llvm-sys", &[], "assemble")?;
    let mut differing = Vec::new();
    let folder = tempfile::tempdir()?;
    for Job { source, output, release, words } in jobs.into_iter().filter(|job| !gone.contains_key(job.release)) {
        // The tool chooses the format by the extension.
        let made = folder.path().join(output.file_name().unwrap_or_default());
        let made = if made.extension().is_some_and(|e| e == "xz") { made.with_extension("") } else { made };
        let tree = rocm::tree(rocm::release(release)?);
        let launcher = tree.launcher();
        let [loader, options @ ..] = &launcher[..] else { bail!("the tree of ROCm {release} has no loader") };
        let tool = if source.extension().is_some_and(|e| e == "hip") { &compiler } else { &assembler };
        let mut command = Command::new(loader);
        command.args(options).arg(tool).arg(&source).arg(&made).args(&words).current_dir(paths::root());
        // Comgr's cache would return the result of an earlier run.
        command.env("ROCM_PATH", tree.folder().join("usr")).env("AMD_COMGR_CACHE", "0");
        capture(&mut command)?;
        let code = std::fs::read(&made)?;
        let debug = words.iter().any(|word| word.starts_with("-g"));
        if kept(&output).is_ok_and(|kept| if debug { same_loaded(&kept, &code) } else { kept == code }) {
            println!("{}: up to date", output.display());
        } else if check {
            println!("{}: differs", output.display());
            differing.push((release, output));
        } else {
            keep(&output, &code)?;
            println!("{}: {} bytes", output.display(), std::fs::metadata(&output)?.len());
        }
    }
    for (name, why) in gone {
        println!("SKIPPED: the code that the compiler of ROCm {name} made is not compared: {why}");
    }
    for name in [RELEASE, "6.4", "5.7"] {
        let now = Compilers::of(&rocm::tree(rocm::release(name)?).contents()?);
        if !check {
            compilers.0.insert(name.to_owned(), now);
        } else if let Some(other) = compilers.another(name, &now) {
            let count = differing.len();
            differing.retain(|(release, _)| *release != name);
            if differing.len() < count {
                let count = count - differing.len();
                println!("SKIPPED: {count} files of ROCm {name} are not compared: the compiler is now {other}");
            }
        }
    }
    if !check {
        compilers.note()?;
    }
    if !differing.is_empty() {
        let names: Vec<_> = differing.iter().map(|(_, path)| path.display().to_string()).collect();
        bail!("not what the compiler makes of the source now (run `cargo xtask kernels`): {}", names.join(", "));
    }
    Ok(())
}

/// The packages of the compilers that made the code, by release: `api/compilers.tsv`. Debian replaces them without
/// notice, and another compiler makes other code.
#[derive(Debug, PartialEq, Eq)]
struct Compilers(BTreeMap<String, BTreeMap<String, String>>);

impl Compilers {
    /// Prefixes of the packages' names.
    const PACKAGES: [&str; 5] = ["libamd-comgr", "libamdhip64-", "libclang-common-", "libhiprtc", "libllvm"];
    const HEAD: &str = "release\tpackage\tversion\n";

    fn path() -> PathBuf {
        paths::root().join("api/compilers.tsv")
    }

    fn noted() -> Result<Self> {
        let path = Self::path();
        Self::parse(&std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?)
    }

    fn parse(text: &str) -> Result<Self> {
        let mut found: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        for row in text.lines().skip(1) {
            let cells: Vec<&str> = row.split('\t').collect();
            let [release, package, version] = cells[..] else { bail!("not three cells: {row}") };
            found.entry(release.to_owned()).or_default().insert(package.to_owned(), version.to_owned());
        }
        Ok(Self(found))
    }

    fn text(&self) -> String {
        let rows = self.0.iter().flat_map(|(release, packages)| {
            packages.iter().map(move |(package, version)| format!("{release}\t{package}\t{version}\n"))
        });
        Self::HEAD.to_owned() + &rows.collect::<String>()
    }

    fn note(&self) -> Result<()> {
        std::fs::write(Self::path(), self.text()).context("noting the compilers")
    }

    /// Returns the packages of a tree's compiler.
    fn of(tree: &Contents) -> BTreeMap<String, String> {
        let ours = |name: &str| Self::PACKAGES.iter().any(|begin| name.starts_with(begin));
        // Another LLVM may be installed without its dependencies, for its symbols.
        let packages = tree.packages.iter().filter(|package| !package.alone && ours(&package.name));
        packages.map(|package| (package.name.clone(), package.version.clone())).collect()
    }

    /// Returns the packages that differ from the recorded ones, if any.
    fn another(&self, release: &str, now: &BTreeMap<String, String>) -> Option<String> {
        let none = BTreeMap::new();
        let noted = self.0.get(release).unwrap_or(&none);
        let others = now.iter().filter(|(package, version)| noted.get(*package) != Some(*version));
        let gone =
            noted.keys().filter(|package| !now.contains_key(*package)).map(|package| format!("without {package}"));
        let others = others.map(|(package, version)| format!("{package} {version}")).chain(gone);
        Some(others.collect::<Vec<_>>().join(", ")).filter(|others| !others.is_empty())
    }
}

/// Returns whether two code objects are the same in all sections that are loaded: debug information names a generated
/// folder.
fn same_loaded(one: &[u8], other: &[u8]) -> bool {
    type Section = (String, u64, Vec<u8>);
    fn loaded(bytes: &[u8]) -> Option<Vec<Section>> {
        let file = object::File::parse(bytes).ok()?;
        let kept = file.sections().filter(|section| match section.flags() {
            SectionFlags::Elf { sh_flags, .. } => sh_flags.0 & elf::SHF_ALLOC.0 != 0,
            _ => false,
        });
        kept.map(|section| Some((section.name().ok()?.to_owned(), section.address(), section.data().ok()?.to_vec())))
            .collect()
    }
    let (one, other) = (loaded(one), loaded(other));
    one.is_some_and(|sections| !sections.is_empty() && Some(sections) == other)
}

/// Reads a file of the repository, which may be compressed.
fn kept(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = std::fs::read(path)?;
    if path.extension().is_some_and(|extension| extension == "xz") {
        let compressed = std::mem::take(&mut bytes);
        lzma_rust2::XzReader::new(&compressed[..], false).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Writes a file so that [`kept`] returns `code` from it.
fn keep(path: &Path, code: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let bytes = if path.extension().is_some_and(|extension| extension == "xz") {
        let mut writer = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(9))?;
        writer.write_all(code)?;
        writer.finish()?
    } else {
        code.to_owned()
    };
    std::fs::write(path, bytes).with_context(|| format!("writing {}", path.display()))
}

/// Builds an example that compiles, at its lowest level, so that it supports every release, and returns its path.
fn tool(package: &str, features: &[&str], example: &str) -> Result<PathBuf> {
    let mut command = cargo();
    command.args(["build", "-p", package]).args(features);
    let messages = capture(command.args(["--example", example, "--message-format", "json"]))?;
    program(&messages, "example", example)
}

/// Returns the kernel sources, sorted by name.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    let mut sources = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    sources.retain(|path| path.extension().is_some_and(|extension| extension == "hip"));
    sources.sort();
    Ok(sources)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_has_its_bundle_and_no_bundle_is_left_over() {
        let folder = paths::root().join("examples/kernels");
        let sources = sources(&folder).unwrap();
        assert!(sources.len() >= 8, "{sources:?}");
        for source in &sources {
            assert!(source.with_extension("hipfb").is_file(), "{} has no bundle", source.display());
        }
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "hipfb") {
                assert!(path.with_extension("hip").is_file(), "{} has no source", path.display());
            }
        }
    }

    #[test]
    fn another_compiler_is_noticed() {
        let text = format!("{}7.2\tlibamd-comgr3\t7.2.4\n7.2\tlibllvm22\t1:22.1.8-3\n", Compilers::HEAD);
        let noted = Compilers::parse(&text).unwrap();
        assert_eq!(noted.text(), text);
        let now = |packages: &[(&str, &str)]| {
            packages.iter().map(|(package, version)| ((*package).to_owned(), (*version).to_owned())).collect()
        };
        let same = now(&[("libamd-comgr3", "7.2.4"), ("libllvm22", "1:22.1.8-3")]);
        assert_eq!(noted.another("7.2", &same), None);
        let newer = now(&[("libamd-comgr3", "7.2.4"), ("libllvm23", "1:23.1.0-1")]);
        assert_eq!(noted.another("7.2", &newer).unwrap(), "libllvm23 1:23.1.0-1, without libllvm22");
        assert!(noted.another("6.4", &same).is_some());
    }

    #[test]
    fn the_compilers_of_the_code_are_noted() {
        let noted = Compilers::noted().unwrap();
        for job in jobs().unwrap() {
            let packages = noted.0.get(job.release).into_iter().flat_map(BTreeMap::keys);
            assert!(packages.into_iter().any(|package| package.starts_with("libllvm")), "of ROCm {}", job.release);
        }
    }

    /// A byte of debug information may differ, but not one of the code.
    #[test]
    fn code_is_the_same_by_what_is_loaded() {
        let code = std::fs::read(paths::root().join(TESTS).join("kernels/lines.co")).unwrap();
        let at = |name: &str| {
            let file = object::File::parse(&code[..]).unwrap();
            let (start, size) = file.section_by_name(name).unwrap().file_range().unwrap();
            usize::try_from(start + size / 2).unwrap()
        };
        for (section, same) in [(".debug_line_str", true), (".text", false), (".rodata", false), (".note", false)] {
            let mut other = code.clone();
            other[at(section)] ^= 1;
            assert_eq!(same_loaded(&code, &other), same, "{section}");
        }
        assert!(same_loaded(&code, &code) && !same_loaded(b"", b""));
    }

    #[test]
    fn all_code_of_tests_is_made_from_source_by_a_job_or_listed() {
        let tests = paths::root().join(TESTS);
        let outputs: Vec<PathBuf> = jobs().unwrap().into_iter().map(|job| job.output).collect();
        outputs.iter().for_each(|path| assert!(path.is_file(), "{} is not there", path.display()));
        for folder in [tests.join("kernels"), tests.join("suite/code"), paths::root().join(HIP_TESTS)] {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_some_and(|extension| extension == "co" || extension == "xz") {
                    assert!(outputs.contains(&path), "nothing makes {}", path.display());
                }
            }
        }
    }
}
