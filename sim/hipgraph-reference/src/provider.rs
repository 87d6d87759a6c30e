//! The engine as a replacement for hipGRAPH's library.

use std::collections::HashMap;
use std::ffi::{CStr, c_void};
use std::ptr::NonNull;
use std::sync::OnceLock;

use rocm_loader::Provider;

use crate::api;

struct Reference;

static REFERENCE: Reference = Reference;

/// The reference engine as a replacement for `libhipgraph`, for [`hipgraph_sys::set_provider`]. Its name is
/// `reference`.
pub fn provider() -> &'static dyn Provider {
    &REFERENCE
}

fn table() -> &'static HashMap<&'static str, api::Function> {
    static TABLE: OnceLock<HashMap<&'static str, api::Function>> = OnceLock::new();
    TABLE.get_or_init(|| api::FUNCTIONS.iter().copied().flatten().copied().collect())
}

/// Whether the engine supports a hipGRAPH function.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Substrings of the names of unsupported functions.
    const LEFT_OUT: [&str; 11] = [
        "_mg",
        "mg_",
        "allgather",
        "data_mask",
        "balanced_cut",
        "spectral",
        "hipgraph_clustering_result",
        "array_release",
        "host_array_type",
        "host_array_view_copy",
        "hipgraph_test_",
    ];

    #[test]
    fn every_function_is_supported_or_left_out_for_a_reason() {
        let left_out = |name: &str| LEFT_OUT.iter().any(|part| name.contains(part));
        let all = hipgraph_sys::coverage::FUNCTIONS.iter().map(|(name, ..)| *name);
        let wrong: Vec<&str> = all.filter(|name| is_supported(name) == left_out(name)).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
        let known = |name: &&str| hipgraph_sys::coverage::FUNCTIONS.iter().any(|(function, ..)| function == name);
        assert!(table().keys().all(known));
        assert_eq!(table().len(), api::FUNCTIONS.iter().map(|functions| functions.len()).sum::<usize>());
    }
}
