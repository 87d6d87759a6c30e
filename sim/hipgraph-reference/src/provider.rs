//! The engine in the place of hipGRAPH's library.

use std::collections::HashMap;
use std::ffi::{CStr, c_void};
use std::ptr::NonNull;
use std::sync::OnceLock;

use rocm_loader::Provider;

use crate::api;

struct Reference;

static REFERENCE: Reference = Reference;

/// The reference engine in the place of `libhipgraph`: for [`hipgraph_sys::set_provider`]. Its name is `reference`.
pub fn provider() -> &'static dyn Provider {
    &REFERENCE
}

fn table() -> &'static HashMap<&'static str, api::Function> {
    static TABLE: OnceLock<HashMap<&'static str, api::Function>> = OnceLock::new();
    TABLE.get_or_init(|| api::FUNCTIONS.iter().copied().flatten().copied().collect())
}

/// Whether the engine has a function of hipGRAPH.
pub fn is_supported(name: &str) -> bool {
    table().contains_key(name)
}

impl Provider for Reference {
    fn name(&self) -> &str {
        "reference"
    }

    fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        table().get(name.to_str().ok()?).and_then(|function| NonNull::new(function.address()))
    }
}
