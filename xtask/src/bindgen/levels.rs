//! The API levels: ROCm releases whose C interface the `-sys` crates can be built for.

use std::fmt;

/// One API level, as an index into [`LEVELS`]. Ordered like the releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Level(usize);

struct Facts {
    major: u32,
    minor: u32,
    /// The release under `api/` that stands for this level. Its declarations come from AMD's Python packages.
    witness: &'static str,
}

const LEVELS: [Facts; 8] = [
    Facts { major: 5, minor: 7, witness: "5.7.0" },
    Facts { major: 6, minor: 2, witness: "6.2.0" },
    Facts { major: 6, minor: 3, witness: "6.3.3" },
    Facts { major: 6, minor: 4, witness: "6.4.4" },
    Facts { major: 7, minor: 0, witness: "7.0.2" },
    Facts { major: 7, minor: 1, witness: "7.1.1" },
    Facts { major: 7, minor: 2, witness: "7.2.2" },
    Facts { major: 10, minor: 0, witness: "10.0.0" },
];

impl Level {
    /// Returns all levels, oldest first.
    pub(crate) fn all() -> impl DoubleEndedIterator<Item = Level> + Clone {
        (0..LEVELS.len()).map(Level)
    }

    pub(crate) fn first() -> Level {
        Level(0)
    }

    pub(crate) fn last() -> Level {
        Level(LEVELS.len() - 1)
    }

    /// Returns the level after this one.
    pub(crate) fn next(self) -> Option<Level> {
        (self.0 + 1 < LEVELS.len()).then_some(Level(self.0 + 1))
    }

    pub(crate) fn major(self) -> u32 {
        LEVELS[self.0].major
    }

    pub(crate) fn minor(self) -> u32 {
        LEVELS[self.0].minor
    }

    /// Returns major and minor number.
    pub(crate) fn number(self) -> (u32, u32) {
        (self.major(), self.minor())
    }

    /// Returns the level with these numbers.
    pub(crate) fn of(number: (u32, u32)) -> Option<Level> {
        Level::all().find(|level| level.number() == number)
    }

    /// Returns the first release whose ABI may be that of this level and not that of the one before: a major release
    /// changes it.
    pub(crate) fn abi_start(self) -> (u32, u32) {
        let before = self.0.checked_sub(1).map(|at| LEVELS[at].major);
        if before == Some(self.major()) { self.number() } else { (self.major(), 0) }
    }

    /// Returns the name of the level's module.
    pub(crate) fn module(self) -> String {
        format!("rocm_{}_{}", self.major(), self.minor())
    }

    /// Returns the release under `api/` that stands for this level, for the libraries that it has.
    pub(crate) fn witness(self) -> &'static str {
        LEVELS[self.0].witness
    }

    /// Returns the Cargo feature of this level.
    pub(crate) fn feature(self) -> String {
        format!("rocm-{}-{}", self.major(), self.minor())
    }

    /// Sorts levels, nearest first; one of the same major release is nearer than one of another.
    pub(crate) fn nearest(self, levels: impl Iterator<Item = Level>) -> Vec<Level> {
        let mut found: Vec<Level> = levels.collect();
        found.sort_by_key(|level| (level.major() != self.major(), level.0.abs_diff(self.0)));
        found
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major(), self.minor())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_order() {
        let names: Vec<String> = Level::all().map(|level| level.to_string()).collect();
        assert_eq!(names, ["5.7", "6.2", "6.3", "6.4", "7.0", "7.1", "7.2", "10.0"]);
        assert!(Level::all().is_sorted());
        assert_eq!(Level::last().feature(), "rocm-10-0");
        assert_eq!(Level::last().next(), None);
        assert_eq!(Level::of((6, 2)).and_then(Level::next), Level::of((6, 3)));
    }

    #[test]
    fn nearest_levels() {
        let headers = [(5, 7), (6, 4), (7, 2)].map(|number| Level::of(number).unwrap());
        let names = |number| -> Vec<String> {
            Level::of(number).unwrap().nearest(headers.into_iter()).iter().map(Level::to_string).collect()
        };
        assert_eq!(names((7, 0)), ["7.2", "6.4", "5.7"]);
        assert_eq!(names((6, 2)), ["6.4", "5.7", "7.2"]);
        assert_eq!(names((10, 0)), ["7.2", "6.4", "5.7"]);
    }
}
