//! Source lines of addresses, from the debug information in a code object.

use std::collections::BTreeMap;
use std::io::Read as _;

use addr2line::Context;
use addr2line::gimli::{Dwarf, EndianSlice, Error, LittleEndian, SectionId};
use object::read::elf::ElfFile64;
use object::{Object as _, ObjectSection as _};

/// The lines of a code object.
pub(crate) struct Lines<'a> {
    context: Option<Context<EndianSlice<'a, LittleEndian>>>,
    /// Sources that were read; `None` for those that could not be.
    sources: BTreeMap<String, Option<Vec<String>>>,
}

impl<'a> Lines<'a> {
    /// Reads the debug information. Malformed or missing information gives no lines.
    pub(crate) fn of(code: &'a [u8]) -> Self {
        Self { context: context(code), sources: BTreeMap::new() }
    }

    /// Returns the file and line of an address.
    pub(crate) fn at(&self, address: u64) -> Option<(String, u32)> {
        let location = self.context.as_ref()?.find_location(address).ok()??;
        Some((location.file?.to_owned(), location.line.filter(|line| *line > 0)?))
    }

    /// Returns the text of a line, if the source exists on this machine.
    pub(crate) fn text(&mut self, file: &str, line: u32) -> Option<&str> {
        let read = || Some(source(file)?.lines().map(str::to_owned).collect());
        let lines = self.sources.entry(file.to_owned()).or_insert_with(read).as_ref()?;
        lines.get(usize::try_from(line).ok()?.checked_sub(1)?).map(|text| text.trim())
    }
}

/// Reads a source if it is a regular file: the code object controls the name, which may be that of a device that never
/// ends.
fn source(file: &str) -> Option<String> {
    const LARGEST: u64 = 64 << 20;
    let data = std::fs::metadata(file).ok().filter(|data| data.is_file() && data.len() <= LARGEST)?;
    let mut text = String::new();
    std::fs::File::open(file).ok()?.take(data.len()).read_to_string(&mut text).ok()?;
    Some(text)
}

fn context(code: &[u8]) -> Option<Context<EndianSlice<'_, LittleEndian>>> {
    let file = ElfFile64::<object::LittleEndian>::parse(code).ok()?;
    let section = |id: SectionId| {
        let data = file.section_by_name(id.name()).and_then(|section| section.data().ok()).unwrap_or(&[]);
        Ok::<_, Error>(EndianSlice::new(data, LittleEndian))
    };
    Context::from_dwarf(Dwarf::load(section).ok()?).ok()
}
