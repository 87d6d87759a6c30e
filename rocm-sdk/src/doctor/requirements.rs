//! The requirements of a library: the directories in which it wants its dependencies to be searched, and their symbol
//! versions.

use std::io::{Read, Seek};

use rocm_loader::elf::versions::{chain, versions_needed};
use rocm_loader::elf::{Dynamic, Table, dynamic, inspect, read_up_to, u32_at};

use rocm_loader::report::Reason;

const TAG_RPATH: u64 = 15;
const TAG_RUNPATH: u64 = 29;
const TAG_VERSIONS_DEFINED: u64 = 0x6fff_fffc;

/// The dependencies of a library, and the versions of its own symbols.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Requirements {
    pub(crate) dynamic: Dynamic,
    /// Directories to search for dependencies, separated by colons; `$ORIGIN` is the library's directory. Ignored if
    /// there is a `runpath`.
    pub(crate) rpath: Option<String>,
    /// The same, searched after `LD_LIBRARY_PATH`.
    pub(crate) runpath: Option<String>,
    /// Versions that other libraries must have: `("libc.so.6", "GLIBC_2.38")`.
    pub(crate) versions_needed: Vec<(String, String)>,
    /// Versions that it defines: `"GLIBC_2.38"`.
    pub(crate) versions_defined: Vec<String>,
}

/// Reads the same as [`inspect`], and the versions.
pub(crate) fn requirements(file: &mut (impl Read + Seek)) -> Result<Requirements, Reason> {
    // Checks that it is a library for this machine.
    inspect(file)?;
    let header = read_up_to(file, 0, 64).unwrap_or_default();
    let little = cfg!(target_endian = "little");
    let mut found = Requirements { dynamic: dynamic(file, &header, little).unwrap_or_default(), ..Default::default() };
    if let Some(table) = Table::read(file, &header, little) {
        found.rpath = table.value(TAG_RPATH).and_then(|at| table.string(file, at));
        found.runpath = table.value(TAG_RUNPATH).and_then(|at| table.string(file, at));
        found.versions_needed = versions_needed(file, &table, little);
        found.versions_defined = versions_defined(file, &table, little);
    }
    Ok(found)
}

/// Reads the `Elf64_Verdef` records, and the first `Elf64_Verdaux` of each.
fn versions_defined(file: &mut (impl Read + Seek), table: &Table, little: bool) -> Vec<String> {
    let start = table.value(TAG_VERSIONS_DEFINED).and_then(|at| table.offset_of(at));
    let definitions = chain(file, start, (20, 16), little);
    definitions
        .into_iter()
        .filter_map(|(at, definition)| {
            let aux = read_up_to(file, at.checked_add(u32_at(&definition, 12, little)?.into())?, 4)?;
            table.string(file, u32_at(&aux, 0, little)?.into())
        })
        .collect()
}

#[cfg(test)]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;
    use rocm_loader::elf::versions::TAG_VERSIONS_NEEDED;
    use std::fs::File;
    use std::io::Cursor;

    /// Returns the C library that this test runs on.
    fn libc() -> Vec<u8> {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let path = maps.lines().filter_map(|l| l.split_whitespace().last()).find(|p| p.ends_with("/libc.so.6"));
        let mut bytes = Vec::new();
        File::open(path.unwrap()).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn the_c_library_has_versions_and_needs_its_loader() {
        let found = requirements(&mut Cursor::new(libc())).unwrap();
        assert_eq!(found.dynamic.soname.as_deref(), Some("libc.so.6"));
        assert!(found.versions_defined.iter().any(|v| v.starts_with("GLIBC_2.")), "{found:?}");
        let (library, version) = &found.versions_needed[0];
        assert!(library.starts_with("ld-linux") && version.starts_with("GLIBC_"), "{found:?}");
        assert!(found.rpath.is_none() && found.runpath.is_none());
    }

    /// Every byte of the tables may be corrupt.
    #[test]
    fn damaged_tables_are_survived() {
        let whole = libc();
        let table = Table::read(&mut Cursor::new(&whole), &whole[..64], true).unwrap();
        let places =
            [TAG_VERSIONS_NEEDED, TAG_VERSIONS_DEFINED].map(|tag| table.offset_of(table.value(tag).unwrap()).unwrap());
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut next = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let mut damaged = whole.clone();
        for _ in 0..50 {
            for place in places {
                let place = place as usize;
                for _ in 0..4 {
                    damaged[place + next() as usize % 64] = next() as u8;
                }
            }
            let _ = requirements(&mut Cursor::new(&damaged));
            for place in places {
                let range = place as usize..place as usize + 64;
                damaged[range.clone()].copy_from_slice(&whole[range]);
            }
        }
    }
}
