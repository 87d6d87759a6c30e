//! Code objects in files: standalone, in bundles, in host libraries.

use std::borrow::Cow;
use std::path::Path;

use hip::{Arch, Module};
use object::read::elf::{ElfFile64, FileHeader as _};
use object::{LittleEndian, Object as _, ObjectSection as _};

use super::output::Result;

const BUNDLE: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
const COMPRESSED: &[u8] = b"CCOB";
const ELF: &[u8] = b"\x7fELF";
/// EM_AMDGPU
const MACHINE_AMDGPU: u16 = 224;
/// The section of a host library that contains bundles, and the section with wrappers that point to them.
const SECTION: &str = ".hip_fatbin";
const WRAPPERS: &str = ".hipFatBinSegment";
/// `HIPK`: the magic of a wrapper with the name of a kernel pack, which is a separate file.
const PACK_WRAPPER: &[u8] = b"KPIH";
/// Alignment of bundles that follow each other.
const ALIGN: usize = 4096;

/// A code object, and its location.
pub(crate) struct CodeObject<'a> {
    /// The number of its bundle in the file; `None` if the file is a code object.
    pub(crate) bundle: Option<usize>,
    /// Whether the bundle is compressed.
    pub(crate) compressed: bool,
    /// The name of the bundle's entry.
    pub(crate) id: Option<&'a str>,
    pub(crate) bytes: &'a [u8],
}

impl CodeObject<'_> {
    /// Returns the architecture of the entry, or of the file itself.
    pub(crate) fn target(&self) -> Option<String> {
        let of_id = self.id.and_then(|id| id.find("-gfx").map(|at| id[at + 1..].to_owned()));
        of_id.or_else(|| Some(super::kernel::Code::read(self.bytes).ok()?.target))
    }

    /// Returns whether a requested architecture matches this code: `gfx90a` also matches `gfx90a:xnack-`.
    pub(crate) fn is_for(&self, wanted: Option<&str>) -> bool {
        let Some(wanted) = wanted else { return true };
        self.target().is_some_and(|target| target == wanted || target.split(':').next() == Some(wanted))
    }
}

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    CodeObject,
    Bundle,
    Host,
}

/// A file in memory.
pub(crate) struct File {
    pub(crate) path: String,
    bytes: Vec<u8>,
}

impl File {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let shown = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|error| format!("cannot read {shown}: {error}"))?;
        Ok(Self { path: shown, bytes })
    }

    #[cfg(test)]
    pub(crate) fn of(bytes: Vec<u8>) -> Self {
        Self { path: "file".to_owned(), bytes }
    }

    pub(crate) fn size(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn kind(&self) -> Result<Kind> {
        let bytes = &self.bytes[..];
        let machine = bytes.get(18..20).map(|machine| u16::from_le_bytes([machine[0], machine[1]]));
        match bytes {
            [] => Err(format!("{} is empty", self.path)),
            _ if bytes.starts_with(BUNDLE) || bytes.starts_with(COMPRESSED) => Ok(Kind::Bundle),
            _ if bytes.starts_with(ELF) && machine == Some(MACHINE_AMDGPU) => Ok(Kind::CodeObject),
            _ if bytes.starts_with(ELF) => Ok(Kind::Host),
            _ if bytes.starts_with(b"BC\xc0\xde") => {
                Err(format!("{} is LLVM bitcode, which has no machine code yet: compile it first", self.path))
            }
            _ if bytes.starts_with(b"!<arch>") => {
                Err(format!("{} is an archive: extract its members with `ar x` first", self.path))
            }
            _ => {
                let start: Vec<String> = bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
                let start = start.join(" ");
                Err(format!(
                    "{} is neither a code object, nor an offload bundle, nor an ELF file: it starts with {start}",
                    self.path
                ))
            }
        }
    }

    /// Calls `visit` with each code object of the file. Only one compressed bundle is in memory at a time.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(&CodeObject<'_>) -> Result<()>) -> Result<()> {
        let named = |error: String| format!("{}: {error}", self.path);
        match self.kind()? {
            Kind::CodeObject => visit(&CodeObject { bundle: None, compressed: false, id: None, bytes: &self.bytes }),
            Kind::Bundle => bundles(&self.bytes, &mut visit).map_err(named),
            Kind::Host => bundles(self.fat_binary().map_err(named)?, &mut visit).map_err(named),
        }
    }

    /// Returns the bundle section of a host library.
    fn fat_binary(&self) -> Result<&[u8]> {
        let damaged = |error: object::Error| format!("the ELF file is damaged: {error}");
        let header = object::elf::FileHeader64::<LittleEndian>::parse(&self.bytes[..]).map_err(damaged)?;
        header.endian().map_err(damaged)?;
        let elf = ElfFile64::<LittleEndian>::parse(&self.bytes[..]).map_err(damaged)?;
        let data = |name| elf.section_by_name(name).map(|section| section.data().map_err(damaged)).transpose();
        if let Some(data) = data(SECTION)?.filter(|data| !data.is_empty()) {
            return Ok(data);
        }
        match data(WRAPPERS)? {
            Some(wrappers) if wrappers.starts_with(PACK_WRAPPER) => {
                Err("the code is in a kernel pack (.kpack), a file of its own, which this command does not read"
                    .to_owned())
            }
            _ => Err(format!("a host file without a section {SECTION}: it has no code for AMD GPUs")),
        }
    }
}

/// Calls `visit` with the code objects of bundles that follow each other.
fn bundles(bytes: &[u8], visit: &mut impl FnMut(&CodeObject<'_>) -> Result<()>) -> Result<()> {
    let (mut at, mut number) = (0, 0);
    loop {
        let rest = &bytes[at..];
        let compressed = rest.starts_with(COMPRESSED);
        if !compressed && !rest.starts_with(BUNDLE) {
            return match number {
                0 => Err("it does not start with an offload bundle".to_owned()),
                _ => Ok(()),
            };
        }
        let what = |error: hip::Error| format!("bundle {number}: {error}");
        let bundle: Cow<'_, [u8]> = Module::decompress(rest).map_err(what)?;
        let entries = Module::bundle_entries(&bundle).map_err(what)?;
        for (id, bytes) in &entries {
            // Entries for the host are empty; others may be bitcode.
            if !bytes.is_empty() && arch(id).is_some() {
                visit(&CodeObject { bundle: Some(number), compressed, id: Some(id), bytes })?;
            }
        }
        let size = match compressed {
            true => compressed_size(rest),
            false => {
                let end = |bytes: &[u8]| bytes.as_ptr_range().end as usize - bundle.as_ptr() as usize;
                entries.iter().map(|(_, bytes)| end(bytes)).max()
            }
        };
        let next = size.and_then(|size| next(bytes, at.checked_add(size.max(1))?));
        let Some(next) = next else { return Ok(()) };
        (at, number) = (next, number + 1);
    }
}

/// Returns the size of a compressed bundle from its header; version 1 does not have it.
fn compressed_size(bundle: &[u8]) -> Option<usize> {
    let number = |at: usize, len: usize| {
        let bytes = bundle.get(at..at + len)?;
        Some(bytes.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte)))
    };
    let size = match number(4, 2)? {
        2 => number(8, 4)?,
        3 => number(8, 8)?,
        _ => COMPRESSED.len() as u64,
    };
    usize::try_from(size).ok()
}

/// Returns the offset of the next bundle: at `from`, or at a multiple of [`ALIGN`] after it.
fn next(bytes: &[u8], from: usize) -> Option<usize> {
    let aligned = (from.checked_next_multiple_of(ALIGN)?..bytes.len()).step_by(ALIGN);
    std::iter::once(from)
        .chain(aligned)
        .find(|at| bytes.get(*at..).is_some_and(|rest| rest.starts_with(BUNDLE) || rest.starts_with(COMPRESSED)))
}

/// Returns the architecture of a bundle's entry; `None` for the host's.
fn arch(id: &str) -> Option<Arch> {
    let at = id.find("-gfx").filter(|_| id.contains("amdgcn"))?;
    id[at + 1..].parse().ok()
}
