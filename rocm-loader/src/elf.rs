//! A look at a library's ELF header before the dynamic loader opens it. The loader's own messages are terse, and once
//! the initialisers of a wrong library run it is too late.

use std::io::{self, ErrorKind, Read, Seek, SeekFrom};

use crate::report::Reason;

pub mod versions;

/// The content of the dynamic section.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dynamic {
    /// The library's own soname.
    pub soname: Option<String>,
    /// The libraries that it depends on.
    pub needed: Vec<String>,
    /// Directories that are searched for them before the user's (`DT_RPATH`), separated by colons.
    pub rpath: Option<String>,
    /// Directories that are searched for them after the user's (`DT_RUNPATH`).
    pub runpath: Option<String>,
}

const CLASS_64: u8 = 2;
const LITTLE_ENDIAN: u8 = 1;
const TYPE_SHARED: u16 = 3;
const SEGMENT_LOAD: u32 = 1;
const SEGMENT_DYNAMIC: u32 = 2;
const TAG_NEEDED: u64 = 1;
const TAG_STRING_TABLE: u64 = 5;
const TAG_SONAME: u64 = 14;
const TAG_RPATH: u64 = 15;
const TAG_RUNPATH: u64 = 29;

/// Bounds on the sizes read from a file, which may be corrupt.
const MAX_SEGMENTS: u16 = 256;
const MAX_DYNAMIC_BYTES: u64 = 64 * 1024;
const MAX_NAME_BYTES: u64 = 4096;

/// Checks that `file` is a shared library for this machine, and returns its dynamic section.
pub fn inspect(file: &mut (impl Read + Seek)) -> Result<Dynamic, Reason> {
    let mut header = Vec::with_capacity(64);
    file.by_ref().take(64).read_to_end(&mut header).map_err(unreadable)?;
    if !header.starts_with(b"\x7fELF") {
        return Err(Reason::NotElf { found: kind_of(&header) });
    }
    if header.len() < 64 {
        return Err(Reason::NotElf { found: "a truncated ELF file" });
    }
    let (class, little) = (header[4], header[5] == LITTLE_ENDIAN);
    let machine = u16_at(&header, 18, little).unwrap_or(0);
    let needed = native();
    if (class, little, machine) != needed {
        return Err(Reason::WrongArchitecture {
            found: describe(class, little, machine),
            needed: describe(needed.0, needed.1, needed.2),
        });
    }
    if u16_at(&header, 16, little) != Some(TYPE_SHARED) {
        return Err(Reason::NotElf { found: "an ELF file of another type" });
    }
    if class != CLASS_64 {
        return Ok(Dynamic::default());
    }
    // Faults further into the file are left to the dynamic loader.
    Ok(dynamic(file, &header, little).unwrap_or_default())
}

pub fn unreadable(error: io::Error) -> Reason {
    match error.kind() {
        ErrorKind::NotFound => Reason::NotThere,
        _ => Reason::Unreadable { message: error.to_string() },
    }
}

pub fn dynamic(file: &mut (impl Read + Seek), header: &[u8], little: bool) -> Option<Dynamic> {
    let table = Table::read(file, header, little)?;
    let mut found = Dynamic::default();
    for &(tag, value) in &table.entries {
        match tag {
            TAG_SONAME => found.soname = table.string(file, value),
            TAG_NEEDED => found.needed.extend(table.string(file, value)),
            TAG_RPATH => found.rpath = table.string(file, value),
            TAG_RUNPATH => found.runpath = table.string(file, value),
            _ => {}
        }
    }
    Some(found)
}

/// The dynamic section, and the segments that map its addresses to the file.
pub struct Table {
    /// Address, offset in the file and size of each loaded segment.
    loads: Vec<(u64, u64, u64)>,
    /// Tag and value.
    entries: Vec<(u64, u64)>,
    /// File offset of its string table.
    strings: u64,
}

impl Table {
    pub fn read(file: &mut (impl Read + Seek), header: &[u8], little: bool) -> Option<Self> {
        let table = u64_at(header, 32, little)?;
        let entry = u64::from(u16_at(header, 54, little)?);
        let count = u16_at(header, 56, little)?.min(MAX_SEGMENTS);
        let mut loads = Vec::new();
        let mut section = None;
        for n in 0..u64::from(count) {
            let segment = read_at(file, table.checked_add(n.checked_mul(entry)?)?, 56)?;
            let (offset, address) = (u64_at(&segment, 8, little)?, u64_at(&segment, 16, little)?);
            let size = u64_at(&segment, 32, little)?;
            match u32_at(&segment, 0, little)? {
                SEGMENT_LOAD => loads.push((address, offset, size)),
                SEGMENT_DYNAMIC => section = Some((offset, size.min(MAX_DYNAMIC_BYTES))),
                _ => {}
            }
        }
        let (offset, size) = section?;
        let bytes = read_at(file, offset, size)?;
        let entries: Vec<(u64, u64)> = bytes
            .chunks_exact(16)
            .filter_map(|e| Some((u64_at(e, 0, little)?, u64_at(e, 8, little)?)))
            .take_while(|&(tag, _)| tag != 0)
            .collect();
        let mut table = Self { loads, entries, strings: 0 };
        table.strings = table.offset_of(table.value(TAG_STRING_TABLE)?)?;
        Some(table)
    }

    pub fn value(&self, tag: u64) -> Option<u64> {
        self.entries.iter().find(|e| e.0 == tag).map(|e| e.1)
    }

    /// Returns the file offset of the byte that is loaded at `address`.
    pub fn offset_of(&self, address: u64) -> Option<u64> {
        let &(base, offset, _) =
            self.loads.iter().find(|&&(base, _, size)| address.checked_sub(base).is_some_and(|o| o < size))?;
        offset.checked_add(address - base)
    }

    pub fn string(&self, file: &mut (impl Read + Seek), at: u64) -> Option<String> {
        name_at(file, self.strings.checked_add(at)?)
    }
}

fn read_at(file: &mut (impl Read + Seek), offset: u64, size: u64) -> Option<Vec<u8>> {
    let bytes = read_up_to(file, offset, size)?;
    (bytes.len() as u64 == size).then_some(bytes)
}

pub fn read_up_to(file: &mut (impl Read + Seek), offset: u64, size: u64) -> Option<Vec<u8>> {
    file.seek(SeekFrom::Start(offset)).ok()?;
    let mut bytes = Vec::new();
    file.by_ref().take(size).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn name_at(file: &mut (impl Read + Seek), offset: u64) -> Option<String> {
    // Most names are short; the second read covers the others.
    for size in [128, MAX_NAME_BYTES] {
        let bytes = read_up_to(file, offset, size)?;
        if let Some(end) = bytes.iter().position(|&b| b == 0) {
            return String::from_utf8(bytes[..end].to_vec()).ok();
        }
    }
    None
}

fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

pub fn u16_at(bytes: &[u8], at: usize, little: bool) -> Option<u16> {
    let value = bytes_at(bytes, at)?;
    Some(if little { u16::from_le_bytes(value) } else { u16::from_be_bytes(value) })
}

pub fn u32_at(bytes: &[u8], at: usize, little: bool) -> Option<u32> {
    let value = bytes_at(bytes, at)?;
    Some(if little { u32::from_le_bytes(value) } else { u32::from_be_bytes(value) })
}

fn u64_at(bytes: &[u8], at: usize, little: bool) -> Option<u64> {
    let value = bytes_at(bytes, at)?;
    Some(if little { u64::from_le_bytes(value) } else { u64::from_be_bytes(value) })
}

/// Class, little endian and machine of this program.
pub(crate) const fn native() -> (u8, bool, u16) {
    let class = if cfg!(target_pointer_width = "64") { CLASS_64 } else { 1 };
    let machine = if cfg!(target_arch = "x86_64") {
        62
    } else if cfg!(target_arch = "aarch64") {
        183
    } else if cfg!(target_arch = "x86") {
        3
    } else if cfg!(target_arch = "arm") {
        40
    } else if cfg!(any(target_arch = "riscv64", target_arch = "riscv32")) {
        243
    } else if cfg!(target_arch = "powerpc64") {
        21
    } else if cfg!(target_arch = "loongarch64") {
        258
    } else if cfg!(target_arch = "s390x") {
        22
    } else {
        0
    };
    (class, cfg!(target_endian = "little"), machine)
}

fn describe(class: u8, little: bool, machine: u16) -> String {
    let name = match machine {
        3 => "x86",
        21 => "PowerPC64",
        22 => "s390x",
        40 => "Arm",
        62 => "x86-64",
        183 => "AArch64",
        224 => "AMD GPU (a code object, not a library)",
        243 => "RISC-V",
        258 => "LoongArch",
        _ => return format!("ELF machine {machine}"),
    };
    let bits = match (class, machine) {
        (1, _) => " (32-bit)",
        _ => "",
    };
    let order = if little || matches!(machine, 21 | 22) { "" } else { " (big endian)" };
    format!("{name}{bits}{order}")
}

fn kind_of(bytes: &[u8]) -> &'static str {
    let text = |b: &u8| b.is_ascii_graphic() || b.is_ascii_whitespace();
    match bytes {
        [] => "an empty file",
        [b'M', b'Z', ..] => "a Windows library",
        [0xcf, 0xfa, 0xed, 0xfe, ..] => "a macOS library",
        _ if bytes.starts_with(b"!<arch>") => "a static library",
        _ if bytes.starts_with(b"/* GNU ld") => "a linker script",
        _ if bytes.starts_with(b"version https://git-lfs") => "a Git LFS pointer",
        _ if bytes.iter().all(text) => "text",
        _ => "unknown data",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// A file whose bytes cannot be read.
    struct Denied;
    impl Read for Denied {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(ErrorKind::PermissionDenied.into())
        }
    }
    impl Seek for Denied {
        fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
            Ok(0)
        }
    }

    #[test]
    fn a_read_error_is_told_as_such() {
        assert!(matches!(inspect(&mut Denied), Err(Reason::Unreadable { .. })));
    }

    #[test]
    fn what_is_no_library_is_named() {
        for (bytes, found) in [
            (&b""[..], "an empty file"),
            (b"#!/bin/sh\n", "text"),
            (b"/* GNU ld script */ GROUP ( libx.so.1 )", "a linker script"),
            (b"!<arch>\n", "a static library"),
            (b"MZ\x90\0", "a Windows library"),
            (b"\x7fELF\x02\x01", "a truncated ELF file"),
            (b"\0\x01\x02", "unknown data"),
        ] {
            assert_eq!(inspect(&mut Cursor::new(bytes)), Err(Reason::NotElf { found }));
        }
    }

    /// This test program is itself an ELF file with dependencies: every mutation of its head is read without a panic.
    #[test]
    #[cfg(target_os = "linux")]
    fn damaged_files_are_survived() {
        let path = std::env::current_exe().unwrap();
        let mut bytes = Vec::new();
        std::fs::File::open(path).unwrap().take(1 << 16).read_to_end(&mut bytes).unwrap();
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for _ in 0..20_000 {
            let mut damaged = bytes[..4096].to_vec();
            for _ in 0..=next() % 8 {
                let at = next() as usize % 1024;
                damaged[at] = next() as u8;
            }
            damaged[..4].copy_from_slice(b"\x7fELF");
            let _ = inspect(&mut Cursor::new(&damaged[..]));
        }
    }
}
