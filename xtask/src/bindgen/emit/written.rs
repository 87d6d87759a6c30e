//! The input of the generated code of a library.

use std::collections::BTreeMap;

use crate::bindgen::cuda_names::CudaNames;
use crate::bindgen::forms::{Classes, Forms, Place};
use crate::bindgen::levels::Level;
use crate::bindgen::library::Library;
use crate::bindgen::sources::Sources;
use crate::bindgen::surface::Surface;
use crate::bindgen::symbols::NotExported;

/// The input of the generated code.
pub(crate) struct Written<'a> {
    pub(crate) library: &'a Library,
    pub(crate) sources: &'a Sources,
    pub(crate) levels: &'a BTreeMap<Level, Surface>,
    pub(crate) forms: &'a Forms,
    /// Forms of the items of other libraries.
    pub(crate) foreign: &'a Classes,
    /// CUDA's names.
    pub(crate) cuda: &'a CudaNames,
    pub(crate) not_exported: &'a NotExported,
}

impl Written<'_> {
    /// Returns the releases whose ABI a module has, as an expression.
    pub(super) fn releases(&self, place: Place) -> String {
        let first = self.levels.keys().next().is_some_and(|first| *first == place.from);
        let from = if first { (0, 0) } else { place.from.abi_start() };
        let before = match place.to.next().map(Level::abi_start) {
            Some((major, minor)) => format!("Some(({major}, {minor}))"),
            None => "None".to_owned(),
        };
        format!("rocm_loader::Releases::new(({}, {}), {before})", from.0, from.1)
    }
}
