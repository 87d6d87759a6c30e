//! Checks the sections, symbols and relocations of a code object against its segments. AMD's loader trusts them: it
//! reads addresses through the sections and writes through the segments, so that one flipped bit makes it read or write
//! elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use crate::module::elf::{Elf, Fields};

/// PT_LOAD
const LOAD: u32 = 1;
/// PF_X, PF_W
const EXECUTABLE: u32 = 1;
const WRITABLE: u32 = 2;
/// PT_DYNAMIC, PT_NOTE, PT_PHDR, PT_GNU_STACK, PT_GNU_RELRO: the others that LLD writes. The loader ignores them.
const OTHER_SEGMENTS: [u32; 5] = [2, 4, 6, 0x6474_e551, 0x6474_e552];

/// SHT_NULL
const NULL: u32 = 0;
/// SHT_SYMTAB
const SYMTAB: u32 = 2;
/// SHT_STRTAB
const STRTAB: u32 = 3;
/// SHT_RELA
const RELA: u32 = 4;
/// SHT_NOBITS
const NOBITS: u32 = 8;
/// SHT_DYNSYM
const DYNSYM: u32 = 11;
/// SHT_PROGBITS, SHT_HASH, SHT_DYNAMIC, SHT_NOTE, SHT_INIT_ARRAY, SHT_FINI_ARRAY, SHT_GNU_HASH: the others that LLD
/// writes.
const OTHER_SECTIONS: [u32; 7] = [1, 5, 6, 7, 14, 15, 0x6fff_fff6];
/// SHF_ALLOC
const ALLOC: u64 = 2;

/// Size of an Elf64_Sym and of an Elf64_Rela in bytes.
const ENTRY_BYTES: u64 = 24;
/// STB_GLOBAL, STT_OBJECT
const GLOBAL_OBJECT: u8 = 0x11;
/// SHN_UNDEF
const UNDEFINED: u16 = 0;
/// SHN_ABS
const ABSOLUTE: u16 = 0xfff1;
/// Suffix of the name of a kernel descriptor, and its size.
const DESCRIPTOR: &[u8] = b".kd";
const DESCRIPTOR_BYTES: u64 = 64;
/// Offset, in a kernel descriptor, of the distance to its code.
const ENTRY_OFFSET: usize = 16;
/// Suffix of the name of a managed variable's memory. Its pointer has the name without the suffix, and HIP ends the
/// process if one is missing.
const MANAGED: &[u8] = b".managed";
/// Maximum number of bytes that a relocation fills.
const RELOCATED_BYTES: u64 = 8;

/// A segment of type PT_LOAD.
struct Load {
    offset: u64,
    file_bytes: u64,
    address: u64,
    bytes: u64,
    is_executable: bool,
}

struct Section<'a> {
    kind: u32,
    address: u64,
    size: u64,
    link: usize,
    entry_bytes: u64,
    /// Empty for NOBITS.
    bytes: &'a [u8],
    is_loaded: bool,
}

/// Checks everything that the loader trusts. Returns the names of the kernel descriptors, which are the symbols that
/// the metadata must name.
///
/// # Errors
/// A description of the defect.
pub(crate) fn check<'a>(elf: &Elf<'a>) -> Result<BTreeSet<&'a [u8]>, String> {
    let loads = loads(elf)?;
    let sections = sections(elf, &loads)?;
    let names = sections.get(elf.names_section()).filter(|names| is_strings(names));
    let names = names.ok_or("damaged: the names of its sections are no table of strings")?.bytes;
    check_names(elf, &sections, names)?;
    let mut found = Found::default();
    for (index, section) in sections.iter().enumerate() {
        let problem = match section.kind {
            SYMTAB | DYNSYM => symbols(section, &sections, &loads, &mut found),
            RELA => relocations(section, &sections, &loads),
            _ => Ok(()),
        };
        problem.map_err(|problem| format!("damaged: section {index}: {problem}"))?;
    }
    for (managed, is_variable) in found.managed {
        let variable = &managed[..managed.len() - MANAGED.len()];
        if !is_variable || [managed, variable].iter().any(|name| found.loaded.get(name) != Some(&true)) {
            let name = String::from_utf8_lossy(variable);
            return Err(format!("damaged: the managed variable {name} has lost its memory or its pointer"));
        }
    }
    Ok(found.loaded.into_keys().filter(|name| name.ends_with(DESCRIPTOR)).collect())
}

/// Checks that the tables have the names by which HIP before ROCm 7 finds them.
fn check_names(elf: &Elf<'_>, sections: &[Section<'_>], names: &[u8]) -> Result<(), String> {
    let mut expected = vec![(elf.names_section(), ".shstrtab")];
    for (index, section) in sections.iter().enumerate() {
        match section.kind {
            SYMTAB => expected.extend([(index, ".symtab"), (section.link, ".strtab")]),
            DYNSYM => expected.extend([(index, ".dynsym"), (section.link, ".dynstr")]),
            _ => {}
        }
    }
    for (index, header) in elf.sections()?.enumerate() {
        let name = usize::try_from(header.u32(0)).ok().and_then(|at| names.get(at..));
        let name = name.and_then(|rest| rest.split(|byte| *byte == 0).next());
        let name = name.ok_or_else(|| format!("damaged: the name of section {index} is beyond the names"))?;
        if let Some((_, expected)) = expected.iter().find(|(known, text)| *known == index && text.as_bytes() != name) {
            let name = String::from_utf8_lossy(name);
            return Err(format!("damaged: section {index} is {name:?} and not {expected}"));
        }
    }
    Ok(())
}

/// Names of symbols.
#[derive(Default)]
struct Found<'a> {
    /// Defined names that can be looked up, and whether each is a variable.
    loaded: BTreeMap<&'a [u8], bool>,
    /// Names of the memory of managed variables, in any table.
    managed: Vec<(&'a [u8], bool)>,
}

/// Returns the loaded segments, which must be in ascending order of their addresses, without overlap.
fn loads(elf: &Elf<'_>) -> Result<Vec<Load>, String> {
    let mut loads: Vec<Load> = Vec::new();
    for (index, header) in elf.segments()?.enumerate() {
        let kind = header.u32(0);
        if OTHER_SEGMENTS.contains(&kind) {
            continue;
        }
        if kind != LOAD {
            return Err(format!("damaged: segment {index} is of the unknown type {kind:#x}"));
        }
        let load = Load {
            offset: header.u64(8),
            file_bytes: header.u64(32),
            address: header.u64(16),
            bytes: header.u64(40),
            is_executable: header.u32(4) & EXECUTABLE != 0,
        };
        let free = loads.last().map_or(0, |before| before.address + before.bytes);
        let fits = load.file_bytes <= load.bytes && load.address.checked_add(load.bytes).is_some();
        if !fits || load.address < free {
            return Err(format!(
                "damaged: segment {index} takes {} bytes of the file, {} at {:#x} of memory, where {free:#x} is free",
                load.file_bytes, load.bytes, load.address
            ));
        }
        if load.is_executable && header.u32(4) & WRITABLE != 0 {
            return Err(format!("damaged: segment {index} can be written and executed"));
        }
        loads.push(load);
    }
    Ok(loads)
}

/// Returns the sections. A loaded section must be inside of a segment, and a segment must not be longer than its
/// sections.
fn sections<'a>(elf: &Elf<'a>, loads: &[Load]) -> Result<Vec<Section<'a>>, String> {
    let mut ends = vec![0; loads.len()];
    let (mut sections, mut places) = (Vec::new(), Vec::new());
    for (index, header) in elf.sections()?.enumerate() {
        let (kind, flags, address) = (header.u32(4), header.u64(8), header.u64(16));
        let (offset, size) = (header.u64(24), header.u64(32));
        let is_known = [SYMTAB, STRTAB, RELA, NOBITS, DYNSYM].contains(&kind) || OTHER_SECTIONS.contains(&kind);
        if (kind == NULL) != (index == 0) || kind != NULL && !is_known {
            return Err(format!("damaged: section {index} is of type {kind:#x}"));
        }
        // Checked also for sections without bytes in the file: the runtime assumes that the file ends after the section with the highest
        // offset.
        if offset > elf.section_headers().0 {
            return Err(format!("damaged: section {index} is behind the headers of the sections, at {offset:#x}"));
        }
        let in_file = if kind == NOBITS { 0 } else { size };
        let bytes = elf.part(&format!("section {index}"), offset, in_file)?;
        places.push((offset, in_file));
        let is_loaded = flags & ALLOC != 0;
        if is_loaded {
            let end = address.checked_add(size);
            let segment = loads.iter().position(|load| {
                let (memory_end, file_end) = (load.address + load.bytes, load.address + load.file_bytes);
                let is_filled = kind != NOBITS && size != 0;
                address >= load.address
                    && end.is_some_and(|end| end <= if is_filled { file_end } else { memory_end })
                    && (!is_filled || offset.wrapping_sub(load.offset) == address - load.address)
            });
            let Some(segment) = segment else {
                return Err(format!("damaged: section {index}, {size} bytes at {address:#x}, is in no segment"));
            };
            ends[segment] = ends[segment].max(address + size);
        }
        sections.push(Section {
            kind,
            address,
            size,
            link: usize::try_from(header.u32(40)).unwrap_or(usize::MAX),
            entry_bytes: header.u64(56),
            bytes,
            is_loaded,
        });
    }
    places.push(elf.section_headers());
    places.retain(|(_, bytes)| *bytes != 0);
    places.sort_unstable();
    if let Some(pair) = places.windows(2).find(|pair| pair[0].0 + pair[0].1 > pair[1].0) {
        return Err(format!("damaged: the parts of the file at {:#x} and {:#x} overlap", pair[0].0, pair[1].0));
    }
    match loads.iter().zip(ends).find(|(load, end)| *end != load.address + load.bytes) {
        Some((load, end)) => Err(format!(
            "damaged: the segment at {:#x} has {} bytes, and its sections end at {end:#x}",
            load.address, load.bytes
        )),
        None => Ok(sections),
    }
}

/// Returns whether it is a string table, which begins with an empty string.
fn is_strings(section: &Section<'_>) -> bool {
    section.kind == STRTAB && section.bytes.first() == Some(&0) && section.bytes.last() == Some(&0)
}

/// Returns the entries of a symbol or relocation table.
fn entries<'a>(table: &Section<'a>) -> Result<impl Iterator<Item = (usize, Fields<'a>)> + use<'a>, String> {
    if table.entry_bytes != ENTRY_BYTES || table.size % ENTRY_BYTES != 0 {
        return Err(format!("{} bytes of entries of {}, not {ENTRY_BYTES}", table.size, table.entry_bytes));
    }
    Ok(table.bytes.chunks_exact(ENTRY_BYTES as usize).map(Fields).enumerate())
}

/// Checks that the symbols have names, and are inside of their sections.
fn symbols<'a>(
    table: &Section<'a>,
    sections: &[Section<'a>],
    loads: &[Load],
    found: &mut Found<'a>,
) -> Result<(), String> {
    let names =
        sections.get(table.link).filter(|names| is_strings(names)).ok_or("its names are no table of strings")?;
    for (index, symbol) in entries(table)? {
        let (section, value, size) = (symbol.u16(6), symbol.u64(8), symbol.u64(16));
        let at = usize::try_from(symbol.u32(0)).unwrap_or(usize::MAX);
        let name = names.bytes.get(at..).ok_or_else(|| format!("the name of symbol {index} is beyond the names"))?;
        if matches!(section, UNDEFINED | ABSOLUTE) {
            continue;
        }
        let home = sections.get(usize::from(section)).filter(|home| {
            let end = value.checked_add(size);
            home.is_loaded && value >= home.address && end.is_some_and(|end| end <= home.address + home.size)
        });
        let home =
            home.ok_or_else(|| format!("symbol {index}, {size} bytes at {value:#x}, is not in section {section}"))?;
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        // A variable that is visible to all files.
        let is_variable = symbol.0[4] == GLOBAL_OBJECT && size != 0;
        if table.kind == DYNSYM {
            found.loaded.insert(name, is_variable);
        }
        if name.ends_with(MANAGED) {
            found.managed.push((name, is_variable));
        }
        if name.ends_with(DESCRIPTOR) {
            let start = usize::try_from(value - home.address).unwrap_or(usize::MAX);
            let descriptor =
                home.bytes.get(start..).filter(|rest| rest.len() as u64 >= size && size == DESCRIPTOR_BYTES);
            let descriptor =
                descriptor.ok_or_else(|| format!("symbol {index} is the descriptor of a kernel, of {size} bytes"))?;
            let entry = value.wrapping_add(Fields(descriptor).u64(ENTRY_OFFSET));
            let is_code =
                |load: &Load| load.is_executable && entry >= load.address && entry - load.address < load.file_bytes;
            if !loads.iter().any(is_code) {
                return Err(format!("the kernel of symbol {index} starts at {entry:#x}, where no code is"));
            }
        }
    }
    Ok(())
}

/// Checks that the relocations are in loaded memory, and refer to existing symbols.
fn relocations(table: &Section<'_>, sections: &[Section<'_>], loads: &[Load]) -> Result<(), String> {
    let symbols = sections.get(table.link).filter(|symbols| symbols.kind == DYNSYM && table.is_loaded);
    let symbols = symbols.ok_or("its symbols are not those that are loaded")?;
    for (index, relocation) in entries(table)? {
        let (at, symbol) = (relocation.u64(0), u64::from(relocation.u32(12)));
        let is_loaded = |load: &Load| {
            at >= load.address && at.checked_add(RELOCATED_BYTES).is_some_and(|end| end <= load.address + load.bytes)
        };
        if !loads.iter().any(is_loaded) {
            return Err(format!("relocation {index} is of {at:#x}, where nothing is loaded"));
        }
        if symbol >= symbols.size / ENTRY_BYTES {
            return Err(format!("relocation {index} is by symbol {symbol}, which there is not"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::image::tests::VECTOR_ADD;

    /// Returns the offset of the first section header that is wanted.
    fn section(file: &[u8], wanted: impl Fn(Fields<'_>) -> bool) -> usize {
        let elf = Elf::parse(file).unwrap();
        let index = elf.sections().unwrap().position(wanted).unwrap();
        elf.section_headers().0 as usize + 64 * index
    }

    /// Returns the offset of the first segment header that is wanted.
    fn segment(file: &[u8], wanted: impl Fn(Fields<'_>) -> bool) -> usize {
        64 + 56 * Elf::parse(file).unwrap().segments().unwrap().position(wanted).unwrap()
    }

    #[test]
    fn what_amd_s_loader_would_believe_is_refused() {
        let file = VECTOR_ADD;
        assert!(check(&Elf::parse(file).unwrap()).unwrap().contains(&b"vector_add.kd"[..]));
        let of_kind = |kind: u32| section(file, move |header| header.u32(4) == kind);
        let code = segment(file, |header| header.u32(0) == LOAD && header.u32(4) & EXECUTABLE != 0);
        let symbols = Elf::parse(file).unwrap().sections().unwrap().find(|header| header.u32(4) == DYNSYM).unwrap();
        let first_symbol = symbols.u64(24) as usize + ENTRY_BYTES as usize;
        let cases = [
            (of_kind(NULL) + 32, u64::MAX, "section 0"),
            (of_kind(NULL) + 24, 1 << 40, "behind the headers"),
            (of_kind(NOBITS) + 24, 0x100_0e30, "behind the headers"),
            (of_kind(NOBITS) + 16, 1 << 40, "in no segment"),
            (of_kind(DYNSYM) + 56, 23, "entries of 23"),
            (of_kind(DYNSYM) + 40, 1, "and not .dynstr"),
            (of_kind(STRTAB) + 24, symbols.u64(24), "in no segment"),
            (code, u64::from(LOAD) | 7 << 32, "written and executed"),
            (code, 0, "unknown type"),
            (code + 16, 1 << 63, "is free"),
            (code + 40, 1 << 40, "is free"),
            (first_symbol + 8, 1 << 40, "is not in section"),
        ];
        for (at, value, expected) in cases {
            let mut bytes = file.to_vec();
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
            let error = Elf::parse(&bytes).and_then(|elf| check(&elf).map(drop)).unwrap_err();
            assert!(error.contains(expected), "{value:#x} at {at}: {error}");
        }
    }
}
