//! Code for one architecture, found in an image.

use std::borrow::Cow;

use crate::module::metadata::Metadata;

/// A checked code object, and its metadata.
#[derive(Debug)]
pub(crate) struct CodeObject<'a> {
    /// Borrowed from the image, unless it was compressed.
    pub(crate) bytes: Cow<'a, [u8]>,
    pub(crate) metadata: Metadata,
}
