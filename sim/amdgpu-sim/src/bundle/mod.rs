//! Files with GPU code in all of ROCm's formats: plain code objects (`.hsaco`, `.co`); bundles for several processors,
//! as `clang-offload-bundler` writes them, compressed or not; several concatenated bundles; and host libraries with
//! bundles inside.
//!
//! [`pick`] returns the code object for one device. [`for_each_code_object`] visits everything in a file. A compressed
//! bundle is never held in memory completely: it is decompressed as a stream, and only the wanted code objects are
//! kept.
//!
//! All input may be hostile. Sizes must match the available bytes, and the size that a compressed bundle states is
//! limited.

mod compressed;
mod error;
mod host;
mod offload;
mod table;

use std::borrow::Cow;

use crate::code_object::{LoadError, TargetId};
use compressed::Header;
use offload::concatenated;

pub use offload::{Bundle, is_bundle};
pub use table::Entry;

/// The length of the compressed bundle that starts with `header`, if it states one: version 1 does not. 16 bytes of
/// `header` are enough.
pub fn compressed_len(header: &[u8]) -> Option<u64> {
    Header::stated_len(header)
}

/// The code object in `bytes` that fits `device` best: `bytes` themselves if they are not a bundle, otherwise an entry
/// of the first bundle.
///
/// # Errors
/// [`LoadError::NoCodeFor`] if no entry fits, [`LoadError::Bundle`] for a malformed bundle.
///
/// ```
/// use amdgpu_sim::{Config, Gpu, LoadError, bundle};
///
/// let device = Gpu::new(Config::default()).target();
/// let empty = [b"__CLANG_OFFLOAD_BUNDLE__".as_slice(), &[0; 8]].concat();
/// assert!(matches!(bundle::pick(&empty, &device), Err(LoadError::NoCodeFor { .. })));
/// ```
pub fn pick<'a>(bytes: &'a [u8], device: &TargetId) -> Result<Cow<'a, [u8]>, LoadError> {
    if !is_bundle(bytes) {
        return Ok(Cow::Borrowed(bytes));
    }
    let bundle = Bundle::open(bytes)?;
    let Some(best) = bundle.best(device) else {
        let available = bundle.entries().iter().map(|e| e.id.clone()).collect();
        return Err(LoadError::NoCodeFor { device: device.to_string(), available });
    };
    bundle.code(best)
}

/// The bundles of a file: one or several concatenated ones, or those of a host library.
///
/// A host library (ELF) has them in its section `.hip_fatbin`, and wrappers (`HIPF`) that point to them in
/// `.hipFatBinSegment`. A plain code object has none.
///
/// # Errors
/// [`LoadError::Bundle`] if one of them is malformed, [`LoadError::Elf`] for a host library that cannot be read.
pub fn bundles(bytes: &[u8]) -> Result<Vec<Bundle<'_>>, LoadError> {
    if is_bundle(bytes) {
        concatenated(bytes)
    } else if TargetId::of_elf(bytes).is_some() {
        Ok(Vec::new())
    } else {
        host::bundles(bytes)
    }
}

/// Calls `visit` with every code object in a file of any format whose target `wanted` accepts. Entries for other
/// targets than AMD GPUs, and empty ones, are skipped.
///
/// # Errors
/// As [`bundles`] and [`Bundle::for_each`]; `visit` has then been called with the code objects before.
pub fn for_each_code_object<'a>(
    bytes: &'a [u8],
    wanted: impl Fn(&TargetId) -> bool,
    mut visit: impl FnMut(&TargetId, Cow<'a, [u8]>),
) -> Result<(), LoadError> {
    if let Some(target) = TargetId::of_elf(bytes) {
        if wanted(&target) {
            visit(&target, Cow::Borrowed(bytes));
        }
        return Ok(());
    }
    for bundle in bundles(bytes)? {
        bundle.for_each(
            |entry| entry.size > 0 && entry.target.as_ref().is_some_and(&wanted),
            |entry, code| entry.target.iter().for_each(|target| visit(target, code.clone())),
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
