//! Malformed bundles.

use crate::code_object::LoadError;

pub(super) fn bad(what: impl Into<String>) -> LoadError {
    LoadError::Bundle(what.into())
}
