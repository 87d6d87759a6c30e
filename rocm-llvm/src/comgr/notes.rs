//! Checks of the notes in ELF files before Comgr reads them: it crashes on malformed metadata.

/// NT_AMDGPU_METADATA, and its predecessor in code objects of version 2, which is text.
const METADATA: u32 = 32;
/// Maximum depth of metadata that is accepted. Compilers write at most five levels.
const MOST_LEVELS: usize = 32;
const HEADER_BYTES: usize = 12;

/// Checks notes, and the metadata in them.
pub(crate) fn check(mut notes: &[u8]) -> Result<(), String> {
    while !notes.is_empty() {
        let Some((header, rest)) = notes.split_at_checked(HEADER_BYTES) else {
            // Padding.
            return if notes.iter().all(|byte| *byte == 0) { Ok(()) } else { Err("a note is cut off".to_owned()) };
        };
        let field = |at: usize| header[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let (owner_size, size, kind) = (field(0), field(4), field(8));
        let (_, rest) = padded(rest, owner_size).ok_or("the owner of a note is cut off")?;
        let (payload, rest) = padded(rest, size).ok_or("the contents of a note are cut off")?;
        if kind == METADATA {
            let after = value(payload, 0).map_err(|error| format!("its kernel metadata is damaged: {error}"))?;
            if !after.is_empty() {
                return Err(format!("its kernel metadata is damaged: {} bytes after its end", after.len()));
            }
        }
        notes = rest;
    }
    Ok(())
}

/// Returns the first `len` bytes, and the rest after padding to 4, which the last note may lack.
fn padded(bytes: &[u8], len: u32) -> Option<(&[u8], &[u8])> {
    let len = usize::try_from(len).ok()?;
    let part = bytes.get(..len)?;
    Some((part, bytes.get(len.checked_next_multiple_of(4)?..).unwrap_or_default()))
}

/// Skips one MessagePack value. Metadata uses only these types: maps with strings as keys, arrays, strings, integers
/// and booleans.
fn value(bytes: &[u8], level: usize) -> Result<&[u8], String> {
    let (&first, rest) = bytes.split_first().ok_or("it ends too early")?;
    if level > MOST_LEVELS {
        return Err(format!("it has more than {MOST_LEVELS} levels"));
    }
    match first {
        0x00..=0x7f | 0xe0..=0xff | 0xc0 | 0xc2 | 0xc3 => Ok(rest),
        0x80..=0x8f => map(rest, usize::from(first & 0x0f), level),
        0x90..=0x9f => array(rest, usize::from(first & 0x0f), level),
        0xa0..=0xbf => string(rest, usize::from(first & 0x1f)),
        0xcc | 0xd0 => skip(rest, 1),
        0xcd | 0xd1 => skip(rest, 2),
        0xce | 0xd2 => skip(rest, 4),
        0xcf | 0xd3 => skip(rest, 8),
        0xd9 => number(rest, 1).and_then(|(size, rest)| string(rest, size)),
        0xda => number(rest, 2).and_then(|(size, rest)| string(rest, size)),
        0xdb => number(rest, 4).and_then(|(size, rest)| string(rest, size)),
        0xdc => number(rest, 2).and_then(|(count, rest)| array(rest, count, level)),
        0xdd => number(rest, 4).and_then(|(count, rest)| array(rest, count, level)),
        0xde => number(rest, 2).and_then(|(count, rest)| map(rest, count, level)),
        0xdf => number(rest, 4).and_then(|(count, rest)| map(rest, count, level)),
        other => Err(format!("a value of the type {other:#x}")),
    }
}

fn skip(bytes: &[u8], count: usize) -> Result<&[u8], String> {
    bytes.get(count..).ok_or_else(|| "it ends too early".to_owned())
}

/// Reads a big-endian number of `size` bytes.
fn number(bytes: &[u8], size: usize) -> Result<(usize, &[u8]), String> {
    let (digits, rest) = bytes.split_at_checked(size).ok_or("it ends too early")?;
    Ok((digits.iter().fold(0, |number, digit| number << 8 | usize::from(*digit)), rest))
}

fn string(bytes: &[u8], size: usize) -> Result<&[u8], String> {
    let rest = skip(bytes, size)?;
    match bytes.get(..size).map(std::str::from_utf8) {
        // Comgr passes strings on as C strings.
        Some(Ok(text)) if !text.contains('\0') => Ok(rest),
        _ => Err("a string is not UTF-8, or has a NUL".to_owned()),
    }
}

fn array(mut bytes: &[u8], count: usize, level: usize) -> Result<&[u8], String> {
    for _ in 0..count {
        bytes = value(bytes, level + 1)?;
    }
    Ok(bytes)
}

fn map(mut bytes: &[u8], count: usize, level: usize) -> Result<&[u8], String> {
    for _ in 0..count {
        if !matches!(bytes.first(), Some(0xa0..=0xbf | 0xd9..=0xdb)) {
            return Err("the key of a map is not a string".to_owned());
        }
        bytes = value(value(bytes, level + 1)?, level + 1)?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(payload: &[u8]) -> Vec<u8> {
        let mut note = [7, payload.len() as u32, METADATA].map(u32::to_le_bytes).concat();
        note.extend(b"AMDGPU\0\0");
        note.extend(payload);
        note.resize(note.len().next_multiple_of(4), 0);
        note
    }

    #[test]
    fn well_formed_metadata_passes() {
        // {"a": [1, -1, true, "text"], "b": 300, "c": {}}
        let good = b"\x83\xa1a\x94\x01\xff\xc3\xa4text\xa1b\xcd\x01\x2c\xa1c\x80";
        check(&note(good)).unwrap();
        check(&[note(good), note(b"\x80"), vec![0; 8]].concat()).unwrap();
        check(b"").unwrap();
        let long = [&b"\x81\xd9\x05hello\xdc\x00\x02\xd1\xff\x00\xcf\x00\x00\x00\x00\x00\x00\x00\x01"[..]].concat();
        check(&note(&long)).unwrap();
    }

    #[test]
    fn every_cut_and_other_types_are_refused() {
        let good = b"\x82\xa1a\x92\x01\xa4text\xa1b\xcd\x01\x2c";
        for len in 0..good.len() {
            assert!(check(&note(&good[..len])).is_err(), "{len}");
        }
        for (bad, reason) in [
            (&b"\x81\x01\x01"[..], "key"),
            (b"\x81\xa1\xff\x01", "UTF-8"),
            (b"\x81\xa1\0\x01", "NUL"),
            (b"\xcb\0\0\0\0\0\0\0\0", "type 0xcb"),
            (b"\x80\x80", "after its end"),
            (b"\xdf\xff\xff\xff\xff", "key"),
            (&[0x91; 60], "levels"),
        ] {
            let error = check(&note(bad)).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
        assert!(check(&note(b"\x80")[..15]).is_err());
        let mut size = note(b"\x80");
        size[7] = 0xff;
        assert!(check(&size).unwrap_err().contains("contents of a note"));
    }
}
