#![cfg_attr(docsrs, feature(doc_cfg))]
// The first definition of a link is used: README's own is for a checkout.
#![doc = "[kernel]: https://docs.rs/hip-kernel\n"]
#![doc = include_str!("../README.md")]

mod bundle;
mod compile;
mod core_source;
mod crate_options;
mod error;
#[doc(hidden)]
pub mod ir;
mod manifest;
mod sources;
mod stack;
mod toolchain;

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

pub use compile::Panics;
use crate_options::CrateOptions;
pub use error::{Error, Result};
use manifest::Manifest;
pub use toolchain::Toolchain;

/// The variable that selects the code. `committed` uses the committed bundle. With `compile`, a missing compiler is an
/// error; with `check`, a stale committed bundle is one. `update` writes the bundle.
const VARIABLE: &str = "HIP_KERNEL_BUILD";

/// Kernels of a program: a module of its source.
#[derive(Clone, Debug)]
#[must_use]
pub struct Build {
    source: PathBuf,
    architectures: Vec<String>,
    committed: Option<PathBuf>,
    panics: Panics,
    debug_lines: Option<bool>,
    debug_assertions: Option<bool>,
    edition: Option<String>,
    cfgs: BTreeSet<String>,
    linked: Vec<PathBuf>,
}

/// The result of a build.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Made {
    /// The code for all architectures.
    pub bundle: Vec<u8>,
    /// Why the committed bundle was used; `None` if the code was compiled.
    pub committed: Option<String>,
    /// Why the committed bundle is stale, if the code was compiled and a stale bundle exists.
    pub stale: Option<String>,
    /// The compiler's warnings.
    pub warnings: String,
    /// The files that were read.
    pub read: Vec<PathBuf>,
    /// For each compiled architecture, the kernels as LLVM IR, before they are linked with the device library.
    pub ir: Vec<(String, String)>,
}

impl Build {
    /// Compiles the module at `source`, a path from the crate's root: `src/kernels.rs`, or `src/kernels/mod.rs`. The
    /// program must declare it as a module, too.
    pub fn new(source: impl Into<PathBuf>) -> Self {
        Self {
            source: source.into(),
            architectures: Vec::new(),
            committed: None,
            panics: Panics::Report,
            debug_lines: None,
            debug_assertions: None,
            edition: None,
            cfgs: BTreeSet::new(),
            linked: Vec::new(),
        }
    }

    /// Adds architectures to compile for, such as `"gfx90a"`. At least one is necessary.
    pub fn archs<A: fmt::Display>(mut self, architectures: impl IntoIterator<Item = A>) -> Self {
        self.architectures.extend(architectures.into_iter().map(|arch| arch.to_string()));
        self
    }

    /// Sets the bundle that is used if kernels in Rust cannot be built: a file of the crate. If they can be built, the
    /// file is written if the variable `HIP_KERNEL_BUILD` is `update`.
    pub fn committed(mut self, bundle: impl Into<PathBuf>) -> Self {
        self.committed = Some(bundle.into());
        self
    }

    /// Sets the effect of a panic.
    pub fn panics(mut self, panics: Panics) -> Self {
        self.panics = panics;
        self
    }

    /// Sets whether the code has line tables: debuggers, profiles and faults of the software GPU then name source
    /// lines. In a build script the default is the program's profile (`debug`). Elsewhere, and for a bundle to commit,
    /// the default is no.
    pub fn debug_lines(mut self, lines: bool) -> Self {
        self.debug_lines = Some(lines);
        self
    }

    /// Sets a `cfg` for the kernels, like the compiler's `--cfg`: `fast`, `mode="exact"`. In a build script the crate's
    /// features and the `--cfg`s of `RUSTFLAGS` are already set. A `cfg` that the build script itself sets with
    /// `cargo::rustc-cfg` must be passed here, too: the kernels are compiled before Cargo reads it.
    pub fn cfg(mut self, cfg: impl Into<String>) -> Self {
        self.cfgs.insert(cfg.into());
        self
    }

    /// Sets the edition of Rust. The default is the crate's edition in a build script, and 2024 elsewhere.
    pub fn edition(mut self, edition: impl Into<String>) -> Self {
        self.edition = Some(edition.into());
        self
    }

    /// Sets whether `debug_assertions` and overflow checks are enabled. In a build script the default is the program's
    /// profile. Elsewhere, and for a bundle to commit, the default is no.
    pub fn debug_assertions(mut self, assertions: bool) -> Self {
        self.debug_assertions = Some(assertions);
        self
    }

    /// Links a file of LLVM bitcode with the kernels, such as functions in HIP C++: `hipcc -c -emit-llvm
    /// --offload-device-only --offload-arch=gfx90a -fgpu-rdc functions.hip -o functions.bc`. Kernels declare the
    /// functions that they call: `unsafe extern "C" { fn twice(x: f32) -> f32; }`. The file's compiler must not have a
    /// newer LLVM than Rust's, and its architecture must be one that the kernels are compiled for, or a generic one.
    pub fn link(mut self, bitcode: impl Into<PathBuf>) -> Self {
        self.linked.push(bitcode.into());
        self
    }

    /// Compiles, writes the bundle to `OUT_DIR`, and prints Cargo's instructions: for a build script.
    ///
    /// # Errors
    /// Those of [`make`](Self::make); [`Error::Invalid`] outside of a build script, or if `HIP_KERNEL_BUILD` has an
    /// unknown value; [`Error::Stale`] if it is `check` and the committed bundle is stale; [`Error::File`] if a file
    /// cannot be written.
    pub fn compile(&self) -> Result<()> {
        let out = std::env::var_os("OUT_DIR").map(PathBuf::from).ok_or_else(|| {
            Error::Invalid(
                "OUT_DIR is not set: call Build::compile in a build script, or Build::make elsewhere".to_owned(),
            )
        })?;
        println!("cargo::rerun-if-changed={}", self.source.display());
        for name in toolchain::VARIABLES.iter().chain([&VARIABLE]) {
            println!("cargo::rerun-if-env-changed={name}");
        }
        let choice = std::env::var(VARIABLE).unwrap_or_default();
        // `target/debug/build/NAME-HASH/out`: one cache for all crates of a build.
        let cache = out.ancestors().nth(3).unwrap_or(&out).join("hip-kernel");
        // Cargo sets it for build scripts, to the profile's `debug`.
        let profile = std::env::var("DEBUG").is_ok_and(|level| !matches!(level.as_str(), "" | "0" | "false" | "none"));
        let lines = profile && choice != "update";
        let mut build = self.clone();
        build.follow_crate(choice == "update");
        let made = match choice.as_str() {
            "" | "check" | "compile" | "update" => {
                build.make_with(&out, &cache, matches!(choice.as_str(), "" | "check"), lines)
            }
            "committed" => build.committed_bundle("as requested".to_owned()),
            other => Err(Error::Invalid(format!("{VARIABLE}={other}: expected check, committed, compile or update"))),
        }?;
        made.read.iter().for_each(|path| println!("cargo::rerun-if-changed={}", path.display()));
        if let Some(path) = &self.committed {
            println!("cargo::rerun-if-changed={}", path.display());
            match &made.committed {
                Some(why) => {
                    println!("cargo::warning={}: taken from {} ({why})", self.source.display(), path.display())
                }
                None if choice == "update" => compile::write(path, &made.bundle)?,
                None => match &made.stale {
                    Some(reason) if choice == "check" => {
                        return Err(Error::Stale { bundle: path.clone(), reason: reason.clone() });
                    }
                    Some(reason) => {
                        let error = Error::Stale { bundle: path.clone(), reason: reason.clone() };
                        println!("cargo::warning={}: {error}", self.source.display());
                    }
                    None => {}
                },
            }
        }
        for (arch, ir) in &made.ir {
            compile::write(&out.join(format!("{}.{arch}.ll", self.stem()?)), ir)?;
        }
        for line in made.warnings.lines().filter(|line| line.starts_with("warning: ")) {
            println!("cargo::warning={}: {line}", self.source.display());
        }
        compile::write(&out.join(format!("{}.hipfb", self.stem()?)), &made.bundle)
    }

    /// Compiles, and returns the code. `folder` is for temporary files; `cache` is for files that all builds share.
    ///
    /// # Errors
    /// - [`Error::Unavailable`] if kernels in Rust cannot be built and there is no committed bundle for the
    ///   architectures.
    /// - [`Error::Stale`] if kernels in Rust cannot be built and the committed bundle was compiled from another source,
    ///   or with other features, `cfg`s or another edition, if the source refers to them.
    /// - [`Error::Compilation`] if the source does not compile, [`Error::Missing`] if it calls a function that the
    ///   device lacks. The committed bundle is not used then.
    /// - [`Error::Stack`] if a kernel makes calls that the compiler cannot follow (recursion, `dyn`, pointers to
    ///   functions) and states no stack, [`Error::StackTooSmall`] if it states less than one call of the module's
    ///   largest function needs.
    /// - [`Error::File`] if a file cannot be read, [`Error::Invalid`] without architectures or with one that the compiler
    ///   does not know.
    pub fn make(&self, folder: &Path, cache: &Path) -> Result<Made> {
        self.make_with(folder, cache, true, false)
    }

    fn make_with(&self, folder: &Path, cache: &Path, or_committed: bool, lines: bool) -> Result<Made> {
        self.check()?;
        let toolchain = match Toolchain::find() {
            Ok(toolchain) => toolchain,
            Err(why) if or_committed && self.committed.is_some() => return self.committed_bundle(why),
            Err(why) => return Err(Error::Unavailable(why)),
        };
        toolchain.check(&self.architectures).map_err(Error::Invalid)?;
        let sources = sources::Sources::find()?;
        let work = folder.join(format!("{}-device", self.stem()?));
        compile::create(&work)?;
        compile::create(cache)?;
        let source = compile::Source {
            module: &self.source,
            root: &self.root(&work)?,
            linked: &self.linked,
            lines: self.debug_lines.unwrap_or(lines),
            edition: self.edition_or_newest(),
            cfgs: &self.cfgs,
            debug_assertions: self.debug_assertions.unwrap_or(false),
        };
        let (mut code, mut warnings, mut ir) = (Vec::new(), String::new(), Vec::new());
        let mut read: Vec<PathBuf> = self.linked.clone();
        for arch in &self.architectures {
            let prepared = compile::Prepared::new(&toolchain, &sources, arch, self.panics, cache)?;
            let compiled = prepared.kernels(&source, &work.join(arch))?;
            code.push((arch.clone(), compiled.code));
            ir.push((arch.clone(), compiled.ir));
            if warnings.is_empty() {
                warnings = compiled.warnings;
            }
            read.extend(compiled.read.into_iter().filter(|path| !path.starts_with(&work)));
        }
        read.sort();
        read.dedup();
        let mut manifest = Manifest {
            compiler: toolchain.release.clone(),
            library: sources.hash()?,
            options: self.options(),
            files: Vec::new(),
        };
        manifest.read(&read)?;
        // Makes the bytes independent of the crate's other features.
        manifest.options = manifest.named(&manifest.options).into_iter().map(str::to_owned).collect();
        let mut bundle = bundle::bundle(&code);
        manifest.append(&mut bundle);
        let stale =
            self.committed.as_ref().and_then(|path| stale(&std::fs::read(path).ok()?, &manifest, &self.architectures));
        // A name without a folder is a compiler on the path.
        read.extend(Some(toolchain.rustc).filter(|path| path.components().count() > 1));
        read.extend(sources.files()?);
        Ok(Made { bundle, committed: None, stale, warnings, read, ir })
    }

    fn check(&self) -> Result<()> {
        if self.architectures.is_empty() {
            return Err(Error::Invalid("no architecture is given: Build::archs".to_owned()));
        }
        let is_name =
            |arch: &String| arch.starts_with("gfx") && arch.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        if let Some(other) = self.architectures.iter().find(|arch| !is_name(arch)) {
            return Err(Error::Invalid(format!("{other:?} is not an architecture, such as gfx90a")));
        }
        match self.linked.iter().chain([&self.source]).find(|path| !path.is_file()) {
            None => Ok(()),
            Some(path) => Err(Error::File { path: path.clone(), reason: std::io::ErrorKind::NotFound.into() }),
        }
    }

    fn committed_bundle(&self, why: String) -> Result<Made> {
        self.check()?;
        let path =
            self.committed.as_ref().ok_or_else(|| Error::Unavailable(format!("{why}; no bundle is committed")))?;
        let bundle = std::fs::read(path).map_err(|reason| Error::File { path: path.clone(), reason })?;
        let has = bundle::architectures(&bundle)
            .ok_or_else(|| Error::Invalid(format!("{} is not an offload bundle", path.display())))?;
        if let Some(missing) = self.architectures.iter().find(|arch| !has.contains(arch)) {
            return Err(Error::Unavailable(format!("{why}; {} has no code for {missing}", path.display())));
        }
        let read = self.expect_fresh(path, &bundle, &why)?;
        Ok(Made { bundle, committed: Some(why), stale: None, warnings: String::new(), read, ir: Vec::new() })
    }

    /// Returns the files that the bundle was made from, if it matches this source and these options.
    fn expect_fresh(&self, path: &Path, bundle: &[u8], why: &str) -> Result<Vec<PathBuf>> {
        let stale = |reason: String| Error::Stale { bundle: path.to_owned(), reason: format!("{reason} ({why})") };
        let manifest = Manifest::of(bundle).ok_or_else(|| stale(UNSAID.to_owned()))?;
        let changed = manifest.changed();
        if !changed.is_empty() {
            return Err(stale(format!("these have changed since: {}", changed.join(", "))));
        }
        let full = |path: &Path| std::path::absolute(path).ok();
        if !manifest.files.iter().any(|(name, _)| full(Path::new(name)) == full(&self.source)) {
            return Err(stale(format!("it is not of {}", self.source.display())));
        }
        let own = self.options();
        let (theirs, ours) = (manifest.named(&manifest.options), manifest.named(&own));
        if theirs != ours {
            let list = |options: &BTreeSet<&str>| options.iter().copied().collect::<Vec<_>>().join(", ");
            return Err(stale(format!("it was compiled with {}; this build has {}", list(&theirs), list(&ours))));
        }
        Ok(manifest.files.iter().map(|(name, _)| manifest::path(name)).collect())
    }

    /// Takes features, `cfg`s, edition and checks from the crate that is built. A bundle to commit is for all profiles,
    /// so it has no checks.
    fn follow_crate(&mut self, to_commit: bool) {
        let folder = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
        let CrateOptions { cfgs, edition, debug_assertions } =
            CrateOptions::of_build_script(std::env::vars_os(), Path::new(&folder), toolchain::cargo_names_assertions());
        self.cfgs.extend(cfgs);
        self.edition = self.edition.take().or(edition);
        self.debug_assertions = Some(self.debug_assertions.unwrap_or(debug_assertions && !to_commit));
    }

    fn edition_or_newest(&self) -> &str {
        self.edition.as_deref().unwrap_or("2024")
    }

    /// Returns the options that affect the meaning of the source, for the manifest.
    fn options(&self) -> BTreeSet<String> {
        let mut options: BTreeSet<String> = self.cfgs.iter().map(|cfg| format!("cfg {cfg}")).collect();
        options.insert(format!("edition {}", self.edition_or_newest()));
        options.insert(format!("panics {:?}", self.panics));
        options
    }

    /// Returns the module's name.
    fn stem(&self) -> Result<String> {
        let name = |path: &Path| path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned);
        let stem = match name(&self.source) {
            Some(stem) if stem == "mod" => self.source.parent().and_then(name),
            other => other,
        };
        stem.filter(|stem| stem.chars().all(|c| c.is_alphanumeric() || c == '_'))
            .ok_or_else(|| Error::Invalid(format!("{} is not the file of a module", self.source.display())))
    }

    /// Writes the crate whose only module is the program's. The file is found like that of the program's `mod
    /// kernels;`, not by `#[path]`, so that the modules in it are the same files.
    fn root(&self, work: &Path) -> Result<PathBuf> {
        let full =
            std::path::absolute(&self.source).map_err(|reason| Error::File { path: self.source.clone(), reason })?;
        let is_folder = full.file_stem().is_some_and(|stem| stem == "mod");
        let folder = full.ancestors().nth(if is_folder { 2 } else { 1 }).unwrap_or(&full);
        let (root, stem) = (work.join("lib.rs"), self.stem()?);
        let library = if self.edition_or_newest() == "2015" { "extern crate hip_kernel;\n" } else { "" };
        let text = format!(
            "#![no_std]\n#![feature(abi_gpu_kernel)]\n#![allow(internal_features, dead_code, unexpected_cfgs)]\n\
             #![forbid(unsafe_attr_outside_unsafe)]\n\
             #[cfg(hip_kernel_stack)]\nextern crate hip_kernel_stack as _;\n\
             #[allow(unused_imports)]\n#[macro_use]\nextern crate hip_kernel as _;\n{library}\
             #[path = {folder:?}]\nmod source {{\n    pub mod {stem};\n}}\npub use source::{stem};\n"
        );
        compile::write(&root, text)?;
        Ok(root)
    }
}

/// The reason for a bundle without a manifest.
const UNSAID: &str = "it does not say what source it is of";

/// Returns why a committed bundle differs from the current compilation. One that was made with other `cfg`s, or by
/// another compiler, is not stale.
fn stale(bundle: &[u8], now: &Manifest, architectures: &[String]) -> Option<String> {
    let Some(then) = Manifest::of(bundle) else { return Some(UNSAID.to_owned()) };
    let has = bundle::architectures(bundle).unwrap_or_default();
    if let Some(missing) = architectures.iter().find(|arch| !has.contains(arch)) {
        return Some(format!("it has no code for {missing}"));
    }
    let changed = then.changed();
    if !changed.is_empty() {
        return Some(format!("these have changed since: {}", changed.join(", ")));
    }
    if then.library != now.library {
        return Some("it was compiled with another hip-kernel".to_owned());
    }
    let is_other = |option: &&String| !option.starts_with("cfg ");
    let other = |manifest: &Manifest| manifest.options.iter().filter(is_other).cloned().collect::<Vec<_>>();
    if other(&then) != other(now) {
        return Some(format!(
            "it was compiled with {}; this build has {}",
            other(&then).join(", "),
            other(now).join(", ")
        ));
    }
    // A module that only another `cfg` adds is not a change.
    (then.options == now.options && then.files != now.files).then(|| "it is of other files".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "use hip_kernel::prelude::*;\nmod helper;\n\
                          #[kernel] pub fn go(mut y: DisjointSlice<u8>) { y.set(|i| helper::next(i)); }\n\
                          #[cfg(feature = \"more\")] #[kernel] pub fn more(mut y: DisjointSlice<u8>) { y.set(|_| 1); }\n";
    const HELPER: &str = "pub fn next(i: usize) -> u8 { i as u8 + 1 }\n";

    /// A bundle whose source has changed, or that was compiled with another configuration, is not used.
    #[test]
    fn a_stale_bundle_is_refused() {
        if let Err(why) = Toolchain::find() {
            println!("SKIPPED: kernels in Rust cannot be built here: {why}");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let [source, helper, bundle] =
            ["kernels.rs", "kernels/helper.rs", "kernels.hipfb"].map(|name| folder.path().join(name));
        std::fs::create_dir(folder.path().join("kernels")).unwrap();
        let write = |path: &PathBuf, text: &str| std::fs::write(path, text).unwrap();
        write(&source, SOURCE);
        write(&helper, HELPER);
        let build = Build::new(&source).archs(["gfx90a"]).committed(&bundle);
        let program = std::env::current_exe().unwrap();
        let cache = program.ancestors().nth(2).unwrap().join("hip-kernel");
        let make = |build: &Build| build.make(&folder.path().join("out"), &cache).unwrap();
        let made = make(&build);
        assert_eq!(made.stale, None, "there is none yet");
        std::fs::write(&bundle, &made.bundle).unwrap();
        let why = || "no compiler".to_owned();
        let taken = |build: &Build| build.committed_bundle(why()).map(|made| made.read);
        assert_eq!(taken(&build).unwrap(), [source.clone(), helper.clone()]);
        assert_eq!(make(&build).stale, None);
        // Options that the source does not name have no effect.
        taken(&build.clone().cfg("feature=\"sim\"").debug_assertions(true)).unwrap();
        let refused = |build: &Build, part: &str| match taken(build) {
            Err(Error::Stale { reason, .. }) => assert!(reason.contains(part), "{reason}"),
            other => panic!("{other:?}"),
        };
        refused(&build.clone().cfg("feature=\"more\""), "feature=\"more\"");
        assert_eq!(make(&build.clone().cfg("feature=\"more\"")).stale, None, "another configuration is not newer");
        refused(&build.clone().edition("2021"), "edition 2024");
        refused(&build.clone().panics(Panics::Trap), "Trap");

        write(&helper, &HELPER.replace('1', "2"));
        refused(&build, "helper.rs");
        assert!(make(&build).stale.unwrap().contains("helper.rs"));
        write(&helper, &HELPER.replace('\n', "\r\n"));
        taken(&build).unwrap();
        std::fs::remove_file(&helper).unwrap();
        refused(&build, "helper.rs");
        // A bundle from a release that wrote no manifest.
        let old = bundle::bundle(&[("gfx90a".to_owned(), b"code".to_vec())]);
        std::fs::write(&bundle, old).unwrap();
        refused(&build, "what source");
    }
}
