//! Architectures read from their names.

use std::str::FromStr;

use super::arch::{Arch, ArchFeature};
use super::error::Error;

impl FromStr for Arch {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = || Error::InvalidValue {
            what: "the architecture",
            value: format!("{text:?}"),
            allowed: "a processor with features, like gfx90a:sramecc+:xnack-, or sm_90".to_owned(),
        };
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let plain =
            |s: &str| !s.is_empty() && s.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
        if !plain(name) {
            return Err(bad());
        }
        let mut features = Vec::new();
        for part in parts {
            let (feature, on) = match (part.strip_suffix('+'), part.strip_suffix('-')) {
                (Some(feature), _) => (feature, true),
                (_, Some(feature)) => (feature, false),
                _ => return Err(bad()),
            };
            if !plain(feature) || features.iter().any(|f: &ArchFeature| f.name == feature) {
                return Err(bad());
            }
            features.push(ArchFeature { name: feature.to_owned(), on });
        }
        features.sort();
        Ok(Self { name: name.to_owned(), features })
    }
}
