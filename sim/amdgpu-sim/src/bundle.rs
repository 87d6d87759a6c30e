//! Bundles: several code objects for several processors in one file, as `clang-offload-bundler` writes them.

use crate::code_object::{LoadError, TargetId};

const MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
const COMPRESSED_MAGIC: &[u8] = b"CCOB";

/// The most entries that a bundle may have.
const MAX_ENTRIES: u64 = 4096;

/// One entry of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The entry's id: `hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-`, `host-x86_64-unknown-linux--`.
    pub id: &'a str,
    /// What the id says, if it is of an AMD GPU.
    pub target: Option<TargetId>,
    /// The code object.
    pub data: &'a [u8],
}

/// Whether `bytes` start as a bundle does, compressed or not.
pub fn is_bundle(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC) || bytes.starts_with(COMPRESSED_MAGIC)
}

/// The entries of the bundle in `bytes`.
///
/// # Errors
/// [`LoadError::Bundle`] for a malformed bundle, [`LoadError::CompressedBundle`] for a compressed one.
pub fn entries(bytes: &[u8]) -> Result<Vec<Entry<'_>>, LoadError> {
    if bytes.starts_with(COMPRESSED_MAGIC) {
        return Err(LoadError::CompressedBundle);
    }
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| LoadError::Bundle("no bundle magic".into()))?;
    let short = || LoadError::Bundle("it ends inside its table of entries".into());
    let mut rest = rest;
    let mut number = || -> Option<u64> {
        let (head, tail) = rest.split_first_chunk::<8>()?;
        rest = tail;
        Some(u64::from_le_bytes(*head))
    };
    let count = number().ok_or_else(short)?;
    if count > MAX_ENTRIES {
        return Err(LoadError::Bundle(format!("{count} entries")));
    }
    let mut table = bytes.get(MAGIC.len() + 8..).unwrap_or(&[]);
    let mut all = Vec::new();
    for i in 0..count {
        let (head, tail) = table.split_first_chunk::<24>().ok_or_else(short)?;
        let field = |at: usize| head.iter().skip(at).take(8).rev().fold(0_u64, |n, b| n << 8 | u64::from(*b));
        let (offset, size, id_size) = (field(0), field(8), field(16));
        let (id, tail) = usize::try_from(id_size).ok().and_then(|n| tail.split_at_checked(n)).ok_or_else(short)?;
        table = tail;
        let id = std::str::from_utf8(id).map_err(|_| LoadError::Bundle(format!("the id of entry {i} is not text")))?;
        let data = usize::try_from(offset).ok().and_then(|o| bytes.get(o..));
        let data = data.and_then(|d| d.get(..usize::try_from(size).ok()?));
        let data = data.ok_or_else(|| LoadError::Bundle(format!("entry {i} ({id}) lies outside the file")))?;
        let target = id.find("amdgcn-").and_then(|at| TargetId::parse(&id[at..]));
        all.push(Entry { id, target, data });
    }
    Ok(all)
}

/// The code object in `bytes` that fits `device` best: `bytes` themselves if they are no bundle.
///
/// # Errors
/// [`LoadError::NoCodeFor`] if no entry fits, and what [`entries`] gives.
///
/// ```
/// use amdgpu_sim::{Config, Gpu, LoadError, bundle};
///
/// let device = Gpu::new(Config::default()).target();
/// let empty = [b"__CLANG_OFFLOAD_BUNDLE__".as_slice(), &[0; 8]].concat();
/// assert!(matches!(bundle::pick(&empty, &device), Err(LoadError::NoCodeFor { .. })));
/// ```
pub fn pick<'a>(bytes: &'a [u8], device: &TargetId) -> Result<&'a [u8], LoadError> {
    if !is_bundle(bytes) {
        return Ok(bytes);
    }
    let all = entries(bytes)?;
    let fitting = all.iter().filter_map(|e| Some((e.target.as_ref()?, e.data)));
    let best = fitting.filter(|(t, data)| t.runs_on(device) && !data.is_empty()).max_by_key(|(t, _)| t.specific());
    best.map(|(_, data)| data).ok_or_else(|| LoadError::NoCodeFor {
        device: device.to_string(),
        available: all.iter().map(|e| e.id.to_owned()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend((entries.len() as u64).to_le_bytes());
        let table: usize = entries.iter().map(|(id, _)| 24 + id.len()).sum();
        let mut offset = (out.len() + table) as u64;
        for (id, data) in entries {
            out.extend(offset.to_le_bytes());
            out.extend((data.len() as u64).to_le_bytes());
            out.extend((id.len() as u64).to_le_bytes());
            out.extend(id.as_bytes());
            offset += data.len() as u64;
        }
        entries.iter().for_each(|(_, data)| out.extend(*data));
        out
    }

    #[test]
    fn the_most_specific_entry_that_fits_is_picked() {
        let device = TargetId::parse("gfx90a:sramecc+:xnack-").unwrap();
        let bytes = bundle(&[
            ("host-x86_64-unknown-linux--", b""),
            ("hipv4-amdgcn-amd-amdhsa--gfx90a", b"any"),
            ("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", b"off"),
            ("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", b"on"),
            ("hipv4-amdgcn-amd-amdhsa--gfx942", b"other"),
        ]);
        assert_eq!(pick(&bytes, &device).unwrap(), b"off");
        assert_eq!(pick(&bytes, &TargetId::parse("gfx942").unwrap()).unwrap(), b"other");
        let error = pick(&bytes, &TargetId::parse("gfx1100").unwrap()).unwrap_err();
        assert!(error.to_string().contains("gfx1100") && error.to_string().contains("gfx942"), "{error}");
        assert_eq!(pick(b"\x7fELF", &device).unwrap(), b"\x7fELF");
    }

    #[test]
    fn every_truncation_and_every_flipped_bit_is_an_error_or_a_bundle() {
        let bytes = bundle(&[("hip-amdgcn-amd-amdhsa--gfx90a", b"code"), ("host-x86_64", b"")]);
        for len in 0..bytes.len() {
            assert!(entries(&bytes[..len]).is_err(), "{len}");
        }
        for bit in 0..bytes.len() * 8 {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let _ = entries(&bytes);
        }
        assert!(matches!(entries(b"CCOB\x02\0"), Err(LoadError::CompressedBundle)));
    }
}
