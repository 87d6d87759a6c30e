//! The ROCm releases in Debian, and their packages.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::debian::{Apt, Contents, Package, Recipe, Selection, Wanted, numbered, replace};
use super::error::{Error, Result, While as _};
use super::host;
use crate::libraries;
use rocm_loader::LibrarySpec;

/// A ROCm release in Debian.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DebianRelease {
    /// Its name, `7.2`.
    pub name: &'static str,
    /// ROCm's major release, which is also the soname number of the HIP runtime.
    pub major: u32,
    /// Suites of the Debian archive that contain it.
    pub suites: &'static [&'static str],
    /// Patterns of packages, and the version that they are pinned to, since the suites contain several releases.
    pub pins: &'static [(&'static str, &'static str)],
}

const PACKAGES: &str = "libamd* libhip* libhsa* libroc* librccl* libmiopen* hipcc rocm-device-libs-*";
/// The compiler driver, which is a program and not a library.
const COMPILER: &str = "hipcc";
/// Header-only libraries, with the packages of the headers that they include.
const HEADER_LIBRARIES: [(&str, &[&str]); 4] = [
    ("rocprim", &["librocprim-dev"]),
    ("rocthrust", &["librocthrust-dev", "librocprim-dev"]),
    ("hipcub", &["libhipcub-dev", "librocprim-dev"]),
    ("rocwmma", &["librocwmma-dev"]),
];
/// Libraries with a companion library, and its package.
const COMPANIONS: [(&str, &str); 1] = [("libhipfft", "libhipfftw0")];
/// File name prefixes of ROCm's own libraries.
const OWN_FILES: [&str; 10] = [
    "libamd_",
    "libamdhip64",
    "libamd-dbgapi",
    "libhip",
    "libhsa-",
    "libroc",
    "librccl",
    "libMIOpen",
    "libmiopen",
    "liboam",
];
/// Packages of headers in every tree; those of HIP first.
const HEADERS: [&str; 4] = ["libamdhip64-dev", "libhiprtc-dev", "libamd-comgr-dev", "libhsa-runtime-dev"];

/// Every release that can be installed, oldest first.
pub const RELEASES: &[DebianRelease] = &[
    DebianRelease { name: "5.7", major: 5, suites: &["trixie"], pins: &[] },
    DebianRelease { name: "6.4", major: 6, suites: &["sid"], pins: &[(PACKAGES, "6.4.*")] },
    DebianRelease { name: "7.2", major: 7, suites: &["sid", "experimental"], pins: &[(PACKAGES, "7.2.*")] },
];

/// Returns the release with this name.
///
/// # Errors
/// [`Error::UnknownRelease`], which lists the names.
pub fn release(name: &str) -> Result<&'static DebianRelease> {
    RELEASES.iter().find(|release| release.name == name).ok_or_else(|| Error::UnknownRelease {
        name: name.to_owned(),
        known: RELEASES.iter().map(|release| release.name).collect(),
    })
}

impl DebianRelease {
    /// Returns the package of its HIP runtime.
    pub fn runtime(&self) -> String {
        format!("libamdhip64-{}", self.major)
    }

    /// Returns the selection for apt; `name` separates the files of its state from those of others.
    pub fn selection<'a>(&self, name: &'a str) -> Selection<'a> {
        Selection { name, suites: self.suites, pins: self.pins }
    }

    /// Returns the version of ROCm in a tree of this release: that of the HIP runtime's package, without Debian's part.
    pub fn version_in(&self, contents: &Contents) -> Option<String> {
        let version = &contents.package(&self.runtime())?.version;
        let upstream = version.split_once(':').map_or(version.as_str(), |(_, rest)| rest);
        let end = upstream.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(upstream.len());
        Some(upstream[..end].trim_end_matches('.').to_owned()).filter(|version| !version.is_empty())
    }

    /// Returns HIP, HIPRTC, their dependencies and headers; an error if Debian now has a newer release.
    ///
    /// # Errors
    /// [`Error::MovedOn`]; [`Error::Command`].
    pub fn base(&self, apt: &Apt<'_>) -> Result<Wanted> {
        let runtime = self.runtime();
        self.check_version(&runtime, apt.candidate(&runtime)?)?;
        let known = apt.names("lib")?;
        // An old runtime stays in a suite for some time after an update of the headers, whose package has no number.
        if known.iter().any(|name| name == HEADERS[0]) {
            self.check_version(HEADERS[0], apt.candidate(HEADERS[0])?)?;
        }
        let major = self.major;
        // HIPRTC is a separate library from ROCm 6 on. The profiler's library is opened at run time, not linked.
        let more =
            [format!("libhiprtc{major}"), format!("libhiprtc-builtins{major}"), "librocprofiler-register-0".to_owned()];
        Ok(Wanted {
            roots: [runtime].into_iter().chain(more.into_iter().filter(|name| known.contains(name))).collect(),
            alone: HEADERS.map(str::to_owned).into_iter().filter(|name| known.contains(name)).collect(),
            ..Wanted::default()
        })
    }

    /// Returns a library with its headers, by its short name in [`libraries`], or by Debian's name without `lib` and
    /// number; or `hipcc`, with its compiler.
    ///
    /// # Errors
    /// [`Error::UnknownLibrary`]; [`Error::OtherRelease`]; [`Error::Dependencies`]; [`Error::Command`].
    pub fn library(&self, name: &str, apt: &Apt<'_>) -> Result<Wanted> {
        if name == COMPILER {
            return self.compiler(apt);
        }
        if let Some((_, packages)) = HEADER_LIBRARIES.iter().find(|(library, _)| *library == name) {
            let known = apt.names("lib")?;
            if packages.iter().all(|package| known.iter().any(|name| name == package)) {
                let alone = packages.iter().map(|&package| package.to_owned()).collect();
                return Ok(Wanted { alone, ..Wanted::default() });
            }
        }
        let stem = stem(name);
        let names = apt.names(&stem)?;
        let mut other = None;
        for package in numbered(&names, &stem) {
            let Some(runtime) = self.other_runtime(&apt.closure(std::slice::from_ref(&package))?) else {
                let headers = format!("{stem}-dev");
                let beside = COMPANIONS.iter().filter(|(of, name)| *of == stem && names.iter().any(|n| n == name));
                return Ok(Wanted {
                    roots: [package].into_iter().chain(beside.map(|(_, name)| (*name).to_owned())).collect(),
                    alone: names.into_iter().filter(|n| *n == headers).collect(),
                    ..Wanted::default()
                });
            };
            other.get_or_insert((package, runtime));
        }
        let (name, release) = (name.to_owned(), self.name.to_owned());
        Err(match other {
            Some((package, runtime)) => {
                let version = apt.candidate(&package)?.unwrap_or_default();
                Error::OtherRelease { package: format!("{package} {version}"), runtime, release }
            }
            None => Error::UnknownLibrary { name, release, known: self.libraries(apt)? },
        })
    }

    /// Returns the compiler driver, if the suites have that of this release.
    fn compiler(&self, apt: &Apt<'_>) -> Result<Wanted> {
        let found = apt.candidate(COMPILER)?;
        if self.check_version(COMPILER, found).is_err() {
            let (name, release) = (COMPILER.to_owned(), self.name.to_owned());
            return Err(Error::UnknownLibrary { name, release, known: self.libraries(apt)? });
        }
        let all = apt.closure(&[COMPILER.to_owned()])?.into_iter().map(|package| package.name);
        Ok(Wanted { alone: all.filter(|name| is_of_compiler(name)).collect(), ..Wanted::default() })
    }

    /// Returns the HIP runtime of another release among a library's dependencies: two of them in a process conflict.
    fn other_runtime(&self, packages: &[Package]) -> Option<String> {
        let other =
            |name: &str| name.starts_with("libamdhip64-") && name != "libamdhip64-dev" && name != self.runtime();
        packages.iter().map(|package| &package.name).find(|name| other(name)).cloned()
    }

    /// Returns the short names of this release's libraries in Debian.
    ///
    /// # Errors
    /// [`Error::Command`].
    pub fn libraries(&self, apt: &Apt<'_>) -> Result<Vec<String>> {
        let names = apt.names("lib")?;
        let there = |spec: &&&LibrarySpec| !numbered(&names, &stem(spec.name())).is_empty();
        let found: BTreeSet<&str> = libraries::ALL.iter().filter(there).map(|spec| spec.name()).collect();
        Ok(found.into_iter().map(str::to_owned).collect())
    }

    /// Returns the names that [`library`](Self::library) accepts, in order, without those in every installation.
    ///
    /// # Errors
    /// [`Error::MovedOn`]; [`Error::Command`]; [`Error::Answer`].
    pub fn available(&self, apt: &Apt<'_>) -> Result<Vec<String>> {
        self.check_version(&self.runtime(), apt.candidate(&self.runtime())?)?;
        let libraries = self.libraries(apt)?.into_iter().filter(|name| !IN_BASE.contains(&name.as_str()));
        let headers = HEADER_LIBRARIES.iter().map(|(library, _)| (*library).to_owned());
        let mut found = Vec::new();
        for name in libraries.chain(headers).chain([COMPILER.to_owned()]) {
            match self.library(&name, apt) {
                Ok(_) => found.push(name),
                // Of another release, or not complete at present.
                Err(Error::UnknownLibrary { .. } | Error::OtherRelease { .. } | Error::Dependencies { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        found.sort();
        Ok(found)
    }

    /// Checks that apt would install the requested release: suites change over time.
    fn check_version(&self, package: &str, found: Option<String>) -> Result<()> {
        let ours = |version: &String| version.strip_prefix(self.name).is_some_and(|rest| rest.starts_with('.'));
        if found.as_ref().is_some_and(ours) {
            return Ok(());
        }
        Err(Error::MovedOn {
            package: package.to_owned(),
            found,
            release: self.name.to_owned(),
            suites: self.suites.iter().map(|&suite| suite.to_owned()).collect(),
        })
    }

    /// Writes `.info/version` into a tree, which states the release as in AMD's own installations.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn write_version(&self, folder: &Path, contents: &Contents) -> Result<()> {
        match self.version_in(contents) {
            Some(version) => {
                replace(&folder.join(rocm_loader::installs::ROOT).join(".info/version"), &format!("{version}\n"))
            }
            None => Ok(()),
        }
    }

    /// Links the files of a tree to the paths where clients look for them under `ROCM_PATH`: libraries in `lib`, with
    /// and without a number in their names, LLVM in `lib/llvm` and `llvm`, device libraries in `amdgcn`. The packages
    /// have their libraries in a directory of the machine's architecture, which also contains the tree's C library.
    /// Other programs must not find that one, so only ROCm's own libraries are linked.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn link_libraries(&self, folder: &Path) -> Result<()> {
        let root = folder.join(rocm_loader::installs::ROOT);
        let libraries = folder.join(super::debian::LIBRARIES);
        let Some(architecture) = libraries.file_name().map(Path::new) else { return Ok(()) };
        let lib = root.join("lib");
        let mut links = BTreeMap::new();
        for name in file_names(&libraries) {
            if !OWN_FILES.iter().any(|start| name.starts_with(start)) || !libraries.join(&name).exists() {
                continue;
            }
            let Some((stem, number)) = name.split_once(".so") else { continue };
            // Sorted, so that an unversioned name, from the headers' package, comes first and is used.
            if !number.is_empty() {
                links.entry(format!("{stem}.so")).or_insert_with(|| architecture.join(&name));
            }
            links.insert(name.clone(), architecture.join(&name));
        }
        for (name, target) in &links {
            host::link(target, &lib.join(name)).while_(|| format!("linking {}", lib.join(name).display()))?;
        }
        let compilers = file_names(&lib).into_iter().filter(|name| name.starts_with("llvm-"));
        if let Some(llvm) = compilers.filter(|name| lib.join(name).join("bin/clang").exists()).max() {
            let mut links = vec![(PathBuf::from(&llvm), lib.join("llvm")), ("lib/llvm".into(), root.join("llvm"))];
            // The compiler also looks for the device libraries here; Debian has them in the compiler's own directory.
            let versions = Path::new("lib").join(&llvm).join("lib/clang");
            let bitcode = |version| versions.join(version).join("amdgcn");
            let found = file_names(&root.join(&versions)).into_iter().map(bitcode);
            links.extend(found.filter(|path| root.join(path).is_dir()).map(|path| (path, root.join("amdgcn"))));
            for (target, link) in links {
                host::link(&target, &link).while_(|| format!("linking {}", link.display()))?;
            }
        }
        Ok(())
    }
}

/// Returns whether a dependency of the compiler is installed with it. The headers of the C library and of GCC are the
/// machine's own: others in the installation's `include` would be mixed with those. Python and binutils are for other
/// programs.
fn is_of_compiler(package: &str) -> bool {
    const OTHERS: [&str; 6] = ["python3", "libpython3", "binutils", "lib32", "libc6-", "gcc-"];
    let headers = package.ends_with("-dev") && !package.starts_with("libclang") && !package.starts_with("libamd");
    !headers && !OTHERS.iter().any(|start| package.starts_with(start))
}

/// Returns the names in a directory, sorted; none if it does not exist.
fn file_names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Libraries in every installation.
pub(super) const IN_BASE: &[&str] = &["hip", "amdhip64", "hiprtc", "hiprtc-builtins", "amd_comgr", "hsa-runtime64"];

/// Returns one name for a library that has several: that of the table, otherwise Debian's.
pub(super) fn short_name(name: &str) -> String {
    let stem = stem(name);
    let spec = libraries::ALL.iter().find(|spec| self::stem(spec.name()) == stem);
    spec.map_or_else(|| stem["lib".len()..].to_owned(), |spec| spec.name().to_owned())
}

/// Returns the prefix of the names of a library's packages: `librocm-smi64` for `rocm_smi64`, `libmiopen` for `miopen`.
fn stem(name: &str) -> String {
    let plain = name.strip_prefix("lib").unwrap_or(name);
    let spec = libraries::ALL.iter().find(|spec| spec.name() == plain);
    let file = spec.and_then(|spec| spec.unversioned().strip_prefix("lib")?.strip_suffix(".so"));
    format!("lib{}", file.unwrap_or(plain).to_ascii_lowercase().replace('_', "-"))
}

/// Checks that a string can be a library's name; it becomes a word of a command line.
///
/// # Errors
/// [`Error::Setting`].
pub fn check_name(name: &str) -> Result<()> {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    if plain && name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return Ok(());
    }
    Err(Error::setting(format!("library {name:?}"), "not a library's name, such as rocblas"))
}

/// The recipe of [`Installer`](super::Installer): HIP with libraries.
#[derive(Debug)]
pub(super) struct Standard<'a> {
    pub(super) release: &'static DebianRelease,
    pub(super) libraries: &'a [String],
}

impl Recipe for Standard<'_> {
    fn wanted(&self, apt: &Apt<'_>) -> Result<Wanted> {
        let mut wanted = self.release.base(apt)?;
        for name in self.libraries {
            wanted.add(self.release.library(name, apt)?);
        }
        Ok(wanted)
    }

    fn finish(&self, folder: &Path, contents: &Contents) -> Result<()> {
        self.release.write_version(folder, contents)?;
        self.release.link_libraries(folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_known_by_name() {
        assert_eq!(release("6.4").unwrap().major, 6);
        for bad in ["6.5", "7", "", "7.2.4"] {
            let error = release(bad).unwrap_err().to_string();
            assert!(error.contains("5.7, 6.4, 7.2"), "{error}");
        }
    }

    #[test]
    fn a_suite_that_moved_on_is_told_apart() {
        let release = release("7.2").unwrap();
        release.check_version("libamdhip64-7", Some("7.2.4-1".into())).unwrap();
        for candidate in [None, Some("7.20.1-1"), Some("7.3.0-1")] {
            let error = release.check_version("libamdhip64-7", candidate.map(str::to_owned)).unwrap_err().to_string();
            assert!(error.contains(super::super::debian::MIRROR_VARIABLE), "{error}");
        }
    }

    #[test]
    fn the_compiler_comes_without_the_c_library() {
        for name in ["hipcc", "clang-22", "libllvm22", "libclang-rt-22-dev", "rocm-device-libs-22", "libamdhip64-dev"] {
            assert!(is_of_compiler(name), "{name}");
        }
        for name in ["libc6-dev", "libstdc++-16-dev", "linux-libc-dev", "python3.14-minimal", "binutils-common"] {
            assert!(!is_of_compiler(name), "{name}");
        }
    }

    #[test]
    fn a_library_is_a_plain_name() {
        for good in ["rocblas", "librocblas", "rocm_smi64", "rocm-smi64", "MIOpen"] {
            check_name(good).unwrap();
        }
        for bad in ["", "-o", "a b", "a;b", "../x", "_x", "a=1"] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn short_names_become_debians() {
        for (name, package) in [
            ("rocblas", "librocblas"),
            ("librocblas", "librocblas"),
            ("rocm_smi64", "librocm-smi64"),
            ("amd_comgr", "libamd-comgr"),
            ("miopen", "libmiopen"),
            ("rocalution", "librocalution"),
        ] {
            assert_eq!(stem(name), package);
        }
        for (name, short) in [
            ("librocblas", "rocblas"),
            ("rocm-smi64", "rocm_smi64"),
            ("amd-comgr", "amd_comgr"),
            ("MIOpen", "miopen"),
            ("librocalution", "rocalution"),
            ("libhiprtc", "hiprtc"),
        ] {
            assert_eq!(short_name(name), short);
        }
        assert!(IN_BASE[1..].iter().all(|name| short_name(name) == *name));
    }

    fn package(name: &str, version: &str) -> Package {
        let (file, sha256) = (format!("{name}.deb"), String::new());
        Package { name: name.into(), version: version.into(), file, size: 1, sha256 }
    }

    #[test]
    fn the_runtime_of_another_release_is_told() {
        let release = release("6.4").unwrap();
        let own = [package("libamdhip64-6", "6.4.3-5"), package("libamdhip64-dev", "6.4.3-5")];
        assert_eq!(release.other_runtime(&own), None);
        let mixed = [package("librccl1", "5.4.3-3"), package("libamdhip64-5", "5.7.1-7")];
        assert_eq!(release.other_runtime(&mixed).as_deref(), Some("libamdhip64-5"));
    }

    #[test]
    fn a_tree_tells_its_version() {
        let release = release("7.2").unwrap();
        let contents = |version: &str| {
            let control = format!("Package: libamdhip64-7\nVersion: {version}");
            Contents::parse(&format!("Sets: hip\n\nFetched: 1 0 complete\n{control}\n")).unwrap()
        };
        for (debian, rocm) in
            [("7.2.4-1~exp2", "7.2.4"), ("7.2.4+dfsg-1", "7.2.4"), ("1:7.2.4~rc1-1", "7.2.4"), ("7.2", "7.2")]
        {
            assert_eq!(release.version_in(&contents(debian)).as_deref(), Some(rocm));
        }
        assert_eq!(release.version_in(&contents("x")), None);
        assert_eq!(release.version_in(&Contents::default()), None);
    }
}
