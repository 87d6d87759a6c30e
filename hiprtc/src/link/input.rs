//! Input of the linker: checked and split before it is passed to HIPRTC.
//!
//! HIPRTC splits bundles and archives itself, but 5.7 silently links nothing of a bundle whose entries it does not
//! recognise. So only bitcode and LLVM IR are passed to it.

use std::collections::BTreeSet;

use hip::Arch;

use super::kind::LinkInput;
use super::{arch, archive};
use crate::bundle::Bundle;
use crate::error::{Error, Result};

/// Bitcode or LLVM IR for the device.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) name: String,
    /// With a zero after the end, which LLVM expects after text.
    pub(super) bytes: Box<[u8]>,
}

impl Piece {
    fn new(name: &str, bytes: &[u8]) -> Self {
        Self { name: name.to_owned(), bytes: bytes.iter().copied().chain([0]).collect() }
    }

    /// Returns the size without the zero.
    pub(super) fn size(&self) -> usize {
        self.bytes.len() - 1
    }
}

/// Splits an input into the pieces that are linked for `device`.
pub(super) fn pieces(kind: LinkInput, bytes: &[u8], name: &str, device: &Arch) -> Result<Vec<Piece>> {
    let refuse = |reason: String| Err(Error::LinkInput { name: name.to_owned(), kind, reason });
    if bytes.is_empty() {
        return refuse("it is empty".to_owned());
    }
    match kind {
        LinkInput::Bitcode => {
            if let Err(reason) = check_bitcode(bytes) {
                return refuse(reason);
            }
            check_processors(arch::of_bitcode(bytes), name, kind, device)?;
            Ok(vec![Piece::new(name, bytes)])
        }
        LinkInput::Ir => match check_ir(bytes) {
            Ok(text) => {
                check_processors(arch::of_text(text), name, kind, device)?;
                Ok(vec![Piece::new(name, bytes)])
            }
            Err(reason) => refuse(reason),
        },
        LinkInput::BitcodeBundle => {
            let inside = |error: Error| Error::LinkInput { name: name.to_owned(), kind, reason: error.to_string() };
            let bundle = Bundle::decompress(bytes).map_err(inside)?;
            let entry = Bundle::parse(&bundle).and_then(|bundle| bundle.select(device)).map_err(inside)?;
            pieces(LinkInput::Bitcode, entry, name, device)
        }
        LinkInput::BitcodeArchive => {
            let members = match archive::members(bytes) {
                Ok(members) if members.is_empty() => return refuse("the archive has no members".to_owned()),
                Ok(members) => members,
                Err(reason) => return refuse(reason),
            };
            let mut all = Vec::new();
            for member in members {
                let is_bitcode = check_bitcode(member.bytes).is_ok();
                let kind = if is_bitcode { LinkInput::Bitcode } else { LinkInput::BitcodeBundle };
                all.extend(pieces(kind, member.bytes, &format!("{name}({})", member.name), device)?);
            }
            Ok(all)
        }
    }
}

fn check_bitcode(bytes: &[u8]) -> Result<(), String> {
    let starts = [b"BC\xc0\xde", b"\xde\xc0\x17\x0b"];
    if !starts.iter().any(|start| bytes.starts_with(*start)) {
        return Err(format!("it does not start as LLVM bitcode does; {}", other(bytes)));
    }
    // Bitcode consists of 4-byte words.
    if bytes.len() < 16 || bytes.len() % 4 != 0 {
        return Err(format!("it is truncated: bitcode of {} bytes", bytes.len()));
    }
    Ok(())
}

fn check_ir(bytes: &[u8]) -> Result<&str, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| format!("it is not text; {}", other(bytes)))?;
    if let Some(position) = text.bytes().position(|byte| byte == 0) {
        return Err(format!("it contains a NUL at byte {position}"));
    }
    if text.trim().is_empty() {
        return Err("it is empty".to_owned());
    }
    let triple = text.lines().find_map(|line| line.trim_start().strip_prefix("target triple = \""));
    match triple.and_then(|rest| rest.split('"').next()) {
        Some(triple) if !triple.starts_with("amdgcn") => Err(format!("it is for {triple}, not for AMD GPUs")),
        _ => Ok(text),
    }
}

/// Returns the kind of an input that was not recognised.
fn other(bytes: &[u8]) -> &'static str {
    if bytes.starts_with(b"\x7fELF") {
        "it is an ELF file: HIPRTC links bitcode only, and a code object is linked already (hip::Module::load loads it)"
    } else if bytes.starts_with(b"__CLANG_OFFLOAD_BUNDLE__") || bytes.starts_with(b"CCOB") {
        "it is an offload bundle: LinkInput::BitcodeBundle"
    } else if bytes.starts_with(b"!<arch>") {
        "it is an archive: LinkInput::BitcodeArchive"
    } else if bytes.starts_with(b"BC\xc0\xde") {
        "it is LLVM bitcode: LinkInput::Bitcode"
    } else if bytes.starts_with(&[0x03, 0x02, 0x23, 0x07]) {
        "it is SPIR-V, which HIPRTC does not link (hip::module::Linker does, from ROCm 7.0 on)"
    } else if std::str::from_utf8(bytes).is_ok_and(|text| text.contains("target ") || text.contains("define ")) {
        "it could be LLVM IR: LinkInput::Ir"
    } else {
        "its format is unknown"
    }
}

/// Rejects code for other processors: it would be linked into a code object for this one.
fn check_processors(found: BTreeSet<String>, name: &str, kind: LinkInput, device: &Arch) -> Result<()> {
    let runs = |processor: &String| processor.parse::<Arch>().is_ok_and(|arch| arch.runs_on(device));
    match found.into_iter().find(|processor| !runs(processor)) {
        Some(processor) => {
            let reason = format!("it was compiled for {processor}, and the device is {device}");
            Err(Error::LinkInput { name: name.to_owned(), kind, reason })
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::BundleWriter;
    use crate::link::archive::tests::archive;

    const BITCODE: &[u8] = b"BC\xc0\xde0123456789ab";

    fn device() -> Arch {
        "gfx90a:sramecc+:xnack-".parse().unwrap()
    }

    fn names(kind: LinkInput, bytes: &[u8]) -> Vec<String> {
        pieces(kind, bytes, "in", &device()).unwrap().into_iter().map(|piece| piece.name).collect()
    }

    #[test]
    fn bundles_and_archives_are_taken_apart() {
        let bundle = BundleWriter::new().add("gfx942".parse().unwrap(), b"x").add("gfx90a".parse().unwrap(), BITCODE);
        let bundle = bundle.to_bytes();
        assert_eq!(pieces(LinkInput::BitcodeBundle, &bundle, "in", &device()).unwrap(), [Piece::new("in", BITCODE)]);
        let both = archive(&[("a.bc", BITCODE), ("b.bc", &bundle)]);
        assert_eq!(names(LinkInput::BitcodeArchive, &both), ["in(a.bc)", "in(b.bc)"]);
        assert_eq!(names(LinkInput::Bitcode, BITCODE), ["in"]);
        assert_eq!(names(LinkInput::Ir, b"target triple = \"amdgcn-amd-amdhsa\"\n"), ["in"]);
    }

    /// Any changed bytes give an error, or pieces that are bitcode.
    #[test]
    fn damaged_input_does_no_harm() {
        let bundle = BundleWriter::new().add("gfx942".parse().unwrap(), b"x").add("gfx90a".parse().unwrap(), BITCODE);
        let bundle = bundle.to_bytes();
        // Without the padding, so that changes hit content.
        let small = bundle.iter().rposition(|byte| *byte != 0).map_or(&bundle[..], |end| &bundle[..end + 1]);
        let both = archive(&[("a name that is long.bc", BITCODE), ("b.bc", small)]);
        let ir = b"target triple = \"amdgcn-amd-amdhsa\"\nattributes #0 = { \"target-cpu\"=\"gfx90a\" }\n";
        let mut random = crate::damage::Random(3);
        let (mut good, mut bad) = (0, 0);
        for _ in 0..4000 {
            for (kind, bytes) in [
                (LinkInput::BitcodeBundle, small),
                (LinkInput::BitcodeArchive, &both),
                (LinkInput::Bitcode, BITCODE),
                (LinkInput::Ir, ir),
            ] {
                match pieces(kind, &random.bytes(bytes), "in", &device()) {
                    Ok(pieces) => {
                        let is_good = |piece: &Piece| {
                            kind == LinkInput::Ir || check_bitcode(&piece.bytes[..piece.size()]).is_ok()
                        };
                        assert!(pieces.iter().all(is_good), "{pieces:?}");
                        good += 1;
                    }
                    Err(error) => {
                        assert!(matches!(error, Error::LinkInput { .. }), "{error}");
                        bad += 1;
                    }
                }
            }
        }
        assert!(good > 100 && bad > 1000, "{good} good, {bad} bad");
    }

    #[test]
    fn what_is_something_else_is_an_error_that_says_what() {
        let bundle = BundleWriter::new().add("gfx942".parse().unwrap(), BITCODE).to_bytes();
        let of_junk = archive(&[("a.o", b"\x7fELF")]);
        let empty = archive(&[]);
        let cases: [(LinkInput, &[u8], &str); 15] = [
            (LinkInput::Bitcode, b"", "empty"),
            (LinkInput::Ir, b"", "empty"),
            (LinkInput::Ir, b" \n", "empty"),
            (LinkInput::BitcodeArchive, b"", "empty"),
            (LinkInput::Bitcode, b"\x7fELF0123456789abcdef", "Module::load"),
            (LinkInput::Bitcode, &bundle, "LinkInput::BitcodeBundle"),
            (LinkInput::Bitcode, &BITCODE[..15], "truncated"),
            (LinkInput::Bitcode, b"define void @f()", "LinkInput::Ir"),
            (LinkInput::Ir, b"\xff\xfe", "not text"),
            (LinkInput::Ir, b"define\0", "NUL at byte 6"),
            (LinkInput::Ir, b"target triple = \"x86_64-linux\"\n", "x86_64-linux"),
            (LinkInput::Ir, b"\"target-cpu\"=\"gfx942\"", "gfx942"),
            (LinkInput::BitcodeBundle, &bundle, "no code for gfx90a"),
            (LinkInput::BitcodeArchive, &of_junk, "in(a.o)"),
            (LinkInput::BitcodeArchive, &empty, "no members"),
        ];
        for (kind, bytes, part) in cases {
            let text = pieces(kind, bytes, "in", &device()).unwrap_err().to_string();
            assert!(text.contains(part) && text.contains("in"), "{kind:?} {part}: {text}");
        }
    }
}
