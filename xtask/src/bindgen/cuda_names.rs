//! CUDA's names: aliases in the documentation, and the crates that have them as constants.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};

use crate::workspace;

/// CUDA's names.
pub(crate) struct CudaNames {
    /// By HIP's names.
    names: BTreeMap<String, Vec<String>>,
    /// The packages with the module `cuda`, which `cargo xtask cuda` writes.
    packages: Vec<String>,
}

impl CudaNames {
    /// Reads the tables below `api/`, and the packages' features.
    pub(crate) fn read(api: &Path) -> Result<CudaNames> {
        let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for table in ["cuda-names.tsv", "cuda-library-names.tsv"] {
            let path = api.join(table);
            let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
            for row in text.lines().skip(1) {
                let mut cells = row.split('\t');
                if let (Some(hip), Some(cuda)) = (cells.next(), cells.next()) {
                    let known = names.entry(hip.to_owned()).or_default();
                    if hip != cuda && !known.iter().any(|name| name == cuda) {
                        known.push(cuda.to_owned());
                    }
                }
            }
        }
        names.values_mut().for_each(|names| names.sort());
        let mut packages = workspace::packages()?;
        packages.retain(|package| package.is_sys() && package.features.iter().any(|feature| feature == "cuda"));
        Ok(CudaNames { names, packages: packages.into_iter().map(|package| package.name).collect() })
    }

    /// Returns CUDA's names of an item of HIP.
    pub(crate) fn of(&self, hip: &str) -> &[String] {
        self.names.get(hip).map_or(&[], Vec::as_slice)
    }

    /// Returns whether a package has the module `cuda`.
    pub(crate) fn has_module(&self, package: &str) -> bool {
        self.packages.iter().any(|name| name == package)
    }
}
