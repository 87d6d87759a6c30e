//! Linkers.

use std::sync::Mutex;

/// The linker behind a `hipLinkState_t`: one code object or bundle, which linking returns unchanged.
#[derive(Default)]
pub(crate) struct Linker(pub(crate) Mutex<Option<Vec<u8>>>);
