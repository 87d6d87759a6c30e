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
mod host;
mod table;

use std::borrow::Cow;

use crate::code_object::{LoadError, TargetId};
use compressed::Header;

/// The magic of raw bundles.
const MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
/// The magic of compressed bundles.
const COMPRESSED_MAGIC: &[u8] = b"CCOB";
/// The alignment of concatenated bundles.
const ALIGN: usize = 4096;

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
    fn is_hip(&self) -> bool {
        matches!(self.id.split('-').next(), Some("hip" | "hipv4" | "hcc"))
    }
}

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
        let available = bundle.entries.into_iter().map(|e| e.id).collect();
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

/// Concatenated bundles with padding between them. Bytes after the last bundle are ignored.
fn concatenated(bytes: &[u8]) -> Result<Vec<Bundle<'_>>, LoadError> {
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

fn bad(what: impl Into<String>) -> LoadError {
    LoadError::Bundle(what.into())
}

#[cfg(test)]
mod tests;
