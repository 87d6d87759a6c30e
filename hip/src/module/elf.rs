//! A minimal ELF reader, to check a code object before it is passed to the runtime: 64 bits, little-endian.
//!
//! The crate `object` reads ELF well, but would take a quarter of `hip`'s build time. The tests compare this reader
//! with it.

/// EM_AMDGPU
pub(crate) const MACHINE_AMDGPU: u16 = 224;
/// EM_CUDA
pub(crate) const MACHINE_CUDA: u16 = 190;
/// ELFOSABI_AMDGPU_HSA
pub(crate) const OS_ABI_HSA: u8 = 64;
/// ET_DYN
pub(crate) const TYPE_DYNAMIC: u16 = 3;

const HEADER_BYTES: usize = 64;
const SEGMENT_BYTES: u16 = 56;
const SECTION_BYTES: u16 = 64;
/// PT_NOTE
const SEGMENT_NOTE: u32 = 4;
/// SHT_NULL, SHT_NOBITS: sections without bytes in the file.
const SECTIONS_WITHOUT_BYTES: [u32; 2] = [0, 8];

/// An ELF file whose headers all point into it.
#[derive(Debug)]
pub(crate) struct Elf<'a> {
    bytes: &'a [u8],
    pub(crate) os_abi: u8,
    pub(crate) kind: u16,
    pub(crate) machine: u16,
    /// Offset and size of each segment that holds notes.
    notes: Vec<(u64, u64)>,
    /// The largest alignment of such a segment. The notes are read with an alignment of 4, which code objects have.
    pub(crate) note_align: u64,
}

/// One note.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Note<'a> {
    /// The owner's name, with the terminating zero.
    pub(crate) owner: &'a [u8],
    pub(crate) kind: u32,
    pub(crate) payload: &'a [u8],
}

impl<'a> Elf<'a> {
    /// Reads the headers, and checks that everything that they refer to is in bounds: the HIP runtime gets no length,
    /// and relies on the headers.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, String> {
        if bytes.len() < HEADER_BYTES || !bytes.starts_with(b"\x7fELF") {
            return Err(format!("not an ELF file: {} bytes", bytes.len()));
        }
        if bytes[4..7] != [2, 1, 1] {
            return Err("an ELF file that is not 64-bit little-endian of version 1".to_owned());
        }
        let header = Fields(bytes);
        // e_version, e_ehsize. NVIDIA's compilers before CUDA 13 write their own version to the first.
        let is_version = header.u32(20) == 1 || header.u16(18) == MACHINE_CUDA;
        if !is_version || header.u16(52) != HEADER_BYTES as u16 {
            return Err(format!("an ELF file of version {} with a header of {} bytes", header.u32(20), header.u16(52)));
        }
        let (segments, sections, names) = (header.u16(56), header.u16(60), header.u16(62));
        // Larger numbers would be in the first section's header. No code object has so many, and such headers are not checked, so reject
        // them.
        if segments == u16::MAX || sections == 0 && header.u64(40) != 0 || names != 0 && names >= sections {
            return Err(format!("header numbers: {segments} segments, {sections} sections, names in section {names}"));
        }
        let mut elf = Self {
            bytes,
            os_abi: bytes[7],
            kind: header.u16(16),
            machine: header.u16(18),
            notes: Vec::new(),
            note_align: 0,
        };
        for segment in elf.segments()? {
            let (offset, size) = (segment.u64(8), segment.u64(32));
            elf.part("a segment", offset, size)?;
            if segment.u32(0) == SEGMENT_NOTE {
                elf.note_align = elf.note_align.max(segment.u64(48));
                elf.notes.push((offset, size));
            }
        }
        for (index, section) in elf.sections()?.enumerate() {
            if Self::has_bytes(section) {
                elf.part(&format!("section {index}"), section.u64(24), section.u64(32))?;
            }
        }
        Ok(elf)
    }

    /// Returns the headers of the segments.
    pub(crate) fn segments(&self) -> Result<impl Iterator<Item = Fields<'a>> + use<'a>, String> {
        let header = Fields(self.bytes);
        self.table("program headers", header.u64(32), header.u16(54), header.u16(56), SEGMENT_BYTES)
    }

    /// Returns the headers of the sections.
    pub(crate) fn sections(&self) -> Result<impl Iterator<Item = Fields<'a>> + use<'a>, String> {
        let header = Fields(self.bytes);
        self.table("section headers", header.u64(40), header.u16(58), header.u16(60), SECTION_BYTES)
    }

    /// Returns whether the file contains the bytes of a section, by its header.
    pub(crate) fn has_bytes(section: Fields<'_>) -> bool {
        !SECTIONS_WITHOUT_BYTES.contains(&section.u32(4))
    }

    /// Returns the offset and size of the section headers.
    pub(crate) fn section_headers(&self) -> (u64, u64) {
        let header = Fields(self.bytes);
        (header.u64(40), u64::from(header.u16(58)) * u64::from(header.u16(60)))
    }

    /// Returns the index of the section with the section names.
    pub(crate) fn names_section(&self) -> usize {
        Fields(self.bytes).u16(62).into()
    }

    /// Returns the entries of a header table.
    fn table(
        &self,
        what: &str,
        offset: u64,
        stride: u16,
        count: u16,
        expected: u16,
    ) -> Result<impl Iterator<Item = Fields<'a>> + use<'a>, String> {
        if count != 0 && stride != expected {
            return Err(format!("{what} of {stride} bytes each, not {expected}"));
        }
        let size = u64::from(stride) * u64::from(count);
        let table = if count == 0 { &[] } else { self.part(what, offset, size)? };
        Ok(table.chunks_exact(expected.into()).map(Fields))
    }

    /// Returns bytes of the file. `what` names them in the error.
    pub(crate) fn part(&self, what: &str, offset: u64, size: u64) -> Result<&'a [u8], String> {
        let range =
            usize::try_from(offset).ok().zip(offset.checked_add(size).and_then(|end| usize::try_from(end).ok()));
        range.and_then(|(start, end)| self.bytes.get(start..end)).ok_or_else(|| {
            format!("it is cut off: {what} of {size} bytes at {offset}, of {} bytes in all", self.bytes.len())
        })
    }

    /// Returns the bytes of the first section of this name.
    pub(crate) fn section(&self, name: &str) -> Option<&'a [u8]> {
        let bytes = |section: Fields<'_>| self.part("a section", section.u64(24), section.u64(32)).ok();
        let names = bytes(self.sections().ok()?.nth(self.names_section())?)?;
        let is_it = |section: Fields<'_>| {
            let rest = usize::try_from(section.u32(0)).ok().and_then(|at| names.get(at..)).unwrap_or_default();
            rest.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&0))
        };
        let mut found = self.sections().ok()?.filter(|section| is_it(*section));
        let section = found.find(|section| Self::has_bytes(*section))?;
        bytes(section)
    }

    /// Returns the notes, up to the first truncated one.
    pub(crate) fn notes(&self) -> impl Iterator<Item = Note<'a>> {
        self.notes.iter().flat_map(|&(offset, size)| {
            let mut rest = self.part("notes", offset, size).unwrap_or_default();
            std::iter::from_fn(move || {
                let (head, after) = rest.split_at_checked(12)?;
                let head = Fields(head);
                let (owner, after) = padded(after, head.u32(0))?;
                let (payload, after) = padded(after, head.u32(4))?;
                rest = after;
                Some(Note { owner, kind: head.u32(8), payload })
            })
        })
    }
}

/// Returns the first `len` bytes, and the rest after padding to 4 (which the last note may lack).
fn padded(bytes: &[u8], len: u32) -> Option<(&[u8], &[u8])> {
    let len = usize::try_from(len).ok()?;
    let part = bytes.get(..len)?;
    let rest = bytes.get(len.checked_next_multiple_of(4)?..).unwrap_or_default();
    Some((part, rest))
}

/// Little-endian fields of a header whose size was checked.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl Fields<'_> {
    fn array<const N: usize>(self, at: usize) -> [u8; N] {
        self.0.get(at..).and_then(|bytes| bytes.first_chunk()).copied().unwrap_or([0; N])
    }

    pub(crate) fn u16(self, at: usize) -> u16 {
        u16::from_le_bytes(self.array(at))
    }

    pub(crate) fn u32(self, at: usize) -> u32 {
        u32::from_le_bytes(self.array(at))
    }

    pub(crate) fn u64(self, at: usize) -> u64 {
        u64::from_le_bytes(self.array(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::elf::FileHeader64;
    use object::read::elf::{FileHeader as _, ProgramHeader as _};

    #[test]
    fn numbers_of_headers_that_are_elsewhere_are_refused() {
        let whole = include_bytes!("../../tests/kernels/kernels.gfx90a.co");
        // e_phnum, e_shnum, e_shstrndx
        for (at, number) in [(56, u16::MAX), (60, 0), (62, u16::MAX), (62, 1000)] {
            let mut bytes = whole.to_vec();
            bytes[at..at + 2].copy_from_slice(&number.to_le_bytes());
            let error = Elf::parse(&bytes).unwrap_err();
            assert!(error.starts_with("header numbers: "), "{error}");
        }
    }

    #[test]
    fn sections_are_found_by_their_names() {
        use object::{Object as _, ObjectSection as _};
        let bytes = include_bytes!("../../tests/kernels/kernels.gfx90a.co");
        let (ours, theirs) = (Elf::parse(bytes).unwrap(), object::File::parse(&bytes[..]).unwrap());
        for name in [".text", ".rodata", ".dynsym"] {
            let theirs = theirs.section_by_name(name).unwrap();
            assert_eq!(ours.section(name).unwrap(), theirs.data().unwrap(), "{name}");
        }
        for name in [".tex", ".text2", ".nowhere"] {
            assert_eq!(ours.section(name), None, "{name}");
        }
    }

    #[test]
    fn headers_and_notes_are_those_that_object_reads() {
        let files: [&[u8]; 4] = [
            include_bytes!("../../tests/kernels/kernels.gfx90a.co"),
            include_bytes!("../../tests/kernels/vector_add.v4.gfx90a.co"),
            include_bytes!("../../tests/kernels/vector_add.v6.gfx90a.co"),
            &std::fs::read(std::env::current_exe().unwrap()).unwrap(),
        ];
        for bytes in files {
            let ours = Elf::parse(bytes).unwrap();
            let theirs = FileHeader64::<object::Endianness>::parse(bytes).unwrap();
            let endian = theirs.endian().unwrap();
            assert_eq!(ours.machine, theirs.e_machine(endian).0);
            assert_eq!(ours.kind, theirs.e_type(endian).0);
            assert_eq!(ours.os_abi, theirs.e_ident().os_abi.0);
            let mut notes = Vec::new();
            for segment in theirs.program_headers(endian, bytes).unwrap() {
                // Notes aligned to 8 (.note.gnu.property of host programs) have another padding, and are not needed.
                if segment.p_align(endian) == 8 {
                    continue;
                }
                let Some(mut iterator) = segment.notes(endian, bytes).unwrap() else { continue };
                while let Some(note) = iterator.next().unwrap() {
                    notes.push((note.name().to_vec(), note.n_type(endian).0, note.desc().to_vec()));
                }
            }
            let name = |owner: &[u8]| owner.strip_suffix(b"\0").unwrap_or(owner).to_vec();
            let ours: Vec<_> = ours.notes().map(|note| (name(note.owner), note.kind, note.payload.to_vec())).collect();
            assert!(!notes.is_empty());
            assert!(notes.iter().all(|note| ours.contains(note)), "{notes:?} {ours:?}");
        }
    }
}
