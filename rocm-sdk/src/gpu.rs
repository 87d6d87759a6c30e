//! GPUs, as tools and the driver name them.

use std::fmt;
use std::path::PathBuf;

/// The data-centre GPUs for which ROCm has a family.
const DATA_CENTRE: &[&str] = &["gfx908", "gfx90a", "gfx940", "gfx941", "gfx942", "gfx950", "gfx1250"];
/// The GPUs integrated in processors.
const INTEGRATED: &[&str] = &[
    "gfx902", "gfx909", "gfx90c", "gfx1013", "gfx1033", "gfx1035", "gfx1036", "gfx1103", "gfx1150", "gfx1151",
    "gfx1152", "gfx1153",
];

/// The kind of a GPU. The kinds are listed in the order of preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum GpuKind {
    /// A data-centre GPU (`dcgpu` in family names).
    DataCentre,
    /// A graphics card (`dgpu`).
    Discrete,
    /// Integrated in a processor (`igpu`).
    Integrated,
}

impl GpuKind {
    pub(crate) const fn suffix(self) -> &'static str {
        match self {
            Self::DataCentre => "dcgpu",
            Self::Discrete => "dgpu",
            Self::Integrated => "igpu",
        }
    }
}

/// A GPU target, as compilers name it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GpuTarget {
    /// The processor, `gfx90a`.
    pub name: String,
    /// The features that the tool reported, such as `sramecc+:xnack-`; empty if none.
    pub features: String,
}

impl GpuTarget {
    /// Parses `gfx90a` or `gfx90a:sramecc+:xnack-`. Returns `None` if the text is not a GPU name.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (name, features) = text.split_once(':').unwrap_or((text, ""));
        let number = name.strip_prefix("gfx")?;
        let known = (3..=5).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_hexdigit()) && number != "000";
        known.then(|| Self { name: name.to_owned(), features: features.to_owned() })
    }

    /// Converts the driver's number: 90402 is `gfx942`, 90010 is `gfx90a`. 0 is a processor.
    pub(crate) fn of_driver(version: u32) -> Option<Self> {
        let (major, minor, stepping) = (version / 10_000, version / 100 % 100, version % 100);
        (major > 0).then(|| Self { name: format!("gfx{major}{minor:x}{stepping:x}"), features: String::new() })
    }

    /// Returns the kind of the GPU, as in AMD's families.
    pub fn kind(&self) -> GpuKind {
        match &*self.name {
            name if DATA_CENTRE.contains(&name) => GpuKind::DataCentre,
            name if INTEGRATED.contains(&name) => GpuKind::Integrated,
            _ => GpuKind::Discrete,
        }
    }
}

impl fmt::Display for GpuTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.features {
            "" => f.write_str(&self.name),
            features => write!(f, "{}:{features}", self.name),
        }
    }
}

/// The source of the list of GPUs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GpuSource {
    /// A program of the installation.
    Tool(PathBuf),
    /// The kernel driver's directory.
    Driver(PathBuf),
}

/// The GPUs of this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DetectedGpus {
    /// One target per GPU, in the order of the driver's nodes, which is also the order of the tools.
    pub targets: Vec<GpuTarget>,
    /// The source of the list; `None` if there are no GPUs.
    pub source: Option<GpuSource>,
    /// The sources that failed, with the reasons.
    pub failures: Vec<(PathBuf, String)>,
}
