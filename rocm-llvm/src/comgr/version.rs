//! Versions of Comgr, and which numbers of actions and languages they have.

use std::fmt;

use rocm_loader::{Abi, Releases};

/// A version of Comgr's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The major version: 2 in ROCm 5.7 to 6.3, 3 since 6.4.
    pub major: usize,
    /// The minor version.
    pub minor: usize,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The numbering of a Comgr.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbering {
    /// Comgr 2: ROCm 5.7 to 6.3.
    Two,
    /// Comgr 3: ROCm 6.4 and newer.
    Three,
}

/// The releases with Comgr 2, as in `rocm-llvm-sys`.
const RELEASES_OF_TWO: Releases = Releases::new((0, 0), Some((6, 4)));
/// The releases with Comgr 3.
const RELEASES_OF_THREE: Releases = Releases::new((6, 4), None);

impl Numbering {
    /// Returns the numbering of a version, if the library's name matches: the functions that take numbers are bound by
    /// the name.
    pub(crate) fn of(version: Version, abi: Option<Abi>) -> Option<Self> {
        let (numbering, releases) = match version.major {
            2 => (Self::Two, RELEASES_OF_TWO),
            3 => (Self::Three, RELEASES_OF_THREE),
            _ => return None,
        };
        releases.contain(abi?).then_some(numbering)
    }

    /// Returns the versions with a library's name.
    pub(crate) fn wanted(abi: Option<Abi>) -> &'static str {
        match abi {
            Some(abi) if RELEASES_OF_TWO.contain(abi) => "Comgr 2 (ROCm 5.7 to 6.3)",
            Some(abi) if RELEASES_OF_THREE.contain(abi) => "Comgr 3 (ROCm 6.4 and newer)",
            _ => "Comgr 2 (ROCm 5.7 to 6.3) or Comgr 3 (ROCm 6.4 and newer)",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(major: usize, first: (u32, u32), last: (u32, u32)) -> Option<Numbering> {
        Numbering::of(Version { major, minor: 0 }, Some(Abi { first, last }))
    }

    #[test]
    fn the_version_and_the_name_decide_together() {
        assert_eq!(of(2, (5, 7), (6, 3)), Some(Numbering::Two));
        assert_eq!(of(3, (6, 4), (10, u32::MAX)), Some(Numbering::Three));
        assert_eq!(Numbering::of(Version { major: 3, minor: 9 }, Some(Abi::NEWEST)), Some(Numbering::Three));
        // A library under another library's name, and unknown versions.
        assert_eq!(of(2, (6, 4), (10, u32::MAX)), None);
        assert_eq!(of(3, (5, 7), (6, 3)), None);
        assert_eq!(of(4, (6, 4), (10, u32::MAX)), None);
        assert_eq!(of(1, (5, 7), (6, 3)), None);
        assert_eq!(Numbering::of(Version { major: 3, minor: 0 }, None), None);
        let wanted = |first, last| Numbering::wanted(Some(Abi { first, last }));
        assert!(wanted((5, 7), (6, 3)).starts_with("Comgr 2 ") && wanted((6, 4), (10, 0)).starts_with("Comgr 3 "));
        assert!(Numbering::wanted(None).contains("Comgr 2") && Numbering::wanted(None).contains("Comgr 3"));
    }
}
