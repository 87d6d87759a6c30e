//! Comparing an installation's release with the one that a program expects.

use std::fmt;

use rocm_loader::folders::matches_wildcards;
use rocm_loader::version::Release;
use semver::VersionReq;

/// The releases that a program accepts.
///
/// ```
/// use rocm_sdk::VersionCheck;
/// use semver::VersionReq;
///
/// let exact = VersionCheck::from("7.10.0a20251120");
/// let any_7 = VersionCheck::from("7.*");
/// let since_6_4 = VersionCheck::from(VersionReq::parse(">=6.4, <8")?);
/// assert_eq!([exact.to_string(), any_7.to_string(), since_6_4.to_string()], ["7.10.0a20251120", "7.*", ">=6.4, <8"]);
/// # Ok::<(), semver::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum VersionCheck {
    /// This text, compared with [`Release::text`]. `*` matches any number of characters.
    Text(String),
    /// This requirement, in ROCm's numbering. A pre-release counts as its final release, unless the requirement names a
    /// pre-release. If only HIP's version is known, the patch is a build number, and requirements on it are
    /// meaningless.
    Requirement(VersionReq),
}

impl VersionCheck {
    /// Returns whether `release` is accepted.
    pub fn accepts(&self, release: &Release) -> bool {
        match self {
            Self::Text(pattern) => matches_wildcards(pattern, &release.text),
            Self::Requirement(requirement) => {
                let mut version = release.in_rocms_count();
                if requirement.comparators.iter().all(|c| c.pre.is_empty()) {
                    version.pre = semver::Prerelease::EMPTY;
                }
                requirement.matches(&version)
            }
        }
    }
}

impl From<&str> for VersionCheck {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for VersionCheck {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<VersionReq> for VersionCheck {
    fn from(requirement: VersionReq) -> Self {
        Self::Requirement(requirement)
    }
}

impl fmt::Display for VersionCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Requirement(requirement) => requirement.fmt(f),
        }
    }
}

/// A release other than the requested one. `Display` prints the warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionMismatch {
    /// The requested release.
    pub wanted: VersionCheck,
    /// The installed release; `None` if no installation is found, or its release is unknown.
    pub found: Option<Release>,
}

impl fmt::Display for VersionMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this program expects ROCm {}, but ", self.wanted)?;
        match &self.found {
            Some(release) => {
                write!(f, "{} is installed ({}); it may not work", release.label(), release.source.display())
            }
            None => f.write_str("the installed release is unknown"),
        }
    }
}
