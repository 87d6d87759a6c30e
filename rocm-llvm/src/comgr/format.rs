//! Checks of input before it is passed to Comgr.

use crate::annotations;
use crate::comgr::error::{Error, Result};
use crate::comgr::kind::DataKind;
use crate::comgr::notes;

const ELF: &[u8] = b"\x7fELF";
/// Bitcode, and bitcode in a wrapper.
const BITCODE: [&[u8]; 2] = [b"BC\xc0\xde", b"\xde\xc0\x17\x0b"];
const HEADER_BYTES: usize = 64;
/// EM_AMDGPU
const MACHINE_AMDGPU: u16 = 224;
/// ET_REL, ET_DYN
const RELOCATABLE: u16 = 1;
const SHARED: u16 = 3;
/// PT_NOTE, SHT_NOTE
const SEGMENT_NOTES: u32 = 4;
const SECTION_NOTES: u32 = 7;

/// Checks that the bytes are of a kind that Comgr can read.
pub(crate) fn check(kind: DataKind, name: &str, bytes: &[u8]) -> Result<()> {
    let bad = |reason: String| Err(Error::input(name, reason));
    match kind {
        // Headers and macros may be empty.
        DataKind::Source | DataKind::Include | DataKind::Bytes => Ok(()),
        _ if bytes.is_empty() => bad("it is empty".to_owned()),
        DataKind::CodeObject | DataKind::Object => elf(kind, bytes).or_else(bad),
        DataKind::Bitcode => match bytes {
            _ if is_bitcode(bytes) => Ok(()),
            // Clang takes IR as text wherever it takes bitcode.
            _ if is_ir_text(bytes) => annotations::check(bytes).or_else(bad),
            _ => bad(format!("neither LLVM bitcode nor LLVM IR as text: {}", start(bytes))),
        },
        _ => Ok(()),
    }
}

pub(crate) fn is_bitcode(bytes: &[u8]) -> bool {
    BITCODE.iter().any(|magic| bytes.starts_with(magic))
}

/// Returns whether the bytes may be LLVM IR as text: UTF-8 without NUL.
fn is_ir_text(bytes: &[u8]) -> bool {
    !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok_and(|text| !text.trim().is_empty())
}

pub(crate) fn is_elf(bytes: &[u8]) -> bool {
    bytes.starts_with(ELF)
}

/// Returns which of the two kinds of ELF files for AMD GPUs the bytes are.
pub(crate) fn kind_of_elf(name: &str, bytes: &[u8]) -> Result<DataKind> {
    if bytes.is_empty() {
        return Err(Error::input(name, "it is empty"));
    }
    let kind = match number(bytes, 16) {
        Some(RELOCATABLE) => DataKind::Object,
        _ => DataKind::CodeObject,
    };
    check(kind, name, bytes)?;
    Ok(kind)
}

/// Checks that an ELF file is for AMD GPUs, of the kind, and complete.
fn elf(kind: DataKind, bytes: &[u8]) -> Result<(), String> {
    if !is_elf(bytes) {
        let hint = match bytes {
            _ if is_bitcode(bytes) => "it is LLVM bitcode, which is not compiled to machine code yet".to_owned(),
            _ if bytes.starts_with(b"__CLANG_OFFLOAD_BUNDLE__") => {
                "it is an offload bundle: take a code object out of it first".to_owned()
            }
            _ if bytes.starts_with(b"CCOB") => {
                "it is a compressed offload bundle: decompress it, and take a code object out of it first".to_owned()
            }
            _ => start(bytes),
        };
        return Err(format!("not an ELF file: {hint}"));
    }
    if bytes.len() < HEADER_BYTES {
        return Err(format!("the ELF file is truncated: {} bytes", bytes.len()));
    }
    if bytes[4..6] != [2, 1] {
        return Err("the ELF file is not 64-bit little-endian".to_owned());
    }
    match number(bytes, 18) {
        Some(MACHINE_AMDGPU) => {}
        machine => {
            return Err(format!(
                "an ELF file for machine {}, not for AMD GPUs ({MACHINE_AMDGPU})",
                machine.unwrap_or(0)
            ));
        }
    }
    let expected = if kind == DataKind::Object { RELOCATABLE } else { SHARED };
    match number(bytes, 16) {
        Some(found) if found == expected => {}
        Some(RELOCATABLE) => return Err("an object file, which is not linked yet: see link_objects".to_owned()),
        Some(SHARED) => return Err("a linked code object, not an object file".to_owned()),
        _ => return Err("neither an object file nor a linked code object".to_owned()),
    }
    // The number of sections is too large for these fields and stored elsewhere. No compiler for GPUs writes such files.
    if wide(bytes, 40) != Some(0) && number(bytes, 60) == Some(0) || number(bytes, 56) == Some(u16::MAX) {
        return Err("the ELF file has too many sections or segments".to_owned());
    }
    // Limit on the bytes of notes that are read: each note is in a segment and in a section.
    let mut notes_left = bytes.len().saturating_mul(2);
    // The tables of segments and sections, and the data that they point to.
    let tables = [(32, 54, 56, 0, [8, 32], SEGMENT_NOTES, None), (40, 58, 60, 4, [24, 32], SECTION_NOTES, Some(8))];
    for (at, entry, count, kind, [offset, size], notes, no_bits) in tables {
        let start = wide(bytes, at).unwrap_or(u64::MAX);
        let (entry, count) = (number(bytes, entry).unwrap_or(0), number(bytes, count).unwrap_or(0));
        for index in 0..u64::from(count) {
            let header = part(bytes, start.saturating_add(index * u64::from(entry)), u64::from(entry))
                .ok_or_else(|| truncated(bytes, "its headers"))?;
            // A section without bytes in the file (SHT_NOBITS).
            let kind = header.get(kind..).and_then(|field| field.first_chunk()).map(|kind| u32::from_le_bytes(*kind));
            if no_bits.is_some() && kind == no_bits {
                continue;
            }
            let (offset, size) = (wide(header, offset).unwrap_or(u64::MAX), wide(header, size).unwrap_or(u64::MAX));
            let contents =
                part(bytes, offset, size).ok_or_else(|| truncated(bytes, &format!("{size} bytes at {offset}")))?;
            if kind == Some(notes) {
                notes_left = notes_left.checked_sub(contents.len()).ok_or("the ELF file's notes overlap")?;
                notes::check(contents)?;
            }
        }
    }
    Ok(())
}

fn truncated(bytes: &[u8], what: &str) -> String {
    format!("the ELF file is truncated or damaged: it has {} bytes, and lacks {what}", bytes.len())
}

fn part(bytes: &[u8], offset: u64, size: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    bytes.get(start..start.checked_add(usize::try_from(size).ok()?)?)
}

fn number(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn wide(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Returns the first bytes, for a message.
fn start(bytes: &[u8]) -> String {
    let start: Vec<String> = bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("it starts with the bytes {}", start.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &[u8] = include_bytes!("../../../hip/tests/kernels/kernels.gfx90a.co");

    fn reason(kind: DataKind, bytes: &[u8]) -> String {
        check(kind, "input", bytes).unwrap_err().to_string()
    }

    #[test]
    fn whole_code_objects_pass_and_every_cut_one_does_not() {
        check(DataKind::CodeObject, "input", CODE).unwrap();
        assert_eq!(kind_of_elf("input", CODE).unwrap(), DataKind::CodeObject);
        for len in (0..256).chain((256..CODE.len()).step_by(61)).chain([CODE.len() - 1]) {
            assert!(check(DataKind::CodeObject, "input", &CODE[..len]).is_err(), "{len}");
        }
    }

    /// As `llvm::Context::parse_ir` refuses them.
    #[test]
    fn notes_that_crash_llvm_are_refused() {
        let notes = |node: &str| format!("declare void @k()\n!nvvm.annotations = !{{!0}}\n!0 = {node}\n");
        check(DataKind::Bitcode, "k.ll", notes("!{ptr @k, !\"kernel\", i32 1}").as_bytes()).unwrap();
        assert!(reason(DataKind::Bitcode, notes("!{ptr @k, !\"kernel\"}").as_bytes()).contains("!nvvm.annotations"));
    }

    #[test]
    fn other_files_are_named() {
        assert!(reason(DataKind::CodeObject, b"").contains("empty"));
        assert!(reason(DataKind::Object, CODE).contains("a linked code object"));
        assert!(reason(DataKind::CodeObject, b"BC\xc0\xde....").contains("bitcode"));
        assert!(reason(DataKind::CodeObject, b"CCOB....").contains("compressed"));
        assert!(reason(DataKind::CodeObject, b"__CLANG_OFFLOAD_BUNDLE__").contains("bundle"));
        assert!(reason(DataKind::Bitcode, b"\0\x01\x02").contains("00 01 02"));
        assert!(reason(DataKind::Bitcode, b" \n").contains("neither"));
        let mut host = CODE.to_vec();
        host[18] = 62;
        assert!(reason(DataKind::CodeObject, &host).contains("machine 62"));
        check(DataKind::Bitcode, "input", b"define void @f() { ret void }").unwrap();
    }

    /// Thousands of sections that each cover the whole file, and a number of sections that is stored elsewhere.
    #[test]
    fn files_that_take_long_are_refused() {
        let mut many = CODE[..64].to_vec();
        many[32..40].fill(0);
        many[56..58].fill(0);
        many[40..48].copy_from_slice(&64_u64.to_le_bytes());
        many[60..62].copy_from_slice(&60_000_u16.to_le_bytes());
        let mut section = [0; 64];
        section[4] = 7;
        section[24..32].copy_from_slice(&64_u64.to_le_bytes());
        section[32..40].copy_from_slice(&(60_000 * 64_u64).to_le_bytes());
        (0..60_000).for_each(|_| many.extend(section));
        // Reading them section by section, with all bytes before each, would take hours.
        assert!(!reason(DataKind::CodeObject, &many).is_empty());
        // Zeros are well-formed notes.
        section[24..32].copy_from_slice(&0_u64.to_le_bytes());
        many.resize(64 + 60_000 * 64 + 4096, 0);
        section[24..32].copy_from_slice(&(64 + 60_000 * 64_u64).to_le_bytes());
        section[32..40].copy_from_slice(&4096_u64.to_le_bytes());
        (0..60_000).for_each(|at| many[64 + at * 64..][..64].copy_from_slice(&section));
        assert!(reason(DataKind::CodeObject, &many).contains("overlap"));
        let mut hidden = CODE.to_vec();
        hidden[60..62].fill(0);
        assert!(reason(DataKind::CodeObject, &hidden).contains("too many"));
    }
}
