//! The table of entries that a bundle starts with.

use std::io::Read;

use super::error::bad;
use crate::code_object::{LoadError, TargetId};

/// The magic of raw bundles.
pub(super) const MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";

/// An entry of a bundle's table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The entry's id: `hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-`, `host-x86_64-unknown-linux--`.
    pub id: String,
    /// The target in the ID, if it is an AMD GPU.
    pub target: Option<TargetId>,
    /// The offset of the code object in the decompressed bundle.
    pub offset: u64,
    /// Bytes of the code object.
    pub size: u64,
}

impl Entry {
    fn new(id: String, offset: u64, size: u64) -> Self {
        let target = id.find("amdgcn-").and_then(|at| TargetId::parse(&id[at..]));
        Self { id, target, offset, size }
    }

    /// Returns whether the entry is HIP's. HIP ignores those of OpenMP.
    pub(super) fn is_hip(&self) -> bool {
        matches!(self.id.split('-').next(), Some("hip" | "hipv4" | "hcc"))
    }
}

/// The maximum number of entries of a bundle.
const MAX_ENTRIES: u64 = 4096;
/// The maximum length of an entry's ID in bytes.
const MAX_ID: u64 = 4096;

/// A table of entries.
pub(super) struct Table {
    /// The entries; each lies inside the bundle.
    pub(super) entries: Vec<Entry>,
    /// Bytes of the table, with the magic before it.
    pub(super) len: u64,
}

/// Reads the magic and the table of a bundle that has `size` bytes.
pub(super) fn read(source: &mut impl Read, size: u64) -> Result<Table, LoadError> {
    let mut source = Source { source, len: 0 };
    if source.bytes(MAGIC.len() as u64)? != MAGIC {
        return Err(bad("there is no bundle in it"));
    }
    let count = source.number()?;
    if count > MAX_ENTRIES {
        return Err(bad(format!("{count} entries")));
    }
    let mut entries = Vec::new();
    for i in 0..count {
        let (offset, size_of_code, id_size) = (source.number()?, source.number()?, source.number()?);
        if id_size > MAX_ID {
            return Err(bad(format!("the id of entry {i} has {id_size} bytes")));
        }
        let id = source.bytes(id_size)?;
        let id = String::from_utf8(id).map_err(|_| bad(format!("the id of entry {i} is not text")))?;
        if offset.checked_add(size_of_code).is_none_or(|end| end > size) {
            return Err(bad(format!("entry {i} ({id}) lies outside the bundle")));
        }
        entries.push(Entry::new(id, offset, size_of_code));
    }
    Ok(Table { entries, len: source.len })
}

struct Source<'a, R> {
    source: &'a mut R,
    len: u64,
}

impl<R: Read> Source<'_, R> {
    /// Reads `count` bytes, which must be few.
    fn bytes(&mut self, count: u64) -> Result<Vec<u8>, LoadError> {
        let mut bytes = vec![0; count as usize];
        let short = |e| bad(format!("it ends inside its table of entries ({e})"));
        self.source.read_exact(&mut bytes).map_err(short)?;
        self.len += count;
        Ok(bytes)
    }

    fn number(&mut self) -> Result<u64, LoadError> {
        Ok(self.bytes(8)?.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)))
    }
}
