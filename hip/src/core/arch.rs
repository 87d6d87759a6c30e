//! GPU architectures by name, and the rule which code runs on which architecture.

use std::fmt;

/// A GPU architecture with its target features: `gfx90a:sramecc+:xnack-`.
///
/// The same names describe devices (what the GPU is) and code objects (what the code needs). Code that does not name a
/// feature runs with the feature on or off.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Arch {
    pub(super) name: String,
    pub(super) features: Vec<ArchFeature>,
}

/// A target feature and whether it is on: `xnack-`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArchFeature {
    /// `sramecc`, `xnack`
    pub name: String,
    /// `+` or `-`
    pub on: bool,
}

/// Generic processors (LLVM's "generic code object" targets) and the processors that each covers.
const GENERIC: &[(&str, &[&str])] = &[
    ("gfx9-generic", &["gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"]),
    ("gfx9-4-generic", &["gfx940", "gfx941", "gfx942", "gfx950"]),
    ("gfx10-1-generic", &["gfx1010", "gfx1011", "gfx1012", "gfx1013"]),
    ("gfx10-3-generic", &["gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"]),
    ("gfx11-generic", &["gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"]),
    ("gfx12-generic", &["gfx1200", "gfx1201"]),
];

impl Arch {
    /// Returns the processor, without features: `gfx90a`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the named features, sorted by name.
    #[must_use]
    pub fn features(&self) -> &[ArchFeature] {
        &self.features
    }

    /// Returns whether a feature is on (`Some(true)`), off (`Some(false)`) or not named (`None`).
    #[must_use]
    pub fn feature(&self, name: &str) -> Option<bool> {
        self.features.iter().find(|f| f.name == name).map(|f| f.on)
    }

    /// Returns whether code for `self` runs on `device`: the processor must be the same or a generic one that covers
    /// it, and no feature may conflict.
    #[must_use]
    pub fn runs_on(&self, device: &Self) -> bool {
        let processor = self.name == device.name
            || GENERIC
                .iter()
                .any(|(generic, members)| *generic == self.name && members.contains(&device.name.as_str()));
        processor && self.features.iter().all(|f| device.feature(&f.name).is_none_or(|on| on == f.on))
    }

    /// Ranks how closely code that runs on `device` fits it: the exact processor before a generic one, then by the
    /// number of features that the code was compiled for.
    pub(crate) fn fit(&self, device: &Self) -> (bool, usize) {
        (self.name == device.name, self.features.len())
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        for feature in &self.features {
            write!(f, ":{}{}", feature.name, if feature.on { '+' } else { '-' })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arch(text: &str) -> Arch {
        text.parse().unwrap()
    }

    #[test]
    fn parses_what_the_runtime_reports() {
        let a = arch("gfx90a:sramecc+:xnack-");
        assert_eq!(a.name(), "gfx90a");
        assert_eq!(a.feature("sramecc"), Some(true));
        assert_eq!(a.feature("xnack"), Some(false));
        assert_eq!(a.feature("wave64"), None);
        assert_eq!(a.to_string(), "gfx90a:sramecc+:xnack-");
        assert_eq!(arch("gfx1100").features(), []);
        assert_eq!(arch("gfx90a:xnack-:sramecc+"), a, "order of features does not matter");
    }

    #[test]
    fn refuses_what_is_no_architecture() {
        for text in ["", ":", "gfx90a:", "gfx90a:xnack", "gfx90a:xnack+:xnack-", "gfx 90a", "gfx90a:+", "gfx90a\0"] {
            assert!(text.parse::<Arch>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn code_runs_where_processor_and_features_agree() {
        let device = arch("gfx90a:sramecc+:xnack-");
        for yes in ["gfx90a", "gfx90a:xnack-", "gfx90a:sramecc+", "gfx90a:sramecc+:xnack-"] {
            assert!(arch(yes).runs_on(&device), "{yes}");
        }
        for no in ["gfx90a:xnack+", "gfx90a:sramecc-", "gfx942", "gfx9-4-generic", "gfx90"] {
            assert!(!arch(no).runs_on(&device), "{no}");
        }
        assert!(arch("gfx9-4-generic").runs_on(&arch("gfx942:sramecc+:xnack-")));
        assert!(!arch("gfx9-4-generic:xnack+").runs_on(&arch("gfx942:sramecc+:xnack-")));
        assert!(arch("gfx90a:xnack-").fit(&device) > arch("gfx90a").fit(&device));
    }
}
