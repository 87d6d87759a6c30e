//! The wheels installed in a site-packages, according to their `*.dist-info` directories.

use std::path::{Path, PathBuf};

use rocm_loader::folders::names_in;
use rocm_loader::text_file;

/// An installed wheel.
pub(super) struct Wheel {
    /// Its name in lower case with `-` between the words.
    pub(super) name: String,
    /// Its version as written.
    pub(super) version: String,
    dist_info: PathBuf,
}

impl Wheel {
    /// Returns its RECORD, unless its installer does not keep one.
    pub(super) fn record(&self) -> Option<PathBuf> {
        Some(self.dist_info.join("RECORD")).filter(|record| record.is_file())
    }
}

/// Returns ROCm's wheels in this site-packages, sorted by the names of their directories.
pub(super) fn installed(site_packages: &Path) -> Vec<Wheel> {
    let mut names = names_in(site_packages, |name| name.starts_with("rocm") && name.ends_with(".dist-info"));
    names.sort();
    names.into_iter().filter_map(|name| read(site_packages.join(name))).collect()
}

fn read(dist_info: PathBuf) -> Option<Wheel> {
    let metadata = text_file::read(&dist_info.join("METADATA")).ok()?;
    let field = |wanted: &str| {
        let headers = metadata.lines().take_while(|line| !line.is_empty());
        let mut fields = headers.filter_map(|line| line.split_once(':'));
        let (_, value) = fields.find(|(name, _)| name.eq_ignore_ascii_case(wanted))?;
        Some(value.trim().to_owned())
    };
    let name = field("Name")?.to_ascii_lowercase().replace(['_', '.'], "-");
    Some(Wheel { name, version: field("Version")?, dist_info })
}
