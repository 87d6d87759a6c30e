//! The installation that is checked, and its parts.

use std::path::{Path, PathBuf};

use super::process::Starter;
use crate::doctor::loader::Loader;
use crate::layout::{Layout, LayoutKind};

/// The installation, as every part of the check uses it.
pub(super) struct Subject {
    pub(super) layout: Layout,
    /// The directories of its packages: for wheels each wheel, otherwise the root.
    pub(super) packages: Vec<Package>,
    pub(super) starter: Starter,
    pub(super) loader: Loader,
}

/// A part of the installation.
pub(super) struct Package {
    /// `core`, `libraries_gfx94X_dcgpu`, `devel`; `rocm` if there is only one.
    pub(super) name: String,
    pub(super) root: PathBuf,
}

impl Subject {
    pub(super) fn is_wheels(&self) -> bool {
        self.layout.kind() == LayoutKind::Wheels
    }

    /// The `site-packages` directory, for wheels.
    pub(super) fn site_packages(&self) -> Option<&Path> {
        self.layout.root().parent().filter(|_| self.is_wheels())
    }

    pub(super) fn package(&self, name: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.name == name)
    }
}

pub(super) fn packages(layout: &Layout) -> Vec<Package> {
    if layout.kind() != LayoutKind::Wheels {
        return vec![Package { name: "rocm".to_owned(), root: layout.root().to_owned() }];
    }
    let mut roots = layout.library_roots().to_vec();
    // Includes the devel tree if it is expanded, and the profiler's wheel.
    let site = layout.root().parent().unwrap_or(layout.root());
    let profilers = rocm_loader::folders::names_in(site, |name| name.starts_with("_rocm_profiler"));
    roots.extend(profilers.into_iter().map(|name| site.join(name)));
    if !roots.iter().any(|root| root == layout.root()) {
        roots.push(layout.root().to_owned());
    }
    let name = |root: &Path| {
        let name = root.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let short = name.strip_prefix("_rocm_sdk_").or(name.strip_prefix("_rocm_"));
        short.unwrap_or(&name).to_owned()
    };
    roots.into_iter().filter(|root| root.is_dir()).map(|root| Package { name: name(&root), root }).collect()
}
