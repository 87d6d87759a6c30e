//! Files that are passed to LLVM's readers: the output of a compiler.

use std::fmt;
use std::ops::Deref;

/// Bytes that the compiler of this process made: bitcode, an object file or a code object. They are immutable, so that
/// they can safely be passed to the compiler again.
#[derive(Clone, PartialEq, Eq)]
pub struct Artifact(Vec<u8>);

impl Artifact {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Converts into the bytes, which can be changed.
    pub fn into_vec(self) -> Vec<u8> {
        self.0
    }
}

impl Deref for Artifact {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Artifact {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl From<Artifact> for Vec<u8> {
    fn from(artifact: Artifact) -> Self {
        artifact.0
    }
}

impl fmt::Debug for Artifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Artifact").field(&format_args!("{} bytes", self.0.len())).finish()
    }
}

/// LLVM IR, as text or bitcode, or an object file: the input of functions that compile or link it.
///
/// Text and [`Artifact`]s convert into it. Bytes from elsewhere, such as a file, are trusted by an `unsafe` call: see
/// [Trust](crate::comgr#trust).
///
/// ```
/// use rocm_llvm::comgr::Input;
///
/// let text = Input::from("define void @f() { ret void }");
/// # fn from_a_file(path: &str) -> std::io::Result<Vec<u8>> {
/// let bytes = std::fs::read(path)?;
/// // SAFETY: clang wrote the file, and nobody changed it.
/// let bitcode = unsafe { Input::trusted(&bytes) };
/// # let _ = bitcode; Ok(bytes) }
/// ```
#[derive(Clone, Copy)]
pub struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    /// Takes the bytes of bitcode or of an object file.
    ///
    /// # Safety
    /// The bytes must not be damaged or crafted bitcode, or such an object file. They must be the output of a compiler,
    /// whole or truncated, or another kind of file. LLVM's readers trust the content, and can access memory outside the
    /// input, or end the process.
    pub unsafe fn trusted(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn bytes(self) -> &'a [u8] {
        self.0
    }
}

/// LLVM IR as text. LLVM checks it, except the form of what older releases wrote: see [Trust](crate::comgr#trust).
impl<'a> From<&'a str> for Input<'a> {
    fn from(text: &'a str) -> Self {
        // UTF-8 is never bitcode, whose first bytes are not valid UTF-8, nor an ELF file for AMD GPUs, whose machine number is not.
        Self(text.as_bytes())
    }
}

/// LLVM IR as text. LLVM checks it, except the form of what older releases wrote: see [Trust](crate::comgr#trust).
impl<'a> From<&'a String> for Input<'a> {
    fn from(text: &'a String) -> Self {
        text.as_str().into()
    }
}

impl<'a> From<&'a Artifact> for Input<'a> {
    fn from(artifact: &'a Artifact) -> Self {
        Self(&artifact.0)
    }
}

impl fmt::Debug for Input<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Input").field(&format_args!("{} bytes", self.0.len())).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comgr::format;
    use crate::comgr::kind::DataKind;

    /// This property makes text safe.
    #[test]
    fn no_text_is_bitcode_or_an_object_file() {
        for start in [&b"BC\xc0\xde"[..], b"\xde\xc0\x17\x0b"] {
            assert!(format::is_bitcode(start) && std::str::from_utf8(start).is_err());
        }
        let mut elf = vec![0; 64];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        elf[16] = 1;
        let text = |elf: &[u8]| {
            std::str::from_utf8(elf)
                .is_ok_and(|text| format::check(DataKind::Object, "x", Input::from(text).bytes()).is_ok())
        };
        for machine in 0..=u16::MAX {
            elf[18..20].copy_from_slice(&machine.to_le_bytes());
            assert!(!text(&elf), "{machine}");
        }
        assert!(format::check(DataKind::Bitcode, "x", Input::from("\u{7f}ELF\0").bytes()).is_err());
    }
}
