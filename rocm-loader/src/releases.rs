//! Ranges of releases: the ABI that a function is declared for, and the ABI that a library has.

use std::fmt;

/// The newest ROCm release (major, minor) whose interface the `-sys` crates declare. A newer one is called as this one.
pub const NEWEST_RELEASE: (u32, u32) = (10, 0);

/// The ROCm releases whose ABI a declaration fits.
///
/// ```
/// use rocm_loader::{Abi, Releases};
/// let before_7 = Releases::new((0, 0), Some((7, 0)));
/// assert!(before_7.contain(Abi { first: (6, 0), last: (6, 4) }));
/// assert!(!before_7.contain(Abi { first: (6, 4), last: (7, 2) }));
/// assert_eq!(before_7.to_string(), "ROCm before 7.0");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Releases {
    from: (u16, u16),
    before: (u16, u16),
}

impl Releases {
    /// Every release.
    pub const ALL: Releases = Releases { from: (0, 0), before: (u16::MAX, u16::MAX) };

    /// The releases from `from` (major, minor), which is included, to `before`, which is not.
    pub const fn new(from: (u16, u16), before: Option<(u16, u16)>) -> Releases {
        match before {
            Some(before) => Releases { from, before },
            None => Releases { from, ..Releases::ALL },
        }
    }

    /// Returns whether they include this release.
    pub fn contain_release(self, release: (u32, u32)) -> bool {
        let number = |(major, minor): (u16, u16)| (u32::from(major), u32::from(minor));
        let open = self.before == Releases::ALL.before;
        number(self.from) <= release && (open || release < number(self.before))
    }

    /// Returns whether they include all releases of `abi`.
    pub fn contain(self, abi: Abi) -> bool {
        self.contain_release(abi.first) && self.contain_release(abi.last)
    }
}

/// Prints them as `ROCm 6.2 or newer`, `ROCm before 7.0`.
impl fmt::Display for Releases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((major, minor), before) = (self.from, self.before);
        match (self.from == Releases::ALL.from, before == Releases::ALL.before) {
            (true, true) => write!(f, "every ROCm"),
            (true, false) => write!(f, "ROCm before {}.{}", before.0, before.1),
            (false, true) => write!(f, "ROCm {major}.{minor} or newer"),
            (false, false) => write!(f, "ROCm {major}.{minor} to before {}.{}", before.0, before.1),
        }
    }
}

/// The ROCm releases whose ABI a library has: one, or those that it may be of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abi {
    /// The first one: major, minor.
    pub first: (u32, u32),
    /// The last one.
    pub last: (u32, u32),
}

impl Abi {
    /// Stands for a release newer than any known.
    pub const NEWEST: Abi = Abi { first: (u32::MAX, u32::MAX), last: (u32::MAX, u32::MAX) };

    /// Returns the release of a library, restricted to those that use its soname: the soname determines the ABI.
    pub(crate) fn of(soname: Option<Abi>, release: Option<(u32, u32)>) -> Abi {
        match (soname, release) {
            (Some(range), Some(release)) => {
                let release = release.clamp(range.first, range.last);
                Abi { first: release, last: release }
            }
            (Some(range), None) => range,
            (None, Some(release)) => Abi { first: release, last: release },
            (None, None) => Abi::NEWEST,
        }
    }
}

impl fmt::Display for Abi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |(major, minor): (u32, u32)| match (major, minor) {
            (u32::MAX, _) => "a release newer than any known".to_owned(),
            (_, u32::MAX) => format!("ROCm {major}.*"),
            _ => format!("ROCm {major}.{minor}"),
        };
        match self.first == self.last {
            true => f.write_str(&name(self.first)),
            false => write!(f, "{} to {}", name(self.first), name(self.last)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_their_start_and_not_their_end() {
        let some = Releases::new((6, 2), Some((7, 0)));
        for (release, inside) in
            [((5, 7), false), ((6, 1), false), ((6, 2), true), ((6, 99), true), ((7, 0), false), ((10, 0), false)]
        {
            assert_eq!(some.contain_release(release), inside, "{release:?}");
        }
        let newer = Releases::new((7, 0), None);
        assert!(newer.contain(Abi::NEWEST) && newer.contain_release((11, 0)) && !newer.contain_release((6, 4)));
        assert!(Releases::ALL.contain(Abi { first: (0, 0), last: (u32::MAX, u32::MAX) }));
        let texts = [some, newer, Releases::ALL].map(|range| range.to_string());
        assert_eq!(texts, ["ROCm 6.2 to before 7.0", "ROCm 7.0 or newer", "every ROCm"]);
    }

    #[test]
    fn the_soname_rules_over_the_release_beside_it() {
        let seven = Abi { first: (7, 0), last: (10, u32::MAX) };
        let one = |release| Abi { first: release, last: release };
        // Comgr 3 next to a HIP of 6.4.
        assert_eq!(Abi::of(Some(seven), Some((6, 4))), one((7, 0)));
        assert_eq!(Abi::of(Some(seven), Some((7, 2))), one((7, 2)));
        assert_eq!(Abi::of(Some(seven), None), seven);
        assert_eq!(Abi::of(None, Some((11, 0))), one((11, 0)));
        assert_eq!(Abi::of(None, None), Abi::NEWEST);
        assert_eq!(seven.to_string(), "ROCm 7.0 to ROCm 10.*");
    }
}
