//! Maps instruction addresses to source locations, with a code object's debug information.

use crate::fault::SourceFrame;

/// The source of each address (from the start of the image), innermost inlined function first. `file` is a code object
/// with debug information; malformed or missing information gives no frames.
#[cfg(feature = "profile")]
pub(crate) fn frames(file: &[u8], addresses: &[u64]) -> Vec<Vec<SourceFrame>> {
    lines::frames(file, addresses).unwrap_or_else(|| vec![Vec::new(); addresses.len()])
}

/// Without the feature `profile`, debug information is not read.
#[cfg(not(feature = "profile"))]
pub(crate) fn frames(_: &[u8], addresses: &[u64]) -> Vec<Vec<SourceFrame>> {
    vec![Vec::new(); addresses.len()]
}

#[cfg(feature = "profile")]
mod lines {
    use addr2line::Context;
    use addr2line::gimli::{Dwarf, EndianSlice, LittleEndian, SectionId};
    use object::read::elf::ElfFile64;
    use object::{Object, ObjectSection};

    use super::SourceFrame;

    pub(super) fn frames(file: &[u8], addresses: &[u64]) -> Option<Vec<Vec<SourceFrame>>> {
        let file = ElfFile64::<object::LittleEndian>::parse(file).ok()?;
        let section = |id: SectionId| {
            // A compressed section, or one outside the file, is treated as missing.
            let data = file.section_by_name(id.name()).and_then(|s| s.data().ok()).unwrap_or(&[]);
            Ok::<_, addr2line::gimli::Error>(EndianSlice::new(data, LittleEndian))
        };
        let context = Context::from_dwarf(Dwarf::load(section).ok()?).ok()?;
        Some(addresses.iter().map(|address| one(&context, *address).unwrap_or_default()).collect())
    }

    fn one(context: &Context<EndianSlice<'_, LittleEndian>>, address: u64) -> Option<Vec<SourceFrame>> {
        let mut found = context.find_frames(address).skip_all_loads().ok()?;
        let mut frames = Vec::new();
        while let Ok(Some(frame)) = found.next() {
            let function = frame.function.as_ref().and_then(|f| Some(f.demangle().ok()?.into_owned()));
            let location = frame.location.as_ref();
            let file = location.and_then(|l| l.file).map(str::to_owned);
            frames.push(SourceFrame { function, file, line: location.and_then(|l| l.line).filter(|line| *line > 0) });
        }
        Some(frames)
    }
}
