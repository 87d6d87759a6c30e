//! The API levels: ROCm releases whose C interface the `-sys` crates can be built for.

use std::fmt;

/// One API level, by its place in [`LEVELS`]. Ordered as the releases are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Level(usize);

struct Facts {
    major: u32,
    minor: u32,
    /// Release under `api/` whose declarations, read off AMD's Python packages, witness this level.
    witness: Option<&'static str>,
    /// Whether the C headers of this level can be had.
    headers: bool,
}

const LEVELS: [Facts; 8] = [
    Facts { major: 5, minor: 7, witness: None, headers: true },
    Facts { major: 6, minor: 2, witness: Some("6.2.0"), headers: false },
    Facts { major: 6, minor: 3, witness: Some("6.3.3"), headers: false },
    Facts { major: 6, minor: 4, witness: Some("6.4.4"), headers: true },
    Facts { major: 7, minor: 0, witness: Some("7.0.2"), headers: false },
    Facts { major: 7, minor: 1, witness: Some("7.1.1"), headers: false },
    Facts { major: 7, minor: 2, witness: Some("7.2.2"), headers: true },
    Facts { major: 10, minor: 0, witness: Some("10.0.0"), headers: false },
];

impl Level {
    /// All levels, oldest first.
    pub(crate) fn all() -> impl DoubleEndedIterator<Item = Level> + Clone {
        (0..LEVELS.len()).map(Level)
    }

    pub(crate) fn first() -> Level {
        Level(0)
    }

    pub(crate) fn last() -> Level {
        Level(LEVELS.len() - 1)
    }

    /// The level after this one.
    pub(crate) fn next(self) -> Option<Level> {
        (self.0 + 1 < LEVELS.len()).then_some(Level(self.0 + 1))
    }

    pub(crate) fn major(self) -> u32 {
        LEVELS[self.0].major
    }

    pub(crate) fn minor(self) -> u32 {
        LEVELS[self.0].minor
    }

    /// Release under `api/` that witnesses this level.
    pub(crate) fn witness(self) -> Option<&'static str> {
        LEVELS[self.0].witness
    }

    /// Whether this level's C headers can be had.
    pub(crate) fn has_headers(self) -> bool {
        LEVELS[self.0].headers
    }

    /// The Cargo feature of this level.
    pub(crate) fn feature(self) -> String {
        format!("rocm-{}-{}", self.major(), self.minor())
    }

    /// Levels with headers, nearest first; one of the same major release is nearer than one of another.
    pub(crate) fn headers_by_distance(self) -> Vec<Level> {
        let mut found: Vec<Level> = Level::all().filter(|level| level.has_headers()).collect();
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

    fn of_witness(release: &str) -> Level {
        Level::all().find(|level| level.witness() == Some(release)).unwrap()
    }

    #[test]
    fn names_and_order() {
        let names: Vec<String> = Level::all().map(|level| level.to_string()).collect();
        assert_eq!(names, ["5.7", "6.2", "6.3", "6.4", "7.0", "7.1", "7.2", "10.0"]);
        assert!(Level::all().is_sorted());
        assert_eq!(Level::last().feature(), "rocm-10-0");
        assert_eq!(Level::last().next(), None);
    }

    #[test]
    fn nearest_headers() {
        let names =
            |level: Level| -> Vec<String> { level.headers_by_distance().iter().map(Level::to_string).collect() };
        assert_eq!(names(of_witness("7.0.2")), ["7.2", "6.4", "5.7"]);
        assert_eq!(names(of_witness("6.2.0")), ["6.4", "5.7", "7.2"]);
        assert_eq!(names(Level::last()), ["7.2", "6.4", "5.7"]);
    }
}
