//! Compiles kernels when a crate is built: for a build script, or the command `hiprtc-compile` (feature `cli`).
//!
//! `build.rs`, with `hiprtc` in `[build-dependencies]`:
//!
//! ```no_run
//! fn main() -> hiprtc::Result<()> {
//!     hiprtc::build::Build::new("kernels/scale.hip")
//!         .archs(["gfx90a", "gfx942"])
//!         .committed("kernels/scale.hipfb")
//!         .compile()
//! }
//! ```
//!
//! The program, with `hiprtc` in `[dependencies]`, too:
//!
//! ```ignore
//! hiprtc::kernels! { mod scale; } // extern "C" __global__ void scale(float *x, float by, unsigned n)
//!
//! let kernels = scale::Kernels::load(&device)?;
//! unsafe { kernels.scale.launch(&stream, LaunchConfig::for_elements(n, 256), &mut x, 2.0, n as u32)? };
//! ```
//!
//! The first of these that is available on the build machine compiles the source:
//!
//! 1. ROCm's clang: `amdclang++` or `clang++` in `ROCM_PATH`, `HIP_PATH` or `/opt/rocm*`, or `amdclang++` on the path,
//! 2. HIPRTC, found as at run time,
//! 3. neither: the committed bundle is used as it is, and a warning of Cargo says so.
//!
//! So a crate with a committed bundle builds everywhere. The command `hiprtc-compile` writes one. Where HIPRTC of
//! `rocm-sdk install` needs a newer C library than the machine has, the build script starts itself again on that of the
//! installation.
//! `HIPRTC_BUILD=clang`, `hiprtc` or `committed` selects one of the three; if it is not available, that is an error.
//!
//! Two files are written to `OUT_DIR`: `scale.hipfb`, the code for all architectures, and `scale.rs`, with a type for
//! each kernel as [`hip::kernel!`] makes it. The parameters have the types of the source: an argument of another type
//! does not compile. They are compared with the code object when they are written, and again when the code is loaded.
//!
//! The build script runs again when the source, a header that it includes, the committed bundle or the compiler
//! changes.

mod clang;
mod declare;
#[cfg(target_os = "linux")]
mod restart;
mod temporary;

use std::fmt;
use std::path::{Path, PathBuf};

use hip::Arch;
use rocm_loader::report::Reason;

use crate::bundle::{Bundle, BundleWriter};
use crate::compiler::Compiler;
use crate::error::{Error, Result};
use crate::includes::{self, Folders};
use crate::options::Options;
use crate::program::{Program, check_arch};
use crate::source;
use clang::{Clang, file_error};
#[cfg(target_os = "linux")]
pub use restart::restart;
use temporary::{Log, Temporary};

/// The variable that selects the compiler.
const VARIABLE: &str = "HIPRTC_BUILD";
/// Variables that determine which compiler is found.
const VARIABLES: [&str; 3] = [VARIABLE, "ROCM_PATH", "HIP_PATH"];
/// Runs a program on an installed ROCm.
const RUN: &str = "rocm-sdk run 7.2 -- PROGRAM";

/// Includes the declarations of kernels that the build script has written with
/// [`Build::compile`](crate::build::Build::compile), as a module.
///
/// `mod scale;` includes `scale.rs` of `OUT_DIR`, for `scale.hip`; for `my-kernels.hip` it is `mod my_kernels;`. The
/// module contains
///
/// - a type for each kernel, as [`hip::kernel!`] makes it: `Scale` for `scale`. The types of its arguments are those of
///   the source, so that an argument of another type does not compile;
/// - `struct Kernels`, with a field for each kernel, and `Kernels::load(device)`;
/// - `static BUNDLE`, the code.
///
/// ```ignore
/// hiprtc::kernels! {
///     /// The kernels of `kernels/scale.hip`.
///     pub mod scale;
/// }
/// ```
#[macro_export]
macro_rules! kernels {
    ($($(#[$attribute:meta])* $visibility:vis mod $name:ident;)*) => {$(
        $(#[$attribute])*
        #[allow(dead_code, unreachable_pub, non_snake_case, non_camel_case_types, clippy::all, clippy::pedantic)]
        $visibility mod $name {
            include!(concat!(env!("OUT_DIR"), "/", stringify!($name), ".rs"));
        }
    )*};
}

/// Finds the ROCm clang that [`Build::make`] uses for an architecture: its path, and the installation that it is in. `folder` is for
/// temporary files.
///
/// # Errors
/// [`Error::Build`] with the reason if there is none that compiles.
pub fn find_clang(arch: &Arch, folder: &Path) -> Result<(PathBuf, Option<PathBuf>)> {
    let clang = clang::find(|name| std::env::var_os(name), arch, folder);
    clang
        .map(|clang| (clang.path, clang.root))
        .map_err(|reason| Error::Build { source: PathBuf::from("HIP C++"), reason })
}

/// One source and how it is compiled.
#[derive(Clone, Debug)]
#[must_use]
pub struct Build {
    source: PathBuf,
    architectures: Vec<String>,
    options: Options,
    committed: Option<PathBuf>,
    types: Vec<(String, String)>,
    choice: Choice,
    /// Whether this is a build script, which may start again on an installed ROCm.
    restarts: bool,
}

/// The compiler to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Choice {
    /// The first one available.
    #[default]
    Any,
    /// ROCm's clang.
    Clang,
    /// HIPRTC.
    Hiprtc,
    /// None: the committed bundle.
    Committed,
}

/// The source of the code of a [`Made`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum By {
    /// ROCm's clang, at this path.
    Clang(PathBuf),
    /// HIPRTC; NVRTC for architectures of NVIDIA's.
    Hiprtc,
    /// NVRTC, where all architectures are NVIDIA's.
    Nvrtc,
    /// The committed bundle at this path, and the reason why no compiler is available.
    Committed(PathBuf, String),
}

/// The name of the compiler for NVIDIA's architectures.
const NVRTC: &str = "NVRTC";

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clang(path) => path.display().fmt(f),
            Self::Hiprtc => f.write_str("HIPRTC"),
            Self::Nvrtc => f.write_str(NVRTC),
            Self::Committed(path, _) => write!(f, "the committed bundle {}", path.display()),
        }
    }
}

/// The result of [`Build::make`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Made {
    /// The code for all architectures: a [`Bundle`].
    pub bundle: Vec<u8>,
    /// The declarations of the kernels in Rust, which include the bundle by the given path.
    pub rust: String,
    /// The source of the code.
    pub by: By,
    /// Kernels without a declaration in Rust, and why.
    pub left_out: Vec<String>,
    /// The compiler's warnings.
    pub log: String,
    /// The files it depends on: the source, its headers, and folders of headers that cannot be followed. A committed
    /// bundle that does not exist is not among them.
    pub depends_on: Vec<PathBuf>,
}

impl Build {
    /// Compiles the HIP C++ source at `source`, a path from the crate's root.
    pub fn new(source: impl Into<PathBuf>) -> Self {
        Self {
            source: source.into(),
            architectures: Vec::new(),
            options: Options::new(),
            committed: None,
            types: Vec::new(),
            choice: Choice::Any,
            restarts: false,
        }
    }

    /// Adds architectures to compile for, such as `"gfx90a"`. At least one is necessary.
    pub fn archs<A: fmt::Display>(mut self, architectures: impl IntoIterator<Item = A>) -> Self {
        self.architectures.extend(architectures.into_iter().map(|arch| arch.to_string()));
        self
    }

    /// Sets the compiler's options. Headers are found in the source's folder (in quotes) and by
    /// [`Options::include_dir`].
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Sets the bundle that is used if no compiler is available: a file of the crate, which `hiprtc-compile` writes.
    pub fn committed(mut self, bundle: impl Into<PathBuf>) -> Self {
        self.committed = Some(bundle.into());
        self
    }

    /// Names the Rust type of a C++ type, for parameters by value and pointers: `rust_type("Params", "crate::Params")`.
    /// The Rust type must have the same layout, and implement the traits that [`hip::kernel!`] requires. A structure
    /// is `#[repr(C)]` and derives `bytemuck::NoUninit` (`Pod` behind pointers), which needs `bytemuck`'s feature
    /// `derive`. Number types are known already, except those of 16 bits: `rust_type("__half", "half::f16")`, with
    /// `hip`'s feature `half`.
    pub fn rust_type(mut self, c: impl Into<String>, rust: impl Into<String>) -> Self {
        self.types.push((c.into(), rust.into()));
        self
    }

    /// Chooses the compiler. The variable `HIPRTC_BUILD` overrides it in [`compile`](Self::compile).
    pub fn compiler(mut self, choice: Choice) -> Self {
        self.choice = choice;
        self
    }

    /// Compiles, writes the bundle and its declarations to `OUT_DIR`, and prints Cargo's instructions: for a build
    /// script.
    ///
    /// # Errors
    /// Those of [`make`](Self::make); [`Error::Build`] outside of a build script, or if `HIPRTC_BUILD` has another
    /// value; [`Error::File`] if a file cannot be written.
    pub fn compile(&self) -> Result<()> {
        let out = std::env::var_os("OUT_DIR").map(PathBuf::from).ok_or_else(|| Error::Build {
            source: self.source.clone(),
            reason: "OUT_DIR is not set: call Build::compile in a build script, or Build::make elsewhere".to_owned(),
        })?;
        let choice = match std::env::var(VARIABLE).as_deref() {
            Err(_) | Ok("") => self.choice,
            Ok("any") => Choice::Any,
            Ok("clang") => Choice::Clang,
            Ok("hiprtc") => Choice::Hiprtc,
            Ok("committed") => Choice::Committed,
            Ok(other) => {
                let reason = format!("{VARIABLE}={other}: expected any, clang, hiprtc or committed");
                return Err(Error::Build { source: self.source.clone(), reason });
            }
        };
        let stem = self.stem()?;
        let bundle = format!("{stem}.hipfb");
        let made = Self { choice, restarts: true, ..self.clone() }.make(&bundle, &out)?;
        // Printed after `make`, which may replace this process by one that prints the same. A script that fails runs again anyway.
        VARIABLES.iter().for_each(|name| println!("cargo::rerun-if-env-changed={name}"));
        made.depends_on.iter().for_each(|path| println!("cargo::rerun-if-changed={}", path.display()));
        if let By::Committed(path, why) = &made.by {
            let why = if choice == Choice::Committed { "as requested".to_owned() } else { one_line(why) };
            println!("cargo::warning={}: taken from {} ({why})", self.source.display(), path.display());
        }
        for reason in &made.left_out {
            println!("cargo::warning={}: no declaration for {}", self.source.display(), one_line(reason));
        }
        for line in made.log.lines().filter(|line| line.contains("warning:")) {
            println!("cargo::warning={line}");
        }
        write(&out.join(&bundle), &made.bundle)?;
        write(&out.join(format!("{stem}.rs")), made.rust.as_bytes())
    }

    /// Compiles, and returns the code and its declarations. `bundle` is the path of the bundle in the declarations,
    /// relative to their file; `folder` is for temporary files.
    ///
    /// # Errors
    /// - [`Error::Compilation`] if the source does not compile. Another compiler is not tried then.
    /// - [`Error::Build`] if no compiler is available and there is no committed bundle, or the bundle has no code for
    ///   one of the architectures, or the code does not match the source: another number, size or kind of parameters.
    /// - [`Error::File`] if a file cannot be read; [`Error::InvalidArch`], [`Error::Empty`], [`Error::InvalidOption`]
    ///   for invalid input.
    pub fn make(&self, bundle: &str, folder: &Path) -> Result<Made> {
        let wrong = |reason: String| Error::Build { source: self.source.clone(), reason };
        let architectures = self.architectures.iter().map(|arch| check_arch(arch)).collect::<Result<Vec<_>>>()?;
        let first = architectures.first().ok_or_else(|| wrong("no architecture is given: Build::archs".to_owned()))?;
        self.options.check()?;
        let text = std::fs::read_to_string(&self.source).map_err(|reason| file_error(&self.source, reason))?;
        let (code, by, log) = self.code(&text, &architectures, folder)?;
        let parsed = Bundle::decompress(&code)?;
        let parsed = Bundle::parse(&parsed)?;
        for arch in &architectures {
            parsed.select(arch).map_err(|error| wrong(self.of_bundle(format!("{by}: {error}"), &by)))?;
        }
        let described = hip::Module::describe(&code, first)?;
        let names = architectures.iter().map(Arch::to_string).collect::<Vec<_>>().join(", ");
        let declared = source::kernels(&text);
        let file = self.source.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let made =
            declare::declarations(&declared, &described, &self.types, &file, bundle, &names).map_err(|reason| {
                wrong(self.of_bundle(format!("the code of {by} is not that of the source: {reason}"), &by))
            })?;
        let mut depends_on = self.files(&text);
        match &by {
            By::Clang(path) => depends_on.push(path.clone()),
            By::Hiprtc => depends_on.extend(hiprtc_sys::BINDING.opened().and_then(|l| l.path()).map(Path::to_owned)),
            By::Nvrtc | By::Committed(..) => {}
        }
        // Cargo runs a script again and again if a file that it depends on does not exist.
        depends_on.extend(self.committed.clone().filter(|path| path.exists()));
        Ok(Made { bundle: code, rust: made.rust, by, left_out: made.left_out, log, depends_on })
    }

    /// Returns the bundle, made by the chosen compiler.
    fn code(&self, text: &str, architectures: &[Arch], folder: &Path) -> Result<(Vec<u8>, By, String)> {
        let (mut why, mut run) = (Vec::new(), None);
        if self.choice != Choice::Committed {
            if let Some(compiled) = self.compiled(text, architectures, folder, &mut why, &mut run)? {
                return Ok(compiled);
            }
        }
        match &self.committed {
            Some(path) if matches!(self.choice, Choice::Any | Choice::Committed) => match std::fs::read(path) {
                Ok(code) => Ok((code, By::Committed(path.clone(), why.join("; ")), String::new())),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(self.unavailable(&why, run)),
                Err(error) => Err(file_error(path, error)),
            },
            _ => Err(self.unavailable(&why, run)),
        }
    }

    /// Compiles, if the compilers are available. If not, adds the reasons to `why`, and sets `run` to a command that
    /// runs programs on an installed ROCm.
    fn compiled(
        &self,
        text: &str,
        architectures: &[Arch],
        folder: &Path,
        why: &mut Vec<String>,
        run: &mut Option<String>,
    ) -> Result<Option<(Vec<u8>, By, String)>> {
        // NVRTC compiles for NVIDIA's architectures, whatever compiles for AMD's.
        if let Some(Err(error)) =
            architectures.iter().find(|arch| arch.is_nvidia()).map(|arch| Compiler::of(Some(arch)))
        {
            why.push(format!("{NVRTC}: {}", summary(&error)));
            return Ok(None);
        }
        let Some(arch) = architectures.iter().find(|arch| !arch.is_nvidia()) else {
            return self.by_hiprtc(text, architectures, By::Nvrtc).map(Some);
        };
        if matches!(self.choice, Choice::Any | Choice::Clang) {
            let folder = Temporary::new(folder)?;
            match clang::find(|name| std::env::var_os(name), arch, &folder.0) {
                Ok(clang) => return self.by_clang(&clang, text, architectures, &folder.0).map(Some),
                Err(reason) => why.push(format!("ROCm's clang: {reason}")),
            }
        }
        if matches!(self.choice, Choice::Any | Choice::Hiprtc) {
            let Err(error) = Compiler::of(Some(arch)) else {
                return self.by_hiprtc(text, architectures, By::Hiprtc).map(Some);
            };
            *run = how_to_run(&error);
            why.push(format!("HIPRTC: {}", summary(&error)));
            #[cfg(target_os = "linux")]
            if self.restarts {
                why.extend(restart::on_libraries_of(&error));
            }
        }
        Ok(None)
    }

    /// Returns the error for a source that nothing has compiled: why each compiler is not available, and what to do.
    /// `run` is a command that runs programs on an installed ROCm.
    fn unavailable(&self, why: &[String], run: Option<String>) -> Error {
        let bundle = match &self.committed {
            Some(path) => format!("the committed bundle {} does not exist", path.display()),
            None => "no committed bundle is named (Build::committed)".to_owned(),
        };
        let mut text = match self.choice {
            Choice::Any => format!("no compiler is available, and {bundle}"),
            Choice::Clang => format!("{VARIABLE} or Build::compiler requires ROCm's clang, which is not available"),
            Choice::Hiprtc => format!("{VARIABLE} or Build::compiler requires HIPRTC, which is not available"),
            Choice::Committed => format!("{VARIABLE} or Build::compiler requires the committed bundle, and {bundle}"),
        };
        why.iter().for_each(|reason| text += &format!("\n  {reason}"));
        // NVRTC is not a part of ROCm.
        let needs_rocm = !why.iter().any(|reason| reason.starts_with(NVRTC));
        if needs_rocm && matches!(self.choice, Choice::Any | Choice::Hiprtc) {
            let command = |run: &str| run.replace("PROGRAM", "cargo build");
            text += &match run {
                Some(run) => format!("\nto compile with the installed ROCm: `{}`", command(&run)),
                None => "\nto compile here: `rocm-sdk install 7.2`, then `cargo build`".to_owned(),
            };
        }
        if matches!(self.choice, Choice::Any | Choice::Committed) {
            text += &format!("\nto build without a compiler, commit a bundle: {}", self.how_to_commit());
        }
        Error::Build { source: self.source.clone(), reason: text }
    }

    /// Adds to a problem of a committed bundle why no compiler was used, and how to write the bundle.
    fn of_bundle(&self, problem: String, by: &By) -> String {
        match by {
            By::Committed(_, why) if why.is_empty() => {
                format!("{problem}\nto write the bundle: {}", self.how_to_commit())
            }
            By::Committed(_, why) => format!(
                "{problem}\nthe bundle was used because no compiler is available ({why})\nto write the bundle: {}",
                self.how_to_commit()
            ),
            By::Clang(_) | By::Hiprtc | By::Nvrtc => problem,
        }
    }

    /// Returns the command that writes the bundle to commit.
    fn how_to_commit(&self) -> String {
        let program = format!("hiprtc-compile {} --arch {}", self.source.display(), self.architectures.join(","));
        let mut command = RUN.replace("PROGRAM", &program);
        if let Some(path) = self.committed.as_ref().filter(|path| **path != self.source.with_extension("hipfb")) {
            command += &format!(" -o {}", path.display());
        }
        if !self.options.as_slice().is_empty() {
            command += &format!(" -- {}", self.options.as_slice().join(" "));
        }
        format!("`{command}` (get the command by `cargo install --locked --path hiprtc --features cli` in a checkout)")
    }

    fn by_clang(
        &self,
        clang: &Clang,
        text: &str,
        architectures: &[Arch],
        folder: &Path,
    ) -> Result<(Vec<u8>, By, String)> {
        let (mut writer, mut log) = (BundleWriter::new(), Log::default());
        for arch in architectures {
            let (code, warnings) = if arch.is_nvidia() {
                let code = self.program(text).compile_for(arch)?;
                let log = code.log().to_owned();
                (code.into_bytes(), log)
            } else {
                clang.compile(&self.source, arch, self.options.as_slice(), folder)?
            };
            log.add(&warnings);
            writer = writer.add(arch.clone(), code);
        }
        Ok((writer.to_bytes(), By::Clang(clang.path.clone()), log.0))
    }

    fn program(&self, text: &str) -> Program {
        // The compiler gets a string, which lies in no folder. The name is the path, so that messages refer to the file.
        let options = self.options.clone().raw(format!("-iquote{}", self.folder().display()));
        Program::new(self.source.display().to_string(), text).options(options)
    }

    fn by_hiprtc(&self, text: &str, architectures: &[Arch], by: By) -> Result<(Vec<u8>, By, String)> {
        let program = self.program(text);
        let (mut writer, mut log) = (BundleWriter::new(), Log::default());
        for arch in architectures {
            let code = program.compile_for(arch)?;
            log.add(code.log());
            writer = writer.add(arch.clone(), code.into_bytes());
        }
        Ok((writer.to_bytes(), by, log.0))
    }

    /// Returns the source and its headers; if they cannot be followed, the folders that are searched for headers.
    fn files(&self, text: &str) -> Vec<PathBuf> {
        let folders = Folders::of_options(self.options.as_slice());
        let mut all = vec![self.source.clone()];
        let found = folders.and_then(|mut folders| {
            folders.quoted.insert(0, self.folder());
            includes::find(std::iter::once(text), |_| false, &folders)
        });
        match found {
            Some(found) => all.extend(found.files.into_iter().map(|(path, _)| path)),
            None => {
                all.push(self.folder());
                let given = self.options.as_slice().iter().filter_map(|option| option.strip_prefix("-I"));
                all.extend(given.filter(|folder| !folder.is_empty()).map(PathBuf::from));
            }
        }
        all
    }

    /// Returns the source's folder.
    fn folder(&self) -> PathBuf {
        let folder = self.source.parent().filter(|folder| !folder.as_os_str().is_empty());
        folder.map_or_else(|| PathBuf::from("."), Path::to_owned)
    }

    /// Returns the source's name without its folder and extension, as the name of a module: `my-kernels.hip` is
    /// `my_kernels`.
    fn stem(&self) -> Result<String> {
        let stem = self.source.file_stem().ok_or_else(|| Error::Empty { what: "the source's path".to_owned() })?;
        Ok(stem.to_string_lossy().chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect())
    }
}

/// Returns the command that runs a program on the installed ROCm, if HIPRTC needs a newer C library than this machine
/// has.
fn how_to_run(error: &Error) -> Option<String> {
    let (Error::NoHiprtc(error) | Error::NoComgr { reason: error, .. }) = error else { return None };
    match &**error {
        rocm_loader::Error::Unusable { reason: Reason::SystemTooOld { run, .. }, .. } => run.clone(),
        _ => None,
    }
}

/// Returns the reason why HIPRTC is not available, on one line.
fn summary(error: &Error) -> String {
    match error {
        Error::NoHiprtc(error) => error.summary(),
        error => error.to_string().lines().next().unwrap_or_default().to_owned(),
    }
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).map_err(|reason| file_error(path, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_names_of_modules() {
        let stem = |path: &str| Build::new(path).stem().unwrap();
        assert_eq!((stem("kernels/scale.hip"), stem("my-kernels.v2.cpp")), ("scale".into(), "my_kernels_v2".into()));
        assert!(Build::new("..").stem().is_err());
    }

    #[test]
    fn without_a_compiler_the_error_has_each_reason_and_what_to_do() {
        let build = Build::new("kernels/scale.hip").archs(["gfx90a", "gfx942"]);
        let why = ["ROCm's clang: no amdclang++ is installed".to_owned(), "HIPRTC: it needs glibc 2.38".to_owned()];
        let text = |build: &Build, run: Option<&str>| build.unavailable(&why, run.map(str::to_owned)).to_string();
        let expected = "kernels/scale.hip: no compiler is available, and the committed bundle kernels/scale.hipfb does not exist\n  \
             ROCm's clang: no amdclang++ is installed\n  \
             HIPRTC: it needs glibc 2.38\n\
             to compile with the installed ROCm: `rocm-sdk run 7.2 -- cargo build`\n\
             to build without a compiler, commit a bundle: `rocm-sdk run 7.2 -- hiprtc-compile kernels/scale.hip --arch \
             gfx90a,gfx942` (get the command by `cargo install --locked --path hiprtc --features cli` in a checkout)";
        let committed = build.clone().committed("kernels/scale.hipfb");
        assert_eq!(text(&committed, Some(RUN)), expected);
        let absent = text(&committed, None);
        assert!(absent.contains("`rocm-sdk install 7.2`, then `cargo build`"), "{absent}");

        let others = build.clone().options(Options::new().raw("-DA=1")).committed("b.hipfb");
        let others = text(&others.compiler(Choice::Committed), None);
        assert!(
            others.contains("--arch gfx90a,gfx942 -o b.hipfb -- -DA=1`") && !others.contains("cargo build`"),
            "{others}"
        );
        for (choice, part) in [(Choice::Clang, "requires ROCm's clang"), (Choice::Hiprtc, "requires HIPRTC")] {
            let text = text(&committed.clone().compiler(choice), None);
            assert!(text.contains(part) && !text.contains("bundle"), "{text}");
        }
    }

    #[test]
    fn a_hiprtc_for_a_newer_system_says_how_to_run_it() {
        let error = rocm_loader::Search::nowhere().open(&rocm_loader::libraries::HIPRTC).unwrap_err();
        let rocm_loader::Error::NotFound { library, report } = &error else { panic!("{error}") };
        let reason = Reason::SystemTooOld { needed: "glibc 2.38".to_owned(), found: None, run: Some(RUN.to_owned()) };
        let (target, report) = ("/x/libhiprtc.so.7".to_owned(), report.clone());
        let old = rocm_loader::Error::Unusable { library, target, reason, report };
        assert_eq!(how_to_run(&Error::NoHiprtc(Box::new(old.clone()))).as_deref(), Some(RUN));
        assert_eq!(how_to_run(&Error::NoHiprtc(Box::new(error))), None);
        let summary = summary(&Error::NoHiprtc(Box::new(old)));
        assert!(summary.starts_with("/x/libhiprtc.so.7: needs glibc 2.38") && !summary.contains('\n'), "{summary}");
    }

    #[test]
    fn messages_are_there_once() {
        let mut log = Log::default();
        log.add("a.hip:1: warning: x\n1 warning generated when compiling for gfx90a.");
        log.add("a.hip:1: warning: x\n1 warning generated when compiling for gfx942.");
        assert_eq!(log.0.matches("warning: x").count(), 1);
        assert_eq!(log.0.lines().count(), 3);
    }

    #[test]
    fn temporary_folders_are_apart_and_go() {
        let parent = tempfile::tempdir().unwrap();
        let (one, two) = (Temporary::new(parent.path()).unwrap(), Temporary::new(parent.path()).unwrap());
        assert_ne!(one.0, two.0);
        std::fs::write(one.0.join("file"), "x").unwrap();
        drop((one, two));
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
        assert!(matches!(Temporary::new(&parent.path().join("none")), Err(Error::File { .. })));
    }
}
