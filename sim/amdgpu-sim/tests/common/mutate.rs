//! Mutated code objects for the fuzz tests.

use super::Random;

/// The parts of a code object: header, program headers, notes, symbols, descriptors, relocations, section headers.
pub(crate) fn parts(seed: &[u8]) -> Vec<std::ops::Range<usize>> {
    let u64_at = |at: usize| u64::from_le_bytes(seed[at..at + 8].try_into().unwrap()) as usize;
    let (headers, sections) = (u64_at(32), u64_at(40));
    let count = usize::from(u16::from_le_bytes(seed[60..62].try_into().unwrap()));
    let mut parts = vec![0..64, headers..headers + 9 * 56, sections..sections + count * 64];
    for s in 0..count {
        let at = sections + 64 * s;
        let (kind, offset, size) = (seed[at + 4], u64_at(at + 24), u64_at(at + 32));
        if kind != 0 && kind != 8 && size > 0 {
            parts.push(offset..(offset + size).min(seed.len()));
        }
    }
    parts
}

/// Applies one to six changes: flipped bits, edge-case numbers, moved pieces, truncation.
pub(crate) fn mutate(bytes: &mut Vec<u8>, parts: &[std::ops::Range<usize>], r: &mut Random) {
    for _ in 0..1 + r.next() % 6 {
        if bytes.is_empty() {
            return;
        }
        let part = &parts[r.next() as usize % parts.len()];
        let at = (part.start + r.next() as usize % part.len().max(1)).min(bytes.len() - 1);
        let len = bytes.len() as u64;
        let edge = [
            0,
            1,
            0x7f,
            0x80,
            0xff,
            0x7fff,
            0xffff,
            0x7fff_ffff,
            0x8000_0000,
            0xffff_ffff,
            i64::MAX as u64,
            u64::MAX,
            len,
            len - 1,
            len + 1,
            1 << 40,
        ];
        match r.next() % 12 {
            0..=3 => bytes[at] ^= 1 << (r.next() % 8),
            4 | 5 => bytes[at] = r.next() as u8,
            6..=8 => {
                let value = edge[r.next() as usize % edge.len()].to_le_bytes();
                let width = 1 << (r.next() % 4);
                let at = at & !(width - 1);
                let end = (at + width).min(bytes.len());
                bytes[at..end].copy_from_slice(&value[..end - at]);
            }
            9 => {
                let from = r.next() as usize % bytes.len();
                let n = (r.next() as usize % 64).min(bytes.len() - at).min(bytes.len() - from);
                bytes.copy_within(from..from + n, at);
            }
            10 => {
                let n = (r.next() as usize % 16).min(bytes.len() - at);
                bytes.drain(at..at + n);
            }
            _ if r.next() % 8 == 0 => bytes.truncate(at),
            _ => bytes[at] = bytes[at].wrapping_add(1),
        }
    }
}

/// Where the machine code lies in a code object's file.
pub(crate) fn text(seed: &[u8]) -> std::ops::Range<usize> {
    let u64_at = |at: usize| u64::from_le_bytes(seed[at..at + 8].try_into().unwrap()) as usize;
    let count = usize::from(u16::from_le_bytes(seed[56..58].try_into().unwrap()));
    let headers = (0..count).map(|n| u64_at(32) + 56 * n);
    // The loaded segment that is executable.
    let code = headers.into_iter().find(|at| seed[*at] == 1 && seed[at + 4] & 1 != 0).expect("a segment with code");
    u64_at(code + 8)..u64_at(code + 8) + u64_at(code + 32)
}
