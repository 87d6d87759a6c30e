//! The HIP functions that the driver does not have as they are, one file per chapter of the API.

pub(crate) mod array;
pub(crate) mod copy;
pub(crate) mod device;
pub(crate) mod error;
pub(crate) mod fill;
pub(crate) mod graph;
pub(crate) mod launch;
pub(crate) mod memory;
pub(crate) mod module;
pub(crate) mod peer;
pub(crate) mod pointer;
pub(crate) mod properties;
pub(crate) mod stream;
pub(crate) mod texture;
pub(crate) mod virtual_memory;
