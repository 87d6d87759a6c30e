//! The available information about a library: headers, and facts from AMD's Python packages.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::Facts;
use super::levels::Level;
use super::library::{Anonymous, BackTo, Names};
use super::surface::{Kind, Surface};

/// The available information about one library.
pub(crate) struct Sources {
    /// Positions of members that the facts omit.
    pub(crate) anonymous: Anonymous<'static>,
    /// Declarations that hold for older levels than those of their sources.
    pub(crate) back_to: Option<&'static BackTo>,
    /// Whether the facts only consist of names.
    pub(crate) names: Names,
    /// Functions of the facts that are omitted.
    pub(crate) absent: Vec<&'static str>,
    /// Functions that the facts lack.
    pub(crate) beyond: Vec<&'static str>,
    /// Items of other libraries, with the Rust path of the library.
    pub(crate) foreign: BTreeMap<String, String>,
    /// The constants of their enums.
    pub(crate) foreign_constants: BTreeMap<String, Vec<String>>,
    /// Those of them that are aliases.
    pub(crate) foreign_types: BTreeMap<String, Kind>,
    /// Items from the real headers.
    pub(crate) headers: BTreeMap<Level, Surface>,
    /// Levels whose headers are of another release.
    pub(crate) reference: BTreeSet<Level>,
    /// Facts from AMD's Python packages.
    pub(crate) facts: BTreeMap<Level, Facts>,
    /// Items from headers written from the facts, for the levels without real ones.
    pub(crate) written: BTreeMap<Level, Surface>,
}

impl Sources {
    /// Returns the oldest known level.
    pub(crate) fn first(&self) -> Option<Level> {
        self.headers.keys().chain(self.facts.keys()).min().copied()
    }

    /// Returns the headers, those of the nearest level first.
    pub(crate) fn nearest_headers(&self, level: Level) -> Vec<(Level, &Surface)> {
        level.nearest(self.headers.keys().copied()).into_iter().map(|other| (other, &self.headers[&other])).collect()
    }
}
