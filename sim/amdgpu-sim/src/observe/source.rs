//! Maps instruction addresses to source locations, with a code object's debug information.

use crate::fault::SourceFrame;

/// The source of each address (from the start of the image), innermost inlined function first. `file` is a code object
/// with debug information; malformed or missing information gives no frames.
#[cfg(feature = "profile")]
pub(crate) fn frames(file: &[u8], addresses: &[u64]) -> Vec<Vec<SourceFrame>> {
    lines::frames(file, addresses).unwrap_or_else(|| vec![Vec::new(); addresses.len()])
}

/// Returns the name that a file in memory has for the program. Comgr writes sources and headers to a folder for the compiler, which is
/// gone when the code runs: `/tmp/comgr-1a2b/input/twice.hip` was given as `twice.hip`.
#[cfg(feature = "profile")]
fn given_name(path: &str) -> &str {
    let inside = path.split_once("/comgr-").and_then(|(_, rest)| rest.split_once('/'));
    inside.and_then(|(_, rest)| rest.strip_prefix("input/").or(rest.strip_prefix("include/"))).unwrap_or(path)
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

    use super::{SourceFrame, given_name};

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
            let file = location.and_then(|l| l.file).map(|file| given_name(file).to_owned());
            frames.push(SourceFrame { function, file, line: location.and_then(|l| l.line).filter(|line| *line > 0) });
        }
        Some(frames)
    }
}

#[cfg(all(test, feature = "profile"))]
mod tests {
    use super::given_name;

    #[test]
    fn files_in_memory_have_the_name_that_they_were_given() {
        for (path, name) in [
            ("/tmp/comgr-1a2b/input/twice.hip", "twice.hip"),
            ("/var/tmp/comgr-30871-1-79/include/my/scale.h", "my/scale.h"),
            ("/home/me/comgr-notes/twice.hip", "/home/me/comgr-notes/twice.hip"),
            ("/home/me/twice.hip", "/home/me/twice.hip"),
            ("twice.hip", "twice.hip"),
        ] {
            assert_eq!(given_name(path), name);
        }
    }
}
