//! Offload bundles: one at the start of some bytes, or several concatenated ones.

use std::borrow::Cow;

use super::compressed::{COMPRESSED_MAGIC, Header};
use super::error::bad;
use super::table::{self, Entry, MAGIC};
use crate::code_object::{LoadError, TargetId};

/// The alignment of concatenated bundles.
const ALIGN: usize = 4096;

/// A bundle with a validated table of entries.
#[derive(Clone, Debug)]
pub struct Bundle<'a> {
    /// The bundle, from its magic to its end.
    bytes: &'a [u8],
    compressed: Option<Header>,
    entries: Vec<Entry>,
}

impl<'a> Bundle<'a> {
    /// Opens the bundle at the start of `bytes`; bytes after it are ignored.
    ///
    /// # Errors
    /// [`LoadError::Bundle`] if the bytes are not a bundle, or a malformed one.
    pub fn open(bytes: &'a [u8]) -> Result<Self, LoadError> {
        if bytes.starts_with(COMPRESSED_MAGIC) {
            let header = Header::parse(bytes)?;
            // Version 1 does not state its length.
            let len = header.file_size.unwrap_or_else(|| next_bundle(bytes, header.size).unwrap_or(bytes.len()));
            let bytes = &bytes[..len];
            let entries = table::read(&mut header.stream(bytes)?, header.uncompressed)?.entries;
            return Ok(Self { bytes, compressed: Some(header), entries });
        }
        if !bytes.starts_with(MAGIC) {
            return Err(bad("it starts with no bundle's magic"));
        }
        let table = table::read(&mut { bytes }, bytes.len() as u64)?;
        let end = table.entries.iter().map(|e| e.offset + e.size).fold(table.len, u64::max);
        // At most the length of `bytes`.
        Ok(Self { bytes: &bytes[..end as usize], compressed: None, entries: table.entries })
    }

    /// The entries, in the order of the table.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The bundle as it is in the file, without the padding after it.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Whether the bundle is compressed.
    pub fn is_compressed(&self) -> bool {
        self.compressed.is_some()
    }

    /// The size of the decompressed bundle in bytes.
    pub fn uncompressed_size(&self) -> u64 {
        self.compressed.as_ref().map_or(self.bytes.len() as u64, |header| header.uncompressed)
    }

    /// The entry that HIP would load on `device`: the most specific one that fits. It prefers entries that specify more
    /// of XNACK and SRAMECC, and the exact processor to a whole family. (Compilers never bundle two that fit one device
    /// equally.)
    pub fn best(&self, device: &TargetId) -> Option<&Entry> {
        let rank =
            |e: &Entry| e.target.as_ref().map_or((false, 0), |t| (t.processor == device.processor, t.specific()));
        let fits = |e: &&Entry| e.is_hip() && e.size > 0 && e.target.as_ref().is_some_and(|t| t.runs_on(device));
        // `rev`: the first of equals.
        self.entries.iter().rev().filter(fits).max_by_key(|e| rank(e))
    }

    /// The code object of `entry`, one of [`entries`](Self::entries).
    ///
    /// # Errors
    /// [`LoadError::Bundle`] if the bundle cannot be decompressed up to its end.
    pub fn code(&self, entry: &Entry) -> Result<Cow<'a, [u8]>, LoadError> {
        let mut found = Cow::Borrowed(&[][..]);
        self.for_each(|other| other == entry, |_, code| found = code)?;
        Ok(found)
    }

    /// Calls `visit` with the code objects of all `wanted` entries, ordered by their offsets. A compressed bundle is
    /// decompressed once, up to the last of them.
    ///
    /// # Errors
    /// [`LoadError::Bundle`] if the bundle cannot be decompressed, or entries of a compressed one overlap; `visit` has
    /// then been called with those before.
    pub fn for_each(
        &self,
        wanted: impl Fn(&Entry) -> bool,
        mut visit: impl FnMut(&Entry, Cow<'a, [u8]>),
    ) -> Result<(), LoadError> {
        let mut entries: Vec<&Entry> = self.entries.iter().filter(|e| wanted(e)).collect();
        entries.sort_by_key(|e| (e.offset, e.size));
        let Some(header) = &self.compressed else {
            for entry in entries {
                // The table was checked.
                let code = self.bytes.get(entry.offset as usize..).and_then(|c| c.get(..entry.size as usize));
                visit(entry, Cow::Borrowed(code.unwrap_or(&[])));
            }
            return Ok(());
        };
        let mut stream = header.stream(self.bytes)?;
        for entry in entries {
            let code = if entry.size == 0 { Vec::new() } else { stream.part(entry.offset, entry.size)? };
            visit(entry, Cow::Owned(code));
        }
        Ok(())
    }
}

/// Whether `bytes` start with a bundle's magic, compressed or not.
pub fn is_bundle(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC) || bytes.starts_with(COMPRESSED_MAGIC)
}

/// Concatenated bundles with padding between them. Bytes after the last bundle are ignored.
pub(super) fn concatenated(bytes: &[u8]) -> Result<Vec<Bundle<'_>>, LoadError> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| is_bundle(rest)) {
        let bundle = Bundle::open(rest)?;
        at += bundle.bytes.len();
        found.push(bundle);
        match next_bundle(bytes, at) {
            Some(next) => at = next,
            None => break,
        }
    }
    Ok(found)
}

/// The position of the next bundle: at `from`, or at a later multiple of [`ALIGN`].
fn next_bundle(bytes: &[u8], from: usize) -> Option<usize> {
    let aligned = from.next_multiple_of(ALIGN);
    let mut starts = std::iter::once(from).chain((aligned..bytes.len()).step_by(ALIGN));
    starts.find(|at| bytes.get(*at..).is_some_and(is_bundle))
}
