//! Clang's offload bundles: code objects of several architectures in one file.

use crate::core::arch::Arch;
use crate::core::error::{Error, Result};

/// The magic bytes at the start.
pub(super) const BUNDLE: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";

/// Larger than any bundle of a compiler; a header with more is damaged.
const MAX_ENTRIES: u64 = 4096;

/// Returns the error of an image that cannot be loaded.
pub(super) fn bad(reason: impl Into<String>) -> Error {
    Error::Image { reason: reason.into() }
}

/// Returns names and bytes of the entries of a bundle.
pub(crate) fn bundle_entries(bundle: &[u8]) -> Result<Vec<(&str, &[u8])>> {
    if !bundle.starts_with(BUNDLE) {
        return Err(bad("it does not start with __CLANG_OFFLOAD_BUNDLE__"));
    }
    entries(bundle)?.collect()
}

/// Returns names and bytes of a bundle's entries.
pub(super) fn entries(bundle: &[u8]) -> Result<impl Iterator<Item = Result<(&str, &[u8])>>> {
    let mut at = BUNDLE.len();
    let count = take_u64(bundle, &mut at)?;
    if count > MAX_ENTRIES {
        return Err(bad(format!("an offload bundle of {count} entries")));
    }
    Ok((0..count).map(move |_| {
        let offset = take_u64(bundle, &mut at)?;
        let size = take_u64(bundle, &mut at)?;
        let id_len = take_u64(bundle, &mut at)?;
        let id = part(bundle, at as u64, id_len)?;
        at += id.len();
        let id = std::str::from_utf8(id).map_err(|_| bad("an offload bundle with an entry whose name is no text"))?;
        let bytes = part(bundle, offset, size).map_err(|_| {
            bad(format!(
                "the offload bundle is cut off: its entry {id} is at {offset}, {size} bytes, of {}",
                bundle.len()
            ))
        })?;
        Ok((id, bytes))
    }))
}

fn take_u64(bytes: &[u8], at: &mut usize) -> Result<u64> {
    let part = part(bytes, *at as u64, 8)?;
    *at += 8;
    let mut value = [0; 8];
    value.copy_from_slice(part);
    Ok(u64::from_le_bytes(value))
}

fn part(bytes: &[u8], offset: u64, size: u64) -> Result<&[u8]> {
    let start = usize::try_from(offset).ok();
    let end = offset.checked_add(size).and_then(|end| usize::try_from(end).ok());
    match (start, end) {
        (Some(start), Some(end)) => bytes.get(start..end),
        _ => None,
    }
    .ok_or_else(|| bad("the offload bundle is cut off"))
}

/// Returns the architecture in the name of a bundle entry, such as the end of `hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-`
/// or `cuda-nvptx64-nvidia-cuda--sm_90`. Host entries have none.
pub(super) fn target_of(id: &str) -> Option<Arch> {
    let mut parts = id.splitn(6, '-');
    let is_device = match (parts.next()?, parts.next()?) {
        ("hip" | "hipv4" | "openmp", "amdgcn") => true,
        (kind, "nvptx64") => matches!(kind, "cuda" | "openmp"),
        _ => false,
    };
    parts.nth(3)?.parse().ok().filter(|_| is_device)
}
