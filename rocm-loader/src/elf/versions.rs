//! The symbol versions that a library requires of others.

use std::io::{Read, Seek};

use super::{Table, read_up_to, u16_at, u32_at};

pub const TAG_VERSIONS_NEEDED: u64 = 0x6fff_fffe;
const FLAG_WEAK: u16 = 2;

/// Bound on the number of records read from a file, which may be corrupt.
const MAX_VERSIONS: usize = 4096;

/// Returns the versions that other libraries must have, such as `("libc.so.6", "GLIBC_2.38")`.
/// [`inspect`](super::inspect) must have found the file to be a library.
pub fn needed(file: &mut (impl Read + Seek)) -> Vec<(String, String)> {
    let header = read_up_to(file, 0, 64).unwrap_or_default();
    let little = cfg!(target_endian = "little");
    Table::read(file, &header, little).map(|table| versions_needed(file, &table, little)).unwrap_or_default()
}

/// Reads the `Elf64_Verneed` records and the list of `Elf64_Vernaux` of each.
pub fn versions_needed(file: &mut (impl Read + Seek), table: &Table, little: bool) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let start = table.value(TAG_VERSIONS_NEEDED).and_then(|at| table.offset_of(at));
    for (at, need) in chain(file, start, (16, 12), little) {
        let library = u32_at(&need, 4, little).and_then(|name| table.string(file, name.into()));
        let first = u32_at(&need, 8, little).and_then(|aux| at.checked_add(aux.into()));
        let Some(library) = library else { continue };
        for (_, aux) in chain(file, first, (16, 12), little) {
            if u16_at(&aux, 4, little).is_some_and(|flags| flags & FLAG_WEAK != 0) {
                continue;
            }
            let version = u32_at(&aux, 8, little).and_then(|name| table.string(file, name.into()));
            found.extend(version.map(|version| (library.clone(), version)));
        }
    }
    found
}

/// Returns the records of a linked list, each with its offset. A record has `size` bytes, and its field at `next` is
/// the distance to the next one.
pub fn chain(
    file: &mut (impl Read + Seek),
    start: Option<u64>,
    (size, next): (u64, usize),
    little: bool,
) -> Vec<(u64, Vec<u8>)> {
    let mut found = Vec::new();
    let mut at = start;
    while let Some(offset) = at.filter(|_| found.len() < MAX_VERSIONS) {
        let Some(record) = read_up_to(file, offset, size).filter(|r| r.len() as u64 == size) else { break };
        let step = u32_at(&record, next, little).unwrap_or(0);
        at = offset.checked_add(step.into()).filter(|_| step != 0);
        found.push((offset, record));
    }
    found
}
