//! The ELF file of a code object: header, segments, notes, symbols, relocations.
//!
//! All input is untrusted: the `object` crate or `get` checks every offset, and nothing is allocated before the file is
//! known to contain that many bytes. Tables may refer to the same bytes repeatedly, but memory use stays within a small
//! multiple of the file's size.

use std::collections::BTreeMap;
use std::sync::Arc;

use object::elf;
use object::read::elf::{FileHeader, ProgramHeader, Rela, SectionHeader, Sym};
use object::{LittleEndian, SectionIndex, SymbolIndex};

use super::error::LoadError;
use super::target::TargetId;

type Header = elf::FileHeader64<LittleEndian>;
const LE: LittleEndian = LittleEndian;

/// The maximum image size: the span of a code object's addresses.
const MAX_IMAGE: u64 = 1 << 36;
/// The maximum number of program headers, far above that of real files.
const MAX_SEGMENTS: usize = 256;
/// The maximum total size of gaps between segments. Gaps use address space that the device memory limit does not count.
const MAX_GAPS: u64 = 1 << 30;
/// The maximum size of an executable segment. Its words are counted in 32 bits.
const MAX_TEXT: u64 = 1 << 32;
/// The maximum part of an executable segment that is not in the file: a linker's padding.
const MAX_TEXT_PADDING: u64 = 1 << 16;
/// The maximum total length of symbol names, as a multiple of the file's size. Names with a common suffix may share
/// bytes.
const MAX_NAMES: usize = 8;
/// The size of a relocation in the file.
const RELOCATION_SIZE: usize = size_of::<elf::Rela64<LittleEndian>>();
/// The type of the metadata note, whose owner is `AMDGPU`.
const NT_AMDGPU_METADATA: u32 = 32;

/// A loadable segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Address from the start of the image.
    pub(crate) address: u64,
    /// Bytes in memory.
    pub(crate) size: u64,
    /// Offset of its contents in the file.
    offset: usize,
    /// Size in the file; the rest is zero.
    file_size: usize,
    pub(crate) writable: bool,
    pub(crate) executable: bool,
}

/// A variable in device memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Global {
    /// Its name.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Address from the start of the image.
    pub(crate) address: u64,
}

/// The value of a symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SymbolValue {
    /// An address from the start of the image.
    Image(u64),
    /// A number.
    Absolute(u64),
    /// Not defined in this file.
    Undefined(Arc<str>),
}

/// How a relocation's value is computed and stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RelocationKind {
    Abs64,
    Abs32,
    Abs32Lo,
    Abs32Hi,
    Rel64,
    Rel32,
    Rel32Lo,
    Rel32Hi,
    Relative64,
}

impl RelocationKind {
    fn from_type(kind: u32) -> Option<Self> {
        Some(match kind {
            1 => Self::Abs32Lo,
            2 => Self::Abs32Hi,
            3 => Self::Abs64,
            4 => Self::Rel32,
            5 => Self::Rel64,
            6 => Self::Abs32,
            10 => Self::Rel32Lo,
            11 => Self::Rel32Hi,
            13 => Self::Relative64,
            _ => return None,
        })
    }

    /// The number of bytes that it writes.
    pub(crate) fn size(self) -> u64 {
        if matches!(self, Self::Abs64 | Self::Rel64 | Self::Relative64) { 8 } else { 4 }
    }
}

/// A relocation that is applied once the image has an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Relocation {
    /// The target, from the start of the image.
    pub(crate) offset: u64,
    pub(crate) kind: RelocationKind,
    pub(crate) symbol: SymbolValue,
    pub(crate) addend: i64,
}

/// The contents to load into memory.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    file: Arc<[u8]>,
    /// Sorted by address, without overlaps.
    pub(crate) segments: Vec<Segment>,
    pub(crate) relocations: Vec<Relocation>,
}

impl Image {
    /// Bytes from address 0 to the end of the last segment.
    pub(crate) fn span(&self) -> u64 {
        self.segments.last().map_or(0, |s| s.address + s.size)
    }

    /// The file, if it has debug information.
    pub(crate) fn debug_information(&self) -> Option<Arc<[u8]>> {
        let header = Header::parse(&*self.file).ok()?;
        let sections = header.sections(LE, &*self.file).ok()?;
        sections.section_by_name(LE, b".debug_line").map(|_| Arc::clone(&self.file))
    }

    /// The bytes of the file that fill `segment`.
    pub(crate) fn contents(&self, segment: &Segment) -> &[u8] {
        self.file.get(segment.offset..).and_then(|f| f.get(..segment.file_size)).unwrap_or(&[])
    }

    fn segment_at(&self, address: u64, len: u64) -> Option<&Segment> {
        let segment = self.segments.iter().rfind(|s| s.address <= address)?;
        (len <= segment.size && address - segment.address <= segment.size - len).then_some(segment)
    }

    /// Reads initial contents; false if the range is not inside one segment.
    pub(super) fn read(&self, address: u64, out: &mut [u8]) -> bool {
        let Some(segment) = self.segment_at(address, out.len() as u64) else { return false };
        let contents = self.contents(segment);
        let from = contents.len().min((address - segment.address) as usize);
        let part = &contents[from..contents.len().min(from + out.len())];
        out.fill(0);
        out[..part.len()].copy_from_slice(part);
        true
    }

    /// Returns whether an instruction can start at `address`.
    pub(super) fn executable(&self, address: u64) -> bool {
        self.segment_at(address, 4).is_some_and(|s| s.executable)
    }

    /// Whether `len` bytes at `address` are inside one segment.
    fn contains(&self, address: u64, len: u64) -> bool {
        self.segment_at(address, len).is_some()
    }
}

struct Symbol {
    value: SymbolValue,
    size: u64,
    object: bool,
}

/// A validated ELF file.
pub(super) struct File {
    pub(super) image: Image,
    pub(super) target: TargetId,
    /// The code object version, 3 to 6.
    pub(super) version: u8,
    /// The contents of the metadata notes. Code linked from several assembly files has one per file.
    pub(super) metadata: Vec<Vec<u8>>,
    symbols: BTreeMap<String, Symbol>,
}

fn error(e: object::read::Error) -> LoadError {
    LoadError::Elf(e.to_string())
}

impl File {
    pub(super) fn parse(data: &[u8]) -> Result<Self, LoadError> {
        let ident: &[u8; 16] = data.first_chunk().ok_or_else(|| LoadError::Elf(format!("{} bytes", data.len())))?;
        if !ident.starts_with(b"\x7fELF") {
            let what = match ident {
                i if i.starts_with(b"__CLANG_OFFLOAD_") => "it is a code object bundle: pick an entry first",
                i if i.starts_with(b"CCOB") => "it is a compressed code object bundle: pick an entry first",
                _ => "no ELF magic",
            };
            return Err(LoadError::Elf(what.into()));
        }
        if ident[4] != 2 || ident[5] != 1 {
            return Err(LoadError::NotAmdGpu("not a 64-bit little-endian file".into()));
        }
        let header = Header::parse(data).map_err(error)?;
        if header.e_machine(LE) != elf::EM_AMDGPU {
            return Err(LoadError::NotAmdGpu(format!("machine {} is not EM_AMDGPU (224)", header.e_machine(LE).0)));
        }
        if ident[7] != 64 {
            return Err(LoadError::NotAmdGpu(format!("OS ABI {} is not HSA (64)", ident[7])));
        }
        let abi_version = ident[8];
        if !(1..=4).contains(&abi_version) {
            return Err(LoadError::Version { abi_version });
        }
        if header.e_type(LE) != elf::ET_DYN {
            let what = "not a shared object (relocatable objects must be linked first, with ld.lld -shared)";
            return Err(LoadError::NotAmdGpu(what.into()));
        }
        let flags = header.e_flags(LE).0;
        let target = TargetId::from_flags(flags, abi_version)
            .ok_or_else(|| LoadError::NotAmdGpu(format!("unknown processor {:#x} in e_flags", flags & 0xff)))?;

        let program_headers = header.program_headers(LE, data).map_err(error)?;
        if program_headers.len() > MAX_SEGMENTS {
            return Err(LoadError::Segment(format!("{} program headers", program_headers.len())));
        }
        let mut metadata = Vec::new();
        let mut segments = Vec::new();
        for ph in program_headers {
            match ph.p_type(LE) {
                elf::PT_LOAD => segments.extend(segment(ph, data)?),
                // One segment at most, so that their size is bounded by the file's.
                elf::PT_NOTE if metadata.is_empty() => {
                    if let Some(mut all) = ph.notes(LE, data).map_err(error)? {
                        while let Some(note) = all.next().map_err(error)? {
                            if note.name() == b"AMDGPU" && note.n_type(LE).0 == NT_AMDGPU_METADATA {
                                metadata.push(note.desc().to_vec());
                            }
                        }
                    }
                }
                _ => {}
            }
        }
        segments.sort_by_key(|s: &Segment| s.address);
        check_places(&segments)?;
        let mut image = Image { file: data.into(), segments, relocations: Vec::new() };

        let sections = header.sections(LE, data).map_err(error)?;
        let dynamic = sections.symbols(LE, data, elf::SHT_DYNSYM).map_err(error)?;
        let table =
            if dynamic.is_empty() { sections.symbols(LE, data, elf::SHT_SYMTAB).map_err(error)? } else { dynamic };
        let mut names_left = data.len().saturating_mul(MAX_NAMES);
        let mut symbols = BTreeMap::new();
        let mut values = Vec::with_capacity(table.len());
        for (index, sym) in table.iter().enumerate() {
            let name = table.symbol_name(LE, sym).map_err(error)?;
            names_left = names_left.checked_sub(name.len()).ok_or_else(|| {
                LoadError::Elf(format!("the symbols' names are more than {MAX_NAMES} times as long as the file"))
            })?;
            let name = String::from_utf8_lossy(name);
            let value = if !sym.is_undefined(LE) {
                let value = sym.st_value(LE);
                if sym.is_absolute(LE) { SymbolValue::Absolute(value) } else { SymbolValue::Image(value) }
            } else if sym.is_weak() {
                SymbolValue::Absolute(0)
            } else {
                SymbolValue::Undefined(Arc::from(&*name))
            };
            values.push(value.clone());
            // The first symbol of a table is a placeholder.
            if index > 0 && !name.is_empty() && !matches!(value, SymbolValue::Undefined(_)) {
                let object = sym.st_type() == elf::STT_OBJECT;
                symbols.insert(name.into_owned(), Symbol { value, size: sym.st_size(LE), object });
            }
        }
        let value_of = |index: SymbolIndex| {
            let value = values.get(index.0).cloned();
            value.ok_or_else(|| format!("it is of symbol {}; there are {}", index.0, values.len()))
        };

        let most = data.len() / RELOCATION_SIZE;
        for section in sections.iter() {
            let allocated = section.sh_flags(LE).0 & u64::from(ALLOC) != 0;
            let Some((entries, link)) = section.rela(LE, data).map_err(error)? else { continue };
            if !allocated {
                continue;
            }
            if link != SectionIndex(0) && link != table.section() {
                return Err(LoadError::Elf("relocations refer to a symbol table that is not the dynamic one".into()));
            }
            if image.relocations.len() + entries.len() > most {
                return Err(LoadError::Elf("there are more relocations than have room in the file".into()));
            }
            for rela in entries {
                image.relocations.extend(relocation(rela, &image, value_of)?);
            }
        }
        Ok(Self { image, target, version: abi_version + 2, metadata, symbols })
    }

    pub(super) fn symbol_address(&self, name: &str) -> Option<u64> {
        match self.symbols.get(name)?.value {
            SymbolValue::Image(address) => Some(address),
            _ => None,
        }
    }

    /// The device variables: defined objects other than kernel descriptors.
    pub(super) fn globals(&self) -> Vec<Global> {
        let objects = self.symbols.iter().filter(|(name, s)| s.object && s.size > 0 && !name.ends_with(".kd"));
        let inside = objects.filter_map(|(name, s)| match s.value {
            SymbolValue::Image(address) if self.image.contains(address, s.size) => {
                Some(Global { name: name.clone(), size: s.size, address })
            }
            _ => None,
        });
        inside.collect()
    }
}

/// `SHF_ALLOC`.
const ALLOC: u32 = 2;

/// Checks that the segments, sorted by address, do not overlap and are not too far apart.
fn check_places(segments: &[Segment]) -> Result<(), LoadError> {
    let (mut end, mut gaps) = (0, 0);
    for segment in segments {
        let gap = segment.address.checked_sub(end).ok_or_else(|| {
            LoadError::Segment(format!(
                "the one at {:#x} starts before that below it ends, at {end:#x}",
                segment.address
            ))
        })?;
        // The sum cannot overflow: every segment ends below `MAX_IMAGE`.
        gaps += gap;
        end = segment.address + segment.size;
    }
    if gaps > MAX_GAPS {
        return Err(LoadError::Segment(format!("there are {gaps:#x} bytes between them; {MAX_GAPS:#x} are allowed")));
    }
    Ok(())
}

fn segment(ph: &elf::ProgramHeader64<LittleEndian>, data: &[u8]) -> Result<Option<Segment>, LoadError> {
    let (address, size) = (ph.p_vaddr(LE), ph.p_memsz(LE));
    let (offset, file_size) = (ph.p_offset(LE), ph.p_filesz(LE));
    let bad = |what: &str| {
        LoadError::Segment(format!(
            "{what}: {size:#x} bytes at {address:#x}, {file_size:#x} bytes at {offset:#x} of the file"
        ))
    };
    if size == 0 {
        return Ok(None);
    }
    if file_size > size {
        return Err(bad("larger in the file than in memory"));
    }
    if address.checked_add(size).is_none_or(|end| end > MAX_IMAGE) {
        return Err(bad("too far from the start"));
    }
    if offset.checked_add(file_size).is_none_or(|end| end > data.len() as u64) {
        return Err(bad("outside the file"));
    }
    let flags = ph.p_flags(LE).0;
    let (writable, executable) = (flags & 2 != 0, flags & 1 != 0);
    if writable && executable {
        return Err(bad("writable and executable (code that changes itself is not supported)"));
    }
    if executable && (size > MAX_TEXT || size - file_size > MAX_TEXT_PADDING) {
        return Err(bad("executable, and too large or not in the file"));
    }
    // The casts are lossless: the values are at most the length of a slice.
    Ok(Some(Segment { address, size, offset: offset as usize, file_size: file_size as usize, writable, executable }))
}

fn relocation(
    rela: &elf::Rela64<LittleEndian>,
    image: &Image,
    symbol: impl Fn(SymbolIndex) -> Result<SymbolValue, String>,
) -> Result<Option<Relocation>, LoadError> {
    let (offset, kind) = (rela.r_offset(LE), rela.r_type(LE, false).0);
    if kind == 0 {
        return Ok(None);
    }
    let Some(known) = RelocationKind::from_type(kind) else {
        return Err(LoadError::Relocation { offset, reason: format!("type {kind} is not known") });
    };
    if !image.contains(offset, known.size()) {
        return Err(LoadError::Relocation { offset, reason: "outside the segments".into() });
    }
    let symbol = match rela.symbol(LE, false) {
        Some(index) if known != RelocationKind::Relative64 => {
            symbol(index).map_err(|reason| LoadError::Relocation { offset, reason })?
        }
        _ => SymbolValue::Absolute(0),
    };
    Ok(Some(Relocation { offset, kind: known, symbol, addend: rela.r_addend(LE) }))
}
