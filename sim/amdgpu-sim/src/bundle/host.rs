//! Host libraries and programs with GPU code inside, as `hipcc` links them.
//!
//! The bundles are in the section `.hip_fatbin`, at multiples of 4096. For each compilation unit, the section
//! `.hipFatBinSegment` has a wrapper of 24 bytes: `HIPF`, a version, the address of a bundle (which a relocation may
//! have to fill in, from a symbol of the file), and a zero word. Units compiled with `-fgpu-rdc` share a bundle.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use object::elf;
use object::read::elf::{FileHeader, ProgramHeader, Rela as _, SectionHeader, Sym as _};
use object::{LittleEndian, ReadRef as _};

use super::error::bad;
use super::offload::{Bundle, concatenated};
use crate::code_object::LoadError;

type Elf = elf::FileHeader64<LittleEndian>;
const LE: LittleEndian = LittleEndian;

/// `HIPF`: the wrapper of a bundle.
const WRAPPER: u32 = 0x4849_5046;
/// `HIPK`: the wrapper of the name of a kernel pack, which is a separate file.
const PACK_WRAPPER: u32 = 0x4849_504b;
/// Bytes of a wrapper.
const WRAPPER_SIZE: usize = 24;

/// The bundles of the host library in `data`.
pub(super) fn bundles(data: &[u8]) -> Result<Vec<Bundle<'_>>, LoadError> {
    let error = |e: object::read::Error| LoadError::Elf(e.to_string());
    if !data.starts_with(b"\x7fELF") {
        return Err(bad("neither a code object, nor a bundle, nor an ELF file with bundles"));
    }
    if data.get(4..6) != Some(&[2, 1]) {
        return Err(LoadError::NotAmdGpu("not a 64-bit little-endian file".into()));
    }
    let header = Elf::parse(data).map_err(error)?;
    let sections = header.sections(LE, data).map_err(error)?;
    let section = |name: &[u8]| sections.section_by_name(LE, name).map(|(_, section)| section);

    // By their position in the file.
    let mut found: BTreeMap<usize, Bundle<'_>> = BTreeMap::new();
    let place = |part: &[u8]| part.as_ptr() as usize - data.as_ptr() as usize;
    if let Some(fat) = section(b".hip_fatbin") {
        let bundles = concatenated(fat.data(LE, data).map_err(error)?)?;
        found.extend(bundles.into_iter().map(|bundle| (place(bundle.bytes()), bundle)));
    }
    if let Some(wrappers) = section(b".hipFatBinSegment") {
        let address = wrappers.sh_addr(LE);
        let places = relocated(&sections, data, address, wrappers.sh_size(LE)).map_err(error)?;
        for (i, wrapper) in wrappers.data(LE, data).map_err(error)?.chunks_exact(WRAPPER_SIZE).enumerate() {
            let magic = wrapper.first_chunk().map_or(0, |magic| u32::from_le_bytes(*magic));
            match magic {
                WRAPPER => {}
                PACK_WRAPPER => {
                    return Err(bad(
                        "the code is not in this file but in a kernel pack (HIPK), which cannot be read yet",
                    ));
                }
                _ => return Err(bad(format!("wrapper {i} in .hipFatBinSegment starts with {magic:#x}, not HIPF"))),
            }
            let field = wrapper.iter().skip(8).take(8).rev().fold(0, |n, b| n << 8 | u64::from(*b));
            let target = places.get(&address.wrapping_add((WRAPPER_SIZE * i) as u64 + 8)).copied().unwrap_or(field);
            let rest = in_file(header, data, target).map_err(error)?;
            let rest =
                rest.ok_or_else(|| bad(format!("wrapper {i} points to {target:#x}, where the file has nothing")))?;
            // Most have been found already.
            if let Entry::Vacant(entry) = found.entry(place(rest)) {
                entry.insert(Bundle::open(rest)?);
            }
        }
    }
    Ok(found.into_values().collect())
}

/// The values that relocations write to the `size` bytes at `address`. Only relocations without a symbol, or with a
/// symbol of this file, are supported.
fn relocated(
    sections: &object::read::elf::SectionTable<'_, Elf>,
    data: &[u8],
    address: u64,
    size: u64,
) -> Result<BTreeMap<u64, u64>, object::read::Error> {
    let mut places = BTreeMap::new();
    let symbols = sections.symbols(LE, data, elf::SHT_DYNSYM)?;
    for section in sections.iter() {
        let Some((relocations, _)) = section.rela(LE, data)? else { continue };
        for rela in relocations {
            let offset = rela.r_offset(LE);
            if offset < address || offset - address >= size {
                continue;
            }
            let base = match rela.symbol(LE, false) {
                Some(index) => {
                    let symbol = symbols.symbol(index)?;
                    if symbol.is_undefined(LE) {
                        continue;
                    }
                    symbol.st_value(LE)
                }
                None => 0,
            };
            places.insert(offset, base.wrapping_add_signed(rela.r_addend(LE)));
        }
    }
    Ok(places)
}

/// The bytes of the file from `address` on.
fn in_file<'a>(header: &Elf, data: &'a [u8], address: u64) -> Result<Option<&'a [u8]>, object::read::Error> {
    for ph in header.program_headers(LE, data)? {
        let (start, size) = (ph.p_vaddr(LE), ph.p_filesz(LE));
        if ph.p_type(LE) == elf::PT_LOAD && address >= start && address - start < size {
            let into = address - start;
            let at = ph.p_offset(LE).checked_add(into);
            return Ok(at.and_then(|at| data.read_bytes_at(at, size - into).ok()));
        }
    }
    Ok(None)
}
