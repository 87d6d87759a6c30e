//! The report of a check.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

/// The status of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// It has no counterpart.
    Missing,
    /// It exists here, and behaves differently.
    Differs,
    /// It exists here.
    Mapped,
}

/// The kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// A dependency.
    Crate,
    /// An item of cudarc's safe API.
    Cudarc,
    /// A name of CUDA's C headers.
    C,
    /// An item of CUDA C++: a device function, a header, PTX.
    Kernel,
    /// An item of the build, or of files other than source code.
    Build,
}

impl Kind {
    pub(crate) const ALL: [Self; 5] = [Self::Crate, Self::Cudarc, Self::C, Self::Kernel, Self::Build];

    /// Returns the title of the kind in the summary.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Crate => "crates",
            Self::Cudarc => "cudarc items",
            Self::C => "C names",
            Self::Kernel => "CUDA C++",
            Self::Build => "build and files",
        }
    }
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Place {
    /// Relative to the project's folder, with `/`.
    pub(crate) file: String,
    /// Counted from 1; 0 is the whole file.
    pub(crate) line: usize,
    /// Counted from 1, in characters; 0 is the whole line.
    pub(crate) column: usize,
}

/// The result for an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Verdict {
    pub(crate) status: Status,
    /// For a C name: function, type or constant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sort: Option<&'static str>,
    /// The counterpart, such as `hipMalloc`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to: Option<String>,
    /// The replacement, or the difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
    /// Features of `cuda-compat` that it needs beyond the default ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) features: Vec<String>,
}

impl Verdict {
    pub(crate) fn missing(note: impl Into<String>) -> Self {
        Self { status: Status::Missing, sort: None, to: None, note: Some(note.into()), features: Vec::new() }
    }

    pub(crate) fn differs(note: impl Into<String>) -> Self {
        Self { status: Status::Differs, sort: None, to: None, note: Some(note.into()), features: Vec::new() }
    }

    pub(crate) fn mapped(to: impl Into<String>) -> Self {
        Self { status: Status::Mapped, sort: None, to: Some(to.into()), note: None, features: Vec::new() }
    }
}

/// An item with its uses.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Item {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) verdict: Verdict,
    pub(crate) places: Vec<Place>,
}

/// The number of items of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Count {
    pub(crate) items: usize,
    pub(crate) mapped: usize,
    pub(crate) differs: usize,
    pub(crate) missing: usize,
}

/// A file that was not read, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Note {
    pub(crate) file: String,
    pub(crate) note: String,
}

/// The report of a project. Items are sorted: missing ones first, then by uses.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    /// The version of the report's format: it changes when a field changes its meaning.
    pub(crate) version: u32,
    pub(crate) folder: String,
    /// Number of files that were read.
    pub(crate) files: usize,
    pub(crate) summary: BTreeMap<Kind, Count>,
    /// The line for Cargo.toml.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dependency: Option<String>,
    pub(crate) items: Vec<Item>,
    /// Files that were not read, or only partly.
    pub(crate) notes: Vec<Note>,
}

impl Report {
    /// Returns whether nothing is missing.
    pub(crate) fn is_complete(&self) -> bool {
        self.items.iter().all(|item| item.verdict.status != Status::Missing)
    }
}

/// Collects items.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    items: BTreeMap<(Kind, String), (Verdict, Vec<Place>)>,
    pub(crate) notes: Vec<Note>,
}

impl Findings {
    /// Adds a use of an item; the first verdict is kept.
    pub(crate) fn add(&mut self, kind: Kind, name: &str, place: Place, verdict: impl FnOnce() -> Verdict) {
        let (_, places) = self.items.entry((kind, name.to_owned())).or_insert_with(|| (verdict(), Vec::new()));
        places.push(place);
    }

    pub(crate) fn note(&mut self, file: &str, note: impl Into<String>) {
        self.notes.push(Note { file: file.to_owned(), note: note.into() });
    }

    /// Makes the report.
    pub(crate) fn report(self, folder: String, files: usize) -> Report {
        let mut summary: BTreeMap<Kind, Count> = BTreeMap::new();
        let mut items = Vec::new();
        for ((kind, name), (verdict, mut places)) in self.items {
            places.sort();
            places.dedup();
            let count = summary.entry(kind).or_default();
            count.items += 1;
            match verdict.status {
                Status::Missing => count.missing += 1,
                Status::Differs => count.differs += 1,
                Status::Mapped => count.mapped += 1,
            }
            items.push(Item { kind, name, verdict, places });
        }
        // Functions before types and constants, then by uses.
        let rank = |item: &Item| match item.verdict.sort {
            Some("type") => 1,
            Some("constant") => 2,
            _ => 0,
        };
        items.sort_by_key(|item| (item.verdict.status, item.kind, rank(item), Reverse(item.places.len())));
        let mut notes = self.notes;
        notes.sort();
        let dependency = dependency(&items);
        Report { version: 1, folder, files, summary, dependency, items, notes }
    }
}

/// Returns the line of Cargo.toml that replaces cudarc's, or adds this crate, with the features that the items need.
fn dependency(items: &[Item]) -> Option<String> {
    let used = items.iter().filter(|item| matches!(item.kind, Kind::Cudarc | Kind::C));
    let mut features: Vec<&str> = used.clone().flat_map(|item| &item.verdict.features).map(String::as_str).collect();
    used.clone().next()?;
    // Of release features, only the newest is listed: each feature enables the earlier ones.
    let release = |feature: &str| {
        let (major, minor) = feature.strip_prefix("rocm-")?.split_once('-')?;
        Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
    };
    let newest =
        features.iter().copied().filter(|feature| release(feature).is_some()).max_by_key(|feature| release(feature));
    features.retain(|feature| release(feature).is_none() || Some(*feature) == newest);
    features.sort_unstable();
    features.dedup();
    let is_cudarc = items.iter().any(|item| item.kind == Kind::Crate && item.name.contains("cudarc"));
    let name = if is_cudarc { "cudarc = { package = \"cuda-compat\", " } else { "cuda-compat = { " };
    let list: Vec<String> = features.iter().map(|feature| format!("\"{feature}\"")).collect();
    let list = if list.is_empty() { String::new() } else { format!(", features = [{}]", list.join(", ")) };
    // The crate is not on crates.io: the reader knows the path of the checkout.
    Some(format!("{name}path = \"../rocm-for-rust/cuda-compat\"{list} }}"))
}
