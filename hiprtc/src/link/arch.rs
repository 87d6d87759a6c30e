//! The processors that bitcode and LLVM IR were compiled for.
//!
//! HIPRTC does not check them: bitcode for another processor is linked to a code object that claims to be for the
//! device but holds the other processor's instructions. clang writes the processor on each function as the attribute
//! `"target-cpu"="gfx90a"`. In bitcode this is a record whose characters are variable-width integers of 6 bits, at any
//! bit position; its pattern is searched for, so that no parser of bitcode is necessary.

use std::collections::BTreeSet;

const ATTRIBUTE: &str = "target-cpu";
/// Longer strings are not names of processors.
const LONGEST: usize = 32;

/// Returns the processors that functions in bitcode name.
pub(super) fn of_bitcode(bytes: &[u8]) -> BTreeSet<String> {
    let mut pattern = Bits::default();
    ATTRIBUTE.bytes().chain([0]).for_each(|byte| pattern.push(byte));
    let wanted = pattern.first_64();
    let mut found = BTreeSet::new();
    for at in 0..bytes.len() {
        // The words at the eight bit positions that begin in this byte.
        let word = word_at(bytes, at);
        for bit in 0..8 {
            if (word >> bit) as u64 == wanted {
                let mut reader = Reader { bytes, bit: at * 8 + bit };
                if reader.text(ATTRIBUTE.len()).as_deref() == Some(ATTRIBUTE) {
                    found.extend(reader.text(LONGEST).filter(|name| name.starts_with("gfx")));
                }
            }
        }
    }
    found
}

/// Returns the processors that functions in LLVM IR name.
pub(super) fn of_text(text: &str) -> BTreeSet<String> {
    let attribute = format!("\"{ATTRIBUTE}\"=\"");
    let values = text.split(&attribute).skip(1).filter_map(|rest| rest.split('"').next());
    values.filter(|name| name.starts_with("gfx")).map(str::to_owned).collect()
}

/// Returns 128 bits from a byte on; zeros after the end.
fn word_at(bytes: &[u8], at: usize) -> u128 {
    let mut word = [0; 16];
    let part = &bytes[at..bytes.len().min(at + 16)];
    word[..part.len()].copy_from_slice(part);
    u128::from_le_bytes(word)
}

/// The bits of a record's operands.
#[derive(Default)]
struct Bits {
    bits: u128,
    length: usize,
}

impl Bits {
    /// Appends a character: five bits and whether more follow, least significant first.
    fn push(&mut self, byte: u8) {
        let mut rest = byte;
        loop {
            let chunk = rest & 31;
            rest >>= 5;
            let more = if rest == 0 { 0 } else { 32 };
            if self.length < 128 {
                self.bits |= u128::from(chunk | more) << self.length;
            }
            self.length += 6;
            if rest == 0 {
                return;
            }
        }
    }

    fn first_64(&self) -> u64 {
        self.bits as u64
    }
}

/// Reads operands of 6 bits.
struct Reader<'a> {
    bytes: &'a [u8],
    bit: usize,
}

impl Reader<'_> {
    /// Reads the characters up to a zero, if they are at most `most` and all visible.
    fn text(&mut self, most: usize) -> Option<String> {
        let mut text = String::new();
        while text.len() <= most {
            match self.operand()? {
                0 => return Some(text),
                byte if byte.is_ascii_graphic() => text.push(char::from(byte)),
                _ => return None,
            }
        }
        None
    }

    fn operand(&mut self) -> Option<u8> {
        let mut value = 0_u32;
        for shift in [0, 5] {
            let at = self.bit / 8;
            let low = *self.bytes.get(at)?;
            let high = self.bytes.get(at + 1).copied().unwrap_or(0);
            let chunk = u16::from_le_bytes([low, high]) >> (self.bit % 8);
            self.bit += 6;
            value |= u32::from(chunk & 31) << shift;
            if chunk & 32 == 0 {
                return u8::try_from(value).ok();
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record as LLVM writes it, at any bit position.
    #[test]
    fn processors_are_found_at_any_bit() {
        for offset in 0..16 {
            let mut bits: Vec<bool> = (0..offset).map(|bit| bit % 3 == 0).collect();
            for byte in b"target-cpu\0gfx90a\0more\0".iter() {
                let mut rest = *byte;
                loop {
                    let chunk = rest & 31;
                    rest >>= 5;
                    let chunk = chunk | if rest == 0 { 0 } else { 32 };
                    bits.extend((0..6).map(|bit| chunk >> bit & 1 == 1));
                    if rest == 0 {
                        break;
                    }
                }
            }
            let bytes: Vec<u8> = bits
                .chunks(8)
                .map(|byte| byte.iter().enumerate().fold(0, |sum, (at, bit)| sum | u8::from(*bit) << at))
                .collect();
            assert_eq!(of_bitcode(&bytes), BTreeSet::from(["gfx90a".to_owned()]), "at {offset}");
            for length in 0..bytes.len() {
                let _ = of_bitcode(&bytes[..length]);
            }
        }
        assert!(of_bitcode(b"target-cpu\0gfx90a\0").is_empty());
        assert!(of_bitcode(&[]).is_empty());
    }

    #[test]
    fn processors_of_text_are_found() {
        let text =
            "attributes #0 = { nounwind \"target-cpu\"=\"gfx942\" }\nattributes #1 = { \"target-cpu\"=\"x86-64\" }";
        assert_eq!(of_text(text), BTreeSet::from(["gfx942".to_owned()]));
        assert!(of_text("\"target-cpu\"=\"").is_empty());
    }
}
