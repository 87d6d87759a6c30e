//! Releases of ROCm.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use semver::{BuildMetadata, Prerelease, Version};

use crate::text_file;

/// The numbering of a version. ROCm 10.0 has HIP 7.15; before that, both agree except for the patch level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Numbering {
    /// ROCm's releases, such as `7.2.4`.
    Rocm,
    /// HIP's versions, such as `7.2.53211`. The patch is a build number.
    Hip,
}

/// A version, and where it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// The version.
    pub version: Version,
    /// The version as written there: `7.10.0a20251120` if [`version`](Release::version) is `7.10.0-a20251120`.
    pub text: String,
    /// Its numbering.
    pub numbering: Numbering,
    /// The file whose content or name states it.
    pub source: PathBuf,
}

impl Release {
    fn new(text: &str, numbering: Numbering, source: PathBuf) -> Option<Self> {
        Some(Self { version: parse_release(text)?, text: text.to_owned(), numbering, source })
    }

    /// Returns the version in ROCm's numbering. HIP 7.15 is ROCm 10.0; the patch remains HIP's.
    pub fn in_rocms_count(&self) -> Version {
        let mut version = self.version.clone();
        if self.numbering == Numbering::Hip && version.major == 7 && version.minor >= 15 {
            (version.major, version.minor) = (10, version.minor - 15);
        }
        version
    }

    /// Returns the numbering and the version as written: `ROCm 7.10.0a20251120`.
    pub fn label(&self) -> String {
        let numbering = match self.numbering {
            Numbering::Rocm => "ROCm",
            Numbering::Hip => "HIP",
        };
        format!("{numbering} {}", self.text)
    }

    /// Returns whether this is the ROCm release `major.minor` (an API level) or a newer one.
    pub fn is_at_least(&self, level: (u32, u32)) -> bool {
        let (major, minor) = match self.numbering {
            Numbering::Rocm => level,
            Numbering::Hip => hip_of_rocm(level),
        };
        (self.version.major, self.version.minor) >= (u64::from(major), u64::from(minor))
    }

    /// Returns the major and minor number in ROCm's numbering.
    pub fn rocm(&self) -> (u64, u64) {
        match (self.numbering, self.version.major, self.version.minor) {
            (Numbering::Hip, 7, minor @ 15..) => (10, minor - 15),
            (_, major, minor) => (major, minor),
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbering = match self.numbering {
            Numbering::Rocm => "ROCm",
            Numbering::Hip => "HIP",
        };
        write!(f, "{numbering} {}", self.version)
    }
}

/// Returns HIP's major and minor version in the ROCm release `major.minor`. They are equal up to 7.14; ROCm 10.0 has
/// HIP 7.15.
pub const fn hip_of_rocm(level: (u32, u32)) -> (u32, u32) {
    match level {
        (10, minor) => (7, 15 + minor),
        same => same,
    }
}

/// Converts the number that `hipRuntimeGetVersion` and `hipDriverGetVersion` return
/// (`major * 10_000_000 + minor * 100_000 + patch`) to a version. Returns `None` if it is not a version.
///
/// ```
/// assert_eq!(rocm_loader::hip_version(70_253_211), Some(semver::Version::new(7, 2, 53_211)));
/// assert_eq!(rocm_loader::hip_version(0), None);
/// ```
pub fn hip_version(encoded: i32) -> Option<Version> {
    let encoded = u64::try_from(encoded).ok().filter(|&v| v >= 10_000_000)?;
    Some(Version::new(encoded / 10_000_000, encoded / 100_000 % 100, encoded % 100_000))
}

/// Parses a release string in ROCm's formats: `7.2.4`, `6.2.0-66` (a build number, not a pre-release), `7.2`,
/// `7.10.0a20251120` and `7.0.0rc1` (pre-releases).
///
/// ```
/// use semver::Version;
/// assert_eq!(rocm_loader::parse_release("6.2.0-66"), Version::parse("6.2.0+66").ok());
/// assert_eq!(rocm_loader::parse_release("7.0.0rc1"), Version::parse("7.0.0-rc1").ok());
/// ```
pub fn parse_release(text: &str) -> Option<Version> {
    let text = text.trim();
    let numbers_end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (numbers, rest) = text.split_at(numbers_end);
    let mut numbers = numbers.trim_end_matches('.').split('.').map(|n| n.parse::<u64>().ok());
    let (major, minor) = (numbers.next()??, numbers.next()??);
    let patch = match numbers.next() {
        Some(patch) => patch?,
        None => 0,
    };
    let mut version = Version::new(major, minor, patch);
    let clean: String = rest
        .trim_matches(['-', '+', '.', '~', '_', ' '])
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    match rest.chars().next() {
        // `7.0.0rc1`, `7.10.0a20251120`, `7.0.0.dev3`, `7.0.0-rc1`; but `7.0.0.post1` is newer than `7.0.0`
        Some(_)
            if clean.starts_with(|c: char| c.is_ascii_alphabetic())
                && !rest.starts_with('+')
                && !clean.starts_with("post") =>
        {
            version.pre = Prerelease::new(&clean).unwrap_or_default();
        }
        Some(_) => version.build = BuildMetadata::new(&clean).unwrap_or_default(),
        None => {}
    }
    Some(version)
}

/// Returns the version in a library's file name: `libamdhip64.so.7.2.53211` is 7.2.53211. Returns `None` if there is no
/// minor version.
///
/// ```
/// assert_eq!(rocm_loader::file_name_version("libamdhip64.so.7.2.53211"), Some(semver::Version::new(7, 2, 53_211)));
/// assert_eq!(rocm_loader::file_name_version("libamdhip64.so.7"), None);
/// ```
pub fn file_name_version(file_name: &str) -> Option<Version> {
    parse_release(file_name.rsplit_once(".so.")?.1)
}

/// Returns the release that the installation at `root` states: for a Python wheel the `rocm_sdk_*-VERSION.dist-info`
/// next to it, otherwise `.info/version`, otherwise `.info/version-dev`.
pub fn release_at(root: &Path) -> Option<Release> {
    let read = |name: &str| {
        let source = root.join(".info").join(name);
        let content = text_file::read(&source).ok()?;
        Release::new(content.trim(), Numbering::Rocm, source)
    };
    wheel_release(root).or_else(|| read("version")).or_else(|| read("version-dev"))
}

/// Reads the release of the package with the same name, ignoring case, otherwise that of the core package: a build may
/// add a suffix to the directory.
fn wheel_release(root: &Path) -> Option<Release> {
    let package = root.file_name()?.to_str()?.strip_prefix('_').filter(|n| n.starts_with("rocm_sdk_"))?;
    let mut infos: Vec<_> = fs::read_dir(root.parent()?).ok()?.flatten().collect();
    infos.sort_by_key(fs::DirEntry::file_name);
    let of = |package: &str| {
        infos.iter().find_map(|entry| {
            let name = entry.file_name();
            let (stem, version) = name.to_str()?.strip_suffix(".dist-info")?.split_once('-')?;
            if !stem.eq_ignore_ascii_case(package) {
                return None;
            }
            Release::new(version, Numbering::Rocm, entry.path())
        })
    };
    of(package).or_else(|| of("rocm_sdk_core"))
}

/// Returns the release of the installation that the library file `path` belongs to: from `.info` in one of the
/// directories above it, as named and with links resolved, otherwise, if the file is numbered by HIP, from its own
/// name.
pub fn release_of_file(path: &Path, numbered_by_hip: bool) -> Option<Release> {
    let resolved = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    // ROOT/lib/libX.so, ROOT/lib/x86_64-linux-gnu/libX.so, ROOT/core/lib/libX.so
    let above = |p: &Path| p.ancestors().skip(2).take(3).find_map(release_at);
    above(path).or_else(|| above(&resolved)).or_else(|| {
        let name = resolved.file_name()?.to_str().filter(|_| numbered_by_hip)?;
        Release::new(name.rsplit_once(".so.")?.1, Numbering::Hip, resolved.clone())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn release_strings_of_every_kind() {
        for (text, version) in [
            ("7.2.4", "7.2.4"),
            ("7.2.4\n", "7.2.4"),
            ("6.2.0-66", "6.2.0+66"),
            ("5.7.1-98", "5.7.1+98"),
            ("7.2", "7.2.0"),
            ("10.0.0", "10.0.0"),
            ("7.10.0a20251120", "7.10.0-a20251120"),
            ("7.0.0rc1", "7.0.0-rc1"),
            ("7.0.0.dev3", "7.0.0-dev3"),
            ("7.0.0-rc1", "7.0.0-rc1"),
            ("7.0.0+abc", "7.0.0+abc"),
            ("7.10.0.post1", "7.10.0+post1"),
            ("6.4.0.60400-47~22.04", "6.4.0+47-22-04"),
        ] {
            assert_eq!(parse_release(text).map(|v| v.to_string()).as_deref(), Some(version), "{text}");
        }
        for text in ["", "7", "seven", ".", "7.x", "7..2", "99999999999999999999.1", "7.2.99999999999999999999"] {
            assert_eq!(parse_release(text), None, "{text}");
        }
    }

    #[test]
    fn build_numbers_do_not_make_a_release_older() {
        assert!(parse_release("6.2.0-66") >= parse_release("6.2.0"));
        assert!(parse_release("7.0.0rc1") < parse_release("7.0.0"));
    }

    #[test]
    fn hip_numbers() {
        assert_eq!(hip_version(50_731_921), Some(Version::new(5, 7, 31_921)));
        assert_eq!(hip_version(60_443_484), Some(Version::new(6, 4, 43_484)));
        assert_eq!(hip_version(71_526_333), Some(Version::new(7, 15, 26_333)));
        assert_eq!(hip_version(-1), None);
        assert_eq!(hip_version(9_999_999), None);
    }

    #[test]
    fn hip_s_count_and_back() {
        for level in [(5, 7), (6, 4), (7, 2), (7, 14), (10, 0), (10, 3)] {
            let (major, minor) = hip_of_rocm(level);
            let version = Version::new(major.into(), minor.into(), 1);
            let release = Release { version, text: String::new(), numbering: Numbering::Hip, source: PathBuf::new() };
            assert_eq!(release.rocm(), (level.0.into(), level.1.into()));
        }
    }

    #[test]
    fn levels_are_compared_in_their_own_count() {
        let release = |version, numbering| Release { version, text: String::new(), numbering, source: PathBuf::new() };
        assert!(release(Version::new(7, 15, 26_333), Numbering::Hip).is_at_least((10, 0)));
        assert!(!release(Version::new(7, 14, 0), Numbering::Hip).is_at_least((10, 0)));
        assert!(release(Version::new(7, 2, 53_211), Numbering::Hip).is_at_least((7, 2)));
        assert!(!release(Version::new(7, 15, 0), Numbering::Rocm).is_at_least((10, 0)));
        assert!(release(Version::new(7, 0, 2), Numbering::Rocm).is_at_least((6, 4)));
        assert!(!release(Version::new(6, 4, 3), Numbering::Rocm).is_at_least((7, 0)));
    }
}
