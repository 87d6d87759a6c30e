//! Finds a Rust that compiles for AMD GPUs.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A compiler and its requirements.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Toolchain {
    /// `rustc`
    pub rustc: PathBuf,
    /// The source of `core` (`rust-src`): the folder `library`.
    pub library: PathBuf,
    /// The output of `rustc -vV`.
    pub version: String,
    /// Its release, such as `1.95.0`.
    pub release: String,
    /// The host's target.
    pub host: String,
    /// The folder of the compiler's own libraries.
    pub sysroot: PathBuf,
}

/// Rust's target for AMD GPUs.
pub(crate) const TARGET: &str = "amdgcn-amd-amdhsa";
/// The minor number of the oldest tested release.
const OLDEST: u32 = 95;
/// The variables with the path of `rustc`, and with the source of `core`.
pub(crate) const VARIABLES: [&str; 2] = ["HIP_KERNEL_RUSTC", "HIP_KERNEL_RUST_SRC"];

impl Toolchain {
    /// Finds the first of these that is complete: `HIP_KERNEL_RUSTC`; the compiler of this build (`RUSTC`) or on the
    /// path; rustup's `nightly`.
    ///
    /// The source of `core` is that of `HIP_KERNEL_RUST_SRC`, of rustup (`rustup component add rust-src`), or of Debian
    /// (the package `rust-src`), whose release must be the compiler's.
    ///
    /// # Errors
    /// The missing requirement of each compiler that was found, and what to do.
    pub fn find() -> Result<Self, String> {
        Self::find_with(|name| env::var_os(name))
    }

    /// Finds it with variables from `variable` instead of those of the process.
    ///
    /// # Errors
    /// Those of [`find`](Self::find).
    pub fn find_with(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, String> {
        let given = variable(VARIABLES[0]).filter(|path| !path.is_empty());
        let source = variable(VARIABLES[1]).filter(|path| !path.is_empty()).map(PathBuf::from);
        let mut candidates: Vec<PathBuf> = Vec::new();
        if let Some(given) = &given {
            candidates.push(given.into());
        } else {
            candidates.push(variable("RUSTC").filter(|path| !path.is_empty()).unwrap_or_else(|| "rustc".into()).into());
            candidates.extend(nightly());
        }
        let mut why = Vec::new();
        for rustc in candidates {
            match Self::of(&rustc, source.as_deref()) {
                Ok(toolchain) => return Ok(toolchain),
                Err(reason) => why.push(reason),
            }
        }
        Err(why.join("; "))
    }

    /// Returns the toolchain of a compiler.
    ///
    /// # Errors
    /// The missing requirement.
    pub fn of(rustc: &Path, source: Option<&Path>) -> Result<Self, String> {
        let version = ask(rustc, &["-vV"])?;
        let field = |name: &str| {
            let line = version.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            line.map(str::to_owned).ok_or_else(|| format!("{}: no {name} in {version:?}", rustc.display()))
        };
        let (release, host) = (field("release")?, field("host")?);
        let minor = minor(&release).ok_or_else(|| format!("{}: the release {release:?}", rustc.display()))?;
        if minor < OLDEST {
            return Err(format!("Rust {release} is too old: 1.{OLDEST} or newer is needed (`rustup update`)"));
        }
        let targets = ask(rustc, &["--print", "target-list"])?;
        if !targets.lines().any(|target| target == TARGET) {
            return Err(format!("Rust {release} ({}) has no target {}", rustc.display(), TARGET));
        }
        let sysroot = PathBuf::from(ask(rustc, &["--print", "sysroot"])?.trim());
        let linker =
            sysroot.join("lib/rustlib").join(&host).join("bin").join(format!("rust-lld{}", env::consts::EXE_SUFFIX));
        if !linker.is_file() && !on_path("rust-lld") {
            return Err(format!("Rust {release} has no rust-lld: {} is not there", linker.display()));
        }
        let library = library(source, &sysroot, minor).ok_or_else(|| {
            let version = release.split('-').next().unwrap_or_default();
            format!(
                "Rust {release} without the source of `core`: `rustup component add rust-src`, or Debian's package rust-src {version} unpacked and \
                 its folder `library` in {}",
                VARIABLES[1]
            )
        })?;
        Ok(Self { rustc: rustc.to_owned(), library, version, release, host, sysroot })
    }

    /// Checks that the compiler knows the architectures.
    ///
    /// # Errors
    /// The first one that it does not know, and those that it knows.
    pub(crate) fn check(&self, architectures: &[String]) -> Result<(), String> {
        let listed = ask(&self.rustc, &["--target", TARGET, "--print", "target-cpus"])?;
        let known: Vec<&str> = listed.split_whitespace().filter(|word| word.starts_with("gfx")).collect();
        match architectures.iter().find(|arch| !known.contains(&arch.as_str())) {
            Some(unknown) => {
                Err(format!("Rust {} does not know {unknown}. It knows {}", self.release, known.join(", ")))
            }
            None => Ok(()),
        }
    }
}

/// Returns whether the Cargo of this build passes the profile's setting in `CARGO_CFG_DEBUG_ASSERTIONS`. That of Rust
/// 1.95 does.
pub(crate) fn cargo_names_assertions() -> bool {
    let rustc = env::var_os("RUSTC").map_or_else(|| PathBuf::from("rustc"), PathBuf::from);
    let version = ask(&rustc, &["-vV"]).unwrap_or_default();
    let release = version.lines().find_map(|line| line.strip_prefix("release: "));
    release.and_then(minor).is_some_and(|minor| minor >= OLDEST)
}

/// Returns the minor number: `95` for `1.95.0-nightly`.
fn minor(release: &str) -> Option<u32> {
    let mut numbers = release.split(['.', '-']);
    (numbers.next()? == "1").then_some(())?;
    numbers.next()?.parse().ok()
}

/// Returns the source of `core`.
fn library(source: Option<&Path>, sysroot: &Path, minor: u32) -> Option<PathBuf> {
    let is_library = |path: &PathBuf| path.join("core/src/lib.rs").is_file();
    if let Some(source) = source {
        // The folder itself, or one of its parents.
        let all = [source.to_owned(), source.join("library"), source.join("lib/rustlib/src/rust/library")];
        return all.into_iter().find(is_library);
    }
    let own = sysroot.join("lib/rustlib/src/rust/library");
    if is_library(&own) {
        return Some(own);
    }
    let entries = std::fs::read_dir("/usr/src").ok()?;
    let fits = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()?.strip_prefix("rustc-").map(str::to_owned));
        name.is_some_and(|release| self::minor(&release) == Some(minor))
    };
    let mut all: Vec<_> =
        entries.flatten().map(|entry| entry.path()).filter(fits).map(|path| path.join("library")).collect();
    all.retain(is_library);
    all.sort();
    all.pop()
}

/// Returns rustup's nightly compiler.
fn nightly() -> Option<PathBuf> {
    let output = Command::new("rustup").args(["which", "rustc", "--toolchain", "nightly"]).output().ok()?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    (output.status.success() && path.is_file()).then_some(path)
}

fn on_path(name: &str) -> bool {
    env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|folder| folder.join(name).is_file()))
}

fn ask(rustc: &Path, arguments: &[&str]) -> Result<String, String> {
    // The build's wrapper (`RUSTC_WRAPPER`) and flags are for the host's crates.
    let output =
        Command::new(rustc).args(arguments).output().map_err(|reason| format!("{}: {reason}", rustc.display()))?;
    if !output.status.success() {
        let first = String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or_default().to_owned();
        return Err(format!("{} {}: {first}", rustc.display(), arguments.join(" ")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_read() {
        assert_eq!(minor("1.95.0"), Some(95));
        assert_eq!(minor("1.97.0-nightly"), Some(97));
        assert_eq!(minor("2.0.0"), None);
        assert_eq!(minor("1"), None);
    }

    #[test]
    fn what_is_missing_is_named() {
        let error = Toolchain::of(Path::new("/nowhere/rustc"), None).unwrap_err();
        assert!(error.contains("/nowhere/rustc"), "{error}");
        let empty = tempfile::tempdir().unwrap();
        let rustc = PathBuf::from(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        let error = Toolchain::of(&rustc, Some(empty.path())).unwrap_err();
        assert!(error.contains("rust-src") || error.contains("too old"), "{error}");
    }
}
