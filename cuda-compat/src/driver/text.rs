//! Code objects as text, for files that a program includes with `include_str!` as it includes PTX.
//!
//! The command `nvcc` of this crate (feature `cli`) writes them: lines of comments, which name the architectures, and the
//! code in base64. [`Ptx`](crate::nvrtc::Ptx), [`cuModuleLoadData`](super::cuModuleLoadData) and the other functions that
//! load a module take them.

use std::fmt::Write as _;

/// The reason that [`decode`] fails, for a reader.
pub(super) const DAMAGED: &str = "this is code of AMD GPUs as text, which is cut off or changed: let nvcc of cuda-compat write it again, and pass all of it";

/// The first line of a text.
pub const MAGIC: &str = "// cuda-compat: code of AMD GPUs as text, version 1";

/// The line before the code: the number of bytes.
const SIZE: &str = "// base64: ";
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Bytes of code in a line, which has a third more digits.
const LINE: usize = 90;

/// The reason that a text is not decoded: it is damaged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Damaged;

/// The text, for a `main` that returns the error.
impl std::fmt::Debug for Damaged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl std::fmt::Display for Damaged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(DAMAGED)
    }
}

impl std::error::Error for Damaged {}

/// Returns the text of an image: a code object or an offload bundle. `about` is for readers, such as the names of the
/// architectures.
///
/// ```
/// use cuda_compat::driver::text;
///
/// let written = text::encode(b"\x7fELF...", "gfx90a");
/// assert!(written.starts_with(text::MAGIC) && written.is_ascii());
/// assert_eq!(text::decode(written.as_bytes()), Ok(Some(b"\x7fELF...".to_vec())));
/// assert_eq!(text::decode(b".version 8.0"), Ok(None));
/// ```
pub fn encode(image: &[u8], about: &str) -> String {
    let about = about.replace(|c: char| c.is_control(), " ");
    let mut text = format!("{MAGIC}\n// {about}\n{SIZE}{}\n", image.len());
    for line in image.chunks(LINE) {
        for three in line.chunks(3) {
            let number =
                three.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
            for at in 0..4 {
                let digit = DIGITS[(number >> (18 - 6 * at)) as usize % 64];
                text.push(if at <= three.len() { char::from(digit) } else { '=' });
            }
        }
        text.push('\n');
    }
    let _ = writeln!(text, "// end");
    text
}

/// Returns the image of a text, or `None` if it is not one that [`encode`] has written. What follows the code is ignored.
///
/// # Errors
/// [`Damaged`] if the text is cut off or changed.
pub fn decode(text: &[u8]) -> Result<Option<Vec<u8>>, Damaged> {
    decode_by(|at| text.get(at).copied())
}

/// As [`decode`], with a function for the bytes. They are read in order, and none after the code's last.
pub(super) fn decode_by(byte: impl Fn(usize) -> Option<u8>) -> Result<Option<Vec<u8>>, Damaged> {
    let is = |at: usize, expected: &str| expected.bytes().enumerate().all(|(i, e)| byte(at + i) == Some(e));
    if !is(0, MAGIC) {
        return Ok(None);
    }
    let mut at = MAGIC.len();
    // Lines up to the size.
    let size = loop {
        while byte(at) != Some(b'\n') {
            if matches!(byte(at), None | Some(0)) {
                return Err(Damaged);
            }
            at += 1;
        }
        at += 1;
        if is(at, SIZE) {
            at += SIZE.len();
            let mut size = 0_usize;
            while let Some(digit) = byte(at).filter(u8::is_ascii_digit) {
                size =
                    size.checked_mul(10).and_then(|size| size.checked_add(usize::from(digit - b'0'))).ok_or(Damaged)?;
                at += 1;
            }
            if !matches!(byte(at), Some(b'\r' | b'\n')) {
                return Err(Damaged);
            }
            break size;
        }
        if !is(at, "//") {
            return Err(Damaged);
        }
    };
    let mut image = Vec::new();
    while image.len() < size {
        let mut number = 0_u32;
        let count = (size - image.len()).min(3);
        for digit in 0..4 {
            while matches!(byte(at), Some(b'\r' | b'\n')) {
                at += 1;
            }
            let value = match byte(at).ok_or(Damaged)? {
                letter @ b'A'..=b'Z' => letter - b'A',
                letter @ b'a'..=b'z' => letter - b'a' + 26,
                number @ b'0'..=b'9' => number - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                b'=' if digit > count => 0,
                _ => return Err(Damaged),
            };
            number = number << 6 | u32::from(value);
            at += 1;
        }
        image.extend_from_slice(&number.to_be_bytes()[1..=count]);
    }
    Ok(Some(image))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_lengths_come_back() {
        let bytes: Vec<u8> = (0..=255).collect();
        for len in 0..=bytes.len() {
            let text = encode(&bytes[..len], "gfx90a,\ngfx942");
            assert!(text.lines().all(|line| line.len() <= 120) && text.contains("// gfx90a, gfx942\n"));
            assert_eq!(decode(text.as_bytes()).unwrap().unwrap(), bytes[..len]);
            // With the line ends of another system, and with nothing after the last digit.
            assert_eq!(decode(text.replace('\n', "\r\n").as_bytes()).unwrap().unwrap(), bytes[..len]);
            let end = text.trim_end_matches("// end\n").len();
            assert_eq!(decode(&text.as_bytes()[..end]).unwrap().unwrap(), bytes[..len]);
        }
    }

    #[test]
    fn damaged_texts_are_errors() {
        let text = encode(b"some bytes of code", "gfx90a");
        let end = text.trim_end_matches("\n// end\n").len();
        for len in 0..MAGIC.len() {
            assert_eq!(decode(&text.as_bytes()[..len]), Ok(None), "{len}");
        }
        for len in MAGIC.len()..end {
            assert_eq!(decode(&text.as_bytes()[..len]), Err(Damaged), "{len}");
            let mut cut = text.as_bytes()[..len].to_vec();
            cut.push(0);
            assert_eq!(decode(&cut), Err(Damaged), "{len}");
        }
        assert_eq!(decode(text.replace("c29t", "c29*").as_bytes()), Err(Damaged));
        assert_eq!(decode(text.replace("c29t", "c2==").as_bytes()), Err(Damaged));
        assert_eq!(decode(text.replace(": 18", ": 99999999999999999999").as_bytes()), Err(Damaged));
        assert_eq!(decode(text.replace(": 18", ": 900").as_bytes()), Err(Damaged));
    }
}
